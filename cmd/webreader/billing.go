package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/handlers"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/internal/webhook"
)

const envPlans = "WEBREADER_PLANS"

// paymentFlags are the settings of paying that are no secrets.
type paymentFlags struct {
	StripePrice      string `setting:"WEBREADER_STRIPE_PRICE" help:"Id of the metered price that customers sign up to." placeholder:"price_…" group:"Settings"`
	StripeMeterEvent string `setting:"WEBREADER_STRIPE_METER_EVENT" help:"Event name of Stripe's meter." placeholder:"NAME" group:"Settings"`
	StripeAPIBase    string `name:"stripe-api-base" setting:"WEBREADER_STRIPE_API_BASE" help:"Address of Stripe's API, for tests." placeholder:"URL" group:"Settings"`
}

// loadPlans are the plans of the settings, the one that Checkout sells with its price.
func loadPlans(setting func(string) string) (*billing.Plans, error) {
	plans, err := billing.BuiltInPlans()
	if file := setting(envPlans); file != "" {
		text, unread := os.ReadFile(file)
		if unread != nil {
			return nil, badSetting(envPlans, file, "cannot be read", "/etc/webreader/plans.yaml")
		}
		plans, err = billing.ParsePlans(text)
	}
	if err != nil {
		return nil, usage("%s: %s", envPlans, err)
	}
	if err := plans.Sell(setting("WEBREADER_STRIPE_PRICE")); err != nil {
		return nil, usage("WEBREADER_STRIPE_PRICE: %s", err)
	}
	return plans, nil
}

// payments is what a server does about money: with Stripe, or only telling accounts of their caps.
type payments struct {
	log         *slog.Logger
	store       *store.Store
	desk        *billing.Desk // nil without Stripe
	stripe      *billing.Stripe
	exporter    *billing.Exporter
	teller      teller
	problems    prometheus.Counter
	differences prometheus.Gauge
}

func newPayments(setting func(string) string, s *store.Store, log *slog.Logger, metrics *telemetry.Metrics, publicURL string) (*payments, error) {
	p := &payments{log: log, store: s,
		problems:    prometheus.NewCounter(prometheus.CounterOpts{Name: "webreader_billing_problems_total", Help: "Reports and events that an operator must look at."}),
		differences: prometheus.NewGauge(prometheus.GaugeOpts{Name: "webreader_billing_differences", Help: "Customers' months in which ledger and payment service differ, when this process compared them last."})}
	metrics.Registry().MustRegister(p.problems, p.differences)
	var err error
	if p.teller, err = newTeller(setting); err != nil {
		return nil, err
	}
	stripe, err := billing.StripeFromEnv(setting)
	if err != nil {
		return nil, settingError(err)
	}
	if !stripe.On() {
		return p, nil
	}
	if publicURL == "" {
		return nil, usage("WEBREADER_PUBLIC_URL: needed together with WEBREADER_STRIPE_SECRET_KEY: Stripe sends customers back there; write it like https://reader.example")
	}
	if stripe.Live() && !strings.HasPrefix(publicURL, "https:") {
		return nil, usage("WEBREADER_PUBLIC_URL: %q is not https: keys are shown there, and a live WEBREADER_STRIPE_SECRET_KEY is set; write it like https://reader.example", publicURL)
	}
	plans, err := loadPlans(setting)
	if err != nil {
		return nil, err
	}
	if p.stripe, err = billing.NewStripe(stripe); err != nil {
		return nil, settingError(err)
	}
	p.desk = billing.NewDesk(p.stripe, s, s, plans, log, p.problems.Inc)
	p.exporter = billing.NewExporter(s, p.stripe, log, p.problems.Inc)
	return p, nil
}

// room is the desk for the handlers; nil where nobody pays.
func (p *payments) room() handlers.Desk {
	if p.desk == nil {
		return nil
	}
	return p.desk
}

// event deals with a payment event; nil where nobody pays.
func (p *payments) event() func(context.Context, string) (time.Duration, error) {
	if p.desk == nil {
		return nil
	}
	return p.desk.Deal
}

// chores are what is to be done about money now and then.
func (p *payments) chores() []store.Chore {
	chores := []store.Chore{{Name: "thresholds", Every: 10 * time.Second, Do: p.tell}}
	if p.desk != nil {
		chores = append(chores,
			store.Chore{Name: "reports", Every: 15 * time.Second, Paying: true, Do: p.report},
			store.Chore{Name: "books", Every: time.Hour, Paying: true, Do: p.compare})
	}
	return chores
}

func (p *payments) tell(ctx context.Context) error {
	return billing.TellThresholds(ctx, p.store, p.teller)
}

// report sends all that is to be reported.
func (p *payments) report(ctx context.Context) error {
	for {
		if n, err := p.exporter.Step(ctx); err != nil || n == 0 {
			return err
		}
	}
}

// compare looks whether ledger and payment service agree, and says so loudly when they do not.
func (p *payments) compare(ctx context.Context) error {
	now := time.Now()
	r, err := billing.Reconcile(ctx, p.store, p.stripe, billing.Period{From: now.AddDate(0, -1, 0), To: now}, billing.Day)
	if err != nil {
		return err
	}
	p.differences.Set(float64(len(r.Differences)))
	for _, d := range r.Differences {
		p.log.Error("ledger and payment service differ; see webreader billing reconcile", "difference", d.String())
	}
	return nil
}

// teller tells of thresholds by the accounts' webhooks.
type teller struct{ sender *webhook.Sender }

func newTeller(setting func(string) string) (teller, error) {
	guard, err := netguard.FromEnv(setting)
	if err != nil {
		return teller{}, settingError(err)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		return teller{}, settingError(err)
	}
	sender, err := webhook.NewSender(webhook.Config{Dialer: dialer, UserAgent: "webreader-webhooks/1.0", Now: time.Now})
	return teller{sender}, err
}

// Tell sends usage.threshold once. See billing.Teller.
func (t teller) Tell(ctx context.Context, a billing.Account, crossed billing.Threshold) time.Duration {
	body, err := webhook.Event{ID: crossed.Event, Type: webhook.UsageThreshold, At: crossed.At, Data: struct {
		Account string `json:"account"`
		Month   string `json:"month"`
		Percent int64  `json:"percent"`
		Units   int64  `json:"units"`
		Ceiling int64  `json:"ceiling"`
	}{a.ID, crossed.Month, crossed.Percent, crossed.Charged, crossed.Ceiling}}.Body()
	if err != nil {
		return 0
	}
	result := t.sender.Send(ctx, a.WebhookURL, crossed.Event, body, a.SigningSecrets()...)
	if result.Delivered() {
		return 0
	}
	again, more := webhook.Backoff(crossed.Tries, time.Since(crossed.At), result)
	if !more {
		return 0
	}
	return again
}

// billingCommands are the commands about money: a field and a struct each.
type billingCommands struct {
	Billing billingCmd `cmd:"" help:"Compare the ledger with what Stripe holds."`
}

type billingCmd struct {
	Reconcile reconcileCmd `cmd:"" help:"Receipts, ledger, reports and Stripe, by customer and month; exit code 1 on any difference."`
}

type reconcileCmd struct {
	databaseFlags
	paymentFlags
	Months int  `help:"How many months back, besides the running one." default:"1"`
	JSON   bool `help:"Print JSON."`
}

// Help is shown by --help.
func (reconcileCmd) Help() string {
	return "Needs the settings WEBREADER_STRIPE_SECRET_KEY, …_WEBHOOK_SECRET, …_PRICE and …_METER_EVENT. What was sent in the last ten minutes counts as under way.\n\n" +
		"Example:\n\n  webreader billing reconcile --months 2"
}

// Run compares and prints; a difference is an error.
func (c *reconcileCmd) Run(a *app) error {
	if c.Months < 0 || c.Months > 120 {
		return usage("--months: write a number from 0 to 120")
	}
	config, err := billing.StripeFromEnv(a.setting)
	if err != nil {
		return settingError(err)
	}
	if !config.On() {
		return usage("WEBREADER_STRIPE_SECRET_KEY: not set: there is nothing to compare the ledger with; set it as the server has it")
	}
	stripe, err := billing.NewStripe(config)
	if err != nil {
		return settingError(err)
	}
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		now, err := s.Now(ctx)
		if err != nil {
			return err
		}
		r, err := billing.Reconcile(ctx, s, stripe, billing.Period{From: billing.Month(now).From.AddDate(0, -c.Months, 0), To: now.Add(time.Second)}, billing.Hour)
		if err != nil {
			return err
		}
		return c.show(a, r)
	})
}

func (c *reconcileCmd) show(a *app, r billing.Reconciliation) error {
	var err error
	if c.JSON {
		err = reconcileJSON(a, r)
	} else {
		var rows [][]string
		for i, b := range r.Books {
			row := []string{b.Month.From.Format("2006-01"), b.Account, b.Customer}
			for _, n := range []int64{b.Receipts, b.Debited, b.Waiting, b.UnderWay, b.Arrived, b.GivenUp, r.Held[i]} {
				row = append(row, fmt.Sprint(n))
			}
			rows = append(rows, row)
		}
		err = table(a.Out, "MONTH\tACCOUNT\tCUSTOMER\tRECEIPTS\tLEDGER\tWAITING\tUNDER WAY\tREPORTED\tGIVEN UP\tSTRIPE", rows)
	}
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		fmt.Fprintln(a.Err, "difference: "+d.String())
	}
	if len(r.Differences) > 0 {
		return fmt.Errorf("%d of %d customers' months differ", len(r.Differences), len(r.Books))
	}
	return nil
}

func reconcileJSON(a *app, r billing.Reconciliation) error {
	type book struct {
		Month    string `json:"month"`
		Account  string `json:"account"`
		Customer string `json:"customer"`
		Receipts int64  `json:"receipts"`
		Ledger   int64  `json:"ledger"`
		Waiting  int64  `json:"waiting"`
		UnderWay int64  `json:"under_way"`
		Reported int64  `json:"reported"`
		GivenUp  int64  `json:"given_up"`
		Stripe   int64  `json:"stripe"`
	}
	books := make([]book, len(r.Books))
	for i, b := range r.Books {
		books[i] = book{b.Month.From.Format("2006-01"), b.Account, b.Customer, b.Receipts, b.Debited, b.Waiting, b.UnderWay, b.Arrived, b.GivenUp, r.Held[i]}
	}
	return json.NewEncoder(a.Out).Encode(map[string]any{"books": books, "differences": len(r.Differences)})
}

type accountsCreditCmd struct {
	accountArg
	Units  int64  `arg:"" help:"How many units to give back."`
	Reason string `required:"" help:"Why, for the books." placeholder:"TEXT"`
}

// Help is shown by --help.
func (accountsCreditCmd) Help() string {
	return "What was reported to Stripe is taken back there, which it allows for 24 hours; older usage is credited in Stripe's dashboard.\n\n" +
		"Example:\n\n  webreader accounts credit shop 12 --reason \"twelve empty pages\""
}

// Run credits the account.
func (c *accountsCreditCmd) Run(a *app) error {
	return c.change(a, fmt.Sprintf("credited %d units", c.Units), func(ctx context.Context, s *store.Store, id string) error {
		return s.Credit(ctx, id, c.Units, c.Reason)
	})
}
