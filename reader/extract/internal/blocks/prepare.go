package blocks

import (
	"net/url"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Prepare cuts t into blocks without what a reader of the page does not see.
func (p *Page) Prepare(t *dom.Tree, base *url.URL) {
	hidden, count := t.Hidden()
	p.Cut(t, base, hidden.Has)
	p.Hidden = count
}
