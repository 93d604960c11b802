package billing

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed plans.yaml
var builtInPlans []byte

// Limit is a number that may be unlimited. The zero Limit allows nothing.
type Limit int64

// Unlimited has no end.
const Unlimited Limit = math.MaxInt64

// IsUnlimited is true for Unlimited.
func (l Limit) IsUnlimited() bool { return l == Unlimited }

// UnmarshalYAML takes a number of 0 or more, or the word unlimited.
func (l *Limit) UnmarshalYAML(text []byte) error {
	word := strings.TrimSpace(string(text))
	if word == "unlimited" {
		*l = Unlimited
		return nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a limit: write a whole number of 0 or more, or unlimited", word)
	}
	*l = Limit(n)
	return nil
}

// String is the number or the word.
func (l Limit) String() string {
	if l.IsUnlimited() {
		return "unlimited"
	}
	return fmt.Sprint(int64(l))
}

// Plan is what an account may do. The zero Plan allows nothing.
type Plan struct {
	Name              string `yaml:"-"`
	Title             string `yaml:"title"`
	Included          Limit  `yaml:"included"` // units a month without a charge
	Beyond            bool   `yaml:"beyond"`   // may it go on, at a price, when they are used up
	RequestsPerMinute Limit  `yaml:"requests_per_minute"`
	ConcurrentReads   Limit  `yaml:"concurrent_reads"`
	RunningJobs       Limit  `yaml:"running_jobs"`
	PagesPerCrawl     Limit  `yaml:"pages_per_crawl"`
	QueuedURLs        Limit  `yaml:"queued_urls"`
	UndeliveredBytes  Limit  `yaml:"undelivered_bytes"`
	Watches           Limit  `yaml:"watches"`
	// What it costs. StripePrice is the price it is sold at by Checkout; "" is not for sale there.
	StripePrice  string `yaml:"stripe_price"`
	PricePerUnit string `yaml:"price_per_unit"` // for people
	CardNeeded   bool   `yaml:"card_needed"`    // does Checkout ask for a card
	SpendingCap  *int64 `yaml:"spending_cap"`   // units a month a new account begins with; left out is none
}

// required are the fields that every plan states.
var required = []string{"title", "included", "beyond", "requests_per_minute", "concurrent_reads", "running_jobs",
	"pages_per_crawl", "queued_urls", "undelivered_bytes", "watches"}

// Ceiling is how many units an account on p with the spending cap may be charged in a month.
func (p Plan) Ceiling(spendingCap *int64) Limit {
	ceiling := Unlimited
	if !p.Beyond {
		ceiling = p.Included
	}
	if spendingCap != nil {
		ceiling = min(ceiling, Limit(max(*spendingCap, 0)))
	}
	return ceiling
}

// Plans are the plans by name. One is the default.
type Plans struct {
	byName   map[string]Plan
	standard string // of an account that an operator makes
	checkout string // of a customer who signs up
	fallback string // of an account whose subscription ended
}

// BuiltInPlans are the plans that come with the program.
func BuiltInPlans() (*Plans, error) { return ParsePlans(builtInPlans) }

// ParsePlans reads a plans file. Unknown, missing and senseless fields are errors.
func ParsePlans(text []byte) (*Plans, error) {
	var file struct {
		Version  int             `yaml:"version"`
		Default  string          `yaml:"default"`
		Checkout string          `yaml:"checkout"`
		Fallback string          `yaml:"fallback"`
		Plans    map[string]Plan `yaml:"plans"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("plans: %w", err)
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("plans: version %d is not known: write version: 1", file.Version)
	}
	if err := allThere(text); err != nil {
		return nil, err
	}
	for name, plan := range file.Plans {
		plan.Name = name
		file.Plans[name] = plan
	}
	plans := &Plans{byName: file.Plans, standard: file.Default, checkout: file.Checkout, fallback: file.Fallback}
	return plans, plans.check()
}

// check is an error for a name that no plan has and for numbers that make no sense.
func (p *Plans) check() error {
	if _, ok := p.byName[p.standard]; !ok {
		return fmt.Errorf("plans: the default plan %q is not among the plans", p.standard)
	}
	for use, name := range map[string]string{"checkout": p.checkout, "fallback": p.fallback} {
		if _, ok := p.byName[name]; !ok && name != "" {
			return fmt.Errorf("plans: the %s plan %q is not among the plans", use, name)
		}
	}
	prices := map[string]string{}
	for name, plan := range p.byName {
		if plan.SpendingCap != nil && *plan.SpendingCap < 0 {
			return fmt.Errorf("plans: plan %q: spending_cap: write 0 or more units, or leave it out", name)
		}
		if plan.StripePrice == "" {
			continue
		}
		if !strings.HasPrefix(plan.StripePrice, "price_") {
			return fmt.Errorf("plans: plan %q: stripe_price %q is no price's id: they begin with price_", name, plan.StripePrice)
		}
		if other, taken := prices[plan.StripePrice]; taken {
			return fmt.Errorf("plans: plans %q and %q have the same stripe_price: give each its own", other, name)
		}
		prices[plan.StripePrice] = name
	}
	return nil
}

// Sell sets the price of the plan that Checkout sells when nothing else is asked for.
func (p *Plans) Sell(price string) error {
	plan, ok := p.byName[p.checkout]
	if !ok || price == "" {
		return nil
	}
	plan.StripePrice = price
	p.byName[p.checkout] = plan
	return p.check()
}

// ForSale are the plans that Checkout sells, the usual one first, then by name.
func (p *Plans) ForSale() []Plan {
	var list []Plan
	for _, plan := range p.byName {
		if plan.StripePrice != "" {
			list = append(list, plan)
		}
	}
	slices.SortFunc(list, func(a, b Plan) int {
		if (a.Name == p.checkout) != (b.Name == p.checkout) {
			return map[bool]int{true: -1, false: 1}[a.Name == p.checkout]
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// Sold is the plan of that name, "" for the usual one, and whether Checkout sells it.
func (p *Plans) Sold(name string) (Plan, bool) {
	if name == "" {
		name = p.checkout
	}
	plan, ok := p.byName[name]
	return plan, ok && plan.StripePrice != ""
}

// ByPrice is the plan with that price.
func (p *Plans) ByPrice(price string) (Plan, bool) {
	for _, plan := range p.byName {
		if price != "" && plan.StripePrice == price {
			return plan, true
		}
	}
	return Plan{}, false
}

// Fallback is the plan of an account whose subscription ended; false when there is none, and then it
// may read nothing.
func (p *Plans) Fallback() (Plan, bool) {
	plan, ok := p.byName[p.fallback]
	return plan, ok
}

// allThere is an error for a plan that leaves a field out.
func allThere(text []byte) error {
	var file struct {
		Plans map[string]map[string]any `yaml:"plans"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("plans: %w", err)
	}
	for name, plan := range file.Plans {
		for _, field := range required {
			if _, ok := plan[field]; !ok {
				return fmt.Errorf("plans: plan %q leaves %s out", name, field)
			}
		}
	}
	return nil
}

// Plan is the plan of that name, and whether there is one; "" is the default plan.
func (p *Plans) Plan(name string) (Plan, bool) {
	if name == "" {
		name = p.standard
	}
	plan, ok := p.byName[name]
	return plan, ok
}
