package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/openapi"
)

// sdkCase is a call by a generated client and the code it must end with, "" for a success.
type sdkCase struct {
	Call    string `json:"call"` // read, usage, revoke, check, ready
	URL     string `json:"url"`
	Key     string `json:"key"`
	Repeat  string `json:"repeat"` // Idempotency-Key
	Code    string `json:"code"`
	Status  int    `json:"status"`
	Prepare string `json:"-"` // break, drain
}

// sdkServer is a live server and a case for every code.
func sdkServer(t *testing.T) (*served, []sdkCase) {
	t.Helper()
	s := newServed(t, "WEBREADER_TIMEOUT=2s")
	sdkSite(s.web)
	suspended, broke := s.account("suspended"), s.account("broke")
	a, err := s.store.Account(t.Context(), "suspended")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Suspend(t.Context(), a.ID, "test"); err != nil {
		t.Fatal(err)
	}
	good := s.key
	s.key = broke
	if got := s.call("PATCH", "/account", `{"spending_cap":0}`); got.status != 200 {
		t.Fatal(got.text)
	}
	s.key = good
	cases := []sdkCase{
		{Call: "read", URL: "http://a.test/", Repeat: "once", Status: 200},
		{Call: "usage", Status: 200},
		{Call: "check", URL: "http://a.test/", Status: 200},
		{Call: "ready", Status: 200},
		{Call: "read", URL: "no address", Code: "invalid_request", Status: 400},
		{Call: "read", URL: "http://a.test/", Key: "wr_unknown", Code: "unauthorized", Status: 401},
		{Call: "read", URL: "http://a.test/", Key: suspended, Code: "account_suspended", Status: 403},
		{Call: "read", URL: "http://a.test/", Key: broke, Code: "payment_required", Status: 402},
		{Call: "revoke", URL: "key_none", Code: "not_found", Status: 404},
		{Call: "read", URL: "http://b.test/", Repeat: "once", Code: "idempotency_conflict", Status: 409},
		{Call: "read", URL: "http://deny.test/", Code: "blocked_by_site_policy", Status: 422},
		{Call: "read", URL: "http://refuse.test/", Code: "target_refused", Status: 422},
		{Call: "read", URL: "http://missing.test/", Code: "target_not_found", Status: 422},
		{Call: "read", URL: "http://broken.test/", Code: "target_error", Status: 502},
		{Call: "read", URL: "http://reset.test/", Code: "target_unreachable", Status: 502},
		{Call: "read", URL: "http://hang.test/", Code: "target_timeout", Status: 504},
		{Call: "read", URL: "http://busy.test/", Code: "target_refused", Status: 422},
		{Call: "read", URL: "http://busy.test/", Code: "host_busy", Status: 503},
		{Call: "read", URL: "http://10.0.0.1/", Code: "address_not_allowed", Status: 422},
		{Call: "read", URL: "http://video.test/", Code: "unsupported_content", Status: 422},
		{Call: "read", URL: "http://large.test/", Code: "too_large", Status: 422},
		{Call: "read", URL: "http://empty.test/", Code: "no_content", Status: 422},
		{Call: "flood", URL: "http://a.test/", Code: "rate_limited", Status: 429},
		{Call: "usage", Code: "internal", Status: 500, Prepare: "break"},
		{Call: "ready", Code: "overloaded", Status: 503, Prepare: "drain"},
	}
	return s, cases
}

func sdkSite(web *origintest.Web) {
	web.Page("a.test", "/", origintest.Article("A title"))
	web.Robots("deny.test", "User-agent: *\nDisallow: /\n")
	for host, h := range map[string]http.Handler{
		"refuse.test": origintest.Status(403), "missing.test": origintest.Status(404), "broken.test": origintest.Status(500),
		"reset.test": origintest.Reset(), "hang.test": origintest.Hang(), "busy.test": origintest.Status(429, "Retry-After", "300"),
		"video.test": origintest.Body("video/mp4", "x"), "large.test": origintest.Declared("text/html", 100_000_000),
		"empty.test": origintest.Body("text/html", "<title>t</title>"),
	} {
		web.Handle(host, "/", h)
	}
}

// account makes an account and answers a key of it.
func (s *served) account(name string) string {
	s.Helper()
	if _, err := s.store.CreateAccount(s.Context(), name, ""); err != nil {
		s.Fatal(err)
	}
	return s.newKey(name)
}

// prepare makes the server fail in the way that a case needs.
func (s *served) prepare(how string) {
	s.Helper()
	switch how {
	case "drain":
		s.api.Drain()
	case "break":
		db, err := sql.Open("sqlite", filepath.Join(s.dir, "webreader.db"))
		if err != nil {
			s.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(s.Context(), "ALTER TABLE reads RENAME TO reads_gone"); err != nil {
			s.Fatal(err)
		}
	}
}

// The generated Go client against a live server: a success, and every code of the contract.
func TestSDKGo(t *testing.T) {
	s, cases := sdkServer(t)
	seen := map[string]bool{}
	for _, c := range cases {
		s.prepare(c.Prepare)
		status, problem, err := s.sdkCall(c)
		if err != nil || status != c.Status {
			t.Errorf("%+v: status %d, %v, %+v", c, status, err, problem)
			continue
		}
		if c.Code == "" {
			continue
		}
		if problem == nil || string(problem.Code) != c.Code || problem.Detail == "" || problem.Charge.Units != 0 || problem.RequestId == "" || problem.Status != c.Status {
			t.Errorf("%+v: %+v", c, problem)
			continue
		}
		seen[c.Code] = true
	}
	for _, kind := range fault.Kinds() {
		if !seen[kind.String()] {
			t.Errorf("the client never met %s", kind)
		}
	}
}

// sdkCall makes the call of c with the generated client.
func (s *served) sdkCall(c sdkCase) (int, *openapi.Problem, error) {
	key := s.key
	if c.Key != "" {
		key = c.Key
	}
	client, err := openapi.NewClientWithResponses(s.url, openapi.WithHTTPClient(s.client), openapi.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	if err != nil {
		return 0, nil, err
	}
	ctx := s.Context()
	switch c.Call {
	case "read":
		params := &openapi.ReadPageParams{}
		if c.Repeat != "" {
			params.IdempotencyKey = &c.Repeat
		}
		a, err := client.ReadPageWithResponse(ctx, params, openapi.ReadRequest{Url: c.URL})
		if err != nil {
			return 0, nil, err
		}
		if c.Code == "" && (a.JSON200 == nil || a.JSON200.Markdown == nil || a.JSON200.Charge.Units != 1) {
			return 0, nil, fmt.Errorf("no page: %s", a.Body)
		}
		return a.StatusCode(), a.ApplicationproblemJSONDefault, nil
	case "usage":
		a, err := client.GetUsageWithResponse(ctx, &openapi.GetUsageParams{})
		if err != nil {
			return 0, nil, err
		}
		return a.StatusCode(), a.ApplicationproblemJSONDefault, nil
	case "revoke":
		a, err := client.RevokeKeyWithResponse(ctx, c.URL, &openapi.RevokeKeyParams{})
		if err != nil {
			return 0, nil, err
		}
		return a.StatusCode(), a.ApplicationproblemJSONDefault, nil
	case "ready":
		a, err := client.GetReadinessWithResponse(ctx)
		if err != nil {
			return 0, nil, err
		}
		return a.StatusCode(), a.ApplicationproblemJSONDefault, nil
	}
	for range 30 {
		a, err := client.CheckAsSiteWithResponse(ctx, &openapi.CheckAsSiteParams{Url: c.URL})
		if err != nil {
			return 0, nil, err
		}
		if c.Call == "check" || a.StatusCode() != http.StatusOK {
			return a.StatusCode(), a.ApplicationproblemJSONDefault, nil
		}
	}
	return 0, nil, fmt.Errorf("never limited")
}
