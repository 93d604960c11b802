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
	f := furnitureFinder{t: t, p: p, known: make([]uint8, len(p.Elems))}
	behind, found := int32(0), false
	for i, k := range keep {
		if !k {
			continue
		}
		if b := &p.Blocks[i]; f.holds(b.Box) {
			found = true
		} else {
			behind += b.Words
		}
	}
	if !found || behind < leastBehind {
		return
	}
	for i, k := range keep {
		keep[i] = k && !f.holds(p.Blocks[i].Box)
	}
}

// furnitureFinder looks at the elements around kept blocks, at each once.
type furnitureFinder struct {
	t       *dom.Tree
	p       *blocks.Page
	known   []uint8 // of each element: unknown, plain furniture or not
	content []bool  // see contentHolders; made when needed
	path    []int32
}

const (
	isFurniture = iota + 1
	noFurniture
)

// holds says that element e is plain furniture or lies in it.
func (f *furnitureFinder) holds(e int32) bool {
	f.path = f.path[:0]
	for ; e >= 0 && f.known[e] == 0; e = f.p.Elems[e].Parent {
		f.path = append(f.path, e)
	}
	is := e >= 0 && f.known[e] == isFurniture
	for k := len(f.path) - 1; k >= 0; k-- {
		e := f.path[k]
		if is = is || f.plain(e); is {
			f.known[e] = isFurniture
		} else {
			f.known[e] = noFurniture
		}
	}
	return is
}

func (f *furnitureFinder) plain(e int32) bool {
	n := f.p.Elems[e].ID
	if overlay(f.t, n) {
		return true
	}
	if !asksConsent(f.t, n) {
		return false
	}
	if f.content == nil {
		f.content = contentHolders(f.t, f.p)
	}
	return !f.content[e] // else the page itself bears the name, for its style
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

// contentHolders says of each element whether it is or holds the body, the main part, an article or a first heading.
func contentHolders(t *dom.Tree, p *blocks.Page) []bool {
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
