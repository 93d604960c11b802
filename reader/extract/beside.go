package extract

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// withoutBeside drops what its own make or title shows to be beside the content: a table of the page's
// headings, other pages and news, questions about the page, pagers, filters, opening hours.
func withoutBeside(t *dom.Tree, p *blocks.Page, keep []bool) {
	w := sweep{Page: p, t: t, keep: keep}
	for i, k := range keep {
		if k {
			w.words += p.Blocks[i].Words
		}
	}
	w.promos()
	w.contents()
	w.turns()
	for i, k := range keep {
		if !k {
			continue
		}
		if w.pager(i) || w.tool(i) || w.onward(i) || w.facets(i) {
			w.drop(i, i+1)
			continue
		}
		w.asking(i)
		w.hours(i)
	}
}

// drop drops the blocks from lo to hi.
func (w *sweep) drop(lo, hi int) {
	for i := lo; i < hi; i++ {
		if w.keep[i] {
			w.keep[i] = false
			w.words -= w.Blocks[i].Words
		}
	}
}

// leastContents is the least number of lines of a table of contents.
const leastContents = 3

// contents drops the lists of links into the page that say its headings again, and their title.
func (w *sweep) contents() {
	var heads map[string]bool
	for i := 0; i < len(w.keep); i++ {
		if !w.Anchor(i) {
			continue
		}
		if heads == nil {
			heads = w.headings()
		}
		j, same := i, 0
		for ; j < len(w.keep) && w.Anchor(j); j++ {
			if heads[w.line(j)] {
				same++
			}
		}
		if same >= leastContents && same*2 > j-i {
			lo := i
			if i > 0 && w.heads(i-1, i) {
				lo--
			}
			w.drop(lo, j)
		}
		i = j
	}
}

// headings are the texts of the page's headings.
func (w *sweep) headings() map[string]bool {
	heads := make(map[string]bool)
	for i := range w.Blocks {
		if b := &w.Blocks[i]; b.Level > 0 && b.Linked == 0 {
			heads[w.line(i)] = true
		}
	}
	return heads
}

// line is the text of a block to be compared: no blanks but one, no numbers before it, small letters.
func (w *sweep) line(i int) string {
	s := strings.TrimLeftFunc(w.Text(i), func(r rune) bool { return !unicode.IsLetter(r) })
	return plainTitle(s)
}

// titleWords is the most words of the title of a list.
const titleWords = 5

// heads says that block i is a title and no more, and the one of what begins at block j.
func (w *sweep) heads(i, j int) bool {
	b := &w.Blocks[i]
	if b.Words > titleWords || b.Linked > 0 {
		return false
	}
	return b.Level > 1 || w.around(i) == w.around(j) || w.around(i) == w.Elems[w.around(j)].Parent
}

// around is the innermost element around a block that has others in it too, -1 for none.
func (w *sweep) around(i int) int32 {
	e := w.Blocks[i].Box
	for e >= 0 && w.Elems[e].Blocks == 1 {
		e = w.Elems[e].Parent
	}
	return e
}

// The bounds of a section of other pages.
const (
	turnWords = 40 // the most of a line that is no link
	turnLinks = 2
	turnReach = 100 // the most blocks of a section
)

// turns drops the sections that by their title tell of other pages, as far as they are links with a line below
// each.
func (w *sweep) turns() {
	for i := range w.keep {
		b := &w.Blocks[i]
		if b.Level == 1 || b.Title || b.Words > turnWords {
			continue
		}
		e := w.around(i)
		if e < 0 || b.Level == 0 && int(w.Elems[e].First) != i && !w.bold(i) || !turnTitles[w.firstLine(i)] {
			continue
		}
		last, links, teaser := i, 0, false
		if b.Linked > 0 {
			links = 1
		}
		for j := i + 1; j < min(int(w.Elems[e].Last), i+turnReach); j++ {
			c := &w.Blocks[j]
			if b.Level > 0 && c.Level > 0 && c.Level <= b.Level || w.File(j) {
				break
			}
			if c.Linked*2 > c.Words || b.Level == 0 && c.Linked > 0 && c.Words <= turnWords && w.inLink(j) {
				teaser = teaser || links > 0 && j-last > 1
				last, links = j, links+1
				continue
			}
			if c.Words > turnWords || j-last > 3 {
				break
			}
		}
		if links == 0 {
			continue
		}
		hi := last + 1
		if teaser && hi < int(w.Elems[e].Last) && w.Blocks[hi].Level == 0 && w.Blocks[hi].Words <= turnWords {
			hi++
		}
		if (links >= turnLinks || hi == int(w.Elems[e].Last)) && w.little(i, hi) {
			w.drop(i, hi)
		}
	}
}

// bold says that a block begins in bold letters.
func (w *sweep) bold(i int) bool {
	tag := w.t.Tag(w.Elems[w.Blocks[i].Elem].ID)
	return tag == atom.B || tag == atom.Strong
}

// little says that the kept blocks from lo to hi are at most a third of all that are kept.
func (w *sweep) little(lo, hi int) bool {
	in := int32(0)
	for i := lo; i < hi; i++ {
		if w.keep[i] {
			in += w.Blocks[i].Words
		}
	}
	return in*3 <= w.words
}

// firstLine is the first line of a block as line gives it.
func (w *sweep) firstLine(i int) string {
	b := &w.Blocks[i]
	if b.Linked == 0 {
		if b.Words > titleWords {
			return ""
		}
		return w.line(i)
	}
	for _, n := range w.Texts[b.Lo:b.Hi] {
		if s := plainTitle(w.t.Data(n)); s != "" {
			br := w.t.Next(n)
			if br == 0 {
				br = w.t.Next(w.t.Parent(n))
			}
			if w.t.Tag(br) == atom.Br && w.t.Tag(w.beside(br)) == atom.A {
				return s
			}
			return ""
		}
	}
	return ""
}

// beside is the element behind n with nothing but blanks between, 0 for none.
func (w *sweep) beside(n dom.ID) dom.ID {
	for n = w.t.Next(n); n != 0 && w.t.Kind(n) == dom.Text && strings.TrimSpace(w.t.Data(n)) == ""; n = w.t.Next(n) {
	}
	return n
}

// inLink says that a block begins with a link.
func (w *sweep) inLink(i int) bool {
	for e := w.Blocks[i].Elem; e >= w.Blocks[i].Box; e = w.Elems[e].Parent {
		if w.t.Tag(w.Elems[e].ID) == atom.A {
			return true
		}
	}
	return false
}

// The bounds of a question about the page.
const (
	askWords  = 14
	askRest   = 12
	askInputs = 2
	askHops   = 3
)

// asking drops a question with nothing behind it but things to press and the count of answers.
func (w *sweep) asking(i int) {
	b := &w.Blocks[i]
	if b.Words > askWords || !b.Asks() {
		return
	}
	e := b.Box
	for hops := 0; e >= 0 && hops < askHops; e, hops = w.Elems[e].Parent, hops+1 {
		x := &w.Elems[e]
		if x.Words > b.Words+askRest {
			return
		}
		if x.Inputs >= askInputs {
			w.drop(int(x.First), int(x.Last))
			return
		}
	}
}

// pager says that a block has only the numbers of pages and arrows, most of them links.
func (w *sweep) pager(i int) bool {
	b := &w.Blocks[i]
	if b.Digits == 0 || b.Digits != b.Words || b.Linked == 0 || b.Words < 2 {
		return false
	}
	return strings.IndexFunc(w.Text(i), unicode.IsLetter) < 0 && b.Linked*2 >= b.Words
}

// tool says that a block only offers things to do with any page, such as to print it.
func (w *sweep) tool(i int) bool {
	b := &w.Blocks[i]
	if e := w.around(i); b.Words > toolsWords || b.Linked == 0 && (e < 0 || w.Elems[e].Inputs == 0) {
		return false
	}
	tools := 0
	for _, word := range strings.FieldsFunc(strings.ToLower(w.Text(i)), notInWord) {
		s, known := senseOf(word)
		switch {
		case toolWords[word]:
			tools++
		case known && s&(month|weekday) != 0, b.Year && strings.Trim(word, "0123456789") == "":
		default:
			return false
		}
	}
	return tools > 0
}

// onward says that a block is a link that only says that there is more.
func (w *sweep) onward(i int) bool {
	b := &w.Blocks[i]
	return b.Linked == b.Words && b.Words <= titleWords && b.Level == 0 && onwardTitles[plainTitle(w.Text(i))]
}

// leastFacets is the least number of choices with their counts that make a filter.
const leastFacets = 3

// facets says that a block is a row of choices to tick, each with a count.
func (w *sweep) facets(i int) bool {
	b := &w.Blocks[i]
	if b.Digits < leastFacets || w.Elems[b.Box].Inputs < leastFacets {
		return false
	}
	if len(facet.FindAllString(w.Text(i), leastFacets)) < leastFacets {
		return false
	}
	if i > 0 && w.Blocks[i-1].Level > 1 {
		w.drop(i-1, i)
	}
	return true
}

var facet = regexp.MustCompile(`\(\d+\)`)

// toolsWords is the most words of a line of tools.
const toolsWords = 12

var toolWords = wordSet("laatst laatste gewijzigd bijgewerkt op utolsó módosítás frissítés last updated modified on print printen afdrukken pagina deze dit page this naar boven terug vorige omhoog deel delen share back to top up go vissza a lap tetejére oldal tetejére nyomtatás nyomtatható nyomtatom változat " +
	"ugrás előző megosztás küldés e mail email pdf opslaan als save as zoeken zoek search keresés keres lees voor voorlezen listen read aloud felolvasás")

// The most words of a promotion.
const mostPromo = 60

// promos drops the small boxes between the content that by their class lead to another page.
func (w *sweep) promos() {
	like := make(map[uint64]int)
	for i := range w.Elems {
		if e := &w.Elems[i]; e.Blocks >= 2 && e.Words <= mostPromo {
			like[e.Hash]++
		}
	}
	for i := range w.Elems {
		e := &w.Elems[i]
		if e.Blocks < 2 || like[e.Hash] > 1 || e.Words > mostPromo || e.Links == 0 || e.Links > 2 || e.Heads > 1 || !w.keep[e.First] {
			continue
		}
		named := false
		for _, word := range namesOf(w.t.Attr(e.ID, "class")) {
			named = named || teaserWords[word]
		}
		if !named {
			continue
		}
		ok := true
		for j := e.First; j < e.Last && ok; j++ {
			b := &w.Blocks[j]
			ok = !w.File(int(j)) && !b.Title && (b.Digits == 0 || !TellsOfCall(w.Text(int(j))))
		}
		if ok && w.little(int(e.First), int(e.Last)) {
			w.drop(int(e.First), int(e.Last))
		}
	}
}

var teaserWords = wordSet("teaser promo promotion promobox")

// hoursWords is the most words of a box of opening hours with its address.
const hoursWords = 60

// hours drops a small box with a line of opening hours that stands apart from the running text.
func (w *sweep) hours(i int) {
	b := &w.Blocks[i]
	if b.Digits < 2 || b.Words > longestIdle || b.Level > 0 || w.Fluent < 100 || !tellsHours(w.Text(i)) {
		return
	}
	e := b.Box
	for e >= 0 {
		up := w.Elems[e].Parent
		if up < 0 || w.Elems[up].Words > hoursWords {
			break
		}
		e = up
	}
	x := &w.Elems[e]
	if x.Words > hoursWords || x.Blocks < 2 && !strings.Contains(w.Text(i), "©") {
		return
	}
	switch w.t.Tag(x.ID) {
	case atom.Table, atom.Tbody, atom.Tr, atom.Dl, atom.P, atom.Ul, atom.Li:
		return
	}
	for j := x.First; j < x.Last; j++ {
		if int(j) != i && w.Blocks[j].Fluent() && w.Blocks[j].Words >= 20 || w.File(int(j)) {
			return
		}
	}
	w.drop(int(x.First), int(x.Last))
}

// tellsHours says that a line names days of the week and times of day.
func tellsHours(line string) bool {
	if !hour.MatchString(line) {
		return false
	}
	days := 0
	for _, word := range strings.FieldsFunc(strings.ToLower(line), notInWord) {
		if s, _ := senseOf(word); s&weekday != 0 && len(word) > 3 {
			days++
		}
	}
	return days >= 2
}
