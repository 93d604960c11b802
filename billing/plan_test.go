package billing_test

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/billing"
)

const onePlan = `version: 1
default: small
plans:
  small:
    title: Small
    included: 100
    beyond: false
    requests_per_minute: 60
    concurrent_reads: 4
    running_jobs: 1
    pages_per_crawl: 50
    queued_urls: 1000
    undelivered_bytes: 1000000
    watches: 0
`

func TestTheBuiltInDefaultPlanHasNoEnd(t *testing.T) {
	plans, err := billing.BuiltInPlans()
	if err != nil {
		t.Fatal(err)
	}
	plan, ok := plans.Plan("")
	if !ok || plan.Name != "local" || plan.Ceiling(nil) != billing.Unlimited || plan.ConcurrentReads <= 0 {
		t.Errorf("default plan %+v", plan)
	}
}

func TestAPlansCeiling(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		plan  billing.Plan
		limit *int64
		want  billing.Limit
	}{
		{billing.Plan{}, nil, 0},
		{billing.Plan{Included: 100}, nil, 100},
		{billing.Plan{Included: 100}, number(40), 40},
		{billing.Plan{Included: 100}, number(400), 100},
		{billing.Plan{Included: 100, Beyond: true}, nil, billing.Unlimited},
		{billing.Plan{Included: 100, Beyond: true}, number(400), 400},
		{billing.Plan{Included: billing.Unlimited}, number(0), 0},
	} {
		if got := c.plan.Ceiling(c.limit); got != c.want {
			t.Errorf("%+v: ceiling %v, want %v", c.plan, got, c.want)
		}
	}
}

func TestAPlansFileIsReadStrictly(t *testing.T) {
	plans, err := billing.ParsePlans([]byte(onePlan))
	if err != nil {
		t.Fatal(err)
	}
	if plan, _ := plans.Plan("small"); plan.Included != 100 || plan.Watches != 0 || plan.Title != "Small" {
		t.Errorf("plan %+v", plan)
	}
	if _, ok := plans.Plan("large"); ok {
		t.Error("a plan that is not there was found")
	}
	for name, bad := range map[string][2]string{
		"an unknown field":     {"    watches: 0\n", "    watches: 0\n    wishes: 3\n"},
		"a missing field":      {"    watches: 0\n", ""},
		"a negative number":    {"watches: 0", "watches: -1"},
		"a fraction":           {"included: 100", "included: 1.5"},
		"a word":               {"included: 100", "included: many"},
		"no such default":      {"default: small", "default: large"},
		"another version":      {"version: 1", "version: 2"},
		"something after it":   {"version: 1", "version: 1\nextra: 1"},
		"a number for a claim": {"beyond: false", "beyond: 3"},
	} {
		text := strings.Replace(onePlan, bad[0], bad[1], 1)
		if text == onePlan {
			t.Fatalf("%s: the case changes nothing", name)
		}
		if _, err := billing.ParsePlans([]byte(text)); err == nil {
			t.Errorf("a file with %s was taken", name)
		}
	}
}
