package signals

import (
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Meta is one meta element of a page: its name and content, as they stand.
type Meta struct{ Name, Content string }

func (m Meta) text() string {
	return clip(`<meta name="` + m.Name + `" content="` + m.Content + `">`)
}

// Link is one link element of a page, as it stands.
type Link struct{ Rel, Type, Href string }

// maxElements bounds how many meta and link elements of a page are looked at, each.
const maxElements = 1000

// Elements are the named meta elements of a page and its licence links, wherever they stand.
func Elements(t *dom.Tree) (metas []Meta, links []Link) {
	if t == nil || t.Len() == 0 {
		return nil, nil
	}
	for n := range t.Descendants(dom.Root) {
		switch t.Tag(n) {
		case atom.Meta:
			if name := t.Attr(n, "name"); name != "" && len(metas) < maxElements {
				metas = append(metas, Meta{Name: name, Content: t.Attr(n, "content")})
			}
		case atom.Link:
			l := Link{Rel: t.Attr(n, "rel"), Type: t.Attr(n, "type"), Href: t.Attr(n, "href")}
			if hasWord(l.Rel, "license") && len(links) < maxElements {
				links = append(links, l)
			}
		}
	}
	return metas, links
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
