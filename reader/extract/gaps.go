package extract

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// The bounds of a gap between two paragraphs that is closed.
const (
	gapBlocks = 24
	gapWords  = 120
	paraWords = 12 // of running text on each side
)

// closeGaps keeps the few blocks that stand between two kept paragraphs of one parent: a table, a list,
// code, a quotation, whatever the author set between them. Furniture put there says what it is. Captions
// are left to the classifier: they name agencies and photographers as often as they tell something.
func closeGaps(t *dom.Tree, p *blocks.Page, keep []bool) {
	for i := 0; i < len(keep); i++ {
		if !keep[i] || p.Blocks[i].Words < paraWords {
			continue
		}
		j, ok := gap(p, keep, i)
		if !ok {
			continue
		}
		around := p.Elems[p.Blocks[i].Box].Parent
		for k := i + 1; k < j; k++ {
			if !keep[k] && authored(t, p, k, around) {
				keep[k] = true
			}
		}
		i = j - 1
	}
}

// endingCode keeps code that follows kept content, in the parent of a kept paragraph: it has no words that
// make it look like content, and nobody sets furniture as code.
func endingCode(t *dom.Tree, p *blocks.Page, keep []bool) {
	parent := int32(-1)
	for k := range keep {
		b := &p.Blocks[k]
		switch box := p.Elems[b.Box]; {
		case keep[k] && b.Words >= paraWords:
			parent = box.Parent
		case k > 0 && keep[k-1] && parent >= 0 && box.Parent == parent && t.Tag(box.ID) == atom.Pre && b.Words <= gapWords:
			keep[k] = true
		}
	}
}

// gap finds the next kept paragraph beside the one of block i, and says whether what stands between
// is short and not mostly links.
func gap(p *blocks.Page, keep []bool, i int) (int, bool) {
	words, linked := int32(0), int32(0)
	for j := i + 1; j < len(keep) && j-i <= gapBlocks; j++ {
		b := &p.Blocks[j]
		switch {
		case !keep[j]:
			words += b.Words
			linked += b.Linked
		case b.Words >= paraWords && siblings(p, i, j):
			return j, j > i+1 && words <= gapWords && (linked*2 <= words || linked <= 3)
		}
	}
	return 0, false
}

// siblings is true when the elements of two blocks have one parent.
func siblings(p *blocks.Page, i, j int) bool {
	a, b := &p.Elems[p.Blocks[i].Box], &p.Elems[p.Blocks[j].Box]
	return a.Parent >= 0 && a.Parent == b.Parent
}

// authored is true when block k is in something that an author sets into a text, and nothing below
// the element around says that it is furniture.
func authored(t *dom.Tree, p *blocks.Page, k int, around int32) bool {
	set := false
	for e := p.Blocks[k].Elem; e >= 0 && e != around; e = p.Elems[e].Parent {
		n := p.Elems[e].ID
		class, id := strings.ToLower(t.Attr(n, "class")), strings.ToLower(t.Attr(n, "id"))
		if apparatus(t, n) || has(class, furnitureWords) || has(id, furnitureWords) || t.Tag(n) == atom.Figure && !set {
			return false
		}
		set = set || construct(t.Tag(n)) || has(class, authoredWords)
	}
	return set
}

func has(name string, words []string) bool {
	if name == "" {
		return false
	}
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// construct says that an element is one of those that an author sets between paragraphs.
func construct(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Code, atom.Blockquote, atom.Details,
		atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// apparatus says that an element is none of the text by its tag or its role.
func apparatus(t *dom.Tree, n dom.ID) bool {
	switch t.Tag(n) {
	case atom.Nav, atom.Form, atom.Dialog, atom.Button, atom.Fieldset, atom.Select:
		return true
	}
	switch t.Attr(n, "role") {
	case "dialog", "alertdialog", "navigation", "complementary", "banner", "search", "menu", "contentinfo":
		return true
	}
	return t.HasAttr(n, "aria-modal")
}

var authoredWords = []string{"footnote", "admonition", "callout", "alert", "highlight", "code", "tab-", "tabs", "math", "katex", "definition", "task"}

var furnitureWords = []string{
	"share", "social", "related", "cookie", "consent", "gdpr", "onetrust", "newsletter", "signup", "sign-up", "subscri",
	"promo", "advert", "sponsor", "banner", "comment", "breadcrumb", "menu", "sidebar", "recommend", "popup", "modal",
	"byline", "author", "meta", "tags", "outbrain", "taboola", "paywall", "donat", "read-more", "readmore", "more-from",
	"most-read", "trending", "follow", "adslot", "ad-slot", "ad-unit", "ad-container", "ad-wrap", "login", "-toc", "toc-", "pagination", "rating", "widget", "cta",
	"teaser-list",
}

// manyBlocks is the length of a page from which on the classifier has seen none.
const manyBlocks = 3000

// withParagraphs keeps the running text of a very long page that stands in an element around what is kept: a
// paragraph before or behind tens of thousands of rows is told by its place and by nothing else.
func withParagraphs(p *blocks.Page, keep []bool) {
	if len(keep) < manyBlocks {
		return
	}
	const levels = 4
	around := make([]bool, len(p.Elems))
	for i, k := range keep {
		if !k {
			continue
		}
		for e, up := p.Elems[p.Blocks[i].Box].Parent, 0; e >= 0 && up < levels; e, up = p.Elems[e].Parent, up+1 {
			around[e] = true
		}
	}
	for i, k := range keep {
		b := &p.Blocks[i]
		if up := p.Elems[b.Box].Parent; !k && up >= 0 && around[up] && b.Linked == 0 && b.Fluent() {
			keep[i] = true
		}
	}
}
