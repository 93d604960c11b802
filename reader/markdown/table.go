package markdown

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// widest bounds the columns of a table that are set, and what one cell may span.
const widest = 128

// table is the data table that is being read.
type table struct {
	node  dom.ID
	buf   []byte
	rows  []tableRow
	cells []tableCell
	open  bool // a cell is open
	head  bool // inside thead
	foot  bool // inside tfoot
}

type tableRow struct {
	first, end int32 // its cells
	head, foot bool
}

type tableCell struct {
	lo, hi     int32 // its text in the table's buf
	cols, rows uint8
	th, bold   bool
	align      byte
}

// add puts the paragraph text into the open cell; outside of cells, where only a table by its role has text,
// it makes one.
func (tb *table) add(w *writer, text []byte) {
	if !tb.open {
		if len(tb.rows) == 0 {
			tb.rows = append(tb.rows, tableRow{})
		}
		at := int32(len(tb.buf))
		tb.cells = append(tb.cells, tableCell{lo: at, hi: at, cols: 1, rows: 1})
	}
	c := &tb.cells[len(tb.cells)-1]
	if c.hi > c.lo {
		tb.buf = append(tb.buf, w.breakTag()...)
	} else {
		c.bold = bytes.HasPrefix(text, []byte("**")) && bytes.HasSuffix(text, []byte("**"))
	}
	tb.buf = append(tb.buf, w.prefix...)
	w.prefix = ""
	for {
		i := bytes.IndexByte(text, '|')
		if i < 0 || w.plain {
			break
		}
		tb.buf = append(tb.buf, text[:i]...)
		tb.buf = append(tb.buf, '\\', '|')
		text = text[i+1:]
	}
	tb.buf = append(tb.buf, text...)
	c.hi = int32(len(tb.buf))
}

// enterTable deals with tables and what they are made of.
func (w *writer) enterTable(n dom.ID, tag atom.Atom) bool {
	if tag == atom.Table {
		return w.openTable(n)
	}
	if w.cell == nil || w.cell.node != w.tableOf(n) {
		w.block(n)
		return true
	}
	tb := w.cell
	switch tag {
	case atom.Caption:
		w.caption(n)
	case atom.Thead:
		tb.head = true
		w.after(n, func(w *writer, _ dom.ID) { w.cell.head = false })
	case atom.Tfoot:
		tb.foot = true
		w.after(n, func(w *writer, _ dom.ID) { w.cell.foot = false })
	case atom.Tr:
		w.endBlock()
		tb.rows = append(tb.rows, tableRow{first: int32(len(tb.cells)), head: tb.head, foot: tb.foot})
		w.after(n, func(w *writer, _ dom.ID) { w.endBlock() })
	case atom.Td, atom.Th:
		w.openCell(n, tag == atom.Th)
	}
	return true
}

// tableOf is the table to which a part of a table belongs.
func (w *writer) tableOf(n dom.ID) dom.ID {
	for up := 0; n != 0 && up < 8; up++ {
		if w.facts.tag(n) == atom.Table {
			return n
		}
		n = w.t.Parent(n)
	}
	return 0
}

func (w *writer) openTable(n dom.ID) bool {
	w.block(n)
	kind := w.facts.tables[n]
	switch {
	case kind == codeTable && w.cell == nil && w.heading == 0:
		w.scratch = w.codeText(w.scratch[:0], n, true)
		w.fence(w.scratch, language(w.t, n))
		return false
	case kind != dataTable || w.cell != nil || w.heading > 0:
		return true
	}
	tb := w.spare
	if tb == nil {
		tb = new(table)
	}
	*tb = table{node: n, buf: tb.buf[:0], rows: tb.rows[:0], cells: tb.cells[:0]}
	w.cell = tb
	lists := w.lists
	w.lists = nil
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		tb := w.cell
		w.cell, w.spare, w.lists = nil, tb, lists
		w.writeTable(tb)
	})
	return true
}

// caption writes the caption of a table as a paragraph before it.
func (w *writer) caption(n dom.ID) {
	w.endBlock()
	tb := w.cell
	w.cell = nil
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		w.cell = tb
	})
}

func (w *writer) openCell(n dom.ID, th bool) {
	tb := w.cell
	w.endBlock()
	if len(tb.rows) == 0 {
		tb.rows = append(tb.rows, tableRow{head: tb.head, foot: tb.foot})
	}
	at := int32(len(tb.buf))
	c := tableCell{lo: at, hi: at, th: th, cols: span(w.t.Attr(n, "colspan")), rows: span(w.t.Attr(n, "rowspan")), align: alignment(w.t, n)}
	tb.cells = append(tb.cells, c)
	tb.open = true
	w.after(n, func(w *writer, _ dom.ID) {
		w.endBlock()
		w.cell.open = false
		w.prefix = ""
	})
}

func span(s string) uint8 {
	if s == "" {
		return 1
	}
	v, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || v < 1 {
		return 1
	}
	return uint8(min(v, widest))
}

func alignment(t *dom.Tree, n dom.ID) byte {
	v := t.Attr(n, "align")
	if v == "" {
		style := t.Attr(n, "style")
		i := strings.Index(style, "text-align")
		if i < 0 {
			return 0
		}
		v = strings.TrimLeft(style[i+len("text-align"):], ": ")
	}
	switch v = strings.ToLower(v); {
	case strings.HasPrefix(v, "right"), strings.HasPrefix(v, "end"):
		return 'r'
	case strings.HasPrefix(v, "center"):
		return 'c'
	case strings.HasPrefix(v, "left"):
		return 'l'
	}
	return 0
}

// writeTable writes a table row by row; what a cell spans is left empty.
func (w *writer) writeTable(tb *table) {
	if !tb.tidy() {
		return
	}
	w.begin(true)
	if w.plain {
		w.plainRows(tb)
		w.end()
		return
	}
	wide := tb.width()
	pad := wide*len(tb.rows) <= 4*len(tb.cells)+4096
	var carry [widest]uint8
	next := 0
	if tb.named() {
		w.row(tb, 0, wide, true, &carry)
		next = 1
	} else {
		w.emptyRow(wide)
	}
	w.newLine()
	w.delimiter(tb, wide)
	for ; next < len(tb.rows); next++ {
		w.newLine()
		w.row(tb, next, wide, pad, &carry)
	}
	w.end()
}

// tidy drops empty rows, sets the foot under the body, and is false when nothing is left.
func (tb *table) tidy() bool {
	end := int32(len(tb.cells))
	for i := len(tb.rows) - 1; i >= 0; i-- {
		tb.rows[i].end, end = end, tb.rows[i].first
	}
	full := false
	tb.rows = slices.DeleteFunc(tb.rows, func(r tableRow) bool {
		cells := tb.cells[r.first:r.end]
		keep := slices.ContainsFunc(cells, func(c tableCell) bool { return c.hi > c.lo }) ||
			full && slices.ContainsFunc(cells, func(c tableCell) bool { return c.rows > 1 })
		full = full || keep
		return !keep
	})
	slices.SortStableFunc(tb.rows, func(a, b tableRow) int {
		switch {
		case a.foot == b.foot:
			return 0
		case b.foot:
			return -1
		}
		return 1
	})
	return len(tb.rows) > 0
}

func (tb *table) rowCells(i int) []tableCell { return tb.cells[tb.rows[i].first:tb.rows[i].end] }

// width is the number of columns, with what cells of rows above reach into.
func (tb *table) width() int {
	wide := 1
	var carry [widest]uint8
	for i := range tb.rows {
		col := 0
		for _, c := range tb.rowCells(i) {
			for col < widest && carry[col] > 0 {
				carry[col]--
				col++
			}
			for k := 0; k < int(c.cols) && col < widest; k++ {
				carry[col] = c.rows - 1
				col++
			}
		}
		end := col
		for ; col < widest; col++ {
			if carry[col] > 0 {
				carry[col]--
				end = col + 1
			}
		}
		wide = max(wide, end)
	}
	return wide
}

// named is true when the first row names the columns.
func (tb *table) named() bool {
	if tb.rows[0].head {
		return true
	}
	heads, bold, full := 0, 0, 0
	for _, c := range tb.rowCells(0) {
		if c.hi > c.lo {
			full++
			if c.th {
				heads++
			}
			if c.bold {
				bold++
			}
		}
	}
	return full > 0 && (heads == full || bold == full && full > 1)
}

// row writes row i; carry has how many rows more the cells above reach down into each column. Without
// pad, columns left empty are left out, which only a table of few cells and many columns needs.
func (w *writer) row(tb *table, i, wide int, pad bool, carry *[widest]uint8) {
	w.out = append(w.out, '|')
	col := 0
	for _, c := range tb.rowCells(i) {
		for pad && col < wide && carry[col] > 0 {
			carry[col]--
			w.out = append(w.out, "  |"...)
			col++
		}
		if col >= wide {
			break
		}
		w.out = append(w.out, ' ')
		w.out = append(w.out, tb.buf[c.lo:c.hi]...)
		w.out = append(w.out, " |"...)
		for k := 0; k < int(c.cols) && col < wide; k++ {
			if k > 0 && pad {
				w.out = append(w.out, "  |"...)
			}
			carry[col] = c.rows - 1
			col++
		}
	}
	for ; pad && col < wide; col++ {
		if carry[col] > 0 {
			carry[col]--
		}
		w.out = append(w.out, "  |"...)
	}
}

func (w *writer) emptyRow(wide int) {
	w.out = append(w.out, '|')
	for range wide {
		w.out = append(w.out, "  |"...)
	}
}

// delimiter writes the line under the head, with the alignment of the first row's cells.
func (w *writer) delimiter(tb *table, wide int) {
	w.out = append(w.out, '|')
	col := 0
	for _, c := range tb.rowCells(0) {
		for k := 0; k < int(c.cols) && col < wide; k++ {
			w.out = append(w.out, delimiterCell(c.align)...)
			col++
		}
	}
	for ; col < wide; col++ {
		w.out = append(w.out, " --- |"...)
	}
}

func delimiterCell(align byte) string {
	switch align {
	case 'l':
		return " :-- |"
	case 'r':
		return " --: |"
	case 'c':
		return " :-: |"
	}
	return " --- |"
}

func (w *writer) plainRows(tb *table) {
	for i := range tb.rows {
		if i > 0 {
			w.newLine()
		}
		for k, c := range tb.rowCells(i) {
			if k > 0 {
				w.out = append(w.out, '\t')
			}
			w.out = append(w.out, tb.buf[c.lo:c.hi]...)
		}
	}
}
