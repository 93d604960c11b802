package gate

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/policy"
)

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-1", "Thu, 15 Jan 2026 12:02:00 GMT", "99999999999999999999", "1e3", " 5 ", "soon", "0x10", "Thursday, 15-Jan-26 12:02:00 GMT"} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, raw string) {
		h := http.Header{"Retry-After": {raw}, "Cache-Control": {raw}, "Expires": {raw}, "Date": {raw}}
		if d := retryAfter(429, h, now); d < 0 || d > 365*24*time.Hour {
			t.Errorf("%q: %v", raw, d)
		}
		if d := retryAfter(200, h, now); d != 0 {
			t.Errorf("%q: %v on a good answer", raw, d)
		}
		if d := new(policy.Profile).RobotsLife(h); d < 0 || d > 24*time.Hour {
			t.Errorf("%q: a life of %v", raw, d)
		}
	})
}

func FuzzToUTF8(f *testing.F) {
	f.Add([]byte("<meta charset=utf-16>\xff"), "text/html")
	f.Add([]byte("<?xml version='1.0' encoding='latin1'?>\xe9"), "application/xml; charset=x")
	f.Add([]byte("\xff\xfea\x00"), "")
	f.Add([]byte("<meta http-equiv=content-type content='text/html; charset=shift_jis'>\x83"), "text/html; charset=")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		h := http.Header{"Content-Type": {contentType}}
		text, name := toUTF8(body, contentType, mediaType(h, body))
		if !utf8.Valid(text) || name == "" {
			t.Errorf("%q as %q: not UTF-8, called %q", body, contentType, name)
		}
	})
}

func TestParsedRobotsFilesTakeABoundedMemory(t *testing.T) {
	var fs files
	body := []byte("User-agent: *\n" + strings.Repeat("Disallow: /a*b\n", 30_000))
	for i := range 20 {
		c := RobotsCopy{Authority: fmt.Sprint("http://", i%15, ".test"), Body: body, FetchedAt: time.Unix(int64(i), 0)}
		if first, second := fs.parsed(c), fs.parsed(c); first != second {
			t.Fatal("a copy is parsed twice")
		}
	}
	total := 0
	for _, p := range fs.by {
		total += p.file.Size()
	}
	if total != fs.bytes || total == 0 || total > maxFilesBytes {
		t.Errorf("%d bytes in %d files, counted %d", total, len(fs.by), fs.bytes)
	}
}
