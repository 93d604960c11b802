package handlers

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
)

func TestEveryKindHasARowADocumentEntryAndAPage(t *testing.T) {
	r := newRig(t)
	code := r.server.spec.Components.Schemas["Code"].Value
	statuses, _ := code.Extensions["x-status"].(map[string]any)
	if len(code.Enum) != len(fault.Kinds()) || len(statuses) != len(fault.Kinds()) || len(rows) != len(fault.Kinds()) {
		t.Errorf("%d kinds, %d rows, %d codes and %d statuses in the document", len(fault.Kinds()), len(rows), len(code.Enum), len(statuses))
	}
	for _, kind := range fault.Kinds() {
		r, ok := rows[kind]
		if !ok || r.title == "" || r.detail == "" || r.status < 400 {
			t.Errorf("%s: row %+v", kind, r)
		}
		if !slices.Contains(code.Enum, any(kind.String())) {
			t.Errorf("%s is not in the document", kind)
		}
		listed, _ := statuses[kind.String()].([]any)
		if len(listed) == 0 || int(listed[0].(float64)) != r.status {
			t.Errorf("%s: the document says %v, the table %d", kind, listed, r.status)
		}
	}
	pages, err := os.ReadDir("../docs/errors")
	if err != nil || len(pages) != len(fault.Kinds()) {
		t.Errorf("%d pages for %d kinds, %v", len(pages), len(fault.Kinds()), err)
	}
}

// The statuses are those of the contract's table; refusals are never of a kind that SDKs try again.
func TestEveryFaultOverHTTP(t *testing.T) {
	refusal := &policy.Refusal{Verdict: policy.Verdict{Grounds: []policy.Ground{{
		Source: policy.ByRobots, Reason: "robots_disallow", RobotsURL: "https://site.test/robots.txt", Group: "*", Line: 12, Rule: "Disallow: /intern/"}}}}
	cases := []struct {
		fault  *fault.Error
		status int
	}{
		{&fault.Error{Kind: fault.Internal, Err: errors.New("secret cause")}, 500},
		{&fault.Error{Kind: fault.InvalidRequest, Detail: "No."}, 400},
		{&fault.Error{Kind: fault.Unauthorized}, 401},
		{&fault.Error{Kind: fault.AccountSuspended}, 403},
		{&fault.Error{Kind: fault.PaymentRequired}, 402},
		{&fault.Error{Kind: fault.NotFound}, 404},
		{&fault.Error{Kind: fault.IdempotencyConflict}, 409},
		{&fault.Error{Kind: fault.RateLimited, RetryAfter: 1500 * time.Millisecond}, 429},
		{&fault.Error{Kind: fault.BlockedBySitePolicy, Reason: "robots_disallow", Err: refusal}, 422},
		{&fault.Error{Kind: fault.TargetRefused, Reason: "challenge", TargetStatus: 403}, 422},
		{&fault.Error{Kind: fault.TargetNotFound, TargetStatus: 410}, 422},
		{&fault.Error{Kind: fault.TargetError, Reason: "client_error", TargetStatus: 418}, 422},
		{&fault.Error{Kind: fault.TargetError, Reason: "redirect_loop"}, 422},
		{&fault.Error{Kind: fault.TargetError, Reason: "server_error", TargetStatus: 503, RetryAfter: time.Minute}, 502},
		{&fault.Error{Kind: fault.TargetUnreachable}, 502},
		{&fault.Error{Kind: fault.TargetTimeout}, 504},
		{&fault.Error{Kind: fault.HostBusy, RetryAfter: 7 * time.Second}, 503},
		{&fault.Error{Kind: fault.Overloaded, RetryAfter: time.Second}, 503},
		{&fault.Error{Kind: fault.AddressNotAllowed}, 422},
		{&fault.Error{Kind: fault.UnsupportedContent}, 422},
		{&fault.Error{Kind: fault.TooLarge}, 422},
		{&fault.Error{Kind: fault.NoContent}, 422},
	}
	seen := map[fault.Kind]bool{}
	for _, c := range cases {
		seen[c.fault.Kind] = true
		r := newRig(t, func(_ *Config, s *standIns) {
			s.read = func(context.Context, billing.Order, billing.HandOver) error { return c.fault }
		})
		p, answer := r.problem(c.fault.Kind.String(), "POST", "/read", `{"url":"https://site.test/intern/"}`)
		if answer.StatusCode != c.status || p.Reason != c.fault.Reason || p.TargetStatus != c.fault.TargetStatus {
			t.Errorf("%s: %d %+v", c.fault, answer.StatusCode, p)
		}
		if c.fault.RetryAfter > 0 && (answer.Header.Get("Retry-After") == "" || p.RetryAfter < 1) {
			t.Errorf("%s: no Retry-After", c.fault)
		}
		if answer.StatusCode == 429 && p.RetryAfter != 2 {
			t.Errorf("1.5 s became %d: waiting that long is not enough", p.RetryAfter)
		}
		if c.fault.Kind == fault.BlockedBySitePolicy && (p.Decision == nil || p.Decision.Line != 12 || p.Decision.Reason != "robots_disallow") {
			t.Errorf("the decision is missing: %+v", p.Decision)
		}
		if strings.Contains(p.Detail, "secret cause") {
			t.Error("the cause of an internal error is shown")
		}
		if page, _ := r.do("GET", "/docs/errors/"+p.Code, ""); page.StatusCode != 200 || !strings.HasSuffix(p.Type, "/docs/errors/"+p.Code) || !strings.HasPrefix(p.Type, r.url) {
			t.Errorf("type %s leads nowhere", p.Type)
		}
	}
	for _, kind := range fault.Kinds() {
		if !seen[kind] {
			t.Errorf("%s is not tried", kind)
		}
	}
}

func TestAnInternalErrorIsLoggedWithoutAddresses(t *testing.T) {
	r := newRig(t, func(_ *Config, s *standIns) {
		s.read = func(context.Context, billing.Order, billing.HandOver) error {
			return errors.New(`Get "https://site.test/private?token=hush": the cause` + "\nforged line")
		}
	})
	r.problem("internal", "POST", "/read", `{"url":"https://site.test/private?token=hush"}`)
	log := r.logged()
	if !strings.Contains(log, "the cause") || strings.Contains(log, "hush") || strings.Contains(log, "/private") || strings.Count(log, "\n") != 1 {
		t.Errorf("log: %s", log)
	}
}

func TestAPanicEndsOneRequestOnly(t *testing.T) {
	r := newRig(t, func(_ *Config, s *standIns) {
		s.read = func(context.Context, billing.Order, billing.HandOver) error { panic("text of a page") }
	})
	r.problem("internal", "POST", "/read", `{"url":"https://site.test/"}`)
	if answer, _ := r.do("GET", "/healthz", ""); answer.StatusCode != 200 {
		t.Errorf("after a panic /healthz says %d", answer.StatusCode)
	}
	if log := r.logged(); strings.Contains(log, "text of a page") || !strings.Contains(log, "problem_test.go") && !strings.Contains(log, "handlers.") {
		t.Errorf("log: %s", log)
	}
}
