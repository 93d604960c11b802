package change

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/webreaderapi/webreader/reader/extract"
)

// visit is a page as it stands now: its units with their text, which ends with the call.
type visit struct {
	keyed      *keyed
	whole      strings.Builder // the letters of all units
	units      []textUnit
	others     []uint32
	wordPrints map[string]uint64
}

type textUnit struct {
	unit
	spot  uint16 // of its text without digits
	block int    // index of its block among the kept ones
	text  string
	owner *extract.Block
}

const (
	printMask = 1<<40 - 1
	otherMask = 1<<24 - 1
)

// print makes the units of a page.
func (d *Detector) print(blocks []extract.Block) *visit {
	v := &visit{keyed: d.keyed(), wordPrints: make(map[string]uint64)}
	kept := 0
	var before *extract.Block // the kept block before
	for i := range blocks {
		b := &blocks[i]
		if !b.Kept {
			continue
		}
		if !volatile(b.Text) {
			v.sentences(b, kept)
		}
		for _, f := range b.Files {
			owner := naming(b, before)
			v.add("\x00"+f, kept, owner.Text, owner)
		}
		kept, before = kept+1, b
	}
	for i := range nearest(blocks) {
		v.other(&blocks[i])
	}
	return v
}

// naming is the block that tells what a document is: b, with the block before when b says no more than
// "Download (PDF)".
func naming(b, before *extract.Block) *extract.Block {
	if before == nil || len(strings.Fields(b.Text)) > 2 {
		return b
	}
	return &extract.Block{Text: strings.TrimSpace(before.Text + " " + b.Text), Heading: b.Heading, Kept: true}
}

func (v *visit) sentences(b *extract.Block, kept int) {
	for _, side := range sides(b.Text) {
		if volatile(side) {
			continue
		}
		for _, text := range sentences(side) {
			if plain := letters(lasting(text)); plain != "" && !volatile(text) {
				v.add(plain, kept, text, b)
			}
		}
	}
}

func (v *visit) add(letters string, block int, text string, owner *extract.Block) {
	v.whole.WriteString(letters)
	place := v.sketch(text)
	if letters[0] != 0 && idle(text) {
		place |= traitPlain
		if owner.Boxed {
			place |= traitBoxed
		}
	}
	v.units = append(v.units, textUnit{
		unit:  unit{v.keyed.print(letters) & printMask, place},
		spot:  uint16(v.keyed.print("place\x00" + extract.Timeless(text))),
		block: block, text: text, owner: owner,
	})
}

func (v *visit) other(b *extract.Block) {
	for _, side := range sides(b.Text) {
		for _, text := range sentences(side) {
			if plain := letters(lasting(text)); plain != "" && len(v.others) < mostOthers {
				v.others = append(v.others, uint32(v.keyed.print(plain)&otherMask))
			}
		}
	}
}

// nearest are the blocks of the furniture in the order of how near they stand to the content: those
// may be taken for content at the next visit.
func nearest(blocks []extract.Block) iter.Seq[int] {
	far := make([]int, len(blocks))
	last := -1
	for i := range blocks {
		if blocks[i].Kept {
			last = i
		}
		far[i] = len(blocks)
		if last >= 0 {
			far[i] = i - last
		}
	}
	next := len(blocks) * 2
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Kept {
			next = i
		}
		far[i] = min(far[i], next-i)
	}
	return func(yield func(int) bool) {
		for _, i := range byDistance(far) {
			if far[i] > 0 && !yield(i) {
				return
			}
		}
	}
}

// byDistance are the indexes of far, the least first, equal ones in order.
func byDistance(far []int) []int {
	order := make([]int, len(far))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return far[a] - far[b] })
	return order
}

// joined are the units at a coarseness: above 0 neighbours are joined, at borders that the text
// itself chooses so that one insertion moves one border only.
func (v *visit) joined(coarse uint8) []textUnit {
	if coarse == 0 {
		return v.units
	}
	var joined []textUnit
	open := false
	for _, u := range v.units {
		if open {
			last := &joined[len(joined)-1]
			last.print = (last.print*1_000_003 ^ u.print) & printMask
		} else {
			joined = append(joined, u)
		}
		open = (u.print>>7)&(1<<coarse-1) != 0
	}
	return joined
}

// state is what is kept of v: of a long page shorter prints without places, of a very long one
// prints of joined neighbours.
func (v *visit) state(f *flicker) State {
	s := State{Seen: true, Whole: v.keyed.print(v.whole.String()), Others: v.others, Spots: f.spots(), Past: f.past, Slim: len(v.units) > mostUnits}
	units := v.units
	for len(units) > mostSlim {
		s.Coarse++
		units = v.joined(s.Coarse)
	}
	for _, u := range units {
		s.Units = append(s.Units, u.unit)
	}
	return s
}

// mask is how much of a print the state holds.
func (s State) mask() uint64 {
	if s.Slim {
		return otherMask
	}
	return printMask
}

// difference is what sets a visit apart from the one before.
type difference struct {
	old   State
	now   *visit
	isNew []bool // of the units of now: the visit before did not have it
	from  []int  // where in old they stood; -1 for none
	gone  []bool // of the units of old: it is nowhere on the page now
	left  []bool // of the units of old: it stands in the furniture now
}

// compare finds the units of now that the visit before did not have, and those it had that are gone.
func (d *Detector) compare(old State, now *visit) (Report, *flicker) {
	x := differ(old, now)
	f := newFlicker(old)
	var r Report
	if !old.Slim {
		f.settle(&r, x)
		f.turns(&r, x)
	}
	d.count(&r, x)
	return r, f
}

func differ(old State, now *visit) *difference {
	x := &difference{old: old, now: now, isNew: make([]bool, len(now.units)), from: make([]int, len(now.units)), gone: make([]bool, len(old.Units)), left: make([]bool, len(old.Units))}
	mask := old.mask()
	had := make(map[uint64][]int, len(old.Units)) // where each print stood that no unit of now took yet
	for i, u := range old.Units {
		had[u.print&mask] = append(had[u.print&mask], i)
	}
	furniture := set(old.Others)
	seen := make(map[uint64]bool, len(now.units))
	for i, u := range now.units {
		x.from[i] = -1
		if at := had[u.print&mask]; len(at) > 0 {
			x.from[i], had[u.print&mask] = at[0], at[1:]
		} else {
			x.isNew[i] = seen[u.print] || !furniture[uint32(u.print&otherMask)]
		}
		seen[u.print] = true
	}
	around := set(now.others)
	for _, at := range had {
		for _, i := range at {
			x.left[i] = around[old.Units[i].short()]
			x.gone[i] = !x.left[i]
		}
	}
	return x
}

func set(prints []uint32) map[uint32]bool {
	m := make(map[uint32]bool, len(prints))
	for _, p := range prints {
		m[p] = true
	}
	return m
}

// count fills the report: a block all of whose units are new is added, one with old units is
// changed; units that are gone without a new one in their stead are removed.
func (d *Detector) count(r *Report, x *difference) {
	r.Kind = Unchanged
	now, isNew, gone := x.now, x.isNew, 0
	for _, g := range x.gone {
		if g {
			gone++
		}
	}
	for i := 0; i < len(now.units); {
		j, fresh := i, 0
		for j < len(now.units) && now.units[j].block == now.units[i].block {
			if isNew[j] {
				fresh++
			}
			j++
		}
		if fresh > 0 {
			kind := "added"
			if fresh < j-i || gone > 0 {
				kind = "changed"
				gone = max(0, gone-fresh)
			}
			d.passages(r, now.units[i:j], isNew[i:j], kind)
		}
		i = j
	}
	r.Removed = gone
	if r.Added+r.Changed+r.Removed > 0 {
		r.Kind = Changed
	}
}

func (d *Detector) passages(r *Report, units []textUnit, isNew []bool, kind string) {
	if kind == "added" {
		r.Added++
	} else {
		r.Changed++
	}
	for i := 0; i < len(units) && len(r.Passages) < d.o.MostPassages; i++ {
		if !isNew[i] {
			continue
		}
		j := i
		for j+1 < len(units) && isNew[j+1] {
			j++
		}
		e := Excerpt(units[i].owner.Text, units[i].text, d.o.ExcerptChars)
		if e != "" && !quoted(r.Passages, e) {
			r.Passages = append(r.Passages, Passage{Heading: headings(units[i].owner.Heading), Kind: kind, Excerpt: e})
		}
		i = j
	}
}

func quoted(passages []Passage, excerpt string) bool {
	return slices.ContainsFunc(passages, func(p Passage) bool { return p.Excerpt == excerpt })
}

func headings(path []string) []string {
	clean := make([]string, len(path))
	for i, h := range path {
		clean[i] = WithoutPersonalData(h)
	}
	return clean
}

// letters is text as it counts: letters and digits, composed. Blanks and marks go, but between two
// digits of which the second does not begin the thousands: 2.5 and 25 differ, 2.500 and 2500 do not.
func letters(text string) string {
	text = norm.NFC.String(text)
	var b strings.Builder
	b.Grow(len(text))
	last, gap := rune(0), false
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = gap || !invisible(r)
			continue
		}
		if gap && unicode.IsDigit(last) && unicode.IsDigit(r) && !thousands(text[i:]) {
			b.WriteByte(' ')
		}
		last, gap = r, false
		b.WriteRune(r)
	}
	return b.String()
}

func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\ufeff':
		return true
	}
	return false
}

// thousands is true for exactly three digits.
func thousands(text string) bool {
	n := 0
	for n < len(text) && n < 4 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n == 3
}
