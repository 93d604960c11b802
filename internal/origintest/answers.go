package origintest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// stoppable lets handlers that never end do so when the web stops.
type stoppable struct {
	http.ResponseWriter
	stop chan struct{}
}

// Unwrap serves http.ResponseController.
func (s *stoppable) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Stopped is closed when the web that serves w stops: handlers that wait should watch it.
func Stopped(w http.ResponseWriter) <-chan struct{} {
	if s, ok := w.(*stoppable); ok {
		return s.stop
	}
	return nil
}

func setAll(h http.Header, pairs []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
}

// Body answers 200 with text of a media type; an empty type sends none. Further headers come in
// pairs of name and value.
func Body(mediaType, text string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if mediaType == "" {
			w.Header()["Content-Type"] = nil
		} else {
			w.Header().Set("Content-Type", mediaType)
		}
		setAll(w.Header(), headers)
		_, _ = io.WriteString(w, text)
	})
}

// Status answers with a status, headers in pairs, and a short text.
func Status(status int, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		setAll(w.Header(), headers)
		w.WriteHeader(status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			_, _ = fmt.Fprintf(w, "status %d\n", status)
		}
	})
}

// StatusBody answers with a status and an HTML page.
func StatusBody(status int, html string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		setAll(w.Header(), headers)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, html)
	})
}

// Sequence answers the first request by the first handler, the next by the second, and from then on
// by the last.
func Sequence(hs ...http.Handler) http.Handler {
	turn := make(chan int, 1)
	turn <- 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := <-turn
		turn <- min(i+1, len(hs)-1)
		hs[i].ServeHTTP(w, r)
	})
}

// Article is a readable page of some length, for tests that need one.
func Article(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html lang=en><head><meta charset=utf-8><title>%s</title></head><body><main><article><h1>%s</h1>\n", title, title)
	for i := range 8 {
		fmt.Fprintf(&b, "<p>Paragraph %d of %s. The mill by the river was built of oak and brick, and it ground the corn of four villages until the railway came; since then it has been a dwelling, a school and a museum.</p>\n", i+1, title)
	}
	b.WriteString("</article></main></body></html>")
	return b.String()
}

// Challenge is a check that only a browser passes, named by its header.
func Challenge() http.Handler {
	return StatusBody(http.StatusForbidden, "<!doctype html><title>Just a moment...</title><body><div id=challenge></div>", "Cf-Mitigated", "challenge")
}

// Login is a page that holds only a login form.
func Login() http.Handler {
	return StatusBody(http.StatusOK, `<!doctype html><title>Sign in</title><body><main><form method=post action=/session>
<label>Name <input name=user></label><label>Password <input type=password name=pass></label><button>Sign in</button></form></main>`)
}

// Paywall is an article that declares itself paid and leaves the paid part out.
func Paywall() http.Handler {
	return StatusBody(http.StatusOK, `<!doctype html><title>Paid</title><script type="application/ld+json">
{"@context":"https://schema.org","@type":"NewsArticle","isAccessibleForFree":false,"hasPart":{"@type":"WebPageElement","isAccessibleForFree":false,"cssSelector":".paid"}}
</script><body><article><h1>Paid</h1><p>Only the first sentence is free.</p><div class="paid"></div></article>`)
}

// Encoded sends text under a content coding: gzip, br or zstd.
func Encoded(coding, mediaType, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Encoding", coding)
		e := encoder(coding, w)
		_, _ = io.WriteString(e, text)
		_ = e.Close()
	})
}

// Bomb sends size bytes of "a" under a coding: few on the wire, many in memory.
func Bomb(coding, mediaType string, size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Encoding", coding)
		e := encoder(coding, w)
		defer func() { _ = e.Close() }()
		block := []byte(strings.Repeat("a", 1<<16))
		for left := size; left > 0; left -= int64(len(block)) {
			if int64(len(block)) > left {
				block = block[:left]
			}
			if _, err := e.Write(block); err != nil {
				return
			}
		}
	})
}

func encoder(coding string, w io.Writer) io.WriteCloser {
	switch coding {
	case "gzip":
		return gzip.NewWriter(w)
	case "br":
		return brotli.NewWriterLevel(w, 1)
	case "zstd":
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err == nil {
			return z
		}
	}
	panic("origintest: no encoder for " + coding)
}

// Large sends size bytes of HTML text without a Content-Length.
func Large(mediaType string, size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		block := []byte(strings.Repeat("word ", 1<<13))
		for left := size; left > 0; left -= int64(len(block)) {
			if int64(len(block)) > left {
				block = block[:left]
			}
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
}

// Declared says it has size bytes and sends a few.
func Declared(mediaType string, size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.WriteString(w, "<p>few")
	})
}

// Truncated promises more bytes than it sends and closes the connection.
func Truncated(mediaType, text string) http.Handler { return Declare(mediaType, text, len(text)+1000) }

// Declare sends text with a Content-Length of length and hangs up.
func Declare(mediaType, text string, length int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", fmt.Sprint(length))
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// Reset closes the connection without an answer.
func Reset() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Hang never answers; it ends when the client hangs up or the web stops.
func Hang() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-Stopped(w):
		}
	})
}

// HangAfter answers with text, then sends nothing more and keeps the connection open.
func HangAfter(mediaType, text string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		setAll(w.Header(), headers)
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		Hang().ServeHTTP(w, r)
	})
}

// When answers by h once gate is closed, or not at all when the client or the web ends before.
func When(gate <-chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		case <-Stopped(w):
		}
	})
}

// HeaderBomb sends size bytes of response headers.
func HeaderBomb(size int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		line := strings.Repeat("x", 1000)
		for i := 0; i*1010 < size; i++ {
			w.Header().Set(fmt.Sprintf("X-Bomb-%d", i), line)
		}
		w.WriteHeader(http.StatusOK)
	})
}

// Tags is a page of n tags in few bytes.
func Tags(n int) http.Handler { return Body("text/html; charset=utf-8", strings.Repeat("<p>a", n)) }
