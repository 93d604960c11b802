package origintest

import (
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// Clock is a clock that stands still until a test moves it. It has the gate's Now and After.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	timers  []timer
	changed chan struct{} // closed and renewed at every After
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// NewClock stands at start; the zero time is 15 January 2026, 12:00 UTC.
func NewClock(start time.Time) *Clock {
	if start.IsZero() {
		start = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	}
	return &Clock{now: start, changed: make(chan struct{})}
}

// Now is the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After sends the time once the clock has been moved d on; at once when d is not positive.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := timer{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- c.now
		return t.c
	}
	c.timers = append(c.timers, t)
	close(c.changed)
	c.changed = make(chan struct{})
	return t.c
}

// Advance moves the clock d on and fires what is due by then, in order.
func (c *Clock) Advance(d time.Duration) { c.AdvanceTo(c.Now().Add(d)) }

// AdvanceTo moves the clock to t, never back.
func (c *Clock) AdvanceTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(t)
}

// advance is called with the lock held.
func (c *Clock) advance(t time.Time) {
	for {
		i := c.earliest()
		if i < 0 || c.timers[i].at.After(t) {
			break
		}
		due := c.timers[i]
		c.timers = append(c.timers[:i], c.timers[i+1:]...)
		if due.at.After(c.now) {
			c.now = due.at
		}
		due.c <- c.now
	}
	if t.After(c.now) {
		c.now = t
	}
}

// earliest is called with the lock held.
func (c *Clock) earliest() int {
	best := -1
	for i, t := range c.timers {
		if best < 0 || t.at.Before(c.timers[best].at) {
			best = i
		}
	}
	return best
}

// Next is when the next timer is due, and whether there is one. Timers that nobody listens to any
// more count as well.
func (c *Clock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.earliest(); i >= 0 {
		return c.timers[i].at, true
	}
	return time.Time{}, false
}

// Timers is how many timers are pending, those included that nobody listens to any more.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// AwaitTimers waits, in real time, until at least n timers are pending.
func (c *Clock) AwaitTimers(t testing.TB, n int) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		c.mu.Lock()
		have, changed := len(c.timers), c.changed
		c.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("origintest: %d timers pending after 10 s, want %d", have, n)
		}
	}
}

// mostBusy is how many times Run waits for other tests to leave the processor alone.
const mostBusy = 20

// Run moves the clock from timer to timer until done is closed: whenever no connection to the web is
// open, no goroutine has work and nothing has changed for quiet (10 ms when zero), the engine is taken to
// be idle and the clock jumps to the next due time. It fails the test after a minute of real time.
func (c *Clock) Run(t testing.TB, w *Web, quiet time.Duration, done <-chan struct{}) {
	t.Helper()
	if quiet <= 0 {
		quiet = 10 * time.Millisecond
	}
	limit := time.After(time.Minute)
	for busy := 0; ; {
		before := c.activity(w)
		select {
		case <-done:
			return
		case <-limit:
			t.Fatal("origintest: still running after a minute")
		case <-time.After(quiet):
		}
		if c.activity(w) != before || before.live > 0 {
			continue
		}
		if busy++; busy < mostBusy && !Idle() {
			continue
		}
		busy = 0
		c.jump(w)
	}
}

// jump moves the clock to the next timer, unless a connection is open. Nobody reads the clock meanwhile: a
// request is written either before, over a connection that is counted, or after.
func (c *Clock) jump(w *Web) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w != nil && w.settled() > 0 {
		return
	}
	if i := c.earliest(); i >= 0 {
		c.advance(c.timers[i].at)
	}
}

type activity struct {
	timers, requests, conns, live int
	now                           time.Time
}

func (c *Clock) activity(w *Web) activity {
	c.mu.Lock()
	a := activity{timers: len(c.timers), now: c.now}
	c.mu.Unlock()
	if w != nil {
		a.requests, a.conns, a.live = len(w.Requests()), w.Conns(), w.Live()
	}
	return a
}

// Idle is true when no goroutine of the process but the caller's has work to do.
func Idle() bool {
	now := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	metrics.Read(now)
	return now[0].Value.Uint64() == 0 && now[1].Value.Uint64() <= 1
}
