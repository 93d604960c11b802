package reader

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/webreaderapi/webreader/reader/dom"
)

const menagerie = `<body><main id=m class="a b"><h1>T</h1><p class=x>1</p><p>2</p><div class=x><p lang=nl>3<span data-k="a > b">4</span></p><ul><li>5<li class="x y">6<li>7</ul></div>
<section><div><p class=x>8</p><a href=/z>9</a></div></section></main><aside class=a><p>10</p></aside></body>`

// Whatever a selector means, it means the same as to the library that matches one node at a time.
func TestSelectorsMeanWhatCSSMeans(t *testing.T) {
	tree := dom.Parse([]byte(menagerie), dom.Limits{})
	page := newSelectable(tree)
	for _, s := range []string{
		"p", ".x", "#m", "main p", "main > p", "h1 + p", "h1 ~ p", "p + p", "h1 ~ div p", "div.x > p > span", "main div p.x", "section div > *",
		"li:nth-child(2n + 1)", "p:not(.x)", "div:has(> p)", "div:has(a)", "p, a", "a,h1 , #m", `span[data-k="a > b"]`, "body * p", "main>div>ul>li.x.y", "li + li + li",
		"aside.a p", "p:contains('8')", "main section ~ p", "*", "ul li:first-child ~ li", "[class~=x]", "p:not([lang], .x)", "p:not([class='a b'])", "p:contains('(')",
	} {
		got, err := parseSelectors(s)
		want, werr := cascadia.ParseGroup(s)
		if err != nil || werr != nil {
			if s != "div:has(> p)" {
				t.Errorf("%q: %v, %v", s, err, werr)
			}
			continue
		}
		found, err := page.find(t.Context(), got)
		if err != nil {
			t.Fatal(err)
		}
		var have, expected []dom.ID
		for n := range tree.Descendants(dom.Root) {
			if found.Has(n) {
				have = append(have, n)
			}
			if h := page.nodes[n]; h.Type == html.ElementNode && want.Match(h) {
				expected = append(expected, n)
			}
		}
		if !slices.Equal(have, expected) {
			t.Errorf("%q finds %v, want %v", s, have, expected)
		}
	}
}

func TestWhatIsNoSelectorIsRefused(t *testing.T) {
	for _, s := range []string{"", " ", ",", "p,", ",p", "p,,a", "> p", "p >", "p > > a", "p[", ":not(", "p:has(", "a[b", "a[b=\"c]", "a)", "a(b]", "a\\", "\xae", "p:nope", "::before x", "p:not(a b)", "p:not(.x):not([b] c)", "p:NOT(a > b)", "p:not(a,b c)", "p:has(:not(a))", "a:has(:has(:has(p)))", strings.Repeat("p ", 600), strings.Repeat("a ", 30)} {
		if got, err := parseSelectors(s); err == nil {
			t.Errorf("%q was taken as %d selectors", s, len(got))
		}
	}
}

// A deep page and a long selector must not multiply.
func TestSelectorsTakeLinearTime(t *testing.T) {
	tree := dom.Parse([]byte(strings.Repeat("<div>", 500)+strings.Repeat("<p>x</p>", 50_000)), dom.Limits{})
	page := newSelectable(tree)
	list, err := parseSelectors(strings.Repeat("div ", 19) + "a")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := page.find(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestMatchingStopsWithItsContext(t *testing.T) {
	page := newSelectable(dom.Parse([]byte(strings.Repeat("<p>x</p>", 1000)), dom.Limits{}))
	list, err := parseSelectors("p")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := page.find(ctx, list); err == nil {
		t.Error("it went on")
	}
}
