package handlers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestACallWaitsForTheBooksOfItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settling
		first, second := s.begin("acc_1"), s.begin("acc_1")
		other := s.begin("acc_2")
		went := make(chan time.Duration)
		began := time.Now()
		go func() { s.wait(t.Context(), "acc_1"); went <- time.Since(began) }()
		time.AfterFunc(100*time.Millisecond, first)
		time.AfterFunc(300*time.Millisecond, second)
		if waited := <-went; waited != 300*time.Millisecond {
			t.Errorf("waited %s for two answers", waited)
		}
		began = time.Now()
		s.wait(t.Context(), "acc_1")
		s.wait(t.Context(), "nobody")
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s for nothing", waited)
		}
		s.wait(t.Context(), "acc_2")
		if waited := time.Since(began); waited != settleWait {
			t.Errorf("waited %s for books that are not written", waited)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		s.wait(gone, "acc_2")
		other()
		if len(s.open) != 0 {
			t.Errorf("%d accounts are remembered", len(s.open))
		}
	})
}
