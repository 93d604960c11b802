package markdown

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// notes are the footnotes of a page: where each is referred to and where it stands.
type notes struct {
	refs   map[dom.ID]string // the link of a reference → its label
	defs   map[dom.ID]string // the element of a note → its label
	marks  map[dom.ID]string // the element of a note → the number the page itself shows
	backTo map[string]bool   // ids to which notes link back
	lines  map[dom.ID]dom.ID // where notes begin that are lines of a paragraph → the paragraph
}

// noteRef is a link that may refer to a footnote.
type noteRef struct {
	node dom.ID
	to   string // the id it leads to
	text string
	sure bool // it says itself that it refers to a note
}

// candidate is the reference that the link n to the id fragment may be.
func (l *learner) candidate(n dom.ID, fragment string) (noteRef, bool) {
	t := l.t
	if strings.Contains(fragment, "%") {
		if s, err := url.PathUnescape(fragment); err == nil {
			fragment = s
		}
	}
	text := strings.Trim(strings.TrimSpace(shortText(t, n, 24)), "[]() \u00a0.")
	class := t.Attr(n, "class")
	sure := t.Attr(n, "role") == "doc-noteref" || t.HasAttr(n, "data-footnote-ref") || t.Attr(n, "epub:type") == "noteref" ||
		t.Attr(n, "rel") == "footnote" || hasToken(class, "footnote-ref", "footnote-reference", "footnoteref", "noteref", "fn-ref", "footnote_reference", "easy-footnote", "sidenote-ref", "footnote-anchor", "simple-footnote", "footnote-link", "footnote_referrer", "footnote")
	if t.Attr(n, "role") == "doc-backlink" || t.HasAttr(n, "data-footnote-backref") || hasToken(class, "footnote-back", "footnote-backref", "reversefootnote", "footnote-return") {
		return noteRef{}, false
	}
	if len(text) > 12 || text == "" && !sure {
		return noteRef{}, false
	}
	raised := l.sup > 0
	if c := t.FirstChild(n); c != 0 && t.Tag(c) == atom.Sup {
		raised = true
	}
	if !sure && !raised && !numberOrSign(text) {
		return noteRef{}, false
	}
	return noteRef{n, fragment, text, sure || raised}, true
}

func numberOrSign(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "note "), "fn")
	_, err := strconv.Atoi(s)
	return err == nil && len(s) < 5 || s == "*" || s == "†" || s == "‡" || s == "**"
}

// findNotes pairs the references with the notes they lead to. A note stands behind its first
// reference; that tells the two ends of a pair of links apart.
func (f *facts) findNotes(keep dom.Set, refs []noteRef) {
	byID := make(map[string][]int, len(refs))
	for i, r := range refs {
		byID[r.to] = append(byID[r.to], i)
	}
	f.refs, f.defs, f.marks, f.backTo = map[dom.ID]string{}, map[dom.ID]string{}, map[dom.ID]string{}, map[string]bool{}
	used := make(map[string]bool)
	free := 0
	found := make(map[string]dom.ID)
	for n := dom.Root; n != 0; {
		for _, key := range [...]string{"id", "name"} {
			id := f.t.Attr(n, key)
			if id == "" && key == "name" {
				id = f.wordNote(n)
			}
			if id != "" && byID[id] != nil && found[id] == 0 && (key == "id" || f.t.Tag(n) == atom.A) {
				def := f.lineOf(n, refs[byID[id][0]], byID, keep)
				if def == 0 {
					def = f.noteOf(n, refs[byID[id][0]])
				}
				if n > refs[byID[id][0]].node && def != 0 && f.defs[def] == "" && keep.Has(def) {
					found[id] = def
					f.defs[def] = "?"
				}
			}
		}
		if keep.Has(n) {
			n = f.t.Following(n, dom.Root)
		} else {
			n = f.t.After(n, dom.Root) // an empty element may bear the id of a note around it
		}
	}
	for _, r := range refs {
		def := found[r.to]
		if def == 0 || def < r.node && !r.sure || f.t.Contains(def, r.node) {
			continue
		}
		label := f.defs[def]
		if label == "?" {
			if label = cleanLabel(r.text); label == "" || used[label] {
				for free++; used[strconv.Itoa(free)]; free++ {
				}
				label = strconv.Itoa(free)
			}
			used[label] = true
			f.defs[def], f.marks[def] = label, r.text
		}
		f.refs[r.node] = label
		f.markBacklinks(r.node)
	}
	for def, label := range f.defs {
		if label == "?" {
			delete(f.defs, def)
		}
	}
}

// markBacklinks takes down the ids at and around a reference, to which its note may link back.
func (f *facts) markBacklinks(n dom.ID) {
	t := f.t
	for up := 0; n != 0 && up < 3; up++ {
		for _, key := range [...]string{"id", "name"} {
			if id := t.Attr(n, key); id != "" {
				f.backTo[id] = true
			}
		}
		if p := t.Prev(n); p != 0 && t.Tag(p) == atom.A && t.FirstChild(p) == 0 {
			f.backTo[t.Attr(p, "id")+t.Attr(p, "name")] = true
		}
		if c := t.FirstChild(n); c != 0 && t.Tag(c) == atom.Sup {
			if id := t.Attr(c, "id"); id != "" {
				f.backTo[id] = true
			}
		}
		if n = t.Parent(n); t.Tag(n) != atom.Sup && t.Tag(n) != atom.Span && t.Tag(n) != atom.Sub {
			break
		}
	}
	delete(f.backTo, "")
}

// cleanLabel is text as a footnote's label, or "".
func cleanLabel(text string) string {
	for i := 0; i < len(text); i++ {
		if !alnum(text[i]) && text[i] != '-' {
			return ""
		}
	}
	return text
}

// noteOf is the element that holds the note whose id is at n, or 0 when it is no note.
func (f *facts) noteOf(n dom.ID, r noteRef) dom.ID {
	t := f.t
	def := n
	if t.Tag(n) == atom.Dt {
		def = noteOfTerm(t, n)
	}
	for up := 0; !holdsNote(t.Tag(def)); up++ {
		if def = t.Parent(def); def == 0 || up > 4 {
			return 0
		}
	}
	switch {
	case f.inNoteList(def), f.linksBack(def, r):
		return def
	case r.sure && f.saysNote(n, r), f.bearsNumber(n, def, r):
		return def
	}
	return 0
}

// mostLines bounds how far in a paragraph a second note is looked for.
const mostLines = 200

// lineOf is the node with which the note begins whose id is at n, when it is one of several lines of a
// paragraph that begin with the marks of notes, or 0.
func (f *facts) lineOf(n dom.ID, r noteRef, byID map[string][]int, keep dom.Set) dom.ID {
	t := f.t
	p := t.Parent(n)
	if r.text == "" || !holdsNote(t.Tag(p)) || !f.beginsLine(n) {
		return 0
	}
	text := ""
	for c, seen := n, 0; c != 0 && seen < 4 && len(text) < 24; c, seen = t.Next(c), seen+1 {
		if t.Kind(c) == dom.Text {
			text += t.Data(c)[:min(len(t.Data(c)), 24)]
		} else {
			text += shortText(t, c, 24)
		}
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \n\t[(^\u00a0"), r.text)
	if !ok || rest == "" || alnum(rest[0]) {
		return 0
	}
	if !f.lineBefore(n) {
		c, seen := t.Next(n), 0
		for ; c != 0 && seen < mostLines; c, seen = t.Next(c), seen+1 {
			if id := t.Attr(c, "id") + t.Attr(c, "name"); id != "" && byID[id] != nil && f.beginsLine(c) {
				break
			}
		}
		if c == 0 || seen == mostLines {
			return 0
		}
	}
	def := n
	for def != 0 && (!keep.Has(def) || t.Kind(def) != dom.Text && t.FirstChild(def) == 0) {
		def = t.Next(def)
	}
	if def == 0 || isBlock(t.Tag(def)) {
		return 0
	}
	if f.lines == nil {
		f.lines = map[dom.ID]dom.ID{}
	}
	f.lines[def] = p
	return def
}

// beginsLine is true when nothing or a line break stands before n in its parent.
func (f *facts) beginsLine(n dom.ID) bool {
	c := f.t.Prev(n)
	for f.t.Kind(c) == dom.Text && strings.TrimSpace(f.t.Data(c)) == "" {
		c = f.t.Prev(c)
	}
	return c == 0 || f.t.Tag(c) == atom.Br
}

// lineBefore is true when a line break stands before n, which begins a line.
func (f *facts) lineBefore(n dom.ID) bool {
	c := f.t.Prev(n)
	return c != 0 && (f.t.Tag(c) == atom.Br || f.t.Tag(f.t.Prev(c)) == atom.Br)
}

// noteOfTerm is what follows the term dt of a list, in which a note stands whose number the term is.
func noteOfTerm(t *dom.Tree, dt dom.ID) dom.ID {
	next := t.Next(dt)
	if t.Kind(next) == dom.Text {
		next = t.Next(next)
	}
	return next
}

// wordNote is the name that Word gives the start of a note, when all that is left of it is the link back.
func (f *facts) wordNote(n dom.ID) string {
	if f.t.Tag(n) != atom.A || f.t.HasAttr(n, "id") {
		return ""
	}
	_, to, _ := strings.Cut(f.t.Attr(n, "href"), "#")
	for _, p := range [...][2]string{{"_ftnref", "_ftn"}, {"_ednref", "_edn"}} {
		if k, ok := strings.CutPrefix(to, p[0]); ok && k != "" {
			f.backTo[to] = true
			return p[1] + k
		}
	}
	return ""
}

func holdsNote(tag atom.Atom) bool {
	switch tag {
	case atom.Li, atom.P, atom.Div, atom.Aside, atom.Dd, atom.Td, atom.Tr, atom.Blockquote:
		return true
	}
	return false
}

var noteLists = []string{"footnotes", "footnote-list", "footnotes-list", "endnotes", "references", "reflist", "wp-block-footnotes", "notes", "fn-list", "easy-footnotes-wrapper",
	"footnotes-sep", "footnote_container_prepare", "modern-footnotes-list", "simple-footnotes", "footnote", "footnote-definition", "mw-references-wrap", "citation-list", "footnoteSection", "ref-list"}

func (f *facts) inNoteList(n dom.ID) bool {
	t := f.t
	for up := 0; n != 0 && up < 5; up++ {
		role := t.Attr(n, "role")
		if role == "doc-endnotes" || role == "doc-footnote" || role == "doc-endnote" || t.HasAttr(n, "data-footnotes") || strings.Contains(t.Attr(n, "epub:type"), "footnote") {
			return true
		}
		if hasToken(t.Attr(n, "class"), noteLists...) {
			return true
		}
		if id := t.Attr(n, "id"); id == "footnotes" || id == "endnotes" || id == "references" {
			return true
		}
		n = t.Parent(n)
	}
	return false
}

// linksBack is true when the note def has a link to its reference.
func (f *facts) linksBack(def dom.ID, r noteRef) bool {
	t := f.t
	ids := map[string]bool{}
	old := f.backTo
	f.backTo = ids
	f.markBacklinks(r.node)
	f.backTo = old
	if len(ids) == 0 {
		return false
	}
	seen := 0
	for c := t.Following(def, def); c != 0 && seen < 200; c = t.Following(c, def) {
		seen++
		if t.Tag(c) == atom.A {
			if _, to, ok := strings.Cut(t.Attr(c, "href"), "#"); ok && ids[to] && c != r.node {
				return true
			}
		}
	}
	return false
}

// saysNote is true when the id and the text of a note say what it is.
func (f *facts) saysNote(n dom.ID, r noteRef) bool {
	id := strings.ToLower(r.to)
	for _, p := range [...]string{"fn", "footnote", "note", "_ftn", "_edn", "endnote", "cite_note", "cite-note", "ftn", "edn", "ref-", "voetnoot", "noot", "labjegyzet", "fussnote", "bib"} {
		if strings.HasPrefix(id, p) {
			return true
		}
	}
	return false
}

// noteRef writes the reference that n is, or the references in it when it is a sup.
func (w *writer) noteRef(n dom.ID) bool {
	if len(w.facts.refs) == 0 || w.plain {
		return false
	}
	if label, ok := w.facts.refs[n]; ok {
		w.putNoteRef(label)
		return true
	}
	if w.t.Tag(n) != atom.Sup {
		return false
	}
	found, seen := false, 0
	for c := w.t.Following(n, n); c != 0 && seen < 100; c = w.t.Following(c, n) {
		seen++
		if label, ok := w.facts.refs[c]; ok {
			w.putNoteRef(label)
			found = true
		}
	}
	return found
}

func (w *writer) putNoteRef(label string) {
	if len(w.buf) > 0 {
		w.space = false
	}
	w.sync('[')
	if w.literal == '!' {
		w.buf = append(w.buf[:len(w.buf)-1], '\\', '!')
	}
	w.buf = append(w.buf, "[^"...)
	w.buf = append(w.buf, label...)
	w.buf = append(w.buf, ']')
	w.literal = 0
}

// noteDefinition begins the footnote that n is.
func (w *writer) noteDefinition(n dom.ID) bool {
	label, ok := w.facts.defs[n]
	if !ok || w.facts.lines[n] != 0 || w.plain || w.cell != nil || w.heading > 0 {
		return false
	}
	if k := len(w.lists); k > 0 && w.t.Tag(n) == atom.Li {
		w.lists[k-1].next += w.lists[k-1].step
	}
	w.block(n)
	w.pushFrame(n, frame{marker: "[^" + label + "]: ", indent: "    "})
	w.facts.inNotes++
	w.noteMark = w.facts.marks[n]
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		w.facts.inNotes--
		w.noteMark = ""
	})
	return true
}

// noteLine begins the footnote that is a line of p and begins with n.
func (w *writer) noteLine(n, p dom.ID) {
	label := w.facts.defs[n]
	if label == "" || w.plain || w.cell != nil || w.heading > 0 {
		return
	}
	w.flush()
	if w.lined == p {
		w.popFrame()
	} else {
		w.lined = p
		w.facts.inNotes++
		w.after(p, func(w *writer, _ dom.ID) {
			w.flush()
			w.popFrame()
			w.facts.inNotes--
			w.lined, w.noteMark = 0, ""
		})
	}
	w.frames = append(w.frames, frame{marker: "[^" + label + "]: ", indent: "    "})
	w.noteMark = w.facts.marks[n]
}

// backlink is true for the link from a note back to the text.
func (w *writer) backlink(n dom.ID) bool {
	t := w.t
	class := t.Attr(n, "class")
	if t.Attr(n, "role") == "doc-backlink" || t.HasAttr(n, "data-footnote-backref") || class != "" && hasToken(class, "footnote-back", "footnote-backref", "reversefootnote", "footnote-return", "fn-backref") {
		return true
	}
	if w.facts.inNotes == 0 {
		return false
	}
	_, to, ok := strings.Cut(t.Attr(n, "href"), "#")
	if !ok {
		return false
	}
	if w.facts.backTo[to] {
		return true
	}
	return symbolOnly(shortText(t, n, 16))
}

// trimMark takes the number of a note off the start of its text, where the label says it already.
func (w *writer) trimMark(s string) string {
	if w.noteMark == "]" {
		w.noteMark = ""
		return strings.TrimLeft(s, ".):] \t\n\u00a0")
	}
	rest := strings.TrimLeft(s, " \t\n\r\f[(^\u00a0")
	if rest == "" {
		if strings.ContainsAny(s, "[(^") {
			return ""
		}
		return s
	}
	mark := w.noteMark
	w.noteMark = ""
	if after, ok := strings.CutPrefix(rest, mark); ok && (after == "" || strings.IndexByte(".):] \t\n", after[0]) >= 0) {
		return strings.TrimLeft(after, ".):] \t\n")
	}
	return s
}
