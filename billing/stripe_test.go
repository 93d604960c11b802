package billing_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
)

// mock is Stripe as its own mock has it, where CI started one: it knows every parameter that Stripe
// takes and refuses others. Elsewhere the calls go to the stand-in.
func mock(t *testing.T) (s *billing.Stripe, real bool) {
	fake := stripetest.New(t)
	env := fake.Env
	base := os.Getenv("WEBREADER_TEST_STRIPE_MOCK")
	if base != "" {
		env = func(name string) string {
			switch name {
			case "WEBREADER_STRIPE_API_BASE":
				return base
			case "WEBREADER_STRIPE_SECRET_KEY":
				return "sk_test_123"
			}
			return fake.Env(name)
		}
	}
	return must(billing.NewStripe(must(billing.StripeFromEnv(env))(t)))(t), base != ""
}

func TestEveryCallHasParametersThatStripeTakes(t *testing.T) {
	s, real := mock(t)
	plans := must(billing.BuiltInPlans())(t)
	if err := plans.Sell("price_1PgafmB7WZ01zgkW"); err != nil {
		t.Fatal(err)
	}
	plan, _ := plans.Sold("")
	ctx, now := t.Context(), time.Now()
	for _, card := range []bool{true, false} {
		plan.CardNeeded = card
		for _, customer := range []string{"", "cus_123"} {
			order := billing.CheckoutOrder{Plan: plan, Customer: customer, Reference: "acc_1", Anchor: billing.Month(now).To,
				SuccessURL: "https://reader.example/billing/success?session_id={CHECKOUT_SESSION_ID}", CancelURL: "https://reader.example/signup"}
			if page, err := s.Checkout(ctx, order); err != nil || page.Session == "" {
				t.Errorf("checkout: %+v, %v", page, err)
			}
		}
	}
	if page, err := s.Portal(ctx, "cus_123", "https://reader.example/signup"); err != nil || page == "" {
		t.Errorf("portal: %q, %v", page, err)
	}
	report := billing.UsageReport{ID: billing.NewID("rep"), Customer: "cus_123", Units: 5, Minute: now.Truncate(time.Minute)}
	if err := s.Report(ctx, report); err != nil {
		t.Errorf("report: %v", err)
	}
	if err := s.Cancel(ctx, report); err != nil {
		t.Errorf("cancel: %v", err)
	}
	// The mock keeps nothing, so it has no session that was paid, and no meter of our name; what counts is
	// that it takes the questions.
	if _, err := s.Completed(ctx, "cs_test_123"); !errors.Is(err, billing.ErrUnfinished) && !errors.Is(err, billing.ErrNoSuchThing) {
		t.Errorf("completed: %v", err)
	}
	_, err := s.Subscription(ctx, "sub_123")
	if real && err != nil || !real && !errors.Is(err, billing.ErrNoSuchThing) {
		t.Errorf("subscription: %v", err)
	}
	if err := s.CancelSubscription(ctx, "sub_123"); err != nil {
		t.Errorf("cancel a subscription: %v", err)
	}
	period := billing.Period{From: now.Truncate(time.Minute), To: now.Truncate(time.Minute).Add(time.Minute)}
	if _, err := s.Held(ctx, "cus_123", period); err != nil && !strings.Contains(err.Error(), "no active meter") {
		t.Errorf("held: %v", err)
	}
	hour := "hour"
	if _, err := s.SummariesOf(ctx, "mtr_123", "cus_123", billing.Period{From: now.Truncate(time.Hour), To: now.Truncate(time.Hour).Add(time.Hour)}, &hour); err != nil {
		t.Errorf("summaries: %v", err)
	}
}

func TestFailuresOfStripeSayWhatTheyAreAndNothingElse(t *testing.T) {
	fake := stripetest.New(t)
	s := must(billing.NewStripe(must(billing.StripeFromEnv(fake.Env))(t)))(t)
	for do, want := range map[stripetest.Do]struct {
		status int
		final  bool
	}{stripetest.Fail500: {500, false}, stripetest.Fail429: {429, false}, stripetest.Hang: {0, false}, stripetest.Refuse400: {400, true}} {
		fake.Does(func(int, *http.Request) stripetest.Do { return do })
		err := s.Report(t.Context(), billing.UsageReport{ID: "rep_1", Customer: "cus_secret", Units: 1, Minute: time.Now()})
		var p *billing.PaymentError
		if !errors.As(err, &p) || p.Status != want.status || p.Final() != want.final {
			t.Errorf("%d: %v", do, err)
		}
		if err != nil && (strings.Contains(err.Error(), "cus_secret") || strings.Contains(err.Error(), stripetest.Key)) {
			t.Errorf("the error shows what was sent: %v", err)
		}
	}
	// net/http itself repeats a call when the connection it kept turns out to be closed.
	if n := len(fake.Calls()); n > 5 {
		t.Errorf("%d calls for 4: the library repeats by itself", n)
	}
}

func TestStripesSettingsAreChecked(t *testing.T) {
	good := stripetest.New(t).Env
	for name, bad := range map[string]string{
		"WEBREADER_STRIPE_SECRET_KEY": "pk_test_1", "WEBREADER_STRIPE_WEBHOOK_SECRET": "secret", "WEBREADER_STRIPE_API_BASE": "http://stripe.example",
		"WEBREADER_STRIPE_PRICE": "prod_1", "WEBREADER_STRIPE_METER_EVENT": "",
	} {
		_, err := billing.StripeFromEnv(func(n string) string {
			if n == name {
				return bad
			}
			return good(n)
		})
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "pk_test_1") {
			t.Errorf("%s=%q: %v", name, bad, err)
		}
	}
	live := func(n string) string {
		if n == "WEBREADER_STRIPE_SECRET_KEY" {
			return "sk_live_1"
		}
		return good(n)
	}
	if _, err := billing.StripeFromEnv(live); err == nil || !strings.Contains(err.Error(), "a live key is sent to") {
		t.Errorf("a live key for another address: %v", err)
	}
	off := must(billing.StripeFromEnv(func(string) string { return "" }))(t)
	if off.On() {
		t.Error("billing is on without a key")
	}
}
