package refusal

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Bounds on the characters of a page, from a study of real pages: what is longer is a page.
const (
	thinPage    = 900 // outside header, navigation, sidebar and footer; in noscript too
	thinAll     = 4000
	clearPage   = 4 * thinPage // even if some of it is hidden by rules
	loginPage   = 500
	widgetPage  = 500
	denialPage  = 400
	denialWord  = 150 // of a page that says no in a single word
	tinyPage    = 200
	emptyPage   = 100
	hiddenPaid  = 200 // of a paid part that is there but not shown
	consentRest = 40  // beside a consent box
)

func (v *view) thin() bool { return v.content < thinPage && v.shown < thinAll }

// byChallenge looks for the marks of those who stand before a site. Every mark is an element, an
// address that is loaded or a variable that is set: none is a word of the text.
func (v *view) byChallenge(a Answer) (Finding, bool) {
	if !v.thin() {
		return Finding{}, false
	}
	steps := []func(Answer) (Finding, bool){v.byAnubis, v.byInline, v.byLoaded, v.byElement, v.byRefresh, v.byTitle, v.byWidget}
	for _, step := range steps {
		if f, ok := step(a); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// inlineMark is a variable that only a vendor's interstitial page sets.
type inlineMark struct {
	vendor string
	sets   string // name that is followed by = in a script
	also   string // must stand in the same script, or be the host of a loaded one
}

var inlineMarks = []inlineMark{
	{"cloudflare", "_cf_chl_opt", ""},
	{"aws-waf", "gokuProps", "awswaf.com"},
	{"datadome", "dd", "captcha-delivery.com"},
	{"sucuri", "sucuri_cloudproxy_js", ""},
}

// byInline reads the scripts of the page itself.
func (v *view) byInline(Answer) (Finding, bool) {
	for _, n := range v.scripts {
		if !runs(v.tree, n) {
			continue
		}
		code := v.tree.Text(n)
		for _, m := range inlineMarks {
			if sets(code, m.sets) && (m.also == "" || strings.Contains(code, m.also) || v.loadsFrom(m.also)) {
				return refused(Challenge, m.vendor, "script sets "+m.sets), true
			}
		}
	}
	return Finding{}, false
}

// runs is true for a script that a browser would run: data in a script element is no mark.
func runs(t *dom.Tree, n dom.ID) bool {
	kind := strings.ToLower(strings.TrimSpace(t.Attr(n, "type")))
	return kind == "" || kind == "module" || strings.Contains(kind, "javascript")
}

// sets is true when code assigns to name: `name =`, `var name=`, `window.name=`.
func sets(code, name string) bool {
	for rest := code; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, after := rest[:i], strings.TrimLeft(rest[i+len(name):], " \t\n")
		if !endsInName(before) && strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") {
			return true
		}
		rest = rest[i+len(name):]
	}
}

func endsInName(s string) bool {
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// loadsFrom is true when a script comes from the domain.
func (v *view) loadsFrom(domain string) bool {
	for _, n := range v.scripts {
		if u := address(v.tree.Attr(n, "src")); u != nil && under(u, domain) {
			return true
		}
	}
	return false
}

func under(u *url.URL, domain string) bool {
	host := strings.ToLower(u.Hostname())
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// loadedMark is an address that only an interstitial page loads, as a script or a frame.
type loadedMark struct {
	vendor, domain, path string // domain "" is any; path is a part of path and query
	frame                bool   // only as a frame
}

var loadedMarks = []loadedMark{
	{vendor: "cloudflare", path: "/cdn-cgi/challenge-platform/", frame: false},
	{vendor: "vercel", path: "/.well-known/vercel/security/"},
	{vendor: "datadome", domain: "captcha-delivery.com"},
	{vendor: "human", domain: "captcha.px-cdn.net"},
	{vendor: "human", domain: "captcha.px-cloud.net"},
	{vendor: "imperva", path: "/_Incapsula_Resource?CWUDNSAI", frame: true},
	{vendor: "akamai", path: "/_sec/cp_challenge/"},
	{vendor: "ddos-guard", path: "/.well-known/ddos-guard/"},
	{vendor: "fastly", path: "/_fs-ch-"},
	{vendor: "radware", domain: "captcha.perfdrive.com"},
	{vendor: "radware", domain: "validate.perfdrive.com"},
	{vendor: "go-away", path: "/.well-known/.git.gammaspectra.live/git/go-away/"},
}

// byLoaded reads the addresses of scripts and frames.
func (v *view) byLoaded(a Answer) (Finding, bool) {
	if u := address(a.FinalURL); u != nil && (under(u, "validate.perfdrive.com") || under(u, "captcha.perfdrive.com")) {
		return refused(Challenge, "radware", "address "+u.Hostname()), true
	}
	for _, n := range v.scripts {
		if f, ok := loadedMarkOf(v.tree.Attr(n, "src"), false); ok {
			return f, true
		}
	}
	for _, n := range v.frames {
		if f, ok := loadedMarkOf(v.tree.Attr(n, "src"), true); ok {
			return f, true
		}
	}
	return Finding{}, false
}

func loadedMarkOf(src string, frame bool) (Finding, bool) {
	u := address(src)
	if u == nil || src == "" {
		return Finding{}, false
	}
	path := u.RequestURI()
	if kasadaScript(u.Path) {
		return refused(Challenge, "kasada", "script ips.js"), true
	}
	for _, m := range loadedMarks {
		if m.frame && !frame || m.domain != "" && !under(u, m.domain) || !strings.Contains(path, m.path) {
			continue
		}
		if m.vendor == "cloudflare" && !strings.Contains(path, "/orchestrate/") {
			continue // the same folder serves the background script of ordinary pages
		}
		return refused(Challenge, m.vendor, "loads "+m.domain+m.path), true
	}
	return Finding{}, false
}

// kasadaScript is true for /UUID/UUID/ips.js; ordinary pages load p.js from there.
func kasadaScript(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	return len(parts) == 3 && len(parts[0]) == 36 && len(parts[1]) == 36 && parts[2] == "ips.js"
}

// byElement reads elements that only interstitial pages have.
func (v *view) byElement(Answer) (Finding, bool) {
	switch {
	case len(v.marked[humanBox]) > 0:
		return refused(Challenge, "human", "element px-captcha"), true
	case len(v.marked[akamaiBox]) > 0:
		return refused(Challenge, "akamai", "element sec-if-cpt-container"), true
	}
	for _, n := range v.forms {
		if strings.Contains(v.tree.Attr(n, "action"), "__cf_chl") {
			return refused(Challenge, "cloudflare", "form __cf_chl"), true
		}
	}
	return Finding{}, false
}

// byRefresh reads where the page sends its reader by itself.
func (v *view) byRefresh(a Answer) (Finding, bool) {
	for _, to := range []string{v.refresh, refreshAddress(a.Header.Get("Refresh"))} {
		switch {
		case to == "":
		case strings.Contains(to, "bm-verify="):
			return refused(Challenge, "akamai", "refresh bm-verify"), true
		case strings.Contains(to, "/.within.website/") && strings.Contains(to, "pass-challenge"):
			return refused(Challenge, "anubis", "refresh pass-challenge"), true
		case strings.Contains(to, "__goaway_"), strings.Contains(to, "/git/go-away/"):
			return refused(Challenge, "go-away", "refresh go-away"), true
		case strings.Contains(to, "perfdrive.com/"):
			return refused(Challenge, "radware", "refresh perfdrive.com"), true
		}
	}
	return Finding{}, false
}

// byAnubis reads the data that Anubis leaves in the page: an object is a challenge, null a denial.
func (v *view) byAnubis(Answer) (Finding, bool) {
	for _, n := range v.marked[anubisScript] {
		if v.tree.Tag(n) != atom.Script {
			continue
		}
		switch data := strings.TrimSpace(v.tree.Text(n)); {
		case strings.HasPrefix(data, "{"):
			return refused(Challenge, "anubis", "script anubis_challenge"), true
		case data == "null":
			return refused(BlockedPage, "anubis", "script anubis_challenge"), true
		}
	}
	return Finding{}, false
}

// byTitle knows two vendors by a whole title, on a page that holds nothing else.
func (v *view) byTitle(Answer) (Finding, bool) {
	if v.content >= denialPage || len(v.titles) == 0 {
		return Finding{}, false
	}
	switch title := strings.ToLower(strings.TrimRight(v.titles[0], ". ")); {
	case title == "pardon our interruption":
		return refused(Challenge, "imperva", "title"), true
	case strings.HasPrefix(title, "sucuri website firewall"):
		return refused(BlockedPage, "sucuri", "title"), true
	}
	return Finding{}, false
}

// human are words, and askings phrases, with which a page asks whether its reader is a person.
var (
	human = set(
		"human", "robot", "robots", "bot", "captcha", "automated", "mens", "menselijk", "geautomatiseerd", "beveiligingscontrole", "ember", "mensch",
		"sicherheitsprüfung", "humain", "humano", "umano", "człowiek", "člověk", "człowiekiem", "člověkem", "robotem", "roboter", "robottól",
	)
	askings = []string{"unusual traffic", "security check", "security verification", "biztonsági ellenőrzés", "contrôle de sécurité", "controllo di sicurezza", "control de seguridad"}
)

// byWidget finds a page that holds only a question for people: a widget, no other field, little
// text, and that text says so.
func (v *view) byWidget(Answer) (Finding, bool) {
	if v.content >= widgetPage || len(v.marked[widget]) == 0 || len(v.fields) > 0 {
		return Finding{}, false
	}
	text := v.words()
	asks := has(text, askings)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		asks = asks || human[word]
	}
	if !asks {
		return Finding{}, false
	}
	return refused(Challenge, "", "a widget for people, alone"), true
}
