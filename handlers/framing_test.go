package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// raw sends parts over one connection, one after the other, and returns what comes back until it is
// closed; closed is false when it stayed open for as long as the test waits.
func raw(t *testing.T, address string, parts ...string) (text string, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			break // closed early; what it said before can be read
		}
	}
	all, err := io.ReadAll(conn)
	return string(all), !errors.Is(err, os.ErrDeadlineExceeded)
}

// exchange is raw for answers as such.
func exchange(t *testing.T, address string, parts ...string) (answers []*http.Response, closed bool) {
	t.Helper()
	text, closed := raw(t, address, parts...)
	left := bufio.NewReader(strings.NewReader(text))
	for {
		if _, end := left.Peek(1); end != nil {
			return answers, closed
		}
		answer, err := http.ReadResponse(left, nil)
		if err != nil {
			t.Fatalf("not an answer: %v in %q", err, text)
		}
		_, _ = io.Copy(io.Discard, answer.Body) // all there is was read
		answers = append(answers, answer)
	}
}

const (
	keyed   = "Host: a\r\nAuthorization: Bearer wr_good\r\n"
	post    = "POST /read HTTP/1.1\r\n" + keyed + "Content-Type: application/json\r\n"
	page    = `{"url":"https://a.test/"}` // 25 = 0x19 bytes
	chunked = "19\r\n" + page + "\r\n0\r\n\r\n"
	hidden  = "GET /keys HTTP/1.1\r\n" + keyed + "\r\n"
)

// Forms by which one request is read as two, or two as one, by a proxy and by us. What follows is never
// taken for a request.
func TestFormsThatHideARequestAreRefused(t *testing.T) {
	r := newRig(t)
	for name, form := range badForms {
		answers, closed := exchange(t, r.url, form.request+hidden)
		if len(answers) != 1 || !closed {
			t.Errorf("%s: %d answers, closed: %t", name, len(answers), closed)
			continue
		}
		if a := answers[0]; a.StatusCode != form.status || !a.Close {
			t.Errorf("%s: %s, close: %t; want %d and close", name, a.Status, a.Close, form.status)
		}
		if n := len(r.rooms.orders); n > 0 {
			t.Fatalf("%s: %d reads", name, n)
		}
	}
	if log := r.logged(); strings.Contains(log, "/keys") || strings.Contains(log, `"status":200`) {
		t.Errorf("a handler was reached: %s", log)
	}
}

var badForms = map[string]struct {
	request string
	status  int
}{
	"length and chunked":               {post + "Content-Length: 25\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 400},
	"chunked and length":               {post + "Transfer-Encoding: chunked\r\nContent-Length: 25\r\n\r\n" + chunked, 400},
	"a short length and chunked":       {post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 400},
	"no length and chunked":            {post + "Content-Length:\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 400},
	"the same length twice":            {post + "Content-Length: 25\r\nContent-Length: 25\r\n\r\n" + page, 400},
	"two lengths":                      {post + "Content-Length: 25\r\nContent-Length: 5\r\n\r\n" + page, 400},
	"two lengths in one":               {post + "Content-Length: 25, 25\r\n\r\n" + page, 400},
	"a signed length":                  {post + "Content-Length: +25\r\n\r\n" + page, 400},
	"a negative length":                {post + "Content-Length: -1\r\n\r\n" + page, 400},
	"a length of hexadecimal digits":   {post + "Content-Length: 0x19\r\n\r\n" + page, 400},
	"a length with a vertical tab":     {post + "Content-Length: \v25\r\n\r\n" + page, 400},
	"a length without end":             {post + "Content-Length: 18446744073709551641\r\n\r\n" + page, 400},
	"a length with a CR":               {post + "Content-Length: 25\rX: y\r\n\r\n" + page, 400},
	"an unknown coding":                {post + "Transfer-Encoding: xchunked\r\n\r\n" + chunked, 501},
	"a coding before chunked":          {post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked, 501},
	"identity after chunked":           {post + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked, 501},
	"identity alone":                   {post + "Transfer-Encoding: identity\r\nContent-Length: 25\r\n\r\n" + page, 501},
	"two codings":                      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunked, 501},
	"chunked twice":                    {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 501},
	"chunked with a vertical tab":      {post + "Transfer-Encoding: \vchunked\r\n\r\n" + chunked, 400},
	"chunked with a parameter":         {post + "Transfer-Encoding: chunked;q=1\r\n\r\n" + chunked, 501},
	"chunked in HTTP/1.0":              {strings.Replace(post, "1.1", "1.0", 1) + "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 400},
	"chunked, HTTP/1.0 and length":     {strings.Replace(post, "1.1", "1.0", 1) + "Connection: keep-alive\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 400},
	"a folded coding":                  {post + "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunked, 400},
	"a folded header":                  {post + "X: a\r\n\tContent-Length: 5\r\nContent-Length: 25\r\n\r\n" + page, 400},
	"a blank before the colon":         {post + "Content-Length : 25\r\n\r\n" + page, 400},
	"a blank before the first header":  {"POST /read HTTP/1.1\r\n " + keyed + "\r\n", 400},
	"a NUL in a header":                {post + "X: a\x00b\r\nContent-Length: 25\r\n\r\n" + page, 400},
	"a header without a colon":         {post + "Content-Length 25\r\n\r\n", 400},
	"lines that end in LF":             {"GET /keys HTTP/1.1\nHost: a\nAuthorization: Bearer wr_good\n\n", 400},
	"one line that ends in LF":         {post + "X: y\nContent-Length: 25\r\n\r\n" + page, 400},
	"a head that ends in LF":           {post + "Content-Length: 25\r\n\n" + page, 400},
	"a CR in the head":                 {post + "X: a\rContent-Length: 0\r\nContent-Length: 25\r\n\r\n" + page, 400},
	"two CR":                           {post + "Content-Length: 25\r\r\n\r\n" + page, 400},
	"no version":                       {"GET /keys\r\n" + keyed + "\r\n", 400},
	"a blank in the target":            {"GET /keys /x HTTP/1.1\r\n" + keyed + "\r\n", 400},
	"two blanks":                       {"GET  /keys HTTP/1.1\r\n" + keyed + "\r\n", 400},
	"no host":                          {"GET /healthz HTTP/1.1\r\n\r\n", 400},
	"two hosts":                        {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
	"the preface of HTTP/2":            {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
	"a head that is too large":         {"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 40<<10) + "\r\n\r\n", 431},
	"a line that is too large":         {"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 80<<10), 431},
	"chunks: LF after the size":        {post + "Transfer-Encoding: chunked\r\n\r\n19\n" + page + "\r\n0\r\n\r\n", 400},
	"chunks: LF in an extension":       {post + "Transfer-Encoding: chunked\r\n\r\n19;a\n" + page + "\r\n0\r\n\r\n", 400},
	"chunks: LF at the end":            {post + "Transfer-Encoding: chunked\r\n\r\n19\r\n" + page + "\r\n0\n\n", 400},
	"chunks: a size that overflows":    {post + "Transfer-Encoding: chunked\r\n\r\n10000000000000019\r\n" + page + "\r\n0\r\n\r\n", 400},
	"chunks: a negative size":          {post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + page + "\r\n0\r\n\r\n", 400},
	"chunks: a size with 0x":           {post + "Transfer-Encoding: chunked\r\n\r\n0x19\r\n" + page + "\r\n0\r\n\r\n", 400},
	"chunks: more than the size":       {post + "Transfer-Encoding: chunked\r\n\r\n19\r\n" + page + "xx\r\n0\r\n\r\n", 400},
	"chunks: a size that is too small": {post + "Transfer-Encoding: chunked\r\n\r\n10\r\n" + page + "\r\n0\r\n\r\n", 400},
}

// Whatever a form's bytes are split into, it is refused; and a good request before it is answered.
func TestABadFormDoesNotHarmTheRequestBeforeIt(t *testing.T) {
	r := newRig(t)
	bad := post + "Content-Length: 25\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + hidden
	good := post + "Content-Length: 25\r\n\r\n" + page
	for name, parts := range map[string][]string{"at once": {good + bad}, "byte by byte": strings.Split(good+bad, "")} {
		answers, closed := exchange(t, r.url, parts...)
		if len(answers) != 2 || answers[0].StatusCode != 422 || answers[1].StatusCode != 400 || !closed {
			t.Fatalf("%s: %v, closed: %t", name, answers, closed)
		}
		if h := answers[1].Header; h.Get("Content-Type") != "application/problem+json" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: not our answer: %v", name, h)
		}
	}
	if log := r.logged(); len(r.rooms.orders) != 2 || strings.Contains(log, "/keys") || strings.Count(log, `"code":"invalid_request"`) != 2 {
		t.Errorf("%d orders: %s", len(r.rooms.orders), log)
	}
}

// A request about the server as a whole, which net/http likes to answer itself, counts as well.
func TestABadFormAfterAQuestionAboutTheServerIsRefused(t *testing.T) {
	r := newRig(t)
	answers, closed := exchange(t, r.url, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"+post+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"+chunked+hidden)
	if len(answers) != 2 || answers[1].StatusCode != 400 || !closed || len(r.rooms.orders) > 0 || answers[0].Header.Get("X-Request-Id") == "" {
		t.Errorf("%v, closed: %t, %d reads", answers, closed, len(r.rooms.orders))
	}
}

// What is unusual and can be read in one way only is served, and its connection stays open.
func TestGoodFormsAreServed(t *testing.T) {
	last := "GET /account HTTP/1.1\r\n" + keyed + "Connection: close\r\n\r\n"
	r := newRig(t)
	for name, form := range map[string]struct {
		requests string
		answers  int
	}{
		"one after the other":             {strings.Repeat(post+"Content-Length: 25\r\n\r\n"+page, 3), 4},
		"blank lines before":              {post + "Content-Length: 25\r\n\r\n" + page + "\r\n\r\n", 2},
		"no body":                         {"POST /read HTTP/1.1\r\n" + keyed + "Content-Length: 0\r\n\r\n", 2},
		"a body that looks like a head":   {post + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden, 2},
		"a body of line feeds":            {post + "Content-Length: 5\r\n\r\n\n\r\n\n\n", 2},
		"blanks around values":            {"POST /read HTTP/1.1\r\n" + strings.ReplaceAll(keyed, ": ", ":\t ") + "content-length:25 \t\r\n\r\n" + page, 2},
		"an address in full":              {"GET http://b/account HTTP/1.1\r\n" + keyed + "\r\n", 2},
		"HTTP/1.0":                        {"GET /account HTTP/1.0\r\n" + keyed + "Connection: keep-alive\r\n\r\n", 2},
		"an upgrade that we do not take":  {"GET /account HTTP/1.1\r\n" + keyed + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", 2},
		"chunked, and nothing behind it":  {post + "Transfer-Encoding: Chunked\r\n\r\n" + chunked, 1},
		"chunked with extras and trailer": {post + "Transfer-Encoding: chunked\r\n\r\n19;a=b\r\n" + page + "\r\n0\r\nX: y\r\n\r\n", 1},
	} {
		for _, parts := range [][]string{{form.requests + last}, strings.Split(form.requests+last, "")} {
			answers, closed := exchange(t, r.url, parts...)
			if len(answers) != form.answers || !closed {
				t.Errorf("%s: %d answers, want %d, closed: %t", name, len(answers), form.answers, closed)
			}
			for i, a := range answers {
				if a.Close != (i == len(answers)-1) {
					t.Errorf("%s: answer %d says close: %t", name, i, a.Close)
				}
			}
		}
	}
	if log := r.logged(); strings.Contains(log, "/keys") {
		t.Errorf("a body was taken for a request: %s", log)
	}
}

// Heads and bodies end where net/http ends them, whatever the bytes, as long as no form is refused.
func FuzzHeadsEndWhereTheServerEndsThem(f *testing.F) {
	for _, form := range badForms {
		f.Add([]byte(form.request + hidden))
	}
	f.Add([]byte(hidden + post + "Content-Length: 25\r\n\r\n" + page + "\r\n" + hidden))
	f.Add([]byte(post + "Transfer-Encoding: chunked\r\n\r\n" + chunked + hidden))
	f.Fuzz(func(t *testing.T, in []byte) {
		ours, over := headsSeen(in)
		theirs := headsRead(in)
		if over && len(theirs) > len(ours) {
			theirs = theirs[:len(ours)]
		}
		if len(theirs) > len(ours) || !slices.Equal(theirs, ours[:len(theirs)]) {
			t.Errorf("we see heads end at %d, net/http at %d: %q", ours, theirs, in)
		}
	})
}

// headsSeen is where heads end for a framedConn; over, when it looked no further.
func headsSeen(in []byte) (ends []int, over bool) {
	c := &framedConn{}
	for i := range in {
		before := c.heads
		if c.look(in[i : i+1]); c.heads > before {
			ends = append(ends, i+1)
		}
	}
	return ends, c.over
}

// headsRead is where heads end for net/http, which drops blank lines after a POST.
func headsRead(in []byte) (ends []int) {
	source := bytes.NewReader(in)
	r := bufio.NewReader(source)
	for last := ""; ; {
		for blank := 0; last == "POST" && blank < 4; blank++ {
			if b, _ := r.Peek(1); len(b) == 0 || b[0] != '\r' && b[0] != '\n' {
				break
			}
			_, _ = r.Discard(1)
		}
		request, err := http.ReadRequest(r)
		if err != nil || request.ProtoMajor != 1 {
			return ends
		}
		ends = append(ends, len(in)-source.Len()-r.Buffered())
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return ends
		}
		last = request.Method
	}
}

// The admin address is as strict, whoever answers there.
func TestOtherHandlersAreGuardedToo(t *testing.T) {
	reached := 0
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	web.Listener = newRig(t).server.Strict(web.Config, web.Listener)
	web.Start()
	defer web.Close()
	head := "POST /metrics HTTP/1.1\r\nHost: a\r\n"
	answers, closed := exchange(t, web.URL, head+"Content-Length: 2\r\n\r\nab"+head+"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+hidden)
	if len(answers) != 2 || !closed || reached != 2 {
		t.Errorf("%d answers, closed: %t, %d reached the handler", len(answers), closed, reached)
	}
	answers, closed = exchange(t, web.URL, head+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+hidden)
	if len(answers) != 1 || answers[0].StatusCode != 400 || !closed || reached != 2 {
		t.Errorf("%v, closed: %t, %d reached the handler", answers, closed, reached)
	}
}
