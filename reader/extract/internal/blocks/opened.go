package blocks

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// opened finds the hidden elements that a click on the page itself shows, beyond those whose markup
// says so: bodies of an accordion, known by a short visible head before each and by coming in
// numbers, and the parts that a server sends late and a script puts in their place.
func opened(t *dom.Tree, hidden dom.Set) []dom.ID {
	var found []dom.ID
	var keys []uint64
	count := make(map[uint64]int)
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		if !hidden.Has(n) {
			n = t.Following(n, dom.Root)
			continue
		}
		if key := panelKey(t, hidden, n); key != 0 {
			found, keys = append(found, n), append(keys, key)
			count[key]++
		}
		n = t.After(n, dom.Root)
	}
	kept := found[:0]
	for i, n := range found {
		if keys[i] == late || clickable(t, head(t, hidden, n)) || count[keys[i]] >= 2 && made(t, n, head(t, hidden, n)) {
			kept = append(kept, n)
		}
	}
	return append(kept, curtained(t, hidden)...)
}

// made says that a hidden element and the one before it look made for each other: the first has a
// class to be found by, and the other is not just the heading or the paragraph that stands there.
func made(t *dom.Tree, n, head dom.ID) bool {
	if t.Attr(n, "class") == "" {
		return false
	}
	plain := HeadingLevel(t.Tag(head)) > 0 || t.Tag(head) == atom.P
	return !plain || t.Attr(head, "class") != ""
}

// leastCurtain is the least number of letters behind a curtain.
const leastCurtain = 1500

// curtained finds the elements that a rule for their class hides until a script has run, as pages do
// that must not be seen half made: those of one class that hold more than half of the page's text.
func curtained(t *dom.Tree, hidden dom.Set) []dom.ID {
	sums := make(map[string]int)
	most := 0
	each(t, hidden, func(class string, n dom.ID) {
		sums[class] += size(t, n)
		most = max(most, sums[class])
	})
	if most < leastCurtain {
		return nil
	}
	all := shown(t, hidden)
	for _, size := range sums {
		all += size
	}
	var found []dom.ID
	for class, size := range sums {
		if size < leastCurtain || size*2 < all {
			continue
		}
		each(t, hidden, func(c string, n dom.ID) {
			if c == class {
				found = append(found, n)
			}
		})
	}
	return found
}

// each hands over the topmost elements that a rule hides, with the last of their class names.
func each(t *dom.Tree, hidden dom.Set, f func(class string, n dom.ID)) {
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		if Unseen(t.Tag(n)) {
			n = t.After(n, dom.Root)
			continue
		}
		if !hidden.Has(n) {
			n = t.Following(n, dom.Root)
			continue
		}
		if class := t.Attr(n, "class"); class != "" && !t.HasAttr(n, "hidden") && !t.HasAttr(n, "style") {
			f(class[strings.LastIndexByte(class, ' ')+1:], n)
		}
		n = t.After(n, dom.Root)
	}
}

// shown is the number of letters that are seen.
func shown(t *dom.Tree, hidden dom.Set) (sum int) {
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		if Unseen(t.Tag(n)) || hidden.Has(n) {
			n = t.After(n, dom.Root)
			continue
		}
		if t.Kind(n) == dom.Text {
			sum += letters(t.Data(n))
		}
		n = t.Following(n, dom.Root)
	}
	return sum
}

func size(t *dom.Tree, n dom.ID) (sum int) {
	for c := t.Following(n, n); c != 0; {
		if Unseen(t.Tag(c)) {
			c = t.After(c, n)
			continue
		}
		if t.Kind(c) == dom.Text {
			sum += letters(t.Data(c))
		}
		c = t.Following(c, n)
	}
	return sum
}

// late is the key of a part that comes late.
const late = 1

// Groups of class words that no panel of content has.
const notPanel = 1<<0 | 1<<14 | 1<<15 | 1<<28 | 1<<45 | 1<<47

// panelKey is the same for panels of one kind, and 0 for what is no panel.
func panelKey(t *dom.Tree, hidden dom.Set, n dom.ID) uint64 {
	switch t.Tag(n) {
	case atom.Div, atom.Section, atom.Dd, atom.Article, atom.Tr:
	default:
		return 0
	}
	if sentLate(t, n) {
		return late
	}
	id := t.Attr(n, "id")
	if words.groupsOf(t.Attr(n, "class"))&notPanel != 0 || words.groupsOf(id)&notPanel != 0 {
		return 0
	}
	h := head(t, hidden, n)
	if h == 0 || !short(t, h) {
		return 0
	}
	for p, hops := t.Parent(n), 0; p != 0 && hops < 40; p, hops = t.Parent(p), hops+1 {
		switch t.Tag(p) {
		case atom.Nav, atom.Header, atom.Footer, atom.Dialog:
			return 0
		}
	}
	key := uint64(t.Tag(n))<<8 + uint64(t.Tag(h)) + 2
	key = hashString(key, stem(t.Attr(n, "class")))
	return hashString(key*31, stem(t.Attr(h, "class")))
}

// sentLate says that n is a part that a server sends late and a script puts in its place.
func sentLate(t *dom.Tree, n dom.ID) bool {
	return strings.HasPrefix(t.Attr(n, "id"), "S:") && t.HasAttr(n, "hidden")
}

// head is the visible element before n, or before its parent where n stands first.
func head(t *dom.Tree, hidden dom.Set, n dom.ID) dom.ID {
	for range 2 {
		for p := t.Prev(n); p != 0; p = t.Prev(p) {
			if t.Kind(p) != dom.Element || Unseen(t.Tag(p)) {
				continue
			}
			if hidden.Has(p) {
				break
			}
			return p
		}
		n = t.Parent(n)
	}
	return 0
}

// short says that n holds a few words of text.
func short(t *dom.Tree, n dom.ID) bool {
	sum, seen := 0, 0
	for c := n; c != 0 && seen < 60; seen++ {
		if Unseen(t.Tag(c)) {
			c = t.After(c, n)
			continue
		}
		if t.Kind(c) == dom.Text {
			sum += letters(t.Data(c))
		}
		c = t.Following(c, n)
	}
	return sum > 0 && sum < 200 && seen < 60
}

func clickable(t *dom.Tree, n dom.ID) bool {
	if n == 0 {
		return false
	}
	for c, seen := n, 0; c != 0 && seen < 12; c, seen = t.Following(c, n), seen+1 {
		if t.Tag(c) == atom.Button {
			return true
		}
		for _, a := range t.Attrs(c) {
			switch a.Key {
			case "onclick", "aria-expanded", "aria-controls":
				return true
			case "role":
				if a.Val == "button" || a.Val == "tab" {
					return true
				}
			}
		}
	}
	return false
}
