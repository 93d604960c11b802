package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

func attempt(account, key, request string) billing.Attempt {
	return billing.Attempt{Account: account, Key: key, Request: []byte(request)}
}

func TestARepeatIsTheSameOperation(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		begin := func(a billing.Attempt) (billing.Operation, error) { return s.Begin(t.Context(), a) }
		first := must[billing.Operation](t)(begin(attempt("acc_1", "k", "GET a")))
		_, err := begin(attempt("acc_1", "k", "GET a"))
		wantKind(t, err, fault.IdempotencyConflict) // it still runs
		noError(t, s.End(t.Context(), first, true, ""))
		_, err = begin(attempt("acc_1", "k", "GET b"))
		wantKind(t, err, fault.IdempotencyConflict) // another request
		for range billing.FreeRepeats {
			again := must[billing.Operation](t)(begin(attempt("acc_1", "k", "GET a")))
			if again.ID != first.ID || !again.Repeat {
				t.Errorf("a repeat is %+v, the first was %+v", again, first)
			}
			noError(t, s.End(t.Context(), again, true, ""))
		}
		_, err = begin(attempt("acc_1", "k", "GET a"))
		wantKind(t, err, fault.IdempotencyConflict) // too often
		for _, other := range []billing.Attempt{attempt("acc_2", "k", "GET a"), attempt("acc_1", "l", "GET a")} {
			if op := must[billing.Operation](t)(begin(other)); op.ID == first.ID || op.Repeat {
				t.Errorf("%+v is %+v", other, op)
			}
		}
		clock.advance(24 * time.Hour)
		if op := must[billing.Operation](t)(begin(attempt("acc_1", "k", "GET b"))); op.ID == first.ID || op.Repeat {
			t.Errorf("after a day it is %+v", op)
		}
		if n := must[int64](t)(s.SweepIdempotency(t.Context())); n != 2 {
			t.Errorf("swept %d keys", n)
		}
	})
}

func TestAFailedReadMayBeRepeatedFreely(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		for range billing.FreeRepeats + 3 {
			op := must[billing.Operation](t)(s.Begin(t.Context(), attempt("acc_1", "k", "GET a")))
			if op.Repeat {
				t.Error("nothing was delivered yet")
			}
			noError(t, s.End(t.Context(), op, false, ""))
		}
	})
}

func TestARepeatAnswersWhatTheFirstMade(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		op := must[billing.Operation](t)(s.Begin(t.Context(), attempt("acc_1", "k", "POST /batch")))
		noError(t, s.End(t.Context(), op, false, "job_1"))
		for range 10 {
			again := must[billing.Operation](t)(s.Begin(t.Context(), attempt("acc_1", "k", "POST /batch")))
			if again.Object != "job_1" || !again.Repeat {
				t.Errorf("the repeat is %+v", again)
			}
			noError(t, s.End(t.Context(), again, false, "job_2"))
		}
	})
}

func TestACrashedAttemptFreesItsKeyInTime(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		a := attempt("acc_1", "k", "GET a")
		a.Longest = time.Minute
		dead := must[billing.Operation](t)(s.Begin(t.Context(), a))
		clock.advance(a.Life() - time.Millisecond)
		_, err := s.Begin(t.Context(), a)
		wantKind(t, err, fault.IdempotencyConflict)
		clock.advance(time.Millisecond)
		next := must[billing.Operation](t)(s.Begin(t.Context(), a))
		if next.ID != dead.ID {
			t.Errorf("the next attempt is another operation")
		}
		noError(t, s.End(t.Context(), dead, true, "")) // a late end of the dead one frees nothing
		_, err = s.Begin(t.Context(), a)
		wantKind(t, err, fault.IdempotencyConflict)
	})
}

func TestOfManyAttemptsAtOnceOneRuns(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		var begun atomic.Int32
		for range 20 {
			wg.Go(func() {
				if _, err := s.Begin(context.Background(), attempt("acc_1", "k", "GET a")); err == nil {
					begun.Add(1)
				} else {
					wantKind(t, err, fault.IdempotencyConflict)
				}
			})
		}
		wg.Wait()
		if begun.Load() != 1 {
			t.Errorf("%d attempts run", begun.Load())
		}
	})
}
