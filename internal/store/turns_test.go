package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader/gate"
)

func key(name string, gap time.Duration) []gate.Key { return []gate.Key{{Name: name, Gap: gap}} }

func take(t testing.TB, s *Store, keys []gate.Key, patience time.Duration) gate.Turn {
	t.Helper()
	turn, err := s.Take(t.Context(), keys, s.clock.Now().Add(patience))
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func wantBusy(t testing.TB, s *Store, keys []gate.Key, patience, after time.Duration) {
	t.Helper()
	turn, err := s.Take(t.Context(), keys, s.clock.Now().Add(patience))
	if err == nil {
		t.Errorf("a turn was given")
		noError(t, turn.End(t.Context(), time.Time{}))
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.HostBusy {
		t.Errorf("error %v, want host_busy", err)
	} else if f.RetryAfter != after {
		t.Errorf("try again after %v, want %v", f.RetryAfter, after)
	}
}

func TestAKeyOpensAGapAfterTheWrite(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		turn := take(t, s, key("site.example", 2*time.Second), 0)
		written := clock.Now()
		clock.advance(500 * time.Millisecond)
		noError(t, turn.End(t.Context(), written))
		wantBusy(t, s, key("site.example", 2*time.Second), time.Second, 1500*time.Millisecond)
		clock.advance(1499 * time.Millisecond)
		wantBusy(t, s, key("site.example", 2*time.Second), 0, time.Second)
		clock.advance(time.Millisecond)
		noError(t, take(t, s, key("site.example", 2*time.Second), 0).End(t.Context(), clock.Now()))
	})
}

// Neither the millisecond in which a request was written nor the one in which it is asked for is rounded
// towards a shorter gap.
func TestAGapIsKeptToPartsOfAMillisecond(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		clock.advance(300 * time.Microsecond)
		for _, late := range []time.Duration{0, 200 * time.Microsecond, 900 * time.Microsecond, 40 * time.Millisecond} {
			turn := take(t, s, key("site.example", 5*time.Second), 0)
			written := clock.Now()
			clock.advance(late)
			noError(t, turn.End(t.Context(), written))
			clock.advance(5*time.Second - late - 100*time.Microsecond)
			if turn, err := s.Take(t.Context(), key("site.example", 5*time.Second), clock.Now()); err == nil {
				t.Errorf("ended %v after the write, a turn came %v after it", late, clock.Now().Sub(written))
				noError(t, turn.End(t.Context(), time.Time{}))
			}
			clock.advance(time.Millisecond)
			noError(t, take(t, s, key("site.example", 5*time.Second), 0).End(t.Context(), time.Time{}))
		}
	})
}

func TestTheLongerGapHoldsWhoeverAsksForIt(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		noError(t, take(t, s, key("site.example", time.Second), 0).End(t.Context(), clock.Now()))
		clock.advance(3 * time.Second)
		wantBusy(t, s, key("site.example", 10*time.Second), 0, 7*time.Second)
		clock.advance(7 * time.Second)
		noError(t, take(t, s, key("site.example", 10*time.Second), 0).End(t.Context(), clock.Now()))
		clock.advance(time.Second)
		wantBusy(t, s, key("site.example", time.Second), 0, 9*time.Second)
	})
}

func TestATurnThatWroteNothingLeavesTheKeyOpen(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		noError(t, take(t, s, key("site.example", time.Hour), 0).End(t.Context(), time.Time{}))
		noError(t, take(t, s, key("site.example", time.Hour), 0).End(t.Context(), clock.Now()))
		wantBusy(t, s, key("site.example", time.Hour), 0, time.Hour)
	})
}

func TestAPauseClosesTheKeyForEveryone(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		turn := take(t, s, key("site.example", time.Second), 0)
		noError(t, s.Pause(t.Context(), "site.example", clock.Now().Add(time.Minute)))
		noError(t, s.Pause(t.Context(), "site.example", clock.Now().Add(time.Second)))
		noError(t, turn.End(t.Context(), clock.Now()))
		clock.advance(20 * time.Second)
		own := []gate.Key{{Name: "site.example", Gap: time.Second, After: turn}}
		wantBusy(t, s, own, 30*time.Second, 40*time.Second)
		wantBusy(t, s, key("site.example", time.Second), 30*time.Second, 40*time.Second)
		clock.advance(40 * time.Second)
		noError(t, take(t, s, key("site.example", time.Second), 0).End(t.Context(), clock.Now()))
		noError(t, s.Pause(t.Context(), "new.example", clock.Now().Add(time.Minute)))
		wantBusy(t, s, key("new.example", time.Second), 0, time.Minute)
	})
}

func TestAnOwnHopGoesFreeOfTheGapAfterItsOwnReadOnly(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		after := func(turn gate.Turn, name string) []gate.Key {
			return []gate.Key{{Name: name, Gap: time.Minute, After: turn}}
		}
		first := take(t, s, key("site.example", time.Minute), 0)
		wantBusy(t, s, after(first, "site.example"), 0, time.Minute) // it is in flight
		noError(t, first.End(t.Context(), clock.Now()))
		second := take(t, s, after(first, "site.example"), 0)
		noError(t, second.End(t.Context(), clock.Now()))
		wantBusy(t, s, after(first, "site.example"), 0, time.Minute)
		clock.advance(time.Minute)
		noError(t, take(t, s, key("site.example", time.Minute), 0).End(t.Context(), clock.Now())) // somebody else's
		wantBusy(t, s, after(second, "site.example"), 0, time.Minute)
		noError(t, take(t, s, key("other.example", time.Minute), 0).End(t.Context(), clock.Now()))
		wantBusy(t, s, after(second, "other.example"), 0, time.Minute) // where a redirect leads
	})
}

func TestTheLeaseOfADeadHolderLapsesAndItsLateEndChangesNothing(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		dead := take(t, s, key("site.example", time.Second), 0)
		if !dead.Deadline().Equal(clock.Now().Add(DefaultLease)) {
			t.Errorf("deadline %v", dead.Deadline())
		}
		clock.advance(DefaultLease - time.Millisecond)
		wantBusy(t, s, key("site.example", time.Second), 0, time.Second)
		clock.advance(time.Millisecond)
		next := take(t, s, key("site.example", time.Second), 0)
		noError(t, dead.End(t.Context(), clock.Now()))
		wantBusy(t, s, key("site.example", time.Second), 0, time.Second)
		noError(t, next.End(t.Context(), time.Time{}))
		noError(t, take(t, s, key("site.example", time.Second), 0).End(t.Context(), time.Time{}))
		if next.End(t.Context(), time.Time{}) == nil {
			t.Error("a turn was ended twice")
		}
	})
}

func TestTheDeadMayHaveWrittenTheirRequest(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		take(t, s, key("site.example", time.Hour), 0)
		clock.advance(time.Hour - time.Millisecond)
		wantBusy(t, s, key("site.example", time.Second), 0, time.Second)
		clock.advance(time.Millisecond)
		noError(t, take(t, s, key("site.example", time.Second), 0).End(t.Context(), time.Time{}))
	})
}

func TestAHangUpLeavesNoLease(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		for i := range 30 {
			ctx, hangUp := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
			if turn, err := s.Take(ctx, key("site.example", 0), time.Now().Add(time.Minute)); err == nil {
				noError(t, turn.End(ctx, time.Time{}))
			}
			hangUp()
			if n := number(t, s, "SELECT COUNT(*) FROM hosts WHERE leased = 1"); n != 0 {
				t.Fatalf("after a hang-up in %d00 µs the host is leased", i)
			}
		}
	})
}

func TestATotalIsClaimedWithTheHostOrNotAtAll(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		both := func(host string) []gate.Key {
			return []gate.Key{{Name: "profile:one", Gap: time.Second}, {Name: host, Gap: 5 * time.Second}}
		}
		first := take(t, s, both("a.example"), 0)
		wantBusy(t, s, both("b.example"), 0, time.Second)
		noError(t, take(t, s, key("b.example", time.Second), 0).End(t.Context(), time.Time{})) // b was not claimed
		noError(t, first.End(t.Context(), clock.Now()))
		wantBusy(t, s, both("b.example"), 0, time.Second)
		clock.advance(time.Second)
		noError(t, take(t, s, both("b.example"), 0).End(t.Context(), clock.Now()))
		clock.advance(time.Second)
		wantBusy(t, s, both("a.example"), 0, 3*time.Second)
		noError(t, take(t, s, key("profile:one", time.Second), 0).End(t.Context(), time.Time{})) // the total was not claimed
	})
}

func TestALineThatIsTooLongIsSaidAtOnce(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		holder := take(t, s, key("site.example", 2*time.Second), 0)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				_, err := s.Take(ctx, key("site.example", 2*time.Second), clock.Now().Add(time.Hour))
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled waiter: %v", err)
				}
			})
		}
		waitFor(t, func() bool { return s.queues.waiting("site.example") == 5 })
		wantBusy(t, s, key("site.example", 2*time.Second), 9*time.Second, 12*time.Second)
		cancel()
		wg.Wait()
		noError(t, holder.End(t.Context(), time.Time{}))
		if n := len(s.queues.lines); n != 0 {
			t.Errorf("%d lines are left", n)
		}
	})
}

// waiting is how many stand in a line.
func (q *queues) waiting(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.line(name).places)
}

// waitFor looks again until ok.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatal("it did not happen in 10 seconds")
		case <-time.After(time.Millisecond):
		}
	}
}

// Three replicas, many waiters: never two in flight, never a gap too short, and nearly no time lost.
func TestReplicasKeepOnePace(t *testing.T) {
	const gap, hosts, rounds = 30 * time.Millisecond, 4, 12
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			rawURL := make(t)
			var replicas []*Store
			for range 3 {
				replicas = append(replicas, open(t, rawURL, Options{}))
			}
			names := []string{"a.example", "b.example", "c.example", "d.example"}
			var inFlight [hosts]atomic.Int32
			var last [hosts]time.Time // guarded by the turn itself
			var lock [hosts]sync.Mutex
			started := time.Now()
			var wg sync.WaitGroup
			for i := range hosts * rounds {
				host, s := i%hosts, replicas[i/hosts%3]
				wg.Go(func() {
					turn, err := s.Take(t.Context(), key(names[host], gap), time.Now().Add(time.Minute))
					if err != nil {
						t.Error(err)
						return
					}
					if inFlight[host].Add(1) != 1 {
						t.Errorf("two requests in flight at %s", names[host])
					}
					now := time.Now()
					lock[host].Lock()
					if passed := now.Sub(last[host]); passed < gap {
						t.Errorf("a gap of %v at %s", passed, names[host])
					}
					last[host] = now
					lock[host].Unlock()
					inFlight[host].Add(-1)
					if err := turn.End(context.Background(), now); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			t.Logf("%d turns in %v, ideal %v", hosts*rounds, time.Since(started), gap*(rounds-1))
		})
	}
}

// A bot with a total over all sites: waiters of many hosts and replicas share it without standstill.
func TestReplicasShareATotal(t *testing.T) {
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			rawURL := make(t)
			replicas := []*Store{open(t, rawURL, Options{}), open(t, rawURL, Options{})}
			var inFlight atomic.Int32
			var wg sync.WaitGroup
			for i := range 24 {
				s, host := replicas[i%2], string(rune('a'+i%6))+".example"
				wg.Go(func() {
					keys := []gate.Key{{Name: host, Gap: 20 * time.Millisecond}, {Name: "profile:one"}}
					turn, err := s.Take(t.Context(), keys, time.Now().Add(time.Minute))
					if err != nil {
						t.Error(err)
						return
					}
					if inFlight.Add(1) != 1 {
						t.Error("two requests in flight")
					}
					now := time.Now()
					inFlight.Add(-1)
					if err := turn.End(context.Background(), now); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}
