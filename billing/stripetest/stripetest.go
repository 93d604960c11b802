// Package stripetest is a small payment service for tests: it keeps what it is told, and can lose,
// double and delay it, refuse, fail and keep silent.
package stripetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"
)

// Names that the fake knows.
const (
	Key        = "sk_test_fake"
	Secret     = "whsec_test_secret"
	Price      = "price_fake"
	MeterEvent = "pages_read"
)

// Do is what becomes of a call.
type Do int

// What the fake does with a call.
const (
	Serve      Do = iota
	Fail500       // refuses it, untouched
	Fail429       // refuses it, untouched
	Swallow       // does it, and cuts the connection before the answer
	Hang          // cuts the connection, untouched
	LoseEvent     // answers well and forgets it
	Double        // does it twice
	Refuse400     // says that the request is wrong
	Swallow500    // does it, and answers 500
)

// Fake is the payment service.
type Fake struct {
	*httptest.Server
	t testing.TB

	mu   sync.Mutex
	plan func(n int, r *http.Request) Do
	// Now is the fake's clock.
	Now      func() time.Time
	calls    []string
	events   map[string]*event // by identifier, for as long as it drops doubles
	counted  []*event
	sessions map[string]*session
	repeats  map[string]string // the sessions by idempotency key
	subs     map[string]map[string]any
	next     int
}

type event struct {
	identifier, customer string
	value                int64
	at                   time.Time
	came                 time.Time
	cancelled            bool
}

type session struct {
	params  map[string]string
	expired bool
	done    bool
	unpaid  bool
	sub     string
}

// New starts a fake.
func New(t testing.TB) *Fake {
	f := &Fake{t: t, Now: time.Now, events: map[string]*event{}, sessions: map[string]*session{}, repeats: map[string]string{}, subs: map[string]map[string]any{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// Env are the settings that lead to the fake.
func (f *Fake) Env(name string) string {
	return map[string]string{
		"WEBREADER_STRIPE_SECRET_KEY": Key, "WEBREADER_STRIPE_WEBHOOK_SECRET": Secret, "WEBREADER_STRIPE_API_BASE": f.URL,
		"WEBREADER_STRIPE_PRICE": Price, "WEBREADER_STRIPE_METER_EVENT": MeterEvent,
	}[name]
}

// Does sets what becomes of the call n (1 and up); nil serves all.
func (f *Fake) Does(plan func(n int, r *http.Request) Do) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = plan
}

// Calls are the calls that came: method and path.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *Fake) id(prefix string) string {
	f.next++
	return fmt.Sprintf("%s_fake%d", prefix, f.next)
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = r.ParseForm()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer "+Key {
		refuse(w, 401, "invalid_api_key", "No valid key.")
		return
	}
	do := Serve
	if f.plan != nil {
		do = f.plan(len(f.calls), r)
	}
	switch do {
	case Fail500:
		refuse(w, 500, "api_error", "Something broke.")
	case Fail429:
		refuse(w, 429, "rate_limit", "Too many requests.")
	case Refuse400:
		refuse(w, 400, "parameter_invalid", "Wrong.")
	case Hang:
		panic(http.ErrAbortHandler)
	case Swallow:
		f.route(httptest.NewRecorder(), r, do)
		panic(http.ErrAbortHandler)
	case Swallow500:
		f.route(httptest.NewRecorder(), r, do)
		refuse(w, 500, "api_error", "Something broke.")
	default:
		f.route(w, r, do)
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"type":"invalid_request_error","message":%q}}`, code, message)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func list(data []any) map[string]any {
	return map[string]any{"object": "list", "data": data, "has_more": false}
}

func (f *Fake) route(w http.ResponseWriter, r *http.Request, do Do) {
	part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	switch path := r.Method + " " + r.URL.Path; {
	case path == "POST /v1/billing/meter_events":
		f.takeEvent(w, r, do)
	case path == "POST /v1/billing/meter_event_adjustments":
		f.cancelEvent(w, r)
	case path == "GET /v1/billing/meters":
		answer(w, list([]any{map[string]any{"id": "mtr_fake", "event_name": MeterEvent}}))
	case strings.HasSuffix(path, "/event_summaries"):
		f.sum(w, r)
	case path == "POST /v1/checkout/sessions":
		f.newSession(w, r)
	case strings.HasPrefix(path, "GET /v1/checkout/sessions/"):
		f.showSession(w, part[2])
	case path == "POST /v1/billing_portal/sessions":
		answer(w, map[string]any{"id": "bps_fake", "url": f.URL + "/portal/" + r.Form.Get("customer")})
	case len(part) == 2 && part[0] == "subscriptions" && r.Method == http.MethodGet:
		f.showSub(w, part[1])
	case len(part) == 2 && part[0] == "subscriptions" && r.Method == http.MethodDelete:
		if f.subs[part[1]] == nil {
			refuse(w, 404, "resource_missing", "No such subscription.")
			return
		}
		f.subs[part[1]]["status"] = "canceled"
		answer(w, f.subs[part[1]])
	default:
		refuse(w, 404, "resource_missing", "Unrecognized request URL "+path)
	}
}

func (f *Fake) takeEvent(w http.ResponseWriter, r *http.Request, do Do) {
	at, _ := strconv.ParseInt(r.Form.Get("timestamp"), 10, 64)
	value, _ := strconv.ParseInt(r.Form.Get("payload[value]"), 10, 64)
	e := &event{identifier: r.Form.Get("identifier"), customer: r.Form.Get("payload[stripe_customer_id]"), value: value, at: time.Unix(at, 0), came: f.Now()}
	switch old := f.events[e.identifier]; {
	case e.identifier == "" || len(e.identifier) > 100 || r.Form.Get("event_name") != MeterEvent || value <= 0:
		refuse(w, 400, "parameter_invalid", "Bad meter event.")
	case e.at.After(f.Now().Add(5 * time.Minute)):
		refuse(w, 400, "timestamp_in_future", "The timestamp is in the future.")
	case e.at.Before(f.Now().Add(-35 * 24 * time.Hour)):
		refuse(w, 400, "timestamp_too_far_in_past", "The timestamp is too old.")
	case old != nil && f.Now().Sub(old.came) < 24*time.Hour:
		refuse(w, 400, "", "An event already exists with identifier "+e.identifier+".")
	default:
		f.events[e.identifier] = e
		if do != LoseEvent {
			f.counted = append(f.counted, e)
		}
		if do == Double {
			double := *e
			f.counted = append(f.counted, &double)
		}
		answer(w, map[string]any{"object": "billing.meter_event", "identifier": e.identifier})
	}
}

func (f *Fake) cancelEvent(w http.ResponseWriter, r *http.Request) {
	e := f.events[r.Form.Get("cancel[identifier]")]
	switch {
	case e == nil || f.Now().Sub(e.came) > 24*time.Hour:
		refuse(w, 400, "out_of_window", "There is no such event in the last 24 hours.")
	case e.cancelled:
		refuse(w, 400, "", "This event has already been cancelled.")
	default:
		e.cancelled = true
		answer(w, map[string]any{"object": "billing.meter_event_adjustment", "status": "pending"})
	}
}

func (f *Fake) sum(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.ParseInt(r.Form.Get("start_time"), 10, 64)
	to, _ := strconv.ParseInt(r.Form.Get("end_time"), 10, 64)
	if from%60 != 0 || to%60 != 0 || to <= from {
		refuse(w, 400, "parameter_invalid", "Times must be whole minutes.")
		return
	}
	window := map[string]int64{"": to - from, "hour": 3600, "day": 86400}[r.Form.Get("value_grouping_window")]
	if window == 0 || window != to-from && (from%window != 0 || to%window != 0) {
		refuse(w, 400, "parameter_invalid", "Times must be whole windows.")
		return
	}
	var sums []any
	for ; from < to; from += window {
		if n := f.held(r.Form.Get("customer"), time.Unix(from, 0), time.Unix(from+window, 0)); n > 0 {
			sums = append(sums, map[string]any{"id": fmt.Sprint("mtrusg_fake", from), "object": "billing.meter_event_summary", "aggregated_value": n, "start_time": from, "end_time": from + window})
		}
	}
	page := int64(100)
	if limit, err := strconv.ParseInt(r.Form.Get("limit"), 10, 64); err == nil {
		page = limit
	}
	if after := r.Form.Get("starting_after"); after != "" {
		sums = sums[1+slices.IndexFunc(sums, func(one any) bool { return one.(map[string]any)["id"] == after }):]
	}
	answer(w, map[string]any{"object": "list", "data": sums[:min(len(sums), int(page))], "has_more": len(sums) > int(page)})
}

func (f *Fake) held(customer string, from, to time.Time) (n int64) {
	for _, e := range f.counted {
		if !e.cancelled && e.customer == customer && !e.at.Before(from) && e.at.Before(to) {
			n += e.value
		}
	}
	return n
}

// Held is what a customer would be billed for, over all time.
func (f *Fake) Held(customer string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held(customer, time.Unix(0, 0), time.Unix(1<<40, 0))
}

func (f *Fake) newSession(w http.ResponseWriter, r *http.Request) {
	s := &session{params: map[string]string{}}
	for name, values := range r.PostForm {
		s.params[name] = values[0]
	}
	key := r.Header.Get("Idempotency-Key")
	id := f.repeats[key]
	if first := f.sessions[id]; first != nil && !maps.Equal(first.params, s.params) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"type":"idempotency_error","message":"Keys for idempotent requests can only be used with the same parameters they were first used with."}}`)
		return
	} else if first == nil {
		id = f.id("cs_test")
		f.sessions[id], f.repeats[key] = s, id
	}
	answer(w, map[string]any{"id": id, "object": "checkout.session", "url": f.URL + "/pay/" + id, "expires_at": f.Now().Add(24 * time.Hour).Unix(), "status": "open"})
}

// Param is a parameter that a checkout was made with.
func (f *Fake) Param(session, name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[session].params[name]
}

// Pay finishes a checkout as its customer would. It answers the ids of subscription and customer.
func (f *Fake) Pay(id string) (sub, customer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	if s.done {
		return s.sub, f.subs[s.sub]["customer"].(string)
	}
	customer = s.params["customer"]
	if customer == "" {
		customer = f.id("cus")
	}
	s.done, s.sub = true, f.id("sub")
	f.subs[s.sub] = map[string]any{"id": s.sub, "object": "subscription", "status": "active", "customer": customer,
		"items": list([]any{map[string]any{"id": "si_fake", "price": map[string]any{"id": s.params["line_items[0][price]"]}}})}
	return s.sub, customer
}

// Expire ends a checkout that nobody paid.
func (f *Fake) Expire(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[id].expired = true
}

// Unpaid makes the payment of a finished checkout one that is still under way.
func (f *Fake) Unpaid(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[id].unpaid = true
}

func (f *Fake) showSession(w http.ResponseWriter, id string) {
	s := f.sessions[id]
	if s == nil {
		refuse(w, 404, "resource_missing", "No such checkout session.")
		return
	}
	v := map[string]any{"id": id, "object": "checkout.session", "status": "open", "payment_status": "unpaid"}
	if s.expired {
		v["status"] = "expired"
	}
	if s.done {
		v["status"], v["payment_status"] = "complete", "paid"
		if s.unpaid {
			v["payment_status"] = "unpaid"
		}
		v["subscription"], v["customer"] = f.subs[s.sub], f.subs[s.sub]["customer"]
	}
	answer(w, v)
}

func (f *Fake) showSub(w http.ResponseWriter, id string) {
	if f.subs[id] == nil {
		refuse(w, 404, "resource_missing", "No such subscription.")
		return
	}
	answer(w, f.subs[id])
}

// Set changes a subscription's status; "" takes it away.
func (f *Fake) Set(sub, status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if status == "" {
		delete(f.subs, sub)
		return
	}
	f.subs[sub]["status"] = status
}

// Status is a subscription's status.
func (f *Fake) Status(sub string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	status, _ := f.subs[sub]["status"].(string)
	return status
}

// Webhook is an event as it is posted, with its signature, made at the given time.
func Webhook(id, kind string, object map[string]any, at time.Time, secret string) (body []byte, signature string) {
	body, _ = json.Marshal(map[string]any{"id": id, "object": "event", "type": kind, "api_version": "2026-08-26.dahlia",
		"created": at.Unix(), "data": map[string]any{"object": object}})
	return Sign(body, at, secret)
}

// Sign signs any body.
func Sign(body []byte, at time.Time, secret string) ([]byte, string) {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: at})
	return body, signed.Header
}
