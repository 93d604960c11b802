package blocks

import (
	"math"
	"slices"
)

// threshold is the probability from which on blocks are to be kept so that the expected F1 of the
// page is best: with the blocks in order of probability, F1 = 2·kept∧true / (kept + true).
func threshold(v *View, p []float32) float32 {
	order := make([]uint64, len(p)) // the bits of what is not negative are in its order
	truth := 0.0
	for i := range p {
		order[i] = uint64(^math.Float32bits(p[i]))<<32 | uint64(i)
		truth += float64(p[i]) * float64(v.Blocks[i].Words)
	}
	slices.Sort(order)
	best, cut := 0.0, float32(0.5)
	both, kept := 0.0, 0.0
	for _, key := range order {
		i := uint32(key)
		w := float64(v.Blocks[i].Words)
		both += w * float64(p[i])
		kept += w
		if f := 2 * both / (kept + truth); f > best {
			best, cut = f, p[i]
		}
	}
	return cut
}

// Mix writes into second the mean of the two stages' probabilities: it errs less than either.
func Mix(first, second []float32) {
	for i := range second {
		second[i] = (first[i] + second[i]) / 2
	}
}

// The least and the most that the threshold may be, where a block reaches that.
const (
	leastCut = 0.2
	mostCut  = 0.6
)

// Choose says which blocks to keep for the probabilities p: those over the threshold, a short one
// that stands alone between two that are kept, and the heading of one that is kept. The page's
// title is a field of its own and not content.
func Choose(p []float32, v *View) []bool {
	keep := make([]bool, len(p))
	best := threshold(v, p)
	cut := min(max(best, leastCut), mostCut)
	if len(p) > 0 && slices.Max(p) < cut {
		cut = best // a short text beside a huge menu: all is unlikely, but not alike
	}
	for i := range p {
		keep[i] = p[i] >= cut
	}
	v.files(p, keep)
	for i := range p {
		if keep[i] || i+1 == len(p) || !keep[i+1] {
			continue
		}
		b := &v.Blocks[i]
		alone := i > 0 && p[i-1] >= cut && b.Words <= 12 && p[i] >= cut*0.3
		heads := b.Level > 0 && p[i] >= cut*0.2
		keep[i] = alone || heads
	}
	for i := range keep {
		keep[i] = keep[i] && !v.Blocks[i].Button
	}
	v.withoutComments(keep)
	v.withoutMenus(keep)
	v.withoutEchoes(keep)
	for i := range p {
		if v.Blocks[i].Title && v.Blocks[i].Level == 1 {
			keep[i] = false
		}
	}
	return keep
}

// articleWords is how many words of running text outside its comments make a page that is no thread
// an article.
const articleWords = 50

// withoutComments drops the comments below an article, unless the page is a thread, or is mostly
// comments and does not say that it is an article.
func (v *View) withoutComments(keep []bool) {
	own, comments := int32(0), int32(0)
	for i, k := range keep {
		switch b := &v.Blocks[i]; {
		case k && b.Comment:
			comments += b.Words
		case k && b.Fluent:
			own += b.Words
		}
	}
	if v.Thread || own < articleWords || !v.Article && own*3 < comments {
		return
	}
	for i := range keep {
		keep[i] = keep[i] && !v.Blocks[i].Comment
	}
}

// Menus are runs of at least so many links of few words at the edges of a page with running text.
const (
	menuLinks = 4
	menuWords = 6
	menuText  = 60 // words of running text that the rest must have
)

// withoutMenus drops the runs of bare links before the first and after the last running text.
func (v *View) withoutMenus(keep []bool) {
	first, last, text := len(keep), -1, int32(0)
	for i, k := range keep {
		if k && v.Blocks[i].Fluent {
			first, last = min(first, i), i
			text += v.Blocks[i].Words
		}
	}
	if text < menuText {
		return
	}
	v.dropLinks(keep, 0, first)
	v.dropLinks(keep, last+1, len(keep))
}

// dropLinks drops the runs of bare links among the kept blocks from lo to hi.
func (v *View) dropLinks(keep []bool, lo, hi int) {
	start, links := lo, int32(0)
	for i := lo; i <= hi; i++ {
		if i < hi && v.Blocks[i].Link && v.Blocks[i].Words <= menuWords*v.Blocks[i].Links {
			links += v.Blocks[i].Links
			continue
		}
		if links >= menuLinks {
			for j := start; j < i; j++ {
				keep[j] = false
			}
		}
		start, links = i+1, 0
	}
}

const (
	leastFile = 0.04 // probability from which on a document right after the content is part of it
	fileReach = 4    // blocks that may lie between
)

// files keeps the documents that are listed below the content.
func (v *View) files(p []float32, keep []bool) {
	last := -fileReach
	for i := range keep {
		b := &v.Blocks[i]
		if !keep[i] && b.File && !b.Edge && p[i] >= leastFile && i-last <= fileReach {
			keep[i] = true
		}
		if keep[i] {
			last = i
		}
	}
}

// echoWords is how long a text must be to count as said again.
const echoWords = 15

// withoutEchoes drops what a thread says again: posts quoted in answers, copies for other screens.
func (v *View) withoutEchoes(keep []bool) {
	if !v.Thread {
		return
	}
	for i := range keep {
		b := &v.Blocks[i]
		if b.Again && b.Words >= echoWords && keep[b.Echo] {
			keep[i] = false
		}
	}
}
