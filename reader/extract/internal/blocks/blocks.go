// Package blocks cuts a page into blocks of text and describes each in numbers, for the classifier
// that decides which of them are the main content, and for the program that trains it.
package blocks

import (
	"hash/maphash"
	"net/url"
	"slices"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Block is a run of text between block tags.
type Block struct {
	Lo, Hi int32 // its texts: Page.Texts[Lo:Hi]
	Elem   int32 // the element that holds its first text, an index of Page.Elems
	Box    int32 // the innermost block element that holds it, an index of Page.Elems

	Words, Linked, Wide      int32 // words; of them in links; of them single letters of scripts without spaces
	Chars, Digits, Upper     int32
	Commas, Stops            int32
	Path                     uint64 // hash of the tags and class names above
	Lex                      uint32 // groups of text words
	Level                    uint8  // of a heading, 0 for others
	End, Start               byte   // class of the last and the first letter
	Year, Clock, Money, Mail bool
	Body, Description        bool  // the data of the page says the same as the body of the article, as a description
	Again, Later             bool  // a block before, a block after says the same
	Title                    bool  // reads like the page's title
	Heading                  int32 // the block of the last heading before, -1 for none
	Echo                     int32 // of a block that says what one before says, that one
}

// Elem is an element that was open while a block was read, with the sums of all blocks inside.
type Elem struct {
	ID                                   dom.ID
	Parent                               int32 // index of the parent, -1 at the top
	Up                                   int32 // the nearest ancestor with more blocks, -1 for none
	First, Last                          int32 // its blocks: [First, Last)
	Words, Linked, Blocks, Fluent, Heads int32
	Images, Inputs, Links                int32
	Hash                                 uint64 // of tag and class names
	Twins                                int32  // siblings of the same hash, itself among them
	Depth                                int32
	Unit                                 uint8 // kind of unit it makes
	Inline                               bool
}

// Page is a page cut into blocks.
type Page struct {
	Tree   *dom.Tree
	Texts  []dom.ID
	Blocks []Block
	Elems  []Elem
	Facts  Facts

	Words, Linked, Fluent int32

	// Kinds is how likely the page is of each of PageKinds; the caller sets it between Cut and Describe.
	Kinds [nKinds]float32
	// Media are the images and other things without text of their own, in document order.
	Media []Medium
	// Hidden is how many parts of the page Prepare left out because a person would not see them.
	Hidden int

	marks   []uint8 // a row for each block: how many levels above it a tag or class word stands, noMark for none
	said    map[uint64]uint8
	hasBody bool
	runs    map[uint64]int32 // runs of words read so far, by the block they came first in
	panels  map[dom.ID]bool
	names   [4096]knownName
	paths   map[uint64]pathSum
	twins   map[uint64]int32
	stack   []frame
	skip    func(dom.ID) bool
	depths  []uint16
	feats   []uint8
	rings   []ring
	top     int32 // the element with the most running text, -1 for none
}

// Medium is an image, a rule, an embedded player: a node that is content without being text.
type Medium struct {
	ID    dom.ID
	Elem  int32 // the element around it, an index of Page.Elems
	Block int32 // the first block after it
}

type pathSum struct{ blocks, words, linked int32 }

// frame is an open element during the walk.
type frame struct {
	id    dom.ID
	elem  int32
	path  uint64
	link  bool
	block bool
	head  uint8
}

// row is how many marks are kept for each open element: one for each group of class words and for
// each tag that matters.
const row = groups + tagMarks

// Cut cuts t into blocks; what skip says true of is passed over with all below it. The memory of p
// is used again.
func (p *Page) Cut(t *dom.Tree, base *url.URL, skip func(dom.ID) bool) {
	p.reset(t, skip)
	p.head(base)
	w := walk{Page: p, cur: -1}
	w.run()
	p.sum()
	p.echoes()
	p.look()
}

func (p *Page) reset(t *dom.Tree, skip func(dom.ID) bool) {
	if p.paths == nil {
		p.said, p.runs = make(map[uint64]uint8), make(map[uint64]int32)
		p.paths, p.twins = make(map[uint64]pathSum), make(map[uint64]int32)
	}
	clear(p.said)
	clear(p.runs)
	p.hasBody = false
	clear(p.paths)
	clear(p.twins)
	p.Tree, p.skip = t, skip
	p.Texts, p.Blocks, p.Elems, p.Media = p.Texts[:0], p.Blocks[:0], p.Elems[:0], p.Media[:0]
	p.stack, p.depths, p.marks, p.feats = p.stack[:0], p.depths[:0], p.marks[:0], p.feats[:0]
	p.Elems = slices.Grow(p.Elems, elements(t))
	p.Words, p.Linked, p.Fluent, p.Facts, p.Kinds = 0, 0, 0, Facts{}, [nKinds]float32{}
}

// elements counts the elements with something below them.
func elements(t *dom.Tree) (n int) {
	for id := dom.Root; int(id) < t.Len(); id++ {
		if t.FirstChild(id) != 0 {
			n++
		}
	}
	return n
}

// walk is the state of one pass over the tree.
type walk struct {
	*Page
	cur    int32 // the block being read, -1 for none
	breaks int   // line breaks since the last text
	inWord bool
}

func (w *walk) run() {
	t := w.Tree
	n := t.FirstChild(dom.Root)
	for n != 0 {
		if c := w.enter(n); c != 0 {
			n = c
			continue
		}
		for n != 0 && t.Next(n) == 0 {
			n = t.Parent(n)
			if n == dom.Root || n == 0 {
				w.end()
				return
			}
			w.leave()
		}
		n = t.Next(n)
	}
	w.end()
}

// enter reads n and gives the child to go down to, or 0 when there is nothing below to read.
func (w *walk) enter(n dom.ID) dom.ID {
	t := w.Tree
	switch t.Kind(n) {
	case dom.Text:
		w.text(n)
		return 0
	case dom.Element:
	default:
		return 0
	}
	tag := t.Tag(n)
	switch tag {
	case atom.Br:
		w.medium(n)
		w.inWord = false
		if w.breaks++; w.breaks > 1 {
			w.end()
		}
		return 0
	case atom.Img, atom.Picture, atom.Video, atom.Svg:
		w.count(func(e *Elem) { e.Images++ })
	case atom.Input, atom.Button, atom.Select, atom.Textarea:
		w.count(func(e *Elem) { e.Inputs++ })
	case atom.A:
		w.count(func(e *Elem) { e.Links++ })
	case atom.Script:
		w.script(n)
	case 0:
		if t.Name(n) == "mjx-container" { // a formula in a line, of many elements that are none of its own
			w.medium(n)
			w.inWord = false
			return 0
		}
	}
	if medium(tag) || Pictured(t, n) {
		w.medium(n)
	}
	if w.closed(n) {
		return 0
	}
	c := t.FirstChild(n)
	if c == 0 {
		if !Inline(tag) {
			w.end()
		}
		return 0
	}
	w.open(n, tag)
	return c
}

// Skipped says that n was passed over, since a person would not see it.
func (p *Page) Skipped(n dom.ID) bool { return p.skip != nil && p.skip(n) }

// closed says that nothing in n is to be read.
func (w *walk) closed(n dom.ID) bool {
	return w.Skipped(n) || Closed(w.Tree, n)
}

// Closed says that a browser shows nothing of n that is text of the page: Unseen, but for a shadow root
// and for a noscript that is worth reading.
func Closed(t *dom.Tree, n dom.ID) bool {
	switch tag := t.Tag(n); tag {
	case atom.Noscript:
		return !spoken(t, n)
	case atom.Template:
		return !t.HasAttr(n, "shadowrootmode")
	default:
		return Unseen(tag)
	}
}

func (w *walk) medium(n dom.ID) {
	if len(w.stack) > 0 && !w.Skipped(n) {
		w.Media = append(w.Media, Medium{n, w.stack[len(w.stack)-1].elem, int32(len(w.Blocks))})
	}
}

func (w *walk) count(f func(*Elem)) {
	if len(w.stack) > 0 {
		f(&w.Elems[w.stack[len(w.stack)-1].elem])
	}
}

// open pushes an element.
func (w *walk) open(n dom.ID, tag atom.Atom) {
	block := !Inline(tag) && !w.Tree.Foreign(n)
	if block {
		w.end()
	}
	parent, depth, path, link, head := int32(-1), int32(0), uint64(14695981039346656037), false, uint8(0)
	if len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		parent, depth, path, link, head = top.elem, w.Elems[top.elem].Depth+1, top.path, top.link, top.head
	}
	set, hash := w.name(n, tag)
	if block {
		path = (path ^ hash) * 1099511628211
	}
	if l := HeadingLevel(tag); l > 0 {
		head = l
	}
	w.Elems = append(w.Elems, Elem{ID: n, Parent: parent, Depth: depth, First: int32(len(w.Blocks)), Hash: hash, Unit: unit(tag), Inline: !block})
	w.stack = append(w.stack, frame{id: n, elem: int32(len(w.Elems) - 1), path: path, link: link || tag == atom.A, block: block, head: head})
	w.mark(depth, tag, n, set)
}

// mark copies the row of marks of the element above and notes the tag and the class words of this.
func (w *walk) mark(depth int32, tag atom.Atom, n dom.ID, set uint64) {
	at := len(w.depths)
	if at == 0 {
		w.depths = append(w.depths, make([]uint16, row)...)
	} else {
		w.depths = append(w.depths, w.depths[at-row:at]...)
	}
	here := w.depths[at : at+row]
	d := uint16(min(depth, 65000)) + 1
	for ; set != 0; set &= set - 1 {
		here[lowestBit(set)] = d
	}
	if m := tagMark(tag); m >= 0 {
		here[groups+m] = d
	}
	if tag == atom.A {
		if m := linkMark(w.Tree, n); m >= 0 {
			here[groups+m] = d
		}
	}
	if m := roleMark(w.Tree, n); m >= 0 {
		here[groups+m] = d
	}
	if w.openedBy(n, tag) {
		here[groups+markPanel] = d
	}
}

func (w *walk) leave() {
	top := w.stack[len(w.stack)-1]
	if top.block {
		w.end()
	}
	w.Elems[top.elem].Last = int32(len(w.Blocks))
	w.stack = w.stack[:len(w.stack)-1]
	w.depths = w.depths[:len(w.depths)-row]
}

// end ends the block that is being read.
func (w *walk) end() {
	w.breaks, w.inWord = 0, false
	if w.cur < 0 {
		return
	}
	b := &w.Blocks[w.cur]
	w.cur = -1
	if b.Words == 0 && b.Chars == 0 {
		w.Texts = w.Texts[:b.Lo]
		w.marks = w.marks[:len(w.marks)-row]
		w.Blocks = w.Blocks[:len(w.Blocks)-1]
	}
}

// text reads a text node.
func (w *walk) text(n dom.ID) {
	data := w.Tree.Data(n)
	if blank(data) {
		w.inWord = false
		if w.cur >= 0 {
			w.Texts = append(w.Texts, n)
			w.Blocks[w.cur].Hi = int32(len(w.Texts))
		}
		return
	}
	if len(w.stack) == 0 {
		return
	}
	w.breaks = 0
	if w.cur < 0 {
		w.begin()
	}
	w.Texts = append(w.Texts, n)
	b := &w.Blocks[w.cur]
	b.Hi = int32(len(w.Texts))
	w.inWord = b.read(data, w.inWord, w.stack[len(w.stack)-1].link)
}

// A page of more than manyBlocks blocks goes on in the last one as long as the path stays the same; one of
// more than mostBlocks has no further ones at all.
const (
	manyBlocks = 20_000
	mostBlocks = 40_000
)

func (w *walk) begin() {
	top := &w.stack[len(w.stack)-1]
	if n := len(w.Blocks); n >= manyBlocks && (w.Blocks[n-1].Path == top.path || n >= mostBlocks) {
		w.cur = int32(n - 1)
		return
	}
	box := top.elem
	for w.Elems[box].Inline && w.Elems[box].Parent >= 0 {
		box = w.Elems[box].Parent
	}
	w.Blocks = append(w.Blocks, Block{Lo: int32(len(w.Texts)), Hi: int32(len(w.Texts)), Elem: top.elem, Box: box, Path: top.path, Level: top.head, Heading: -1})
	w.above(w.Elems[top.elem].Depth)
	w.cur = int32(len(w.Blocks) - 1)
}

// name is the set of groups of class words of n, and a hash of its tag and class names.
func (w *walk) name(n dom.ID, tag atom.Atom) (set, hash uint64) {
	hash = uint64(tag)*0x9E3779B97F4A7C15 + 1
	if tag == 0 {
		set = w.groups(w.Tree.Name(n))
		hash = hashString(hash, w.Tree.Name(n))
	}
	for _, a := range w.Tree.Attrs(n) {
		switch a.Key {
		case "class":
			set |= w.groups(a.Val)
			hash = hashString(hash, stem(a.Val))
		case "id", "itemprop", "data-testid", "data-component", "data-type", "role", "aria-label":
			set |= w.groups(a.Val)
		}
	}
	return set, hash
}

func (w *walk) groups(name string) uint64 {
	if name == "" {
		return 0
	}
	known := &w.names[maphash.String(seed, name)%uint64(len(w.names))]
	if known.name != name {
		*known = knownName{name, words.groupsOf(name)}
	}
	return known.set
}

// knownName is a name looked up before: most names of a page come many times.
type knownName struct {
	name string
	set  uint64
}

// seed makes the places of names in the table; they do not show in any answer.
var seed = maphash.MakeSeed()

// stem is the first class name without digits at its end: rows are often numbered or marked odd
// and even by further names.
func stem(class string) string {
	i := 0
	for i < len(class) && (class[i] == ' ' || class[i] == '\n' || class[i] == '\t') {
		i++
	}
	j := i
	for j < len(class) && class[j] != ' ' && class[j] != '\n' && class[j] != '\t' {
		j++
	}
	for j > i && (class[j-1] >= '0' && class[j-1] <= '9' || class[j-1] == '-' || class[j-1] == '_') {
		j--
	}
	return class[i:j]
}

func hashString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// sum adds up the blocks in each element, from the inside out: an element's index is above its
// parent's.
func (p *Page) sum() {
	for i := range p.Blocks {
		b := &p.Blocks[i]
		e := &p.Elems[b.Box]
		e.Words += b.Words
		e.Linked += b.Linked
		e.Blocks++
		if b.Fluent() {
			e.Fluent += b.Words
			p.Fluent += b.Words
		}
		if b.Level > 0 {
			e.Heads++
		}
		p.Words += b.Words
		p.Linked += b.Linked
		s := p.paths[b.Path]
		s.blocks++
		s.words += b.Words
		s.linked += b.Linked
		p.paths[b.Path] = s
	}
	for i := len(p.Elems) - 1; i > 0; i-- {
		e := &p.Elems[i]
		if e.Parent < 0 {
			continue
		}
		up := &p.Elems[e.Parent]
		up.Words += e.Words
		up.Linked += e.Linked
		up.Blocks += e.Blocks
		up.Fluent += e.Fluent
		up.Heads += e.Heads
		up.Images += e.Images
		up.Inputs += e.Inputs
		up.Links += e.Links
		if e.Blocks > 0 && !e.Inline {
			p.twins[e.twinKey()]++
		}
	}
	for i := range p.Elems {
		e := &p.Elems[i]
		e.Up, e.Twins = -1, 1
		if e.Parent >= 0 {
			up := &p.Elems[e.Parent]
			if up.Blocks > e.Blocks {
				e.Up = e.Parent
			} else {
				e.Up = up.Up
			}
			if n := p.twins[e.twinKey()]; n > 0 {
				e.Twins = n
			}
		}
	}
}

func (e *Elem) twinKey() uint64 { return e.Hash*31 + uint64(e.Parent)*0x9E3779B97F4A7C15 }

// Fluent says that a block reads like running text.
func (b *Block) Fluent() bool {
	return b.Words >= 10 && b.Linked*3 < b.Words && (b.Commas+b.Stops > 0)
}

// Asks says that a block ends as a question does.
func (b *Block) Asks() bool { return b.End == endAsk }

// noMark stands for a mark that nothing above a block has, and ends the scale.
const noMark = 40

// above appends the marks above a block whose element is at depth.
func (w *walk) above(depth int32) {
	here, from := w.depths[len(w.depths)-row:], uint16(depth)+2
	w.marks = slices.Grow(w.marks, row)
	for _, d := range here {
		if d == 0 {
			w.marks = append(w.marks, noMark)
		} else {
			w.marks = append(w.marks, uint8(min(noMark-1, from-d)))
		}
	}
}

// Mark is how many levels above block i the mark m stands, 1 for the innermost; 0 for none.
func (p *Page) Mark(i, m int) int {
	if d := int(p.marks[i*row+m]); d != noMark {
		return d
	}
	return 0
}
