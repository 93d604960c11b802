package markdown

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// facts are what the writer must know before it comes to a node.
type facts struct {
	t          *dom.Tree
	math       bool
	rawMath    bool // TeX stands in the text, for a script to set
	dollars    bool // … between single dollars too
	tables     map[dom.ID]tableKind
	roles      map[dom.ID]atom.Atom // elements that are parts of a table by their role
	blockLinks map[dom.ID]dom.ID    // links around blocks, and the heading in them or 0
	headLinks  map[dom.ID]int32     // headings that a link around them links
	notes
	keep    dom.Set
	labels  map[string]bool // of the notes, when some stand in the margin
	margin  map[string]int  // how many notes in the margin bear a mark
	inNotes int
	grafts  int
}

type tableKind uint8

const (
	dataTable tableKind = iota
	layoutTable
	codeTable
)

// tableFacts are counted while the kept part of a table is passed.
type tableFacts struct {
	node                              dom.ID
	rows, cells, inRow, wide, heads   int
	text, blocks                      int
	caption, nested, gutter, pre, row bool
}

// learn passes over the kept nodes once.
func learn(t *dom.Tree, keep dom.Set) facts {
	f := facts{t: t, keep: keep}
	f.rawMath, f.dollars = setsMath(t)
	f.math = f.rawMath
	l := learner{t: t, keep: keep, f: &f}
	at, n := dom.Root, t.FirstChild(dom.Root)
	for {
		if n == 0 {
			if at == dom.Root {
				break
			}
			l.leave(at)
			n, at = t.Next(at), t.Parent(at)
			continue
		}
		if keep.Has(n) && l.enter(n) && t.FirstChild(n) != 0 {
			at, n = n, t.FirstChild(n)
			continue
		}
		n = t.Next(n)
	}
	if len(l.refs) > 0 {
		f.findNotes(keep, l.refs)
	}
	if len(l.raised) > 0 {
		f.findLoose(keep, l.raised)
	}
	return f
}

type learner struct {
	t      *dom.Tree
	keep   dom.Set
	f      *facts
	tables []tableFacts
	link   dom.ID
	sup    int
	refs   []noteRef
	raised []dom.ID // numbers that are raised and no links, and bold ones that begin a paragraph behind a rule
	ruled  dom.ID   // the last rule
}

func (l *learner) enter(n dom.ID) bool {
	t := l.t
	if t.Kind(n) == dom.Text {
		if k := len(l.tables); k > 0 && l.tables[k-1].row {
			l.tables[k-1].text += len(strings.TrimSpace(t.Data(n)))
		}
		return false
	}
	if t.Kind(n) != dom.Element {
		return false
	}
	tag := t.Tag(n)
	if t.Foreign(n) {
		l.f.math = l.f.math || t.Name(n) == "math"
		return false
	}
	if tag == atom.Div || tag == atom.Span {
		tag = l.role(n, tag)
	}
	if l.link != 0 && isBlock(tag) {
		l.blockInLink(n, tag)
	}
	switch tag {
	case atom.Script:
		l.f.math = l.f.math || strings.HasPrefix(t.Attr(n, "type"), "math/")
		return false
	case atom.A:
		l.anchor(n)
	case atom.Sup:
		l.sup++
		if l.link == 0 && len(l.raised) < mostLoose && raisedNumber(t, n) != "" && !holds(t, n, atom.A) {
			l.raised = append(l.raised, n)
		}
	case atom.B, atom.Strong:
		if l.ruled != 0 && len(l.raised) < mostLoose && raisedNumber(t, n) != "" && t.Parent(l.ruled) == t.Parent(t.Parent(n)) && t.Tag(t.Parent(n)) == atom.P {
			l.raised = append(l.raised, n)
		}
	case atom.Hr:
		l.ruled = n
	case atom.Table:
		l.tables = append(l.tables, tableFacts{node: n})
	}
	if k := len(l.tables); k > 0 {
		l.tables[k-1].count(t, n, tag)
	}
	return true
}

// role is the part of a table that n is by its role, else tag.
func (l *learner) role(n dom.ID, tag atom.Atom) atom.Atom {
	part := atom.Atom(0)
	switch l.t.Attr(n, "role") {
	case "table", "grid":
		part = atom.Table
	case "row":
		part = atom.Tr
	case "cell", "gridcell":
		part = atom.Td
	case "columnheader", "rowheader":
		part = atom.Th
	}
	if part == 0 || part != atom.Table && len(l.tables) == 0 {
		return tag
	}
	if l.f.roles == nil {
		l.f.roles = make(map[dom.ID]atom.Atom)
	}
	l.f.roles[n] = part
	return part
}

// tag is the tag of n, or that of the part of a table that it is by its role.
func (f *facts) tag(n dom.ID) atom.Atom {
	if part, ok := f.roles[n]; ok {
		return part
	}
	return f.t.Tag(n)
}

func (l *learner) blockInLink(n dom.ID, tag atom.Atom) {
	if l.f.blockLinks == nil {
		l.f.blockLinks, l.f.headLinks = make(map[dom.ID]dom.ID), make(map[dom.ID]int32)
	}
	head := l.f.blockLinks[l.link]
	if head == 0 && isHeading(tag) {
		head = n
	}
	l.f.blockLinks[l.link] = head
}

func isHeading(tag atom.Atom) bool {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

func (l *learner) anchor(n dom.ID) {
	href, ok := l.t.LookupAttr(n, "href")
	if !ok {
		return
	}
	if l.link == 0 {
		l.link = n
	}
	if i := strings.IndexByte(href, '#'); i >= 0 && i+1 < len(href) {
		if r, ok := l.candidate(n, href[i+1:]); ok {
			l.refs = append(l.refs, r)
		}
	}
}

func (l *learner) leave(n dom.ID) {
	switch l.f.tag(n) {
	case atom.A:
		if l.link == n {
			l.link = 0
		}
	case atom.Sup:
		l.sup--
	case atom.Table:
		k := len(l.tables) - 1
		if k < 0 || l.tables[k].node != n {
			return
		}
		kind := l.tables[k].kind(l.t)
		l.tables = l.tables[:k]
		if k > 0 {
			l.tables[k-1].nested = true
		}
		if kind != dataTable {
			if l.f.tables == nil {
				l.f.tables = make(map[dom.ID]tableKind)
			}
			l.f.tables[n] = kind
		}
	}
}

// count takes an element inside a table into its facts.
func (f *tableFacts) count(t *dom.Tree, n dom.ID, tag atom.Atom) {
	switch tag {
	case atom.Tr:
		f.rows++
		f.inRow, f.row = 0, true
	case atom.Td, atom.Th:
		f.cells++
		f.inRow++
		f.wide = max(f.wide, f.inRow)
		if tag == atom.Th {
			f.heads++
		}
		if hasToken(t.Attr(n, "class"), gutterClasses...) && digitsOnly(t, n) {
			f.gutter = true
		}
	case atom.Caption:
		f.caption = true
	case atom.Pre:
		if !hasToken(t.Attr(n, "class"), gutterClasses...) {
			f.pre = true
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.Article, atom.Section, atom.Form, atom.Hr:
		f.blocks += 3
	case atom.P, atom.Div, atom.Ul, atom.Ol, atom.Blockquote:
		f.blocks++
	}
}

// kind tells a table of data from one that only lays a page out and one that holds lines of code.
func (f *tableFacts) kind(t *dom.Tree) tableKind {
	class := t.Attr(f.node, "class")
	if f.gutter || hasToken(class, "highlighttable", "rouge-table", "hljs-ln", "crayon-table", "js-file-line-container", "lntable", "diff-table", "codehilitetable", "code-table") {
		if f.pre {
			return layoutTable
		}
		return codeTable
	}
	role := t.Attr(f.node, "role")
	if role == "presentation" || role == "none" || t.Attr(f.node, "datatable") == "0" {
		return layoutTable
	}
	if f.cells == 0 || hasToken(class, "ltx_equation", "ltx_equationgroup", "ltx_eqn_table", "ltx_eqn_align", "ltx_eqn_eqnarray", "ltx_eqn_gather") {
		return layoutTable
	}
	if f.caption || role == "table" || role == "grid" || t.HasAttr(f.node, "summary") && f.heads > 0 || hasToken(class, "wikitable", "table-bordered", "table-striped", "datatable", "dataTable", "infobox") {
		return dataTable
	}
	words := f.text / f.cells
	switch {
	case f.heads > 0 && (f.rows > 1 || f.wide > 1):
		if f.nested && f.heads < 2 {
			return layoutTable
		}
		return dataTable
	case f.nested, f.wide <= 1, f.rows <= 1 && (f.blocks > 0 || words > 40 || f.wide < 3):
		return layoutTable
	case f.blocks > 2*f.cells, f.blocks > f.cells/2 && words > 150, words > 400:
		return layoutTable
	}
	return dataTable
}

// hasHeading is true when a heading stands near the top of what is below n.
func (f *facts) hasHeading(n dom.ID) bool {
	seen := 0
	for c := f.t.Following(n, n); c != 0 && seen < 64; c = f.t.Following(c, n) {
		seen++
		if isHeading(f.t.Tag(c)) {
			return true
		}
	}
	return false
}

// holdsTable is true when below the heading n are blocks that cannot be on one line.
func (f *facts) holdsTable(n dom.ID) bool {
	seen := 0
	for c := f.t.Following(n, n); c != 0 && seen < 64; c = f.t.Following(c, n) {
		seen++
		switch f.t.Tag(c) {
		case atom.Table, atom.Pre, atom.Ul, atom.Ol, atom.Blockquote:
			return true
		}
	}
	return false
}
