package markdown_test

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// article is a page with every kind of block, of the size of a usual one.
func article(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/article.html")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(raw), "<!-- body -->")
	return []byte(head + strings.Repeat(rest, 20))
}

func BenchmarkParse(b *testing.B) {
	page := article(b)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := html.Parse(bytes.NewReader(page)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTree(b *testing.B) {
	page := article(b)
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		b.Fatal(err)
	}
	tree := new(dom.Tree)
	b.ReportAllocs()
	for b.Loop() {
		tree.FromHTML(root, dom.Limits{})
	}
}

func BenchmarkHidden(b *testing.B) {
	tree := dom.Parse(article(b), dom.Limits{})
	b.ReportAllocs()
	for b.Loop() {
		tree.Hidden()
	}
}

func BenchmarkRender(b *testing.B) {
	tree := dom.Parse(article(b), dom.Limits{})
	keep := keepVisible(tree)
	b.ReportAllocs()
	for b.Loop() {
		markdown.Render(tree, keep, markdown.Options{NoTokens: true})
	}
}

func BenchmarkTokens(b *testing.B) {
	tree := dom.Parse(article(b), dom.Limits{})
	md := markdown.Render(tree, keepVisible(tree), markdown.Options{}).Markdown
	b.SetBytes(int64(len(md)))
	b.ReportAllocs()
	for b.Loop() {
		markdown.Tokens(md)
	}
}

func TestWriterAllocatesLittle(t *testing.T) {
	tree := dom.Parse(article(t), dom.Limits{})
	keep := keepVisible(tree)
	if n := testing.AllocsPerRun(3, func() { markdown.Render(tree, keep, markdown.Options{NoTokens: true}) }); n > 1500 {
		t.Errorf("%.0f allocations", n)
	}
}

func TestHardPagesAreWrittenFast(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"brackets":         many("[", 200_000),
		"image brackets":   many("![", 200_000),
		"emphasis":         many("<b><i>x</i></b>", 60_000),
		"emphasis, one p":  "<p>" + many(`<b>"x"</b>y<i>z</i>`, 30_000),
		"stars":            many("*a ", 200_000),
		"underscores":      many("_", 200_000),
		"ticks":            many("` ", 200_000),
		"links":            many(`<a href="/a/b">x</a> `, 100_000),
		"misnested":        many("<b><i><p>x</b></i>", 30_000),
		"quotes":           many("<blockquote>", 500) + many("<p>x</p>", 30_000),
		"lists":            many("<ul><li>", 250) + many("<p>x</p>", 30_000),
		"code spans":       "<p>" + many("<code>x</code>", 60_000),
		"nested tables":    many("<table><tr><td>x", 160) + many("<p>x</p>", 30_000),
		"wide table":       "<table>" + many("<tr><th colspan=1000 rowspan=1000>x", 30_000),
		"rows":             "<table><tr><th>a<th>b" + many("<tr><td>1<td>2", 60_000),
		"sups":             many(`<sup><a href="#a">1</a></sup>`, 30_000) + "<p id=a>note",
		"notes":            many(`<sup><a id=r href="#n">1</a></sup><p id=n><a href="#r">1</a>`, 30_000),
		"math":             many(`<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>`, 20_000),
		"deep math":        "<math>" + many("<msup>", 400) + many("<mi>x</mi>", 50_000),
		"noscripts":        many("<noscript><img src=a.png></noscript>", 30_000),
		"breaks":           many("<br>", 200_000) + "x" + many("<br>x", 100_000),
		"pre lines":        "<pre>" + many("<span class=line>x</span>", 60_000),
		"scripts":          "<p>" + many(`<span class="MathJax">x</span><script type="math/tex">x</script>`, 20_000),
		"headings":         many("<h2><a href=#x>#</a>x</h2>", 40_000),
		"block links":      many("<a href=x><div>y</div></a>", 40_000),
		"raised numbers":   many("w<sup>1</sup> ", 40_000) + many("<ol><li>x</ol>", 20_000) + "<p><sup>1</sup> a note",
		"numbered items":   many(`<a href="#q">7</a> <a href="#z">8</a>`, 20_000) + "<ol>" + many(`<li><a id=z></a>x`, 40_000) + "<li><a id=q></a>y",
		"sidenotes":        many("w<span class=sidenote>n</span> ", 40_000),
		"numbered rows":    "<pre>" + many("<div><span>1</span><b>x</b></div>", 40_000),
		"code labels":      many("<div class=lang>", 20_000) + many("<span class=lang>go</span>", 40_000) + "<pre>x",
		"objects":          many("<object>", 20_000),
		"previews":         many("<div><img src=a.png>", 20_000) + many("<noscript><img src=b.png></noscript>", 20_000),
		"struck":           many("<s>a</s> <del>b</del> <b>c</b> <b>d</b> ", 30_000),
		"lists in lists":   many("<ul><li>x", 20_000) + many("<ul><ul>", 20_000),
		"single dollars":   "<script>inlineMath:['$'</script><script src=mathjax></script>" + many("$a ", 100_000),
		"boxes of MathJax": "<mjx-container><mjx-math>" + many("<mjx-box><mjx-c class=mjx-c31></mjx-c>", 50_000),
		"mathml in attrs":  many(`<span class=MathJax data-mathml="<math><mi>x</mi></math>">x</span>`, 20_000),
	} {
		tree := dom.Parse([]byte("<body>"+page), dom.Limits{})
		keep := keepVisible(tree)
		start := processorTime(t)
		markdown.Render(tree, keep, markdown.Options{NoTokens: true, Base: nil})
		if took := processorTime(t) - start; took > 2*time.Second {
			t.Errorf("%s took %v", name, took)
		} else if took > 200*time.Millisecond {
			t.Logf("%s took %v", name, took)
		}
	}
}

// processorTime is what this process has used so far: the clock would count the work of others too.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{"<p>*a* [b](c)", "<table><tr><th colspan=2>a<td rowspan=3>b", "<ul><li>a<ol start=3><li>b", "<pre><code class=language-go>a\n```", "<sup><a href=#a id=r>1</a></sup><p id=a><a href=#r>x</a>",
		"<math><msup><mi>x</mi><mn>2</mn></msup></math>", "<a href=x><h2>y</h2><p>z</a>", "<dl><dt>a<dd>b", "<b><i>x</b>y</i>", "<blockquote><ul><li><pre>x", "<table><td><table><td><ul><li>x", "<details><summary>a</summary>b", "<span class=katex><math><annotation encoding=tex>x",
		"<mjx-container><mjx-math><mjx-msub><mjx-mi><mjx-c class=mjx-c1D465></mjx-c></mjx-mi><mjx-script><mjx-mn>1", "<svg><g data-mml-node=math><g data-mml-node=msqrt><use data-c=31>", "<a href=#a>1</a><p><a name=a>1</a> x<br><a name=b>2", "<span data-tex=x^2><math><mi>x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, page string) {
		tree := dom.Parse([]byte(page), dom.Limits{})
		keep := dom.NewSet(tree)
		tree.AddSubtree(&keep, dom.Root)
		for _, o := range []markdown.Options{{NoTokens: true}, {NoTokens: true, Links: "references", Images: "alt", Collect: true}} {
			one := markdown.Render(tree, keep, o).Markdown
			if two := markdown.Render(tree, keep, o).Markdown; one != two {
				t.Errorf("two writings differ:\n%s\n%s", one, two)
			}
			if strings.Contains(one, "](javascript:") {
				t.Errorf("a script link in %s", one)
			}
		}
		markdown.Text(tree, keep, markdown.Options{})
		markdown.HTML(tree, keep, markdown.Options{})
	})
}
