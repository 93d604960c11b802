package extract

import (
	"hash/maphash"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

const (
	copyBlocks = 3  // A copy is a run of so many blocks
	copyWords  = 6  // and words,
	twinWords  = 20 // of more words where it follows what it copies on a page that is not of wares,
	lineWords  = 12 // or a single block of so many.
	mostCopies = 3  // What stands there more often is a phrase that each of many cards has.
)

// withoutCopies drops what a page shows twice: a part made once for wide screens and once for narrow ones,
// one behind the other. On a page of wares the copies may be further apart and smaller: name and price again
// in a bar that stays in view. Elsewhere those stay, as documentation describes alike things in the same
// words, and so do cells, which say the same in many rows.
func withoutCopies(p *blocks.Page, keep []bool) {
	again := false
	for i, k := range keep {
		again = again || k && p.Blocks[i].Again
	}
	if !again {
		return
	}
	c := copies{page: p, wares: p.Wares(), times: make(map[uint64]int)}
	for i, k := range keep {
		if k {
			c.add(int32(i))
		}
	}
	c.find(func(block int32) { keep[block] = false })
}

// copies are the kept blocks of a page in order, with what they say.
type copies struct {
	page   *blocks.Page
	wares  bool
	hash   maphash.Hash
	blocks []int32
	says   []uint64 // 0 for what is never a copy
	words  []int32
	times  map[uint64]int // that each is said
}

func (c *copies) add(i int32) {
	p := c.page
	b := &p.Blocks[i]
	c.hash.Reset()
	for _, n := range p.Texts[b.Lo:b.Hi] {
		for _, r := range p.Tree.Data(n) {
			if r > ' ' && r != '\u00a0' {
				c.hash.WriteString(string(r))
			}
		}
	}
	says := c.hash.Sum64() | 1
	switch p.Tree.Tag(p.Elems[b.Box].ID) {
	case atom.Td, atom.Th, atom.Dt, atom.Dd:
		says = 0
	}
	c.times[says]++
	c.blocks, c.says, c.words = append(c.blocks, i), append(c.says, says), append(c.words, b.Words)
}

// find hands the blocks of each copy to drop. It looks at each block about twice, however often a page repeats itself.
func (c *copies) find(drop func(block int32)) {
	runs := make(map[[copyBlocks]uint64]int) // where a run begins
	long := make(map[uint64]int)             // where a long block stands
	for i := 0; i < len(c.says); {
		from, n := c.run(runs, i), 0
		if from == i && c.wares && c.words[i] >= lineWords {
			from = seenAt(long, c.says[i], i)
		}
		words, longest := int32(0), i
		for from+n < i && i+n < len(c.says) && c.says[i+n] != 0 && c.says[i+n] == c.says[from+n] {
			if words += c.words[i+n]; c.words[i+n] >= c.words[longest] {
				longest = i + n
			}
			n++
		}
		copied := false
		switch {
		case c.times[c.says[longest]] > mostCopies: // a phrase that each card has
			i = longest + 1
			continue
		case n >= copyBlocks:
			copied = c.wares && words >= copyWords || from+n == i && words >= twinWords
		}
		if copied || n > 0 && c.wares && words >= lineWords && !c.page.Fellows(c.blocks[from], c.blocks[i]) {
			for _, block := range c.blocks[i : i+n] {
				drop(block)
			}
		}
		i += max(1, n) // no part of what is no copy is one
	}
}

// run is where the run of blocks that begins at i began first.
func (c *copies) run(runs map[[copyBlocks]uint64]int, i int) int {
	if i+copyBlocks > len(c.says) {
		return i
	}
	return seenAt(runs, [copyBlocks]uint64(c.says[i:]), i)
}

// seenAt is where key came first, i when that is now.
func seenAt[K comparable](seen map[K]int, key K, i int) int {
	if at, ok := seen[key]; ok {
		return at
	}
	seen[key] = i
	return i
}
