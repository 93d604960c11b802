package reader

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Bounds of what a traced page gives.
const (
	mostFeeds    = 8
	longLinkText = 300 // bytes
)

// Trace is what a job looks at of a page beside its content. Like Page it is read inside a hand-over
// only.
type Trace struct {
	Blocks []extract.Block
	Links  []Outlink
	Feeds  []policy.Target // that the page advertises: RSS, Atom, JSON Feed
}

// Outlink is a link of a page.
type Outlink struct {
	Target   policy.Target
	Text     string
	NoFollow bool // by its rel
	Kept     bool // it stands in the main content
}

// Trace is empty unless Request.Trace asked for it, and of an unchanged page.
func (d *Document) Trace() Trace { return d.trace }

// BodyDigest is a keyed digest of the body of a traced read as it was served, for Request.KnownBody; nil
// without a FingerprintKey.
func (d *Document) BodyDigest() []byte { return d.body }

// Forgo takes the charge back, inside a hand-over: its customer knows the page already.
func (d *Document) Forgo() { d.receipt.outcome, d.receipt.units = Unchanged, 0 }

// bodyDigest says whether two bodies are the same, to whoever has the key.
func bodyDigest(key, body []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("body\x00"))
	mac.Write(body)
	return mac.Sum(nil)[:16]
}

// traceOf reads the page's blocks, links and feeds.
func traceOf(p gate.Page, c content) Trace {
	if p.Tree == nil {
		return Trace{Blocks: paragraphs(c.text)}
	}
	t := p.Tree
	trace := Trace{Blocks: extract.TextBlocks(t, extract.Content{Keep: c.keep})}
	base := baseOf(t, p.Target)
	for n := t.Following(dom.Root, dom.Root); n != 0 && len(trace.Links) < mostLinks; n = t.Following(n, dom.Root) {
		switch t.Tag(n) {
		case atom.A, atom.Area:
			if l, ok := outlink(t, n, base); ok {
				l.Kept = c.keep.Has(n)
				trace.Links = append(trace.Links, l)
			}
		case atom.Link:
			if to, err := base.Resolve(t.Attr(n, "href")); err == nil && isFeedLink(t, n) && len(trace.Feeds) < mostFeeds {
				trace.Feeds = append(trace.Feeds, to)
			}
		}
	}
	return trace
}

// baseOf is what relative links of a page stand for: its base element or its address.
func baseOf(t *dom.Tree, page policy.Target) policy.Target {
	if n := t.First(dom.Root, atom.Base); n != 0 {
		if base, err := page.Resolve(t.Attr(n, "href")); err == nil {
			return base
		}
	}
	return page
}

func outlink(t *dom.Tree, n dom.ID, base policy.Target) (Outlink, bool) {
	to, ok := leadsTo(t, n, base)
	if !ok {
		return Outlink{}, false
	}
	text := t.Text(n)
	if strings.TrimSpace(text) == "" {
		text = t.Attr(n, "title") + " " + t.Attr(n, "aria-label") + " " + t.Attr(n, "alt")
	}
	text = strings.Join(strings.Fields(text[:min(len(text), 8*longLinkText)]), " ")
	return Outlink{
		Target: to, Text: strings.ToValidUTF8(text[:min(len(text), longLinkText)], ""),
		NoFollow: hasWord(t.Attr(n, "rel"), "nofollow"),
	}, true
}

func isFeedLink(t *dom.Tree, n dom.ID) bool {
	if !hasWord(t.Attr(n, "rel"), "alternate") {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(t.Attr(n, "type")), ";")
	switch strings.TrimSpace(kind) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json":
		return true
	}
	return false
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// paragraphs are the blocks of a text without markup.
func paragraphs(text string) []extract.Block {
	var blocks []extract.Block
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && len(blocks) < 20_000 {
			blocks = append(blocks, extract.Block{Text: line, Kept: true})
		}
	}
	return blocks
}

// TextFragment is the address with a text fragment that leads a browser to quote: source#:~:text=…
func TextFragment(source, quote string) string {
	words := strings.Fields(strings.Trim(quote, "…"))
	if len(words) == 0 {
		return source
	}
	source, _, _ = strings.Cut(source, "#")
	escape := func(w []string) string {
		return strings.NewReplacer("+", "%20", "-", "%2D", ",", "%2C").Replace(url.QueryEscape(strings.Join(w, " ")))
	}
	if len(words) <= 10 {
		return source + "#:~:text=" + escape(words)
	}
	return source + "#:~:text=" + escape(words[:5]) + "," + escape(words[len(words)-5:])
}
