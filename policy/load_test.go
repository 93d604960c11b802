package policy_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/profiles"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func builtIn(t testing.TB) *policy.Profiles {
	t.Helper()
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// profileOf is a copy of a built-in profile that a test may change.
func profileOf(t testing.TB, name string) *policy.Profile {
	t.Helper()
	p := builtIn(t).Get(name)
	if p == nil {
		t.Fatalf("there is no profile %q", name)
	}
	c := *p
	return &c
}

func target(t testing.TB, raw string) policy.Target {
	t.Helper()
	to, err := policy.ParseTarget(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return to
}

func found(text string) signals.Robots {
	return signals.Robots{
		State: signals.RobotsFound, Status: 200, URL: "https://site.test/robots.txt", File: signals.Parse([]byte(text)),
	}
}

// fetchCase is a complete case that nothing speaks against.
func fetchCase(t testing.TB, url, robots string) policy.Case {
	t.Helper()
	return policy.Case{
		Stage: policy.Fetch, Profile: profileOf(t, "webreaderapi"), Target: target(t, url), Now: now,
		Cause:    policy.Cause{Kind: policy.CauseRead, ID: "req_1", Account: "acc_1", Request: "req_1"},
		Standing: policy.StandingGood,
		Signals:  signals.Set{Robots: found(robots)},
	}
}

func readVectors[T any](t testing.TB, name string) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v []T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(v) == 0 {
		t.Fatalf("%s holds no vector", name)
	}
	return v
}
