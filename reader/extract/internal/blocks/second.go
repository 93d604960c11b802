package blocks

import (
	"slices"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// The second stage looks at the first one's answers all around a block.
const (
	sides   = 5
	nSecond = 1 + 2*sides + levels + 8
	// Features2 is how many numbers describe a block to the second stage.
	Features2 = nSecond + nOwn + nKinds
)

// View is what the second stage and the choice need to know of a page's blocks.
type View struct {
	Blocks  []Spot
	Boxes   []Box
	Article bool // the page says that it is an article
	Thread  bool // the page is a thread: its comments are its content
}

// Spot is a block as View sees it.
type Spot struct {
	Words   int32
	Box     int32 // index of View.Boxes
	Heading int32
	Level   uint8
	Title   bool
	Comment bool // in a section of comments
	Fluent  bool
	Link    bool  // all of it is links, and not to documents
	Links   int32 // in it, as far as known; at least 1
	File    bool  // links to a document, or names one with its size
	Button  bool  // a link of few words that has the class of a button, and not to a document
	Edge    bool  // in a menu, a footer or beside the content
	Path    uint64
	Again   bool  // an earlier block says the same
	Echo    int32 // that one
}

// Box is an element with blocks in it.
type Box struct {
	First, Last, Up, Parent int32
	Unit                    uint8
}

// Kinds of elements whose blocks belong together.
const (
	noUnit = iota
	tableUnit
	rowUnit
	listUnit
	itemUnit
	pairsUnit
	preUnit
	figureUnit
	paraUnit
)

func unit(tag atom.Atom) uint8 {
	switch tag {
	case atom.Table:
		return tableUnit
	case atom.Tr:
		return rowUnit
	case atom.Ul, atom.Ol:
		return listUnit
	case atom.Li:
		return itemUnit
	case atom.Dl:
		return pairsUnit
	case atom.Pre:
		return preUnit
	case atom.Figure:
		return figureUnit
	case atom.P:
		return paraUnit
	}
	return noUnit
}

// View copies what is needed of p.
func (p *Page) View() *View {
	v := &View{}
	p.Fill(v)
	return v
}

// Fill is like View and uses the memory of v.
func (p *Page) Fill(v *View) {
	v.Blocks, v.Boxes, v.Thread, v.Article = slices.Grow(v.Blocks[:0], len(p.Blocks)), slices.Grow(v.Boxes[:0], len(p.Elems)), p.Facts.thread(), p.Facts.article()
	for i := range p.Elems {
		e := &p.Elems[i]
		v.Boxes = append(v.Boxes, Box{e.First, e.Last, e.Up, e.Parent, e.Unit})
	}
	for i := range p.Blocks {
		v.Blocks = append(v.Blocks, p.spot(i))
	}
}

func (p *Page) spot(i int) Spot {
	b := &p.Blocks[i]
	file := p.File(i)
	linked := p.Mark(i, groups+markFile) > 0
	return Spot{
		Words: b.Words, Box: b.Box, Heading: b.Heading, Level: b.Level, Path: b.Path,
		Title: b.Title, Fluent: b.Fluent(), Again: b.Again, Echo: b.Echo,
		Comment: p.Mark(i, commentGroup) > 0,
		Link:    b.Linked == b.Words && !file && !p.inCard(i),
		Links:   p.links(b),
		Button:  b.Linked == b.Words && !linked && b.Words <= buttonWords && p.asButton(i),
		File:    file,
		Edge: p.Mark(i, groups+markNav) > 0 || p.Mark(i, groups+markFooter) > 0 || p.Mark(i, groups+markAside) > 0 ||
			p.Mark(i, groups+markHeader) > 0,
	}
}

// inCard says that block i is part of a link around several blocks, such as a heading and a line.
func (p *Page) inCard(i int) bool {
	b := &p.Blocks[i]
	for e, hops := b.Elem, 0; e >= 0 && hops < cardHops; e, hops = p.Elems[e].Parent, hops+1 {
		if p.Tree.Tag(p.Elems[e].ID) == atom.A {
			return p.Elems[e].Last-p.Elems[e].First > 1
		}
	}
	return false
}

// cardHops is how far up the link of a card is looked for.
const cardHops = 6

// links is how many links a block has: a menu may be one line of them.
func (p *Page) links(b *Block) int32 {
	if b.Linked < b.Words {
		return 1
	}
	links, last := int32(0), dom.ID(0)
	for _, n := range p.Texts[b.Lo:b.Hi] {
		for a, hops := p.Tree.Parent(n), 0; a != 0 && hops < cardHops; a, hops = p.Tree.Parent(a), hops+1 {
			if p.Tree.Tag(a) == atom.A {
				if a != last {
					links++
				}
				last = a
				break
			}
		}
	}
	return max(1, links)
}

// buttonWords is the most words that a button has.
const buttonWords = 6

// asButton says that block i, or the element around it, has the class of a button.
func (p *Page) asButton(i int) bool {
	m := p.Mark(i, buttonGroup)
	return m == 1 || m == 2
}

func chance(p float32) uint8 { return uint8(p*250 + 0.5) }

// Second gives the features of the second stage: the first stage's answers around each block, then
// the block's own features. It appends to rows.
func (v *View) Second(first []uint8, p []float32, rows []uint8) []uint8 {
	n := len(v.Blocks)
	if n == 0 {
		return rows
	}
	s := v.survey(p)
	base := len(rows)
	rows = slices.Grow(rows, n*Features2)[:base+n*Features2]
	for i := range v.Blocks {
		x := rows[base+i*Features2 : base+(i+1)*Features2]
		x[0] = chance(p[i])
		s.beside(x[1:], i)
		s.around(x[1+2*sides:], i)
		s.overall(x[1+2*sides+levels:], i)
		row := first[i*Features : (i+1)*Features]
		copy(x[nSecond:], row[fOwn:fOwn+nOwn])
		copy(x[nSecond+nOwn:], row[fKinds:])
	}
	return rows
}

// survey is what the first stage says of the page as a whole.
type survey struct {
	v           *View
	p           []float32
	words, kept []float64 // running sums of words, and of words times probability
	paths       map[uint64][2]float64
	cut         float32
	first, last int // the first and the last block that is surely content
}

func (v *View) survey(p []float32) *survey {
	n := len(v.Blocks)
	s := &survey{v: v, p: p, words: make([]float64, n+1), kept: make([]float64, n+1), paths: make(map[uint64][2]float64), first: n, last: -1}
	for i := range v.Blocks {
		b := &v.Blocks[i]
		w := float64(b.Words) + 0.5
		s.words[i+1] = s.words[i] + w
		s.kept[i+1] = s.kept[i] + w*float64(p[i])
		sum := s.paths[b.Path]
		s.paths[b.Path] = [2]float64{sum[0] + w, sum[1] + w*float64(p[i])}
		if p[i] >= 0.7 && b.Words >= 5 {
			s.first, s.last = min(s.first, i), i
		}
	}
	s.cut = threshold(v, p)
	return s
}

// mean is the mean probability of the blocks from lo to hi, by words.
func (s *survey) mean(lo, hi int32) uint8 {
	if hi <= lo {
		return 255
	}
	return chance(float32((s.kept[hi] - s.kept[lo]) / (s.words[hi] - s.words[lo])))
}

// beside is about the neighbours of block i.
func (s *survey) beside(x []uint8, i int) {
	for k := 1; k <= sides; k++ {
		x[2*k-2], x[2*k-1] = 255, 255
		if i-k >= 0 {
			x[2*k-2] = chance(s.p[i-k])
		}
		if i+k < len(s.p) {
			x[2*k-1] = chance(s.p[i+k])
		}
	}
}

// around is about the elements around block i.
func (s *survey) around(x []uint8, i int) {
	e := s.v.Blocks[i].Box
	for k := range levels {
		x[k] = 255
		if e >= 0 {
			b := &s.v.Boxes[e]
			x[k], e = s.mean(b.First, b.Last), b.Up
		}
	}
}

// overall is about the page and the place of block i in it.
func (s *survey) overall(x []uint8, i int) {
	b, n := &s.v.Blocks[i], int32(len(s.p))
	sum := s.paths[b.Path]
	x[0] = chance(float32(sum[1] / sum[0]))
	x[1] = s.mean(0, n)
	x[2] = amount(int32(s.kept[n]))
	x[3] = chance(s.cut)
	x[4] = 255
	if b.Heading >= 0 {
		x[4] = chance(s.p[b.Heading])
	}
	x[5] = s.mean(0, int32(i))
	x[6] = s.mean(int32(i)+1, n)
	switch {
	case s.last < 0:
		x[7] = 0
	case i < s.first:
		x[7] = 120 - amount(int32(s.first-i))/3
	case i > s.last:
		x[7] = 130 + amount(int32(i-s.last))/3
	default:
		x[7] = 125
	}
}
