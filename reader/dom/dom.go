// Package dom is the tree that every later room reads: nodes in one slice, addressed by index,
// made in one pass from golang.org/x/net/html's tree. It knows no network.
//
// A page is hostile: nodes, attributes and depth are bounded, and no function here recurses.
package dom

import (
	"bytes"
	"errors"
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
	Nodes    int // default 600,000: elements, texts and comments together
	AttrsPer int // default 256 attributes of one element
}

func (l Limits) withDefaults() Limits {
	if l.Nodes <= 0 {
		l.Nodes = 600_000
	}
	if l.AttrsPer <= 0 {
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
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.flatten(page, limits)
		return
	}
	t.FromHTML(root, limits)
}

// FromHTML fills t from a tree of golang.org/x/net/html.
func (t *Tree) FromHTML(root *html.Node, limits Limits) {
	limits = limits.withDefaults()
	t.reset()
	t.nodes = append(t.nodes, node{}, node{kind: Document})
	t.graft(Root, root, limits)
}

func (t *Tree) reset() {
	clear(t.nodes)
	clear(t.attrs)
	t.nodes, t.attrs, t.Flat, t.Truncated = t.nodes[:0], t.attrs[:0], false, false
}

// graft copies the children of src below parent.
func (t *Tree) graft(parent ID, src *html.Node, limits Limits) {
	at, cur := parent, src.FirstChild
	for cur != nil {
		if len(t.nodes) >= limits.Nodes {
			t.Truncated = true
			return
		}
		id := t.add(at, cur, limits)
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

func (t *Tree) add(parent ID, n *html.Node, limits Limits) ID {
	var made node
	switch n.Type {
	case html.ElementNode:
		made = node{kind: Element, tag: n.DataAtom, data: n.Data, foreign: n.Namespace != ""}
		keep := n.Attr
		if len(keep) > limits.AttrsPer {
			keep, t.Truncated = keep[:limits.AttrsPer], true
		}
		made.attrLo, made.attrN = int32(len(t.attrs)), uint16(len(keep))
		for _, a := range keep {
			t.attrs = append(t.attrs, Attr{a.Key, a.Val})
		}
	case html.TextNode:
		made = node{kind: Text, data: n.Data}
	case html.CommentNode:
		made = node{kind: Comment, data: n.Data}
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
	context := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragmentWithOptions(strings.NewReader(fragment), context, html.ParseOptionEnableScripting(false))
	if err != nil {
		return 0
	}
	before := ID(len(t.nodes))
	holder := &html.Node{Type: html.DocumentNode}
	for _, n := range nodes {
		holder.AppendChild(n)
	}
	t.graft(parent, holder, limits)
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

// flatten keeps the visible text of a page that the parser refuses: a paragraph for each run
// between block tags.
func (t *Tree) flatten(page []byte, limits Limits) {
	t.reset()
	t.nodes = append(t.nodes, node{}, node{kind: Document})
	t.Flat = true
	body := t.NewElement(t.NewElement(Root, atom.Html), atom.Body)
	z := html.NewTokenizer(bytes.NewReader(page))
	para, skip := ID(0), atom.Atom(0)
	for len(t.nodes) < limits.Nodes {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			text := string(z.Text())
			if skip != 0 || strings.TrimSpace(text) == "" {
				continue
			}
			if para == 0 {
				para = t.NewElement(body, atom.P)
			}
			t.NewText(para, text)
		case html.StartTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if tag == atom.Script || tag == atom.Style || tag == atom.Template || tag == atom.Title {
				skip = tag
			}
			if !inline[tag] {
				para = 0
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if tag == skip {
				skip = 0
			}
			if !inline[tag] {
				para = 0
			}
		}
	}
	t.Truncated = true
}

var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Kbd: true, atom.Mark: true,
	atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.U: true, atom.Var: true, atom.Wbr: true,
}

// ErrTooManyTags is returned by CountTags for a page over the bound.
var ErrTooManyTags = errors.New("dom: too many tags")

// CountTags counts the tags of a page by a tokenizer pass, before any tree is built, and stops
// with ErrTooManyTags as soon as there are more than most.
func CountTags(page []byte, most int) (int, error) {
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
