// Package forest is a small classifier of boosted decision trees over rows of bytes: training,
// prediction, and a compact form to embed. The same rows and the same settings give the same bytes.
package forest

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Forest is a sum of trees. The zero Forest says 1/2 of everything.
type Forest struct {
	base  float32
	nodes []node
	roots []int32
	leaf  []float32
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

// Predict writes into out the probability of each row of rows, width bytes apart.
func (f *Forest) Predict(rows []uint8, width int, out []float32) {
	asked := make([]int32, len(out))
	for i := range out {
		out[i] = f.base
		asked[i] = int32(i)
	}
	leaves := 0
	for k, root := range f.roots {
		end := int32(len(f.nodes))
		if k+1 < len(f.roots) {
			end = f.roots[k+1]
		}
		tree := f.nodes[root:end]
		leaf := f.leaf[leaves : leaves+len(tree)+1]
		leaves += len(tree) + 1
		for _, i := range asked {
			out[i] += leaf[walk(tree, rows[int(i)*width:(int(i)+1)*width])]
		}
		if k%round == round-1 {
			asked = slices.DeleteFunc(asked, func(i int32) bool { return out[i] > sure || out[i] < -sure })
		}
	}
	for i := range out {
		out[i] = sigmoid(out[i])
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
	return f, b, nil
}
