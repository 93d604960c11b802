package refusal

import (
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// isConsentHost is true for hosts that only ask for consent.
func isConsentHost(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	label, domain, _ := strings.Cut(host, ".")
	switch label {
	case "consent":
		return domain == "youtube.com" || domain == "yahoo.com" || strings.HasPrefix(domain, "google.")
	case "guce":
		return true
	case "myprivacy":
		return strings.HasPrefix(domain, "dpgmedia.")
	}
	return false
}

// bySentToConsent finds a reader who was sent to a gate that asks for consent.
func (v *view) bySentToConsent(a Answer) (Finding, bool) {
	final := address(a.FinalURL)
	if final == nil || a.FinalURL == "" {
		final = address(a.URL)
	}
	if final == nil {
		return Finding{}, false
	}
	if isConsentHost(final) {
		return refused(Consent, "", "address "+final.Hostname()), true
	}
	asked := address(a.URL)
	moved := asked != nil && !strings.EqualFold(asked.Hostname(), final.Hostname())
	label, _, _ := strings.Cut(strings.ToLower(final.Hostname()), ".")
	if moved && v.thin() && (label == "consent" || label == "myprivacy" || strings.Contains(final.RawQuery, "privacygate-confirm")) {
		return refused(Consent, "", "sent to "+final.Hostname()), true
	}
	return Finding{}, false
}

// byConsentPage finds a page that holds only the question about cookies: a box named for it, with
// something to press, and next to nothing beside it.
func (v *view) byConsentPage(a Answer) (Finding, bool) {
	if !v.thin() || v.content == 0 || aboutCookies(address(a.URL)) {
		return Finding{}, false
	}
	looked := 0
	for n := range v.tree.Descendants(dom.Root) {
		if v.tree.Kind(n) != dom.Element || v.is(n, hidden|styled|mute|fallback) || !namedLike(v.tree, n, consentNames) {
			continue
		}
		if looked++; looked > mostMarked {
			break
		}
		inside, _ := v.visible(n)
		if inside > 0 && v.shown-inside < consentRest && v.presses(n) && !v.reads(n) && has(v.words(), consentWords) {
			return refused(Consent, "", "a page that holds only the question about cookies"), true
		}
	}
	if v.asksOnlyConsent() {
		return refused(Consent, "", "a page that holds only the question about cookies"), true
	}
	return Finding{}, false
}

// aboutCookies is true for the address of a page about cookies: there the question is the content.
func aboutCookies(u *url.URL) bool {
	if u == nil {
		return false
	}
	path := strings.ToLower(u.Path)
	return strings.Contains(path, "cookie") || strings.Contains(path, "privacy") || strings.Contains(path, "suti")
}

// presses is true when something below n can be pressed.
func (v *view) presses(n dom.ID) bool {
	for c := range v.tree.Descendants(n) {
		if v.isButton(c) {
			return true
		}
	}
	return false
}

func (v *view) isButton(n dom.ID) bool {
	switch v.tree.Tag(n) {
	case atom.Button:
		return true
	case atom.Input:
		kind := strings.ToLower(v.tree.Attr(n, "type"))
		return kind == "submit" || kind == "button"
	}
	return strings.EqualFold(v.tree.Attr(n, "role"), "button")
}

// reads is true when an article or main element stands below n: a page, not a question.
func (v *view) reads(n dom.ID) bool {
	return v.tree.First(n, atom.Article) != 0
}

var (
	consentWords = []string{"cookie", "consent", "privacy", "toestemming", "süti", "sütik", "hozzájárul", "zustimmung", "einwilligung", "datenschutz", "consentement", "consentimiento", "consenso"}
	acceptWords  = []string{"accept", "akkoord", "agree", "toestaan", "elfogad", "zustimmen", "akzeptier", "j'accepte", "aceptar", "accett", "aceitar", "zgadzam", "souhlas", "allow all", "godkänn"}
)

// asksOnlyConsent finds the question without a named box: the heading is about it, every button
// answers it, every link explains it, and there is no other field.
func (v *view) asksOnlyConsent() bool {
	if len(v.fields) > 0 || !v.headsAbout(consentWords) {
		return false
	}
	accepts := false
	t := v.tree
	for n := range t.Descendants(dom.Root) {
		if t.Kind(n) != dom.Element || v.is(n, hidden|styled|mute|fallback) {
			continue
		}
		if v.isButton(n) && has(v.label(n)+t.Attr(n, "value"), acceptWords) {
			accepts = true
		}
		if t.Tag(n) == atom.A && t.HasAttr(n, "href") && !has(v.label(n)+t.Attr(n, "href"), consentWords) && !has(v.label(n), acceptWords) {
			return false
		}
	}
	return accepts
}

func (v *view) headsAbout(words []string) bool {
	if len(v.heads) > 0 {
		return has(v.heads[0], words)
	}
	return len(v.titles) > 0 && has(v.titles[0], words)
}

func has(s string, words []string) bool {
	s = strings.ToLower(s)
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
