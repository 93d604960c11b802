package blocks

import (
	"slices"

	"golang.org/x/net/html/atom"
)

// frame.go looks for two things around a block: the element that holds the most running text, as
// the rules of readers for articles find it, and the unit of a list of alike elements.

const (
	nTop  = 7
	nUnit = 12
)

// ring is what is known of an element in relation to the one with the most running text.
type ring struct {
	score float32 // of running text right below
	best  float32 // the highest score from here up
	out   uint8   // levels from the top element to the nearest one that is around both
	in    uint8   // levels below the top element, noMark outside
	unit  int32   // the innermost element around with at least leastTwins of its kind, -1 for none
}

const leastTwins = 3

// circle finds the element with the most running text and relates all others to it.
func (p *Page) circle() {
	p.rings = slices.Grow(p.rings[:0], len(p.Elems))
	for range p.Elems {
		p.rings = append(p.rings, ring{in: noMark, out: noMark, unit: -1})
	}
	for i := range p.Blocks {
		p.score(&p.Blocks[i])
	}
	p.top = -1
	for i := range p.Elems {
		e, r := &p.Elems[i], &p.rings[i]
		if r.score > 0 {
			r.score = (r.score + bonus(p.Tree.Tag(e.ID))) * (1 - float32(e.Linked)/float32(max(1, e.Words)))
			if p.top < 0 || r.score > p.rings[p.top].score {
				p.top = int32(i)
			}
		}
	}
	for e, k := p.top, uint8(0); e >= 0; e = p.Elems[e].Parent {
		p.rings[e].out = k
		k = min(k+1, noMark-1)
	}
	for i := range p.Elems {
		e, r := &p.Elems[i], &p.rings[i]
		r.best = r.score
		if e.Twins >= leastTwins && !e.Inline && e.Blocks > 0 {
			r.unit = int32(i)
		}
		if int32(i) == p.top {
			r.in = 0
		}
		if e.Parent < 0 {
			continue
		}
		up := &p.rings[e.Parent]
		r.best = max(r.best, up.best)
		if r.out == noMark {
			r.out = up.out
		}
		if up.in < noMark {
			r.in = min(up.in+1, noMark-1)
		}
		if r.unit < 0 {
			r.unit = up.unit
		}
	}
}

// score gives the elements around a block of text a share of its worth.
func (p *Page) score(b *Block) {
	if b.Chars < 25 || b.Level > 0 || b.Linked*2 > b.Words {
		return
	}
	worth := 1 + float32(b.Commas) + min(3, float32(b.Chars)/100)
	e := p.Elems[b.Box].Parent
	for k := 0; k < 4 && e >= 0; k++ {
		switch k {
		case 0:
			p.rings[e].score += worth
		case 1:
			p.rings[e].score += worth / 2
		default:
			p.rings[e].score += worth / float32(3*k)
		}
		e = p.Elems[e].Parent
	}
}

func bonus(tag atom.Atom) float32 {
	switch tag {
	case atom.Article, atom.Main:
		return 10
	case atom.Div, atom.Section:
		return 5
	case atom.Pre, atom.Td, atom.Blockquote:
		return 3
	case atom.Ol, atom.Ul, atom.Dl, atom.Dd, atom.Dt, atom.Li, atom.Form:
		return -3
	}
	return 0
}

// topRow relates block i to the element with the most running text.
func (p *Page) topRow(x []uint8, i int) {
	if p.top < 0 {
		x[0], x[2], x[5] = 3, noMark, noMark
		return
	}
	b := &p.Blocks[i]
	top, r := &p.Elems[p.top], &p.rings[b.Box]
	switch {
	case int32(i) < top.First:
		x[0] = 1
	case int32(i) >= top.Last:
		x[0] = 2
	}
	x[1] = uint8(250 * r.best / max(1, p.rings[p.top].score))
	x[2] = r.in
	x[3] = share(top.Words, p.Words)
	x[4] = share(top.Fluent, p.Fluent)
	x[5] = r.out
	x[6] = amount(int32(p.rings[p.top].score))
}

// unitRow describes the unit of a list that block i is in.
func (p *Page) unitRow(x []uint8, i int) {
	u := p.rings[p.Blocks[i].Box].unit
	if u < 0 {
		x[1], x[8] = 255, 255
		return
	}
	e := &p.Elems[u]
	x[0] = amount(e.Words)
	x[1] = share(e.Linked, e.Words)
	x[2] = amount(e.Blocks)
	x[3] = amount(e.Heads)
	x[4] = amount(e.Images)
	x[5] = amount(e.Links)
	x[6] = amount(e.Twins)
	x[7] = uint8(min(40, int32(i)-e.First))
	x[8] = share(e.Fluent, e.Words)
	h := &p.Blocks[e.First]
	x[9] = h.Level<<1 | flag(h.Linked == h.Words)
	if e.Parent >= 0 {
		up := &p.Elems[e.Parent]
		x[10] = share(up.Words, p.Words)
		x[11] = amount(up.Words * 4 / max(1, up.Blocks))
	}
}

// Fellows says that blocks i and j stand in two units of one list that have more blocks, as the texts of two
// cards do.
func (p *Page) Fellows(i, j int32) bool {
	a, b := p.rings[p.Blocks[i].Box].unit, p.rings[p.Blocks[j].Box].unit
	return a >= 0 && b >= 0 && a != b && p.Elems[a].Parent == p.Elems[b].Parent && p.Elems[a].Blocks > 1 && p.Elems[b].Blocks > 1
}
