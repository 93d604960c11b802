package billing_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// A read that is held in one month and settled in the next counts in the first one everywhere: cap, usage,
// receipts, reports. So neither month shows more than its cap.
func TestAReadAcrossTheMonthsBorderIsOneMonths(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		limit := int64(3)
		set := &limit
		must(t.store.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &set}))(t)
		t.clock.advance(time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC).Sub(t.clock.Now()))
		var holds []billing.Hold
		for range 3 {
			holds = append(holds, must(t.store.Hold(t.Context(), billing.Order{Account: account.ID, Operation: billing.NewID("op"), Kind: "read"}))(t))
		}
		t.clock.advance(2 * time.Second)
		t.charge(account.ID, 3) // all that December allows
		for _, h := range holds {
			t.ok(t.store.Settle(t.Context(), h, document(reader.Delivered, 1).Receipt()))
		}
		if err := t.read(account.ID, "one_more", reader.Delivered); fault.Of(err) != fault.PaymentRequired {
			t.Errorf("a fourth read in December: %v", err)
		}
		t.clock.advance(time.Hour)
		t.export()
		t.clock.advance(time.Hour)
		for _, month := range []time.Time{t.clock.Now().AddDate(0, -1, 0), t.clock.Now()} {
			p := billing.Month(month)
			totals := must(t.store.Totals(t.Context(), account.ID, p))(t)
			receipts, _, err := t.store.Receipts(t.Context(), account.ID, p, "", 100)
			t.ok(err)
			held := must(t.stripe.Held(t.Context(), customer, p))(t)
			if totals.Units != 3 || totals.Pages != 3 || len(receipts) != 3 || held != 3 {
				t.Errorf("%s: %d units, %d pages, %d receipts, %d reported", p.From.Format("2006-01"), totals.Units, totals.Pages, len(receipts), held)
			}
		}
		t.wantAgreement()
	})
}

// However many reports a month's last minutes need, they are dated in that month.
func TestManyReportsAtTheMonthsEndStayInIt(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		t.clock.advance(time.Date(2026, 11, 30, 23, 55, 0, 0, time.UTC).Sub(t.clock.Now()))
		for range 13 {
			t.charge(account.ID, 1)
			t.clock.advance(slotTime)
			t.export()
			t.clock.advance(-slotTime)
		}
		t.clock.advance(2 * time.Hour)
		if held := must(t.stripe.Held(t.Context(), customer, billing.Month(t.clock.Now())))(t); held != 0 {
			t.Errorf("December has %d units of November", held)
		}
		t.wantHeld(customer, 13)
		t.wantAgreement()
	})
}

// A subscription that ended before it was linked is not taken for one that pays.
func TestASubscriptionThatEndedBeforeItWasLinkedPaysForNothing(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		sub, customer := t.fake.Pay(session)
		t.fake.Set(sub, "canceled")
		t.event("customer.subscription.deleted", map[string]any{"object": "subscription", "id": sub, "customer": customer})
		t.step() // linked to nobody yet
		account := must(t.desk.Finish(t.Context(), session, cookie))(t).Account
		t.step()
		if plan := t.plan(account.ID); plan != "free" {
			t.Errorf("the account of a cancelled subscription is on plan %q", plan)
		}
	})
}

// event posts an event of the payment service.
func (t *till) event(kind string, object map[string]any) {
	t.Helper()
	body, signature := stripetest.Webhook(billing.NewID("evt"), kind, object, time.Now(), stripetest.Secret)
	t.ok(t.desk.Receive(t.Context(), body, signature))
}

// What nobody asked about may look like anything; what pretends to be ours is refused.
func TestUnknownEventsAreTakenWhateverTheyLookLike(t *testing.T) {
	onEach(t, func(t *till) {
		for i, data := range []string{`null`, `"text"`, `[1]`, `{"object":"text"}`, `{"object":{"id":7,"object":[],"customer":5,"parent":"x","subscription":[]}}`, `{"reason":"text"}`} {
			body, signature := stripetest.Sign(fmt.Appendf(nil, `{"id":"evt_%d","type":"order.odd","data":%s}`, i, data), time.Now(), stripetest.Secret)
			if err := t.desk.Receive(t.Context(), body, signature); err != nil {
				t.Errorf("%s: %v", data, err)
			}
		}
		if n := t.step(); n != 6 || len(t.fake.Calls()) != 0 {
			t.Errorf("%d events dealt with, calls %v", n, t.fake.Calls())
		}
		for _, kind := range []string{billing.CancelEvent, billing.LookEvent} {
			text := must(json.Marshal(map[string]any{"id": "evt_ours", "type": kind, "data": map[string]any{"object": map[string]any{"subscription": "sub_1"}}}))(t)
			body, signature := stripetest.Sign(text, time.Now(), stripetest.Secret)
			if err := t.desk.Receive(t.Context(), body, signature); err == nil {
				t.Errorf("an event %s came from outside", kind)
			}
		}
	})
}

// A checkout that is paid after its account was closed leaves no subscription behind.
func TestACheckoutPaidAfterTheAccountIsClosed(t *testing.T) {
	onEach(t, func(t *till) {
		account := must(t.store.CreateAccount(t.Context(), "Bert", "free"))(t)
		session, cookie := t.begin(account.ID)
		t.ok(t.store.CloseAccount(t.Context(), account.ID))
		sub, _ := t.fake.Pay(session)
		t.event("checkout.session.completed", map[string]any{"object": "checkout.session", "id": session})
		t.step()
		t.clock.advance(time.Hour)
		t.step()
		if status := t.fake.Status(sub); status != "canceled" {
			t.Errorf("the subscription of a closed account is %q", status)
		}
		if _, err := t.desk.Finish(t.Context(), session, cookie); fault.Of(err) != fault.NotFound {
			t.Errorf("its last page: %v", err)
		}
	})
}

// The payment service repeats its events for three days; a checkout may be paid a day after it was begun.
func TestAnEventThatComesDaysLateStillMakesTheAccount(t *testing.T) {
	onEach(t, func(t *till) {
		session, cookie := t.begin("")
		t.clock.advance(23 * time.Hour)
		t.fake.Pay(session)
		t.clock.advance(72 * time.Hour)
		must(t.store.SweepPayments(t.Context()))(t)
		t.event("checkout.session.completed", map[string]any{"object": "checkout.session", "id": session})
		t.step()
		if w := must(t.desk.Finish(t.Context(), session, cookie))(t); w.Secret == (billing.Secret{}) {
			t.Errorf("%+v", w)
		}
	})
}

// A checkout that is asked for again with its Idempotency-Key is the first one, for its browser or account only.
func TestACheckoutIsRepeatedByItsIdempotencyKey(t *testing.T) {
	onEach(t, func(t *till) {
		begin := func(s billing.SignUp) (string, string, error) {
			s.Base, s.Again = "https://reader.example", "again"
			return t.desk.Begin(t.Context(), s)
		}
		page, cookie, err := begin(billing.SignUp{Name: "Anna"})
		t.ok(err)
		if again, _, err := begin(billing.SignUp{Name: "Anna", Cookie: cookie}); again != page || err != nil {
			t.Errorf("the repetition: %s, %v, want %s", again, err, page)
		}
		if other, _, err := begin(billing.SignUp{Name: "Anna"}); other == page || err != nil {
			t.Errorf("another browser with the same key got %s, %v", other, err)
		}
		if _, _, err := begin(billing.SignUp{Name: "Bert", Cookie: cookie}); fault.Of(err) != fault.IdempotencyConflict {
			t.Errorf("another name under the key: %v", err)
		}
		account := must(t.store.CreateAccount(t.Context(), "Carl", "free"))(t)
		first, _, err := begin(billing.SignUp{Account: account.ID})
		t.ok(err)
		second, newCookie, err := begin(billing.SignUp{Account: account.ID})
		if first != second || err != nil {
			t.Errorf("the account's repetition: %s, %v, want %s", second, err, first)
		}
		session := second[strings.LastIndex(second, "/")+1:]
		t.fake.Pay(session)
		if w := must(t.desk.Finish(t.Context(), session, newCookie))(t); !w.Upgraded {
			t.Errorf("%+v", w)
		}
		if _, _, err := begin(billing.SignUp{Account: account.ID}); fault.Of(err) != fault.IdempotencyConflict {
			t.Errorf("a repetition after it was paid: %v", err)
		}
		t.clock.advance(31 * 24 * time.Hour) // the anchor is another one: no parameters of the first
		if _, _, err := begin(billing.SignUp{Name: "Anna", Cookie: cookie}); fault.Of(err) != fault.IdempotencyConflict {
			t.Errorf("another order under the key: %v", err)
		}
	})
}

// Credits and sending at the same time: what is credited is not billed, and what is sent is what is written down.
func TestACreditBesideTheExporterChangesNoTotal(t *testing.T) {
	onEach(t, func(t *till) {
		account, _, customer := t.subscriber()
		credited := int64(0)
		for range 10 {
			t.charge(account.ID, 4)
			t.clock.advance(slotTime)
			must(t.store.Gather(t.Context()))(t)
			var both sync.WaitGroup
			both.Go(t.export)
			both.Go(func() {
				if err := t.store.Credit(t.Context(), account.ID, 1, "test"); err == nil {
					credited++
				}
			})
			both.Wait()
			t.clock.advance(3 * time.Minute)
			t.export()
		}
		t.clock.advance(2 * time.Hour)
		t.export()
		t.wantHeld(customer, 40-credited)
		t.clock.advance(time.Hour)
		t.wantAgreement()
		if calls := count(t.fake.Calls(), http.MethodPost+" /v1/billing/meter_events"); calls < 10 || credited == 0 {
			t.Errorf("%d reports, %d credited", calls, credited)
		}
	})
}
