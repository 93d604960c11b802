package extract

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// Block is one run of text between block tags, as change detection reads a page: a paragraph, a list
// item, a table row, a label, a value.
type Block struct {
	Text    string   // blanks folded to one, no markup
	Heading []string // the headings above it, outermost first; empty outside the content
	Files   []string // where its links to documents lead: host and path, no query and no session
	Kept    bool     // part of the main content; else it is furniture of the page
	Boxed   bool     // it lies in a small box of its own, beside the running text
}

const (
	mostBlocks   = 20_000
	mostHeadings = 4
)

// TextBlocks are the visible blocks of a page in document order, those of the main content and the
// furniture around it, so that a block that only changed sides is not taken for news.
func TextBlocks(t *dom.Tree, c Content) []Block {
	w := blockWalk{t: t, keep: c.Keep}
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		if len(w.blocks) >= mostBlocks {
			break
		}
		w.leave(n)
		if w.enter(n) {
			n = t.Following(n, dom.Root)
		} else {
			n = t.After(n, dom.Root)
		}
	}
	w.flush()
	w.widen()
	w.demote()
	w.markBoxed()
	return w.blocks
}

type blockWalk struct {
	t      *dom.Tree
	keep   dom.Set
	blocks []Block
	places []place // of the blocks
	text   strings.Builder
	linked int // bytes of text inside links
	files  []string
	kept   bool
	open   []open // the block elements around the current node
	link   dom.ID // the link around it, and the first node behind that
	behind dom.ID
	offers bool // the link leads to a document
	heads  []heading
	head   dom.ID // the heading that is being read
}

// open is a block element whose end is not reached yet.
type open struct {
	id        dom.ID
	end       dom.ID // the first node behind it
	furniture furniture
	inLink    bool   // it was opened inside a link
	promoted  bool   // it is, or lies in, a box whose text takes turns
	box       dom.ID // the box of its own that it is or lies in
}

type heading struct {
	level int
	text  string
}

// enter takes in n and says whether its children are to be read.
func (w *blockWalk) enter(n dom.ID) bool {
	switch w.t.Kind(n) {
	case dom.Text:
		w.take(n)
		return false
	case dom.Element:
	default:
		return false
	}
	tag := w.t.Tag(n)
	if blocks.Unseen(tag) && !w.keep.Has(n) {
		return false
	}
	if w.t.HasAttr(n, "hidden") && !w.keep.Has(n) {
		return false
	}
	if inline(tag) && w.apart(n) {
		w.text.WriteByte(' ')
	}
	switch {
	case tag == atom.Br:
		w.flush()
	case (tag == atom.Td || tag == atom.Th) && !w.layout(n):
		w.text.WriteByte(' ')
	case !inline(tag):
		w.flush()
		w.open = append(w.open, w.opened(n))
		if headingLevel(tag) > 0 {
			w.head = n
		}
	case tag == atom.A:
		if w.t.Tag(w.t.Prev(n)) == atom.A {
			w.flush() // links side by side are a list
		}
		w.link, w.behind, w.offers = n, w.t.After(n, dom.Root), false
		w.document(n)
	}
	return true
}

// opened is block element n inside those that are open.
func (w *blockWalk) opened(n dom.ID) open {
	at := w.around()
	at.id, at.end, at.inLink = n, w.t.After(n, dom.Root), w.link != 0
	at.furniture = max(at.furniture, w.furniture(n))
	at.promoted = at.promoted || w.promotes(n)
	if at.box == 0 && w.boxed(n) {
		at.box = n
	}
	return at
}

// layout is true for a cell that holds more than a value, or stands beside one that does: a column
// of the page, not of a table.
func (w *blockWalk) layout(n dom.ID) bool {
	if c := w.t.Next(n); c != 0 && w.column(c) {
		return true
	}
	return w.column(n) || w.column(w.t.Prev(n))
}

// mostCell is how many nodes of a cell are looked at.
const mostCell = 64

func (w *blockWalk) column(cell dom.ID) bool {
	if w.t.Kind(cell) != dom.Element {
		return false
	}
	breaks, seen := 0, 0
	for n := range w.t.Descendants(cell) {
		if seen++; seen > mostCell {
			return true
		}
		switch w.t.Tag(n) {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4:
			return true
		case atom.Br, atom.P, atom.Div, atom.Ul:
			if breaks++; breaks > 3 {
				return true
			}
		}
	}
	return false
}

// apart is true for an inline element that stands right behind another and has a class as that one
// has: a label and its value, which only the style of the page sets apart.
func (w *blockWalk) apart(n dom.ID) bool {
	before := w.t.Prev(n)
	return w.t.Kind(before) == dom.Element && inline(w.t.Tag(before)) && w.t.HasAttr(n, "class") && w.t.HasAttr(before, "class")
}

// leave ends the block elements that n is not in any more.
func (w *blockWalk) leave(n dom.ID) {
	if w.behind == n {
		for len(w.open) > 0 && w.around().inLink && w.around().end == n {
			w.close()
		}
		w.link, w.offers = 0, false
	}
	for len(w.open) > 0 && w.around().end == n {
		w.close()
	}
}

func (w *blockWalk) close() {
	w.flush()
	w.open = w.open[:len(w.open)-1]
}

// around is the innermost block element around the current node.
func (w *blockWalk) around() open {
	if len(w.open) == 0 {
		return open{}
	}
	return w.open[len(w.open)-1]
}

func (w *blockWalk) take(n dom.ID) {
	data := w.t.Data(n)
	if strings.TrimSpace(data) != "" {
		w.kept = w.kept || w.keep.Has(n)
	}
	if w.text.Len() < 1<<16 {
		w.text.WriteString(data)
		if w.link != 0 {
			w.linked += len(strings.TrimSpace(data))
		}
	}
}

func (w *blockWalk) document(n dom.ID) {
	if href := w.t.Attr(n, "href"); len(w.files) < 16 {
		if f := documentPath(href, w.t.HasAttr(n, "download")); f != "" {
			w.files = append(w.files, f)
			w.offers = true
		}
	}
}

func (w *blockWalk) flush() {
	text, _ := dom.Clean(w.text.String())
	text = strings.Join(strings.Fields(text), " ")
	if text == "" && w.link != 0 {
		return // of a link around blocks: its document belongs to the text that follows
	}
	files, kept, head, linked := w.files, w.kept, w.head, w.linked
	w.text.Reset()
	w.files, w.kept, w.head, w.linked = nil, false, 0, 0
	if text == "" && len(files) == 0 {
		return
	}
	at := w.around()
	entitling := head != 0 && !at.promoted
	if entitling && kept {
		w.heads = above(w.heads, headingLevel(w.t.Tag(head)))
		w.heads = append(w.heads, heading{headingLevel(w.t.Tag(head)), cut(text, 120)})
	}
	b := Block{Text: text, Files: files, Kept: kept}
	if kept {
		b.Heading = w.path(entitling)
	}
	w.blocks = append(w.blocks, b)
	w.places = append(w.places, place{at.id, at.furniture, linked*2 > len(text), w.offers, at.promoted, at.box})
}

func (w *blockWalk) path(isHeading bool) []string {
	heads := w.heads
	if isHeading {
		heads = heads[:len(heads)-1]
	}
	if len(heads) > mostHeadings {
		heads = heads[len(heads)-mostHeadings:]
	}
	path := make([]string, len(heads))
	for i, h := range heads {
		path[i] = h.text
	}
	return path
}

func above(heads []heading, level int) []heading {
	for len(heads) > 0 && heads[len(heads)-1].level >= level {
		heads = heads[:len(heads)-1]
	}
	return heads
}

func headingLevel(tag atom.Atom) int { return int(blocks.HeadingLevel(tag)) }

// inline is true for what stands in a line of text; the words on two sides of a field are two.
func inline(tag atom.Atom) bool {
	return blocks.Inline(tag) && !blocks.Unseen(tag) && tag != atom.Input
}

// documentPath is where a link to a document leads, without what differs from visit to visit; empty
// for other links.
func documentPath(href string, download bool) string {
	href, _, _ = strings.Cut(href, "#")
	path, query, _ := strings.Cut(href, "?")
	path = upToName(withoutSession(path))
	if !download && !blocks.Document(path) {
		// A script that serves the document by name: download.aspx?file=x.pdf
		for part := range strings.SplitSeq(query, "&") {
			if _, v, ok := strings.Cut(part, "="); ok && blocks.Document(v) {
				return path + "?" + v
			}
		}
		return ""
	}
	return path
}

func withoutSession(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i], _, _ = strings.Cut(p, ";")
	}
	return strings.Join(parts, "/")
}

// upToName cuts off what follows the name of a document in a path: a view of it, a version.
func upToName(path string) string {
	for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		if blocks.Document(path[:at]) {
			return path[:at]
		}
	}
	return path
}

// cut shortens s to at most most bytes at a rune's border.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
