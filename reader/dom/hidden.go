package dom

// Reason says why a node is not shown.
type Reason uint8

// The reasons. HiddenPanel is a tab or accordion panel which the page itself opens on a click:
// content that a reader can reach.
const (
	Shown Reason = iota
	HiddenText
	HiddenPanel
)

// Hidden finds the nodes that a reader of the page does not see. The set holds the topmost hidden
// nodes and all below them; the number counts the topmost ones that hold text. Panels that the page
// itself opens are not in it: see HiddenPanels.
func (t *Tree) Hidden() (Set, int) { return Set{}, 0 }

// HiddenPanels are the topmost nodes that are hidden now but opened by the page's own controls.
func (t *Tree) HiddenPanels() []ID { return nil }
