package dom

// Set is a set of nodes of one Tree, a bit each. The zero Set is empty.
type Set struct{ bits []uint64 }

// NewSet makes an empty set with room for every node of t.
func NewSet(t *Tree) Set { return Set{make([]uint64, (t.Len()+63)/64)} }

// Add puts n into s, which grows as needed.
func (s *Set) Add(n ID) {
	for int(n>>6) >= len(s.bits) {
		s.bits = append(s.bits, 0)
	}
	s.bits[n>>6] |= 1 << (n & 63)
}

// Remove takes n out of s.
func (s *Set) Remove(n ID) {
	if int(n>>6) < len(s.bits) {
		s.bits[n>>6] &^= 1 << (n & 63)
	}
}

// Has is true when n is in s.
func (s Set) Has(n ID) bool { return int(n>>6) < len(s.bits) && s.bits[n>>6]&(1<<(n&63)) != 0 }

// AddSubtree puts n and all nodes below it into s.
func (t *Tree) AddSubtree(s *Set, n ID) {
	s.Add(n)
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		s.Add(c)
	}
}

// AddAncestors puts the ancestors of n into s, up to the first that is there already.
func (t *Tree) AddAncestors(s *Set, n ID) {
	for p := t.nodes[n].parent; p != 0 && !s.Has(p); p = t.nodes[p].parent {
		s.Add(p)
	}
}
