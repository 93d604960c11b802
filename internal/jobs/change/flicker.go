package change

import (
	"fmt"
	"slices"
)

// flicker learns the places of a page that differ from visit to visit: a sentence whose text differs
// only in digits, at three visits in a row or more, is a clock or a counter; a place whose text is
// another one now and comes back later shows what takes turns.
type flicker struct {
	before map[uint16]uint8
	now    map[uint16]uint8
	order  []uint16
	past   []uint32 // prints of texts that took turns, the latest last
}

// How many visits in a row a place must differ before it is passed over: in digits, and in all of its text,
// where a text that comes back counts twice.
const (
	patience = 3
	turning  = 4
)

func newFlicker(old State) *flicker {
	f := &flicker{before: make(map[uint16]uint8, len(old.Spots)), now: make(map[uint16]uint8), past: old.Past}
	for _, s := range old.Spots {
		f.before[s.place] = s.runs
		f.mark(s.place, s.runs/2) // calm for a visit: half forgotten
	}
	return f
}

func (f *flicker) mark(place uint16, runs uint8) {
	if _, ok := f.now[place]; !ok {
		f.order = append(f.order, place)
	}
	f.now[place] = runs
}

// again counts one more visit at which a place differed, and more as so many, and returns how many in a
// row that makes.
func (f *flicker) again(place uint16, more uint8) uint8 {
	runs := min(f.before[place], 248) + 1 + more
	f.mark(place, runs)
	return runs
}

// settle pairs new and gone units that differ in digits only, counts the place's run, and clears those
// of places known to flicker.
func (f *flicker) settle(r *Report, x *difference) {
	at := make(map[uint32]int)
	for i, u := range x.old.Units {
		if x.gone[i] {
			at[u.words()] = i + 1
		}
	}
	for i, u := range x.now.units {
		words := u.words()
		if x.old.Exact {
			words = uint32(u.spot)
		}
		if !x.isNew[i] || at[words] == 0 {
			continue
		}
		if runs := f.again(u.spot, 0); runs > patience {
			x.isNew[i] = false
			x.gone[at[words]-1] = false
			r.pass(u, "digits", runs)
		}
	}
}

// turns clears the texts that took another's place where texts take turns: in a box of its own, or where
// that happened at the visits before. What holds a number or tells of a call is never cleared, nor is an
// edited text.
func (f *flicker) turns(r *Report, x *difference) {
	if x.old.Exact {
		return
	}
	x.sides()
	for i := 0; i < len(x.isNew); i++ {
		j := i
		for j < len(x.isNew) && x.isNew[j] {
			j++
		}
		if j > i {
			f.swap(r, x, i, j)
			i = j
		}
	}
}

// swap judges the new units i..j by those that are gone from their place. In a place that is known all plain
// ones take turns, elsewhere those in boxes, as long as one of them is no edited text.
func (f *flicker) swap(r *Report, x *difference, i, j int) {
	lo, hi := x.around(i, j)
	came, went, fresh := x.plainNew(i, j), x.plainGone(lo, hi), func(k int) bool { return !x.edits(x.now.units[k].unit, lo, hi) }
	if len(went) == 0 || !slices.ContainsFunc(came, fresh) {
		return
	}
	place := uint16(x.now.keyed.print(fmt.Sprint("turns", x.print(lo), x.print(hi))))
	runs := f.again(place, f.back(x, came))
	for _, k := range went {
		f.remember(x.old.Units[k].short())
	}
	if runs <= turning {
		came = slices.DeleteFunc(came, func(k int) bool { return !x.now.units[k].is(traitBoxed) })
		went = slices.DeleteFunc(went, func(k int) bool { return !x.old.Units[k].is(traitBoxed) })
	}
	if len(went) == 0 || !slices.ContainsFunc(came, fresh) {
		return
	}
	for _, k := range came {
		x.isNew[k] = false
	}
	for _, k := range went {
		x.gone[k] = false
	}
	r.pass(x.now.units[came[0]], "turns", runs)
}

// back is 1 when one of the units came of now took turns before.
func (f *flicker) back(x *difference, came []int) uint8 {
	for _, k := range came {
		if slices.Contains(f.past, x.now.units[k].short()) {
			return 1
		}
	}
	return 0
}

// remember takes in the print of a text that took turns.
func (f *flicker) remember(print uint32) {
	if i := slices.Index(f.past, print); i >= 0 {
		f.past = slices.Delete(slices.Clone(f.past), i, i+1)
	}
	f.past = append(f.past, print)
	if len(f.past) > mostPast {
		f.past = f.past[len(f.past)-mostPast:]
	}
}

// spots are the places worth remembering.
func (f *flicker) spots() []flickers {
	var s []flickers
	for _, place := range f.order {
		if runs := f.now[place]; runs > 0 && len(s) < mostSpots {
			s = append(s, flickers{place, runs})
		}
	}
	return s
}

// around are the units of old that stand, now as before, before and behind the new units i..j of now: -1 and
// the number of units for none.
func (x *difference) around(i, j int) (lo, hi int) {
	lo, hi = -1, len(x.old.Units)
	for k := i - 1; k >= 0; k-- {
		if x.from[k] >= 0 {
			lo = x.from[k]
			break
		}
	}
	for k := j; k < len(x.from); k++ {
		if x.from[k] >= 0 {
			hi = x.from[k]
			break
		}
	}
	return lo, hi
}

// print is that of a unit of old, 0 beyond its ends.
func (x *difference) print(i int) uint64 {
	if i < 0 || i >= len(x.old.Units) {
		return 0
	}
	return x.old.Units[i].print
}

// sides clears what is new or gone in a box that itself only changed sides: another text of it stands in
// the furniture now, or stood there before.
func (x *difference) sides() {
	for i, u := range x.now.units {
		moved := func(k int) bool {
			return k >= 0 && k < len(x.isNew) && x.now.units[k].is(traitBoxed) && x.from[k] < 0 && !x.isNew[k]
		}
		if x.isNew[i] && u.is(traitBoxed) && (moved(i-1) || moved(i+1)) {
			x.isNew[i] = false
		}
	}
	for i, u := range x.old.Units {
		moved := func(k int) bool {
			return k >= 0 && k < len(x.gone) && x.old.Units[k].is(traitBoxed) && x.left[k]
		}
		if x.gone[i] && u.is(traitBoxed) && (moved(i-1) || moved(i+1)) {
			x.gone[i] = false
		}
	}
}

// plainNew are the plain ones of the new units i..j of now.
func (x *difference) plainNew(i, j int) (units []int) {
	for k := i; k < j; k++ {
		if x.now.units[k].is(traitPlain) {
			units = append(units, k)
		}
	}
	return units
}

// plainGone are the plain ones of the units lo..hi of old that are gone.
func (x *difference) plainGone(lo, hi int) (units []int) {
	for k := lo + 1; k < hi; k++ {
		if x.gone[k] && x.old.Units[k].is(traitPlain) {
			units = append(units, k)
		}
	}
	return units
}

// edits is true for a text that shares a word with one that is gone from between the units lo and hi of old.
func (x *difference) edits(u unit, lo, hi int) bool {
	for k := lo + 1; k < hi; k++ {
		if x.gone[k] && u.shares(x.old.Units[k]) {
			return true
		}
	}
	return false
}
