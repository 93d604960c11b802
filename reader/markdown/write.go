package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// deepest bounds how many quotes and lists are shown inside each other: each costs a prefix on
// every line.
const deepest = 24

// writer is the state of one pass.
type writer struct {
	t     *dom.Tree
	keep  dom.Set
	o     Options
	facts facts
	links resolver
	plain bool // text in place of Markdown

	out    []byte
	ends   []int // offsets in out where a block of the page itself ends
	gap    int   // line ends owed before the next block: 0 at the start, 1 tight, 2 with a blank line
	frames []frame
	acts   []act

	buf      []byte // the paragraph being written
	wants    []mark
	turn     int32 // marks wanted so far
	open     []mark
	space    bool // a blank is owed before the next word
	breaks   int  // line breaks owed
	amp      int  // 1 + where in buf a text ends with what may yet become the name of a character
	ampEnd   int  // where the last text in buf ends
	literal  byte // the last byte of buf when it is text and not a mark
	tilde    bool // a tilde of the text stands in buf as it is
	codeAt   int  // where in buf the code span begins that ends at codeEnd
	codeEnd  int
	brackets bool // every bracket is escaped: reference links are in use
	stripped int

	heading  int    // level of the heading that is being written
	prefix   string // written before the next paragraph of a cell
	cell     *table
	lists    []list
	ended    endedList
	targets  []target
	refs     map[string]int
	pages    []Link
	images   []Image
	twinned  dom.ID // the noscript whose image has been written
	scratch  []byte
	titled   bool // the first heading has been seen
	spare    *table
	numbered dom.ID // in the code being read: what holds its numbered lines
	sides    []side // notes of the margin, to be written at the end
	noteMark string // the number that a note's text may begin with
	lined    dom.ID // the paragraph of which a line is the note being written
}

// frame is a container that puts something before each of its lines.
type frame struct {
	marker  string // before its first line
	indent  string // before the others
	started bool
	item    bool
	blocks  int // paragraphs and other blocks directly in it
}

// act is what leaving a node undoes.
type act struct {
	node dom.ID
	do   func(*writer, dom.ID)
}

type list struct {
	ordered bool
	next    int
	step    int
	bullet  byte // '-' or '*', '.' or ')'
	items   int
	wide    int // bytes of the last item's marker
	loose   bool
}

type endedList struct {
	bullet byte
	depth  int
}

// walk writes the nodes below root.
func (w *writer) walk(root dom.ID) {
	t := w.t
	at, n := root, t.FirstChild(root)
	for {
		if n == 0 {
			if at == root {
				return
			}
			w.leave(at)
			n, at = t.Next(at), t.Parent(at)
			continue
		}
		if w.enter(n) {
			at, n = n, t.FirstChild(n)
			continue
		}
		n = t.Next(n)
	}
}

func (w *writer) leave(n dom.ID) {
	for k := len(w.acts) - 1; k >= 0 && w.acts[k].node == n; k-- {
		do := w.acts[k].do
		w.acts = w.acts[:k]
		do(w, n)
	}
}

// after has do run when the walk leaves n.
func (w *writer) after(n dom.ID, do func(*writer, dom.ID)) { w.acts = append(w.acts, act{n, do}) }

// enter writes what comes before the children of n and is true when they are to be visited.
func (w *writer) enter(n dom.ID) bool {
	t := w.t
	if p, ok := w.facts.lines[n]; ok {
		w.noteLine(n, p)
	}
	switch t.Kind(n) {
	case dom.Text:
		if w.keep.Has(n) {
			s := t.Data(n)
			if w.noteMark != "" {
				s = w.trimMark(s)
			}
			if w.facts.rawMath && !w.plain {
				w.textAndMath(s)
			} else {
				w.text(s)
			}
		}
		return false
	case dom.Element:
	default:
		return false
	}
	if !w.keep.Has(n) {
		return w.unkept(n)
	}
	if t.Foreign(n) {
		return w.foreign(n)
	}
	return w.element(n)
}

// unkept looks for what has no text of its own and so may not be in keep although its parent is.
func (w *writer) unkept(n dom.ID) bool {
	switch w.t.Tag(n) {
	case atom.Script:
		w.mathScript(n)
	case atom.Noscript:
		w.noscript(n)
	case atom.Math:
		if w.keep.Has(w.t.Parent(n)) && !w.hidden(n) {
			w.mathML(n)
		}
	case 0:
		if w.keep.Has(w.t.Parent(n)) && w.t.Medium(n) && !w.hidden(n) {
			return w.element(n)
		}
	default:
		if isBlock(w.t.Tag(n)) {
			w.endBlock()
		}
	}
	return false
}

func (w *writer) foreign(n dom.ID) bool {
	if w.t.Name(n) == "math" {
		w.mathML(n)
	}
	return false
}

func (w *writer) element(n dom.ID) bool {
	t := w.t
	class := t.Attr(n, "class")
	if w.mathByData(n) || class != "" && w.byClass(n, class) {
		return false
	}
	tag := w.facts.tag(n)
	if len(w.facts.defs) > 0 && tag != atom.Li && w.noteDefinition(n) {
		return true
	}
	if isBlock(tag) {
		return w.blockElement(n, tag)
	}
	if t.Kind(t.Prev(n)) == dom.Element && flexes(t, t.Parent(n)) {
		w.space = true
	}
	return w.inlineElement(n, tag)
}

// flexes says that by its style or by a class of the common sheets an element sets its children apart as
// blocks, whatever their tags.
func flexes(t *dom.Tree, n dom.ID) bool {
	for word := range strings.FieldsSeq(t.Attr(n, "class")) {
		switch word {
		case "flex", "inline-flex", "grid", "inline-grid", "d-flex", "d-inline-flex", "d-grid":
			return true
		}
	}
	style := strings.ReplaceAll(t.Attr(n, "style"), " ", "")
	return strings.Contains(style, "display:flex") || strings.Contains(style, "display:inline-flex") || strings.Contains(style, "display:grid")
}

// inlineElement writes what stands in a line, and passes over what no reader sees.
func (w *writer) inlineElement(n dom.ID, tag atom.Atom) bool {
	t := w.t
	switch tag {
	case atom.Style, atom.Head, atom.Title, atom.Select, atom.Datalist, atom.Textarea, atom.Rp, atom.Svg, atom.Canvas,
		atom.Link, atom.Meta, atom.Source, atom.Track, atom.Param, atom.Area, atom.Progress, atom.Meter:
		return false
	case atom.Script:
		w.mathScript(n)
		return false
	case atom.Noscript:
		return w.noscript(n)
	case atom.Template:
		return t.HasAttr(n, "shadowrootmode") || t.HasAttr(n, "shadowroot")
	case atom.Br:
		w.breaks++
		w.space = false
		return false
	case atom.Img, atom.Image:
		w.image(n)
		return false
	case atom.Input:
		w.checkbox(n)
		return false
	case atom.Iframe, atom.Embed, atom.Frame:
		w.embed(n)
		return false
	case atom.Object:
		return w.object(n)
	case atom.Video, atom.Audio:
		w.media(n)
		return false
	case atom.Button:
		return w.button(n)
	case atom.A:
		return w.anchor(n)
	case atom.Sup, atom.Sub:
		return w.script(n, tag)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		return w.code(n)
	case 0:
		return w.custom(n)
	}
	w.phrase(n, tag)
	return true
}

// phrase writes the elements that only mark the text inside.
func (w *writer) phrase(n dom.ID, tag atom.Atom) {
	switch tag {
	case atom.B, atom.Strong:
		w.style(n, markStrong)
	case atom.I, atom.Em, atom.Dfn, atom.Cite, atom.Var:
		w.style(n, markEm)
	case atom.Del, atom.S, atom.Strike:
		w.style(n, markStrike)
	case atom.Span, atom.Font:
		if strings.Contains(w.t.Attr(n, "style"), "line-through") {
			w.style(n, markStrike)
		}
	case atom.Q:
		w.text(`"`)
		w.after(n, func(w *writer, _ dom.ID) { w.space = false; w.text(`"`) })
	case atom.Rt:
		w.space = false
		w.text("(")
		w.after(n, func(w *writer, _ dom.ID) { w.space = false; w.text(")") })
	}
}

// blockElement writes what begins a line of its own.
func (w *writer) blockElement(n dom.ID, tag atom.Atom) bool {
	switch tag {
	case atom.Option, atom.Optgroup:
		return false
	case atom.Hr:
		w.rule(n)
		return false
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return w.enterHeading(n, int(w.t.Name(n)[1]-'0'))
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		w.pre(n)
		return false
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		return w.enterList(n, tag == atom.Ol)
	case atom.Li:
		return w.enterItem(n)
	case atom.Dl, atom.Dt, atom.Dd:
		return w.definition(n, tag)
	case atom.Blockquote:
		w.quote(n)
		return true
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
		return w.enterTable(n, tag)
	case atom.Summary:
		w.boldBlock(n)
		return true
	}
	if w.t.Attr(n, "role") == "heading" {
		return w.enterHeading(n, headingRole(w.t.Attr(n, "aria-level")))
	}
	w.block(n)
	return true
}

// headingRole is the level of what is a heading by its role only.
func headingRole(level string) int {
	if v, err := strconv.Atoi(level); err == nil && v >= 1 && v <= 6 {
		return v
	}
	return 2
}

// isBlock is true for elements that browsers set as blocks.
func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Dd, atom.Details, atom.Dialog,
		atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form,
		atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html,
		atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P,
		atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot,
		atom.Th, atom.Thead, atom.Tr, atom.Caption, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// block makes n begin and end a paragraph.
func (w *writer) block(n dom.ID) {
	w.endBlock()
	w.after(n, func(w *writer, _ dom.ID) { w.endBlock() })
}

// endBlock ends the paragraph; inside a heading, which is one line, it only parts two words.
func (w *writer) endBlock() {
	if w.heading > 0 {
		w.space = w.space || len(w.buf) > 0
		return
	}
	w.flush()
}

func (w *writer) style(n dom.ID, k markKind) {
	if w.push(k, 0) {
		w.after(n, func(w *writer, _ dom.ID) { w.pop() })
	}
}

// script writes sup and sub; ordinals such as 3rd need no mark to be read right.
func (w *writer) script(n dom.ID, tag atom.Atom) bool {
	if w.noteRef(n) {
		return false
	}
	k := markSub
	if tag == atom.Sup {
		k = markSup
		if w.ordinal(n) {
			return true
		}
	}
	w.style(n, k)
	return true
}

func (w *writer) ordinal(n dom.ID) bool {
	c := w.t.FirstChild(n)
	if c == 0 || w.t.Next(c) != 0 || w.t.Kind(c) != dom.Text || w.space || w.breaks > 0 || len(w.buf) == 0 {
		return false
	}
	if last := w.buf[len(w.buf)-1]; last < '0' || last > '9' {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(w.t.Data(c))) {
	case "st", "nd", "rd", "th", "er", "re", "ère", "ere", "e", "ème", "eme", "de", "ste", "º", "ª", "o", "a", "os", "as":
		return true
	}
	return false
}

// flush ends the paragraph in the buffer and writes it where it belongs.
func (w *writer) flush() {
	w.close(0, ' ')
	w.space, w.breaks, w.literal, w.tilde, w.codeEnd, w.amp = false, 0, 0, false, 0, 0
	if k := len(w.wants); k > 0 && len(w.buf) > 0 {
		w.linkedOnce()
	}
	if len(w.buf) == 0 {
		return
	}
	text := w.buf
	switch {
	case w.heading > 0:
		w.writeHeading(text)
	case w.cell != nil:
		w.cell.add(w, text)
	default:
		w.paragraph(text)
	}
	w.buf = w.buf[:0]
}

// linkedOnce ends a link around several blocks after the first of them.
func (w *writer) linkedOnce() {
	for i, m := range w.wants {
		if m.kind == markLink && w.targets[m.link-1].once {
			w.wants[i] = mark{kind: markNone}
		}
	}
}

func (w *writer) paragraph(text []byte) {
	w.begin(true)
	for first := true; ; first = false {
		line, rest, more := cutLine(text)
		if !first {
			w.newLine()
		}
		w.writeLine(line, first)
		if !more {
			break
		}
		text = rest
	}
	w.end()
}

// begin starts a block: it writes the line ends owed and what the containers put before a line.
func (w *writer) begin(paragraph bool) {
	w.ended = endedList{}
	w.start()
	if n := len(w.frames); n > 0 && paragraph {
		w.frames[n-1].blocks++
	}
}

func (w *writer) start() {
	if len(w.out) > 0 && w.gap > 0 {
		w.out = append(w.out, '\n')
		if w.gap > 1 {
			w.blankLine()
		}
	}
	for i := range w.frames {
		f := &w.frames[i]
		if f.started {
			w.out = append(w.out, f.indent...)
			continue
		}
		w.out = append(w.out, f.marker...)
		f.started = true
	}
}

func (w *writer) blankLine() {
	from := len(w.out)
	for _, f := range w.frames {
		if !f.started {
			break
		}
		w.out = append(w.out, f.indent...)
	}
	end := len(w.out)
	for end > from && w.out[end-1] == ' ' {
		end--
	}
	w.out = append(w.out[:end], '\n')
}

// newLine goes on in the same block.
func (w *writer) newLine() {
	w.out = append(w.out, '\n')
	for _, f := range w.frames {
		w.out = append(w.out, f.indent...)
	}
}

func (w *writer) end() {
	w.gap = 2
	if len(w.frames) == 0 {
		w.ends = append(w.ends, len(w.out))
	}
}

func (w *writer) pushFrame(n dom.ID, f frame) {
	shown := 0
	for _, g := range w.frames {
		if g.indent != "" {
			shown++
		}
	}
	if shown >= deepest || w.cell != nil {
		return
	}
	w.frames = append(w.frames, f)
	w.after(n, func(w *writer, _ dom.ID) { w.popFrame() })
}

func (w *writer) popFrame() {
	w.frames = w.frames[:len(w.frames)-1]
	w.gap = 2
	if len(w.frames) == 0 && len(w.out) > 0 {
		w.ends = append(w.ends, len(w.out))
	}
}

func (w *writer) quote(n dom.ID) {
	w.block(n)
	if !w.plain {
		w.pushFrame(n, frame{marker: "> ", indent: "> "})
	}
	// The paragraph must end inside the frame.
	w.after(n, func(w *writer, _ dom.ID) { w.endBlock() })
}

func (w *writer) rule(n dom.ID) {
	w.endBlock()
	if w.plain || w.cell != nil || w.heading > 0 || len(w.out) == 0 || w.beforeNotes(n) {
		return
	}
	if n := len(w.frames); n > 0 && !w.frames[n-1].started {
		return
	}
	if endsWithRule(w.out) {
		return
	}
	w.begin(true)
	w.out = append(w.out, "---"...)
	w.end()
}

// beforeNotes is true for the rule that sets off the footnotes, which their labels do already.
func (w *writer) beforeNotes(n dom.ID) bool {
	if len(w.facts.defs) == 0 {
		return false
	}
	for up := 0; n != 0 && up < 3; n, up = w.t.Following(n, dom.Root), up+1 {
		if w.t.Kind(n) == dom.Text && !symbolOnly(w.t.Data(n)) {
			return false
		}
		if c := w.t.FirstChild(n); w.facts.defs[n] != "" || c != 0 && w.facts.defs[c] != "" {
			return true
		}
	}
	return false
}

func endsWithRule(out []byte) bool {
	n := len(out)
	return n >= 5 && string(out[n-3:]) == "---" && out[n-4] == '\n' && out[n-5] == '\n'
}

// boldBlock writes n as a paragraph in bold: a summary, a callout's title.
func (w *writer) boldBlock(n dom.ID) {
	w.block(n)
	if w.facts.hasHeading(n) {
		return
	}
	if w.push(markStrong, 0) {
		w.after(n, func(w *writer, _ dom.ID) { w.endBlock(); w.pop() })
	}
}

// enterHeading writes a heading, which is one line; in a cell it is bold.
func (w *writer) enterHeading(n dom.ID, level int) bool {
	w.endBlock()
	if w.heading > 0 {
		return true
	}
	if w.cell != nil {
		w.boldBlock(n)
		return true
	}
	if w.facts.holdsTable(n) {
		w.block(n)
		return true
	}
	w.heading = level
	if id := w.facts.headLinks[n]; id != 0 && w.push(markLink, id) {
		w.after(n, func(w *writer, _ dom.ID) { w.pop() })
	}
	w.after(n, func(w *writer, _ dom.ID) { w.flush(); w.heading = 0 })
	return true
}

func (w *writer) writeHeading(text []byte) {
	first := !w.titled
	w.titled = true
	if first && w.o.Title != "" && sameWords(string(text), w.o.Title) {
		return
	}
	w.begin(true)
	if !w.plain {
		w.out = append(w.out, "######"[:w.heading]...)
		w.out = append(w.out, ' ')
	}
	end := len(text)
	for end > 0 && text[end-1] == '#' {
		end--
	}
	w.out = append(w.out, text[:end]...)
	if end < len(text) {
		if !w.plain && (end == 0 || text[end-1] == ' ') {
			w.out = append(w.out, '\\')
		}
		w.out = append(w.out, text[end:]...)
	}
	w.end()
}

func (w *writer) enterList(n dom.ID, ordered bool) bool {
	w.endBlock()
	l := list{ordered: ordered, next: 1, step: 1}
	if ordered {
		l.next, l.step = w.numbering(n)
	}
	w.lists = append(w.lists, l)
	if k := len(w.frames); k > 0 && w.frames[k-1].item && w.frames[k-1].started && w.frames[k-1].blocks == 1 && len(w.lists) > 1 {
		w.gap = min(w.gap, 1)
	}
	if k := len(w.lists); k > 1 && w.lists[k-2].items > 0 && isList(w.t.Tag(w.t.Parent(n))) {
		w.listInList(n, w.lists[k-2])
	}
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		l := w.lists[len(w.lists)-1]
		w.lists = w.lists[:len(w.lists)-1]
		if l.items > 0 {
			w.ended = endedList{l.bullet, len(w.frames)}
			w.gap = 2
		}
	})
	return true
}

func isList(tag atom.Atom) bool {
	return tag == atom.Ul || tag == atom.Ol || tag == atom.Menu || tag == atom.Dir
}

// listInList sets a list that stands, against the rules, between the items of another under the last one.
func (w *writer) listInList(n dom.ID, outer list) {
	if w.plain || w.cell != nil || w.heading > 0 {
		return
	}
	if !outer.loose {
		w.gap = min(w.gap, 1)
	}
	w.pushFrame(n, frame{marker: spaces(outer.wide), indent: spaces(outer.wide)})
}

// numbering is the number of the first item and the step to the next.
func (w *writer) numbering(n dom.ID) (start, step int) {
	start, step = 1, 1
	v, err := strconv.Atoi(strings.TrimSpace(w.t.Attr(n, "start")))
	ok := err == nil && v >= 0 && v < 1_000_000_000
	if w.t.HasAttr(n, "reversed") {
		step = -1
		if !ok {
			v, ok = 0, true
			for c := w.t.FirstChild(n); c != 0; c = w.t.Next(c) {
				if w.t.Tag(c) == atom.Li && w.keep.Has(c) {
					v++
				}
			}
		}
	}
	if ok {
		start = v
	}
	return start, step
}

// enterItem writes a list item. An item outside of any list is one of a list of bullets.
func (w *writer) enterItem(n dom.ID) bool {
	w.endBlock()
	if w.noteDefinition(n) {
		return true
	}
	w.after(n, func(w *writer, _ dom.ID) { w.endBlock(); w.prefix = "" })
	if w.heading > 0 {
		return true
	}
	stray := list{next: 1, step: 1, items: 1}
	l := &stray
	if k := len(w.lists); k > 0 {
		l = &w.lists[k-1]
	}
	if value := w.t.Attr(n, "value"); value != "" && l.ordered {
		if v, err := strconv.Atoi(value); err == nil && v >= 0 && v < 1_000_000_000 {
			l.next = v
		}
	}
	if l.bullet == 0 {
		w.chooseBullet(l)
	}
	marker := "- "
	switch {
	case l.ordered:
		marker = strconv.Itoa(max(l.next, 0)) + string(l.bullet) + " "
		l.next += l.step
	case l.bullet == '*':
		marker = "* "
	}
	if w.cell != nil {
		w.prefix = marker
		return true
	}
	switch {
	case l.items > 0 && !l.loose:
		w.gap = min(w.gap, 1)
	case l.items == 0 && l.ordered && marker[:2] != "1." && marker[:2] != "1)":
		w.gap = min(2*w.gap, 2) // only a list that begins with 1 may follow directly on a paragraph
	}
	l.items++
	l.wide = len(marker)
	w.pushItem(n, frame{marker: marker + w.boxOf(n), indent: spaces(len(marker)), item: true})
	return true
}

func (w *writer) pushItem(n dom.ID, f frame) {
	before := len(w.frames)
	w.pushFrame(n, f)
	if len(w.frames) == before {
		return
	}
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		if len(w.lists) == 0 {
			return
		}
		l := &w.lists[len(w.lists)-1]
		if f := w.frames[len(w.frames)-1]; f.blocks > 1 {
			l.loose = true
		} else if !f.started {
			l.items--
		}
	})
}

// chooseBullet takes the other kind of marker when a list follows directly on one like it, since
// Markdown would join the two.
func (w *writer) chooseBullet(l *list) {
	one, other := byte('-'), byte('*')
	if l.ordered {
		one, other = '.', ')'
	}
	l.bullet = one
	if w.ended.depth == len(w.frames) && w.ended.bullet == one {
		l.bullet = other
	}
}

const blanks = "                "

func spaces(n int) string { return blanks[:min(n, len(blanks))] }

func (w *writer) definition(n dom.ID, tag atom.Atom) bool {
	if tag == atom.Dt && w.facts.defs[noteOfTerm(w.t, n)] != "" && len(shortText(w.t, n, 8)) < 8 {
		return false // the number of a note, which its label says
	}
	w.block(n)
	switch {
	case tag == atom.Dl || w.heading > 0:
	case tag == atom.Dt:
		w.after(n, func(w *writer, _ dom.ID) {
			before := len(w.out)
			w.endBlock()
			if len(w.out) > before {
				w.gap = 1
			}
		})
	case tag == atom.Dd:
		if w.cell != nil || w.plain {
			return true
		}
		w.pushFrame(n, frame{marker: ": ", indent: "  "})
		w.after(n, func(w *writer, _ dom.ID) { w.endBlock() })
	}
	return true
}
