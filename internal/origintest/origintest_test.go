package origintest_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

func client(t *testing.T, w *origintest.Web) *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", w.Addr())
		},
		TLSClientConfig:   &tls.Config{RootCAs: w.RootCAs()},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(b)
}

func TestOneAddressServesManyHostsBothPlainAndTLS(t *testing.T) {
	w := origintest.New(t)
	w.Page("a.test", "/x", "<p>one")
	w.Page("b.test", "/", "<p>folder")
	w.Robots("a.test", "User-agent: *\n")
	c := client(t, w)
	for url, want := range map[string]string{
		"http://a.test/x": "<p>one", "https://a.test/x?q=1": "<p>one", "https://b.test/any/where": "<p>folder",
		"http://a.test/robots.txt": "User-agent: *\n", "http://b.test/robots.txt": "status 404\n", "http://a.test/none": "status 404\n",
	} {
		if _, got := get(t, c, url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if n := w.Count("a.test", "/x"); n != 1 {
		t.Errorf("count of /x is %d", n)
	}
	if log := w.Log("b.test"); !slices.Contains(log, "GET /any/where") {
		t.Errorf("log of b.test: %v", log)
	}
	for _, r := range w.To("b.test") {
		if r.TLS && r.Proto != "HTTP/2.0" {
			t.Errorf("TLS request came over %s", r.Proto)
		}
	}
}

func TestSequenceAnswersInOrderAndStaysAtTheLast(t *testing.T) {
	w := origintest.New(t)
	w.Handle("a.test", "/", origintest.Sequence(origintest.Status(503), origintest.Status(404)))
	c := client(t, w)
	for i, want := range []int{503, 404, 404} {
		if got, _ := get(t, c, "http://a.test/"); got != want {
			t.Errorf("answer %d: %d, want %d", i, got, want)
		}
	}
}

func TestClockFiresTimersInOrderAtTheirTimes(t *testing.T) {
	c := origintest.NewClock(time.Time{})
	start := c.Now()
	late, soon := c.After(2*time.Second), c.After(time.Second)
	c.Advance(1500 * time.Millisecond)
	if at := <-soon; !at.Equal(start.Add(time.Second)) {
		t.Errorf("fired at %v", at)
	}
	select {
	case <-late:
		t.Error("the later timer fired too early")
	default:
	}
	c.AwaitTimers(t, 1)
	if next, ok := c.Next(); !ok || !next.Equal(start.Add(2*time.Second)) {
		t.Errorf("next is %v", next)
	}
	done := make(chan struct{})
	go func() { <-late; close(done) }()
	c.Run(t, nil, 0, done)
	if !c.Now().Equal(start.Add(2 * time.Second)) {
		t.Errorf("the clock stands at %v", c.Now())
	}
}
