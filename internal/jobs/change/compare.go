package change

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/webreaderapi/webreader/reader/extract"
)

// visit is a page as it stands now: its units with their text, which ends with the call.
type visit struct {
	units  []textUnit
	others []uint32
}

type textUnit struct {
	unit
	block int // index of its block among the kept ones
	text  string
	owner *extract.Block
}

const printMask = 1<<48 - 1

// print makes the units of a page.
func (d *Detector) print(blocks []extract.Block) visit {
	var v visit
	kept := 0
	for i := range blocks {
		b := &blocks[i]
		if !b.Kept {
			v.others = append(v.others, d.others(b)...)
			continue
		}
		for _, text := range sentences(b.Text) {
			if plain := letters(lasting(text)); plain != "" && !volatile(text) {
				v.add(d, plain, kept, text, b)
			}
		}
		for _, f := range b.Files {
			v.add(d, "\x00"+f, kept, b.Text, b)
		}
		kept++
	}
	v.fit()
	return v
}

func (v *visit) add(d *Detector, plain string, block int, text string, owner *extract.Block) {
	v.units = append(v.units, textUnit{
		unit:  unit{d.fingerprint(plain) & printMask, uint16(d.fingerprint("place\x00" + skeleton(plain)))},
		block: block, text: text, owner: owner,
	})
}

func (d *Detector) others(b *extract.Block) []uint32 {
	var prints []uint32
	for _, text := range sentences(b.Text) {
		if plain := letters(text); plain != "" {
			prints = append(prints, uint32(d.fingerprint(plain)&printMask))
		}
	}
	return prints
}

// fit keeps a long page inside the state's bound: neighbours are joined, at borders that the text
// itself chooses so that one insertion moves one border only.
func (v *visit) fit() {
	if len(v.others) > mostOthers {
		v.others = v.others[:mostOthers]
	}
	for every := uint64(2); len(v.units) > mostUnits && every < 1<<20; every *= 2 {
		joined := v.units[:0]
		open := false
		for _, u := range v.units {
			if open {
				last := &joined[len(joined)-1]
				last.print = (last.print*1_000_003 ^ u.print) & printMask
			} else {
				joined = append(joined, u)
			}
			open = (u.print>>7)%every != 0
		}
		v.units = joined
	}
	if len(v.units) > mostUnits {
		v.units = v.units[:mostUnits]
	}
}

// state is what is kept of v.
func (v visit) state(old State, spots []flickers) State {
	s := State{Others: v.others, Spots: spots}
	for _, u := range v.units {
		s.Units = append(s.Units, u.unit)
	}
	return s
}

// compare finds the units of now that the visit before did not have, and those it had that are gone.
func (d *Detector) compare(old State, now visit) (Report, []flickers) {
	had := make(map[uint64]int, len(old.Units))
	for _, u := range old.Units {
		had[u.print]++
	}
	stayed := make(map[uint64]int, len(now.units))
	isNew := make([]bool, len(now.units))
	furniture := make(map[uint32]bool, len(old.Others))
	for _, o := range old.Others {
		furniture[o] = true
	}
	for i, u := range now.units {
		stayed[u.print]++
		switch {
		case had[u.print] > 0:
			had[u.print]--
		case stayed[u.print] == 1 && furniture[uint32(u.print)]:
		default:
			isNew[i] = true
		}
	}
	lost := lostUnits(old, now, had)
	f := newFlicker(old.Spots)
	var r Report
	f.settle(&r, now, isNew, &lost)
	d.count(&r, now, isNew, lost)
	return r, f.spots()
}

// lostUnits are the units of the visit before that are nowhere on the page now.
func lostUnits(old State, now visit, had map[uint64]int) []unit {
	around := make(map[uint32]bool, len(now.others))
	for _, o := range now.others {
		around[o] = true
	}
	var lost []unit
	for _, u := range old.Units {
		if had[u.print] <= 0 {
			continue
		}
		had[u.print]--
		if !around[uint32(u.print)] {
			lost = append(lost, u)
		}
	}
	return lost
}

// count fills the report: a block all of whose units are new is added, one with old units is
// changed; units that are gone without a new one in their stead are removed.
func (d *Detector) count(r *Report, now visit, isNew []bool, lost []unit) {
	r.Kind = Unchanged
	gone := len(lost)
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

// letters is text as it counts: letters and digits, composed, one blank between words.
func letters(text string) string {
	text = norm.NFC.String(text)
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
		} else if r != '\u00ad' && r != '\u200b' && r != '\u200c' && r != '\u200d' && r != '\ufeff' {
			gap = true
		}
	}
	return b.String()
}

// skeleton is a text without its digits: the same place on two visits of a clock or counter.
func skeleton(plain string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, plain)
}
