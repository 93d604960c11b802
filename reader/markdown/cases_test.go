package markdown_test

import (
	"encoding/json"
	"net/url"
	"os"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// traitCase is a page and what its Markdown must and must not hold.
type traitCase struct {
	ID, Trait, Head, HTML, URL string
	Must                       []json.RawMessage `json:"must_contain"`
	Not                        []json.RawMessage `json:"must_not_contain"`
}

// keepVisible keeps what a person sees of a page but its furniture; a stand-in for extract.
func keepVisible(t *dom.Tree) dom.Set {
	keep := dom.NewSet(t)
	hidden, _ := t.Hidden()
	keep.Add(dom.Root)
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		tag := t.Tag(n)
		if hidden.Has(n) || tag == atom.Nav || tag == atom.Footer && t.Tag(t.Parent(n)) == atom.Body || tag == atom.Header || t.Attr(n, "role") == "dialog" || t.Attr(n, "class") == "share" {
			n = t.After(n, dom.Root)
			continue
		}
		keep.Add(n)
		n = t.Following(n, dom.Root)
	}
	return keep
}

func render(t testing.TB, page, base string, o markdown.Options) markdown.Result {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	o.Base = u
	tree := dom.Parse([]byte(page), dom.Limits{})
	return markdown.Render(tree, keepVisible(tree), o)
}

func TestTraitCases(t *testing.T) {
	for _, c := range readCases(t, "testdata/cases.json") {
		t.Run(c.ID, c.check)
	}
}

// TestKindCases has the forms in which generators of pages write the traits: hundreds, a line each.
func TestKindCases(t *testing.T) {
	for _, c := range readCases(t, "testdata/kinds.json") {
		c.HTML = "<!DOCTYPE html><head>" + c.Head + "</head><body><p>Before.</p>" + c.HTML + "<p>Behind.</p>"
		t.Run(c.ID, c.check)
	}
}

func readCases(t *testing.T, file string) (cases []traitCase) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c traitCase) check(t *testing.T) {
	base := c.URL
	if base == "" {
		base = "https://example.com/docs/page.html"
	}
	md := render(t, c.HTML, base, markdown.Options{NoTokens: true}).Markdown
	for _, want := range c.Must {
		if !holds(t, md, want) {
			t.Errorf("misses %s in:\n%s", want, md)
		}
	}
	for _, bad := range c.Not {
		if holds(t, md, bad) {
			t.Errorf("holds %s:\n%s", bad, md)
		}
	}
}

// holds is true when md has what entry names: a string, a pattern, or any one of a list.
func holds(t *testing.T, md string, entry json.RawMessage) bool {
	t.Helper()
	var any []json.RawMessage
	if json.Unmarshal(entry, &any) == nil {
		for _, e := range any {
			if holds(t, md, e) {
				return true
			}
		}
		return false
	}
	var pattern struct{ Re string }
	text := ""
	if json.Unmarshal(entry, &text) == nil {
		pattern.Re = regexp2.Escape(text)
	} else if err := json.Unmarshal(entry, &pattern); err != nil {
		t.Fatal(err)
	}
	ok, err := regexp2.MustCompile(pattern.Re, regexp2.Multiline|regexp2.Singleline).MatchString(md)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}
