package gate_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a gate over a web of its own, with a clock that stands still.
type world struct {
	*gate.Gate
	web     *origintest.Web
	clock   *origintest.Clock
	robots  *gate.MemoryRobots
	log     *fetchLog
	people  *people
	profile *policy.Profile
	cfg     gate.Config
}

// fetchLog keeps the rows.
type fetchLog struct {
	mu   sync.Mutex
	rows []gate.FetchRow
}

func (l *fetchLog) Fetched(_ context.Context, r gate.FetchRow) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
	return nil
}

func (l *fetchLog) all() []gate.FetchRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

// people are the accounts and operators of a test.
type people struct {
	mu       sync.Mutex
	standing policy.Standing
	optOuts  map[string]policy.OptOut // by host
}

func (p *people) Standing(context.Context, string) (policy.Standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.standing, nil
}

func (p *people) OptOut(_ context.Context, t policy.Target) (policy.OptOut, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.optOuts[t.Host()], nil
}

func (p *people) set(s policy.Standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standing = s
}

func (p *people) optOut(host string, o policy.OptOut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.optOuts[host] = o
}

func profile(t testing.TB, name string) *policy.Profile {
	t.Helper()
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := all.Get(name)
	if p == nil {
		t.Fatalf("no profile %s", name)
	}
	return p
}

func newWorld(t testing.TB, profileName string, change ...func(*gate.Config)) *world {
	t.Helper()
	w := &world{
		web: origintest.New(t), clock: origintest.NewClock(time.Time{}), robots: new(gate.MemoryRobots), log: new(fetchLog),
		people: &people{standing: policy.StandingGood, optOuts: make(map[string]policy.OptOut)}, profile: profile(t, profileName),
	}
	w.web.Now = w.clock.Now
	guard, err := netguard.FromEnv(w.web.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg = gate.Config{
		Clock: w.clock, Dialer: dialer, Turns: gate.NewMemoryTurns(w.clock, 0), Robots: w.robots, OptOuts: w.people, Standings: w.people,
		Log: w.log, RootCAs: w.web.RootCAs(),
	}
	for _, f := range change {
		f(&w.cfg)
	}
	w.rebuild(t)
	return w
}

func (w *world) rebuild(t testing.TB) {
	t.Helper()
	g, err := gate.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Gate = g
}

func target(t testing.TB, raw string) policy.Target {
	t.Helper()
	parsed, err := policy.ParseTarget(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func (w *world) ask(t testing.TB, raw string) gate.Ask {
	t.Helper()
	return gate.Ask{
		Profile: w.profile, Target: target(t, raw), Until: w.clock.Now().Add(time.Hour),
		Cause: policy.Cause{Kind: policy.CauseRead, ID: "req_1", Account: "acc_1", Request: "req_1"},
	}
}

// get reads one page; the clock moves when the gate waits.
func (w *world) get(t testing.TB, a gate.Ask) (p gate.Page, v policy.Verdict, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, v, err = w.Get(t.Context(), a)
	}()
	w.clock.Run(t, w.web, 0, done)
	return p, v, err
}

func wantFault(t testing.TB, err error, kind fault.Kind, reason string, status int) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Kind != kind || e.Reason != reason || e.TargetStatus != status {
		t.Errorf("the error is %v (status %d), want %v (%s) with status %d", err, fault.As(err).TargetStatus, kind, reason, status)
	}
}

func wantURLs(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the origin saw %v, want %v", got, want)
	}
}

func TestARead(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Robots("shop.test", "User-agent: *\nDisallow: /private/\nAllow: /\n")
	w.web.Handle("shop.test", "/a", origintest.Body("text/html", "<title>A</title><p>Text", "ETag", `"1"`))
	p, v, err := w.get(t, w.ask(t, "https://shop.test/a?x=%2F"))
	if err != nil {
		t.Fatal(err)
	}
	wantURLs(t, w.web.URLs(), "https://shop.test/robots.txt", "https://shop.test/a?x=%2F")
	if p.Tree == nil || p.MediaType != "text/html" || p.Status != 200 || p.Validators.ETag != `"1"` || p.Target.String() != "https://shop.test/a?x=%2F" {
		t.Errorf("%+v", p)
	}
	if !v.Allowed() || v.Grounds[0].Source != policy.ByRobots || v.Grounds[0].Line != 3 || v.Grounds[0].RobotsURL != "https://shop.test/robots.txt" {
		t.Errorf("%+v", v)
	}
	rows := w.log.all()
	if len(rows) != 2 || rows[0].Stage != "control" || rows[1].Stage != "fetch" || rows[1].Status != 200 || rows[1].Outcome != "answered" ||
		rows[1].Cause.ID != "req_1" || rows[1].Remote != "127.0.0.1" || rows[1].URL != "https://shop.test/a?x=%2F" || rows[1].UserAgent != w.profile.UserAgent() {
		t.Errorf("the fetch log has %+v", rows)
	}
}

func TestADisallowedPageIsNeverRequested(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Robots("shop.test", "User-agent: *\nDisallow: /private/\n")
	_, v, err := w.get(t, w.ask(t, "http://shop.test/private/x"))
	wantFault(t, err, fault.BlockedBySitePolicy, "robots_disallow", 0)
	refusal, ok := errors.AsType[*policy.Refusal](err)
	if !ok || refusal.Verdict.Grounds[0].Line != 2 || v.Allowed() {
		t.Errorf("%+v %+v", refusal, v)
	}
	wantURLs(t, w.web.URLs(), "http://shop.test/robots.txt")
	d, err := w.Decide(t.Context(), w.ask(t, "http://shop.test/private/x"))
	if err != nil || d.Allowed() || d.Grounds[0].Rule != "Disallow: /private/" {
		t.Errorf("Decide: %v %+v", err, d)
	}
	d, err = w.Decide(t.Context(), w.ask(t, "http://shop.test/open"))
	if err != nil || !d.Allowed() {
		t.Errorf("Decide: %v %+v", err, d)
	}
	wantURLs(t, w.web.URLs(), "http://shop.test/robots.txt")
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	if _, err := gate.New(gate.Config{}); err == nil {
		t.Error("a gate of nothing")
	}
}
