package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
)

// newShop is a server that customers pay, with the payment service it talks to.
func newShop(t *testing.T) (*served, *stripetest.Fake) {
	fake := stripetest.New(t)
	settings := []string{"WEBREADER_PUBLIC_URL=http://reader.test"}
	for _, name := range []string{"SECRET_KEY", "WEBHOOK_SECRET", "API_BASE", "PRICE", "METER_EVENT"} {
		settings = append(settings, "WEBREADER_STRIPE_"+name+"="+fake.Env("WEBREADER_STRIPE_"+name))
	}
	return newServed(t, settings...), fake
}

// browser is a client with cookies that follows nothing by itself.
func (s *served) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &http.Client{Transport: s.client.Transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visit is a request's answer; contentType "" sends no body.
func (s *served) visit(c *http.Client, method, path, contentType, body string, header ...string) (*http.Response, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := c.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer, string(text)
}

const formType = "application/x-www-form-urlencoded"

func TestAPersonSignsUpReadsAndPays(t *testing.T) {
	s, fake := newShop(t)
	site(s.web, "shop.test")
	person := s.browser()
	_, page := s.visit(person, "GET", "/signup", "", "")
	if !strings.Contains(page, `action="/billing/checkout"`) || !strings.Contains(page, "1000 pages a calendar month included") || strings.Contains(page, "<script") {
		t.Errorf("the sign-up page: %s", page)
	}
	answer, _ := s.visit(person, "POST", "/billing/checkout", formType, "plan=standard&name=Anna")
	if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(answer.Header.Get("Location"), fake.URL+"/pay/") {
		t.Fatalf("checkout: %d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
	cookie := answer.Header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("cookie %q", cookie)
	}
	session := answer.Header.Get("Location")[len(fake.URL+"/pay/"):]
	back := "/billing/success?session_id=" + session
	if fake.Param(session, "success_url") != "http://reader.test/billing/success?session_id={CHECKOUT_SESSION_ID}" {
		t.Errorf("success_url %q", fake.Param(session, "success_url"))
	}
	if answer, page := s.visit(person, "GET", back, "", ""); answer.StatusCode != 200 || !strings.Contains(page, "Not paid yet") {
		t.Errorf("before paying: %d %s", answer.StatusCode, page)
	}
	other, _ := s.visit(person, "POST", "/billing/checkout", formType, "plan=standard")
	left := other.Header.Get("Location")[len(fake.URL+"/pay/"):]
	fake.Expire(left)
	if answer, page := s.visit(person, "GET", "/billing/success?session_id="+left, "", ""); answer.StatusCode != 200 || !strings.Contains(page, "has ended") || !strings.Contains(page, `href="/signup"`) {
		t.Errorf("a sign-up that was left: %d %s", answer.StatusCode, page)
	}
	_, customer := fake.Pay(session)
	if answer, page := s.visit(s.browser(), "GET", back, "", ""); answer.StatusCode != 404 || strings.Contains(page, "wr_") {
		t.Errorf("a stranger with the session's id: %d %s", answer.StatusCode, page)
	}
	keyOn := func(page string) string { return regexp.MustCompile(`wr_[a-z2-7]{47}`).FindString(page) }
	answer, page = s.visit(person, "GET", back, "", "")
	key := keyOn(page)
	if answer.StatusCode != 200 || key == "" || strings.Contains(page, "<script") || answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("the key's page: %d %v %s", answer.StatusCode, answer.Header, page)
	}
	if _, page := s.visit(person, "GET", back, "", ""); keyOn(page) == key || keyOn(page) == "" {
		t.Error("a reload did not replace the unused key")
	} else {
		key = keyOn(page)
	}
	auth := []string{"Authorization", "Bearer " + key}
	answer, page = s.visit(s.client, "GET", "/read?url="+url.QueryEscape("http://shop.test/mill"), "", "", auth...)
	if answer.StatusCode != 200 {
		t.Fatalf("read: %d %s", answer.StatusCode, page)
	}
	if _, page := s.visit(person, "GET", back, "", ""); keyOn(page) != "" || !strings.Contains(page, "shown before") {
		t.Errorf("after the key was used: %s", page)
	}
	if answer, page := s.visit(s.client, "POST", "/billing/portal", "", "", auth...); answer.StatusCode != 201 || !strings.Contains(page, fake.URL+"/portal/"+customer) {
		t.Errorf("portal: %d %s", answer.StatusCode, page)
	}
	if answer, _ := s.visit(person, "POST", "/billing/portal", formType, "key="+key); answer.StatusCode != 303 || answer.Header.Get("Location") != fake.URL+"/portal/"+customer {
		t.Errorf("portal by form: %d", answer.StatusCode)
	}
	if _, page := s.visit(s.client, "GET", "/usage?group_by=kind", "", "", auth...); !strings.Contains(page, `"units":1`) || !strings.Contains(page, `"groups":[{"name":"read","units":1,"pages":1}]`) {
		t.Errorf("usage: %s", page)
	}
	if strings.Contains(s.out.String(), key) || strings.Contains(s.out.String(), stripetest.Key) || strings.Contains(s.out.String(), session) {
		t.Error("a key or a session's id is in the log")
	}
}

func TestBillingDoorsRefuseWhatTheyCannotUse(t *testing.T) {
	s, fake := newShop(t)
	for _, c := range []struct {
		path, media, body string
		want              int
		says              string
	}{
		{"/billing/checkout", "application/json", `{"plan":"gold"}`, 400, "plan"},
		{"/billing/checkout", "application/json", `{"plan":"standard","card":"4242"}`, 400, "nothing else"},
		{"/billing/checkout", "application/json", `{`, 400, "JSON"},
		{"/billing/checkout", "text/plain", `plan`, 400, "Content-Type"},
		{"/billing/checkout", formType, "plan=standard&card=1", 400, "is not a field of this form"},
		{"/billing/portal", "", "", 401, "No key was sent"},
		{"/billing/portal", formType, "key=wr_nonsense", 401, "no API key"},
		{"/billing/portal", "application/json", `{}`, 401, "No key was sent"},
		{"/billing/stripe-webhook", "application/json", `{"id":"evt_1","type":"x"}`, 400, "signed"},
	} {
		answer, text := s.visit(s.client, "POST", c.path, c.media, c.body, "X-Forwarded-For", "1.2.3.4")
		if answer.StatusCode != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, answer.StatusCode, text)
		}
	}
	if answer, text := s.visit(s.client, "POST", "/billing/portal", "", "", "Authorization", "Bearer "+s.key); answer.StatusCode != 404 || !strings.Contains(text, "no subscription") {
		t.Errorf("portal without a subscription: %d %s", answer.StatusCode, text)
	}
	limited := 0
	for range 12 {
		if answer, _ := s.visit(s.client, "POST", "/billing/checkout", "application/json", `{"plan":"gold"}`); answer.StatusCode == 429 {
			limited++
		}
	}
	if limited == 0 || len(fake.Calls()) != 0 {
		t.Errorf("%d of 12 sign-ups a moment were refused, %d calls to the payment service", limited, len(fake.Calls()))
	}
}

// A program or browser that is not sure whether its first request arrived sends it again.
func TestACheckoutIsAskedForAgain(t *testing.T) {
	s, fake := newShop(t)
	person := s.browser()
	ask := func(c *http.Client, form string, header ...string) (int, string) {
		answer, text := s.visit(c, "POST", "/billing/checkout", formType, form, header...)
		return answer.StatusCode, answer.Header.Get("Location") + text
	}
	_, first := ask(person, "name=Anna", "Idempotency-Key", "one")
	if code, again := ask(person, "name=Anna", "Idempotency-Key", "one"); code != 303 || again != first {
		t.Errorf("again: %d %s, want %s", code, again, first)
	}
	if code, other := ask(s.browser(), "name=Anna", "Idempotency-Key", "one"); code != 303 || other == first {
		t.Errorf("somebody else: %d %s", code, other)
	}
	if code, text := ask(person, "name=Bert", "Idempotency-Key", "one"); code != 409 || !strings.Contains(text, "Idempotency-Key") {
		t.Errorf("another request: %d %s", code, text)
	}
	if code, text := ask(person, "name=Anna", "Idempotency-Key", strings.Repeat("x", 256)); code != 400 || !strings.Contains(text, "255") {
		t.Errorf("a key that is too long: %d %s", code, text)
	}
	session := first[len(fake.URL+"/pay/"):]
	fake.Pay(session)
	_, page := s.visit(person, "GET", "/billing/success?session_id="+session, "", "")
	key := regexp.MustCompile(`wr_[a-z2-7]{47}`).FindString(page)
	for range 2 {
		if answer, text := s.visit(s.client, "POST", "/billing/portal", "", "", "Authorization", "Bearer "+key, "Idempotency-Key", "two"); answer.StatusCode != 201 {
			t.Errorf("portal: %d %s", answer.StatusCode, text)
		}
	}
	_, text := s.visit(s.client, "GET", "/usage", "", "", "Authorization", "Bearer "+key)
	if !strings.Contains(text, `"allowance":{"included":1000,"left":1000}`) {
		t.Errorf("usage %s", text)
	}
}

func TestAnEventOfThePaymentServiceIsKept(t *testing.T) {
	s, fake := newShop(t)
	body, signature := stripetest.Webhook("evt_1", "customer.updated", map[string]any{"object": "customer", "id": "cus_1"}, time.Now(), stripetest.Secret)
	for range 2 {
		answer, text := s.visit(s.client, "POST", "/billing/stripe-webhook", "application/json", string(body), "Stripe-Signature", signature)
		if answer.StatusCode != 200 || !strings.Contains(text, `"received":true`) {
			t.Errorf("%d %s", answer.StatusCode, text)
		}
	}
	s.dealt()
	if len(fake.Calls()) != 0 {
		t.Errorf("an unknown event that came twice: calls %v", fake.Calls())
	}
}

// dealt waits until the server has dealt with all events of the payment service.
func (s *served) dealt() {
	s.Helper()
	for {
		due, err := s.store.DueEvents(s.Context(), 0, 100)
		if err != nil {
			s.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestWithoutStripeNobodySignsUp(t *testing.T) {
	s := newServed(t)
	for _, path := range []string{"POST /billing/checkout", "POST /billing/portal", "POST /billing/stripe-webhook", "GET /billing/success", "GET /signup"} {
		method, path, _ := strings.Cut(path, " ")
		if answer, text := s.visit(s.client, method, path, "", ""); answer.StatusCode != 404 || !strings.Contains(text, "not set up on this server") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

func TestReconcileComparesAndCreditGivesBack(t *testing.T) {
	s, fake := newShop(t)
	session := func() string {
		_, text := s.visit(s.client, "POST", "/billing/checkout", "application/json", `{"name":"Anna"}`)
		return regexp.MustCompile(`cs_test_fake\d+`).FindString(text)
	}()
	_, customer := fake.Pay(session)
	body, signature := stripetest.Webhook("evt_1", "checkout.session.completed", map[string]any{"object": "checkout.session", "id": session}, time.Now(), stripetest.Secret)
	s.visit(s.client, "POST", "/billing/stripe-webhook", "application/json", string(body), "Stripe-Signature", signature)
	s.dealt()
	env := func(name string) string {
		if name == "WEBREADER_DATABASE_URL" {
			return "sqlite:" + filepath.Join(s.dir, "webreader.db")
		}
		return fake.Env(name)
	}
	if code, _, errs := runs(t, env, "billing", "reconcile"); code != 0 {
		t.Errorf("nothing used: exit %d, %s", code, errs)
	}
	if err := s.payments.stripe.Report(t.Context(), billing.UsageReport{ID: "rep_rogue", Customer: customer, Units: 3, Minute: time.Now().Truncate(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runs(t, env, "billing", "reconcile")
	if code != 1 || !strings.Contains(errs, "3 units too many") || !strings.Contains(out, customer) {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}

func TestACapThatIsNearIsToldByWebhook(t *testing.T) {
	s := newServed(t)
	site(s.web, "cap.test")
	heard := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard <- r.Header.Get("webhook-signature") + " " + string(body)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(receiver.Close)
	account, err := s.store.Account(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	limit, hook := int64(2), receiver.URL
	set := &limit
	if _, err = s.store.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &set, WebhookURL: &hook}); err != nil {
		t.Fatal(err)
	}
	read := func(key string) int {
		answer, _ := s.visit(s.client, "GET", "/read?url="+url.QueryEscape("http://cap.test/mill"), "", "", "Authorization", "Bearer "+s.key, "Idempotency-Key", key)
		return answer.StatusCode
	}
	if first, second, third := read("a"), read("b"), read("c"); first != 200 || second != 200 || third != 402 {
		t.Fatalf("reads under a cap of 2: %d, %d, %d", first, second, third)
	}
	if err := s.payments.tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := <-heard
	if !strings.Contains(told, `"type":"usage.threshold"`) || !strings.Contains(told, `"percent":100`) || !strings.Contains(told, `"ceiling":2`) || !strings.Contains(told, "v1,") {
		t.Errorf("told %s", told)
	}
}
