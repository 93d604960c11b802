package reader

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader/dom"
)

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"main > p.x", "a,b", "p:not(.a)", `[a="b,c"] ~ d`, "li:nth-child(2n+1)", "((", "\xae:not(", "a\\", "*|*", ":has(a)"} {
		f.Add(s)
	}
	page := newSelectable(dom.Parse([]byte(menagerie), dom.Limits{}))
	f.Fuzz(func(t *testing.T, s string) {
		list, err := parseSelectors(s)
		if err != nil {
			return
		}
		if _, err := page.find(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzConvert(f *testing.F) {
	for _, s := range []string{
		menagerie, "<p>text", "\xff\xfe<\x00p\x00>\x00", "<table><tr><td><pre>`x`</table>", "<template shadowrootmode=open><p>x</template>", "<svg><title>x</title><p>y",
		"<a href='javascript:x'>y</a><img src=x onerror=y>", "<noscript><p>&lt;script&gt;</noscript>", "<li><li><ol start=-1><li>", "<base href='//x'><a href=y>z",
	} {
		f.Add([]byte(s), 40)
	}
	f.Fuzz(func(t *testing.T, page []byte, most int) {
		o := Options{MaxTokens: max(0, most%500), Formats: []string{"markdown", "text", "html", "links", "images"}}
		p, err := Convert(t.Context(), Source{Body: page, Raw: true}, o)
		if err != nil {
			if k := fault.Of(err); k != fault.NoContent && k != fault.TooLarge {
				t.Fatal(err)
			}
			return
		}
		for _, text := range []string{p.Markdown, p.Text, p.HTML, p.Title, p.Excerpt} {
			if !utf8.ValidString(text) {
				t.Fatalf("not UTF-8: %q", text)
			}
		}
		if strings.Contains(strings.ToLower(p.HTML), "<script") {
			t.Fatalf("a script in %q", p.HTML)
		}
		if most%500 > 0 && p.Tokens > most%500 {
			t.Fatalf("%d tokens, %d were asked for", p.Tokens, most%500)
		}
	})
}
