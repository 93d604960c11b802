package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bot = &policy.Profile{Name: "test", Identity: policy.Identity{Token: "TestReader", Version: "1.0", InfoURL: "https://bot.example/"}}

type world struct {
	web   *origintest.Web
	clock *origintest.Clock
	cfg   Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{web: origintest.New(t), clock: origintest.NewClock(time.Time{})}
	guard, err := netguard.FromEnv(w.web.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg = Config{Now: w.clock.Now, Dialer: dialer, RootCAs: w.web.RootCAs(), FirstByteTimeout: 10 * time.Second, Timeout: 30 * time.Second}
	return w
}

func (w *world) permit(t *testing.T, raw string) policy.Permit {
	t.Helper()
	target, err := policy.ParseTarget(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := policy.Judge(policy.Case{
		Stage: policy.Fetch, Profile: bot, Cause: policy.Cause{Kind: policy.CauseRead, ID: "r1", Account: "a"}, Target: target,
		Standing: policy.StandingGood, Signals: signals.Set{Robots: signals.Robots{State: signals.RobotsAbsent}}, Now: w.clock.Now(),
	})
	if !v.Allowed() {
		t.Fatalf("not permitted: %+v", v.Grounds)
	}
	return v.Permit()
}

func (w *world) get(t *testing.T, raw string, o Options) (*Response, error) {
	t.Helper()
	f, err := New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if o.Accept == "" {
		o.Accept = "text/html"
	}
	return f.Do(t.Context(), w.permit(t, raw), o)
}

func TestTheRequestIsTheSameEverywhereAndCarriesNothingElse(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("*", "/", origintest.Body("text/html", "<p>hi", "Set-Cookie", "id=1"))
	urls := []string{"http://a.test/x", "https://b.test/y?z=%2F&e=", "http://a.test/x"}
	for _, u := range urls {
		r, err := w.get(t, u, Options{})
		if err != nil || string(r.Body) != "<p>hi" || r.Status != 200 {
			t.Fatalf("%s: %v %+v", u, err, r)
		}
	}
	for i, r := range w.web.Requests() {
		var names []string
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != "Accept Accept-Encoding User-Agent" {
			t.Errorf("request %d has the headers %s", i, got)
		}
		if r.Header.Get("User-Agent") != "TestReader/1.0 (+https://bot.example/)" || r.Method != "GET" || r.URL() != urls[i] {
			t.Errorf("request %d: %+v", i, r)
		}
	}
	if w.web.Conns() != 3 {
		t.Errorf("%d connections for 3 requests", w.web.Conns())
	}
}

func TestTheURLGoesOutAsItWasGiven(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("*", "/", origintest.Body("text/html", "x"))
	for _, path := range []string{"/", "/a%2Fb", "/%7Euser/~x", "/a//b", "//a", "/a;b=1,2", "/q?a=b&c=%26d+e", "/?", "/é?ü", "/a%41", "/a'(b)*!$&+:@[x]", "/%e2%82%ac", "/a|b^c{d}`e\"f<g>"} {
		target, err := policy.ParseTarget("http://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		w.web.Reset()
		if _, err := w.get(t, "http://a.test"+path, Options{}); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := w.web.Requests()[0].Path; got != target.PathQuery() {
			t.Errorf("%s was requested as %s, the target says %s", path, got, target.PathQuery())
		}
	}
}

func TestALapsedPermitWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.web.Page("a.test", "/", "x")
	f, _ := New(w.cfg)
	p := w.permit(t, "http://a.test/")
	w.clock.Advance(policy.PermitLife)
	if _, err := f.Do(t.Context(), p, Options{}); !errors.Is(err, ErrExpired) || w.web.Conns() != 0 {
		t.Errorf("%v, %d connections", err, w.web.Conns())
	}
	for _, u := range []string{"http://a.test/", "https://a.test/"} {
		p = w.permit(t, u)
		calls := 0
		w.cfg.Now = func() time.Time { // the permit lapses while the connection is made
			if calls++; calls > 1 {
				return w.clock.Now().Add(policy.PermitLife)
			}
			return w.clock.Now()
		}
		f, _ = New(w.cfg)
		r, err := f.Do(t.Context(), p, Options{})
		if !errors.Is(err, ErrExpired) || !r.WrittenAt.IsZero() || len(w.web.Requests()) != 0 {
			t.Errorf("%s: %v, written %v, the origin saw %v", u, err, r.WrittenAt, w.web.URLs())
		}
	}
	if w.web.Conns() == 0 {
		t.Error("no connection came about: the test shows nothing")
	}
	if _, err := f.Do(t.Context(), policy.Permit{}, Options{}); !errors.Is(err, ErrExpired) {
		t.Errorf("zero permit: %v", err)
	}
}

func TestRedirectsComeBackAsAnswers(t *testing.T) {
	w := newWorld(t)
	w.web.Redirect("a.test", "/", 302, "http://a.test/next")
	r, err := w.get(t, "http://a.test/", Options{})
	if err != nil || r.Status != 302 || r.Header.Get("Location") != "http://a.test/next" || len(w.web.Requests()) != 1 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestOneLayerOfEachCodingIsDecoded(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("<p>some text", 1000)
	for _, c := range []string{"gzip", "br", "zstd"} {
		w.web.Handle("a.test", "/"+c, origintest.Encoded(c, "text/html", text))
		r, err := w.get(t, "http://a.test/"+c, Options{})
		if err != nil || string(r.Body) != text || r.Bytes == 0 || r.Bytes >= int64(len(text)) {
			t.Errorf("%s: %v, %d bytes, %d on the wire", c, err, len(r.Body), r.Bytes)
		}
	}
	var twice bytes.Buffer
	z := gzip.NewWriter(&twice)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	for name, tail := range map[string]string{"padded": strings.Repeat("\x00", 100), "member": twice.String()} {
		w.web.Handle("a.test", "/"+name, origintest.Body("text/html", twice.String()+tail, "Content-Encoding", "gzip"))
		if r, err := w.get(t, "http://a.test/"+name, Options{}); err != nil || string(r.Body[:len(text)]) != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, h := range map[string]http.Handler{
		"deflate": origintest.Body("text/html", "x", "Content-Encoding", "deflate"), "two": origintest.Body("text/html", twice.String(), "Content-Encoding", "gzip, gzip"),
		"fields": origintest.Body("text/html", "x", "Content-Encoding", "gzip", "Content-Encoding", "br"), "wrong": origintest.Body("text/html", "plain text, not gzip at all", "Content-Encoding", "gzip"),
	} {
		w.web.Handle("a.test", "/"+name, h)
		if r, err := w.get(t, "http://a.test/"+name, Options{}); fault.Of(err) != fault.UnsupportedContent || len(r.Body) > 0 && name != "wrong" {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.web.Handle("a.test", "/empty", origintest.Body("text/html", "", "Content-Encoding", "gzip"))
	if _, err := w.get(t, "http://a.test/empty", Options{}); err != nil {
		t.Errorf("empty body: %v", err)
	}
}

func TestBombsAndGiantsAreCutAtTheBound(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxBody = 1 << 20
	for name, h := range map[string]http.Handler{
		"gzip": origintest.Bomb("gzip", "text/html", 8<<20), "br": origintest.Bomb("br", "text/html", 8<<20), "zstd": origintest.Bomb("zstd", "text/html", 8<<20),
		"large": origintest.Large("text/html", 2<<20), "declared": origintest.Declared("text/html", 1<<40),
	} {
		w.web.Handle("a.test", "/"+name, h)
		if r, err := w.get(t, "http://a.test/"+name, Options{}); fault.Of(err) != fault.TooLarge || len(r.Body) != 0 {
			t.Errorf("%s: %v, %d bytes kept", name, err, len(r.Body))
		}
	}
	r, err := w.get(t, "http://a.test/large", Options{MaxBody: 1000, Truncate: true})
	if err != nil || len(r.Body) != 1000 || !r.Truncated {
		t.Errorf("truncated: %v %d", err, len(r.Body))
	}
	w.web.Handle("a.test", "/exact", origintest.Large("text/html", 1<<20))
	if r, err := w.get(t, "http://a.test/exact", Options{}); err != nil || len(r.Body) != 1<<20 || r.Truncated {
		t.Errorf("a body of exactly the bound: %v", err)
	}
}

func TestHeaderBombsAreTooLarge(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("a.test", "/", origintest.HeaderBomb(400<<10))
	w.web.Handle("a.test", "/fine", origintest.HeaderBomb(100<<10))
	for _, scheme := range []string{"http", "https"} {
		_, err := w.get(t, scheme+"://a.test/", Options{})
		// HTTP/2 ends the connection when the limit is passed by far, which shows as a failed connection.
		if k := fault.Of(err); k != fault.TooLarge && (scheme == "http" || k != fault.TargetUnreachable) {
			t.Errorf("%s: %v (%v)", scheme, err, errors.Unwrap(err))
		}
		if _, err := w.get(t, scheme+"://a.test/fine", Options{}); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestFailuresAreNamedByTheirClassAndTriedOnce(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("a.test", "/reset", origintest.Reset())
	w.web.Handle("a.test", "/hang", origintest.Hang())
	w.web.Handle("a.test", "/drip", origintest.HangAfter("text/html", "<p>first"))
	w.web.Handle("a.test", "/short", origintest.Truncated("text/html", "<p>some"))
	w.cfg.FirstByteTimeout, w.cfg.Timeout = 500*time.Millisecond, time.Second
	for path, want := range map[string]fault.Kind{"/reset": fault.TargetUnreachable, "/hang": fault.TargetTimeout, "/drip": fault.TargetTimeout, "/short": fault.TargetUnreachable} {
		for _, scheme := range []string{"http", "https"} {
			w.web.Reset()
			r, err := w.get(t, scheme+"://a.test"+path, Options{})
			if fault.Of(err) != want || r.WrittenAt.IsZero() {
				t.Errorf("%s%s: %v, want %v", scheme, path, err, want)
			}
			if n := len(w.web.Requests()); n != 1 {
				t.Errorf("%s%s: the origin saw %d requests", scheme, path, n)
			}
		}
	}
	for u, want := range map[string]fault.Kind{"http://10.0.0.1/": fault.AddressNotAllowed, "http://169.254.169.254/latest": fault.AddressNotAllowed, "http://127.0.0.1:1/": fault.TargetUnreachable} {
		r, err := w.get(t, u, Options{})
		if fault.Of(err) != want || !r.WrittenAt.IsZero() {
			t.Errorf("%s: %v", u, err)
		}
		if strings.ContainsAny(fault.As(err).Detail, "0123456789") && want == fault.TargetUnreachable {
			t.Errorf("%s: the detail tells more than the class: %s", u, fault.As(err).Detail)
		}
	}
}

func TestAnUnknownCertificateIsUnreachable(t *testing.T) {
	w := newWorld(t)
	w.web.Page("a.test", "/", "x")
	w.cfg.RootCAs = nil
	if _, err := w.get(t, "https://a.test/", Options{}); fault.Of(err) != fault.TargetUnreachable || len(w.web.Requests()) != 0 {
		t.Errorf("%v", err)
	}
}

func TestACancelledContextCutsABodyBeingRead(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("a.test", "/", origintest.HangAfter("text/html", "<p>first"))
	f, _ := New(w.cfg)
	why := errors.New("suspended")
	for _, u := range []string{"http://a.test/", "https://a.test/"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		w.web.Before(func(origintest.Request) { cancel(why) })
		r, err := f.Do(ctx, w.permit(t, u), Options{})
		if !errors.Is(err, why) || r.WrittenAt.IsZero() {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestBodiesOfErrorsAreReadInPartAndNeverHideTheStatus(t *testing.T) {
	w := newWorld(t)
	w.web.HandleFunc("a.test", "/big", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(503)
		_, _ = rw.Write(make([]byte, 3<<20))
	})
	w.web.Handle("a.test", "/odd", origintest.StatusBody(403, "x", "Content-Encoding", "lzma"))
	for path, status := range map[string]int{"/big": 503, "/odd": 403} {
		r, err := w.get(t, "http://a.test"+path, Options{})
		if err != nil || r.Status != status || len(r.Body) > maxOdd {
			t.Errorf("%s: %v %d %d", path, err, r.Status, len(r.Body))
		}
	}
}

func TestConditionalRequestsSendValidatorsAsGiven(t *testing.T) {
	w := newWorld(t)
	w.web.Handle("a.test", "/", origintest.Status(304))
	r, err := w.get(t, "http://a.test/", Options{ETag: `W/"x, y"`, LastModified: "Thu, 1 Jan 2026 00:00:00 GMT", Language: "nl"})
	h := w.web.Requests()[0].Header
	if err != nil || r.Status != 304 || h.Get("If-None-Match") != `W/"x, y"` || h.Get("If-Modified-Since") != "Thu, 1 Jan 2026 00:00:00 GMT" || h.Get("Accept-Language") != "nl" {
		t.Errorf("%v %v %v", err, r.Status, h)
	}
}

func TestTheWriteIsTimedAndTheAddressNoted(t *testing.T) {
	w := newWorld(t)
	w.web.Page("a.test", "/", "x")
	r, err := w.get(t, "http://a.test/", Options{})
	if err != nil || !r.WrittenAt.Equal(w.clock.Now()) || !r.AnsweredAt.Equal(w.clock.Now()) || r.Remote != netip.MustParseAddrPort(w.web.Addr()) {
		t.Errorf("%v %v %v %v", err, r.WrittenAt, r.AnsweredAt, r.Remote)
	}
}
