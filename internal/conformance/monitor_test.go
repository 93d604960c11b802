package conformance

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// monitor is a watch with the real engine and a real database, and a clock that the test moves.
type monitor struct {
	*origintest.Web
	t        *testing.T
	clock    *origintest.Clock
	store    *store.Store
	runner   *watch.Runner
	profile  *policy.Profile
	account  billing.Account
	key      billing.Key
	identity seal.Identity
	watch    watch.Watch
	taken    int64 // the last change that was collected
	turns    *countedTurns
	slow     atomic.Int64  // requests whose answer waits for the clock
	moment   time.Duration // the least that the clock is moved by while sites are visited
}

// countedTurns are the store's turns; it knows how many requests are under way, so that no time passes
// between the moment a request is written and the one it arrives.
type countedTurns struct {
	gate.Turns
	out atomic.Int64
}

type countedTurn struct {
	gate.Turn
	out  *atomic.Int64
	once sync.Once
}

func (c *countedTurns) Take(ctx context.Context, keys []gate.Key, until time.Time) (gate.Turn, error) {
	t, err := c.Turns.Take(ctx, keys, until)
	if t == nil {
		return nil, err
	}
	c.out.Add(1)
	return &countedTurn{Turn: t, out: &c.out}, err
}

func (c *countedTurn) End(ctx context.Context, written time.Time) error {
	defer c.once.Do(func() { c.out.Add(-1) })
	return c.Turn.End(ctx, written)
}

// newMonitor has nothing to watch yet. start is where its clock stands.
func newMonitor(t *testing.T, profile string, start time.Time) *monitor {
	t.Helper()
	return newMonitorOn(t, profile, start, "sqlite::memory:")
}

// newMonitorOn has its database there.
func newMonitorOn(t *testing.T, profile string, start time.Time, database string) *monitor {
	t.Helper()
	m := &monitor{Web: origintest.New(t), t: t, clock: origintest.NewClock(start), moment: 250 * time.Millisecond}
	m.Now = m.clock.Now
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	if m.profile = all.Get(profile); m.profile == nil {
		t.Fatalf("no profile %q", profile)
	}
	if m.store, err = store.Open(t.Context(), database, store.Options{Clock: m.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.store.Close() })
	settings, err := netguard.FromEnv(m.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := netguard.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	m.turns = &countedTurns{Turns: m.store}
	g, err := gate.New(gate.Config{Clock: m.clock, Dialer: dialer, Turns: m.turns, Robots: m.store, OptOuts: m.store, Standings: m.store, Log: m.store})
	if err != nil {
		t.Fatal(err)
	}
	m.runner, err = watch.New(watch.Config{
		Profile: m.profile, Meter: billing.New(reader.New(g, reader.Config{}), m.store), Gate: g, Book: m.store.WatchBook(), Clock: m.clock,
		Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)), Workers: 400,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.customer()
	return m
}

func (m *monitor) customer() {
	m.t.Helper()
	var err error
	if m.account, err = m.store.CreateAccount(m.t.Context(), billing.NewID("desk"), ""); err != nil {
		m.t.Fatal(err)
	}
	key, secret, err := m.store.CreateKey(m.t.Context(), m.account.ID, "desk", time.Time{})
	if err != nil {
		m.t.Fatal(err)
	}
	m.key = key
	if m.identity, err = secret.Identity(); err != nil {
		m.t.Fatal(err)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { w.t.Log(string(b)); return len(b), nil }

// follow makes the watch.
func (m *monitor) follow(w watch.Watch, sites ...watch.Site) {
	m.t.Helper()
	if err := watch.Check(sites); err != nil {
		m.t.Fatal(err)
	}
	if err := w.Schedule.Check(m.profile); err != nil {
		m.t.Fatal(err)
	}
	w.Account, w.Key, w.Request = m.account.ID, m.key.ID, "req_1"
	w.NextRound = w.Schedule.Next(m.profile, m.clock.Now(), nil)
	var err error
	if m.watch, err = m.store.CreateWatch(m.t.Context(), w, sites, billing.Unlimited); err != nil {
		m.t.Fatal(err)
	}
}

// site watches one start page with its links.
func siteOf(start string) watch.Site { return watch.Site{StartURLs: []string{start}} }

// runUntil lets the engine work until the clock stands at end: it jumps to what is due next when there is
// nothing to do, and goes on bit by bit while sites wait for their turns.
func (m *monitor) runUntil(end time.Time) {
	m.t.Helper()
	ctx, stop := context.WithTimeout(m.t.Context(), 30*time.Minute)
	defer stop()
	for idle := 0; m.clock.Now().Before(end); {
		if err := m.runner.Step(ctx); err != nil {
			m.t.Fatalf("at %v: %v", m.clock.Now(), err)
		}
		if m.runner.Busy() > 0 {
			m.settle()
			if m.runner.Busy() > 0 {
				m.tick()
			}
			continue
		}
		next, err := m.store.WatchBook().Next(ctx)
		if err != nil {
			m.t.Fatal(err)
		}
		if now := m.clock.Now(); !next.After(now) && !next.IsZero() {
			if idle++; idle > 1000 {
				m.t.Fatalf("at %v: nothing is done, though something is due since %v", now, next)
			}
			continue
		}
		idle = 0
		if next.IsZero() || next.After(end) {
			next = end
		}
		m.clock.AdvanceTo(next)
	}
	for m.runner.Busy() > 0 {
		m.settle()
		m.tick()
	}
}

// tick moves the clock to the next timer, and not by less than a moment: many are left over.
func (m *monitor) tick() {
	least := m.clock.Now().Add(m.moment)
	if next, ok := m.clock.Next(); ok && next.After(least) {
		least = next
	}
	m.clock.AdvanceTo(least)
}

// answersTake makes each answer take a while on the clock, which is moved by a part of it at least.
func (m *monitor) answersTake(d, moment time.Duration) {
	m.moment = moment
	m.Before(func(origintest.Request) {
		answer := m.clock.After(d)
		m.slow.Add(1)
		<-answer
		m.slow.Add(-1)
	})
}

// settle waits, in real time, until nothing moves any more: no request is under way but those that wait for the
// clock, and no goroutine has work. Where other tests keep the processor busy, a longer stillness has to do.
func (m *monitor) settle() {
	state := func() [3]int { return [3]int{m.Conns(), int(m.turns.out.Load() - m.slow.Load()), m.runner.Busy()} }
	still, last := 0, state()
	for still < 60 && m.runner.Busy() > 0 {
		<-time.After(2 * time.Millisecond)
		now := state()
		switch {
		case now != last || now[1] > 0:
			still = 0
		case origintest.Idle():
			still += 20
		default:
			still++
		}
		last = now
	}
}

// collect opens the changes since the last time, as their customer would.
func (m *monitor) collect() []watch.Change {
	m.t.Helper()
	var all []watch.Change
	for {
		list, err := m.store.Changes(m.t.Context(), m.account.ID, m.watch.ID, m.taken, 1000, 8<<20)
		if err != nil {
			m.t.Fatal(err)
		}
		if len(list) == 0 {
			return all
		}
		for _, sealed := range list {
			c, err := sealed.Open(m.identity, m.watch)
			if err != nil {
				m.t.Fatal(err)
			}
			all = append(all, c)
			m.taken = sealed.Seq
		}
	}
}

// kinds are changes as "kind address".
func kinds(changes []watch.Change) map[string]int {
	out := map[string]int{}
	for _, c := range changes {
		out[string(c.Kind)+" "+c.URL]++
	}
	return out
}

// rounds are the rounds so far, newest first.
func (m *monitor) rounds() []watch.Round {
	m.t.Helper()
	all, err := m.store.WatchRounds(m.t.Context(), m.account.ID, m.watch.ID, "", 1000)
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// optOut enters what a site's operator asks for.
func (m *monitor) optOut(domain, path string, delay time.Duration) {
	m.t.Helper()
	_, err := m.store.AddOptOut(m.t.Context(), store.OptOutEntry{Domain: domain, PathPrefix: path, Delay: delay, AskedBy: "postmaster"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.clock.Advance(5 * time.Second)
}

// month is the period that reads at the clock's time are counted in.
func (m *monitor) month() billing.Period {
	now := m.clock.Now().UTC()
	from := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return billing.Period{From: from, To: from.AddDate(0, 1, 0)}
}
