package refusal

import (
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// loginNames are path segments, without an extension, of pages where one logs in.
var loginNames = set(
	"login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "sso", "adfs", "saml", "saml2", "wp-login", "servicelogin", "userlogin", "loginpage",
	"inloggen", "aanmelden", "bejelentkezes", "bejelentkezés", "belepes", "belépés", "anmelden", "anmeldung", "einloggen", "connexion", "iniciar-sesion", "acceder",
	"accedi", "logga-in", "zaloguj", "logowanie", "prihlaseni", "prihlasenie", "authenticate",
)

// isLogin is true for the address of a page where one logs in.
func isLogin(u *url.URL) bool {
	if u == nil {
		return false
	}
	path := strings.ToLower(u.Path)
	if strings.Contains(path, "oauth2/authorize") || strings.Contains(path, "oauth2/v2.0/authorize") || strings.Contains(path, "oauth/authorize") {
		return true
	}
	for segment := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(segment, ".")
		if loginNames[name] {
			return true
		}
	}
	query := u.Query()
	return query.Has("SAMLRequest") || strings.HasPrefix(query.Get("wa"), "wsignin")
}

// loginHosts are first labels of hosts where one logs in.
var loginHosts = set("login", "signin", "sso", "idp", "auth", "accounts", "adfs", "inloggen")

func loginHost(u *url.URL) bool {
	label, _, _ := strings.Cut(strings.ToLower(u.Hostname()), ".")
	return loginHosts[label]
}

// bySentToLogin finds a reader who asked for a page and was sent to log in.
func (v *view) bySentToLogin(a Answer) (Finding, bool) {
	asked, final := address(a.URL), address(a.FinalURL)
	if asked == nil || final == nil || a.FinalURL == "" || isLogin(asked) || !v.thin() {
		return Finding{}, false
	}
	elsewhere := loginHost(final) && !strings.EqualFold(final.Hostname(), asked.Hostname())
	explains := v.content >= loginPage && len(v.forms) == 0 // a page about logging in
	if isLogin(final) && !explains || elsewhere && (len(v.passwords) > 0 || v.onlyForm()) {
		return refused(Login, "", "sent to a login page"), true
	}
	return Finding{}, false
}

// onlyForm is true for a page with a form to fill in and little else.
func (v *view) onlyForm() bool { return v.content < loginPage && len(v.forms) > 0 && len(v.fields) > 0 }

// byForwardToLogin finds a tiny page that takes its reader to log in.
func (v *view) byForwardToLogin(a Answer) (Finding, bool) {
	if v.content >= tinyPage {
		return Finding{}, false
	}
	asked := address(a.URL)
	for _, to := range []string{v.refresh, refreshAddress(a.Header.Get("Refresh"))} {
		if u := address(to); to != "" && u != nil && isLogin(u) && !isLogin(asked) {
			return refused(Login, "", "refresh to a login page"), true
		}
	}
	for n := range v.tree.Descendants(dom.Root) {
		if v.tree.Tag(n) == atom.Input && v.signsIn(n) {
			return refused(Login, "", "form that posts itself to a login page"), true
		}
	}
	return Finding{}, false
}

// signsIn is true for a hidden field of single sign-on by SAML, WS-Federation or OpenID Connect.
func (v *view) signsIn(n dom.ID) bool {
	name := v.tree.Attr(n, "name")
	return name == "SAMLRequest" || name == "wa" && strings.HasPrefix(v.tree.Attr(n, "value"), "wsignin")
}

// byPassword finds a page whose content is a form with a password.
func (v *view) byPassword(Answer) (Finding, bool) {
	if v.content >= loginPage || v.shown >= thinAll {
		return Finding{}, false
	}
	for _, n := range v.passwords {
		if box := v.boxOf(n); box == 0 || v.alone(box) {
			return refused(Login, "", "a password field on a short page"), true
		}
	}
	return Finding{}, false
}

// boxOf is the outermost element around n that is named like something over or beside the page.
func (v *view) boxOf(n dom.ID) (box dom.ID) {
	for p := v.tree.Parent(n); p != 0; p = v.tree.Parent(p) {
		if v.tree.Kind(p) == dom.Element && namedLike(v.tree, p, boxNames) {
			box = p
		}
	}
	return box
}

// alone is true when next to nothing is shown outside box: it is the page, whatever its name.
func (v *view) alone(box dom.ID) bool {
	inside, _ := v.visible(box)
	return v.shown-inside < consentRest
}
