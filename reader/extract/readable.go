package extract

import (
	"net/url"
	"strconv"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// mark names the attribute that carries a node's ID through readability, which works on copies.
const mark = "data-node-id"

// readable is the baseline engine: go-readability's choice, mapped back to the nodes of t.
func readable(t *dom.Tree, base *url.URL) Content {
	c := Content{Type: TypeArticle, Keep: dom.NewSet(t)}
	if base == nil {
		base = new(url.URL)
	}
	top, from := t.HTML(dom.Root)
	for made, id := range from {
		if made.Type == html.ElementNode {
			made.Attr = append(made.Attr, html.Attribute{Key: mark, Val: strconv.Itoa(int(id))})
		}
	}
	parser := readability.NewParser()
	article, err := parser.ParseAndMutate(top, base)
	if err != nil || article.Node == nil {
		return c
	}
	m := mapper{t: t, keep: &c.Keep, at: make(map[dom.ID]dom.ID)}
	for n := article.Node; n != nil; n = nextHTML(n, article.Node) {
		if n.Type == html.TextNode {
			m.text(n.Data, m.owner(n))
		} else if id := m.marked(n); id != 0 {
			m.add(id)
		}
	}
	m.blanks()
	return c
}

// nextHTML is the next node in document order inside top.
func nextHTML(n, top *html.Node) *html.Node {
	if n.FirstChild != nil {
		return n.FirstChild
	}
	for n != top && n.NextSibling == nil {
		n = n.Parent
	}
	if n == top {
		return nil
	}
	return n.NextSibling
}

// mapper finds the nodes of t that readability's copies came from.
type mapper struct {
	t     *dom.Tree
	keep  *dom.Set
	steps int
	at    map[dom.ID]dom.ID // how far the texts below an element have been matched
}

// marked is the element that n is a copy of, 0 when readability made it.
func (m *mapper) marked(n *html.Node) dom.ID {
	for _, a := range n.Attr {
		if a.Key != mark {
			continue
		}
		if id, err := strconv.Atoi(a.Val); err == nil && id > 0 && id < m.t.Len() {
			return dom.ID(id)
		}
	}
	return 0
}

// owner is the nearest marked element around n.
func (m *mapper) owner(n *html.Node) dom.ID {
	for n = n.Parent; n != nil; n = n.Parent {
		if id := m.marked(n); id != 0 {
			return id
		}
	}
	return 0
}

// text keeps the next text below the nearest marked element that reads the same, after the last one
// found there, or else from the start. A text that was made by readability itself is passed over.
func (m *mapper) text(data string, owner dom.ID) {
	if owner == 0 || strings.TrimSpace(data) == "" {
		return
	}
	at, seen := m.at[owner]
	if !seen {
		at = owner
	}
	found := m.find(data, at, owner)
	if found == 0 && seen {
		found = m.find(data, owner, owner)
	}
	if found != 0 {
		m.add(found)
		m.at[owner] = found
	}
}

// find is the next text after at, below owner, that reads like data. All searches together are
// bounded, so that a page of many equal texts costs no more than its size.
func (m *mapper) find(data string, at, owner dom.ID) dom.ID {
	for n := m.t.Following(at, owner); n != 0 && m.steps < stepsPer*m.t.Len(); n = m.t.Following(n, owner) {
		m.steps++
		if m.t.Kind(n) == dom.Text && m.t.Data(n) == data {
			return n
		}
	}
	return 0
}

// stepsPer is how many nodes may be looked at for each node of the tree.
const stepsPer = 200

// blanks keeps the blanks between what is kept.
func (m *mapper) blanks() {
	for n := dom.Root; int(n) < m.t.Len(); n++ {
		if m.t.Kind(n) == dom.Text && m.keep.Has(m.t.Parent(n)) && strings.TrimSpace(m.t.Data(n)) == "" {
			m.keep.Add(n)
		}
	}
}

func (m *mapper) add(n dom.ID) {
	if !m.keep.Has(n) {
		m.t.AddAncestors(m.keep, n)
		m.keep.Add(n)
	}
}

// full keeps every node that a person would see.
func full(t *dom.Tree) Content {
	hidden, removed := t.Hidden()
	c := Content{Type: TypeOther, Keep: dom.NewSet(t), HiddenRemoved: removed}
	for n := dom.Root; n != 0; {
		if hidden.Has(n) || t.Kind(n) == dom.Comment || blocks.Closed(t, n) && unseen(t.Tag(n)) && !blocks.Pictured(t, n) {
			n = t.After(n, dom.Root)
			continue
		}
		c.Keep.Add(n)
		n = t.Following(n, dom.Root)
	}
	return c
}

// unseen says that nothing in the tag is shown, neither text nor a player.
func unseen(tag atom.Atom) bool {
	switch tag {
	case atom.Iframe, atom.Video, atom.Audio, atom.Object, atom.Svg:
		return false
	}
	return blocks.Unseen(tag)
}
