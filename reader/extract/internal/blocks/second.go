package blocks

import "golang.org/x/net/html/atom"

// The second stage looks at the first one's answers all around a block.
const (
	sides   = 5
	nSecond = 1 + 2*sides + levels + 8
	// Features2 is how many numbers describe a block to the second stage.
	Features2 = nSecond + Features
)

// View is what the second stage and the choice need to know of a page's blocks.
type View struct {
	Blocks  []Spot
	Boxes   []Box
	Article bool // the page says that it is an article
	Thread  bool // the page is a thread: its comments are its content
}

// Spot is a block as View sees it.
type Spot struct {
	Words   int32
	Box     int32 // index of View.Boxes
	Heading int32
	Level   uint8
	Title   bool
	Comment bool // in a section of comments
	Fluent  bool
	Path    uint64
}

// Box is an element with blocks in it.
type Box struct {
	First, Last, Up, Parent int32
	Unit                    uint8
}

// Kinds of elements whose blocks belong together.
const (
	noUnit = iota
	tableUnit
	rowUnit
	listUnit
	itemUnit
	pairsUnit
	preUnit
	figureUnit
	paraUnit
)

func unit(tag atom.Atom) uint8 {
	switch tag {
	case atom.Table:
		return tableUnit
	case atom.Tr:
		return rowUnit
	case atom.Ul, atom.Ol:
		return listUnit
	case atom.Li:
		return itemUnit
	case atom.Dl:
		return pairsUnit
	case atom.Pre:
		return preUnit
	case atom.Figure:
		return figureUnit
	case atom.P:
		return paraUnit
	}
	return noUnit
}

// View copies what is needed of p.
func (p *Page) View() *View {
	v := &View{}
	p.Fill(v)
	return v
}

// Fill is like View and uses the memory of v.
func (p *Page) Fill(v *View) {
	v.Blocks, v.Boxes, v.Thread, v.Article = v.Blocks[:0], v.Boxes[:0], p.Facts.thread(), p.Facts.article()
	for i := range p.Elems {
		e := &p.Elems[i]
		v.Boxes = append(v.Boxes, Box{e.First, e.Last, e.Up, e.Parent, e.Unit})
	}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		v.Blocks = append(v.Blocks, Spot{b.Words, b.Box, b.Heading, b.Level, b.Title, p.Mark(i, commentGroup) > 0, b.Fluent(), b.Path})
	}
}

func chance(p float32) uint8 { return uint8(p*250 + 0.5) }

// Second gives the features of the second stage: the first stage's answers around each block, then
// the features of the first. It appends to rows.
func (v *View) Second(first []uint8, p []float32, rows []uint8) []uint8 {
	n := len(v.Blocks)
	weight := make([]float64, n+1) // running sums of words, and of words times probability
	kept := make([]float64, n+1)
	paths := make(map[uint64][2]float64)
	for i := range v.Blocks {
		w := float64(v.Blocks[i].Words) + 0.5
		weight[i+1] = weight[i] + w
		kept[i+1] = kept[i] + w*float64(p[i])
		s := paths[v.Blocks[i].Path]
		paths[v.Blocks[i].Path] = [2]float64{s[0] + w, s[1] + w*float64(p[i])}
	}
	mean := func(lo, hi int32) uint8 {
		if hi <= lo {
			return 255
		}
		return chance(float32((kept[hi] - kept[lo]) / (weight[hi] - weight[lo])))
	}
	if n == 0 {
		return rows
	}
	base := len(rows)
	rows = append(rows, make([]uint8, n*Features2)...)
	cut := threshold(v, p)
	firstHigh, lastHigh := n, -1
	for i := range p {
		if p[i] >= 0.7 && v.Blocks[i].Words >= 5 {
			firstHigh, lastHigh = min(firstHigh, i), i
		}
	}
	for i := range v.Blocks {
		x := rows[base+i*Features2 : base+(i+1)*Features2]
		b := &v.Blocks[i]
		x[0] = chance(p[i])
		for k := 1; k <= sides; k++ {
			x[2*k-1], x[2*k] = 255, 255
			if i-k >= 0 {
				x[2*k-1] = chance(p[i-k])
			}
			if i+k < n {
				x[2*k] = chance(p[i+k])
			}
		}
		o := x[1+2*sides:]
		for k, e := 0, b.Box; k < levels; k++ {
			o[k] = 255
			if e >= 0 {
				o[k] = mean(v.Boxes[e].First, v.Boxes[e].Last)
				e = v.Boxes[e].Up
			}
		}
		o = o[levels:]
		s := paths[b.Path]
		o[0] = chance(float32(s[1] / s[0]))
		o[1] = mean(0, int32(n))
		o[2] = amount(int32(kept[n]))
		o[3] = chance(cut)
		o[4] = 255
		if b.Heading >= 0 {
			o[4] = chance(p[b.Heading])
		}
		o[5] = mean(0, int32(i))
		o[6] = mean(int32(i)+1, int32(n))
		switch {
		case lastHigh < 0:
			o[7] = 0
		case i < firstHigh:
			o[7] = 120 - amount(int32(firstHigh-i))/3
		case i > lastHigh:
			o[7] = 130 + amount(int32(i-lastHigh))/3
		default:
			o[7] = 125
		}
		copy(x[nSecond:], first[i*Features:(i+1)*Features])
	}
	return rows
}
