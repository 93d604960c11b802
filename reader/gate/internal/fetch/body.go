package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// maxOdd bounds the bodies of answers that are no page; they are only looked at for marks of refusal.
const maxOdd = 512 << 10

// read reads the body of an answer: in full when it is a page, in part when it is an error.
func (f *Fetcher) read(ctx context.Context, answer *http.Response, o Options, r *Response) error {
	s := answer.StatusCode
	if s/100 == 3 || s == http.StatusNoContent {
		return nil
	}
	most := f.cfg.MaxBody
	if o.MaxBody > 0 {
		most = min(most, o.MaxBody)
	}
	page := s/100 == 2
	cut := o.Truncate || !page
	if !page {
		most = min(most, maxOdd)
	}
	if !cut && answer.ContentLength > most {
		return tooLarge(fmt.Sprintf("it says it has %d bytes, the limit is %d", answer.ContentLength, most))
	}
	wire := &counter{r: answer.Body}
	err := r.decode(wire, answer.Header.Values("Content-Encoding"), answer.ContentLength, most)
	r.Bytes = wire.n
	switch {
	case err == nil && r.Truncated && !cut:
		r.Body = nil
		return tooLarge(fmt.Sprintf("the limit is %d bytes after decompression", most))
	case err == nil:
		return nil
	case !page:
		r.Body = nil // the status alone decides then
		return ctxCause(ctx)
	case errors.Is(err, errCoding):
		return badCoding(strings.Join(answer.Header.Values("Content-Encoding"), ", "))
	case wire.err == nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return damaged(err) // every byte came, and they make no sense
	}
	return answerFault(ctx, err)
}

func ctxCause(ctx context.Context) error {
	if cause := context.Cause(ctx); isOther(cause) {
		return fmt.Errorf("fetch: %w", cause)
	}
	return nil
}

var errCoding = errors.New("content coding")

// decode reads at most most bytes of the body, taken out of one layer of coding; size is what the answer
// says it has, -1 when it does not.
func (r *Response) decode(body io.Reader, codings []string, size, most int64) error {
	plain, end, err := decoder(body, codings)
	if err != nil {
		return err
	}
	defer end()
	r.Body, err = readAll(io.LimitReader(plain, most+1), size)
	if int64(len(r.Body)) > most {
		r.Body, r.Truncated = r.Body[:most], true
		return nil
	}
	return err
}

// mostAhead bounds the memory that is taken on an answer's word.
const mostAhead = 1 << 20

func readAll(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, min(max(size, 0), mostAhead)+bytes.MinRead))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// decoder undoes the codings that were asked for, one of them and once (RFC 9110 section 8.4).
func decoder(body io.Reader, codings []string) (plain io.Reader, end func(), err error) {
	var names []string
	for name := range strings.SplitSeq(strings.Join(codings, ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			names = append(names, name)
		}
	}
	end = func() {}
	if len(names) == 0 {
		return body, end, nil
	}
	if len(names) > 1 {
		return nil, nil, errCoding
	}
	first := make([]byte, 1)
	if n, err := io.ReadFull(body, first); n == 0 {
		if errors.Is(err, io.EOF) {
			return strings.NewReader(""), end, nil // nothing at all was coded
		}
		return nil, nil, err
	}
	body = io.MultiReader(strings.NewReader(string(first)), body)
	switch names[0] {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(body)
		return paddedGzip{z}, end, err
	case "br":
		return brotli.NewReader(body), end, nil
	case "zstd":
		z, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return nil, nil, errCoding
}

// paddedGzip reads gzip members and, as browsers do, leaves what follows the last whole one unread when
// it is no member.
type paddedGzip struct{ *gzip.Reader }

func (z paddedGzip) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if errors.Is(err, gzip.ErrHeader) {
		err = io.EOF
	}
	return n, err
}

// counter counts what comes over the wire and keeps the wire's own error apart from the decoder's.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
