package conformance

import (
	"context"
	"errors"
	"net/http"
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

// engine is the real gate with a clock that the test moves, for promises where hours and days count.
// Pace is left out: every turn is given at once.
type engine struct {
	*origintest.Web
	t       *testing.T
	clock   *origintest.Clock
	gate    *gate.Gate
	profile *policy.Profile
	memory  *memory
}

func newEngine(t *testing.T, profile string) *engine {
	t.Helper()
	e := &engine{Web: origintest.New(t), t: t, clock: origintest.NewClock(time.Time{}), memory: &memory{copies: map[string]gate.RobotsCopy{}}}
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
		Clock: e.clock, Dialer: dialer, Turns: e.memory, Robots: e.memory, OptOuts: e.memory, Standings: e.memory, Log: e.memory,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// get asks for one page and answers what it came to: "" when it was read, else the fault's reason or code.
func (e *engine) get(url string) string {
	e.t.Helper()
	target, err := policy.ParseTarget(url)
	if err != nil {
		e.t.Fatal(err)
	}
	cause := policy.Cause{Kind: policy.CauseRead, ID: "req_1", Request: "req_1", Account: "acc_1"}
	page, verdict, err := e.gate.Get(e.t.Context(), gate.Ask{Profile: e.profile, Cause: cause, Target: target})
	var f *fault.Error
	switch {
	case err == nil && verdict.Allowed() && page.Status == http.StatusOK:
		return ""
	case errors.As(err, &f) && f.Reason != "":
		return f.Reason
	case err != nil:
		return fault.Of(err).String()
	}
	e.t.Fatalf("%s: status %d, verdict %+v, and no error", url, page.Status, verdict)
	return ""
}

// comes fails the test unless a read of url comes to want and host saw just these requests since the last call.
func (e *engine) comes(url, want, host string, saw ...string) {
	e.t.Helper()
	e.Reset()
	if got := e.get(url); got != want {
		e.t.Errorf("%s at %s came to %q, want %q", url, e.clock.Now().Format(time.DateTime), got, want)
	}
	if got := e.Log(host); !equal(got, saw) {
		e.t.Errorf("%s at %s: %s saw %q, want %q", url, e.clock.Now().Format(time.DateTime), host, got, saw)
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// memory is all that the gate keeps, for one test.
type memory struct {
	mu     sync.Mutex
	copies map[string]gate.RobotsCopy
	rows   []gate.FetchRow
}

func (m *memory) Take(context.Context, []gate.Key, time.Time) (gate.Turn, error) {
	return turn{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
}
func (m *memory) Pause(context.Context, string, time.Time) error { return nil }

type turn struct{ deadline time.Time }

func (t turn) Deadline() time.Time                  { return t.deadline }
func (t turn) End(context.Context, time.Time) error { return nil }

func (m *memory) Robots(_ context.Context, authority string) (gate.RobotsCopy, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.copies[authority]
	return c, ok, nil
}

func (m *memory) PutRobots(_ context.Context, c gate.RobotsCopy) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copies[c.Authority] = c
	return nil
}

func (m *memory) OptOut(context.Context, policy.Target) (policy.OptOut, error) {
	return policy.OptOut{}, nil
}

func (m *memory) Standing(context.Context, string) (policy.Standing, error) {
	return policy.StandingGood, nil
}

func (m *memory) Fetched(_ context.Context, r gate.FetchRow) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, r)
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
