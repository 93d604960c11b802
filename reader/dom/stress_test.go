package dom

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html/atom"
)

// hard are pages that are costly for parsers.
func hard() map[string]string {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	var names strings.Builder
	for i := range 1_000_000 {
		names.WriteString(" a")
		names.WriteString(strconv.Itoa(i))
	}
	var manyRules strings.Builder
	for i := range 5000 {
		manyRules.WriteString(".x" + strconv.Itoa(i) + ".a{display:none}")
	}
	return map[string]string{
		"attributes of all names": "<body><p" + names.String() + ">text</p>",
		"attributes in quotes":    "<body><p title='a > b' " + many("c='>' ", 300_000) + ">text</p>",
		"attributes, many tags":   "<body>text" + many("<p a b c d e f g h i j k l m n o p q r s t u v w x y z>", 40_000),
		"attributes on one tag":   "<body><p" + many(" a1", 1_000_000) + ">text</p>",
		"valued attributes":       "<body><p" + many(" a='1' b=2", 500_000) + ">text</p>",
		"attributes on many tags": "<body>text" + many("<i a b c d e f g h i j>", 100_000),
		"links":                   "<body>text" + many(`<a href="/some/where">x</a> `, 200_000),
		"more tags than parsed":   "<body>text" + many("<a href=x>y</a>", 400_000),
		"attributes, every tag":   "<body>text" + many(`<p class="a b" id=x title=y style="color:red" data-a=1 lang=en>`, 100_000),
		"misnested":               "<body>text" + many("<b><i><p>x</b></i>", 30_000),
		"emphasis":                "<body>text" + many("<b><i>x</i></b>", 100_000),
		"nested div":              "<body>" + many("<div>", 100_000) + "text",
		"nested b":                "<body>" + many("<b>", 100_000) + "text",
		"nested svg":              "<body>" + many("<svg>", 100_000) + "<p>text",
		"nested a":                "<body>text" + many("<a href=x>", 100_000),
		"nested table":            "<body>text" + many("<table>", 100_000),
		"paragraphs":              "<body>text" + many("<p>A paragraph of a few words.", 50_000),
		"brackets":                "<body>text" + many("[", 200_000),
		"comments":                "<body>text" + many("<!-- x -->", 200_000),
		"rules of one class":      "<style>" + manyRules.String() + "</style><body>text" + many("<p class='a b c d e f g h i j'>x", 50_000),
		"hidden":                  "<style>" + many(".a{display:none}", 10_000) + "</style><body>text" + many("<p style='color:#fff;background:#fff' class='a b c'>", 30_000),
	}
}

func TestHardPagesAreFast(t *testing.T) {
	for name, page := range hard() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := processorTime(t)
			tree := Parse([]byte(page), Limits{})
			parsed := processorTime(t) - start
			tree.Hidden()
			took := processorTime(t) - start
			runtime.ReadMemStats(&after)
			if raceOn || testing.Short() {
				return
			}
			t.Logf("%.1f MB parsed in %v, hidden after %v, %d nodes, %d MB allocated", float64(len(page))/1e6, parsed, took, tree.Len(), (after.TotalAlloc-before.TotalAlloc)>>20)
			if !strings.Contains(tree.Text(Root), "text") {
				t.Error("the text is lost")
			}
			if took > 1500*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestManyTagsAmongManyOpenElementsAreNotParsed: the parser looks through what is open at most tags, and
// took five seconds for some of these.
func TestManyTagsAmongManyOpenElementsAreNotParsed(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"paragraphs":       many("<div>", 480) + many("<p>text</p>", 200_000),
		"open items":       many("<span>", 480) + many("<li>text", 400_000),
		"rules":            many("<span>", 480) + many("<hr>text", 400_000),
		"ends of nothing":  many("<span>", 480) + many("text</p>", 400_000),
		"unknown ends":     many("<span>", 480) + many("text</zz>", 400_000),
		"ends of blocks":   many("<span>", 480) + many("text</div>", 400_000),
		"ends of the page": many("<div>", 470) + many("text</html>", 400_000),
		"up and down":      many(many("<div>", 400)+"text"+many("</div>", 400), 600),
		"nothing closed":   many("<span><div></span>text", 240) + many("<p>text</p>", 200_000),
	} {
		tree := Parse([]byte("<body>"+page), Limits{})
		if !tree.Flat || !strings.Contains(tree.Text(Root), "text") {
			t.Errorf("%s: flat %v, text %.20q", name, tree.Flat, tree.Text(Root))
		}
	}
}

func TestLargePagesOfUsualShapeAreParsed(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"paragraphs":             many("<div>", 40) + many("<p>text</p>", 120_000),
		"open items":             many("<div>", 20) + "<ul>" + many("<li>text<p>more", 100_000),
		"open pairs":             many("<div>", 20) + "<dl>" + many("<dt>text<dd>more", 100_000),
		"open rows":              many("<div>", 20) + "<table>" + many("<tr><td>text<td><p>more", 60_000),
		"open spans in items":    many("<div>", 20) + "<ul>" + many("<li><span>text", 100_000),
		"open spans in cells":    many("<div>", 20) + "<table>" + many("<tr><td><span>text</td></tr>", 50_000),
		"open spans, paragraphs": many("<div>", 20) + many("<p><span>text</p>", 100_000),
		"lists":                  many("<div>", 20) + many("<ul><li>text<ul><li>more</ul></ul>", 60_000),
		"links":                  many("<div>", 20) + many("<a href=x>text</a>", 120_000),
	} {
		if tree := Parse([]byte("<body>"+page), Limits{}); tree.Flat {
			t.Errorf("%s: its structure is lost", name)
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

func TestAttributesBeyondTheBoundAreCutAndTextIsNot(t *testing.T) {
	page := `<title>T <p` + strings.Repeat(" x", 400) + `></title><!-- <p` + strings.Repeat(" x", 400) + `> --><script type="application/ld+json">{"a":"<p` +
		strings.Repeat(" x", 400) + `>"}</script><p class="a" data-x='>' ` + strings.Repeat("y=1 ", 400) + `id=late>words</p><p class=b>more</p>`
	tree := Parse([]byte(page), Limits{})
	p := tree.First(Root, atom.P)
	if !tree.Truncated || tree.Attr(p, "class") != "a" || tree.Attr(p, "data-x") != ">" || tree.HasAttr(p, "id") || tree.Text(p) != "words" {
		t.Errorf("first paragraph %v %q", tree.Attrs(p)[:3], tree.Text(p))
	}
	if script := tree.Text(tree.First(Root, atom.Script)); len(script) != 400*2+11 {
		t.Errorf("script of %d bytes", len(script))
	}
	if title := tree.Text(tree.First(Root, atom.Title)); !strings.HasSuffix(title, " x>") {
		t.Errorf("title %q", title)
	}
}

func TestDeepPageKeepsTitleBaseAndText(t *testing.T) {
	tree := Parse([]byte(`<title>A &amp; B</title><base href="https://x.example/"><h2>Head&eacute;</h2>`+strings.Repeat("<div>", 1000)+`<p>One <b>two</b> &lt;three&gt;</p><script>no()</script><ul><li>item</ul>`), Limits{})
	if !tree.Flat || tree.Text(tree.First(Root, atom.Title)) != "A & B" || tree.Attr(tree.First(Root, atom.Base), "href") != "https://x.example/" {
		t.Error("the head is lost")
	}
	if got := tree.Text(tree.First(Root, atom.Body)); got != "HeadéOne two <three>item" {
		t.Errorf("text %q", got)
	}
	if tree.Text(tree.First(Root, atom.H2)) != "Headé" || tree.Text(tree.First(Root, atom.Li)) != "item" || tree.Text(tree.First(Root, atom.P)) != "One two <three>" {
		t.Error("the blocks are lost")
	}
}

func TestTreeIsReusable(t *testing.T) {
	tree := Parse([]byte("<p class=a>one<p class=b>two"), Limits{})
	tree.Parse([]byte("<h1 id=x>three</h1>"), Limits{})
	if got := tree.Text(Root); got != "three" || tree.Attr(tree.First(Root, atom.H1), "id") != "x" || tree.First(Root, atom.P) != 0 {
		t.Errorf("after reuse %q", got)
	}
}

func TestNodesAreBounded(t *testing.T) {
	tree := Parse([]byte(strings.Repeat("<p>x", 1000)), Limits{Nodes: 100})
	if !tree.Truncated || tree.Len() > 101 {
		t.Errorf("%d nodes, truncated %v", tree.Len(), tree.Truncated)
	}
}
