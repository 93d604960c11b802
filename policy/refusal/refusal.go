// Package refusal says whether an answer is the page that was asked for, or a refusal: a challenge,
// a login, a paywall, a consent wall, a denial. It judges by header, status and structure, never by
// words alone, and in one pass over the tree.
package refusal

import (
	"net/http"
	"strings"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Answer is the last answer of a chain of redirects.
type Answer struct {
	URL       string // the address asked for
	FinalURL  string // the address that answered; "" is the same
	Status    int
	Header    http.Header
	MediaType string    // lower case, without parameters; "" is taken from Header
	Tree      *dom.Tree // of HTML and XHTML; nil when the body was not parsed
	Body      []byte    // looked at only when there is no Tree
}

// Class is what an answer is.
type Class string

// The classes.
const (
	OK            Class = "ok"
	TargetRefused Class = "target_refused"
	TargetError   Class = "target_error"
)

// Reasons of TargetRefused.
const (
	Forbidden       = "forbidden"
	RateLimited     = "rate_limited"
	Challenge       = "challenge"
	Login           = "login"
	Paywall         = "paywall"
	PaymentRequired = "payment_required"
	Consent         = "consent"
	Legal           = "legal"
	BlockedPage     = "blocked_page"
)

// Reasons of TargetError.
const (
	NotFound    = "not_found"
	Gone        = "gone"
	ClientError = "client_error"
	ServerError = "server_error"
)

// Warnings of OK.
const (
	Soft404         = "soft_404"
	NeedsJavaScript = "needs_javascript"
	DeclaredNotFree = "declared_not_free"
)

// Finding is a judgement of an answer. The zero Finding is of no class: neither read nor refused.
type Finding struct {
	Class    Class
	Reason   string   // of TargetRefused and TargetError
	Vendor   string   // whose mark decided, for people to read; may be empty
	Mark     string   // what decided: "status 403", "header cf-mitigated", "script window._cf_chl_opt"
	Warnings []string // of OK
}

// Recognise judges an answer. The order: a header that names the action, the status (which marks in
// the body may refine to a challenge), then the structure of a page that came with a good status.
// A redirect (3xx) is no answer yet and is a client error here.
func Recognise(a Answer) Finding {
	if f, ok := byHeader(a); ok {
		return f
	}
	f, done := byStatus(a)
	if done && !refinable[a.Status] {
		return f
	}
	v := pageOf(a)
	if v == nil {
		return f
	}
	if done {
		if c, ok := v.byChallenge(a); ok && c.Reason == Challenge {
			return c
		}
		return f
	}
	return v.page(a)
}

// refinable are the statuses with which challenges are served.
var refinable = map[int]bool{
	http.StatusForbidden: true, http.StatusMethodNotAllowed: true, http.StatusTooManyRequests: true, http.StatusServiceUnavailable: true,
}

// page judges a page that came with a good status.
func (v *view) page(a Answer) Finding {
	steps := []func(Answer) (Finding, bool){
		v.byChallenge, v.bySentToConsent, v.bySentToLogin, v.byForwardToLogin, v.byPaywall, v.byPassword, v.byConsentPage, v.byDenial,
	}
	for _, step := range steps {
		if f, ok := step(a); ok {
			return f
		}
	}
	return Finding{Class: OK, Warnings: v.warnings()}
}

// mostUnparsed bounds a body that is parsed here because the caller did not.
const mostUnparsed = 1 << 20

// pageOf is the view of an HTML answer; nil when there is no page to look at.
func pageOf(a Answer) *view {
	if !isHTML(a) {
		return nil
	}
	if a.Tree == nil {
		if len(a.Body) == 0 || len(a.Body) > mostUnparsed {
			return nil
		}
		a.Tree = dom.Parse(a.Body, dom.Limits{})
	}
	return newView(a.Tree)
}

func isHTML(a Answer) bool {
	kind := a.MediaType
	if kind == "" {
		kind, _, _ = strings.Cut(a.Header.Get("Content-Type"), ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind == "text/html" || kind == "application/xhtml+xml" || kind == "" && a.Tree != nil
}

func refused(reason, vendor, mark string) Finding {
	return Finding{Class: TargetRefused, Reason: reason, Vendor: vendor, Mark: mark}
}
