package refusal

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Bounds on structured data, which a site may make as large as it likes.
const (
	mostJSON      = 512 << 10 // bytes of one script
	mostJSONAll   = 2 << 20
	mostJSONNodes = 20_000
	mostSelectors = 8
	mostSelector  = 200 // bytes
	mostParts     = 1000
)

// declaration is what a page says in schema.org's words about being free.
type declaration struct {
	notFree, free bool
	selectors     []string // of the paid parts
	looked        int      // bytes of JSON looked at
}

func (d *declaration) declared() bool { return d.notFree }

// note takes a value of isAccessibleForFree: a boolean, or the same as text.
func (d *declaration) note(value any) (notFree bool) {
	text, _ := value.(string)
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		text = text[i+1:] // schema.org/False
	}
	switch {
	case value == false, strings.EqualFold(strings.TrimSpace(text), "false"):
		d.notFree, notFree = true, true
	case value == true, strings.EqualFold(strings.TrimSpace(text), "true"):
		d.free = true
	}
	return notFree
}

// read looks through a block of JSON-LD.
func (d *declaration) read(text string) {
	if len(text) > mostJSON || d.looked > mostJSONAll || !strings.Contains(text, "isAccessibleForFree") {
		return
	}
	d.looked += len(text)
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return
	}
	todo := []any{value}
	for looked := 0; len(todo) > 0 && looked < mostJSONNodes; looked++ {
		last := len(todo) - 1
		next := todo[last]
		todo = todo[:last]
		switch v := next.(type) {
		case []any:
			todo = append(todo, v...)
		case map[string]any:
			d.object(v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				todo = append(todo, v[name])
			}
		}
	}
}

func (d *declaration) object(o map[string]any) {
	if !d.note(o["isAccessibleForFree"]) {
		return
	}
	switch s := o["cssSelector"].(type) {
	case string:
		d.selector(s)
	case []any:
		for _, one := range s {
			if text, ok := one.(string); ok {
				d.selector(text)
			}
		}
	}
}

func (d *declaration) selector(s string) {
	for one := range strings.SplitSeq(s, ",") {
		if one = strings.TrimSpace(one); one != "" && len(one) <= mostSelector && len(d.selectors) < mostSelectors {
			d.selectors = append(d.selectors, one)
		}
	}
}

// byPaywall finds a page that keeps its content for subscribers.
func (v *view) byPaywall(Answer) (Finding, bool) {
	if v.paid.notFree {
		if mark := v.withheld(); mark != "" {
			return refused(Paywall, "", mark), true
		}
		return Finding{}, false
	}
	if !v.paid.free && v.prose < thinPage && v.gate() {
		return refused(Paywall, "", "a gate below a short text"), true
	}
	return Finding{}, false
}

// withheld says how a page that declares itself not free keeps the paid part back; "" when it does
// not: metered and sampled pages are declared the same way.
func (v *view) withheld() string {
	if len(v.marked[notGranted]) > 0 && !v.grants() {
		return "AMP content-not-granted"
	}
	shown, unseen, usable := v.paidPart()
	short := v.prose < thinPage
	switch {
	case unseen >= hiddenPaid && shown < unseen:
		return "the paid part is hidden"
	case usable && shown < consentRest && (short || v.gate()):
		return "the paid part is empty"
	case !usable && short && v.gate():
		return "a gate below a short text"
	}
	return ""
}

// grants is true when an AMP page shows the part for subscribers as well.
func (v *view) grants() bool {
	for n := range v.tree.Descendants(dom.Root) {
		if v.tree.Attr(n, "subscriptions-section") == "content" {
			shown, _ := v.visible(n)
			return shown >= hiddenPaid
		}
	}
	return false
}

// paidPart counts the characters of the paid parts that are shown and that are not. usable is false
// when the page names no paid part, or in a way that is not understood.
func (v *view) paidPart() (shown, unseen int, usable bool) {
	var chains [][]compound
	for _, s := range v.paid.selectors {
		if chain, ok := parseSelector(s); ok {
			chains = append(chains, chain)
		}
	}
	if len(chains) == 0 {
		return 0, 0, false
	}
	const out, in, away = 0, 1, 2 // of a paid part; in one that is shown; in one that a rule hides
	place := make([]uint8, v.tree.Len())
	parts := v.outermost(chains)
	for i, hides := range v.tree.Concealed(parts) {
		if place[parts[i]] = in; hides {
			place[parts[i]] = away
		}
	}
	for n := range v.tree.Descendants(dom.Root) {
		place[n] = max(place[n], place[v.tree.Parent(n)])
		if place[n] == out || v.tree.Kind(n) != dom.Text || v.is(n, mute) {
			continue
		}
		if place[n] == away || v.unseen(n) {
			unseen += countText(v.tree.Data(n))
		} else {
			shown += countText(v.tree.Data(n))
		}
	}
	return shown, unseen, true
}

// outermost are the paid parts that stand in no other one.
func (v *view) outermost(chains [][]compound) (parts []dom.ID) {
	for n := v.tree.Following(dom.Root, dom.Root); n != 0 && len(parts) < mostParts; {
		if v.tree.Kind(n) == dom.Element && matchesAny(v.tree, n, chains) {
			parts = append(parts, n)
			n = v.tree.After(n, dom.Root)
			continue
		}
		n = v.tree.Following(n, dom.Root)
	}
	return parts
}

// gate is true when the page shows a paywall's gate: a vendor's, or an element named so that asks to
// subscribe or to log in and holds little else.
func (v *view) gate() bool {
	if len(v.marked[sureGate]) > 0 {
		return true
	}
	for _, n := range v.marked[likelyGate] {
		if shown, _ := v.visible(n); shown > 0 && shown < thinPage && v.asksToPay(n) {
			return true
		}
	}
	return false
}

var (
	payPaths = []string{"subscri", "abonne", "abonn", "elofizet", "előfizet", "subscription", "suscri", "abbona", "membership", "paywall", "premium", "/plus", "login", "signin", "inlog", "bejelentkez", "register", "checkout"}
	payWords = []string{
		"subscribe", "subscriber", "for members", "abonnee", "abonnement", "abonneer", "előfizető", "fizessen elő", "előfizetés", "abonnent", "abonnieren", "abonnés", "s'abonner",
		"suscript", "suscrí", "abbonat", "assinante", "prenumer", "předplat", "predplat",
	}
)

// asksToPay is true when something below n leads to a subscription or a login, or its text says so.
func (v *view) asksToPay(n dom.ID) bool {
	t := v.tree
	for c := range t.Descendants(n) {
		switch {
		case t.Tag(c) == atom.A && has(t.Attr(c, "href"), payPaths):
			return true
		case t.Kind(c) == dom.Text && !v.is(c, hidden|styled|mute) && has(t.Data(c), payWords):
			return true
		}
	}
	return false
}
