package forest

import (
	"math"
	"math/rand/v2"
	"sync"
)

// Settings of Train.
type Settings struct {
	Trees, Leaves int
	Rate          float64 // how much of each tree counts
	Lambda        float64 // pull of leaves towards zero
	MinWeight     float64 // least weight of the rows in a leaf
	Columns       float64 // share of the features a tree may look at
	Rows          float64 // share of the rows a tree learns from
	Limit         int     // the trees look at no feature from this one on; 0 for no limit
	Seed          uint64
}

// Sample is what Train learns from: rows of Width bytes, the wanted probability and the weight of each.
type Sample struct {
	Width int
	Rows  []uint8
	Want  []float32
	Heft  []float32
}

type cell struct{ g, h float64 }

type trainer struct {
	Settings
	cols   [][]uint8
	g, h   []float32
	order  []int32
	spare  []int32
	out    []int32 // the rows that the tree does not learn from
	slopes []cell  // of the rows of one leaf, in their order
	picked []int
}

type leaf struct {
	lo, hi int
	sum    cell
	hist   []cell
	gain   float64
	col    int // index into picked
	limit  uint8
	node   int // the node whose child this leaf is, -1 at the root
	right  bool
}

// Train grows a forest that makes the weighted log loss small.
func Train(s Sample, set Settings) *Forest {
	n := len(s.Want)
	t := &trainer{Settings: set, g: make([]float32, n), h: make([]float32, n), spare: make([]int32, n), slopes: make([]cell, n)}
	t.cols = columns(s)
	score := make([]float32, n)
	f := &Forest{base: prior(s)}
	for i := range score {
		score[i] = f.base
	}
	width := s.Width
	if set.Limit > 0 {
		width = min(width, set.Limit)
	}
	rng := rand.New(rand.NewPCG(set.Seed, 1))
	for range set.Trees {
		for i := range score {
			p := sigmoid(score[i])
			t.g[i] = s.Heft[i] * (p - s.Want[i])
			t.h[i] = s.Heft[i] * max(p*(1-p), 1e-6)
		}
		t.pick(rng, n, width)
		nodes, leaves := t.grow(score)
		f.roots = append(f.roots, int32(len(f.nodes)))
		f.nodes = append(f.nodes, nodes...)
		f.leaf = append(f.leaf, leaves...)
		for _, i := range t.out {
			score[i] += leaves[walk(nodes, s.Rows[int(i)*s.Width:(int(i)+1)*s.Width])]
		}
	}
	return f
}

func columns(s Sample) [][]uint8 {
	n := len(s.Want)
	cols := make([][]uint8, s.Width)
	for c := range cols {
		cols[c] = make([]uint8, n)
	}
	for i := range n {
		for c, v := range s.Rows[i*s.Width : (i+1)*s.Width] {
			cols[c][i] = v
		}
	}
	return cols
}

func prior(s Sample) float32 {
	var yes, all float64
	for i, w := range s.Heft {
		yes += float64(w * s.Want[i])
		all += float64(w)
	}
	p := min(max(yes/max(all, 1e-9), 1e-4), 1-1e-4)
	return float32(math.Log(p / (1 - p)))
}

// pick draws the rows and the features of the next tree.
func (t *trainer) pick(rng *rand.Rand, n, width int) {
	t.order, t.out = t.order[:0], t.out[:0]
	for i := range n {
		if t.Rows >= 1 || rng.Float64() < t.Rows {
			t.order = append(t.order, int32(i))
		} else {
			t.out = append(t.out, int32(i))
		}
	}
	t.picked = t.picked[:0]
	for c := range width {
		if t.Columns >= 1 || rng.Float64() < t.Columns {
			t.picked = append(t.picked, c)
		}
	}
}

// grow makes a tree and adds what it says to the score of the rows it learns from.
func (t *trainer) grow(score []float32) ([]node, []float32) {
	root := &leaf{lo: 0, hi: len(t.order), node: -1}
	t.fill(root)
	t.best(root)
	open := []*leaf{root}
	var nodes []node
	for len(open) < t.Leaves {
		top := -1
		for i, l := range open {
			if l.gain > 1e-9 && (top < 0 || l.gain > open[top].gain) {
				top = i
			}
		}
		if top < 0 {
			break
		}
		l := open[top]
		at := len(nodes)
		nodes = append(nodes, node{feature: uint16(t.picked[l.col]), limit: l.limit})
		link(nodes, l, int16(at))
		a, b := t.split(l, at)
		open[top] = a
		open = append(open, b)
	}
	values := make([]float32, len(open))
	for i, l := range open {
		v := float32(-t.Rate * l.sum.g / (l.sum.h + t.Lambda))
		values[i] = float32(quantize(v)) / leafScale
		link(nodes, l, int16(^i))
		for _, r := range t.order[l.lo:l.hi] {
			score[r] += values[i]
		}
	}
	return nodes, values
}

func link(nodes []node, l *leaf, to int16) {
	switch {
	case l.node < 0:
	case l.right:
		nodes[l.node].right = to
	default:
		nodes[l.node].left = to
	}
}

// split parts the rows of l and makes its two children.
func (t *trainer) split(l *leaf, at int) (*leaf, *leaf) {
	col, left, right := t.cols[t.picked[l.col]], l.lo, 0
	for _, i := range t.order[l.lo:l.hi] {
		if col[i] <= l.limit {
			t.order[left] = i
			left++
		} else {
			t.spare[right] = i
			right++
		}
	}
	copy(t.order[left:l.hi], t.spare[:right])
	a := &leaf{lo: l.lo, hi: left, node: at}
	b := &leaf{lo: left, hi: l.hi, node: at, right: true}
	small, large := a, b
	if b.hi-b.lo < a.hi-a.lo {
		small, large = b, a
	}
	t.fill(small)
	large.hist = l.hist
	for i := range large.hist {
		large.hist[i].g -= small.hist[i].g
		large.hist[i].h -= small.hist[i].h
	}
	large.sum = cell{l.sum.g - small.sum.g, l.sum.h - small.sum.h}
	t.best(a)
	t.best(b)
	return a, b
}

// fill makes the histograms of l, each column by one goroutine, so that sums have one order.
func (t *trainer) fill(l *leaf) {
	l.hist = make([]cell, len(t.picked)*256)
	rows := t.order[l.lo:l.hi]
	slopes := t.slopes[:len(rows)]
	for k, i := range rows {
		slopes[k] = cell{float64(t.g[i]), float64(t.h[i])}
		l.sum.g += slopes[k].g
		l.sum.h += slopes[k].h
	}
	var wait sync.WaitGroup
	for k := range 2 {
		wait.Go(func() {
			for c := k; c < len(t.picked); c += 2 {
				hist, col := l.hist[c*256:(c+1)*256], t.cols[t.picked[c]]
				for k, i := range rows {
					e := &hist[col[i]]
					e.g += slopes[k].g
					e.h += slopes[k].h
				}
			}
		})
	}
	wait.Wait()
}

func (t *trainer) best(l *leaf) {
	l.gain = 0
	whole := l.sum.g * l.sum.g / (l.sum.h + t.Lambda)
	for c := range t.picked {
		var left cell
		hist := l.hist[c*256 : (c+1)*256]
		for v := range 255 {
			if hist[v].h == 0 {
				continue
			}
			left.g += hist[v].g
			left.h += hist[v].h
			rest := cell{l.sum.g - left.g, l.sum.h - left.h}
			if left.h < t.MinWeight || rest.h < t.MinWeight {
				continue
			}
			gain := left.g*left.g/(left.h+t.Lambda) + rest.g*rest.g/(rest.h+t.Lambda) - whole
			if gain > l.gain {
				l.gain, l.col, l.limit = gain, c, uint8(v)
			}
		}
	}
}
