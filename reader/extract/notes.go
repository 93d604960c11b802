package extract

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

const (
	mostNoteWords = 200 // of a block that may be a note
	noteReach     = 5   // elements up from a note to the box of all notes
	highestNote   = 300
	longestNumber = 16 // bytes, with brackets and blanks
)

// withNotes keeps the footnotes that kept text refers to, by a link or only by a raised number. They stand
// behind the content, in small print, and so look like its furniture. A bibliography is left to the classifier.
func withNotes(t *dom.Tree, p *blocks.Page, keep []bool) {
	var r references
	for i, k := range keep {
		if k {
			r.look(t, p, i)
		}
	}
	if len(r.ids)+len(r.numbers) == 0 {
		return
	}
	for i, k := range keep {
		if b := &p.Blocks[i]; !k && b.Words <= mostNoteWords && r.leadTo(t, p, i) {
			keep[i] = true
		}
	}
}

// references are what kept text refers to, with the first block that does.
type references struct {
	ids     map[string]int
	numbers map[int]int
}

// look takes down what block i refers to.
func (r *references) look(t *dom.Tree, p *blocks.Page, i int) {
	for _, n := range p.Texts[p.Blocks[i].Lo:p.Blocks[i].Hi] {
		text := t.Data(n)
		if len(text) > longestNumber {
			continue
		}
		number := noteNumber(text)
		link, raised := dom.ID(0), false
		for at, up := t.Parent(n), 0; at != 0 && up < 3; at, up = t.Parent(at), up+1 {
			switch t.Tag(at) {
			case atom.A:
				link = at
			case atom.Sup:
				raised = true
			}
		}
		to, here := strings.CutPrefix(t.Attr(link, "href"), "#")
		switch {
		case link != 0 && here && to != "" && (raised || number > 0):
			if r.ids == nil {
				r.ids = make(map[string]int)
			}
			if _, known := r.ids[to]; !known {
				r.ids[to] = i
			}
		case link == 0 && raised && number > 0:
			if r.numbers == nil {
				r.numbers = make(map[int]int)
			}
			if _, known := r.numbers[number]; !known {
				r.numbers[number] = i
			}
		}
	}
}

// noteNumber is the number that text is, in brackets or not, or 0.
func noteNumber(text string) int {
	if len(text) > longestNumber {
		return 0
	}
	n, err := strconv.Atoi(strings.Trim(text, " \t\r\n\u00a0[]()"))
	if err != nil || n < 1 || n > highestNote {
		return 0
	}
	return n
}

// leadTo says that block i is in a note that is referred to from a block before.
func (r *references) leadTo(t *dom.Tree, p *blocks.Page, i int) bool {
	at := p.Elems[p.Blocks[i].Box].ID
	for up := 0; at != 0 && up < noteReach; at, up = t.Parent(at), up+1 {
		switch t.Tag(at) {
		case atom.Li, atom.P, atom.Dd, atom.Div, atom.Aside:
		default:
			continue
		}
		if from, ok := r.from(t, at); ok && from < i {
			return ofNotes(t, p, i, at)
		}
	}
	return false
}

// from is the block that refers to the note at.
func (r *references) from(t *dom.Tree, at dom.ID) (int, bool) {
	if from, ok := r.ids[t.Attr(at, "id")]; ok {
		return from, true
	}
	first := t.FirstChild(at)
	for first != 0 && t.Kind(first) == dom.Text && strings.TrimSpace(t.Data(first)) == "" {
		first = t.Next(first)
	}
	for _, key := range [...]string{"id", "name"} {
		if id := t.Attr(first, key); id != "" {
			if from, ok := r.ids[id]; ok {
				return from, true
			}
		}
	}
	if len(r.numbers) == 0 {
		return 0, false
	}
	number := 0
	switch {
	case t.Tag(first) == atom.Sup:
		for first != 0 && t.Kind(first) == dom.Element {
			first = t.FirstChild(first)
		}
		number = noteNumber(t.Data(first))
	case t.Tag(at) == atom.Li:
		number = itemNumber(t, at)
	}
	from, ok := r.numbers[number]
	return from, ok
}

// itemNumber is the number of an item of an ordered list, or 0.
func itemNumber(t *dom.Tree, item dom.ID) int {
	list := t.Parent(item)
	if t.Tag(list) != atom.Ol {
		return 0
	}
	number := 1
	if start, err := strconv.Atoi(t.Attr(list, "start")); err == nil {
		number = start
	}
	for n := t.Prev(item); n != 0 && number <= highestNote; n = t.Prev(n) {
		if t.Tag(n) == atom.Li {
			number++
		}
	}
	return number
}

var noteNames = []string{"footnote", "endnote", "sidenote", "voetno", "eindno", "labjegyzet", "fussnote"}

var noteHeads = []string{"footnotes", "footnote", "notes", "endnotes", "voetnoten", "voetnoot", "noten", "eindnoten", "lábjegyzet", "lábjegyzetek", "jegyzetek",
	"fußnoten", "fussnoten", "anmerkungen", "notas", "note"}

// ofNotes says that at, which holds block i, is or stands in a box of notes: by its name, its role, as an aside,
// or by the heading above.
func ofNotes(t *dom.Tree, p *blocks.Page, i int, at dom.ID) bool {
	for up := 0; at != 0 && up < noteReach; at, up = t.Parent(at), up+1 {
		role := t.Attr(at, "role")
		if t.Tag(at) == atom.Aside || role == "doc-footnote" || role == "doc-endnotes" || t.HasAttr(at, "data-footnotes") {
			return true
		}
		name := strings.ToLower(t.Attr(at, "class") + " " + t.Attr(at, "id"))
		for _, word := range noteNames {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	h := p.Blocks[i].Heading
	if h < 0 {
		return false
	}
	head := strings.ToLower(strings.Trim(strings.TrimSpace(p.Text(int(h))), ":."))
	for _, word := range noteHeads {
		if head == word {
			return true
		}
	}
	return false
}
