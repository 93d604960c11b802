package billing_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
)

const slotTime = 15 * time.Minute // after which a debit's slot is over

func TestDebitsAreReportedOnceAndAgree(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.charge(account.ID, 7)
		t.export()
		t.wantHeld(customer, 0) // the slot is not over
		t.wantAgreement()
		t.clock.advance(slotTime)
		t.charge(account.ID, 2)
		t.clock.advance(slotTime)
		t.export()
		t.export()
		t.wantHeld(customer, 9)
		t.wantAgreement()
		t.clock.advance(time.Hour)
		r := t.reconcile(billing.Hour)
		if len(r.Books) != 1 || r.Books[0].Arrived != 9 || r.Books[0].Receipts != 9 || r.Held[0] != 9 || len(r.Differences) > 0 {
			t.Errorf("%+v", r)
		}
		if n := count(t.fake.Calls(), "POST /v1/billing/meter_events"); n != 2 {
			t.Errorf("%d reports for two slots", n)
		}
	})
}

// A report that was lost and one that was counted twice are both found, though the month's sum is right.
func TestALostAndADoubledReportDoNotHideEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		apart  time.Duration
		window billing.Window
	}{"hours": {time.Hour, billing.Hour}, "days": {24 * time.Hour, billing.Day}} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *till) {
				account, _, customer := t.subscriber()
				for _, do := range []stripetest.Do{stripetest.LoseEvent, stripetest.Double, stripetest.Serve} {
					t.fake.Does(func(int, *http.Request) stripetest.Do { return do })
					t.charge(account.ID, 5)
					t.clock.advance(c.apart)
					t.export()
				}
				t.clock.advance(c.apart)
				t.wantHeld(customer, 15)
				r := t.reconcile(c.window)
				if len(r.Differences) != 1 || r.Held[0] != 15 || !strings.Contains(r.Differences[0].Why, "lacks 5 units") || !strings.Contains(r.Differences[0].Why, "5 units too many") {
					t.Errorf("differences %v", r.Differences)
				}
			})
		})
	}
}

func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}

// Every failure of the payment service that a repetition mends, at every call.
func TestFailuresOfThePaymentServiceChangeNoTotal(t *testing.T) {
	for name, do := range map[string]stripetest.Do{"500": stripetest.Fail500, "429": stripetest.Fail429, "time-out before": stripetest.Hang,
		"time-out after": stripetest.Swallow, "500 after": stripetest.Swallow500} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *till) {
				account, _, customer := t.subscriber()
				t.charge(account.ID, 5)
				t.clock.advance(slotTime)
				failing := len(t.fake.Calls()) + 3
				t.fake.Does(func(n int, _ *http.Request) stripetest.Do {
					if n <= failing {
						return do
					}
					return stripetest.Serve
				})
				for range 6 {
					t.export()
					t.clock.advance(10 * time.Minute)
				}
				t.wantHeld(customer, 5)
				t.clock.advance(time.Hour)
				t.wantAgreement()
			})
		})
	}
}

// crashing stands between the exporter and one of its rooms and ends the process, so to say, before
// or after call number at.
type crashing struct {
	billing.Outbox
	billing.Reporter
	at, n *int
	after bool
}

func (c crashing) step(do func() error) error {
	*c.n++
	if *c.n != *c.at {
		return do()
	}
	if c.after {
		_ = do() // done, and nobody learnt how it ended
	}
	return errCrash
}

func (c crashing) Gather(ctx context.Context) (n int, err error) {
	err = c.step(func() (err error) { n, err = c.Outbox.Gather(ctx); return err })
	return n, err
}

func (c crashing) Claim(ctx context.Context, limit int) (list []billing.UsageReport, err error) {
	err = c.step(func() (err error) { list, err = c.Outbox.Claim(ctx, limit); return err })
	return list, err
}

func (c crashing) Arrived(ctx context.Context, id string) error {
	return c.step(func() error { return c.Outbox.Arrived(ctx, id) })
}

func (c crashing) TakenBack(ctx context.Context, id string) error {
	return c.step(func() error { return c.Outbox.TakenBack(ctx, id) })
}

// A crash ends the exporter before it can write anything down, so a crashed call ends the context too.
type dying struct {
	crashing
	die context.CancelFunc
}

func (d dying) Report(ctx context.Context, r billing.UsageReport) error {
	err := d.step(func() error { return d.Reporter.Report(ctx, r) })
	if err == errCrash { //nolint:errorlint // the very value
		d.die()
	}
	return err
}

func (d dying) Cancel(ctx context.Context, r billing.UsageReport) error {
	err := d.step(func() error { return d.Reporter.Cancel(ctx, r) })
	if err == errCrash { //nolint:errorlint // the very value
		d.die()
	}
	return err
}

// Crash at every step, before and after it; the process comes back at once, or after days, when the
// payment service drops doubles no more.
func TestACrashAtAnyStepChangesNoTotal(t *testing.T) {
	for _, away := range []time.Duration{3 * time.Minute, 3 * 24 * time.Hour} {
		for _, after := range []bool{false, true} {
			for at := 1; at <= 12; at++ {
				t.Run(fmt.Sprintf("away %v, after %v, step %d", away, after, at), func(t *testing.T) {
					if testing.Short() {
						return
					}
					crashAt(newTill(t, "sqlite::memory:"), at, after, away)
				})
			}
		}
	}
	onEach(t, func(t *till) { crashAt(t, 3, true, 3*24*time.Hour) })
}

func crashAt(t *till, at int, after bool, away time.Duration) {
	account, _, customer := t.subscriber()
	t.charge(account.ID, 4)
	t.clock.advance(slotTime)
	t.charge(account.ID, 3)
	t.clock.advance(slotTime)
	n := 0
	ctx, die := context.WithCancel(t.Context())
	defer die()
	c := crashing{Outbox: t.store, Reporter: t.stripe, at: &at, n: &n, after: after}
	e := billing.NewExporter(c, dying{c, die}, discard, nil)
	for {
		done, err := e.Step(ctx)
		if err != nil || done == 0 {
			break
		}
	}
	credit := int64(0)
	if n < at { // no crash yet: let one of the cancellation's steps have it
		t.ok(t.store.Credit(t.Context(), account.ID, 2, "test"))
		credit = 2
		for {
			done, err := e.Step(ctx)
			if err != nil || done == 0 {
				break
			}
		}
	}
	t.clock.advance(away)
	t.export()
	t.clock.advance(2 * time.Hour)
	t.export()
	t.clock.advance(time.Hour)
	if away > 24*time.Hour && credit > 0 && t.fake.Held(customer) == 7 {
		// The cancellation was not sent within the payment service's 24 hours: it must show.
		if r := t.reconcile(billing.Hour); len(r.Differences) == 0 || t.problems == 0 {
			t.Errorf("a credit that came too late shows nowhere: %+v, %d problems", r, t.problems)
		}
		return
	}
	t.wantHeld(customer, 7-credit)
	t.wantAgreement()
}

func TestALossAndADoubleAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		do   stripetest.Do
		held int64
		why  string
	}{"lost": {stripetest.LoseEvent, 0, "lacks 5 units"}, "doubled": {stripetest.Double, 10, "5 units too many"}} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *till) {
				account, _, customer := t.subscriber()
				t.charge(account.ID, 5)
				t.clock.advance(slotTime)
				t.fake.Does(func(int, *http.Request) stripetest.Do { return c.do })
				t.export()
				t.fake.Does(nil)
				t.wantHeld(customer, c.held)
				t.clock.advance(time.Hour)
				r := t.reconcile(billing.Hour)
				if len(r.Differences) != 1 || !strings.Contains(r.Differences[0].String(), c.why) {
					t.Errorf("differences %v, want %q", r.Differences, c.why)
				}
			})
		})
	}
}

// While the payment service is away for longer than it drops doubles, the exporter looks before it
// sends again: a report that was lost is sent, one that arrived is not.
func TestALateRetryLooksFirst(t *testing.T) {
	for name, do := range map[string]stripetest.Do{"arrived": stripetest.Swallow, "never arrived": stripetest.Hang} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *till) {
				account, _, customer := t.subscriber()
				t.charge(account.ID, 5)
				t.clock.advance(slotTime)
				first := true
				t.fake.Does(func(int, *http.Request) stripetest.Do {
					if first {
						first = false
						return do
					}
					return stripetest.Hang
				})
				for range 30 {
					t.export()
					t.clock.advance(time.Hour)
				}
				t.fake.Does(nil)
				before := len(t.fake.Calls())
				t.clock.advance(time.Hour)
				t.export()
				calls := t.fake.Calls()[before:]
				if len(calls) == 0 || !strings.HasSuffix(calls[0], "event_summaries") && !strings.HasSuffix(calls[0], "/meters") {
					t.Errorf("calls %v: the exporter did not look first", calls)
				}
				if sent := slices.Contains(calls, "POST /v1/billing/meter_events"); sent != (name == "never arrived") {
					t.Errorf("%s: sent again: %v", name, sent)
				}
				t.wantHeld(customer, 5)
				t.clock.advance(time.Hour)
				t.wantAgreement()
			})
		})
	}
}

func TestUsageOlderThan35DaysIsTheHousesLossAndShows(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.charge(account.ID, 5)
		t.clock.advance(34 * 24 * time.Hour) // late, and still taken
		t.export()
		t.wantHeld(customer, 5)
		t.charge(account.ID, 3)
		t.clock.advance(36 * 24 * time.Hour)
		t.export()
		t.wantHeld(customer, 5)
		if r := t.reconcile(billing.Hour); t.problems != 1 || len(r.Differences) != 1 || r.Differences[0].GivenUp != 3 {
			t.Errorf("%d problems, differences %v", t.problems, r.Differences)
		}
	})
}

func TestClockSkewWithinReasonChangesNoTotal(t *testing.T) {
	for _, skew := range []time.Duration{-30 * time.Minute, 4 * time.Minute, 30 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			onEach(t, func(t *till) {
				t.fake.Now = func() time.Time { return t.clock.Now().Add(skew) }
				account, _, customer := t.subscriber()
				t.charge(account.ID, 5)
				t.clock.advance(time.Hour)
				t.export()
				t.wantHeld(customer, 5)
				t.wantAgreement()
			})
		})
	}
}

func TestUsageWithoutASubscriptionIsMeteredAndNotReported(t *testing.T) {
	onEach(t, func(t *till) {
		local := must(t.store.CreateAccount(t.Context(), "local", ""))(t)
		t.charge(local.ID, 3)
		t.clock.advance(time.Hour)
		t.export()
		if n := count(t.fake.Calls(), "POST /v1/billing/meter_events"); n != 0 {
			t.Errorf("%d reports", n)
		}
		totals := must(t.store.Totals(t.Context(), local.ID, billing.Month(t.clock.Now())))(t)
		if totals.Units != 3 {
			t.Errorf("%d units metered", totals.Units)
		}
	})
}

func TestACreditTakesBackWhatWasReported(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.charge(account.ID, 10)
		t.clock.advance(slotTime)
		t.export()
		if err := t.store.Credit(t.Context(), account.ID, 11, "too much"); err == nil {
			t.Error("more was given back than was reported")
		}
		t.ok(t.store.Credit(t.Context(), account.ID, 4, "a bad page"))
		t.wantAgreement()
		t.export()
		t.wantHeld(customer, 6)
		t.clock.advance(2 * time.Hour)
		t.wantAgreement()
		totals := must(t.store.Totals(t.Context(), account.ID, billing.Month(t.clock.Now())))(t)
		if totals.Units != 10 || totals.Credited != 4 || totals.Left != 50000-6 || totals.AllowanceLeft != 1000-6 {
			t.Errorf("totals %+v", totals)
		}
		t.clock.advance(24 * time.Hour)
		if err := t.store.Credit(t.Context(), account.ID, 1, "too late"); err == nil || !strings.Contains(err.Error(), "23 hours") {
			t.Errorf("a credit after 24 hours: %v", err)
		}
	})
}

// A debit whose transaction was slow belongs to a slot that was reported already.
func TestAStragglerHasAReportOfItsOwn(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		for range 4 {
			t.charge(account.ID, 2)
			t.clock.advance(slotTime)
			t.export()
			t.clock.advance(-slotTime)
		}
		t.wantHeld(customer, 8)
		t.clock.advance(2 * time.Hour)
		t.wantAgreement()
	})
}

func TestReplicasReportOnce(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		for range 5 {
			t.charge(account.ID, 2)
			t.clock.advance(slotTime)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				e := billing.NewExporter(t.store, t.stripe, discard, nil)
				for {
					n, err := e.Step(t.Context())
					if err != nil {
						t.Error(err)
					}
					if n == 0 || err != nil {
						return
					}
				}
			})
		}
		all.Wait()
		t.export()
		t.wantHeld(customer, 10)
		if n := count(t.fake.Calls(), "POST /v1/billing/meter_events"); n != 5 {
			t.Errorf("%d reports for five slots", n)
		}
		t.clock.advance(time.Hour)
		t.wantAgreement()
	})
}

func TestThresholdsAreToldOnceAndUntilTheyArrive(t *testing.T) {
	onEach(t, func(t *till) {
		account := must(t.store.CreateAccount(t.Context(), "capped", ""))(t)
		limit, hook := int64(10), "https://hooks.example/x"
		set := &limit
		must(t.store.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &set, WebhookURL: &hook}))(t)
		heard := &hearing{}
		tell := func() { t.ok(billing.TellThresholds(t.Context(), t.store, heard)) }
		t.charge(account.ID, 7)
		tell()
		if len(heard.told) != 0 {
			t.Errorf("told at 70 %%: %+v", heard.told)
		}
		t.charge(account.ID, 1)
		heard.again = time.Minute
		tell()
		tell()
		t.clock.advance(time.Hour)
		heard.again = 0
		tell()
		t.clock.advance(time.Hour)
		tell()
		if len(heard.told) != 2 || heard.told[0].Event != heard.told[1].Event || heard.told[1].Percent != 80 || heard.told[1].Ceiling != 10 || heard.told[1].Tries != 2 {
			t.Errorf("told at 80 %%: %+v", heard.told)
		}
		t.charge(account.ID, 2)
		tell()
		tell()
		if len(heard.told) != 3 || heard.told[2].Percent != 100 {
			t.Errorf("told at 100 %%: %+v", heard.told)
		}
		t.clock.advance(11 * 24 * time.Hour) // December
		t.charge(account.ID, 10)
		tell()
		tell()
		if len(heard.told) != 4 || heard.told[3].Percent != 100 || heard.told[3].Month != "2026-12" {
			t.Errorf("told in the next month: %+v", heard.told)
		}
	})
}

// hearing is a customer's webhook.
type hearing struct {
	told  []billing.Threshold
	again time.Duration
}

func (h *hearing) Tell(_ context.Context, _ billing.Account, t billing.Threshold) time.Duration {
	h.told = append(h.told, t)
	return h.again
}
