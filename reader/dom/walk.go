package dom

import (
	"iter"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Len is one more than the highest ID of the tree.
func (t *Tree) Len() int { return len(t.nodes) }

// Kind says what n is; None for the zero ID.
func (t *Tree) Kind(n ID) Kind { return t.nodes[n].kind }

// Tag is the atom of an element; 0 for other nodes and for elements unknown to HTML.
func (t *Tree) Tag(n ID) atom.Atom { return t.nodes[n].tag }

// Name is the tag name of an element, lower case in HTML; empty for other nodes.
func (t *Tree) Name(n ID) string {
	if t.nodes[n].kind != Element {
		return ""
	}
	return t.nodes[n].data
}

// Foreign is true inside SVG and MathML.
func (t *Tree) Foreign(n ID) bool { return t.nodes[n].foreign }

// Data is the text of a text or comment node; empty for other nodes.
func (t *Tree) Data(n ID) string {
	if k := t.nodes[n].kind; k != Text && k != Comment {
		return ""
	}
	return t.nodes[n].data
}

// Parent is the node around n, or 0.
func (t *Tree) Parent(n ID) ID { return t.nodes[n].parent }

// FirstChild is the first node in n, or 0.
func (t *Tree) FirstChild(n ID) ID { return t.nodes[n].first }

// LastChild is the last node in n, or 0.
func (t *Tree) LastChild(n ID) ID { return t.nodes[n].last }

// Prev is the node before n in the same parent, or 0.
func (t *Tree) Prev(n ID) ID { return t.nodes[n].prev }

// Next is the node behind n in the same parent, or 0.
func (t *Tree) Next(n ID) ID { return t.nodes[n].next }

// Attrs are the attributes of n. The slice must not be changed.
func (t *Tree) Attrs(n ID) []Attr {
	e := &t.nodes[n]
	return t.attrs[e.attrLo : e.attrLo+int32(e.attrN) : e.attrLo+int32(e.attrN)]
}

// Attr is the value of the attribute key of n, or "".
func (t *Tree) Attr(n ID, key string) string {
	v, _ := t.LookupAttr(n, key)
	return v
}

// LookupAttr is the value of the attribute key of n and whether n has it.
func (t *Tree) LookupAttr(n ID, key string) (string, bool) {
	for _, a := range t.Attrs(n) {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// HasAttr is true when n has the attribute key, whatever its value.
func (t *Tree) HasAttr(n ID, key string) bool {
	_, ok := t.LookupAttr(n, key)
	return ok
}

// Following is the next node in document order inside the subtree of within: first the children of
// n, then its siblings, then those of its ancestors. It is 0 after the last one.
func (t *Tree) Following(n, within ID) ID {
	if c := t.nodes[n].first; c != 0 {
		return c
	}
	return t.After(n, within)
}

// After is like Following but passes over the children of n.
func (t *Tree) After(n, within ID) ID {
	for n != 0 && n != within {
		if s := t.nodes[n].next; s != 0 {
			return s
		}
		n = t.nodes[n].parent
	}
	return 0
}

// Descendants are all nodes below root in document order.
func (t *Tree) Descendants(root ID) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for n := t.Following(root, root); n != 0; n = t.Following(n, root) {
			if !yield(n) {
				return
			}
		}
	}
}

// First is the first element with that tag below root, or 0.
func (t *Tree) First(root ID, tag atom.Atom) ID {
	for n := t.Following(root, root); n != 0; n = t.Following(n, root) {
		if t.nodes[n].tag == tag && t.nodes[n].kind == Element {
			return n
		}
	}
	return 0
}

// Contains is true when n is outer or below it.
func (t *Tree) Contains(outer, n ID) bool {
	for ; n != 0; n = t.nodes[n].parent {
		if n == outer {
			return true
		}
	}
	return false
}

// Medium is true for an element that is content without having text: an image, a player, a frame, a
// formula, also those that AMP and players of videos name in their own way.
func (t *Tree) Medium(n ID) bool {
	e := &t.nodes[n]
	if e.kind != Element {
		return false
	}
	switch e.tag {
	case atom.Img, atom.Picture, atom.Video, atom.Audio, atom.Iframe, atom.Embed, atom.Object, atom.Math:
		return true
	case 0:
		switch e.data {
		case "amp-img", "amp-anim", "amp-youtube", "amp-vimeo", "amp-dailymotion", "amp-twitter", "amp-instagram", "amp-facebook", "amp-soundcloud", "amp-iframe",
			"amp-video", "amp-audio", "amp-mathml", "lite-youtube", "lite-vimeo", "youtube-video", "youtube-embed", "mjx-container":
			return true
		}
	}
	return false
}

// Text is the text below n, as it stands, of scripts and styles too.
func (t *Tree) Text(n ID) string {
	if t.nodes[n].kind == Text {
		return t.nodes[n].data
	}
	if c := t.nodes[n].first; c != 0 && t.nodes[c].next == 0 && t.nodes[c].kind == Text {
		return t.nodes[c].data
	}
	var b strings.Builder
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		if t.nodes[c].kind == Text {
			b.WriteString(t.nodes[c].data)
		}
	}
	return b.String()
}

// HTML makes a tree of golang.org/x/net/html from the subtree of root, for libraries that need one.
// The second result maps each made node back to its ID.
func (t *Tree) HTML(root ID) (*html.Node, map[*html.Node]ID) {
	from := make(map[*html.Node]ID)
	top := t.html(root)
	from[top] = root
	at, to := root, top
	for n := t.Following(root, root); n != 0; n = t.Following(n, root) {
		for t.nodes[n].parent != at {
			at, to = t.nodes[at].parent, to.Parent
		}
		made := t.html(n)
		to.AppendChild(made)
		from[made] = n
		at, to = n, made
	}
	return top, from
}

func (t *Tree) html(n ID) *html.Node {
	e := &t.nodes[n]
	switch e.kind {
	case Element:
		made := &html.Node{Type: html.ElementNode, Data: e.data, DataAtom: e.tag}
		for _, a := range t.Attrs(n) {
			made.Attr = append(made.Attr, html.Attribute{Key: a.Key, Val: a.Val})
		}
		return made
	case Text:
		return &html.Node{Type: html.TextNode, Data: e.data}
	case Comment:
		return &html.Node{Type: html.CommentNode, Data: e.data}
	default:
		return &html.Node{Type: html.DocumentNode}
	}
}
