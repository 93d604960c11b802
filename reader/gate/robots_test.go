package gate_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

func robotsCount(w *origintest.Web, host string) int { return w.Count(host, "/robots.txt") }

func TestW07ACopyHoldsFor23Hours59AndIsAskedForAnewAfter24(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Robots("a.test", "User-agent: *\nAllow: /\n")
	w.web.Page("a.test", "/x", origintest.Article("x"))
	start := w.clock.Now()
	read := func() error { _, _, err := w.get(t, w.ask(t, "http://a.test/x")); return err }
	if err := read(); err != nil {
		t.Fatal(err)
	}
	w.web.Robots("a.test", "User-agent: *\nDisallow: /\n")
	w.clock.AdvanceTo(start.Add(24*time.Hour - time.Minute))
	if err := read(); err != nil || robotsCount(w.web, "a.test") != 1 {
		t.Errorf("at 23:59: %v, %d requests for robots.txt", err, robotsCount(w.web, "a.test"))
	}
	w.clock.AdvanceTo(start.Add(24 * time.Hour))
	wantFault(t, read(), fault.BlockedBySitePolicy, "robots_disallow", 0)
	if robotsCount(w.web, "a.test") != 2 {
		t.Errorf("at 24:00: %d requests for robots.txt", robotsCount(w.web, "a.test"))
	}
}

func TestW07ACopyOf24HoursIsNoPermissionWhenTheRefreshFails(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"503": origintest.Status(503), "429": origintest.Status(429), "reset": origintest.Reset(), "hang": origintest.Hang(), "challenge": origintest.Challenge(),
		"loop out": origintest.Status(302, "Location", "http://10.0.0.1/"), "cut": origintest.Truncated("text/plain", "User-agent: *\n"), "304 unasked": origintest.Status(304),
		"odd coding": origintest.Body("text/plain", "x", "Content-Encoding", "lzma"), "header bomb": origintest.HeaderBomb(400 << 10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "webreaderapi", func(c *gate.Config) { c.FirstByteTimeout = time.Second })
			w.web.Handle("a.test", "/robots.txt", origintest.Sequence(origintest.Body("text/plain", "User-agent: *\nAllow: /\n"), h))
			w.web.Page("a.test", "/x", origintest.Article("x"))
			if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(24 * time.Hour)
			_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
			wantFault(t, err, fault.BlockedBySitePolicy, "robots_unreachable", 0)
			if w.web.Count("a.test", "/x") != 1 {
				t.Error("the page was requested under an old permission")
			}
		})
	}
}

func TestW12AClosedSiteIsAskedAgainSoonAndReadOnceItOpens(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/robots.txt", origintest.Sequence(origintest.Status(500), origintest.Status(404)))
	w.web.Page("a.test", "/x", origintest.Article("x"))
	for range 3 { // a short memory of failure: one request, however many readers
		_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
		wantFault(t, err, fault.BlockedBySitePolicy, "robots_unreachable", 0)
	}
	if n := robotsCount(w.web, "a.test"); n != 1 {
		t.Errorf("%d requests for robots.txt", n)
	}
	w.clock.Advance(30 * time.Second)
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
		t.Error(err)
	}
}

func TestRetryAfterOfRobotsPausesTheHost(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/robots.txt", origintest.Sequence(origintest.Status(503, "Retry-After", "600"), origintest.Status(404)))
	w.web.Page("a.test", "/x", origintest.Article("x"))
	_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
	wantFault(t, err, fault.BlockedBySitePolicy, "robots_unreachable", 0)
	w.clock.Advance(599 * time.Second)
	_, _, err = w.get(t, w.ask(t, "http://a.test/x"))
	wantFault(t, err, fault.BlockedBySitePolicy, "robots_unreachable", 0)
	w.clock.Advance(time.Second)
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil || robotsCount(w.web, "a.test") != 2 {
		t.Errorf("%v, %d requests", err, robotsCount(w.web, "a.test"))
	}
}

func TestRFC9309FiveRobotsRedirectsAreFollowedAcrossHosts(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for i, host := range []string{"a", "b", "c", "d", "e"} {
		w.web.Redirect(host+".test", "/robots.txt", 301+i%2, fmt.Sprintf("https://%c.test/robots.txt", 'b'+i))
	}
	w.web.Robots("f.test", "User-agent: *\nDisallow: /closed\n")
	w.web.Page("a.test", "/open", origintest.Article("x"))
	_, v, err := w.get(t, w.ask(t, "http://a.test/closed"))
	wantFault(t, err, fault.BlockedBySitePolicy, "robots_disallow", 0)
	if g := v.Grounds[0]; g.RobotsURL != "http://a.test/robots.txt" || g.Line != 2 {
		t.Errorf("the rules bind the first authority: %+v", g)
	}
	if _, _, err := w.get(t, w.ask(t, "http://a.test/open")); err != nil {
		t.Error(err)
	}
	if n := len(w.web.Requests()); n != 7 {
		t.Errorf("the origin saw %v", w.web.URLs())
	}
	// A sixth redirect: the file counts as unavailable.
	w.web.Reset()
	w.web.Redirect("z.test", "/robots.txt", 302, "http://a.test/robots.txt")
	w.web.Page("z.test", "/closed", origintest.Article("x"))
	if _, _, err := w.get(t, w.ask(t, "http://z.test/closed")); err != nil {
		t.Error(err)
	}
	if n := len(w.web.Requests()); n != 7 {
		t.Errorf("the origin saw %v", w.web.URLs())
	}
}

func TestARobotsBombIsReadToItsBound(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for i, h := range []http.Handler{origintest.Bomb("gzip", "text/plain", 16<<20), origintest.Bomb("br", "text/plain", 16<<20), origintest.Bomb("zstd", "text/plain", 16<<20), origintest.Large("text/plain", 16<<20)} {
		host := fmt.Sprintf("h%d.test", i)
		w.web.Handle(host, "/robots.txt", h)
		w.web.Page(host, "/x", origintest.Article("x"))
		if _, _, err := w.get(t, w.ask(t, "http://"+host+"/x")); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if c, _, _ := w.robots.Robots(t.Context(), "http://"+host); len(c.Body) > gate.MaxRobots {
			t.Errorf("%s: %d bytes are kept", host, len(c.Body))
		}
	}
}

func TestARefreshIsConditional(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	rules := origintest.Body("text/plain", "User-agent: *\nDisallow: /closed\n", "ETag", `"v1"`, "Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
	w.web.Handle("a.test", "/robots.txt", origintest.Sequence(rules, origintest.Status(304)))
	for day := range 3 {
		_, _, err := w.get(t, w.ask(t, "http://a.test/closed"))
		wantFault(t, err, fault.BlockedBySitePolicy, "robots_disallow", 0)
		asked := w.web.To("a.test")
		if last := asked[len(asked)-1]; len(asked) != day+1 || day > 0 && (last.Header.Get("If-None-Match") != `"v1"` || last.Header.Get("If-Modified-Since") == "") {
			t.Errorf("day %d: %d requests, the last with %v", day, len(asked), last.Header)
		}
		w.clock.Advance(24 * time.Hour)
	}
}

func TestCacheControlShortensTheLifeDownToTheFloor(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"max-age=600": 10 * time.Minute, "public, Max-Age=\"3600\"": time.Hour, "max-age=1": 5 * time.Minute, "no-cache": 5 * time.Minute, "no-store": 5 * time.Minute,
		"max-age=999999": 24 * time.Hour, "max-age=-1": 24 * time.Hour, "max-age=x": 24 * time.Hour, "": 24 * time.Hour, "max-age=99999999999999999999": 24 * time.Hour,
	} {
		w := newWorld(t, "webreaderapi")
		w.web.Handle("a.test", "/robots.txt", origintest.Body("text/plain", "User-agent: *\n", "Cache-Control", value))
		if _, err := w.Decide(t.Context(), w.ask(t, "http://a.test/x")); err != nil {
			t.Fatal(err)
		}
		if c, _, _ := w.robots.Robots(t.Context(), "http://a.test"); c.ExpiresAt.Sub(c.FetchedAt) != want {
			t.Errorf("%q: %v, want %v", value, c.ExpiresAt.Sub(c.FetchedAt), want)
		}
	}
}

func TestOneRequestForRobotsHoweverManyReadersWait(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	open := make(chan struct{})
	w.web.Handle("a.test", "/robots.txt", origintest.When(open, origintest.Body("text/plain", "User-agent: *\nDisallow: /closed\n")))
	const readers = 50
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			v, err := w.Decide(t.Context(), w.ask(t, fmt.Sprintf("http://a.test/closed/%d", i)))
			if err != nil || v.Allowed() {
				t.Errorf("%v %v", err, v)
			}
		})
	}
	w.clock.AwaitTimers(t, readers) // one polls for the standing of its account, 49 wait
	close(open)
	wg.Wait()
	if n := robotsCount(w.web, "a.test"); n != 1 || w.web.MostInFlight() != 1 {
		t.Errorf("%d requests for robots.txt", n)
	}
}

func TestAReaderWhoLeavesDoesNotTakeTheOthersAlong(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	seen := make(chan struct{})
	w.web.Handle("a.test", "/robots.txt", origintest.Sequence(
		http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { close(seen); origintest.Hang().ServeHTTP(rw, r) }),
		origintest.Body("text/plain", "User-agent: *\nAllow: /\n")))
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := w.Decide(ctx, w.ask(t, "http://a.test/1")); err == nil {
			t.Error("a verdict after leaving")
		}
	})
	<-seen
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		if v, err := w.Decide(t.Context(), w.ask(t, "http://a.test/2")); err != nil || !v.Allowed() {
			t.Errorf("the one who stayed: %v", err)
		}
	})
	w.clock.AwaitTimers(t, 2)
	leave()
	w.clock.Run(t, w.web, 0, done)
	wg.Wait()
	if c, ok, _ := w.robots.Robots(t.Context(), "http://a.test"); !ok || c.State != gate.RobotsFound {
		t.Errorf("the store holds %+v", c)
	}
}

func TestB03ALoneReadUnderARefetchingProfileAsksAnew(t *testing.T) {
	w := newWorld(t, "subvenio")
	w.web.Page("a.test", "/x", origintest.Article("x"))
	for i := range 2 {
		if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil || robotsCount(w.web, "a.test") != i+1 {
			t.Errorf("read %d: %v, %d requests for robots.txt", i, err, robotsCount(w.web, "a.test"))
		}
	}
	// Pages of a crawl share the copy of its start.
	a := w.ask(t, "http://a.test/x")
	a.Cause.Kind = policy.CauseCrawl
	a.FreshRobots = true
	_, _, err := w.get(t, a)
	a.FreshRobots = false
	a.Until = w.clock.Now().Add(time.Hour)
	_, _, err2 := w.get(t, a)
	if err != nil || err2 != nil || robotsCount(w.web, "a.test") != 3 {
		t.Errorf("crawl: %v %v, %d requests for robots.txt", err, err2, robotsCount(w.web, "a.test"))
	}
}

func TestEachAuthorityHasItsOwnRobots(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("*", "/", origintest.Body("text/html", origintest.Article("x")))
	for _, u := range []string{"http://a.test/1", "https://a.test/1", "http://www.a.test/1", "http://a.test:8080/1", "http://a.test/2"} {
		if _, _, err := w.get(t, w.ask(t, u)); err != nil {
			t.Error(err)
		}
	}
	if n := len(w.web.Requests()) - len(w.web.Pages()); n != 4 {
		t.Errorf("%d requests for robots.txt: %v", n, w.web.URLs())
	}
}

func TestACustomersHurryIsNoFactAboutTheSite(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/robots.txt", origintest.Sequence(origintest.Hang(), origintest.Status(404)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	v, err := w.Decide(ctx, w.ask(t, "http://a.test/x"))
	if err != nil || v.Allowed() || v.Grounds[0].Reason != policy.ReasonUnreachable || v.Grounds[0].Detail != "timeout" {
		t.Errorf("%+v, %v: without an answer the site is closed to this read", v.Grounds, err)
	}
	if _, held, _ := w.robots.Robots(t.Context(), "http://a.test"); held {
		t.Error("the site is held to be unreachable")
	}
	w.web.Page("a.test", "/x", origintest.Article("x"))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
		t.Errorf("the next reader: %v", err)
	}
}

func TestAuthErrorsOnRobotsFollowTheProfile(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	strict := *w.profile
	strict.Robots.AuthErrors = policy.AuthDisallows
	for status, closed := range map[int]bool{401: true, 403: true, 404: false, 410: false} {
		host := fmt.Sprintf("s%d.test", status)
		w.web.Handle(host, "/robots.txt", origintest.Status(status))
		a := w.ask(t, "http://"+host+"/x")
		if v, err := w.Decide(t.Context(), a); err != nil || !v.Allowed() {
			t.Errorf("%d: %v", status, err)
		}
		a.Profile = &strict
		if v, err := w.Decide(t.Context(), a); err != nil || v.Allowed() == closed {
			t.Errorf("%d, strict: %v %v", status, err, v.Allowed())
		}
	}
}

func TestAManyStarredRuleCostsNothing(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Robots("a.test", "User-agent: *\nDisallow: /"+strings.Repeat("a*", 60)+"b$\n")
	began := time.Now()
	if _, err := w.Decide(t.Context(), w.ask(t, "http://a.test/"+strings.Repeat("a", 4000))); err != nil || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestTDMRepIsFetchedOncePerHostUnderAProfileThatHeedsIt(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/.well-known/tdmrep.json", origintest.Body("application/json", `[{"location":"/kept/*","tdm-reservation":1}]`))
	w.web.Handle("*", "/", origintest.Body("text/html", origintest.Article("x")))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/kept/1")); err != nil || w.web.Count("a.test", "/.well-known/tdmrep.json") != 0 {
		t.Errorf("a profile that only reports: %v %v", err, w.web.URLs())
	}
	mining := *w.profile
	mining.Signals.TDM, mining.Signals.TDMFile = policy.RefuseWord, policy.FetchFile
	w.profile = &mining
	for range 2 {
		_, _, err := w.get(t, w.ask(t, "http://a.test/kept/1"))
		wantFault(t, err, fault.BlockedBySitePolicy, "tdm_reservation", 0)
		for _, u := range []string{"http://a.test/open", "http://b.test/kept/1"} {
			if _, _, err := w.get(t, w.ask(t, u)); err != nil {
				t.Errorf("%s: %v", u, err)
			}
		}
	}
	if a, b := w.web.Count("a.test", "/.well-known/tdmrep.json"), w.web.Count("b.test", "/.well-known/tdmrep.json"); a != 1 || b != 1 || w.web.Count("a.test", "/kept/1") != 1 {
		t.Errorf("asked %d and %d times: %v", a, b, w.web.URLs())
	}
}
