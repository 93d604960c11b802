package extract

import (
	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// sweep goes over the choice of blocks once more, with what is known of the elements around them.
type sweep struct {
	*blocks.Page
	t     *dom.Tree
	odds  []float32
	keep  []bool
	words int32 // of the kept blocks
}

// keepTogether keeps as a whole what was made as a whole: the panels of an accordion, tabs with their labels, cards
// side by side, the row of a document, a term and its value.
func keepTogether(t *dom.Tree, p *blocks.Page, odds []float32, keep []bool) {
	w := sweep{Page: p, t: t, odds: odds, keep: keep}
	w.panels()
	w.cards()
	w.tabs()
	w.rows()
	w.files()
	w.pairs()
}

// The bounds of panels that are kept together.
const (
	leastPanel  = 0.25 // the mean probability of their words
	leastAnswer = 0.12 // that of answers to questions
	headWords   = 25   // the most words of the head of a panel
)

// panels keeps all panels of one kind with their heads, or none: an author writes them alike.
func (w *sweep) panels() {
	type sum struct {
		words, odds float32
		n, asked    int
	}
	sums := make(map[uint64]*sum)
	each := func(f func(e *blocks.Elem, s *sum)) {
		for i := range w.Elems {
			if e := &w.Elems[i]; e.Words > 0 && w.Panel(e.ID) {
				s := sums[e.Hash]
				if s == nil {
					s = new(sum)
					sums[e.Hash] = s
				}
				f(e, s)
			}
		}
	}
	each(func(e *blocks.Elem, s *sum) {
		s.n++
		if e.First > 0 && w.Blocks[e.First-1].Asks() {
			s.asked++
		}
		for i := e.First; i < e.Last; i++ {
			words := float32(w.Blocks[i].Words)
			s.words += words
			s.odds += words * w.odds[i]
		}
	})
	each(func(e *blocks.Elem, s *sum) {
		least := float32(leastPanel)
		if s.asked*2 > s.n {
			least = leastAnswer
		}
		if s.n < 2 || s.odds < s.words*least {
			return
		}
		for i := e.First; i < e.Last; i++ {
			w.keep[i] = true
		}
		if i := e.First - 1; i >= 0 && w.Blocks[i].Words <= headWords && !w.Blocks[i].Title {
			w.keep[i] = true
		}
	})
}

// tabs keeps the labels of the tabs whose panels are kept.
func (w *sweep) tabs() {
	var kept map[string]bool
	for i := range w.Elems {
		e := &w.Elems[i]
		if w.t.Attr(e.ID, "role") != "tabpanel" || e.First == e.Last || !w.keep[e.First] {
			continue
		}
		if kept == nil {
			kept = make(map[string]bool)
		}
		kept[w.t.Attr(e.ID, "id")] = true
	}
	if kept == nil || w.Wares() {
		return
	}
	for i := range w.Elems {
		e := &w.Elems[i]
		if e.Last-e.First > 1 || e.Words > headWords || w.t.Attr(e.ID, "role") != "tab" || !kept[w.t.Attr(e.ID, "aria-controls")] {
			continue
		}
		if int(e.First) < len(w.keep) {
			w.keep[e.First] = true
		}
	}
}

// files keeps the title of a list of documents that is no heading by its tag.
func (w *sweep) files() {
	for i := 2; i < len(w.keep); i++ {
		b := &w.Blocks[i-1]
		if w.keep[i] && !w.keep[i-1] && w.keep[i-2] && b.Words <= titleWords && b.Linked == 0 && b.Digits == 0 && w.File(i) && !w.File(i-2) {
			w.keep[i-1] = true
		}
	}
}

// Cards that are kept together: so many, and at least so likely, less below a kept heading of theirs.
const (
	leastCards  = 3
	leastCard   = 0.3
	leastHeaded = 0.15
)

// cards keeps all or none of the cards side by side that are links around a heading and a line.
func (w *sweep) cards() {
	type row struct {
		words, odds, kept float32
		cards             []int32
	}
	var order []uint64
	rows := make(map[uint64]*row)
	for i := range w.Elems {
		e := &w.Elems[i]
		if w.t.Tag(e.ID) != atom.A || e.Last-e.First < 2 || e.Heads == 0 || e.Parent < 0 {
			continue
		}
		up := e.Parent
		if w.Elems[up].Blocks == e.Blocks {
			up = w.Elems[up].Parent
		}
		key := e.Hash*31 + uint64(up)
		r := rows[key]
		if r == nil {
			r = new(row)
			rows[key], order = r, append(order, key)
		}
		r.cards = append(r.cards, int32(i))
		for i := e.First; i < e.Last; i++ {
			words := float32(w.Blocks[i].Words)
			r.words += words
			r.odds += words * w.odds[i]
			if w.keep[i] {
				r.kept += words
			}
		}
	}
	for _, key := range order {
		r := rows[key]
		least, first := float32(leastCard), w.Elems[r.cards[0]].First
		headed := first > 0 && w.keep[first-1] && w.Blocks[first-1].Level > 1
		if headed {
			least = leastHeaded
		}
		if len(r.cards) < leastCards || r.kept == 0 && !headed || r.kept == r.words {
			continue
		}
		for _, c := range r.cards {
			for i := w.Elems[c].First; i < w.Elems[c].Last; i++ {
				w.keep[i] = r.odds >= r.words*least
			}
		}
	}
}

// The bounds of a row of a document: its name, its kind, its size.
const (
	rowReach = 4    // blocks that may lie between the content and the row
	leastRow = 0.04 // the least probability of the line that names the document
	rowWords = 30
)

// rows keeps the rows of tables that offer documents, right below the content, as a whole and with their title.
func (w *sweep) rows() {
	last := -rowReach
	for i := range w.keep {
		if w.keep[i] {
			last = i
		}
		if w.Blocks[i].Words > rowWords || !w.File(i) {
			continue
		}
		e := w.Blocks[i].Box
		for hops := 0; e >= 0 && hops < 4 && w.t.Tag(w.Elems[e].ID) != atom.Tr; hops++ {
			e = w.Elems[e].Parent
		}
		if e < 0 || w.t.Tag(w.Elems[e].ID) != atom.Tr || w.Elems[e].Words > rowWords {
			continue
		}
		x := &w.Elems[e]
		if !w.keep[i] && (w.odds[i] < leastRow || int(x.First)-last > rowReach) {
			continue
		}
		if b := int(x.First) - 1; b > 0 && w.Blocks[b].Level > 1 && w.keep[b-1] {
			w.keep[b] = true
		}
		for j := x.First; j < x.Last; j++ {
			w.keep[j] = true
		}
		last = int(x.Last) - 1
	}
}

// pairs keeps the term of a kept definition, and the definition of one line behind a kept term, in lists most of
// which are kept.
func (w *sweep) pairs() {
	var kept []int32 // blocks before each
	for i := 0; i+1 < len(w.keep); i++ {
		if w.keep[i] == w.keep[i+1] || w.t.Tag(w.Elems[w.Blocks[i].Box].ID) != atom.Dt || w.t.Tag(w.Elems[w.Blocks[i+1].Box].ID) != atom.Dd {
			continue
		}
		if w.Blocks[i].Words > titleWords || w.Blocks[i].Linked > 0 || w.Blocks[i+1].Words > askWords {
			continue
		}
		e := w.Blocks[i].Box
		for hops := 0; e >= 0 && hops < 4 && w.t.Tag(w.Elems[e].ID) != atom.Dl; hops++ {
			e = w.Elems[e].Parent
		}
		if kept == nil {
			kept = keptBefore(w.keep)
		}
		if e >= 0 && (kept[w.Elems[e].Last]-kept[w.Elems[e].First])*2 >= w.Elems[e].Blocks {
			w.keep[i], w.keep[i+1] = true, true
		}
	}
}

// keptBefore counts the kept blocks before each, and all of them last.
func keptBefore(keep []bool) []int32 {
	sums := make([]int32, len(keep)+1)
	for i, k := range keep {
		sums[i+1] = sums[i]
		if k {
			sums[i+1]++
		}
	}
	return sums
}
