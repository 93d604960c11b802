package refusal

import (
	"net/http"
	"strconv"
	"strings"
)

// byHeader judges by a header that names what the site did, whatever the status.
func byHeader(a Answer) (Finding, bool) {
	h := a.Header
	switch {
	case is(h, "Cf-Mitigated", "challenge"):
		return refused(Challenge, "cloudflare", "header cf-mitigated"), true
	case is(h, "X-Vercel-Mitigated", "challenge"):
		return refused(Challenge, "vercel", "header x-vercel-mitigated"), true
	case is(h, "X-Vercel-Mitigated", "deny"):
		return refused(Forbidden, "vercel", "header x-vercel-mitigated"), true
	case is(h, "X-Amzn-Waf-Action", "challenge"), is(h, "X-Amzn-Waf-Action", "captcha"):
		return refused(Challenge, "aws-waf", "header x-amzn-waf-action"), true
	case a.Status == http.StatusTooManyRequests && h.Get("X-Kpsdk-Ct") != "":
		return refused(Challenge, "kasada", "header x-kpsdk-ct"), true
	case h.Get("X-Sucuri-Block") != "":
		return refused(Forbidden, "sucuri", "header x-sucuri-block"), true
	case h.Get("Crawler-Error") != "" && a.Status != http.StatusPaymentRequired:
		return refused(Forbidden, "cloudflare", "header crawler-error"), true
	}
	return Finding{}, false
}

func is(h http.Header, key, value string) bool {
	return strings.EqualFold(strings.TrimSpace(h.Get(key)), value)
}

// byStatus judges by the status alone; ok is false for a status that carries a page.
func byStatus(a Answer) (f Finding, ok bool) {
	f.Mark = "status " + strconv.Itoa(a.Status)
	f.Class, f.Reason = statusReason(a)
	return f, f.Class != OK
}

func statusReason(a Answer) (Class, string) {
	switch s := a.Status; {
	case s >= 200 && s <= 299:
		return OK, ""
	case s == http.StatusUnauthorized && wantsLicence(a.Header):
		return TargetRefused, PaymentRequired
	case s == http.StatusUnauthorized:
		return TargetRefused, Login
	case s == http.StatusPaymentRequired:
		return TargetRefused, PaymentRequired
	case s == http.StatusForbidden, s == http.StatusNotAcceptable, s == 999:
		return TargetRefused, Forbidden
	case s == http.StatusTooManyRequests:
		return TargetRefused, RateLimited
	case s == http.StatusUnavailableForLegalReasons:
		return TargetRefused, Legal
	case s == http.StatusNotFound:
		return TargetError, NotFound
	case s == http.StatusGone:
		return TargetError, Gone
	case s >= 500:
		return TargetError, ServerError
	}
	return TargetError, ClientError
}

// wantsLicence is true for a challenge of the scheme License (RSL): a licence is wanted, no login.
func wantsLicence(h http.Header) bool {
	for _, v := range h.Values("Www-Authenticate") {
		scheme, _, _ := strings.Cut(strings.TrimSpace(v), " ")
		if strings.EqualFold(scheme, "License") {
			return true
		}
	}
	return false
}
