package blocks

// How far behind the running text a list of cards is beyond it.
const (
	beyondHops  = 4 // levels out from the running text until both are in one element
	beyondShare = 3 // the running text is one part of so many of the page's, or more
	beyondLink  = 3 // words that lead to another page
	beyondWords = 120
	beyondParts = 6
)

// Beyond is the card that block i is in, when that stands far behind the element with the most running text of
// the page, in a list of its kind, with a line that is a link: [first, last), both 0 for none.
func (p *Page) Beyond(i int) (first, last int32) {
	r := &p.rings[p.Blocks[i].Box]
	if p.top < 0 || r.unit < 0 || r.out < beyondHops || r.out == noMark {
		return 0, 0
	}
	top, unit := &p.Elems[p.top], &p.Elems[r.unit]
	if unit.First < top.Last || top.Fluent*beyondShare < p.Fluent {
		return 0, 0
	}
	if unit.Words > beyondWords || unit.Blocks > beyondParts {
		return 0, 0
	}
	for _, b := range p.Blocks[unit.First:unit.Last] {
		if b.Linked == b.Words && b.Words >= beyondLink {
			return unit.First, unit.Last
		}
	}
	return 0, 0
}
