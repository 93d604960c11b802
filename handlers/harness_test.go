package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/openapi/openapitest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// rig is the API on a loopback address over stand-in rooms, whose answers a test sets.
type rig struct {
	*testing.T
	server *Server
	url    string
	http   *http.Client
	web    *httptest.Server
	log    *lockedBuffer
	rooms  *standIns
}

// standIns are the rooms below, each a function that a test may replace.
type standIns struct {
	billing.Accounts // the methods that no test sets are nil
	read             func(context.Context, billing.Order, billing.HandOver) error
	decide           func(context.Context, gate.Ask) (policy.Verdict, error)
	principal        billing.Principal
	change           billing.Change
	ready            error

	mu     sync.Mutex
	orders []billing.Order
	began  []billing.Attempt
	ended  []bool
}

func (r *standIns) Read(ctx context.Context, o billing.Order, give billing.HandOver) error {
	r.mu.Lock()
	r.orders = append(r.orders, o)
	r.mu.Unlock()
	return r.read(ctx, o, give)
}

func (r *standIns) Decide(ctx context.Context, a gate.Ask) (policy.Verdict, error) {
	return r.decide(ctx, a)
}

func (r *standIns) Authenticate(_ context.Context, raw string) (billing.Principal, error) {
	if raw != "wr_good" {
		return billing.Principal{}, fault.New(fault.Unauthorized, "This key is not known.")
	}
	return r.principal, nil
}

func (r *standIns) Account(context.Context, string) (billing.Account, error) {
	return billing.Account{ID: "acc_1", Name: "Test", Status: billing.Active, Plan: "local", WebhookSecret: "whsec_x"}, nil
}

func (r *standIns) ChangeAccount(ctx context.Context, id string, c billing.Change) (billing.Account, error) {
	r.change = c
	return r.Account(ctx, id)
}

func (r *standIns) Begin(_ context.Context, a billing.Attempt) (billing.Operation, error) {
	r.began = append(r.began, a)
	if a.Key == "running" {
		return billing.Operation{}, fault.New(fault.IdempotencyConflict, "The first request with this key still runs.")
	}
	return billing.Operation{ID: "op_" + a.Key, KeyHash: a.Key}, nil
}

func (r *standIns) End(_ context.Context, _ billing.Operation, delivered bool, _ string) error {
	r.ended = append(r.ended, delivered)
	return nil
}

func (r *standIns) Totals(context.Context, string, billing.Period) (billing.Totals, error) {
	return billing.Totals{Included: billing.Unlimited, Left: billing.Unlimited, AllowanceLeft: billing.Unlimited}, nil
}

func (r *standIns) Receipts(context.Context, string, billing.Period, string, int) ([]billing.Receipt, string, error) {
	return []billing.Receipt{{ID: "rcp_1", At: time.Now(), URLHost: "=cmd()", Units: 1}}, "next", nil
}

func (r *standIns) Groups(context.Context, string, billing.Period, billing.By) ([]billing.Group, error) {
	return nil, nil
}

func fullPlan() billing.Plan {
	return billing.Plan{Name: "local", RequestsPerMinute: billing.Unlimited, ConcurrentReads: 64}
}

func testProfile() *policy.Profile {
	p := &policy.Profile{Name: "test"}
	p.Identity = policy.Identity{Token: "ExampleBot", Version: "1.0"}
	p.Robots = policy.RobotsRules{MaxAge: 24 * time.Hour, On4xx: policy.Open, On5xx: policy.Closed}
	p.Robots.CrawlDelay = policy.CrawlDelay{Honour: true, AppliesTo: "crawls"}
	p.Pace = policy.Pace{Per: policy.PerHost, InFlight: 1, OnBusy: policy.BusyError, OwnHops: policy.HopsFree}
	p.Signals.ContentSignal.AIInput = policy.RefuseWord
	p.Texts.Languages = []string{"nl", "en"}
	return p
}

func noContent(context.Context, billing.Order, billing.HandOver) error {
	return fault.New(fault.NoContent, "")
}

func newServer(t testing.TB, rooms *standIns, config Config, log io.Writer) *Server {
	t.Helper()
	server, err := New(config, Rooms{
		Meter: rooms, Decider: rooms, Accounts: rooms, Usage: rooms, Idempotency: rooms, Profile: testProfile(),
		Ready: func(context.Context) error { return rooms.ready }, Now: time.Now,
		Log: telemetry.Config{Format: "json"}.Logger(log), Metrics: telemetry.NewMetrics(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func newRig(t *testing.T, change ...func(*Config, *standIns)) *rig {
	t.Helper()
	rooms := &standIns{principal: billing.Principal{Account: "acc_1", Key: "key_1", Plan: fullPlan()}}
	rooms.read = noContent
	rooms.decide = func(context.Context, gate.Ask) (policy.Verdict, error) { return policy.Verdict{}, nil }
	config := DefaultConfig()
	for _, f := range change {
		f(&config, rooms)
	}
	log := &lockedBuffer{}
	server := newServer(t, rooms, config, log)
	web := httptest.NewUnstartedServer(nil)
	web.Config = server.HTTPServer()
	web.Listener = server.Strict(web.Config, web.Listener)
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	web.Start()
	t.Cleanup(web.Close)
	r := &rig{T: t, server: server, url: web.URL, web: web, log: log, rooms: rooms}
	r.http = &http.Client{Transport: openapitest.Transport(t, web.Client().Transport)}
	return r
}

// do sends a request with the good key; header are names and values in turn.
func (r *rig) do(method, path, body string, header ...string) (*http.Response, string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer wr_good")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	answer, err := r.http.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer, string(text)
}

// problem sends a request that must fail with the code.
func (r *rig) problem(code, method, path, body string, header ...string) (Problem, *http.Response) {
	r.Helper()
	answer, text := r.do(method, path, body, header...)
	var p Problem
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		r.Fatalf("%s %s: status %d, not a problem: %q", method, path, answer.StatusCode, text)
	}
	if p.Code != code || p.Status != answer.StatusCode {
		r.Fatalf("%s %s: code %s, status %d; want %s: %s", method, path, p.Code, answer.StatusCode, code, text)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		r.Errorf("%s %s: Content-Type %q", method, path, got)
	}
	if p.RequestID == "" || p.RequestID != answer.Header.Get("X-Request-Id") || p.Detail == "" || p.Title == "" || p.Charge.Units != 0 {
		r.Errorf("%s %s: a problem without its members: %s", method, path, text)
	}
	return p, answer
}

// logged is the log once all requests are over: a line is written after its answer. The server is
// stopped then.
func (r *rig) logged() string {
	r.web.Close()
	return r.log.String()
}

// lockedBuffer can be written to and read by several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
