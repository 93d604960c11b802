package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/policy"
)

// MemoryTurns are turns within one process. Waiters of a key are served in the order in which they
// came.
type MemoryTurns struct {
	clock Clock
	lease time.Duration

	mu      sync.Mutex
	keys    map[string]*paceState
	waiters []*waiter
	paused  chan struct{} // closed and renewed when a key is paused: who waits looks again
	swept   int
}

// paceState is what is known of a key.
type paceState struct {
	written time.Time // when the request before was written
	paused  time.Time // closed until then
	lapses  time.Time // while a turn is out: when it lapses by itself
	holder  *memoryTurn
	last    *memoryTurn // the holder, or the one before while there is none
}

// own is true when k's request follows one of the same read with no other turn between.
func (s *paceState) own(k Key) bool { return k.After != nil && k.After == Turn(s.last) }

type waiter struct {
	keys []Key
	turn chan Turn // receives the turn, once
}

// NewMemoryTurns makes turns that lapse after lease, two minutes when it is 0.
func NewMemoryTurns(clock Clock, lease time.Duration) *MemoryTurns {
	if lease <= 0 {
		lease = 2 * time.Minute
	}
	return &MemoryTurns{clock: clock, lease: lease, keys: make(map[string]*paceState), paused: make(chan struct{})}
}

// Take waits for a turn at all keys.
func (m *MemoryTurns) Take(ctx context.Context, keys []Key, until time.Time) (Turn, error) {
	w := &waiter{keys: keys, turn: make(chan Turn, 1)}
	m.mu.Lock()
	m.waiters = append(m.waiters, w)
	m.serve()
	m.mu.Unlock()
	for {
		m.mu.Lock()
		now, at, paused := m.clock.Now(), m.expected(w), m.paused
		lapse := m.lapse(w)
		m.mu.Unlock()
		select {
		case t := <-w.turn:
			return t, nil
		default:
		}
		if at.After(until) || !now.Before(until) {
			return m.leave(w, busy(at.Sub(now)))
		}
		// Wake when the turn may have come, at the latest when it is too late for it. The end of the
		// request under way wakes by itself, unless its turn is never ended and lapses.
		wake := until
		for _, moment := range []time.Time{at, lapse} {
			if moment.After(now) && moment.Before(wake) {
				wake = moment
			}
		}
		select {
		case t := <-w.turn:
			return t, nil
		case <-m.clock.After(wake.Sub(now)):
		case <-paused:
		case <-ctx.Done():
			return m.leave(w, fmt.Errorf("gate: waiting for a turn: %w", context.Cause(ctx)))
		}
		m.mu.Lock()
		m.serve()
		m.mu.Unlock()
	}
}

// leave takes w out of the queue, unless its turn has come in this very moment.
func (m *MemoryTurns) leave(w *waiter, err error) (Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case t := <-w.turn:
		return t, nil
	default:
	}
	for i, other := range m.waiters {
		if other == w {
			m.waiters = append(m.waiters[:i], m.waiters[i+1:]...)
			break
		}
	}
	m.serve()
	return nil, err
}

func (m *MemoryTurns) state(name string) *paceState {
	s := m.keys[name]
	if s == nil {
		s = new(paceState)
		m.keys[name] = s
	}
	return s
}

// opens is the first moment at which k can be taken, as far as is known now: a request in flight ends
// when it ends, at the latest when its turn lapses.
func (m *MemoryTurns) opens(k Key) (at time.Time, held bool) {
	s := m.keys[k.Name]
	if s == nil {
		return time.Time{}, false
	}
	at = s.paused
	if gap := s.written.Add(k.Gap); !s.own(k) && !s.written.IsZero() && gap.After(at) {
		at = gap
	}
	return at, s.holder != nil && m.clock.Now().Before(s.lapses)
}

// expected is the earliest moment at which w can have its turn: each waiter before it at the same key
// takes a gap.
func (m *MemoryTurns) expected(w *waiter) time.Time {
	var latest time.Time
	now := m.clock.Now()
	for _, k := range w.keys {
		at, held := m.opens(k)
		if at.Before(now) {
			at = now
		}
		if next := m.takenAt(k.Name).Add(k.Gap); held && next.After(at) {
			at = next // the request under way is written after its turn was taken
		}
		at = at.Add(time.Duration(m.ahead(w, k.Name)) * k.Gap)
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}

func (m *MemoryTurns) takenAt(name string) time.Time {
	if s := m.keys[name]; s != nil && s.holder != nil {
		return s.holder.taken
	}
	return time.Time{}
}

// lapse is when the first turn that w waits for lapses; zero when none is out.
func (m *MemoryTurns) lapse(w *waiter) time.Time {
	var first time.Time
	for _, k := range w.keys {
		if s := m.keys[k.Name]; s != nil && s.holder != nil && (first.IsZero() || s.lapses.Before(first)) {
			first = s.lapses
		}
	}
	return first
}

// ahead counts the waiters before w at a key.
func (m *MemoryTurns) ahead(w *waiter, name string) int {
	n := 0
	for _, other := range m.waiters {
		if other == w {
			break
		}
		for _, k := range other.keys {
			if k.Name == name {
				n++
			}
		}
	}
	return n
}

// serve gives out every turn that can be had now. It is called with the lock held.
func (m *MemoryTurns) serve() {
	m.sweep()
	now := m.clock.Now()
	kept := m.waiters[:0]
	for _, w := range m.waiters {
		if !m.open(w.keys, now) {
			kept = append(kept, w)
			continue
		}
		t := &memoryTurn{turns: m, taken: now, deadline: now.Add(m.lease)}
		for _, k := range w.keys {
			s := m.state(k.Name)
			s.holder, s.last, s.lapses = t, t, t.deadline
			t.keys = append(t.keys, k.Name)
		}
		w.turn <- t
	}
	clear(m.waiters[len(kept):])
	m.waiters = kept
}

func (m *MemoryTurns) open(keys []Key, now time.Time) bool {
	for _, k := range keys {
		if at, held := m.opens(k); held || at.After(now) {
			return false
		}
	}
	return true
}

// longestGap is how long a key's last request is remembered.
const longestGap = 24 * time.Hour

// sweep forgets keys that hold nobody up any more, now and then.
func (m *MemoryTurns) sweep() {
	if m.swept++; m.swept < 1000 {
		return
	}
	m.swept = 0
	now := m.clock.Now()
	for name, s := range m.keys {
		if s.holder == nil && now.Sub(s.written) > longestGap && !s.paused.After(now) {
			delete(m.keys, name)
		}
	}
}

// Pause closes a key until then, or longer when it is closed longer already.
func (m *MemoryTurns) Pause(_ context.Context, key string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.state(key); until.After(s.paused) {
		s.paused = until
		close(m.paused)
		m.paused = make(chan struct{})
	}
	return nil
}

type memoryTurn struct {
	turns           *MemoryTurns
	keys            []string
	taken, deadline time.Time
}

func (t *memoryTurn) Deadline() time.Time { return t.deadline }

// End opens the keys; a turn that has lapsed leaves them to their new holder.
func (t *memoryTurn) End(_ context.Context, written time.Time) error {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	for _, name := range t.keys {
		s := t.turns.state(name)
		if written.After(s.written) {
			s.written = written
		}
		if s.holder == t {
			s.holder = nil
		}
	}
	t.turns.serve()
	return nil
}

// MemoryRobots keeps robots.txt answers for as long as the process lives, a bounded number of them.
// Its zero value is ready.
type MemoryRobots struct {
	mu sync.Mutex
	by map[string]RobotsCopy
}

// maxRobotsCopies bounds the memory of MemoryRobots; beyond it any copy makes room.
const maxRobotsCopies = 1000

// Robots is the copy that is held.
func (m *MemoryRobots) Robots(_ context.Context, authority string) (RobotsCopy, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.by[authority]
	return c, ok, nil
}

// PutRobots replaces the copy of its authority.
func (m *MemoryRobots) PutRobots(_ context.Context, c RobotsCopy) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = make(map[string]RobotsCopy)
	}
	for authority := range m.by {
		if len(m.by) < maxRobotsCopies {
			break
		}
		delete(m.by, authority)
	}
	m.by[c.Authority] = c
	return nil
}

// NoOptOuts knows no opt-out: the command line.
type NoOptOuts struct{}

// OptOut asks nothing.
func (NoOptOuts) OptOut(context.Context, policy.Target) (policy.OptOut, error) {
	return policy.OptOut{}, nil
}

// AllGood knows no suspension: the command line.
type AllGood struct{}

// Standing is good.
func (AllGood) Standing(context.Context, string) (policy.Standing, error) {
	return policy.StandingGood, nil
}

// NoLog keeps no fetch log: the command line, where every request is the user's own.
type NoLog struct{}

// Fetched keeps nothing.
func (NoLog) Fetched(context.Context, FetchRow) error { return nil }

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now is the time.
func (SystemClock) Now() time.Time { return time.Now() }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
