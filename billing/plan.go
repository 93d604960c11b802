package billing

import (
	_ "embed"
	"fmt"
	"math"
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
	standard string
}

// BuiltInPlans are the plans that come with the program.
func BuiltInPlans() (*Plans, error) { return ParsePlans(builtInPlans) }

// ParsePlans reads a plans file. Unknown, missing and senseless fields are errors.
func ParsePlans(text []byte) (*Plans, error) {
	var file struct {
		Version int             `yaml:"version"`
		Default string          `yaml:"default"`
		Plans   map[string]Plan `yaml:"plans"`
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
	plans := &Plans{byName: file.Plans, standard: file.Default}
	if _, ok := plans.byName[file.Default]; !ok {
		return nil, fmt.Errorf("plans: the default plan %q is not among the plans", file.Default)
	}
	return plans, nil
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
