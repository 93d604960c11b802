// Package forest is a small classifier of boosted decision trees over rows of bytes: training,
// prediction, and a compact form to embed. The same rows and the same settings give the same bytes.
package forest

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sync"
)

// Forest is a sum of trees. The zero Forest says 1/2 of everything.
type Forest struct {
	base  float32
	nodes []node
	roots []int32
	leaf  []float32
	asked []question // the questions of all nodes, each once; empty for a forest that is still trained
	asks  []int32    // by node, which of them it asks
}

// node asks whether a row's feature is at most a limit. A child below zero is a leaf.
type node struct {
	feature     uint16
	limit       uint8
	left, right int16 // from the tree's root, or ^leaf
}

// sure is the score from which on the trees still to come cannot matter: odds of 90 to 1.
const sure = 4.5

// round is how many trees are asked before rows that are sure leave.
const round = 24

// batch is how many rows are taken through the trees at a time, a bit each.
const batch = 64

// few is how many rows of a batch go through a tree one by one.
const few = 6

// Predict writes into out the probability of each row of rows, width bytes apart.
func (f *Forest) Predict(rows []uint8, width int, out []float32) {
	d := desks.Get().(*desk)
	defer desks.Put(d)
	for lo := 0; lo < len(out); lo += batch {
		hi := min(lo+batch, len(out))
		d.open(f, rows[lo*width:hi*width], width)
		d.predict(out[lo:hi])
	}
	for i := range out {
		out[i] = sigmoid(out[i])
	}
}

// desk is the memory of one Predict.
type desk struct {
	f       *Forest
	rows    []uint8
	width   int
	turn    uint32 // of the batch: what was made in another one does not count
	columns []column
	yes     []answer // for each question of the forest, the rows of which the answer is yes
	reach   [256]uint64
}

// column is one feature of the batch's rows, eight in a word.
type column struct {
	turn  uint32
	words [batch / 8]uint64
}

type answer struct {
	turn uint32
	rows uint64
}

var desks = sync.Pool{New: func() any { return new(desk) }}

func (d *desk) open(f *Forest, rows []uint8, width int) {
	if d.turn++; d.turn == 0 || len(d.columns) < width || len(d.yes) < len(f.asked) {
		d.columns, d.yes = make([]column, max(width, len(d.columns))), make([]answer, max(len(f.asked), len(d.yes)))
		d.turn = 1
	}
	d.f, d.rows, d.width = f, rows, width
}

// predict adds up the trees for the rows of the batch.
func (d *desk) predict(out []float32) {
	f := d.f
	for i := range out {
		out[i] = f.base
	}
	active := ^uint64(0) >> (batch - len(out))
	leaves := 0
	for k, root := range f.roots {
		end := int32(len(f.nodes))
		if k+1 < len(f.roots) {
			end = f.roots[k+1]
		}
		leaf := f.leaf[leaves : leaves+int(end-root)+1]
		leaves += len(leaf)
		if len(f.asked) == 0 || bits.OnesCount64(active) <= few || root == end {
			for rest := active; rest != 0; rest &= rest - 1 {
				i := bits.TrailingZeros64(rest)
				out[i] += leaf[walk(f.nodes[root:end], d.rows[i*d.width:(i+1)*d.width])]
			}
		} else {
			d.tree(f.nodes[root:end], f.asks[root:end], leaf, active, out)
		}
		if k%round == round-1 {
			for rest := active; rest != 0; rest &= rest - 1 {
				if i := bits.TrailingZeros64(rest); out[i] > sure || out[i] < -sure {
					active &^= 1 << i
				}
			}
		}
	}
}

// tree takes the active rows down one tree at once: each node hands on those that reach it.
func (d *desk) tree(tree []node, asks []int32, leaf []float32, active uint64, out []float32) {
	reach := d.reach[:len(tree)]
	clear(reach)
	reach[0] = active
	for k := range tree {
		here := reach[k]
		if here == 0 {
			continue
		}
		a := &d.yes[asks[k]]
		if a.turn != d.turn {
			a.turn, a.rows = d.turn, d.ask(d.f.asked[asks[k]])
		}
		n := &tree[k]
		d.hand(n.left, here&a.rows, reach, leaf, out)
		d.hand(n.right, here&^a.rows, reach, leaf, out)
	}
}

// hand gives rows to a child.
func (d *desk) hand(child int16, rows uint64, reach []uint64, leaf, out []float32) {
	if child >= 0 {
		reach[child] |= rows
		return
	}
	v := leaf[^child]
	for ; rows != 0; rows &= rows - 1 {
		out[bits.TrailingZeros64(rows)] += v
	}
}

// question is what a node asks: is the feature at most the limit?
type question struct {
	feature uint16
	limit   uint8
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// ask is the rows of the batch of which the answer to q is yes.
func (d *desk) ask(q question) uint64 {
	if q.limit == 255 {
		return ^uint64(0)
	}
	c := &d.columns[q.feature]
	if c.turn != d.turn {
		d.fill(int(q.feature))
	}
	more := uint64(q.limit) + 1
	low := (more & 0x7f) * ones
	above := uint64(0)
	for k, x := range c.words {
		// The top bit of each byte says whether it is at least more: first by the seven lower bits.
		ge := (x | tops) - low
		if more < 0x80 {
			ge |= x
		} else {
			ge &= x
		}
		above |= (ge & tops >> 7) * 0x0102040810204080 >> 56 << (8 * k)
	}
	return ^above
}

// fill makes the columns of eight features at once: eight rows of eight bytes are turned at a time.
func (d *desk) fill(feature int) {
	first := feature &^ 7
	cols := d.columns[first:min(first+8, len(d.columns))]
	for k := range cols {
		cols[k].turn = d.turn
	}
	for k := range batch / 8 {
		var x [8]uint64
		for i := range x {
			if at := (8*k+i)*d.width + first; at+8 <= len(d.rows) {
				x[i] = binary.LittleEndian.Uint64(d.rows[at:])
			} else if at < len(d.rows) { // the last bytes of all
				var tail [8]byte
				copy(tail[:], d.rows[at:])
				x[i] = binary.LittleEndian.Uint64(tail[:])
			}
		}
		turn(&x)
		for i := range cols {
			cols[i].words[k] = x[i]
		}
	}
}

// turn makes columns of rows: byte k of word i becomes byte i of word k.
func turn(x *[8]uint64) {
	swap := func(i, j int, shift uint, mask uint64) {
		t := (x[i]>>shift ^ x[j]) & mask
		x[i] ^= t << shift
		x[j] ^= t
	}
	for i := range 4 {
		swap(i, i+4, 32, 0x00000000ffffffff)
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		swap(i, i+2, 16, 0x0000ffff0000ffff)
	}
	for i := 0; i < 8; i += 2 {
		swap(i, i+1, 8, 0x00ff00ff00ff00ff)
	}
}

func walk(tree []node, row []uint8) int16 {
	at := int16(0)
	if len(tree) == 0 {
		return 0
	}
	for at >= 0 {
		n := &tree[at]
		if row[n.feature] <= n.limit {
			at = n.left
		} else {
			at = n.right
		}
	}
	return ^at
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// leafScale turns leaf values into 16-bit numbers.
const leafScale = 4096

// Bytes is the compact form of f.
func (f *Forest) Bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(f.base))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.roots)))
	leaves := 0
	for k, root := range f.roots {
		end := len(f.nodes)
		if k+1 < len(f.roots) {
			end = int(f.roots[k+1])
		}
		tree := f.nodes[root:end]
		b = append(b, uint8(len(tree)))
		for _, n := range tree {
			b = binary.LittleEndian.AppendUint16(b, n.feature)
			b = append(b, n.limit, uint8(int8(n.left)), uint8(int8(n.right)))
		}
		for _, v := range f.leaf[leaves : leaves+len(tree)+1] {
			b = binary.LittleEndian.AppendUint16(b, uint16(quantize(v)))
		}
		leaves += len(tree) + 1
	}
	return b
}

func quantize(v float32) int16 {
	return int16(max(-32000, min(32000, math.Round(float64(v)*leafScale))))
}

// ErrBadForest is returned by Parse for bytes that Bytes did not write.
var ErrBadForest = errors.New("forest: not a forest")

// Parse reads the compact form of a forest for rows of width bytes and gives the bytes after it.
func Parse(b []byte, width int) (*Forest, []byte, error) {
	if len(b) < 6 {
		return nil, nil, ErrBadForest
	}
	f := &Forest{base: math.Float32frombits(binary.LittleEndian.Uint32(b))}
	trees := int(binary.LittleEndian.Uint16(b[4:]))
	b = b[6:]
	for range trees {
		if len(b) < 1 || len(b) < 1+int(b[0])*5+(int(b[0])+1)*2 {
			return nil, nil, ErrBadForest
		}
		n := int(b[0])
		b = b[1:]
		f.roots = append(f.roots, int32(len(f.nodes)))
		for k := range n {
			made := node{binary.LittleEndian.Uint16(b), b[2], int16(int8(b[3])), int16(int8(b[4]))}
			if int(made.feature) >= width || made.left >= 0 && int(made.left) <= k || made.right >= 0 && int(made.right) <= k || int(made.left) >= n || int(made.right) >= n || int(^made.left) > n || int(^made.right) > n {
				return nil, nil, ErrBadForest
			}
			f.nodes = append(f.nodes, made)
			b = b[5:]
		}
		for range n + 1 {
			f.leaf = append(f.leaf, float32(int16(binary.LittleEndian.Uint16(b)))/leafScale)
			b = b[2:]
		}
	}
	f.index()
	return f, b, nil
}

// index finds the questions that nodes share.
func (f *Forest) index() {
	known := make(map[question]int32)
	for _, n := range f.nodes {
		q := question{n.feature, n.limit}
		k, ok := known[q]
		if !ok {
			k = int32(len(f.asked))
			known[q] = k
			f.asked = append(f.asked, q)
		}
		f.asks = append(f.asks, k)
	}
}
