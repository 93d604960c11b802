package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

type convertCmd struct {
	File   string `arg:"" optional:"" help:"HTML file; standard input without one." placeholder:"FILE"`
	URL    string `name:"url" help:"Address that the page came from, for its links." placeholder:"URL"`
	JSONL  bool   `name:"jsonl" help:"Read lines of {\"id\",\"url\",\"html\"} or {\"id\",\"url\",\"html_b64\"}, answer each with a line of {\"id\",\"title\",\"markdown\"} or {\"id\",\"error\"}."`
	Engine string `help:"Extractor: blocks (ours) or readability (the baseline)." default:"blocks" enum:"blocks,readability"`

	contentFlags
}

// Help is shown by --help.
func (convertCmd) Help() string {
	return `Nothing is fetched.

Examples:

  webreader convert page.html --url https://example.com/news
  webreader convert --jsonl < pages.jsonl > answers.jsonl`
}

const (
	mostConverted = 64 << 20  // bytes read of a file
	mostLine      = 128 << 20 // bytes of a line: a page in base64 and some room
)

// Run converts.
func (c convertCmd) Run(a *app) error {
	if err := c.options().Validate(); err != nil {
		return a.report(err, false, "")
	}
	in, err := a.open(c.source())
	if err != nil {
		return err
	}
	defer in.Close()
	if c.JSONL {
		return c.lines(a.ctx, in, a.Out)
	}
	page, err := io.ReadAll(io.LimitReader(in, mostConverted+1))
	if err != nil {
		return usage("cannot read %s: %s", c.source(), err)
	}
	base, err := parseBase(c.URL)
	if err != nil {
		return a.report(err, false, "")
	}
	got, err := c.convert(a.ctx, page, true, base)
	if err != nil {
		return a.report(err, false, "")
	}
	_, err = a.Out.Write(plainPage(reader.Answer{Page: got}))
	return err
}

func (c convertCmd) source() string {
	if c.File == "" {
		return "-"
	}
	return c.File
}

func parseBase(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &fault.Error{Kind: fault.InvalidRequest, Detail: "The url is not an absolute http or https address, such as https://example.com/page.", Fields: []fault.Field{{Name: "url", Detail: "must be an absolute http or https address"}}}
	}
	return u, nil
}

// convert makes a page of HTML; raw says that its bytes are as served, in a charset to be found.
func (c convertCmd) convert(ctx context.Context, page []byte, raw bool, base *url.URL) (got reader.Page, err error) {
	defer func() {
		// One page must not end a run of thousands: whatever breaks on it is that page's error.
		if broken := recover(); broken != nil {
			got, err = reader.Page{}, &fault.Error{Kind: fault.Internal, Detail: "The page could not be converted.", Err: fmt.Errorf("panic: %v", broken)}
		}
	}()
	return reader.Convert(ctx, reader.Source{Body: page, Raw: raw, Base: base, Engine: c.Engine}, c.options())
}

// lineIn and lineOut are the lines of --jsonl.
type lineIn struct {
	ID   json.RawMessage `json:"id"`
	URL  string          `json:"url"`
	HTML *string         `json:"html"`
	B64  *string         `json:"html_b64"`
}

type lineOut struct {
	ID       json.RawMessage `json:"id"`
	Title    *string         `json:"title,omitempty"`
	Markdown *string         `json:"markdown,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// lines answers every line in order, each at once. Only a failing input or output ends it.
func (c convertCmd) lines(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for ctx.Err() == nil {
		line, tooLong, err := readLine(lines)
		if len(line) > 0 || tooLong {
			answer := lineOut{ID: json.RawMessage("null"), Error: fmt.Sprintf("the line is longer than %d bytes", mostLine)}
			if !tooLong {
				answer = c.line(ctx, line)
			}
			text, merr := marshal(answer)
			if merr != nil {
				return merr
			}
			if _, werr := out.Write(text); werr != nil {
				return fmt.Errorf("write an answer: %w", werr)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a line: %w", err)
		}
	}
	return ctx.Err()
}

// readLine is the next line without its end; one that is too long is passed over.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > mostLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trimLine(line), tooLong, err
		}
	}
}

func trimLine(line []byte) []byte {
	for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r' || line[n-1] == ' '); n = len(line) {
		line = line[:n-1]
	}
	return line
}

func (c convertCmd) line(ctx context.Context, line []byte) lineOut {
	in := lineIn{}
	if err := json.Unmarshal(line, &in); err != nil {
		return lineOut{ID: idOf(in.ID), Error: "the line is not a JSON object {\"id\",\"url\",\"html\"}: " + err.Error()}
	}
	page, err := c.page(ctx, in)
	if err != nil {
		return lineOut{ID: idOf(in.ID), Error: oneLine(err)}
	}
	return lineOut{ID: idOf(in.ID), Title: &page.Title, Markdown: &page.Markdown}
}

func idOf(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || !json.Valid(id) {
		return json.RawMessage("null")
	}
	return id
}

func (c convertCmd) page(ctx context.Context, in lineIn) (reader.Page, error) {
	base, err := parseBase(in.URL)
	if err != nil {
		base = nil // sets of saved pages have names in place of addresses: then links stay out
	}
	switch {
	case in.HTML != nil:
		return c.convert(ctx, []byte(*in.HTML), false, base)
	case in.B64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*in.B64)
		if err != nil {
			return reader.Page{}, errors.New("html_b64 is not base64")
		}
		return c.convert(ctx, raw, true, base)
	}
	return reader.Page{}, errors.New("the line has neither html nor html_b64")
}
