package markdown_test

import (
	"bytes"
	"flag"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/markdown"
)

var gold = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(goldhtml.WithUnsafe()))

// The pages are the same in each run, unless -rapid.seed names others.
func init() { _ = flag.Set("rapid.seed", "2111") }

// back renders Markdown with another program and parses what it gives.
func back(t interface{ Fatal(...any) }, md string) *dom.Tree {
	var b bytes.Buffer
	if err := gold.Convert([]byte(md), &b); err != nil {
		t.Fatal(err)
	}
	return dom.Parse(b.Bytes(), dom.Limits{})
}

// bare is the text of a tree without any blanks.
func bare(t *dom.Tree, n dom.ID) string {
	s := t.Text(n)
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// outline is the structure of a tree: headings, items, cells, code and links with their text.
func outline(t *dom.Tree) []string {
	var all []string
	for n := range t.Descendants(dom.Root) {
		switch tag := t.Tag(n); tag {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre:
			all = append(all, t.Name(n)+" "+bare(t, n))
		case atom.Td, atom.Th:
			all = append(all, "cell "+bare(t, n))
		case atom.A:
			all = append(all, "a "+t.Attr(n, "href")+" "+bare(t, n))
		case atom.Li:
			all = append(all, "li "+bare(t, n))
		case atom.Code:
			if t.Tag(t.Parent(n)) != atom.Pre {
				all = append(all, "code "+bare(t, n))
			}
		}
	}
	return all
}

// draw makes a document of the kind that people write, with text that looks like Markdown.
type draw struct {
	*rapid.T
	b strings.Builder
}

var nasty = []string{"word", "Two", "*", "_", "**", "__x__", "`", "``", "[", "]", "[a](b)", "![", "!", "<b>", "<", ">", "&amp;", "&lt;", "&copy;", "#", "##", "-", "+", "1.", "1)", "12.", "~", "~~", "~~~", "---", "===", "|", "a|b", "\\", "\\*", "$", "snake_case", "_x_", "*y*", "5*3", "http://x.example/a_b_ ", "é", "漢字", "“quote”", "€5", "(", ")", ":", "[x]:", "[^1]", "a~b~c", "x*", "*x", ":--", "=", "”", "…", " x@y.example ", "- ", "<!--", "www.x.example ", "{", "'", "\"", "^", "//", "😀"}

func (d *draw) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

func (d *draw) words() {
	for range d.pick(4) + 1 {
		w := rapid.SampledFrom(nasty).Draw(d.T, "w")
		w = strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(w)
		d.b.WriteString(w)
		if d.pick(3) > 0 {
			d.b.WriteByte(' ')
		}
	}
}

func (d *draw) inline(depth int, link bool) {
	for range d.pick(3) + 1 {
		tag := rapid.SampledFrom([]string{"", "", "", "b", "em", "s", "code", "a", "span", "sup", "br", "strong"}).Draw(d.T, "tag")
		switch {
		case tag == "br":
			d.b.WriteString("<br>")
		case tag == "code":
			d.b.WriteString("<code>")
			d.words()
			d.b.WriteString("</code>.")
		case tag == "" || depth == 0 || tag == "a" && !link:
			d.words()
		case tag == "a":
			d.b.WriteString(`<a href="https://x.example/p">`)
			d.inline(depth-1, false)
			d.b.WriteString("</a>")
		default:
			d.b.WriteString("<" + tag + ">")
			d.inline(depth-1, link)
			d.b.WriteString("</" + tag + ">")
		}
	}
}

func (d *draw) block(depth int) {
	tag := rapid.SampledFrom([]string{"p", "p", "p", "h2", "h3", "ul", "ol", "blockquote", "pre", "table", "hr", "div"}).Draw(d.T, "block")
	open := func(tag string, inner func()) {
		d.b.WriteString("<" + tag + ">")
		inner()
		d.b.WriteString("</" + tag + ">\n")
	}
	switch {
	case tag == "hr":
		d.b.WriteString("<hr>")
	case tag == "pre":
		open("pre", func() {
			d.b.WriteString("<code>")
			d.words()
			d.b.WriteString("\n  ")
			d.words()
			d.b.WriteString("</code>")
		})
	case tag == "table":
		open("table", func() {
			open("tr", func() { open("th", func() { d.inline(1, true) }); open("th", func() { d.inline(1, true) }) })
			open("tr", func() { open("td", func() { d.inline(1, true) }); open("td", func() { d.inline(2, true) }) })
		})
	case depth == 0 || tag == "p" || tag == "h2" || tag == "h3":
		if tag != "h2" && tag != "h3" {
			tag = "p"
		}
		open(tag, func() { d.inline(2, true) })
	case tag == "ul" || tag == "ol":
		open(tag, func() {
			for range d.pick(3) + 1 {
				open("li", func() {
					d.inline(1, true)
					if d.pick(3) == 0 {
						d.block(depth - 1)
					}
				})
			}
		})
	default:
		open(tag, func() { d.block(depth - 1); d.block(depth - 1) })
	}
}

func TestGoldmarkReadsTheSameTextAndStructure(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &draw{T: rt}
		for range d.pick(3) + 1 {
			d.block(3)
		}
		page := d.b.String()
		tree := dom.Parse([]byte(page), dom.Limits{})
		keep := dom.NewSet(tree)
		tree.AddSubtree(&keep, dom.Root)
		md := markdown.Render(tree, keep, markdown.Options{NoTokens: true}).Markdown
		again := back(rt, md)
		if want, got := bare(tree, dom.Root), bare(again, dom.Root); want != got {
			rt.Fatalf("page %s\nMarkdown:\n%s\ntext %q\nwant %q", page, md, got, want)
		}
		want, got := sift(outline(tree)), sift(outline(again))
		if strings.Join(want, "\n") != strings.Join(got, "\n") {
			rt.Fatalf("page %s\nMarkdown:\n%s\noutline %q\nwant    %q", page, md, got, want)
		}
	})
}

// sift leaves out what either side may have more of: elements without text, the links that GFM
// makes of addresses in the text, and items of lists that hold the text of others.
func sift(all []string) []string {
	var kept []string
	for _, s := range all {
		if _, text, ok := strings.Cut(s, " "); !ok || text == "" {
			continue
		}
		if strings.HasPrefix(s, "a ") && (!strings.HasPrefix(s, "a https://x.example/p ") || strings.HasSuffix(s, "/p ")) {
			continue
		}
		kept = append(kept, s)
	}
	return kept
}
