package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

func TestADeliveredReadIsChargedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		if h.Units != 1 || !billing.ValidID("rcp", h.Receipt) {
			t.Errorf("held %+v", h)
		}
		noError(t, s.Settle(t.Context(), h, delivered()))
		if err := s.Settle(t.Context(), h, delivered()); !errors.Is(err, billing.ErrHoldEnded) {
			t.Errorf("a second settlement: %v", err)
		}
		wantLedger(t, s, account, 1, 1)
		list, _, err := s.Receipts(t.Context(), account.ID, billing.Month(time.Now()), "", 10)
		if err != nil || len(list) != 1 || list[0].ID != h.Receipt || list[0].URLHost != "site.example" || list[0].Units != 1 {
			t.Errorf("receipts %+v, %v", list, err)
		}
	})
}

// wantLedger checks that the account's debits, outbox and month agree and nothing is held.
func wantLedger(t testing.TB, s *Store, account billing.Account, debits, units int64) {
	t.Helper()
	for name, got := range map[string]struct{ got, want int64 }{
		"debits":       {number(t, s, "SELECT COUNT(*) FROM debits WHERE account = $1", account.ID), debits},
		"debited":      {number(t, s, "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM debits WHERE account = $1", account.ID), units},
		"outbox":       {number(t, s, "SELECT CAST(COALESCE(SUM(units), 0) AS BIGINT) FROM outbox WHERE account = $1", account.ID), units},
		"month":        {number(t, s, "SELECT CAST(COALESCE(SUM(charged), 0) AS BIGINT) FROM usage_months WHERE account = $1", account.ID), units},
		"held":         {number(t, s, "SELECT CAST(COALESCE(SUM(held), 0) AS BIGINT) FROM usage_months WHERE account = $1", account.ID), 0},
		"holds, units": {number(t, s, "SELECT CAST(COALESCE(SUM(units), 0) AS BIGINT) FROM holds WHERE account = $1", account.ID), 0},
	} {
		if got.got != got.want {
			t.Errorf("%s: %d, want %d", name, got.got, got.want)
		}
	}
}

func TestNothingButADeliveredReadIsCharged(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		for _, outcome := range []reader.Outcome{reader.Unchanged, reader.Blocked, reader.Refused, reader.Failed} {
			h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
			if err := s.Settle(t.Context(), h, receipt(outcome, 1, "site.example")); err == nil {
				t.Errorf("a read that ended as %s was settled", outcome)
			}
			cause := &fault.Error{Kind: fault.TargetRefused, Reason: "challenge", Detail: "secret detail"}
			noError(t, s.Void(t.Context(), h, outcome, cause))
		}
		h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Settle(t.Context(), h, receipt(reader.Delivered, 0, "site.example"))) // a soft 404
		wantLedger(t, s, account, 0, 0)
		totals := must[billing.Totals](t)(s.Totals(t.Context(), account.ID, billing.Month(time.Now())))
		if totals.Units != 0 || totals.Pages != 1 || totals.ByOutcome[reader.Refused] != 1 || totals.ByOutcome[reader.Unchanged] != 1 {
			t.Errorf("totals %+v", totals)
		}
		var reason string
		noError(t, s.ro.QueryRow("SELECT reason FROM reads WHERE outcome = 'refused'").Scan(&reason))
		if reason != "target_refused/challenge" {
			t.Errorf("recorded reason %q", reason)
		}
	})
}

func TestTheDatabaseRefusesAChargeWithoutADeliveredRead(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Void(t.Context(), h, reader.Refused, nil))
		paid := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Settle(t.Context(), paid, delivered()))
		insert := func(operation, read, outcome, receipt string) error {
			_, err := s.db.Exec(`INSERT INTO debits (account, operation, read_id, outcome, receipt, amount, month, debited_at)
				VALUES ($1, $2, $3, $4, $5, 1, '2026-11', 1)`, account.ID, operation, read, outcome, receipt)
			return err
		}
		for name, err := range map[string]error{
			"for a refused read":            insert(h.Operation, h.ID, "delivered", "rcp_1"),
			"with another outcome":          insert(h.Operation, h.ID, "refused", "rcp_2"),
			"for a read that never was":     insert("op_x", "read_x", "delivered", "rcp_3"),
			"twice for a read":              insert("op_y", paid.ID, "delivered", "rcp_4"),
			"twice for an operation":        insert(paid.Operation, h.ID, "delivered", "rcp_5"),
			"for another operation's read":  insert("op_z", h.ID, "delivered", "rcp_6"),
			"with a receipt that was given": insert(h.Operation, h.ID, "delivered", paid.Receipt),
		} {
			if err == nil {
				t.Errorf("a debit %s was taken", name)
			}
		}
		wantLedger(t, s, account, 1, 1)
	})
}

func TestASecondReadOfAnOperationIsFree(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		o := order(account)
		first := must[billing.Hold](t)(s.Hold(t.Context(), o))
		atOnce := must[billing.Hold](t)(s.Hold(t.Context(), o))
		noError(t, s.Settle(t.Context(), first, delivered()))
		noError(t, s.Settle(t.Context(), atOnce, delivered()))
		again := must[billing.Hold](t)(s.Hold(t.Context(), o))
		if again.Units != 0 || again.Charge(delivered()) != 0 {
			t.Errorf("the repeat holds %d units", again.Units)
		}
		noError(t, s.Settle(t.Context(), again, delivered()))
		wantLedger(t, s, account, 1, 1)
	})
}

func TestALateSettlementIsRefused(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		o := order(account)
		o.Longest = time.Minute
		h := must[billing.Hold](t)(s.Hold(t.Context(), o))
		clock.advance(time.Minute + billing.SettleTime - time.Millisecond)
		inTime := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Settle(t.Context(), h, delivered()))
		clock.advance(billing.DefaultLongest + billing.SettleTime)
		if err := s.Settle(t.Context(), inTime, delivered()); !errors.Is(err, billing.ErrHoldEnded) {
			t.Errorf("a settlement at the hold's end: %v", err)
		}
		wantLedger(t, s, account, 1, 1)
		if n := number(t, s, "SELECT COUNT(*) FROM reads WHERE reason = 'hold_ended'"); n != 1 {
			t.Errorf("%d reads say that the house paid", n)
		}
	})
}

func TestConcurrentHoldsNeverCrossTheCap(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		limit := int64(25)
		cap25 := &limit
		must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &cap25}))
		var wg sync.WaitGroup
		var mu sync.Mutex
		var held []billing.Hold
		for range 80 {
			wg.Go(func() {
				h, err := s.Hold(t.Context(), order(account))
				if err != nil {
					wantKind(t, err, fault.PaymentRequired)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				held = append(held, h)
			})
		}
		wg.Wait()
		if len(held) != 25 {
			t.Fatalf("%d holds under a cap of 25", len(held))
		}
		noError(t, s.Void(t.Context(), held[0], reader.Failed, nil))
		last := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		for _, h := range append(held[1:], last) {
			noError(t, s.Settle(t.Context(), h, delivered()))
		}
		_, err := s.Hold(t.Context(), order(account))
		wantKind(t, err, fault.PaymentRequired)
		wantLedger(t, s, account, 25, 25)
	})
}

func TestALapsedHoldGivesItsUnitsBack(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		limit := int64(100)
		c := &limit
		must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &c}))
		o := order(account)
		o.Units = 100
		must[billing.Hold](t)(s.Hold(t.Context(), o))
		_, err := s.Hold(t.Context(), order(account))
		wantKind(t, err, fault.PaymentRequired)
		clock.advance(o.HoldFor())
		must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		clock.advance(o.HoldFor())
		if n := must[int64](t)(s.SweepHolds(t.Context())); n != 1 {
			t.Errorf("swept %d units", n)
		}
		wantLedger(t, s, account, 0, 0)
	})
}

func TestAMonthBeginsAnew(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		limit := int64(1)
		c := &limit
		must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &c}))
		clock.advance(12*time.Hour - time.Second)
		november := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		clock.advance(2 * time.Second)
		december := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Settle(t.Context(), november, delivered()))
		noError(t, s.Settle(t.Context(), december, delivered()))
		_, err := s.Hold(t.Context(), order(account))
		wantKind(t, err, fault.PaymentRequired)
		wantLedger(t, s, account, 2, 2)
	})
}

func TestOnlyAnActiveAccountHolds(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		noError(t, s.Suspend(t.Context(), account.ID, "abuse"))
		_, err := s.Hold(t.Context(), order(account))
		wantKind(t, err, fault.AccountSuspended)
		noError(t, s.CloseAccount(t.Context(), account.ID))
		_, err = s.Hold(t.Context(), order(account))
		wantKind(t, err, fault.Unauthorized)
		_, err = s.Hold(t.Context(), order(billing.Account{ID: "acc_nobody"}))
		wantKind(t, err, fault.Unauthorized)
	})
}

// For any mix of outcomes, retries, crashes and concurrency, over two replicas: charged = Σ delivered
// operations, the debits equal the outbox and the month, and the cap holds.
func TestTheLedgerAddsUp(t *testing.T) {
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			rawURL := make(t)
			replicas := []*Store{open(t, rawURL, Options{}), open(t, rawURL, Options{})}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			var accounts []billing.Account
			for i := range 3 {
				a, _, _ := customer(t, replicas[0], fmt.Sprint("customer ", i))
				limit := int64(60 + 100*i)
				c := &limit
				must[billing.Account](t)(replicas[0].ChangeAccount(t.Context(), a.ID, billing.Change{SpendingCap: &c}))
				accounts = append(accounts, a)
			}
			var mu sync.Mutex
			paid := map[string]map[string]bool{}
			settled := func(account, operation string) {
				mu.Lock()
				defer mu.Unlock()
				if paid[account] == nil {
					paid[account] = map[string]bool{}
				}
				paid[account][operation] = true
			}
			var wg sync.WaitGroup
			for worker := range 16 {
				random := rand.New(rand.NewPCG(seed, uint64(worker)))
				wg.Go(func() {
					for i := range 40 {
						s, account := replicas[random.IntN(2)], accounts[random.IntN(3)]
						o := order(account)
						o.Operation = fmt.Sprintf("op_%d_%d", worker, i/(1+random.IntN(2)))
						readOnce(t, s, o, random, settled)
					}
				})
			}
			wg.Wait()
			s := replicas[1]
			_, err := s.db.Exec("UPDATE holds SET expires_at = 0")
			noError(t, err)
			must[int64](t)(s.SweepHolds(t.Context()))
			for i, a := range accounts {
				want := int64(len(paid[a.ID]))
				if limit := int64(60 + 100*i); want > limit {
					t.Errorf("%d units charged over a cap of %d", want, limit)
				}
				wantLedger(t, s, a, want, want)
			}
		})
	}
}

// readOnce plays one read to one of its ends.
func readOnce(t *testing.T, s *Store, o billing.Order, random *rand.Rand, settled func(account, operation string)) {
	h, err := s.Hold(t.Context(), o)
	if err != nil {
		wantKind(t, err, fault.PaymentRequired)
		return
	}
	switch random.IntN(6) {
	case 0: // a crash: neither settled nor voided
	case 1:
		if err := s.Void(t.Context(), h, reader.Refused, nil); err != nil {
			t.Error(err)
		}
	case 2: // voided, and then settled all the same
		if err := s.Void(t.Context(), h, reader.Failed, nil); err != nil {
			t.Error(err)
		}
		if err := s.Settle(t.Context(), h, delivered()); !errors.Is(err, billing.ErrHoldEnded) {
			t.Errorf("settled a voided hold: %v", err)
		}
	default:
		if err := s.Settle(t.Context(), h, delivered()); err != nil {
			t.Error(err)
		}
		settled(o.Account, o.Operation)
		if random.IntN(3) == 0 {
			if err := s.Settle(t.Context(), h, delivered()); !errors.Is(err, billing.ErrHoldEnded) {
				t.Errorf("settled twice: %v", err)
			}
		}
	}
}
