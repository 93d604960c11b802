package reader_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/reader"
)

// traps are pages that cost others seconds or a refusal: each opens and ends with a sentence to be found.
func traps() map[string]string {
	many := strings.Repeat
	var links, attributes, formats strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&links, `<a href="/l/%d">link %d</a> `, i, i)
	}
	for i := range 1_000_000 {
		fmt.Fprintf(&attributes, " a%d", i)
	}
	for i := range 400 {
		fmt.Fprintf(&formats, "<b id=%d>", i)
	}
	return map[string]string{
		"paragraphs":        many("<p>A paragraph says a few words, and ends with a stop.</p>", 50_000),
		"brackets":          "<p>" + many("[", 200_000) + "</p>",
		"pictures' marks":   "<p>" + many("![", 100_000) + "</p>",
		"emphasis":          "<p>" + many("<b><i>x</i></b>", 60_000) + "</p>",
		"emphasis marks":    "<p>" + many("*_**__ ", 100_000) + many("*a ", 100_000) + "</p>",
		"links":             links.String(),
		"misnested":         many("<b><i><p>x</b></i>", 60_000),
		"never closed":      "<p>" + formats.String() + "</p>" + many("<div>x</div>", 20_000),
		"nesting":           many("<div>", 100_000),
		"nesting of inline": many("<b>", 100_000),
		"nested quotes":     many("<blockquote>", 480) + many("<p>x y z</p>", 20_000) + many("</blockquote>", 480),
		"attributes":        "<p" + attributes.String() + ">Words of it.</p>",
		"pairs":             "<dl>" + many("<dt>term<dd>definition of it", 90_000) + "</dl>",
		"list of links":     "<ul>" + many("<li><a href=/l>a link</a>", 150_000) + "</ul>",
		"rows":              "<table>" + many("<tr><td>a<td>b<td>c", 60_000) + "</table>",
		"paragraphs inside": many("<div>", 480) + many("<p>x</p>", 200_000),
		"spanning rows":     "<table>" + many("<tr><td rowspan=65000 colspan=1000>x<td>y", 80_000) + "</table>",
		"images":            "<p>" + many(`<img src="/i.png" alt="an image"> `, 200_000) + "</p>",
		"notes":             many(`word<sup><a href="#n">1</a></sup> `, 100_000) + "<ol class=footnotes><li id=n>note</ol>",
		"formulas":          "<p>" + many("<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math> ", 60_000) + "</p>",
		"headings":          many("<h2 id=x>A heading<a href=#x>#</a></h2>", 100_000),
		"text":              "<p>" + many("words and more, ", 900_000) + "</p>",
		"data address":      `<p><img alt="x" src="data:image/png;base64,` + many("A", 12_000_000) + `"></p>`,
	}
}

func TestTrapsGiveTheirTextInBoundedTime(t *testing.T) {
	for name, trap := range traps() {
		t.Run(name, func(t *testing.T) {
			page := "<!doctype html><title>Trap</title><body><main><h1>Head</h1><p>The opening words of the page, which a reader must get whatever else happens, in one good sentence.</p>" + trap +
				"<p>The closing words of the page, which also have to be there in the end, as a sentence.</p></main>"
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime(t)
			p, err := reader.Convert(t.Context(), reader.Source{Body: []byte(page)}, reader.Options{})
			took := processorTime(t) - start
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.Markdown, "opening words") || !strings.Contains(p.Markdown, "closing words") {
				t.Errorf("the text is lost: %.300q", p.Markdown)
			}
			mb := (after.TotalAlloc - before.TotalAlloc) >> 20
			if mb > 300 {
				t.Errorf("%d MB allocated", mb)
			}
			t.Logf("%.1f MB in %v with %d MB", float64(len(page))/1e6, took, mb)
			if took > 8*time.Second { // quadratic ones take minutes; the race detector takes ten times as long
				t.Errorf("took %v", took)
			}
		})
	}
}

// growing are traps that can be made in any size: what each repeats, and what stands around it. A %d is the
// number of the repetition.
var growing = map[string]struct{ before, each, behind string }{
	"paragraphs":       {"", "<p>A paragraph says a few words, and ends with a stop.</p>", ""},
	"brackets":         {"<p>", "![[", "</p>"},
	"emphasis":         {"<p>", "<b><i>x</i></b> *_**__ ", "</p>"},
	"links":            {"", `<a href="/l/%d">link %d</a> `, ""},
	"images":           {"", `<img src="/i/%d.png" alt="image %d"> `, ""},
	"lazy images":      {"", `<img data-src="/a%d.png" class=lazy src="data:image/gif;base64,R0l" alt=x><noscript><img src="/a%d.png"></noscript>`, ""},
	"pairs":            {"<dl>", "<dt>term<dd>definition of it", "</dl>"},
	"headings":         {"", `<h2 id="h%d">Heading number %d<a href="#h%d">#</a></h2>`, ""},
	"spanning rows":    {"<table>", "<tr><td rowspan=65000 colspan=1000>x<td rowspan=2>y", "</table>"},
	"cells":            {"<table><tr>", "<td>x", "</table>"},
	"breaks":           {"<p>", "line<br>", "</p>"},
	"open lists":       {"", "<ul><li>x", ""},
	"open quotes":      {strings.Repeat("<blockquote>", 400), "<p>x", ""},
	"details":          {"", "<details><summary>sum of it</summary><p>body text of it</p></details>", ""},
	"notes":            {"", `word<sup><a href="#n%d" id="r%d">%d</a></sup><p id="n%d">note <a href="#r%d">^</a></p>`, ""},
	"one note":         {"<ol class=footnotes><li id=n>note</ol>", `word<sup><a href="#n">1</a></sup> `, ""},
	"raised numbers":   {"", `word<sup>%d</sup> `, ""},
	"numbered links":   {"", `<a href="#z%d">%d</a> `, ""},
	"formulas":         {"<p>", `<span class=katex><span class=katex-mathml><math><annotation encoding="application/x-tex">x^2</annotation></math></span></span> `, "</p>"},
	"one formula":      {"<p><math>", "<mi>a</mi>", "</math></p>"},
	"glyphs":           {"<p>", "<mjx-container><mjx-math><mjx-mi><mjx-c class=mjx-c1D465></mjx-c></mjx-mi></mjx-math></mjx-container> ", "</p>"},
	"glyphs inside":    {"<p><mjx-container><mjx-math>", "<mjx-box><mjx-c class=mjx-c31></mjx-c>", "</p>"},
	"matrices":         {"<p><math>", "<mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable><mo>)</mo>", "</math></p>"},
	"attributes' TeX":  {"", "<span data-tex=x^2><span>", "<math><mi>x</mi></math>"},
	"lines of notes":   {"", `<a href="#n%d">1</a> `, `<p>` + strings.Repeat(`<a name="n1">1</a> a note<br>`, 2000)},
	"lines, one note":  {`<a href="#n">1</a><p>`, `<a name="n">1</a> a note<br>`, ""},
	"marks of notes":   {"", "<span class='ltx_note ltx_role_footnotemark'><sup class=ltx_note_mark>%d</sup></span> ", ""},
	"code":             {"", "<pre><code class=language-go>x</code></pre>", ""},
	"lines of code":    {"<pre>", "<span class=line><span class=ln>1</span>x</span>", "</pre>"},
	"line numbers":     {strings.Repeat("<div class=line-numbers>", 300), "<span class=lineno>1</span>", ""},
	"editors":          {"", "<div class=cm-editor><div class=cm-content><div class=cm-line>x</div></div></div>", ""},
	"nested editors":   {strings.Repeat("<div class=cm-editor>", 300), "<b>x</b>", ""},
	"sidenotes":        {"", "word<span class=sidenote>note</span> ", ""},
	"hidden":           {"", "<div style='display:none'>words <b>of</b> it</div>", ""},
	"panels":           {"", `<button aria-controls="p%d" aria-expanded=false>Head %d</button><div id="p%d" hidden>Panel text %d</div>`, ""},
	"cards":            {"", `<a href="/x%d"><div><h3>Title %d</h3><p>Text of it</p></div></a>`, ""},
	"comments":         {"", "<!-- comment words -->x ", ""},
	"scripts":          {"", "<script>var a = {'b': [1,2,3], 'c': 'a text of some length, so that it is taken out'};</script>x ", ""},
	"state":            {"<script id=__NEXT_DATA__ type=application/json>[", `{"id":%d,"text":"some words of a text that goes on for a while"},`, "0]</script>"},
	"sources":          {`<img alt=x srcset="`, "/a%d.png %dw, ", `">`},
	"classes":          {"", `<div class="c%d d%d e%d">words</div>`, ""},
	"same text":        {"", "<p>The very same words of a paragraph that is said again and again, over and over.</p>", ""},
	"unfinished names": {"<p>", "<i>a&amp;b</i>c", "</p>"},
}

// TestWorkGrowsAsThePageDoes: four times the page may cost ten times as much, of a quadratic trap it is sixteen.
func TestWorkGrowsAsThePageDoes(t *testing.T) {
	const few = 4000
	for name, trap := range growing {
		t.Run(name, func(t *testing.T) {
			page := func(n int) []byte {
				var b strings.Builder
				b.WriteString("<!doctype html><title>Trap</title><main><p>The opening words of the page, in one good sentence.</p>" + trap.before)
				for i := range n {
					b.WriteString(strings.ReplaceAll(trap.each, "%d", strconv.Itoa(i)))
				}
				return []byte(b.String() + trap.behind)
			}
			cost := func(page []byte) time.Duration {
				runtime.GC()
				start := processorTime(t)
				if _, err := reader.Convert(t.Context(), reader.Source{Body: page}, reader.Options{}); err != nil {
					t.Fatal(err)
				}
				return processorTime(t) - start
			}
			small, large := page(few), page(4*few)
			least, most := cost(small), cost(large)
			for range 3 { // what disturbs a measurement only adds to it
				if most < 10*least+10*time.Millisecond {
					return
				}
				least, most = min(least, cost(small)), min(most, cost(large))
			}
			t.Errorf("%v for %d bytes, %v for %d", least, len(small), most, len(large))
		})
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
