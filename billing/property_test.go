package billing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// mortal is a ledger whose process may die before or after it settles.
type mortal struct {
	billing.Ledger
	random func(n int) int
	sums   *sums
}

func (m mortal) Settle(ctx context.Context, h billing.Hold, r reader.Receipt) error {
	switch m.random(8) {
	case 0:
		return errCrash // died with the page handed over: the house pays
	case 1:
		m.sums.settle(h, r, m.Ledger.Settle(ctx, h, r))
		return errCrash // died before it learnt that it settled
	}
	err := m.Ledger.Settle(ctx, h, r)
	m.sums.settle(h, r, err)
	return err
}

func (m mortal) Void(ctx context.Context, h billing.Hold, o reader.Outcome, cause error) error {
	if m.random(8) == 0 {
		return errCrash
	}
	return m.Ledger.Void(ctx, h, o, cause)
}

// sums are what must have been charged: the price of each operation that was delivered with content and
// settled, once.
type sums struct {
	mu    sync.Mutex
	price map[string]map[string]int64 // by account and operation
}

func (s *sums) settle(h billing.Hold, r reader.Receipt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, charged := s.price[h.Account][h.Operation]; err == nil && r.Units() > 0 && !charged {
		s.price[h.Account][h.Operation] = int64(r.Units())
	}
}

func (s *sums) of(account string) (n int64) {
	for _, price := range s.price[account] {
		n += price
	}
	return n
}

// For any mix of outcomes, repetitions, crashes and concurrency: charged is what was delivered, no
// account crosses its cap by one unit, and the payment service hears the same.
func TestWhatIsChargedIsWhatWasDelivered(t *testing.T) {
	onEach(t, func(t *till) { chargeAtRandom(t, 42) })
}

// The same for as many random beginnings as WEBREADER_TORTURE says.
func TestTortureOfTheLedger(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("WEBREADER_TORTURE"))
	if err != nil {
		rounds = 2
	}
	for range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			chargeAtRandom(newTill(t, "sqlite:"+filepath.Join(t.TempDir(), "t.db")), seed)
		})
	}
}

func chargeAtRandom(t *till, seed uint64) {
	sums := &sums{price: map[string]map[string]int64{}}
	var accounts []billing.Account
	customers := map[string]string{}
	caps := map[string]int64{}
	for i := range 3 {
		a, _, customer := t.subscriber()
		limit := []int64{7, 40, 300}[i]
		set := &limit
		accounts = append(accounts, must(t.store.ChangeAccount(t.Context(), a.ID, billing.Change{SpendingCap: &set}))(t))
		sums.price[a.ID], customers[a.ID], caps[a.ID] = map[string]int64{}, customer, limit
	}
	var workers sync.WaitGroup
	for worker := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(worker)))
		workers.Go(func() {
			for range 25 {
				readAtRandom(t, accounts[random.IntN(3)].ID, random, sums)
			}
		})
	}
	workers.Wait()
	t.clock.advance(time.Hour) // what died lapses
	must(t.store.Sweep(t.Context(), time.Hour))(t)
	t.export()
	t.clock.advance(time.Hour)
	for _, a := range accounts {
		totals := must(t.store.Totals(t.Context(), a.ID, billing.Month(t.clock.Now())))(t)
		if want := sums.of(a.ID); totals.Units != want || totals.Units > caps[a.ID] || totals.Held != 0 {
			t.Errorf("seed %d: charged %d, held %d; delivered %d, cap %d", seed, totals.Units, totals.Held, want, caps[a.ID])
		}
		t.wantHeld(customers[a.ID], sums.of(a.ID))
	}
	t.wantAgreement()
}

func readAtRandom(t *till, account string, random *rand.Rand, sums *sums) {
	var mu sync.Mutex
	roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
	op := billing.NewOperation(account)
	if roll(2) == 0 {
		var err error
		op, err = t.store.Begin(t.Context(), billing.Attempt{Account: account, Key: fmt.Sprint("k", roll(12)), Request: []byte("GET")})
		if err != nil {
			if fault.Of(err) != fault.IdempotencyConflict {
				t.Error(err)
			}
			return
		}
	}
	outcome := []reader.Outcome{reader.Delivered, reader.Delivered, reader.Delivered, reader.Unchanged}[roll(4)]
	units := 0
	if outcome == reader.Delivered {
		units = roll(3) // 0 is a soft 404, 2 was rendered
	}
	page := fakeReader{document: document(outcome, units)}
	if roll(4) == 0 {
		page.err = fault.New([]fault.Kind{fault.TargetRefused, fault.BlockedBySitePolicy, fault.TargetTimeout}[roll(3)], "")
	}
	order := billing.Order{Account: account, Key: "key_test", Operation: op.ID, Kind: "read", Units: []int{2, 2, 2, 100}[roll(4)]}
	lost := roll(6) == 0 // the client is gone before it has the page
	err := billing.New(page, mortal{t.store, roll, sums}).Read(t.Context(), order, func(context.Context, *reader.Document, billing.Hold) error {
		if lost {
			return errors.New("the client is gone")
		}
		return nil
	})
	if op.KeyHash != "" && roll(5) > 0 { // else the process died before it said so
		if err := t.store.End(t.Context(), op, err == nil && units > 0, ""); err != nil {
			t.Error(err)
		}
	}
}
