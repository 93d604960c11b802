package refusal

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// denials are whole titles or headings that say no.
var denials = set(
	"access denied", "access forbidden", "access is denied", "access to this page has been denied", "access blocked",
	"request rejected", "request blocked", "the request is blocked", "your request has been blocked", "you have been blocked",
	"sorry, you have been blocked", "403 forbidden", "forbidden", "error 403", "403", "403 access denied", "error 403 forbidden",
	"http error 403", "not authorized", "unauthorized", "401 unauthorized", "permission denied", "blocked", "you are blocked",
	"toegang geweigerd", "toegang verboden", "geen toegang", "toegang geblokkeerd", "verzoek geweigerd", "verzoek geblokkeerd", "u bent geblokkeerd",
	"hozzáférés megtagadva", "a hozzáférés megtagadva", "hozzáférés letiltva", "hozzáférés blokkolva", "kérés elutasítva", "a kérés elutasítva", "tiltott hozzáférés",
	"zugriff verweigert", "zugriff gesperrt", "anfrage abgelehnt", "anfrage blockiert", "accès refusé", "accès interdit", "accès bloqué", "requête rejetée",
	"acceso denegado", "acceso prohibido", "accesso negato", "accesso vietato", "acesso negado", "dostęp zabroniony", "odmowa dostępu", "přístup odepřen",
	"prístup zamietnutý", "acces interzis", "adgang nægtet", "åtkomst nekad", "ingen tilgang", "pääsy estetty",
)

// absences are whole titles or headings that say that there is no such page.
var absences = set(
	"404", "404 not found", "not found", "page not found", "error 404", "404 error", "http 404", "this page could not be found", "page does not exist",
	"the page you requested could not be found", "the page you are looking for could not be found", "page cannot be found", "page can't be found",
	"that page can't be found", "oops! that page can't be found", "nothing found", "this page doesn't exist", "this page does not exist", "this page isn't available",
	"sorry, this page isn't available", "this page can't be found", "we couldn't find that page", "we can't find that page", "the page cannot be found",
	"pagina niet gevonden", "deze pagina bestaat niet", "pagina bestaat niet", "de pagina is niet gevonden", "niet gevonden", "deze pagina is niet gevonden",
	"deze pagina kan niet worden gevonden", "pagina kan niet worden gevonden", "de pagina bestaat niet", "deze pagina bestaat niet meer", "pagina niet beschikbaar",
	"fout 404", "404 fout", "oldal nem található", "az oldal nem található", "a keresett oldal nem található", "nem található", "hiba 404", "404 hiba", "404-es hiba",
	"a kért oldal nem található", "az oldal nem létezik", "ez az oldal nem létezik", "a keresett oldal nem létezik",
	"seite nicht gefunden", "nicht gefunden", "die seite wurde nicht gefunden", "diese seite existiert nicht", "fehler 404", "404 fehler", "page introuvable", "page non trouvée",
	"cette page n'existe pas", "cette page est introuvable", "erreur 404", "404 erreur", "página no encontrada", "no encontrado", "pagina non trovata", "página não encontrada",
	"nie znaleziono strony", "strona nie została znaleziona", "stránka nenalezena", "stránka nebyla nalezena", "stránka sa nenašla", "pagina nu a fost găsită",
	"siden blev ikke fundet", "sidan hittades inte", "sidan kunde inte hittas", "siden finnes ikke", "sivua ei löytynyt",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// says is the one of names that the title, or a part of it beside the site's name, or a heading is; ""
// for none. A longer title that only contains one is about something else.
func (v *view) says(names map[string]bool) string {
	said := append([]string{}, v.heads...)
	for _, title := range v.titles {
		said = append(said, title)
		for _, sep := range []string{" | ", " - ", " – ", " — ", " · ", " :: ", " » "} {
			if first, _, ok := strings.Cut(title, sep); ok {
				said = append(said, first, title[strings.LastIndex(title, sep)+len(sep):])
			}
		}
	}
	for _, s := range said {
		if s = plain(s); names[s] {
			return s
		}
	}
	return ""
}

// plain is s in lower case without the marks around it, and without a number in front: "404 – Page
// not found!" is "page not found".
func plain(s string) string {
	s = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "’", "'"))
	s = strings.Trim(s, " .!?…:;-–—|\"'()")
	if rest, ok := strings.CutPrefix(s, "404"); ok && rest != "" {
		rest = strings.TrimLeft(rest, " .!:;-–—|(")
		if absences[rest] {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(s, "403"); ok && rest != "" {
		rest = strings.TrimLeft(rest, " .!:;-–—|(")
		if denials[rest] {
			return rest
		}
	}
	for _, sigh := range []string{"oops", "oeps", "sorry", "helaas", "hoppá", "sajnáljuk", "whoops"} {
		if rest, ok := strings.CutPrefix(s, sigh); ok {
			return strings.TrimLeft(rest, " .!,…:-–—")
		}
	}
	return s
}

// byDenial finds a denial that was served as a page.
func (v *view) byDenial(Answer) (Finding, bool) {
	if v.content >= denialPage || v.shown >= thinAll {
		return Finding{}, false
	}
	if said := v.says(denials); strings.Contains(said, " ") || said != "" && v.content < denialWord {
		return refused(BlockedPage, "", "a short page titled as a denial"), true
	}
	if words := v.words(); strings.Contains(words, "the requested url was rejected") && strings.Contains(words, "support id") {
		return refused(BlockedPage, "f5", "a short page with a support ID"), true
	}
	return Finding{}, false
}

// warnings are what a caller should know about a page that is read.
func (v *view) warnings() []string {
	var w []string
	if v.isAbsence() {
		w = append(w, Soft404)
	}
	if v.needsScript() {
		w = append(w, NeedsJavaScript)
	}
	if v.paid.declared() {
		w = append(w, DeclaredNotFree)
	}
	return w
}

func (v *view) isAbsence() bool { return v.thin() && v.says(absences) != "" }

// needsScript is true for a page without text that has a script and an empty place to fill, or that
// tells readers without script that they need one.
func (v *view) needsScript() bool {
	if v.bare >= emptyPage || v.content >= thinPage || len(v.scripts) == 0 {
		return false
	}
	loads := false
	for _, n := range v.scripts {
		loads = loads || runs(v.tree, n)
	}
	return loads && (v.emptyRoot() || v.tellsOfScript())
}

// emptyRoot finds the empty element that an application draws itself into.
func (v *view) emptyRoot() bool {
	t := v.tree
	for n := range t.Descendants(dom.Root) {
		if t.Kind(n) != dom.Element || v.is(n, hidden|styled|mute|fallback) {
			continue
		}
		custom := strings.Contains(t.Name(n), "-")
		if (custom || t.Tag(n) == atom.Div || t.Tag(n) == atom.Main) && (custom || t.HasAttr(n, "id")) && blank(t, n) {
			return true
		}
	}
	return false
}

// blank is true when n holds no element and no text.
func blank(t *dom.Tree, n dom.ID) bool {
	for c := t.FirstChild(n); c != 0; c = t.Next(c) {
		if t.Kind(c) == dom.Element || strings.TrimSpace(t.Data(c)) != "" && t.Kind(c) == dom.Text {
			return false
		}
	}
	return true
}

func (v *view) tellsOfScript() bool {
	return strings.Contains(v.words(), "javascript")
}
