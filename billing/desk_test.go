package billing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/reader"
)

func TestASignUpMakesOneAccountAndShowsItsKeyOnce(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		if got := t.fake.Param(session, "subscription_data[billing_cycle_anchor]"); got != fmt.Sprint(billing.Month(t.clock.Now()).To.Unix()) {
			t.Errorf("the billing period begins at %s, not with the month", got)
		}
		if _, err := t.desk.Finish(t.Context(), session, cookie); !errors.Is(err, billing.ErrUnfinished) {
			t.Errorf("before the payment: %v", err)
		}
		t.fake.Pay(session)
		first := must(t.desk.Finish(t.Context(), session, cookie))(t)
		if first.Account.Plan != "standard" || first.Account.Name != "Anna" || *first.Account.SpendingCap != 50000 {
			t.Errorf("account %+v", first.Account)
		}
		t.clock.advance(59 * time.Minute)
		second := must(t.desk.Finish(t.Context(), session, cookie))(t)
		if second.Account.ID != first.Account.ID || second.Secret == first.Secret {
			t.Error("a reload made another account, or showed the same key")
		}
		if _, err := t.store.Authenticate(t.Context(), first.Secret.Reveal()); fault.Of(err) != fault.Unauthorized || err == nil {
			t.Errorf("the replaced key: %v", err)
		}
		must(t.store.Authenticate(t.Context(), second.Secret.Reveal()))(t)
		if third := must(t.desk.Finish(t.Context(), session, cookie))(t); !third.Shown {
			t.Error("a used key was replaced")
		}
		must(t.store.Authenticate(t.Context(), second.Secret.Reveal()))(t)
	})
}

// A checkout that ended without a payment makes no account and says that it has ended, also where the
// payment was under way and failed later.
func TestACheckoutThatNobodyPaidHasEnded(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		t.fake.Expire(session)
		if _, err := t.desk.Finish(t.Context(), session, cookie); !errors.Is(err, billing.ErrExpired) {
			t.Errorf("expired: %v", err)
		}
		session, cookie = t.begin("")
		sub, _ := t.fake.Pay(session)
		t.fake.Unpaid(session)
		if _, err := t.desk.Finish(t.Context(), session, cookie); !errors.Is(err, billing.ErrUnfinished) {
			t.Errorf("under way: %v", err)
		}
		t.fake.Set(sub, "incomplete_expired")
		if _, err := t.desk.Finish(t.Context(), session, cookie); !errors.Is(err, billing.ErrExpired) {
			t.Errorf("failed: %v", err)
		}
		if accounts := must(t.store.ListAccounts(t.Context(), "", 10))(t); len(accounts) > 0 {
			t.Errorf("accounts %+v", accounts)
		}
	})
}

func TestAKeyIsNotReplacedAfterAnHour(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		t.fake.Pay(session)
		first := must(t.desk.Finish(t.Context(), session, cookie))(t)
		t.clock.advance(31 * time.Minute)
		second := must(t.desk.Finish(t.Context(), session, cookie))(t)
		t.clock.advance(31 * time.Minute)
		if third := must(t.desk.Finish(t.Context(), session, cookie))(t); !third.Shown {
			t.Error("the hour counts from the first showing")
		}
		must(t.store.Authenticate(t.Context(), second.Secret.Reveal()))(t)
		if first.Secret == second.Secret {
			t.Error("the same key twice")
		}
	})
}

func TestALeakedSessionYieldsNothing(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		other, otherCookie := t.begin("")
		t.fake.Pay(session)
		for name, c := range map[string][2]string{
			"no cookie": {session, ""}, "a made-up cookie": {session, billing.NewID("browser")}, "another sign-up's cookie": {session, otherCookie},
			"its cookie, another session": {other, cookie}, "no session": {"", cookie}, "an unknown session": {"cs_test_unknown", cookie},
			"the cookie's stored form": {session, strings.Repeat("a", 64)},
		} {
			_, err := t.desk.Finish(t.Context(), c[0], c[1])
			if err == nil || fault.Of(err) != fault.NotFound || !strings.Contains(err.Error(), "only in the browser") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if list := must(t.store.ListAccounts(t.Context(), "", 10))(t); len(list) != 0 {
			t.Errorf("%d accounts were made", len(list))
		}
		must(t.desk.Finish(t.Context(), session, cookie))(t)
	})
}

func TestReloadsAtOnceLeaveOneKeyThatWorks(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		t.fake.Pay(session)
		secrets := make(chan billing.Secret, 8)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				w, err := t.desk.Finish(t.Context(), session, cookie)
				if err != nil {
					t.Error(err)
				}
				secrets <- w.Secret
			})
		}
		all.Wait()
		close(secrets)
		working := 0
		for secret := range secrets {
			if _, err := t.store.Authenticate(t.Context(), secret.Reveal()); err == nil {
				working++
			}
		}
		if accounts := must(t.store.ListAccounts(t.Context(), "", 10))(t); working != 1 || len(accounts) != 1 {
			t.Errorf("%d keys work, %d accounts", working, len(accounts))
		}
	})
}

func TestACustomerWhoNeverComesBackHasAnAccount(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		t.receive("evt_early", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": session}) // not paid yet: nothing
		t.fake.Pay(session)
		t.receive("evt_1", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": session})
		t.receive("evt_1", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": session})
		t.receive("evt_2", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": session})
		t.receive("evt_3", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": "cs_of_somebody_else"})
		if list := must(t.store.ListAccounts(t.Context(), "", 10))(t); len(list) != 1 {
			t.Fatalf("%d accounts", len(list))
		}
		w := must(t.desk.Finish(t.Context(), session, cookie))(t) // and back after all
		must(t.store.Authenticate(t.Context(), w.Secret.Reveal()))(t)
	})
}

// receive posts an event as the payment service does, now, and deals with whatever is due.
func (t *till) receive(id, kind string, object map[string]any) {
	t.Helper()
	body, signature := stripetest.Webhook(id, kind, object, time.Now(), stripetest.Secret)
	t.ok(t.desk.Receive(t.Context(), body, signature))
	for t.step() > 0 {
	}
}

func (t *till) plan(account string) string {
	t.Helper()
	return must(t.store.Account(t.Context(), account))(t).Plan
}

func (t *till) wantRead(account string, want fault.Kind, when string) {
	t.Helper()
	err := t.read(account, billing.NewID("op"), reader.Failed)
	if err == nil && want != fault.Internal || err != nil && fault.Of(err) != want {
		t.Errorf("%s: a read ends with %v, want %v", when, err, want)
	}
}

func TestAFailedPaymentHasGraceAndThenStopsReading(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, customer := t.subscriber()
		t.fake.Set(sub, "past_due")
		t.receive("evt_1", "invoice.payment_failed", map[string]any{"object": "invoice", "id": "in_1", "customer": customer})
		t.wantRead(account.ID, fault.Internal, "in the days of grace")
		t.clock.advance(3 * 24 * time.Hour)
		t.receive("evt_2", "invoice.payment_failed", map[string]any{"object": "invoice", "id": "in_1", "customer": customer,
			"parent": map[string]any{"subscription_details": map[string]any{"subscription": sub}}})
		t.clock.advance(4*24*time.Hour + time.Minute)
		t.wantRead(account.ID, fault.PaymentRequired, "after the days of grace")
		t.fake.Set(sub, "active")
		t.receive("evt_3", "customer.subscription.updated", map[string]any{"object": "subscription", "id": sub, "customer": customer, "status": "past_due"})
		t.wantRead(account.ID, fault.Internal, "once it is paid")
		t.fake.Set(sub, "unpaid")
		t.receive("evt_4", "customer.subscription.updated", map[string]any{"object": "subscription", "id": sub})
		t.wantRead(account.ID, fault.PaymentRequired, "when the payment service gave up")
	})
}

// Events say only what to ask about; so their order and their number do not matter.
func TestDisorderAndDoublesEndInThePaymentServicesState(t *testing.T) {
	kinds := []string{"customer.subscription.created", "customer.subscription.updated", "invoice.paid", "invoice.payment_failed", "customer.subscription.deleted", "something.unknown"}
	onEach(t, func(t *till) {
		account, sub, customer := t.subscriber()
		for i := range 40 {
			status := []string{"active", "past_due", "trialing"}[rand.IntN(3)]
			t.fake.Set(sub, status)
			kind := kinds[rand.IntN(len(kinds))]
			t.receive(fmt.Sprint("evt_", rand.IntN(30)), kind, map[string]any{"object": "subscription", "id": sub, "customer": customer, "status": "canceled"})
			t.receive(fmt.Sprint("evt_last_", i), "customer.subscription.updated", map[string]any{"object": "subscription", "id": sub})
			if got := t.plan(account.ID); got != "standard" {
				t.Fatalf("plan %q while the subscription is %s", got, status)
			}
		}
		t.fake.Set(sub, "canceled")
		t.receive("evt_end", "customer.subscription.updated", map[string]any{"object": "subscription", "id": sub})
		if got := t.plan(account.ID); got != "free" {
			t.Errorf("plan %q after the end", got)
		}
	})
}

// What the payment service was asked earlier does not overwrite what it said later.
func TestAnOlderAnswerChangesNothing(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, _ := t.subscriber()
		old := t.clock.Now()
		t.clock.advance(time.Second)
		t.ok(t.store.Apply(t.Context(), billing.Subscription{ID: sub, State: billing.Paying}, t.clock.Now()))
		t.ok(t.store.Apply(t.Context(), billing.Subscription{ID: sub, State: billing.Ended}, old))
		if got := t.plan(account.ID); got != "standard" {
			t.Errorf("plan %q", got)
		}
	})
}

func TestADeletedCustomerFallsBackAndIsBilledNoMore(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, customer := t.subscriber()
		t.charge(account.ID, 4)
		t.clock.advance(time.Minute)
		t.fake.Set(sub, "")
		t.receive("evt_1", "customer.deleted", map[string]any{"object": "customer", "id": customer})
		if got := t.plan(account.ID); got != "free" {
			t.Errorf("plan %q", got)
		}
		t.charge(account.ID, 3)
		t.clock.advance(time.Hour)
		t.export()
		t.wantHeld(customer, 4)
		t.clock.advance(time.Hour)
		t.wantAgreement()
	})
}

func TestForgedStaleAndReplayedEvents(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, customer := t.subscriber()
		t.fake.Set(sub, "canceled")
		object := map[string]any{"object": "subscription", "id": sub, "customer": customer}
		body, good := stripetest.Webhook("evt_x", "customer.subscription.deleted", object, time.Now(), stripetest.Secret)
		_, other := stripetest.Webhook("evt_x", "customer.subscription.deleted", object, time.Now(), "whsec_other")
		_, stale := stripetest.Webhook("evt_x", "customer.subscription.deleted", object, time.Now().Add(-6*time.Minute), stripetest.Secret)
		changed := append([]byte(" "), body...)
		for name, c := range map[string]struct {
			body      []byte
			signature string
		}{"another secret": {body, other}, "too old": {body, stale}, "no signature": {body, ""}, "changed": {changed, good},
			"nonsense": {body, "t=1,v1=zz"}, "empty": {nil, good}} {
			if err := t.desk.Receive(t.Context(), c.body, c.signature); err == nil || fault.Of(err) != fault.InvalidRequest {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := t.step(); n != 0 || t.plan(account.ID) != "standard" {
			t.Errorf("%d events were dealt with, plan %s", n, t.plan(account.ID))
		}
		t.ok(t.desk.Receive(t.Context(), body, good))
		t.ok(t.desk.Receive(t.Context(), body, good)) // replayed within its time
		if n := t.step(); n != 1 {
			t.Errorf("one event was dealt with %d times", n)
		}
		t.ok(t.desk.Receive(t.Context(), body, good))
		if n := t.step(); n != 0 {
			t.Errorf("an event that was dealt with was taken up again: %d", n)
		}
	})
}

func TestAnEventIsTriedAgainWhileThePaymentServiceIsAway(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, _ := t.subscriber()
		t.fake.Set(sub, "canceled")
		t.fake.Does(func(int, *http.Request) stripetest.Do { return stripetest.Hang })
		t.receive("evt_1", "customer.subscription.deleted", map[string]any{"object": "subscription", "id": sub})
		if t.plan(account.ID) != "standard" {
			t.Error("an event was believed")
		}
		t.fake.Does(nil)
		t.clock.advance(time.Minute)
		t.step()
		if t.plan(account.ID) != "free" {
			t.Error("the event was lost")
		}
	})
}

func TestAnUpgradeKeepsAccountKeysAndCustomer(t *testing.T) {
	onEach(t, func(t *till) {
		account := must(t.store.CreateAccount(t.Context(), "Bert", "free"))(t)
		t.charge(account.ID, 3)
		session, cookie := t.begin(account.ID)
		sub, customer := t.fake.Pay(session)
		w := must(t.desk.Finish(t.Context(), session, cookie))(t)
		if !w.Upgraded || w.Account.ID != account.ID || w.Account.Plan != "standard" || w.Secret != (billing.Secret{}) {
			t.Errorf("%+v", w)
		}
		t.clock.advance(time.Minute)
		t.charge(account.ID, 2)
		t.clock.advance(time.Hour)
		t.export()
		t.wantHeld(customer, 2) // what was read on the free plan is not billed
		t.wantAgreement()

		again, cookie := t.begin(account.ID)
		if got := t.fake.Param(again, "customer"); got != customer {
			t.Errorf("customer %q, want the same one, %q", got, customer)
		}
		t.fake.Pay(again)
		must(t.desk.Finish(t.Context(), again, cookie))(t)
		if t.step(); t.fake.Status(sub) != "active" {
			t.Error("the old subscription ended before its last use was reported")
		}
		t.clock.advance(slotTime)
		t.step()
		if got := t.fake.Status(sub); got != "canceled" {
			t.Errorf("the subscription that was replaced is %q", got)
		}
		t.charge(account.ID, 5)
		t.clock.advance(time.Hour)
		t.charge(account.ID, 1)
		t.clock.advance(time.Hour)
		t.export()
		t.clock.advance(time.Hour)
		t.wantAgreement()
	})
}

func TestClosingAnAccountEndsItsSubscription(t *testing.T) {
	onEach(t, func(t *till) {
		account, sub, customer := t.subscriber()
		t.charge(account.ID, 2)
		t.clock.advance(time.Minute)
		t.ok(t.store.CloseAccount(t.Context(), account.ID))
		t.clock.advance(slotTime)
		t.step()
		if got := t.fake.Status(sub); got != "canceled" {
			t.Errorf("the subscription is %q", got)
		}
		t.clock.advance(time.Hour)
		t.export()
		t.wantHeld(customer, 2)
	})
}

func TestARejectedReportShowsAndIsTriedOnceADay(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, _ := t.subscriber()
		t.charge(account.ID, 2)
		t.clock.advance(time.Hour)
		t.fake.Does(func(_ int, r *http.Request) stripetest.Do {
			if strings.HasSuffix(r.URL.Path, "meter_events") {
				return stripetest.Refuse400
			}
			return stripetest.Serve
		})
		for range 100 { // 50 days
			t.export()
			t.clock.advance(12 * time.Hour)
		}
		if n := count(t.fake.Calls(), "POST /v1/billing/meter_events"); n < 20 || n > 35 || t.problems < n {
			t.Errorf("sent %d times in 50 days, %d problems", n, t.problems)
		}
		if r := t.reconcile(billing.Hour); len(r.Differences) != 1 || r.Differences[0].GivenUp != 2 {
			t.Errorf("differences %v", r.Differences)
		}
	})
}

// A wrong setting, or a clock that is far ahead, costs nobody anything once it is put right.
func TestWhatWasRefusedIsReportedOnceTheCauseIsGone(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.fake.Now = func() time.Time { return t.clock.Now().Add(-3 * time.Hour) }
		t.charge(account.ID, 2)
		t.clock.advance(time.Hour)
		t.export()
		t.wantHeld(customer, 0)
		if r := t.reconcile(billing.Hour); len(r.Differences) != 1 || t.problems != 1 {
			t.Errorf("%d problems, differences %v", t.problems, r.Differences)
		}
		t.fake.Now = t.clock.Now
		t.clock.advance(26 * time.Hour)
		t.export()
		t.wantHeld(customer, 2)
		t.clock.advance(26 * time.Hour)
		t.export()
		t.wantHeld(customer, 2)
		t.wantAgreement()
	})
}

func TestTheErrorReportOfTheMeterIsActedOn(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.charge(account.ID, 2)
		t.clock.advance(time.Hour)
		t.fake.Does(func(int, *http.Request) stripetest.Do { return stripetest.LoseEvent })
		t.export()
		t.fake.Does(nil)
		t.clock.advance(time.Hour)
		id := must(t.store.ReportIDs(t.Context(), customer))(t)[0]
		body, signature := stripetest.Sign(fmt.Appendf(nil, `{"id":"evt_m","type":"v1.billing.meter.error_report_triggered","data":{"developer_message_summary":"There is 1 invalid event",
			"reason":{"error_count":1,"error_types":[{"code":"meter_event_customer_not_found","sample_errors":[{"request":{"identifier":%q}}]}]}}}`, id), time.Now(), stripetest.Secret)
		t.ok(t.desk.Receive(t.Context(), body, signature))
		t.step()
		if r := t.reconcile(billing.Hour); t.problems != 1 || len(r.Differences) != 1 || r.Differences[0].GivenUp != 2 {
			t.Errorf("%d problems, differences %v", t.problems, r.Differences)
		}
		t.clock.advance(26 * time.Hour) // the customer is there again
		t.export()
		t.clock.advance(time.Hour)
		t.wantHeld(customer, 2)
		t.wantAgreement()
	})
}

const soldPlans = `version: 1
default: free
checkout: paid
fallback: free
plans:
  free:
    title: Free
    included: 5
    beyond: false
    requests_per_minute: 60
    concurrent_reads: 4
    running_jobs: 1
    pages_per_crawl: 50
    queued_urls: 1000
    undelivered_bytes: 1000000
    watches: 0
    stripe_price: price_free
  paid:
    title: Paid
    included: 100
    beyond: true
    requests_per_minute: 60
    concurrent_reads: 4
    running_jobs: 1
    pages_per_crawl: 50
    queued_urls: 1000
    undelivered_bytes: 1000000
    watches: 0
    stripe_price: price_paid
    card_needed: true
`

func TestAFreePlanIsSoldWithoutACard(t *testing.T) {
	plans := must(billing.ParsePlans([]byte(soldPlans)))(t)
	fake := stripetest.New(t)
	stripe := must(billing.NewStripe(must(billing.StripeFromEnv(fake.Env))(t)))(t)
	s := must(store.Open(t.Context(), "sqlite::memory:", store.Options{Plans: plans}))(t)
	defer s.Close()
	desk := billing.NewDesk(stripe, s, s, plans, discard, nil)
	for plan, want := range map[string]string{"free": "if_required", "paid": "always", "": "always"} {
		page, _, err := desk.Begin(t.Context(), billing.SignUp{Plan: plan, Base: "https://reader.example"})
		if err != nil {
			t.Fatal(err)
		}
		session := page[strings.LastIndex(page, "/")+1:]
		if got := fake.Param(session, "payment_method_collection"); got != want {
			t.Errorf("plan %q: payment_method_collection %q, want %q", plan, got, want)
		}
		if got := fake.Param(session, "line_items[0][price]"); got != "price_"+map[bool]string{true: "free", false: "paid"}[plan == "free"] {
			t.Errorf("plan %q is sold at %q", plan, got)
		}
	}
}

func TestAPlansFileSaysWhatIsForSale(t *testing.T) {
	for bad, want := range map[string]string{
		strings.Replace(soldPlans, "price_paid", "price_free", 1):      "same stripe_price",
		strings.Replace(soldPlans, "price_paid", "prod_1", 1):          "no price's id",
		strings.Replace(soldPlans, "checkout: paid", "checkout: x", 1): "is not among the plans",
		strings.Replace(soldPlans, "fallback: free", "fallback: x", 1): "is not among the plans",
		soldPlans + "    spending_cap: -1\n":                           "spending_cap",
		soldPlans + "    stripe_product: x\n":                          "stripe_product",
	} {
		if _, err := billing.ParsePlans([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	plans := must(billing.ParsePlans([]byte(soldPlans)))(t)
	if list := plans.ForSale(); len(list) != 2 || list[0].Name != "paid" {
		t.Errorf("for sale: %+v", list)
	}
	builtIn := must(billing.BuiltInPlans())(t)
	if list := builtIn.ForSale(); len(list) != 0 {
		t.Errorf("for sale without a price: %+v", list)
	}
}
