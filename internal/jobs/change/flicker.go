package change

// flicker learns the places of a page that differ from visit to visit: a sentence whose text differs
// only in digits, at three visits in a row or more, is a clock or a counter.
type flicker struct {
	before map[uint16]uint8
	now    map[uint16]uint8
	order  []uint16
}

// patience is how many visits in a row a place must differ before it is passed over.
const patience = 3

func newFlicker(spots []flickers) *flicker {
	f := &flicker{before: make(map[uint16]uint8, len(spots)), now: make(map[uint16]uint8)}
	for _, s := range spots {
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

// settle pairs new and lost units of the same place, counts the place's run, and clears those of
// places known to flicker.
func (f *flicker) settle(r *Report, v *visit, isNew []bool, lost *[]unit) {
	at := make(map[uint16]int, len(*lost))
	for i, u := range *lost {
		at[u.place] = i + 1
	}
	drop := make(map[int]bool)
	for i, u := range v.units {
		if !isNew[i] || at[u.place] == 0 {
			continue
		}
		runs := f.before[u.place]
		if runs < 250 {
			runs++
		}
		f.mark(u.place, runs)
		if runs > patience {
			isNew[i] = false
			drop[at[u.place]-1] = true
			r.Ignored++
		}
	}
	kept := (*lost)[:0]
	for i, u := range *lost {
		if !drop[i] {
			kept = append(kept, u)
		}
	}
	*lost = kept
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
