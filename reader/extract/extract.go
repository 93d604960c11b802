// Package extract finds the main content of a page: which nodes of its tree a reader came for. It
// knows no network, no site by name, and no language better than another.
package extract

import (
	"net/url"

	"github.com/webreaderapi/webreader/reader/dom"
)

// The engines that Options name.
const (
	EngineBlocks      = "blocks"      // the house's own: a decision for each block of text
	EngineReadability = "readability" // the baseline to beat: go-readability on the same tree
)

// Options choose how Extract works. The zero value is the default.
type Options struct {
	Engine string // EngineBlocks (also ""), or EngineReadability
	Full   bool   // keep all visible content, in place of the main content
}

// Content is what Extract found in a Tree. Keep is closed under ancestors: with a node, all its
// ancestors are in it, so that a writer can walk down from Root and pass over what is not kept.
type Content struct {
	Keep          dom.Set
	Root          dom.ID // the lowest element that holds all of Keep; 0 when nothing is kept
	Type          string // the kind of page: one of the Type constants
	HiddenRemoved int    // how many elements were dropped because a person would not see them
	Warnings      []string
}

// The kinds of pages that Content.Type names.
const (
	TypeArticle = "article"
	TypeDocs    = "documentation"
	TypeThread  = "forum"
	TypeProduct = "product"
	TypeList    = "listing"
	TypeService = "service"
	TypeOther   = "page"
)

// Extract finds the main content of t, which came from base (nil when unknown). It may append nodes
// to t, for content that a page keeps outside its visible tree. The same tree, base and options give
// the same Content.
func Extract(t *dom.Tree, base *url.URL, o Options) Content {
	if t.Len() <= int(dom.Root) {
		return Content{Type: TypeOther, Warnings: []string{"the page is empty"}}
	}
	var c Content
	switch {
	case o.Full:
		c = full(t)
	case o.Engine == EngineReadability:
		c = readable(t, base)
	default:
		c = chosen(t, base)
	}
	c.Root = lowest(t, c.Keep)
	if c.Root == 0 {
		c.Warnings = append(c.Warnings, "no main content was found")
	}
	return c
}

// lowest is the deepest element that holds all of keep: from the document down, as long as exactly
// one child is kept.
func lowest(t *dom.Tree, keep dom.Set) dom.ID {
	if !keep.Has(dom.Root) {
		return 0
	}
	at := dom.Root
	for {
		only := dom.ID(0)
		for n := t.FirstChild(at); n != 0; n = t.Next(n) {
			if !keep.Has(n) {
				continue
			}
			if only != 0 || t.Kind(n) != dom.Element {
				return at
			}
			only = n
		}
		if only == 0 {
			return at
		}
		at = only
	}
}
