package blocks

// A forest for each kind of page says how likely the page is of it; what it says is told to the
// forests that look at blocks. Kinds are those by which the training pages are sorted.

// PageKinds are the kinds that are told apart, in the order of the forests.
var PageKinds = [...]string{"article", "documentation", "service", "forum", "product", "collection", "listing", "government"}

// Wares says that the page sells a thing by its own data, or likely sells or lists things.
func (p *Page) Wares() bool {
	return p.Facts.Kind() == Product || p.Kinds[product]+p.Kinds[collection]+p.Kinds[listing] >= 0.5
}

// Places in PageKinds.
const (
	product    = 4
	collection = 5
	listing    = 6
)

const (
	nKinds = len(PageKinds)

	nKindFacts = 34
	nKindMarks = row
	nKindOwn   = 16
	// KindFeatures is how many numbers describe a page to the forests of the kinds.
	KindFeatures = nKindFacts + nKindMarks + textGroup + nKindOwn
)

// KindRow appends what describes the page as a whole to.
func (p *Page) KindRow(to []uint8) []uint8 {
	at := len(to)
	to = append(to, make([]uint8, KindFeatures)...)
	x := to[at:]
	facts := p.pageRow()
	copy(x, facts[:])
	marks, lex := x[nKindFacts:], x[nKindFacts+nKindMarks:]
	var below [row]int32
	var said [textGroup]int32
	var sum kindSum
	for i := range p.Blocks {
		b := &p.Blocks[i]
		for m, d := range p.marks[i*row : (i+1)*row] {
			if d != noMark {
				below[m] += b.Words
			}
		}
		for k := range said {
			said[k] += int32(b.Lex >> k & 1)
		}
		sum.add(b)
	}
	n := int32(len(p.Blocks))
	for m, w := range below {
		marks[m] = share(w, p.Words)
	}
	for k, c := range said {
		lex[k] = share(c*4, n)
	}
	sum.row(x[nKindFacts+nKindMarks+textGroup:], p)
	return to
}

// kindSum counts blocks of some traits.
type kindSum struct {
	money, year, clock, heads, fluent, short, links, again, digits, stops, asks int32
}

func (s *kindSum) add(b *Block) {
	count := func(n *int32, is bool) {
		if is {
			*n++
		}
	}
	count(&s.money, b.Money)
	count(&s.year, b.Year)
	count(&s.clock, b.Clock)
	count(&s.heads, b.Level > 0)
	count(&s.fluent, b.Fluent())
	count(&s.short, b.Words <= 3)
	count(&s.links, b.Linked == b.Words)
	count(&s.again, b.Again)
	count(&s.asks, b.End == endAsk)
	s.digits += b.Digits
	s.stops += b.Stops
}

func (s *kindSum) row(x []uint8, p *Page) {
	n := int32(len(p.Blocks))
	x[0] = share(s.money*2, n)
	x[1] = share(s.year*2, n)
	x[2] = share(s.clock*2, n)
	x[3] = share(s.heads*2, n)
	x[4] = share(s.fluent, n)
	x[5] = share(s.short, n)
	x[6] = share(s.links, n)
	x[7] = share(s.again, n)
	x[8] = share(s.digits, p.Words)
	x[9] = share(s.stops*4, p.Words)
	x[10] = amount(s.asks)
	x[11] = amount(p.Fluent / max(1, s.fluent))
	images, inputs, most := int32(0), int32(0), int32(0)
	if len(p.Elems) > 0 {
		images, inputs = p.Elems[0].Images, p.Elems[0].Inputs
	}
	for i := range p.Elems {
		if e := &p.Elems[i]; e.Twins > 2 && e.Blocks > 1 {
			most = max(most, e.Twins)
		}
	}
	x[12] = amount(images)
	x[13] = amount(inputs)
	x[14] = amount(most)
	x[15] = flag(p.hasBody)
}

// tell writes how likely the page is of each kind.
func (p *Page) tell(x []uint8) {
	for k, odds := range p.Kinds {
		x[k] = chance(odds)
	}
}

// SetKinds writes into the rows of a page's blocks how likely the page is of each kind, as Describe does
// for Page.Kinds.
func SetKinds(rows []uint8, odds []float32) {
	for at := fKinds; at < len(rows); at += Features {
		for k, o := range odds {
			rows[at+k] = chance(o)
		}
	}
}
