package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// mostLoose bounds the raised numbers that are looked at.
const mostLoose = 2000

// raisedNumber is the number that the sup n is, or "".
func raisedNumber(t *dom.Tree, n dom.ID) string {
	s := strings.Trim(strings.TrimSpace(shortText(t, n, 8)), "[]()")
	if v, err := strconv.Atoi(s); err != nil || v < 1 || v > 999 || s[0] == '0' || s[0] == '+' {
		return ""
	}
	return s
}

// loose are the notes that no link leads to: numbers raised in the text, and the notes that begin
// with them.
type loose struct {
	f     *facts
	nums  map[dom.ID]string // references → their number
	first map[string]dom.ID // number → its first reference
	defs  map[string]dom.ID // number → the element of its note
	order []dom.ID          // the references
}

// findLoose pairs the numbers raised in the text with notes below it.
func (f *facts) findLoose(keep dom.Set, raised []dom.ID) {
	l := loose{f: f, nums: map[dom.ID]string{}, first: map[string]dom.ID{}, defs: map[string]dom.ID{}}
	begin := map[string]dom.ID{}
	var strong []dom.ID // the bold numbers, which begin notes when all of them are referred to
	unsure := false
	for _, n := range raised {
		if f.refs[n] != "" {
			continue
		}
		num := raisedNumber(f.t, n)
		if f.t.Tag(n) != atom.Sup {
			if def := f.startsBlock(n); def != 0 && keep.Has(def) && f.defs[def] == "" {
				strong = append(strong, n)
				unsure = unsure || l.first[num] == 0
			}
			continue
		}
		if def := f.startsBlock(n); def != 0 {
			if l.first[num] != 0 && begin[num] == 0 && keep.Has(def) && f.defs[def] == "" {
				begin[num] = def
			}
		} else if !f.isPower(n) {
			l.nums[n] = num
			l.order = append(l.order, n)
			if l.first[num] == 0 {
				l.first[num] = n
			}
		}
	}
	if len(l.order) == 0 {
		return
	}
	for _, n := range strong {
		if num := raisedNumber(f.t, n); !unsure && begin[num] == 0 {
			begin[num] = f.startsBlock(n)
		}
	}
	l.takeBegun(begin)
	l.takeLists(keep)
	l.settle()
}

// takeBegun takes the paragraphs that begin with a number for notes when they are numbered from 1 on
// and stand behind all of their references. Verses of a scripture are neither.
func (l *loose) takeBegun(begin map[string]dom.ID) {
	lowest := dom.ID(0)
	for _, def := range begin {
		if lowest == 0 || def < lowest {
			lowest = def
		}
	}
	for k := 1; k <= len(begin); k++ {
		num := strconv.Itoa(k)
		if begin[num] == 0 || l.first[num] > lowest {
			return
		}
	}
	for num, def := range begin {
		l.defs[num] = def
	}
}

// takeLists takes the items of numbered lists that say of themselves that they are notes.
func (l *loose) takeLists(keep dom.Set) {
	t := l.f.t
	for n := dom.Root; n != 0; n = t.Following(n, dom.Root) {
		if t.Tag(n) != atom.Ol || !keep.Has(n) || !l.f.notesList(n) {
			continue
		}
		k := 1
		if v, err := strconv.Atoi(t.Attr(n, "start")); err == nil {
			k = v
		}
		for c := t.FirstChild(n); c != 0; c = t.Next(c) {
			if t.Tag(c) != atom.Li {
				continue
			}
			num := strconv.Itoa(k)
			if l.first[num] != 0 && l.first[num] < c && l.defs[num] == 0 && keep.Has(c) && l.f.defs[c] == "" {
				l.defs[num] = c
			}
			k++
		}
	}
}

func (l *loose) settle() {
	f := l.f
	used := map[string]bool{}
	for _, label := range f.defs {
		used[label] = true
	}
	if f.refs == nil {
		f.refs, f.defs, f.marks, f.backTo = map[dom.ID]string{}, map[dom.ID]string{}, map[dom.ID]string{}, map[string]bool{}
	}
	for num, def := range l.defs {
		if !used[num] {
			f.defs[def], f.marks[def] = num, num
		}
	}
	for _, n := range l.order {
		if num := l.nums[n]; !used[num] && l.defs[num] != 0 {
			f.refs[n] = num
		}
	}
}

// startsBlock is the paragraph or item that n is the first thing in, when more follows, or 0.
func (f *facts) startsBlock(n dom.ID) dom.ID {
	t := f.t
	at := n
	for range 4 {
		for p := t.Prev(at); p != 0; p = t.Prev(p) {
			if t.Kind(p) == dom.Text && strings.TrimSpace(t.Data(p)) != "" || t.FirstChild(p) != 0 || t.Tag(p) == atom.Br {
				return 0
			}
		}
		switch at = t.Parent(at); t.Tag(at) {
		case atom.P, atom.Li, atom.Div:
			if len(strings.TrimSpace(shortText(t, at, 40))) > 6 {
				return at
			}
			return 0
		case atom.B, atom.Strong, atom.I, atom.Em, atom.Span, atom.A, atom.Small, atom.Font:
		default:
			return 0
		}
	}
	return 0
}

// isPower is true when what stands before n is a number, a variable or a unit.
func (f *facts) isPower(n dom.ID) bool {
	p := f.t.Prev(n)
	if p == 0 {
		return false
	}
	s := f.t.Text(p)
	s = s[max(0, len(s)-8):]
	word := s[strings.LastIndexAny(s, " \u00a0\n\t(0123456789/·")+1:]
	switch word {
	case "", "km", "cm", "mm", "dm", "ft", "mi", "yd", "in", "ha", "dam", "hm", "µm", "nm":
		return s != "" && s[len(s)-1] != ' ' && s[len(s)-1] != '\n'
	}
	return len(word) == 1 && alnum(word[0])
}

var noteHeadings = []string{"footnotes", "footnote", "notes", "endnotes", "voetnoten", "voetnoot", "noten", "eindnoten", "lábjegyzet", "lábjegyzetek", "jegyzetek",
	"fußnoten", "fussnoten", "anmerkungen", "notas", "note", "references", "references and notes", "notes and references"}

// notesList is true for a list that its class, its place or the heading before it calls one of notes.
func (f *facts) notesList(n dom.ID) bool {
	t := f.t
	if t.Tag(t.Parent(n)) == atom.Aside || f.inNoteList(n) {
		return true
	}
	for at, up := n, 0; at != 0 && up < 3; at, up = t.Parent(at), up+1 {
		if class := strings.ToLower(t.Attr(at, "class")); strings.Contains(class, "footnote") || strings.Contains(class, "endnote") {
			return true
		}
	}
	p := t.Prev(n)
	for p != 0 && t.Kind(p) == dom.Text {
		p = t.Prev(p)
	}
	if !isHeading(t.Tag(p)) {
		return false
	}
	head := strings.ToLower(strings.Trim(strings.TrimSpace(shortText(t, p, 60)), ":."))
	for _, h := range noteHeadings {
		if head == h {
			return true
		}
	}
	return false
}

// bearsNumber is true when the element def, a paragraph or an item of a list, is numbered as the
// reference that leads to n, which is def or stands at its start.
func (f *facts) bearsNumber(n, def dom.ID, r noteRef) bool {
	t := f.t
	if v, err := strconv.Atoi(r.text); err != nil || v < 1 || v > 999 {
		return false
	}
	tag := t.Tag(def)
	if tag != atom.Li && tag != atom.P && tag != atom.Dd {
		return false
	}
	if at := t.Following(def, def); n != def && n != at && n != t.Following(at, def) {
		return false
	}
	text := strings.TrimLeft(shortText(t, def, 16), " \n\t[(\u00a0")
	if rest, ok := strings.CutPrefix(text, r.text); ok && rest != "" && strings.IndexByte(".):]", rest[0]) >= 0 {
		return true
	}
	if tag != atom.Li || t.Tag(t.Parent(def)) != atom.Ol || n == def && !r.sure {
		return false
	}
	k := 1
	for c := t.Prev(def); c != 0 && k < 1000; c = t.Prev(c) {
		if t.Tag(c) == atom.Li {
			k++
		}
	}
	return strconv.Itoa(k) == r.text
}

// sidenotes are classes of notes that stand in the middle of a sentence.
var sidenotes = []string{"sidenote", "marginnote", "footnote-content-inline", "ltx_note_outer", "modern-footnotes-footnote__note"}

// marksSidenote is true for the number before a sidenote or in it, which its label says.
func (w *writer) marksSidenote(n dom.ID, class string) bool {
	switch {
	case hasToken(class, "ltx_tag_note", "ltx_note_type"):
		return true
	case hasToken(class, "ltx_note_mark", "modern-footnotes-footnote"):
		return hasToken(w.t.Attr(w.t.Next(n), "class"), sidenotes...) || hasToken(w.t.Attr(w.t.Parent(n), "class"), "ltx_note_content")
	}
	return false
}

// sidenote keeps a note that stands in the middle of a sentence, for people to see in the margin, for
// the end of the page.
func (w *writer) sidenote(n dom.ID) bool {
	if w.plain || len(w.sides) >= mostLoose {
		w.space = true
		return false
	}
	w.takeLabels()
	label, prev := "", w.t.Prev(n)
	if w.marksSidenote(prev, w.t.Attr(prev, "class")) {
		label = cleanLabel(strings.Trim(shortText(w.t, prev, 8), "[]() \n\t"))
	}
	if label == "" || w.facts.labels[label] {
		k := len(w.sides) + 1
		for w.facts.labels[strconv.Itoa(k)] {
			k++
		}
		label = strconv.Itoa(k)
	}
	w.facts.labels[label] = true
	w.sides = append(w.sides, side{n, label})
	w.putNoteRef(label)
	return true
}

// takeLabels takes down the labels of the notes that do not stand in the margin.
func (w *writer) takeLabels() {
	if w.facts.labels == nil {
		w.facts.labels = map[string]bool{}
		for _, label := range w.facts.defs {
			w.facts.labels[label] = true
		}
	}
}

// markOf is the mark that LaTeXML shows before the note n, when it can be a label, or "".
func markOf(t *dom.Tree, n dom.ID) string {
	if mark := t.FirstChild(n); hasToken(t.Attr(mark, "class"), "ltx_note_mark") {
		return cleanLabel(strings.TrimSpace(shortText(t, mark, 8)))
	}
	return ""
}

// footnoteMark writes the mark of a note that stands elsewhere: as a reference when the page has one note
// with that mark, else as it is shown.
func (w *writer) footnoteMark(n dom.ID) bool {
	t := w.t
	mark := strings.TrimSpace(shortText(t, t.FirstChild(n), 8))
	if mark == "" {
		return false
	}
	w.takeLabels()
	if label := markOf(t, n); label != "" && !w.plain && w.facts.marginNotes()[label] == 1 {
		w.putNoteRef(label)
		return true
	}
	raised := w.push(markSup, 0)
	w.text(mark)
	if raised {
		w.pop()
	}
	return true
}

// marginNotes counts the notes of LaTeXML by their marks, but those whose mark labels another note.
func (f *facts) marginNotes() map[string]int {
	if f.margin != nil {
		return f.margin
	}
	f.margin = map[string]int{}
	for n := dom.Root; n != 0; n = f.t.Following(n, dom.Root) {
		if f.t.Tag(n) != atom.Span || !f.keep.Has(n) {
			continue
		}
		if class := f.t.Attr(n, "class"); hasToken(class, "ltx_note") && !hasToken(class, "ltx_role_footnotemark") {
			if mark := markOf(f.t, n); mark != "" {
				f.margin[mark]++
			}
		}
	}
	for _, label := range f.defs {
		delete(f.margin, label)
	}
	return f.margin
}

type side struct {
	node  dom.ID
	label string
}

// writeSides writes the notes of the margin.
func (w *writer) writeSides() {
	for i := 0; i < len(w.sides); i++ {
		s := w.sides[i]
		w.flush()
		w.frames = append(w.frames, frame{marker: "[^" + s.label + "]: ", indent: "    "})
		w.noteMark = s.label
		w.walk(s.node)
		w.noteMark = ""
		w.flush()
		w.popFrame()
	}
}
