package dom

import "golang.org/x/net/html/atom"

// Concealed says of each node whether it, or an element around it, is hidden by its style or a rule,
// however much of the page stands there. Hidden keeps parts that are most of a page.
func (t *Tree) Concealed(nodes []ID) []bool {
	out := make([]bool, len(nodes))
	h := hider{t: t, set: NewSet(t)}
	h.learn()
	for i, n := range nodes {
		for p := n; p != 0 && !out[i]; p = t.Parent(p) {
			switch t.Tag(p) {
			case atom.Html, atom.Body, atom.Head:
				continue
			}
			if t.Kind(p) == Element {
				out[i], _ = h.judge(p)
			}
		}
	}
	return out
}
