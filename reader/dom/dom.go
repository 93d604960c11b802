// Package dom is the tree that every later room reads: nodes in one slice, addressed by index,
// made in one pass from golang.org/x/net/html's tree. It knows no network.
//
// A page is hostile: nodes, attributes and depth are bounded, and no function here recurses.
package dom

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ID addresses a node of one Tree. The zero ID is no node.
type ID int32

// Root is the document node of every Tree.
const Root ID = 1

// Kind says what a node is.
type Kind uint8

// The kinds of nodes. Doctype nodes are not kept.
const (
	None Kind = iota
	Document
	Element
	Text
	Comment
)

// Attr is one attribute: lower-case key, decoded value.
type Attr struct{ Key, Val string }

type node struct {
	parent, first, last, prev, next ID
	attrLo                          int32
	attrN                           uint16
	kind                            Kind
	foreign                         bool // SVG or MathML
	tag                             atom.Atom
	data                            string // tag name of an element, text of a text or comment node
}

// Tree is one parsed page. Its zero value is empty and has no nodes.
type Tree struct {
	nodes []node
	attrs []Attr
	// Flat is true when the page was nested deeper than the parser allows, so that only its
	// text, in paragraphs, was kept by a tokenizer pass.
	Flat bool
	// Truncated is true when a bound of Limits cut nodes or attributes off.
	Truncated bool
}

// Limits bounds a Tree. A zero field takes its default.
type Limits struct {
	Nodes    int // default 800,000: elements, texts and comments together
	Attrs    int // default 250,000 attributes of the page
	AttrsPer int // default 256 attributes of one element, at most 65,535
}

func (l Limits) withDefaults() Limits {
	if l.Nodes <= 0 {
		l.Nodes = 800_000
	}
	if l.Attrs <= 0 {
		l.Attrs = 250_000
	}
	if l.AttrsPer <= 0 || l.AttrsPer > 65_535 {
		l.AttrsPer = 256
	}
	return l
}

// Parse builds the tree of an HTML page in UTF-8, as a reader without scripting sees it. It always
// returns a tree; a page nested too deep for the parser yields a Flat one.
func Parse(page []byte, limits Limits) *Tree {
	t := new(Tree)
	t.Parse(page, limits)
	return t
}

// Parse is like the function Parse and reuses the memory of t. Nodes of the former page are gone.
func (t *Tree) Parse(page []byte, limits Limits) {
	limits = limits.withDefaults()
	if !t.parse(page, limits, odd(page)) {
		t.parse(page, limits, true)
	}
}

// parse says whether what the scan took out of the page is back in its place, as it always is when the
// page is parsed as it is.
func (t *Tree) parse(page []byte, limits Limits, asIs bool) bool {
	t.reset()
	s := newScan(page, limits, asIs)
	s.taken = slices.Grow(t.attrs, min(len(page)/128, limits.Attrs))
	defer s.free()
	if !s.read() || s.deep() {
		t.flatten(page, limits)
		return true
	}
	root, err := html.ParseWithOptions(bytes.NewReader(s.source()), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.flatten(page, limits)
		return true
	}
	t.attrs = s.taken
	t.fill(root, limits, s)
	t.Truncated = t.Truncated || s.cut
	return !s.astray
}

// FromHTML fills t from a tree of golang.org/x/net/html.
func (t *Tree) FromHTML(root *html.Node, limits Limits) {
	t.reset()
	t.fill(root, limits.withDefaults(), &scan{asIs: true})
}

func (t *Tree) fill(root *html.Node, limits Limits, s *scan) {
	nodes, attrs := count(root, limits)
	t.nodes, t.attrs = slices.Grow(t.nodes, nodes+2), slices.Grow(t.attrs, attrs)
	t.nodes = append(t.nodes, node{}, node{kind: Document})
	t.graft(Root, root, limits, s)
}

// count is how many nodes and attributes to copy there are below root, as far as the limits go.
func count(root *html.Node, limits Limits) (nodes, attrs int) {
	for n := root; n != nil && nodes < limits.Nodes; {
		nodes++
		if !takenOut(n) {
			attrs += min(len(n.Attr), limits.AttrsPer)
		}
		if n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
		}
		if n == root {
			break
		}
		n = n.NextSibling
	}
	return nodes, min(attrs, limits.Attrs)
}

func (t *Tree) reset() {
	clear(t.nodes)
	clear(t.attrs)
	t.nodes, t.attrs, t.Flat, t.Truncated = t.nodes[:0], t.attrs[:0], false, false
}

// graft copies the children of src below parent, with what s took out of them.
func (t *Tree) graft(parent ID, src *html.Node, limits Limits, s *scan) {
	at, cur := parent, src.FirstChild
	for cur != nil {
		if len(t.nodes) >= limits.Nodes {
			t.Truncated = true
			return
		}
		id := t.add(at, cur, limits, s)
		if id != 0 && cur.FirstChild != nil {
			at, cur = id, cur.FirstChild
			continue
		}
		for cur.NextSibling == nil {
			cur = cur.Parent
			if cur == nil || cur == src {
				return
			}
			at = t.nodes[at].parent
		}
		cur = cur.NextSibling
	}
}

func (t *Tree) add(parent ID, n *html.Node, limits Limits, s *scan) ID {
	var made node
	switch n.Type {
	case html.ElementNode:
		made = node{kind: Element, tag: n.DataAtom, data: n.Data, foreign: n.Namespace != ""}
		if lo, many, ok := s.attributes(n); ok {
			made.attrLo, made.attrN = lo, many
			break
		}
		keep := n.Attr
		if most := min(limits.AttrsPer, limits.Attrs-len(t.attrs)); len(keep) > most {
			keep, t.Truncated = keep[:max(most, 0)], true
		}
		made.attrLo, made.attrN = int32(len(t.attrs)), uint16(len(keep))
		for _, a := range keep {
			t.attrs = append(t.attrs, Attr{a.Key, a.Val})
		}
	case html.TextNode:
		made = node{kind: Text, data: s.body(n.Data, &t.nodes[parent])}
	case html.CommentNode:
		made = node{kind: Comment, data: s.body(n.Data, &t.nodes[parent])}
	default:
		return 0
	}
	return t.push(parent, made)
}

func (t *Tree) push(parent ID, made node) ID {
	id := ID(len(t.nodes))
	made.parent = parent
	p := &t.nodes[parent]
	made.prev = p.last
	if p.last != 0 {
		t.nodes[p.last].next = id
	} else {
		p.first = id
	}
	p.last = id
	t.nodes = append(t.nodes, made)
	return id
}

// AppendHTML parses a fragment of HTML and appends its nodes below parent. It returns the first
// node added, or 0 when the fragment is empty, too deep or over the limits.
func (t *Tree) AppendHTML(parent ID, fragment string, limits Limits) ID {
	limits = limits.withDefaults()
	s := newScan([]byte(fragment), limits, true)
	defer s.free()
	if !s.read() || s.deep() {
		return 0
	}
	context := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragmentWithOptions(bytes.NewReader(s.source()), context, html.ParseOptionEnableScripting(false))
	if err != nil {
		return 0
	}
	before := ID(len(t.nodes))
	holder := &html.Node{Type: html.DocumentNode}
	for _, n := range nodes {
		holder.AppendChild(n)
	}
	t.graft(parent, holder, limits, s)
	if ID(len(t.nodes)) == before {
		return 0
	}
	return before
}

// NewElement appends an element of the given tag below parent.
func (t *Tree) NewElement(parent ID, tag atom.Atom, attrs ...Attr) ID {
	lo := int32(len(t.attrs))
	t.attrs = append(t.attrs, attrs...)
	return t.push(parent, node{kind: Element, tag: tag, data: tag.String(), attrLo: lo, attrN: uint16(len(attrs))})
}

// NewText appends a text node below parent.
func (t *Tree) NewText(parent ID, text string) ID {
	return t.push(parent, node{kind: Text, data: text})
}

// flatten keeps the text of a page that the parser refuses: a paragraph, heading or list item for
// each run between block tags, the title, and the base of its links.
func (t *Tree) flatten(page []byte, limits Limits) {
	t.reset()
	t.nodes = append(t.nodes, node{}, node{kind: Document})
	t.Flat = true
	top := t.NewElement(Root, atom.Html)
	head := t.NewElement(top, atom.Head)
	f := flat{t: t, head: head, body: t.NewElement(top, atom.Body), want: atom.P}
	z := html.NewTokenizer(bytes.NewReader(page))
	for len(t.nodes)+2 < limits.Nodes {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			f.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			f.start(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			f.end(atom.Lookup(name))
		}
	}
	t.Truncated = true
}

// flat is the state of flatten.
type flat struct {
	t          *Tree
	head, body ID
	at         ID        // the element that text goes into, or 0 when one is to be made
	want       atom.Atom // the element to be made
	skip       atom.Atom // the element whose text is passed over
}

func (f *flat) text(s string) {
	if f.skip != 0 || f.at == 0 && strings.TrimSpace(s) == "" {
		return
	}
	if f.at == 0 {
		f.at = f.t.NewElement(f.body, f.want)
	}
	f.t.NewText(f.at, s)
}

func (f *flat) start(z *html.Tokenizer) {
	name, more := z.TagName()
	tag := atom.Lookup(name)
	if f.skip == atom.Svg {
		z.NextIsNotRawText()
	}
	switch tag {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Select, atom.Textarea, atom.Iframe, atom.Noscript:
		if f.skip == 0 {
			f.skip = tag
		}
		return
	case atom.Title:
		if f.skip == 0 && f.t.First(f.head, atom.Title) == 0 {
			f.at = f.t.NewElement(f.head, atom.Title)
		}
		return
	case atom.Base:
		f.base(z, more)
		return
	}
	if inline[tag] {
		return
	}
	if f.skip == atom.Svg || f.skip == atom.Select {
		if !block(tag) {
			return
		}
		f.skip = 0 // neither can hold it
	}
	f.at, f.want = 0, atom.P
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Li, atom.Blockquote, atom.Pre:
		f.want = tag
	}
}

func block(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Table, atom.Blockquote, atom.Pre, atom.Dl:
		return true
	}
	return false
}

func (f *flat) base(z *html.Tokenizer, more bool) {
	for n := 0; more && n < 256; n++ {
		var key, val []byte
		key, val, more = z.TagAttr()
		if string(key) == "href" && f.t.First(f.head, atom.Base) == 0 {
			f.t.NewElement(f.head, atom.Base, Attr{"href", string(val)})
		}
	}
}

func (f *flat) end(tag atom.Atom) {
	if f.skip != 0 {
		if tag == f.skip {
			f.skip = 0
		}
		return
	}
	if !inline[tag] {
		f.at, f.want = 0, atom.P
	}
}

var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Kbd: true, atom.Mark: true,
	atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

// ErrTooManyTags is returned by CountTags for a page over the bound.
var ErrTooManyTags = errors.New("dom: too many tags")

// couldBegin counts the places where a tag may begin.
func couldBegin(page []byte) int {
	n := 0
	for {
		i := bytes.IndexByte(page, '<')
		if i < 0 || i+1 >= len(page) {
			return n
		}
		if c := page[i+1]; letter(c) || c == '/' {
			n++
		}
		page = page[i+1:]
	}
}

// CountTags gives ErrTooManyTags for a page of more than most tags. It counts them by a tokenizer pass,
// before any tree is built, and stops at the bound; where not even so many could begin, it does without
// the pass and the number is how many could.
func CountTags(page []byte, most int) (int, error) {
	if n := couldBegin(page); n <= most {
		return n, nil
	}
	z := html.NewTokenizer(bytes.NewReader(page))
	n := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return n, nil
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			if n++; n > most {
				return n, ErrTooManyTags
			}
		}
	}
}
