package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

// Desk is where customers sign up and pay: *billing.Desk.
type Desk interface {
	Plans() []billing.Plan
	Begin(ctx context.Context, s billing.SignUp) (page, cookie string, err error)
	Finish(ctx context.Context, session, cookie string) (billing.Welcome, error)
	Portal(ctx context.Context, account, base string) (string, error)
	Receive(ctx context.Context, body []byte, signature string) error
}

// billingRoutes are the doors to the payment service. They read their bodies themselves: browsers send
// forms, and a signature is over the bytes as they came.
func (s *Server) billingRoutes(e *echo.Echo) {
	visitors := with(e, s.needDesk, s.limitSignUps)
	visitors.POST("/billing/checkout", s.beginCheckout)
	visitors.POST("/billing/portal", s.openPortal)
	visitors.GET("/billing/success", s.finishCheckout)
	with(e, s.needDesk).POST("/billing/stripe-webhook", s.receivePaymentEvent)
	e.Match([]string{http.MethodGet, http.MethodHead}, "/signup", s.showSignUp, s.needDesk)
}

// needDesk is NotFound where nobody pays.
func (s *Server) needDesk(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.desk == nil {
			return fault.New(fault.NotFound, "Signing up and paying are not set up on this server. Ask its operator for an account.")
		}
		return next(c)
	}
}

// signUpsMinute is how often one address may call the payment service through us.
const signUpsMinute = billing.Limit(10)

func (s *Server) limitSignUps(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, _, wait := s.limits.spend("sign-up "+c.RealIP(), signUpsMinute, 1)
		if wait > 0 {
			return &fault.Error{Kind: fault.RateLimited, RetryAfter: wait, Detail: "Too many sign-ups from this address. Wait as long as Retry-After says."}
		}
		return next(c)
	}
}

// billingRequest is the body of checkout and portal, as JSON or as a form.
type billingRequest struct {
	Plan string `json:"plan"`
	Name string `json:"name"`
	key  string // forms only: programs send it in the header
	form bool   // a browser asks
}

// maxBillingBody is far more than a request needs.
const maxBillingBody = 16 << 10

func readBillingRequest(c echo.Context) (r billingRequest, err error) {
	text, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxBillingBody))
	if err != nil {
		return r, bodyFault(err)
	}
	media, _, _ := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	switch {
	case media == "application/x-www-form-urlencoded":
		return readBillingForm(string(text))
	case len(text) == 0:
		return r, nil
	case media != mediaJSON:
		return r, fault.New(fault.InvalidRequest, "The body's Content-Type is not one this address takes. Send JSON with 'Content-Type: application/json', or a form.")
	}
	if err := wellFormed(text); err != nil {
		return r, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fault.New(fault.InvalidRequest, "The body may have the texts plan and name, and nothing else.")
	}
	return r, r.check()
}

func readBillingForm(text string) (billingRequest, error) {
	r := billingRequest{form: true}
	values, err := url.ParseQuery(text)
	if err != nil {
		return r, fault.New(fault.InvalidRequest, "The form could not be read.")
	}
	for name := range values {
		if name != "plan" && name != "name" && name != "key" {
			return r, invalid([]fault.Field{{Name: cutName(name), Detail: "is not a field of this form"}})
		}
	}
	r.Plan, r.Name, r.key = values.Get("plan"), values.Get("name"), strings.TrimSpace(values.Get("key"))
	return r, r.check()
}

func cutName(name string) string { return name[:min(len(name), 40)] }

func (r *billingRequest) check() error {
	r.Name = strings.TrimSpace(r.Name)
	if len(r.Name) > 200 || strings.ContainsFunc(r.Name, func(c rune) bool { return c < ' ' }) {
		return invalid([]fault.Field{{Name: "name", Detail: "must be one line of at most 200 characters"}})
	}
	return nil
}

// payer is the account of the request's key, "" when it has none.
func (s *Server) payer(c echo.Context, r billingRequest) (string, error) {
	key := r.key
	if headers := c.Request().Header.Values("Authorization"); len(headers) > 0 {
		var err error
		if key, err = bearer(headers); err != nil {
			return "", err
		}
	}
	if key == "" {
		return "", nil
	}
	principal, err := s.accounts.Authenticate(c.Request().Context(), key)
	if err != nil {
		return "", err
	}
	entry := &callOf(c.Request().Context()).entry
	entry.Account, entry.Key = principal.Account, principal.Key
	return principal.Account, nil
}

// toPage sends a caller to a page of the payment service: programs get its address, browsers go there.
func toPage(c echo.Context, r billingRequest, page string) error {
	if r.form {
		return c.Redirect(http.StatusSeeOther, page)
	}
	return c.JSON(http.StatusCreated, map[string]string{"url": page})
}

// forBrowser shows a person who sent a form what went wrong as a page; programs get the problem.
func (s *Server) forBrowser(c echo.Context, r billingRequest, err error) error {
	if err == nil || !r.form {
		return err
	}
	return s.sayProblem(c, err)
}

func (s *Server) sayProblem(c echo.Context, err error) error {
	f := s.faultOf(err, c)
	setCode(c, f)
	p := ProblemOf(f, s.base(c), requestID(c))
	return s.billingPage(c, p.Status, "sorry", struct {
		frame
		Problem Problem
	}{frame{p.Title, "en"}, p})
}

// beginCheckout is POST /billing/checkout.
func (s *Server) beginCheckout(c echo.Context) error {
	r, err := readBillingRequest(c)
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	account, err := s.payer(c, r)
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	again, err := idempotencyKey(c)
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	page, cookie, err := s.desk.Begin(c.Request().Context(), billing.SignUp{
		Plan: r.Plan, Name: r.Name, Account: account, Cookie: s.browserCookie(c), Base: s.base(c), Again: again})
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	c.SetCookie(s.newCookie(c, cookie))
	return toPage(c, r, page)
}

// idempotencyKey is the request's Idempotency-Key, "" without one.
func idempotencyKey(c echo.Context) (string, error) {
	keys := c.Request().Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	if len(keys) > 1 || keys[0] == "" || len(keys[0]) > 255 {
		return "", invalid([]fault.Field{{Name: "Idempotency-Key", Detail: "must be one header of 1 to 255 characters"}})
	}
	return keys[0], nil
}

// cookieName is the sign-up's cookie: with the prefix that keeps other hosts from setting it where the
// connection is secure.
func (s *Server) cookieName(c echo.Context) string {
	if strings.HasPrefix(s.base(c), "https:") {
		return "__Host-wr_signup"
	}
	return "wr_signup"
}

func (s *Server) browserCookie(c echo.Context) string {
	cookie, err := c.Cookie(s.cookieName(c))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// cookieTime is how many seconds a sign-up's cookie lasts: as long as the sign-up is remembered.
const cookieTime = 5 * 24 * 3600

func (s *Server) newCookie(c echo.Context, value string) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(c), Value: value, Path: "/", MaxAge: cookieTime, HttpOnly: true,
		Secure: strings.HasPrefix(s.base(c), "https:"), SameSite: http.SameSiteLaxMode}
}

// openPortal is POST /billing/portal.
func (s *Server) openPortal(c echo.Context) error {
	r, err := readBillingRequest(c)
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	account, err := s.payer(c, r)
	if err == nil && account == "" {
		err = fault.New(fault.Unauthorized, "No key was sent. Send it as 'Authorization: Bearer wr_…', or as the form's key.")
	}
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	if _, err := idempotencyKey(c); err != nil { // a good one changes nothing: each page is a new one, and does nothing
		return s.forBrowser(c, r, err)
	}
	page, err := s.desk.Portal(c.Request().Context(), account, s.base(c))
	if err != nil {
		return s.forBrowser(c, r, err)
	}
	return toPage(c, r, page)
}

// finishCheckout is GET /billing/success: where the payment service sends a customer back to.
func (s *Server) finishCheckout(c echo.Context) error {
	welcome, err := s.desk.Finish(c.Request().Context(), c.QueryParam("session_id"), s.browserCookie(c))
	if errors.Is(err, billing.ErrUnfinished) {
		return s.billingPage(c, http.StatusOK, "unfinished", frame{"Not paid yet", "en"})
	}
	if errors.Is(err, billing.ErrExpired) {
		return s.billingPage(c, http.StatusOK, "expired", frame{"This sign-up has ended", "en"})
	}
	if err != nil {
		return s.sayProblem(c, err)
	}
	page := struct {
		frame
		Base, Key, Account string
		Upgraded, Shown    bool
	}{frame{"Your key", "en"}, s.base(c), "", welcome.Account.Name, welcome.Upgraded, welcome.Shown}
	if !welcome.Upgraded && !welcome.Shown {
		page.Key = welcome.Secret.Reveal()
	}
	return s.billingPage(c, http.StatusOK, "welcome", page)
}

// billingPage answers a page that is for one person only.
func (s *Server) billingPage(c echo.Context, code int, name string, v any) error {
	html, err := s.fill(name, v)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", s.formPolicy(c))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex")
	return c.Blob(code, "text/html; charset=utf-8", html)
}

// formPolicy lets our forms lead on to the payment service: browsers hold a form to its policy also
// when its answer sends them elsewhere.
func (s *Server) formPolicy(c echo.Context) string {
	targets := "'self' https:"
	if strings.HasPrefix(s.base(c), "http:") {
		targets += " http:" // on a machine of one's own, where the payment service may be a stand-in
	}
	return strings.Replace(contentPolicy, "form-action 'self'", "form-action "+targets, 1)
}

// showSignUp is the page where signing up begins.
func (s *Server) showSignUp(c echo.Context) error {
	return s.billingPage(c, http.StatusOK, "signup", struct {
		frame
		Plans []billing.Plan
	}{frame{"Sign up", "en"}, s.desk.Plans()})
}

// receivePaymentEvent is POST /billing/stripe-webhook. It answers when the event is kept; what it asks
// for is done later.
func (s *Server) receivePaymentEvent(c echo.Context) error {
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, maxBody))
	if err != nil {
		return bodyFault(err)
	}
	if err := s.desk.Receive(c.Request().Context(), body, c.Request().Header.Get("Stripe-Signature")); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"received": true})
}
