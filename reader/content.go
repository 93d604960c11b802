package reader

import (
	"context"
	"net/url"
	"strings"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract"
	"github.com/webreaderapi/webreader/reader/gate"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// content is what was found in an answer.
type content struct {
	meta    extract.Meta
	written markdown.Result
	text    string // for the fingerprint, the format text and the excerpt; else it may be empty
	html    string
	hidden  int
	keep    dom.Set // of an HTML page: the nodes of the content
}

// compose makes the content of an answer by its media type.
func compose(ctx context.Context, p gate.Page, o plan) (content, error) {
	base := p.Target.URL()
	switch kind := p.MediaType; {
	case p.Tree != nil:
		return composeHTML(ctx, p.Tree, base, o)
	case kind == "text/markdown" || kind == "text/x-markdown":
		return composeText(markdown.Sanitize(p.Body, base), o), nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return composeFenced("json", p.Body, o), nil
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return composeFenced("xml", p.Body, o), nil
	case kind == "text/plain":
		return composeText(markdown.Sanitize([]byte(plain(string(p.Body))), base), o), nil
	default:
		return content{}, &fault.Error{
			Kind: fault.UnsupportedContent, TargetStatus: p.Status,
			Detail: "The address leads to " + shortType(kind) + ", which is not read; ask for an HTML, Markdown, text, JSON or XML address.",
		}
	}
}

func shortType(kind string) string {
	if kind == "" {
		return "content of no named type"
	}
	return short(kind)
}

// composeHTML finds the main content and writes it. A page without one that shows some text is given
// as it is shown.
func composeHTML(ctx context.Context, t *dom.Tree, base *url.URL, o plan) (content, error) {
	c := content{meta: extract.Metadata(t, base)}
	err := c.compose(ctx, t, base, o, !o.mainOnly())
	if err == nil && c.empty() && o.mainOnly() && len(o.include) == 0 {
		err = c.compose(ctx, t, base, o, true)
	}
	return c, err
}

// empty is true when there is nothing to hand over.
func (c *content) empty() bool {
	return strings.TrimSpace(c.written.Markdown) == "" && !c.written.Truncated
}

func (c *content) compose(ctx context.Context, t *dom.Tree, base *url.URL, o plan, full bool) error {
	keep, hidden, err := choose(ctx, t, base, o, full)
	if err != nil {
		return err
	}
	c.keep, c.hidden = keep, hidden
	options := markdown.Options{
		Base: base, Links: o.Links, Images: o.Images, MaxTokens: o.MaxTokens, Title: c.meta.Title,
		Collect: o.wants(FormatLinks) || o.wants(FormatImages), NoTokens: o.noTokens,
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.written = markdown.Render(t, keep, options)
	if !o.noFingerprint || o.wants(FormatText) || c.meta.Description == "" {
		c.text = markdown.Text(t, keep, options)
	}
	if o.wants(FormatHTML) {
		c.html = markdown.HTML(t, keep, options)
	}
	return ctx.Err()
}

// choose says which nodes are kept: those that the caller's selectors name, or the main content, less
// what the caller excludes.
func choose(ctx context.Context, t *dom.Tree, base *url.URL, o plan, full bool) (keep dom.Set, hidden int, err error) {
	var page selectable
	if len(o.include)+len(o.exclude) > 0 {
		page = newSelectable(t)
	}
	if len(o.include) > 0 {
		found, err := page.find(ctx, o.include)
		if err != nil {
			return keep, 0, err
		}
		keep, hidden = shownBelow(t, found)
	} else {
		c := extract.Extract(t, base, extract.Options{Full: full, Engine: o.engine})
		keep, hidden = c.Keep, c.HiddenRemoved
	}
	if len(o.exclude) > 0 {
		drop, err := page.find(ctx, o.exclude)
		if err != nil {
			return keep, 0, err
		}
		without(t, &keep, drop)
	}
	return keep, hidden, nil
}

// shownBelow keeps what a person sees of the found nodes and all below them, and their ancestors.
func shownBelow(t *dom.Tree, found dom.Set) (keep dom.Set, hidden int) {
	unseen, hidden := t.Hidden()
	inside := make([]bool, t.Len())
	keep = dom.NewSet(t)
	for n := dom.Root; int(n) < t.Len(); n++ {
		inside[n] = found.Has(n) || inside[t.Parent(n)]
		if inside[n] && !unseen.Has(n) && t.Kind(n) != dom.Comment {
			keep.Add(n)
			t.AddAncestors(&keep, n)
		}
	}
	return keep, hidden
}

// without takes the nodes of drop and all below them out of keep.
func without(t *dom.Tree, keep *dom.Set, drop dom.Set) {
	out := make([]bool, t.Len())
	for n := dom.Root; int(n) < t.Len(); n++ {
		if out[n] = drop.Has(n) || out[t.Parent(n)]; out[n] {
			keep.Remove(n)
		}
	}
}

// empty is the fault of an answer without content.
func empty(p gate.Page, o plan) error {
	f := &fault.Error{Kind: fault.NoContent, TargetStatus: p.Status, Detail: "The page has no text to give. Look at it in a browser to see whether it is empty there too."}
	for _, w := range p.Warnings {
		if w == warnNeedsJavaScript {
			f.Detail = "The page holds no text of its own: it draws itself with scripts, which are not run."
		}
	}
	switch {
	case len(o.include) > 0:
		f.Detail = "Nothing on the page matches include_selectors, or what matches has no text. Correct the selectors, or leave them out."
	case len(o.exclude) > 0:
		f.Detail = "Nothing is left of the page without what exclude_selectors match. Exclude less."
	}
	return f
}
