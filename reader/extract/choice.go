package extract

import (
	_ "embed"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
	"github.com/webreaderapi/webreader/reader/extract/internal/forest"
)

// weights are what internal/train learned: the forests that tell the kinds of pages, then those of the
// two stages.
//
//go:embed weights.bin
var weights []byte

// learned are the forests of weights.bin.
type learned struct {
	kinds  []*forest.Forest
	first  [2]*forest.Forest
	second *forest.Forest
}

var stages = sync.OnceValue(func() learned {
	rest := weights
	next := func(width int) *forest.Forest {
		f, more, err := forest.Parse(rest, width)
		if err != nil {
			panic("extract: weights.bin: " + err.Error())
		}
		rest = more
		return f
	}
	var l learned
	for range blocks.PageKinds {
		l.kinds = append(l.kinds, next(blocks.KindFeatures))
	}
	l.first[0], l.first[1] = next(blocks.Features), next(blocks.Features)
	l.second = next(blocks.Features2)
	return l
})

// desk is the memory of one Extract, used again by later ones.
type desk struct {
	page   blocks.Page
	view   blocks.View
	kind   []uint8
	second []uint8
	first  []float32
	odds   []float32
}

var desks = sync.Pool{New: func() any { return new(desk) }}

// largeDesk is the number of nodes from which on a desk is not kept for later pages.
const largeDesk = 50_000

// chosen is the house's own engine: the blocks that the classifier takes for main content.
func chosen(t *dom.Tree, base *url.URL) Content {
	d := desks.Get().(*desk)
	d.page.Prepare(t, base)
	odds := d.classify()
	keep := blocks.Choose(odds, &d.view)
	closeGaps(t, &d.page, keep)
	withParagraphs(&d.page, keep)
	endingCode(t, &d.page, keep)
	withoutFurniture(t, &d.page, keep)
	withNotes(t, &d.page, keep)
	withoutIdle(&d.page, keep)
	keepTogether(t, &d.page, odds, keep)
	withoutBeside(t, &d.page, keep)
	withoutOthers(t, &d.page, keep)
	withoutCopies(&d.page, keep)
	words := 0
	for i, k := range keep {
		if k {
			words += int(d.page.Blocks[i].Words)
		}
	}
	c := Content{Type: kinds[d.page.Facts.Kind()], Keep: gather(t, &d.page, keep), HiddenRemoved: d.page.Hidden}
	d.fromData(&c, words)
	if t.Len() < largeDesk {
		d.page.Tree = nil
		desks.Put(d)
	}
	return c
}

// fromData takes the page's own data in where the page shows little, and the description of a ware
// that the page does not show.
func (d *desk) fromData(c *Content, words int) {
	t := d.page.Tree
	switch {
	case words < leastWords:
		parts := outside(t, subject)
		told := wordsOf(parts)
		if told <= richer*words || told < leastState {
			if s := state(t, several(c.Type)); wordsOf(s) >= max(leastState, told) {
				parts, told = s, wordsOf(s)
			}
		}
		if told > richer*words {
			c.Keep = dom.NewSet(t)
			addOutside(t, &c.Keep, parts)
			c.Warnings = append(c.Warnings, "the content was taken from the page's data, since the page shows little")
		}
	case words < poorWords:
		s := state(t, several(c.Type))
		if n := wordsOf(s); n >= richWords && n > richer*words && !d.page.Shows(s) {
			addOutside(t, &c.Keep, s)
			c.Warnings = append(c.Warnings, "content was taken from the page's data, since the page shows less")
		}
	}
	if c.Type == TypeProduct && words >= leastWords && !d.described() {
		parts := outside(t, ware)
		if n := wordsOf(parts); n >= leastWords && words <= fewTimes*n {
			addOutside(t, &c.Keep, parts)
			c.Warnings = append(c.Warnings, "the description was taken from the page's data")
		}
	}
}

// several says that a page of that kind has more than one text.
func several(kind string) bool { return kind == TypeThread || kind == TypeList }

// described says that the page shows a text that reads like a description in its data.
func (d *desk) described() bool {
	for i := range d.page.Blocks {
		if b := &d.page.Blocks[i]; b.Description && b.Words >= leastShown {
			return true
		}
	}
	return false
}

// kinds are the names of the kinds of pages.
var kinds = map[blocks.Kind]string{
	blocks.Other: TypeOther, blocks.Article: TypeArticle, blocks.Docs: TypeDocs, blocks.Thread: TypeThread,
	blocks.Product: TypeProduct, blocks.List: TypeList, blocks.Service: TypeService,
}

// classify gives the probability of each block to be main content.
func (d *desk) classify() []float32 {
	n := len(d.page.Blocks)
	if cap(d.odds) < n {
		d.odds, d.first = make([]float32, n), make([]float32, n)
	}
	d.odds, d.first = d.odds[:n], d.first[:n]
	l := stages()
	d.kind = d.page.KindRow(d.kind[:0])
	for k, f := range l.kinds {
		f.Predict(d.kind, blocks.KindFeatures, d.page.Kinds[k:k+1])
	}
	rows := d.page.Describe()
	d.page.Fill(&d.view)
	l.first[0].Predict(rows, blocks.Features, d.odds)
	l.first[1].Predict(rows, blocks.Features, d.first)
	blocks.Mix(d.odds, d.first)
	d.second = d.view.Second(rows, d.first, d.second[:0])
	l.second.Predict(d.second, blocks.Features2, d.odds)
	blocks.Mix(d.first, d.odds)
	return d.odds
}

// gather makes the set of nodes of the kept blocks, with the images and breaks among them.
func gather(t *dom.Tree, p *blocks.Page, keep []bool) dom.Set {
	set := dom.NewSet(t)
	sums := make([]int32, len(keep)+1)
	for i, k := range keep {
		sums[i+1] = sums[i]
		if !k {
			continue
		}
		b := &p.Blocks[i]
		sums[i+1] += b.Words + 1
		for _, n := range p.Texts[b.Lo:b.Hi] {
			if linksAgain(t, n) {
				continue
			}
			set.Add(n)
			t.AddAncestors(&set, n)
		}
	}
	for _, m := range p.Media {
		if keepsMedium(t, p, m, keep, sums, &set) {
			t.AddSubtree(&set, m.ID)
			t.AddAncestors(&set, m.ID)
		}
	}
	for i := range p.Elems {
		if e := &p.Elems[i]; t.Tag(e.ID) == atom.Tr && set.Has(e.ID) {
			for n := t.FirstChild(e.ID); n != 0; n = t.Next(n) {
				if tag := t.Tag(n); (tag == atom.Td || tag == atom.Th) && !p.Skipped(n) {
					set.Add(n)
				}
			}
		}
	}
	return set
}

// linksAgain says that n is the text of a button that leads where the link right before it does: a second way
// to the same document.
func linksAgain(t *dom.Tree, n dom.ID) bool {
	a := t.Parent(n)
	for hops := 0; a != 0 && t.Tag(a) != atom.A && hops < pictured && blocks.Inline(t.Tag(a)); hops++ {
		a = t.Parent(a)
	}
	if t.Tag(a) != atom.A || !t.HasAttr(a, "download") && !has(strings.ToLower(t.Attr(a, "class")), buttonNames) {
		return false
	}
	before := t.Prev(a)
	for before != 0 && t.Kind(before) != dom.Element && strings.TrimSpace(t.Data(before)) == "" {
		before = t.Prev(before)
	}
	return t.Tag(before) == atom.A && t.Attr(before, "href") != "" && t.Attr(before, "href") == t.Attr(a, "href")
}

var buttonNames = []string{"button", "btn"}

// amid says that the blocks before lo and from hi on are kept.
func amid(keep []bool, lo, hi int) bool {
	return lo > 0 && hi < len(keep) && keep[lo-1] && keep[hi]
}

// pictured is how far up the figure of a picture is looked for.
const pictured = 6

// figure is the figure around element e, -1 for none near.
func figure(t *dom.Tree, p *blocks.Page, e int32) int32 {
	for hops := 0; e >= 0 && hops < pictured; hops++ {
		if t.Tag(p.Elems[e].ID) == atom.Figure {
			return e
		}
		e = p.Elems[e].Parent
	}
	return -1
}

// keepsMedium says that a thing without text belongs to the kept blocks: they are on both sides of
// it, or of the figure it is in, or are most of the element around it.
func keepsMedium(t *dom.Tree, p *blocks.Page, m blocks.Medium, keep []bool, sums []int32, set *dom.Set) bool {
	switch t.Tag(m.ID) {
	case atom.Br, atom.Wbr, atom.Input:
		return set.Has(p.Elems[m.Elem].ID)
	}
	if i := int(m.Block); amid(keep, i, i) {
		return true
	}
	e := m.Elem
	if t.Name(m.ID) == "mjx-container" { // a formula is a part of its line
		around := e
		for around >= 0 && p.Elems[around].Inline {
			around = p.Elems[around].Parent
		}
		if around >= 0 && set.Has(p.Elems[around].ID) {
			return true
		}
	}
	if f := figure(t, p, e); f >= 0 && amid(keep, int(p.Elems[f].First), int(p.Elems[f].Last)) {
		return true
	}
	for e >= 0 && p.Elems[e].Blocks == 0 {
		e = p.Elems[e].Parent
	}
	if e < 0 || p.Elems[e].Words*2 > p.Words {
		return false
	}
	el := &p.Elems[e]
	return (sums[el.Last]-sums[el.First])*2 > el.Words+el.Blocks
}
