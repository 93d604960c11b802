package conformance

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// N08. A customer who signed up reads pages that come, pages that do not and pages that may not be read.
// Each charge has a receipt, and the payment service heard of just those.
func receiptsAreTheBill(t *testing.T) {
	e := newEngine(t, "webreaderapi")
	e.Page("good.test", "/", origintest.Article("Waterkering"))
	e.Page("good.test", "/2", origintest.Article("Dijk"))
	e.Handle("good.test", "/lost", origintest.Status(404))
	e.Page("closed.test", "/", origintest.Article("Closed"))
	e.Robots("closed.test", "User-agent: *\nDisallow: /\n")
	e.Handle("login.test", "/", origintest.Status(403))
	shop := newShop(t, e)
	for range 3 {
		for _, raw := range []string{"http://good.test/", "http://good.test/2", "http://good.test/lost", "http://closed.test/", "http://login.test/"} {
			shop.read(raw)
		}
	}
	e.clock.Advance(time.Hour)
	for {
		n, err := shop.exporter.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	receipts, _, err := shop.store.Receipts(t.Context(), shop.account, billing.Month(e.clock.Now()), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, r := range receipts {
		sum += r.Units
		if r.ID == "" || r.URLHost != "good.test" {
			t.Errorf("receipt %+v", r)
		}
	}
	if held := shop.fake.Held(shop.customer); sum != 6 || len(receipts) != 6 || held != sum {
		t.Errorf("%d receipts over %d units, the payment service was told of %d; want 6", len(receipts), sum, held)
	}
}

// shop is a customer of the payment service with an account, and the meter that charges it.
type shop struct {
	*engine
	fake              *stripetest.Fake
	store             *store.Store
	meter             *billing.Meter
	exporter          *billing.Exporter
	account, customer string
}

func newShop(t *testing.T, e *engine) *shop {
	t.Helper()
	s := &shop{engine: e, fake: stripetest.New(t)}
	s.fake.Now = e.clock.Now
	plans, err := billing.BuiltInPlans()
	if err == nil {
		err = plans.Sell(stripetest.Price)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.store, err = store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "shop.db"), store.Options{Clock: e.clock, Plans: plans}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	config, err := billing.StripeFromEnv(s.fake.Env)
	if err != nil {
		t.Fatal(err)
	}
	stripe, err := billing.NewStripe(config)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	desk := billing.NewDesk(stripe, s.store, s.store, plans, log, nil)
	page, cookie, err := desk.Begin(t.Context(), billing.SignUp{Base: "https://reader.test"})
	if err != nil {
		t.Fatal(err)
	}
	session := page[strings.LastIndex(page, "/")+1:]
	_, s.customer = s.fake.Pay(session)
	welcome, err := desk.Finish(t.Context(), session, cookie)
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(time.Minute) // from then on use is billed
	s.account = welcome.Account.ID
	s.meter = billing.New(reader.New(e.gate, reader.Config{}), s.store)
	s.exporter = billing.NewExporter(s.store, stripe, log, nil)
	return s
}

// read reads one page at the customer's cost, if it comes to one.
func (s *shop) read(raw string) {
	s.t.Helper()
	target, err := policy.ParseTarget(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	order := billing.Order{Account: s.account, Key: "key_1", Operation: billing.NewID("op"), Kind: "read", Request: reader.Request{
		Profile: s.profile, Target: target, Cause: policy.Cause{Kind: policy.CauseRead, ID: "req_1", Request: "req_1", Account: s.account}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.meter.Read(s.t.Context(), order, func(context.Context, *reader.Document, billing.Hold) error { return nil }) // refusals are what it is about
	}()
	s.clock.Run(s.t, s.Web, quiet, done)
}
