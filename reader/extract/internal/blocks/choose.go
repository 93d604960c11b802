package blocks

import "slices"

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

// Choose says which blocks to keep for the probabilities p.
func Choose(p []float32, v *View) []bool {
	keep := make([]bool, len(p))
	cut := threshold(v, p)
	cut = min(max(cut, 0.15), 0.6)
	for i := range p {
		keep[i] = p[i] >= cut && !(v.Blocks[i].Title && v.Blocks[i].Level == 1)
	}
	return keep
}
