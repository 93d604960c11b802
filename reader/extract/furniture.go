package extract

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// leastBehind is how many words the rest of a page must show for what is plainly furniture to go.
const leastBehind = 50

// withoutFurniture drops what a page lays over itself or says is its navigation, however much text that has:
// a dialog about consent may be longer than the content. A page that shows little else keeps it.
func withoutFurniture(t *dom.Tree, p *blocks.Page, keep []bool) {
	plain := plainly(t, p)
	if plain == nil {
		return
	}
	behind := int32(0)
	for i, k := range keep {
		if b := &p.Blocks[i]; k && !plain[b.Box] {
			behind += b.Words
		}
	}
	if behind < leastBehind {
		return
	}
	for i := range keep {
		keep[i] = keep[i] && !plain[p.Blocks[i].Box]
	}
}

// plainly says of each element with blocks whether it is, or lies in, furniture; nil when none does.
func plainly(t *dom.Tree, p *blocks.Page) []bool {
	var plain, holds []bool
	for i := range p.Elems {
		e := &p.Elems[i]
		switch {
		case plain != nil && e.Parent >= 0 && plain[e.Parent]:
			plain[i] = true
			continue
		case overlay(t, e.ID):
		case asksConsent(t, e.ID):
			if holds == nil {
				holds = holders(t, p)
			}
			if holds[i] {
				continue // the page itself bears the name, for its style
			}
		default:
			continue
		}
		if plain == nil {
			plain = make([]bool, len(p.Elems))
		}
		plain[i] = true
	}
	return plain
}

func overlay(t *dom.Tree, n dom.ID) bool {
	switch t.Tag(n) {
	case atom.Dialog, atom.Nav:
		return true
	}
	switch t.Attr(n, "role") {
	case "dialog", "alertdialog", "navigation":
		return true
	}
	return t.Attr(n, "aria-modal") == "true"
}

// asksConsent says that the name of an element is about consent, by the words for it or by the programs that
// are widely used to ask for it.
func asksConsent(t *dom.Tree, n dom.ID) bool {
	for _, key := range [...]string{"class", "id"} {
		if name := t.Attr(n, key); name != "" && has(strings.ToLower(name), consentWords) {
			return true
		}
	}
	return false
}

var consentWords = []string{"cookie", "consent", "gdpr", "onetrust", "didomi", "usercentric"}

// holders says of each element whether it is or holds the body, the main part, an article or a first heading.
func holders(t *dom.Tree, p *blocks.Page) []bool {
	holds := make([]bool, len(p.Elems))
	for i := len(p.Elems) - 1; i >= 0; i-- {
		switch t.Tag(p.Elems[i].ID) {
		case atom.Html, atom.Body, atom.Main, atom.Article, atom.H1:
			holds[i] = true
		}
		if up := p.Elems[i].Parent; up >= 0 && holds[i] {
			holds[up] = true
		}
	}
	return holds
}
