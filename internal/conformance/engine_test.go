package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader/gate"
)

// engine is the real gate with a clock that the test moves, for promises where minutes and days count.
type engine struct {
	*origintest.Web
	t       *testing.T
	clock   *origintest.Clock
	gate    *gate.Gate
	profile *policy.Profile
	log     fetchLog
}

func newEngine(t *testing.T, profile string) *engine {
	t.Helper()
	e := &engine{Web: origintest.New(t), t: t, clock: origintest.NewClock(time.Time{})}
	e.Now = e.clock.Now
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	if e.profile = all.Get(profile); e.profile == nil {
		t.Fatalf("no profile %q", profile)
	}
	settings, err := netguard.FromEnv(e.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := netguard.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	e.gate, err = gate.New(gate.Config{
		Clock: e.clock, Dialer: dialer, Turns: gate.NewMemoryTurns(e.clock, 0), Robots: &gate.MemoryRobots{},
		OptOuts: gate.NoOptOuts{}, Standings: gate.AllGood{}, Log: &e.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// quiet is how long the gate must have done nothing to be taken for one that waits: long enough for a
// loaded machine.
const quiet = 50 * time.Millisecond

// get reads one page for a kind of cause, while the clock runs on whenever the gate waits. It answers what
// that came to: "" when the page was read, else the fault's reason or code.
func (e *engine) get(kind policy.CauseKind, url string) (came string) {
	e.t.Helper()
	target, err := policy.ParseTarget(url)
	if err != nil {
		e.t.Fatal(err)
	}
	ask := gate.Ask{
		Profile: e.profile, Target: target, Until: e.clock.Now().Add(time.Hour),
		Cause: policy.Cause{Kind: kind, ID: "job_1", Request: "req_1", Account: "acc_1"},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		page, verdict, err := e.gate.Get(e.t.Context(), ask)
		came = outcome(page, verdict, err)
	}()
	e.clock.Run(e.t, e.Web, quiet, done)
	return came
}

func outcome(page gate.Page, verdict policy.Verdict, err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Reason != "":
		return f.Reason
	case err != nil:
		return fault.Of(err).String()
	case !verdict.Allowed() || page.Status != http.StatusOK:
		return fmt.Sprintf("no error, status %d, allowed %v", page.Status, verdict.Allowed())
	}
	return ""
}

// comes fails the test unless a read of url comes to want and host saw just these requests since the last call.
func (e *engine) comes(url, want, host string, saw ...string) {
	e.t.Helper()
	e.Reset()
	if got := e.get(policy.CauseRead, url); got != want {
		e.t.Errorf("%s at %s came to %q, want %q", url, e.clock.Now().Format(time.DateTime), got, want)
	}
	if got := e.Log(host); !slices.Equal(got, saw) {
		e.t.Errorf("%s at %s: %s saw %q, want %q", url, e.clock.Now().Format(time.DateTime), host, got, saw)
	}
}

// fetchLog is the log of requests, in memory.
type fetchLog struct {
	mu   sync.Mutex
	rows []gate.FetchRow
}

// Fetched keeps r.
func (l *fetchLog) Fetched(_ context.Context, r gate.FetchRow) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
	return nil
}

// W07. Before the page, and for a day at most, whatever the site says about keeping it.
func robotsOnceADay(t *testing.T) {
	e := newEngine(t, "webreaderapi")
	e.Handle("a.test", "/robots.txt", origintest.Body("text/plain", "User-agent: *\nDisallow: /b\n", "Cache-Control", "max-age=31536000"))
	e.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("A")))

	e.comes("http://a.test/a", "", "a.test", "GET /robots.txt", "GET /a")
	e.comes("http://a.test/b", "robots_disallow", "a.test")
	e.Robots("a.test", "User-agent: *\nDisallow: /a\n")
	e.clock.Advance(23*time.Hour + 59*time.Minute)
	e.comes("http://a.test/a", "", "a.test", "GET /a")
	e.comes("http://a.test/b", "robots_disallow", "a.test")
	e.clock.Advance(time.Minute)
	e.comes("http://a.test/a", "robots_disallow", "a.test", "GET /robots.txt")
	e.comes("http://a.test/b", "", "a.test", "GET /b")

	// A day later it cannot be read: what it said then is no permission now, nor an hour later.
	e.clock.Advance(24 * time.Hour)
	for _, broken := range []http.Handler{origintest.Status(http.StatusInternalServerError), origintest.Reset(), origintest.Challenge()} {
		e.Handle("a.test", "/robots.txt", broken)
		e.comes("http://a.test/b", "robots_unreachable", "a.test", "GET /robots.txt")
		e.clock.Advance(time.Hour)
	}
	e.Robots("a.test", "User-agent: *\nAllow: /\n")
	e.comes("http://a.test/b", "", "a.test", "GET /robots.txt", "GET /b")
}

// W12. Once the site has changed its mind and a day is over, or its answer is another.
func readAgain(t *testing.T) {
	e := newEngine(t, "webreaderapi")
	e.Robots("a.test", "User-agent: *\nDisallow: /\n")
	e.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("A")))
	e.comes("http://a.test/a", "robots_disallow", "a.test", "GET /robots.txt")
	e.Robots("a.test", "User-agent: *\nDisallow: /\n\nUser-agent: WebReaderAPI-bot\nAllow: /\n")
	e.clock.Advance(24 * time.Hour)
	e.comes("http://a.test/a", "", "a.test", "GET /robots.txt", "GET /a")

	e.Handle("b.test", "/a", origintest.Status(http.StatusForbidden))
	e.comes("http://b.test/a", "forbidden", "b.test", "GET /robots.txt", "GET /a")
	e.Page("b.test", "/a", origintest.Article("B"))
	e.comes("http://b.test/a", "", "b.test", "GET /a")
}

// S07. What one host says does not count for another, not even its sub-domain.
func robotsPerHost(t *testing.T) {
	e := newEngine(t, "subsidieupdate")
	e.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	e.Robots("town.test", "User-agent: *\nDisallow: /\n")
	e.comes("http://town.test/grants", "robots_disallow", "town.test", "GET /robots.txt")
	e.comes("http://grants.town.test/grants", "", "grants.town.test", "GET /robots.txt", "GET /grants")
	e.comes("http://www.town.test/grants", "", "www.town.test", "GET /robots.txt", "GET /grants")
	e.clock.Advance(20 * time.Hour)
	e.comes("http://grants.town.test/more", "", "grants.town.test", "GET /more")
	e.comes("http://town.test/more", "robots_disallow", "town.test")
	e.clock.Advance(4 * time.Hour)
	e.comes("http://grants.town.test/more", "", "grants.town.test", "GET /robots.txt", "GET /more")
}

// S08. The gap between the moments two requests reach the origin.
func crawlDelayUpToThirty(t *testing.T) {
	e := newEngine(t, "subsidieupdate")
	e.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	for host, c := range map[string]struct {
		delay string
		want  time.Duration
	}{
		"ten.test":    {"10", 10 * time.Second},
		"half.test":   {"2.5", 2500 * time.Millisecond},
		"thirty.test": {"30", 30 * time.Second},
		"more.test":   {"31", 30 * time.Second},
		"long.test":   {"120", 30 * time.Second},
		"short.test":  {"1", 2 * time.Second}, // the profile's own gap is longer
	} {
		e.Robots(host, "User-agent: SubsidieUpdate\nCrawl-delay: "+c.delay+"\n")
		for _, path := range []string{"/a", "/b", "/c"} {
			if came := e.get(policy.CauseWatch, "http://"+host+path); came != "" {
				t.Errorf("%s%s came to %q", host, path, came)
			}
		}
		seen := e.To(host)
		if len(seen) != 4 {
			t.Fatalf("%s saw %v", host, e.Log(host))
		}
		for i := 2; i < len(seen); i++ {
			if gap := seen[i].At.Sub(seen[i-1].At); gap < c.want || gap > c.want+time.Second {
				t.Errorf("Crawl-delay %s: %v between %s and %s, want %v", c.delay, gap, seen[i-1].Path, seen[i].Path, c.want)
			}
		}
	}
}

// B08. What stands before a page is the end of it, under this name too.
func nothingBehindWalls(t *testing.T) {
	e := newEngine(t, "subvenio")
	for name, c := range map[string]struct {
		handler http.Handler
		reason  string
	}{
		"login":        {origintest.Login(), "login"},
		"unauthorized": {origintest.Status(http.StatusUnauthorized), "login"},
		"challenge":    {origintest.Challenge(), "challenge"},
		"paywall":      {origintest.Paywall(), "paywall"},
		"payment":      {origintest.Status(http.StatusPaymentRequired), "payment_required"},
		"forbidden":    {origintest.Status(http.StatusForbidden), "forbidden"},
	} {
		host := name + ".test"
		e.Handle(host, "/call", c.handler)
		e.comes("http://"+host+"/call", c.reason, host, "GET /robots.txt", "GET /call")
	}
}
