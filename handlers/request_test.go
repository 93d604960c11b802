package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

func TestWrongRequestsNameTheirFields(t *testing.T) {
	cases := []struct {
		name, method, path, body string
		fields                   []string
	}{
		{"unknown field", "POST", "/read", `{"url":"https://a.test/","headers":{"a":"b"}}`, []string{"headers"}},
		{"several", "POST", "/read", `{"url":"https://a.test/","user_agent":"x","formats":["pdf"],"max_tokens":"1","timeout_ms":0}`, []string{"formats.0", "max_tokens", "timeout_ms", "user_agent"}},
		{"missing", "POST", "/read", `{}`, []string{"url"}},
		{"wrong type", "POST", "/read", `{"url":5}`, []string{"url"}},
		{"null", "POST", "/read", `{"url":null}`, []string{"url"}},
		{"upper case is another field", "POST", "/read", `{"URL":"https://a.test/"}`, []string{"URL", "url"}},
		{"country", "POST", "/read", `{"url":"https://a.test/","country":"nld"}`, []string{"country"}},
		{"list for an object", "POST", "/read", `[]`, []string{"body"}},
		{"scheme", "POST", "/read", `{"url":"file:///etc/passwd"}`, []string{"url"}},
		{"user name", "POST", "/read", `{"url":"https://me:pass@a.test/"}`, []string{"url"}},
		{"query: unknown", "GET", "/read?url=https%3A%2F%2Fa.test%2F&render_js=1", "", []string{"render_js"}},
		{"query: not encoded", "GET", "/read?url=https://a.test/?a=1&b=2", "", []string{"b"}},
		{"query: twice", "GET", "/read?url=https%3A%2F%2Fa.test%2F&links=none&links=inline", "", []string{"links"}},
		{"query: semicolon", "GET", "/read?url=https%3A%2F%2Fa.test%2F&language=nl;q=1", "", nil},
		{"query: types", "GET", "/read?url=https%3A%2F%2Fa.test%2F&max_tokens=ten&only_main_content=maybe&formats=markdown,pdf", "", []string{"formats.1", "max_tokens", "only_main_content"}},
		{"query: missing", "GET", "/policy", "", []string{"url"}},
		{"query: empty", "GET", "/policy?url=", "", []string{"url"}},
		{"cap below nothing", "PATCH", "/account", `{"spending_cap":-1}`, []string{"spending_cap"}},
		{"cap of a half", "PATCH", "/account", `{"spending_cap":1.5}`, []string{"spending_cap"}},
		{"plan is not theirs", "PATCH", "/account", `{"plan":"big"}`, []string{"plan"}},
		{"nothing to change", "PATCH", "/account", `{}`, []string{"body"}},
		{"webhook", "PATCH", "/account", `{"webhook_url":"ftp://a.test/"}`, []string{"webhook_url"}},
		{"past", "POST", "/keys", `{"name":"a","expires_at":"2001-01-01T00:00:00Z"}`, []string{"expires_at"}},
		{"no time", "POST", "/keys", `{"name":"a","expires_at":"tomorrow"}`, []string{"expires_at"}},
		{"period", "GET", "/usage?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "", []string{"to"}},
		{"limit", "GET", "/usage?limit=5000", "", []string{"limit"}},
	}
	r := newRig(t)
	for _, c := range cases {
		p, _ := r.problem("invalid_request", c.method, c.path, c.body)
		var names []string
		for _, f := range p.Errors {
			names = append(names, f.Name)
		}
		if !reflect.DeepEqual(names, c.fields) {
			t.Errorf("%s: fields %v, want %v (%s)", c.name, names, c.fields, p.Detail)
		}
		if strings.ContainsAny(p.Detail, "{}\n") || strings.Contains(p.Detail, "schema") || len(p.Detail) > 300 {
			t.Errorf("%s: not for people: %q", c.name, p.Detail)
		}
		t.Logf("%s: %s", c.name, p.Detail)
	}
	if len(r.rooms.orders) > 0 {
		t.Error("a wrong request was ordered")
	}
}

func TestBodiesThatAreNotJSON(t *testing.T) {
	r := newRig(t)
	for name, body := range map[string]string{
		"nothing":     "",
		"broken":      `{"url":`,
		"two values":  `{"url":"https://a.test/"} {"url":"https://b.test/"}`,
		"too large":   `{"url":"https://a.test/` + strings.Repeat("a", 1<<20) + `"}`,
		"deep":        strings.Repeat("[", 200_000),
		"not UTF-8 ¿": "{\"url\":\"https://a.test/\xff\"",
	} {
		p, _ := r.problem("invalid_request", "POST", "/read", body)
		t.Logf("%s: %s", name, p.Detail)
	}
	r.problem("invalid_request", "POST", "/read", `url=https://a.test/`, "Content-Type", "application/x-www-form-urlencoded")
}

// Lists in a query are repeated parameters; a comma may stand in a selector.
func TestListsInAQuery(t *testing.T) {
	r := newRig(t)
	r.problem("no_content", "GET", "/read?url=https%3A%2F%2Fa.test%2F&formats=text,links&formats=html&include_selectors=h1,+h2&include_selectors=main", "")
	got := r.rooms.orders[0].Request.Options
	if !reflect.DeepEqual(got.Formats, []string{"text", "links", "html"}) || !reflect.DeepEqual(got.IncludeSelectors, []string{"h1, h2", "main"}) {
		t.Errorf("%+v", got)
	}
	r.problem("invalid_request", "GET", "/read?url=https%3A%2F%2Fa.test%2F&formats=text,links,html,images,markdown&formats=text", "")
}

func TestHealthByHead(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/bot/ips.json": 404} {
		if answer, text := r.do("HEAD", path, ""); answer.StatusCode != want || text != "" {
			t.Errorf("HEAD %s: %d %q", path, answer.StatusCode, text)
		}
	}
}

func TestTheOrderHasWhatWasAskedFor(t *testing.T) {
	r := newRig(t)
	yes := false
	want := reader.Options{Formats: []string{"markdown", "links"}, OnlyMainContent: &yes, ExcludeSelectors: []string{".ad"}, Links: "none",
		Images: "alt", MaxTokens: 10, Country: "nl", Language: "nl,en;q=0.5", TimeoutMS: 1000, IfFingerprint: "abc"}
	r.problem("no_content", "POST", "/read", `{"url":"https://a.test/x?y=%2F#z","formats":["markdown","links"],"only_main_content":false,"exclude_selectors":[".ad"],
		"links":"none","images":"alt","max_tokens":10,"country":"nl","language":"nl,en;q=0.5","timeout_ms":1000,"if_fingerprint":"abc"}`)
	r.problem("no_content", "GET", "/read?url=https%3A%2F%2Fa.test%2Fx%3Fy%3D%252F%23z&formats=markdown,links&only_main_content=false&exclude_selectors=.ad"+
		"&links=none&images=alt&max_tokens=10&country=nl&language=nl,en%3Bq%3D0.5&timeout_ms=1000&if_fingerprint=abc", "")
	r.problem("no_content", "GET", "/read?url=https%3A%2F%2Fa.test%2Fx%3Fy%3D%252F%23z&formats=markdown&formats=links&only_main_content=false&exclude_selectors=.ad"+
		"&links=none&images=alt&max_tokens=10&country=nl&language=nl,en%3Bq%3D0.5&timeout_ms=1000&if_fingerprint=abc", "")
	for i, o := range r.rooms.orders {
		if !reflect.DeepEqual(o.Request.Options, want) {
			t.Errorf("order %d: %+v", i, o.Request.Options)
		}
		if got := o.Request.Target.String(); got != "https://a.test/x?y=%2F" {
			t.Errorf("order %d: target %s", i, got)
		}
		if o.Account != "acc_1" || o.Key != "key_1" || o.Kind != "read" || !billing.ValidID("op", o.Operation) || o.Longest != time.Second+handOverTime {
			t.Errorf("order %d: %+v", i, o)
		}
		if c := o.Request.Cause; c.Kind != "read" || c.Account != "acc_1" || !billing.ValidID("req", c.Request) {
			t.Errorf("order %d: cause %+v", i, c)
		}
	}
	if len(r.rooms.orders) != 3 || r.rooms.orders[0].Operation == r.rooms.orders[1].Operation {
		t.Errorf("orders %+v", r.rooms.orders)
	}
}

func TestNoAddressInTheLog(t *testing.T) {
	r := newRig(t)
	r.problem("no_content", "GET", "/read?url=https%3A%2F%2Fa.test%2Fsecret%2Freport.pdf%3Ftoken%3Dhush", "")
	r.problem("unauthorized", "GET", "/read?url=https%3A%2F%2Fa.test%2Fsecret", "", "Authorization", "Bearer wr_hushhush")
	log := r.logged()
	for _, secret := range []string{"secret", "hush", "wr_good", "token"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q: %s", secret, log)
		}
	}
	if !strings.Contains(log, `"host":"a.test"`) || !strings.Contains(log, `"path":"file.pdf"`) || strings.Count(log, "\n") != 2 {
		t.Errorf("log: %s", log)
	}
}

func TestKeys(t *testing.T) {
	r := newRig(t)
	for name, header := range map[string]string{"none": "", "unknown": "Bearer wr_bad", "scheme": "Basic d3I6", "empty": "Bearer "} {
		_, answer := r.problem("unauthorized", "GET", "/account", "", "Authorization", header)
		if !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	if answer, _ := r.do("GET", "/account", "", "Authorization", "bearer wr_good"); answer.StatusCode != 200 {
		t.Errorf("the scheme's letters matter: %d", answer.StatusCode)
	}
}

// A key is asked for before the body is looked at.
func TestABodyWithoutAKeyIsNotRead(t *testing.T) {
	r := newRig(t)
	r.problem("unauthorized", "POST", "/read", `{"nonsense":`, "Authorization", "")
}

func TestUnknownAddresses(t *testing.T) {
	r := newRig(t)
	r.problem("not_found", "MADEUP", "/read", "")
	r.problem("not_found", "GET", "/nothing", "")
	p, answer := r.problem("not_found", "DELETE", "/read", "")
	if answer.Header.Get("Allow") == "" || !strings.Contains(p.Detail, "POST") {
		t.Errorf("%q, Allow %q", p.Detail, answer.Header.Get("Allow"))
	}
	r.problem("not_found", "GET", "/docs/errors/..%2f..%2fgo.mod", "")
	r.problem("not_found", "GET", "/assets/frame.html", "")
	r.problem("not_found", "GET", "/bot/ips.json", "")
	if log := r.logged(); !strings.Contains(log, `"method":"other"`) || strings.Contains(log, "MADEUP") {
		t.Errorf("log: %s", log)
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/account", "/nothing", "/", "/healthz", "/docs", "/openapi.yaml"} {
		answer, _ := r.do("GET", path, "")
		h := answer.Header
		if !billing.ValidID("req", h.Get("X-Request-Id")) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
		if cache := h.Get("Cache-Control"); cache != "no-store" && cache != "no-cache" {
			t.Errorf("%s: Cache-Control %q", path, cache)
		}
		if strings.HasPrefix(h.Get("Content-Type"), "text/html") && !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: no content policy", path)
		}
	}
}

func TestRateLimit(t *testing.T) {
	r := newRig(t, func(_ *Config, s *standIns) { s.principal.Plan.RequestsPerMinute = 3 })
	for range 3 {
		answer, _ := r.do("GET", "/account", "")
		if answer.StatusCode != 200 || answer.Header.Get("RateLimit-Policy") != `"requests";q=3;w=60, "reads";q=64;qu="concurrent-requests"` {
			t.Fatalf("%d %v", answer.StatusCode, answer.Header)
		}
	}
	p, answer := r.problem("rate_limited", "GET", "/account", "")
	if p.RetryAfter < 1 || p.RetryAfter > 20 || !strings.HasPrefix(answer.Header.Get("RateLimit"), `"requests";r=0;t=`) {
		t.Errorf("%+v %v", p, answer.Header)
	}
}

func TestReadsAtOnce(t *testing.T) {
	began, stop := make(chan struct{}, 9), make(chan struct{})
	r := newRig(t, func(c *Config, s *standIns) {
		c.MaxReads = 3
		s.principal.Plan.ConcurrentReads = 2
		s.read = func(context.Context, billing.Order, billing.HandOver) error {
			began <- struct{}{}
			<-stop
			return fault.New(fault.NoContent, "")
		}
	})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() { r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`) })
		<-began
	}
	p, _ := r.problem("rate_limited", "POST", "/read", `{"url":"https://a.test/"}`)
	if p.RetryAfter < 1 {
		t.Errorf("%+v", p)
	}
	r.rooms.principal = billing.Principal{Account: "acc_2", Plan: fullPlan()}
	running.Go(func() { r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`) })
	<-began
	full, _ := r.problem("overloaded", "POST", "/read", `{"url":"https://a.test/"}`)
	if full.RetryAfter < 1 {
		t.Errorf("%+v", full)
	}
	close(stop)
	running.Wait()
	if len(r.server.limits.reads) != 0 {
		t.Error("a place was not given back")
	}
	r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`)
}

func TestVisitorsAreLimitedByAddress(t *testing.T) {
	r := newRig(t)
	for range visitorsMinute {
		if answer, text := r.do("GET", "/bot/check?url=https%3A%2F%2Fa.test%2F", "", "Authorization", ""); answer.StatusCode != 200 {
			t.Fatal(text)
		}
	}
	r.problem("rate_limited", "GET", "/bot/check?url=https%3A%2F%2Fa.test%2F", "", "Authorization", "")
}

func TestVisitorsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2::3", "2001:db8:1:2:ffff::9", true}, {"2001:db8:1:2::3", "2001:db8:1:3::3", false}, {"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		if (visitor(c.a) == visitor(c.b)) != c.same {
			t.Errorf("%s and %s: %s and %s", c.a, c.b, visitor(c.a), visitor(c.b))
		}
	}
}

// However many addresses ask without a key, customers keep their places.
func TestVisitorsLeaveRoomForCustomers(t *testing.T) {
	r := newRig(t)
	for range visitorsInAll {
		r.server.visitors <- struct{}{}
	}
	p, _ := r.problem("overloaded", "GET", "/bot/check?url=https%3A%2F%2Fa.test%2F", "", "Authorization", "")
	if p.RetryAfter < 1 {
		t.Errorf("%+v", p)
	}
	r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`)
	<-r.server.visitors
	if answer, text := r.do("GET", "/bot/check?url=https%3A%2F%2Fa.test%2F", "", "Authorization", ""); answer.StatusCode != 200 || len(r.server.visitors) != visitorsInAll-1 {
		t.Errorf("%s, %d places taken", text, len(r.server.visitors))
	}
}

// Only the proxies of the settings are believed, and only their nearest claim.
func TestClientAddress(t *testing.T) {
	for _, c := range []struct {
		proxies, forwarded, want string
	}{
		{"", "203.0.113.9", "127.0.0.1"},
		{"10.0.0.0/8", "203.0.113.9", "127.0.0.1"},
		{"127.0.0.0/8", "203.0.113.9", "203.0.113.9"},
		{"127.0.0.0/8", "198.51.100.7, 203.0.113.9", "203.0.113.9"},
		{"127.0.0.0/8,203.0.113.0/24", "198.51.100.7, 203.0.113.9", "198.51.100.7"},
	} {
		r := newRig(t, func(config *Config, _ *standIns) {
			for _, p := range strings.FieldsFunc(c.proxies, func(r rune) bool { return r == ',' }) {
				config.TrustedProxies = append(config.TrustedProxies, netip.MustParsePrefix(p))
			}
		})
		r.do("GET", "/healthz", "", "X-Forwarded-For", c.forwarded, "X-Real-IP", "192.0.2.1")
		if log := r.logged(); !strings.Contains(log, `"client":"`+c.want+`"`) {
			t.Errorf("proxies %q, X-Forwarded-For %q: %s", c.proxies, c.forwarded, log)
		}
	}
}

func TestIdempotencyKeyIsEndedWhateverHappens(t *testing.T) {
	r := newRig(t)
	r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`, "Idempotency-Key", "k1")
	r.problem("idempotency_conflict", "POST", "/read", `{"url":"https://a.test/"}`, "Idempotency-Key", "running")
	if !reflect.DeepEqual(r.rooms.ended, []bool{false}) || r.rooms.orders[0].Operation != "op_k1" || len(r.rooms.orders) != 1 {
		t.Errorf("ended %v, orders %+v", r.rooms.ended, r.rooms.orders)
	}
}

// A key is kept for a read that still runs, however long reads may take here.
func TestAnIdempotencyKeyIsKeptAsLongAsItsReadMayTake(t *testing.T) {
	r := newRig(t, func(c *Config, _ *standIns) { c.Timeout = 10 * time.Minute })
	r.problem("no_content", "POST", "/read", `{"url":"https://a.test/"}`, "Idempotency-Key", "k1")
	if got := r.rooms.began[0].Longest; got != 10*time.Minute+handOverTime {
		t.Errorf("the key is kept for a read of %s", got)
	}
}

// Two keys name two operations, so neither counts.
func TestHeadersThatAreGivenTwiceAreNamed(t *testing.T) {
	r := newRig(t)
	request := strings.Replace(post, "\r\n", "\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nConnection: close\r\n", 1)
	text, _ := raw(t, r.url, request+"Content-Length: 25\r\n\r\n"+page)
	if !strings.Contains(text, `"detail":"Idempotency-Key is given more than once."`) || len(r.rooms.orders) > 0 {
		t.Error(text)
	}
}

func TestChangesOfAnAccount(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string]string{
		`{"name":"New"}`:                               "New nil nil",
		`{"spending_cap":5}`:                           "nil 5 nil",
		`{"spending_cap":null}`:                        "nil none nil",
		`{"webhook_url":"https://h.test/"}`:            "nil nil https://h.test/",
		`{"webhook_url":null}`:                         "nil nil ",
		`{"spending_cap":0,"webhook_url":"http://h/"}`: "nil 0 http://h/",
	} {
		if answer, text := r.do("PATCH", "/account", body); answer.StatusCode != 200 {
			t.Fatal(text)
		}
		if got := changeText(r.rooms.change); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func changeText(c billing.Change) string {
	name, limit, hook := "nil", "nil", "nil"
	if c.Name != nil {
		name = *c.Name
	}
	if c.SpendingCap != nil && *c.SpendingCap != nil {
		limit = fmt.Sprint(**c.SpendingCap)
	} else if c.SpendingCap != nil {
		limit = "none"
	}
	if c.WebhookURL != nil {
		hook = *c.WebhookURL
	}
	return name + " " + limit + " " + hook
}

func TestUsageAsCSV(t *testing.T) {
	r := newRig(t)
	answer, text := r.do("GET", "/usage", "", "Accept", "text/csv")
	if !strings.HasPrefix(text, "id,at,url_host,units,job,key,kind\nrcp_1,") || !strings.Contains(text, "'=cmd()") || answer.Header.Get("WebReader-Next-Cursor") != "next" {
		t.Errorf("%q %v", text, answer.Header)
	}
}

func TestReadiness(t *testing.T) {
	r := newRig(t)
	r.rooms.ready = fmt.Errorf("no database")
	r.problem("overloaded", "GET", "/readyz", "")
	r.rooms.ready = nil
	if answer, _ := r.do("GET", "/readyz", ""); answer.StatusCode != 200 {
		t.Errorf("%d", answer.StatusCode)
	}
	r.server.Drain()
	r.problem("overloaded", "GET", "/readyz", "")
	if answer, _ := r.do("GET", "/healthz", ""); answer.StatusCode != 200 {
		t.Error("a process that stops is still alive")
	}
}

func TestSlowClientsAreLetGo(t *testing.T) {
	server := newRig(t).server.HTTPServer()
	if server.ReadHeaderTimeout != 10*time.Second || server.MaxHeaderBytes+4096 != 32<<10 || server.WriteTimeout == 0 || server.IdleTimeout == 0 {
		t.Errorf("limits: %+v", server)
	}
	var _ http.Handler = server.Handler
}
