package markdown

import (
	_ "embed"
	"math"
	"sync"
)

// o200kText holds the tokens of o200k (published with tiktoken, MIT licence) in the order of their ranks, each behind a byte with its length. The
// test that compares it with the tokenizer's own vocabulary writes it anew under -update.
//
//go:embed o200k.bin
var o200kText string

// vocabulary finds the rank of a token: a table with open addresses over o200kText, which is made in a few
// milliseconds where maps of strings take a hundred.
type vocabulary struct {
	slots []int32 // rank + 1; 0 is free
	at    []int32 // by rank: where the token's length stands in o200kText
}

// slotCount is a power of two, more than twice the tokens.
const slotCount = 1 << 19

// o200k is made at first use, since most programs that import this package never count.
var o200k = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{slots: make([]int32, slotCount), at: make([]int32, 0, 200_000)}
	for i := 0; i < len(o200kText); {
		size := int(o200kText[i])
		v.at = append(v.at, int32(i))
		if size > 0 {
			s := slotOf(o200kText[i+1 : i+1+size])
			for v.slots[s] != 0 {
				s = (s + 1) % slotCount
			}
			v.slots[s] = int32(len(v.at))
		}
		i += 1 + size
	}
	return v
})

// slotOf is FNV-1a, folded.
func slotOf(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return (h ^ h>>15) % slotCount
}

// noRank is the rank of what is no token: after all others.
const noRank = math.MaxInt32

func (v *vocabulary) rank(s string) int32 {
	if len(s) > math.MaxUint8 {
		return noRank
	}
	for slot := slotOf(s); v.slots[slot] != 0; slot = (slot + 1) % slotCount {
		r := v.slots[slot] - 1
		if i := int(v.at[r]); int(o200kText[i]) == len(s) && o200kText[i+1:i+1+len(s)] == s {
			return r
		}
	}
	return noRank
}

// count is the number of tokens of one piece: byte-pair encoding.
func (v *vocabulary) count(p string) int {
	if v.rank(p) != noRank {
		return 1
	}
	return v.merge(p)
}

// pair is a part of a piece, and the rank of it and the next one as one token.
type pair struct{ start, rank int32 }

// merge joins the pair of least rank until no pair is a token.
func (v *vocabulary) merge(p string) int {
	var few [65]pair
	parts := few[:0]
	for i := range len(p) + 1 {
		parts = append(parts, pair{int32(i), noRank})
	}
	for i := range len(p) - 1 {
		parts[i].rank = v.rank(p[i : i+2])
	}
	for {
		best := 0
		for i := range parts {
			if parts[i].rank < parts[best].rank {
				best = i
			}
		}
		if parts[best].rank == noRank {
			return len(parts) - 1
		}
		parts = append(parts[:best+1], parts[best+2:]...)
		parts[best].rank = v.joined(p, parts, best)
		if best > 0 {
			parts[best-1].rank = v.joined(p, parts, best-1)
		}
	}
}

// joined is the rank of parts i and i+1 as one token.
func (v *vocabulary) joined(p string, parts []pair, i int) int32 {
	if i+2 >= len(parts) {
		return noRank
	}
	return v.rank(p[parts[i].start:parts[i+2].start])
}
