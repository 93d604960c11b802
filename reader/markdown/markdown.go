// Package markdown writes the kept nodes of a tree as CommonMark with GFM tables, strikethrough and
// task lists, in one linear pass without recursion. It knows no network.
package markdown

import (
	"bytes"
	"net/url"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Options say how a page is written. The zero Options write everything inline and cut nothing.
type Options struct {
	// Base resolves relative links; the page's own <base href> is applied on top of it. Without a
	// Base only absolute links are kept as links.
	Base *url.URL
	// Links is "inline" (also ""), "references" or "none".
	Links string
	// Images is "inline" (also ""), "alt" or "none".
	Images string
	// MaxTokens cuts the Markdown at the last block that ends within so many o200k tokens; 0 is no cut.
	MaxTokens int
	// Title is the page's title; a first heading that says the same is left out.
	Title string
	// Collect fills Result.Links and Result.Images.
	Collect bool
	// NoTokens leaves Result.Tokens at 0 when there is no MaxTokens, which saves the counting.
	NoTokens bool
}

// Link is a link of the written part: its absolute address and its text.
type Link struct {
	URL  string `json:"url"`
	Text string `json:"text"`
}

// Image is an image of the written part: its absolute address and its description.
type Image struct {
	URL string `json:"url"`
	Alt string `json:"alt"`
}

// Result is a written page.
type Result struct {
	Markdown  string
	Links     []Link
	Images    []Image
	Tokens    int  // o200k tokens of Markdown
	Truncated bool // MaxTokens cut something off
	Stripped  int  // zero-width, tag, bidi and control characters taken out of the text
}

// Render writes the nodes of t that are in keep. keep is closed towards the root: the writer goes
// down only into nodes that are in it. Parts that have no text of their own are found below a kept
// parent without being in keep: MathML and math scripts, the image in a noscript, sources. Code
// blocks and formulas are read whole. Render may append nodes to t, outside of the page itself.
func Render(t *dom.Tree, keep dom.Set, o Options) Result {
	w := write(t, keep, o, false)
	w.writeReferences()
	res := Result{Links: w.pages, Images: w.images, Stripped: w.stripped}
	text := string(bytes.TrimRight(w.out, " \n"))
	switch {
	case o.MaxTokens > 0:
		res.Markdown, res.Tokens, res.Truncated = cut(text, w.ends, o.MaxTokens)
	case o.NoTokens:
		res.Markdown = text
	default:
		res.Markdown, res.Tokens = text, Tokens(text)
	}
	return res
}

// Text writes the kept nodes as plain text: a blank line between blocks, no marks.
func Text(t *dom.Tree, keep dom.Set, o Options) string {
	return string(bytes.TrimRight(write(t, keep, o, true).out, " \n"))
}

func write(t *dom.Tree, keep dom.Set, o Options, plain bool) *writer {
	w := &writer{t: t, keep: keep, o: o, plain: plain, brackets: o.Links == "references"}
	if t.Len() <= int(dom.Root) {
		return w
	}
	w.links = newResolver(t, o.Base)
	w.facts = learn(t, keep)
	w.out = make([]byte, 0, 4096)
	w.walk(dom.Root)
	w.flush()
	w.writeSides()
	return w
}
