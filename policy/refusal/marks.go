package refusal

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// mark is a kind of element that a class, an id or an attribute gives away.
type mark uint8

const (
	widget       mark = iota + 1 // a question for people: reCAPTCHA, hCaptcha, Turnstile …
	humanBox                     // HUMAN's challenge
	akamaiBox                    // Akamai's pause
	sureGate                     // a paywall vendor's gate
	likelyGate                   // an element named as a gate: it may also wrap the paid text
	notGranted                   // AMP: what is shown without a subscription
	anubisScript                 // Anubis' challenge as data
)

// marks are the ids and class names looked for, as they are written.
var marks = map[string]mark{
	"g-recaptcha": widget, "h-captcha": widget, "cf-turnstile": widget, "frc-captcha": widget, "mtcaptcha": widget,
	"geetest_captcha": widget,
	"px-captcha":      humanBox,

	"sec-if-cpt-container": akamaiBox, "sec-cpt-if": akamaiBox,

	"anubis_challenge": anubisScript,

	"poool-widget": sureGate, "leaky_paywall_message": sureGate, "zephr-paywall": sureGate, "zephr-article-gate": sureGate,
	"tp-container-inner": likelyGate, "paywall": likelyGate, "paywall-message": likelyGate, "paywall-overlay": likelyGate,
	"paywall-container": likelyGate, "paywall-box": likelyGate, "pico-paywall": likelyGate, "js-paywall": likelyGate,
	"article-paywall": likelyGate, "c-paywall": likelyGate, "subscriber-wall": likelyGate, "subscribe-wall": likelyGate,
	"subscription-wall": likelyGate, "regwall": likelyGate, "tp-modal": likelyGate, "piano-paywall": likelyGate,
	"premium-wall": likelyGate, "memberful-paywall": likelyGate, "pmpro_content_message": likelyGate, "steady-paywall": likelyGate,
}

// Names that contain one of these are about cookies (consent) or lie over or beside the page (box).
var (
	consentNames = []string{"cookie", "consent", "onetrust", "didomi", "usercentrics", "qc-cmp", "gdpr", "sp_message", "privacy-gate", "privacygate", "privacy-wall", "cmpbox"}
	boxNames     = []string{"modal", "popup", "pop-up", "dropdown", "offcanvas", "off-canvas", "drawer", "lightbox", "topbar", "top-bar", "navbar", "toolbar", "menu", "sidebar", "side-bar", "header", "footer", "overlay", "widget"}
)

var chromeRole = map[string]bool{
	"banner": true, "navigation": true, "complementary": true, "contentinfo": true, "dialog": true, "alertdialog": true, "search": true,
}

// namedLike is true when the id or a class of n contains one of the names. Elements that hold the
// whole page are never meant.
func namedLike(t *dom.Tree, n dom.ID, names []string) bool {
	switch t.Tag(n) {
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return false
	}
	for _, a := range t.Attrs(n) {
		if a.Key != "id" && a.Key != "class" {
			continue
		}
		name := strings.ToLower(a.Val)
		for _, m := range names {
			if strings.Contains(name, m) {
				return true
			}
		}
	}
	return false
}
