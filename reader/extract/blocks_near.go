package extract

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// place says where a block stands.
type place struct {
	own       dom.ID // the innermost block element around it
	furniture furniture
	link      bool   // most of its text is links
	offered   bool   // it lies inside a link to a document
	promoted  bool   // it lies in a box whose text takes turns
	box       dom.ID // the box of its own that it lies in
}

// furniture says how surely an element, or one around it, is none of the content, by tag and role.
type furniture uint8

const (
	unsaid furniture = iota
	inMenu           // of a menu, which some sites make their panels of
	beside
)

// The bounds of what counts as beside the content.
const (
	longestGap  = 8 // blocks between two kept ones
	mostLevels  = 5 // levels up from a block to what it shares with its neighbour
	tailReach   = 4 // blocks from the last kept one to a paragraph that goes on
	fewestWords = 5 // of a paragraph behind the content
)

// widen takes in what belongs to the content for a comparison though it is not written out: the
// title of the page, documents that it offers, and gaps inside a run of content. A reader is told
// rather once too often of a paragraph than never; furniture stays outside.
func (w *blockWalk) widen() {
	title := w.title()
	last := -1 // the last kept block
	for i := range w.blocks {
		b, at := &w.blocks[i], w.places[i]
		if !b.Kept && at.furniture == unsaid {
			b.Kept = w.t.Tag(at.own) == atom.H1 || len(b.Files) > 0 || at.offered || !at.link && entitles(title, b.Text)
		}
		if !b.Kept && (at.furniture == beside || last < 0 || !w.tail(last, i)) {
			continue
		}
		b.Kept = true
		if gap := i - last - 1; last >= 0 && gap > 0 && gap <= longestGap && w.near(last, i) {
			w.fill(last+1, i)
		}
		last = i
	}
}

func (w *blockWalk) title() string {
	return strings.Join(strings.Fields(w.t.Text(w.t.First(dom.Root, atom.Title))), " ")
}

// entitles is true for a text with which the title of the page begins or ends.
func entitles(title, text string) bool {
	return len(text) >= 8 && (strings.HasPrefix(title, text) || strings.HasSuffix(title, text))
}

// tail is true for a paragraph of sentences that goes on soon behind the kept block last, and for a
// line with a mail address, which tells whom to ask.
func (w *blockWalk) tail(last, i int) bool {
	text := w.blocks[i].Text
	tag := w.t.Tag(w.places[i].own)
	return last >= i-tailReach && (tag == atom.P || tag == atom.Div && strings.Contains(text, "@")) && !w.places[i].link &&
		strings.HasSuffix(text, ".") && len(strings.Fields(text)) >= fewestWords && w.near(last, i)
}

// near is true for blocks that have an element around both a few levels up, in one cell if in any.
func (w *blockWalk) near(i, j int) bool {
	var line [mostLevels + 1]dom.ID
	a := w.places[i].own
	for l := range line {
		line[l] = a
		if a = w.climb(a); a == 0 {
			break
		}
	}
	b := w.places[j].own
	for range line {
		for _, a := range line {
			if a != 0 && a == b {
				return true
			}
		}
		if b = w.climb(b); b == 0 {
			break
		}
	}
	return false
}

// climb is the element around n, 0 where the content of a page or of a cell of its layout ends.
func (w *blockWalk) climb(n dom.ID) dom.ID {
	switch w.t.Tag(n) {
	case atom.Main, atom.Article:
		return 0
	case atom.Td, atom.Th:
		if w.layout(n) {
			return 0
		}
	case atom.Tr:
		if cell := w.t.FirstChild(n); cell != 0 && w.layout(cell) {
			return 0
		}
	}
	n = w.t.Parent(n)
	if tag := w.t.Tag(n); tag == atom.Body || tag == atom.Html {
		return 0
	}
	return n
}

// fill keeps the blocks from..to but links and furniture.
func (w *blockWalk) fill(from, to int) {
	for i := from; i < to; i++ {
		if at := w.places[i]; !at.link && at.furniture != beside {
			w.blocks[i].Kept = true
		}
	}
}

// furniture judges an element by its tag and role. A form is none of the content unless there is
// content in it, as on sites that put each page into a form.
func (w *blockWalk) furniture(n dom.ID) furniture {
	switch w.t.Tag(n) {
	case atom.Nav:
		return inMenu
	case atom.Footer, atom.Aside, atom.Menu, atom.Dialog:
		return beside
	case atom.Form:
		if !w.keep.Has(n) {
			return beside
		}
	}
	switch strings.ToLower(w.t.Attr(n, "role")) {
	case "navigation", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar", "log", "timer", "marquee":
		return beside
	}
	return unsaid
}
