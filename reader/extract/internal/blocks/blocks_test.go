package blocks

import (
	"math/bits"
	"net/url"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

func cut(t *testing.T, src string) *Page {
	t.Helper()
	var p Page
	base, err := url.Parse("https://www.example.org/blog/2027/a-page")
	if err != nil {
		t.Fatal(err)
	}
	p.Prepare(dom.Parse([]byte(src), dom.Limits{}), base)
	return &p
}

func texts(p *Page) string {
	var all []string
	for i := range p.Blocks {
		all = append(all, strings.Join(strings.Fields(p.Text(i)), " "))
	}
	return strings.Join(all, " | ")
}

func TestBlocksAreRunsBetweenBlockTags(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"<p>One <b>bold</b> word</p><p>Two</p>", "One bold word | Two"},
		{"<div>a<br>b<br><br>c</div>", "a b | c"},
		{"<table><tr><td>x<td>y</table>", "x | y"},
		{"<p>a<script>no()</script>b<style>p{}</style></p>", "ab"},
		{"<a href=/><div>head</div><div>teaser</div></a>", "head | teaser"},
		{"<my-card><my-title>t</my-title>body</my-card>", "t | body"},
		{"<template>no</template><noscript>turn it on</noscript><select><option>no</select>yes", "yes"},
		{"<div><template shadowrootmode=open><p>in the shadow</p></template></div>", "in the shadow"},
	} {
		if got := texts(cut(t, "<body>"+c.src)); got != c.want {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
}

func TestWordsAreCountedInAnyScript(t *testing.T) {
	for _, c := range []struct {
		text  string
		words int32
	}{
		{"Twee woorden", 2}, {"önkormányzati támogatás 2027", 3}, {"你好世界", 4}, {"Привет, мир!", 2}, {"مرحبا بالعالم", 2},
		{"co\u00adop\u200ber", 1}, {"snake_case a-b", 3}, {"ひらがな abc", 5},
	} {
		p := cut(t, "<p>"+c.text+"</p>")
		if len(p.Blocks) != 1 || p.Blocks[0].Words != c.words {
			t.Errorf("%q: %+v, want %d words", c.text, p.Blocks, c.words)
		}
	}
}

func TestClassWordsAreFoundInsideNames(t *testing.T) {
	line := func(n int) uint64 { return 1 << n }
	for name, want := range map[string]uint64{
		"site-navigation": line(0), "mainNavBar": line(0) | line(17), "articleBody": line(18) | line(20), "ad": line(11), "ads_top": line(11),
		"Voettekst-footer": line(2) | line(20), "hozzaszolasok": line(5), "cookie-banner": line(14) | line(12),
	} {
		if got := words.groupsOf(name); got&want != want {
			t.Errorf("%s: groups %b lack %b", name, got, want&^got)
		}
	}
	if got := words.groupsOf("head"); got&line(11) != 0 {
		t.Error("an ad is seen in the middle of a word")
	}
	if bits.OnesCount64(words.groupsOf(strings.Repeat("x", 100_000))) != 0 {
		t.Error("a long name of no words has groups")
	}
}

func TestRepeatedTextIsNoted(t *testing.T) {
	line := "The same sentence of some words stands here twice."
	p := cut(t, "<p>"+line+"</p><blockquote>"+line+"</blockquote><p>Another sentence of a few words follows.</p>")
	if p.Blocks[0].Again || !p.Blocks[0].Later || !p.Blocks[1].Again || p.Blocks[2].Again {
		t.Errorf("%+v", p.Blocks)
	}
}

func TestTextThatTheDataHoldsIsNoted(t *testing.T) {
	p := cut(t, `<head><meta name=description content="What the page is about in one line">
		<script type="application/ld+json">{"@type":"NewsArticle","articleBody": "First he said \u00e9l \"yes\" and\nthen he went home"}</script></head>
		<body><p>First he said él "yes" and then he went home</p><p>What the page is about in one line</p><p>Something else that nobody announced</p>`)
	b := p.Blocks
	if !b[0].Body || b[0].Description || !b[1].Description || b[2].Body || b[2].Description {
		t.Errorf("%+v", b)
	}
	if !p.Facts.article() || p.Facts.Kind() != Article {
		t.Errorf("the page is %v", p.Facts.Kind())
	}
}

func TestWhatAClickOpensIsRead(t *testing.T) {
	item := `<div class="q">A question %d</div><div class="a" style="display:none">Its answer</div>`
	if got := texts(cut(t, "<body>"+item+item)); !strings.Contains(got, "Its answer") {
		t.Errorf("two of a kind: %q", got)
	}
	if got := texts(cut(t, "<body><div>Some text</div><div style=display:none>Hidden alone</div>")); strings.Contains(got, "Hidden alone") {
		t.Errorf("one alone: %q", got)
	}
	plain := `<h2>A heading</h2><div style="display:none">Not for your eyes</div><h2>Another</h2><p hidden>Nor this</p>`
	if got := texts(cut(t, "<body><p>Shown text</p>"+plain+plain)); strings.Contains(got, "your eyes") || strings.Contains(got, "Nor") {
		t.Errorf("hidden below headings: %q", got)
	}
	if got := texts(cut(t, "<body><nav>"+item+item+"</nav>")); strings.Contains(got, "Its answer") {
		t.Errorf("in a menu: %q", got)
	}
	if got := texts(cut(t, `<body><p>Shown</p><div hidden id="S:0">Sent late</div>`)); !strings.Contains(got, "Sent late") {
		t.Errorf("sent late: %q", got)
	}
}

func TestTheThresholdFitsThePage(t *testing.T) {
	v := &View{Blocks: make([]Spot, 4)}
	for i := range v.Blocks {
		v.Blocks[i] = Spot{Words: 20, Heading: -1}
	}
	if cut := threshold(v, []float32{0.95, 0.9, 0.05, 0.02}); cut != 0.9 {
		t.Errorf("a sure page: %v", cut)
	}
	if cut := threshold(v, []float32{0.4, 0.35, 0.3, 0.02}); cut != 0.3 {
		t.Errorf("an unsure page: %v", cut)
	}
}

func TestWhereAllIsUnlikelyTheLikeliestStays(t *testing.T) {
	v := &View{Blocks: make([]Spot, 3)}
	for i, words := range []int32{400, 80, 400} {
		v.Blocks[i].Words = words
	}
	if keep := Choose([]float32{0.01, 0.13, 0.01}, v); keep[0] || !keep[1] || keep[2] {
		t.Errorf("of a short text between two menus is kept: %v", keep)
	}
}

func TestCommentsGoBelowAnArticleAndStayInAThread(t *testing.T) {
	make := func(thread bool) []bool {
		v := &View{Thread: thread, Article: true}
		v.Blocks = []Spot{{Words: 90, Fluent: true, Heading: -1}, {Words: 40, Fluent: true, Comment: true, Heading: -1}}
		return Choose([]float32{0.9, 0.9}, v)
	}
	if got := make(false); !got[0] || got[1] {
		t.Errorf("below an article: %v", got)
	}
	if got := make(true); !got[0] || !got[1] {
		t.Errorf("in a thread: %v", got)
	}
}

// The weights learned what a link to a document is: a feed is a document where pages are compared, but not there.
func TestAFeedIsNoDownload(t *testing.T) {
	for path, want := range map[string][2]bool{"/call.pdf": {true, true}, "/Data.XLSX": {true, true}, "/feed.xml": {true, false}, "/robots.txt": {true, false}, "/v1.2/page": {false, false}, "/x": {false, false}} {
		if got := [2]bool{Document(path), download(path)}; got != want {
			t.Errorf("%s: a document and a download: %v, want %v", path, got, want)
		}
	}
}
