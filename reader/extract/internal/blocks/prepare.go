package blocks

import (
	"net/url"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Prepare cuts t into blocks without what a reader of the page does not see.
func (p *Page) Prepare(t *dom.Tree, base *url.URL) {
	hidden, panels, count := t.Visibility()
	clear(p.panels)
	for _, n := range panels {
		p.note(n)
	}
	for _, n := range opened(t, hidden) {
		hidden.Remove(n)
		for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
			hidden.Remove(c)
		}
		count--
		p.note(n)
	}
	p.Cut(t, base, hidden.Has)
	p.Hidden = max(0, count)
}

// note remembers that n is closed at first.
func (p *Page) note(n dom.ID) {
	if p.panels == nil {
		p.panels = make(map[dom.ID]bool)
	}
	p.panels[n] = true
}

// leastNoscript is the number of letters from which on a noscript holds more than a request to turn
// scripts on: what the page shows a reader without them, such as the posts of a thread.
const leastNoscript = 250

// spoken says that a noscript is worth reading.
func spoken(t *dom.Tree, noscript dom.ID) bool {
	sum := 0
	for n := t.Following(noscript, noscript); n != 0; n = t.Following(n, noscript) {
		if t.Kind(n) == dom.Text && !Unseen(t.Tag(t.Parent(n))) {
			if sum += letters(t.Data(n)); sum >= leastNoscript {
				return true
			}
		}
	}
	return false
}

func letters(s string) (n int) {
	for i := range len(s) {
		if s[i] > ' ' {
			n++
		}
	}
	return n
}
