package blocks

import (
	"os"
	"slices"
	"strconv"
)

// threshold is the probability from which on blocks are to be kept so that the expected F1 of the
// page is best: with the blocks in order of probability, F1 = 2·kept∧true / (kept + true).
func threshold(v *View, p []float32) float32 {
	order := make([]int32, len(p))
	truth := 0.0
	for i := range p {
		order[i] = int32(i)
		truth += float64(p[i]) * float64(v.Blocks[i].Words)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return int(a - b)
	})
	best, cut := 0.0, float32(0.5)
	both, kept := 0.0, 0.0
	for _, i := range order {
		w := float64(v.Blocks[i].Words)
		both += w * float64(p[i])
		kept += w
		if f := 2 * both / (kept + truth); f > best {
			best, cut = f, p[i]
		}
	}
	return cut
}

func env(name string, def float64) float64 {
	if s := os.Getenv(name); s != "" {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	return def
}

// Choose says which blocks to keep for the probabilities p.
func Choose(p []float32, v *View) []bool {
	keep := make([]bool, len(p))
	cut := threshold(v, p)
	cut = min(max(cut, float32(env("LO", 0.15))), float32(env("HI", 0.6)))
	for i := range p {
		keep[i] = p[i] >= cut
	}
	v.units(p, keep, cut)
	v.gaps(p, keep, cut)
	v.heads(p, keep, cut)
	for i := range p {
		if v.Blocks[i].Title && v.Blocks[i].Level == 1 {
			keep[i] = false
		}
	}
	return keep
}

func (v *View) units(p []float32, keep []bool, cut float32) {
	for k := len(v.Boxes) - 1; k >= 0; k-- {
		b := &v.Boxes[k]
		if b.Last-b.First < 2 {
			continue
		}
		hi := float32(1)
		switch b.Unit {
		case tableUnit:
			hi = float32(env("TABLE", 0))
		case rowUnit:
			hi = float32(env("ROW", 0))
		case listUnit:
			hi = float32(env("LIST", 0))
		case itemUnit:
			hi = float32(env("ITEM", 0))
		case pairsUnit:
			hi = float32(env("PAIRS", 0))
		case paraUnit:
			hi = float32(env("PARA", 0))
		default:
			continue
		}
		if hi == 0 {
			continue
		}
		sum, all := float32(0), float32(0)
		for i := b.First; i < b.Last; i++ {
			w := float32(v.Blocks[i].Words) + 0.5
			all += w
			if keep[i] {
				sum += w
			}
		}
		for i := b.First; i < b.Last; i++ {
			if sum >= hi*all {
				keep[i] = true
			} else if sum <= (1-hi)*all {
				keep[i] = false
			}
		}
	}
}

func (v *View) gaps(p []float32, keep []bool, cut float32) {
	most := int(env("GAP", 0))
	if most == 0 {
		return
	}
	low := cut * float32(env("GAPP", 0.3))
	last := -1
	for i := range keep {
		if !keep[i] {
			continue
		}
		if last >= 0 && i-last > 1 && i-last-1 <= most {
			words, ok := 0, true
			for j := last + 1; j < i; j++ {
				words += int(v.Blocks[j].Words)
				ok = ok && p[j] >= low
			}
			if ok && words <= int(env("GAPW", 12)) {
				for j := last + 1; j < i; j++ {
					keep[j] = true
				}
			}
		}
		last = i
	}
}

func (v *View) heads(p []float32, keep []bool, cut float32) {
	if env("HEADS", 0) > 0 {
		for i := range keep {
			if v.Blocks[i].Level > 0 && !keep[i] && i+1 < len(keep) && keep[i+1] && p[i] >= cut*float32(env("HEADS", 0)) {
				keep[i] = true
			}
		}
	}
	if env("ORPHAN", 0) > 0 {
		for i := len(keep) - 1; i >= 0; i-- {
			if l := v.Blocks[i].Level; l > 0 && keep[i] && p[i] < float32(env("ORPHAN", 0)) {
				any := false
				for j := i + 1; j < len(keep) && !(v.Blocks[j].Level > 0 && v.Blocks[j].Level <= l); j++ {
					if keep[j] {
						any = true
						break
					}
				}
				if !any {
					keep[i] = false
				}
			}
		}
	}
}
