package extract

import (
	"net/url"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Meta is what a page says about itself. A field is empty when the page does not say it: nothing is invented.
type Meta struct {
	Title       string
	Byline      string
	PublishedAt string // ISO 8601 as far as the page says: a date, or a time with its zone
	ModifiedAt  string
	Language    string // BCP 47
	SiteName    string
	Canonical   string // absolute
	Image       string // absolute
	Description string
	Tags        []string
}

// Metadata reads the metadata of a page whose address is base: JSON-LD first, checked against
// OpenGraph, meta elements, time elements and the visible text.
func Metadata(t *dom.Tree, base *url.URL) Meta { return Meta{} }
