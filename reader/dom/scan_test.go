package dom

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tricky are pages on which a pass over the tags can go astray.
var tricky = []string{
	`<script>if (a<b) { x = "<p>not markup, and long enough to be taken out of the page</p>" }</script><p>after`,
	"<script type=application/json>{\"a\":\r\n\"a body of more than sixty-four bytes, so that it is worth it\"}\r\n</script>x",
	`<script><!-- document.write("<script>inner script</script>") and some words more to be long --></script><p>y`,
	`<script><!-- only hidden from the oldest browsers, as was done once upon a time --></script><p>y`,
	`<svg><script>a script in a picture <p>is markup</p> and long enough to be taken out of it</script></svg><p>z`,
	`<svg><title>a <b>title</svg><script>another long body of more than sixty-four bytes, yes it is</script></title>`,
	`<select><title><p>x</select><script>yet another long body of more than sixty-four bytes, as it is</script></title><p>y`,
	`<select><title></select><script>yet another long body of more than sixty-four bytes, without an end</script `,
	`<svg/><script>var long = "a body that is longer than the sixty-four bytes that it needs";</script><p>k`,
	`<svg a=/><script>var long = "<p>a body that is longer than the sixty-four bytes that it needs";</script><p>k`,
	`<textarea><script>not a script but text of a field, and long enough to be taken for one</script></textarea>`,
	`<title>a <script>title that has a script in it, and is long enough to be taken out</script></title>b`,
	`<!-- <script> in a comment that is longer than sixty-four bytes, as comments go </script> --><p>c`,
	`<!--><script>a body behind a comment that ends at once, longer than sixty-four bytes</script>-->d`,
	`<!---!><script>a body in a comment that does not end yet, longer than sixty-four bytes</script>-->d`,
	`<!--a--!><script>a body behind a comment with another end, longer than sixty-four bytes</script>-->d`,
	`<p title="<script>a script in an attribute, of more than sixty-four bytes of text, long</script>">e`,
	`<p title='a > b' a=" class = "<script>a script in an attribute, of more than sixty-four bytes</script>">e`,
	`</p title="<script>a script in an end tag, of more than sixty-four bytes of text, long</script>">f`,
	`<plaintext><script>all that follows is text, and this is more than sixty-four bytes of it</script>`,
	`<script>no end tag, but a body of more than sixty-four bytes, which the parser takes as it is`,
	`<script>an end tag of another name </scripting> and a body of more than sixty-four bytes</script >g`,
	"<script>\x00 a nul and a body of more than sixty-four bytes, which the parser puts a sign for</script>h",
	"<script>\x010</script><script>a body that the script before pretends to be, longer than the bound</script>",
	`<noscript><script>a script in a noscript, with a body of more than sixty-four bytes in it</script></noscript>i`,
	`<template><script>a script in a template, with a body of more than sixty-four bytes in it</script></template>j`,
	`<table><script>a script in a table, with a body of more than sixty-four bytes of text</script><tr><td>l</table>`,
	`<math><mi><script>a script in a formula, with a body of more than sixty-four bytes in it</script></math>m`,
	`<SCRIPT>IN CAPITALS, WITH A BODY OF MORE THAN SIXTY-FOUR BYTES, AS PAGES WERE ONCE WRITTEN</SCRIPT>n`,
	`<a =b ="x" c = d/e f="g"h='i'><script>after odd attributes, a body of more than sixty-four bytes</script>o`,
	`<textarea><script>text to the end, with more than the sixty-four bytes that make it count</script `,
	`<p>a<svg viewBox="0"><title>A title</title><g><path d="M0 0"/><circle r=1></circle></g></svg>b<svg><path></svg>c`,
	`<svg><path d=x><p>breaks out</p><path></svg>d<svg><foreignObject><p>text</p></foreignObject></svg>e`,
	`<svg><title>not <p>only text</svg></title></svg>f<svg><desc></desc></p></svg>g<svg><![CDATA[</svg>]]></svg>h`,
	`<svg><![CDATA[ > </svg> ]]><path></svg>q<svg><? > </svg> ?></svg>r`,
	`<svg><title>x</svg><path>y</title></svg>s<svg><desc>x</svg>t<svg><desc><path></svg>u`,
	`<svg><![CDATA[></svg>0<svg>0</svg`,
	`<svg><![CDATA[></svg><script>a body in a text, longer than the sixty-four bytes that it takes to count</script>]]></svg>v`,
	`<svg><g><svg><path></svg><path></g></svg>i<svg><path/></svg><table><svg><path></svg><tr><td><svg><g></svg>j`,
	`<select><svg><title>k</title></svg><option>l</select><title><svg><path></svg></title><math><svg><path></svg></math>m`,
	`<svg><!-- </svg> --><path></svg>n<svg><path title="</svg>"></svg>o<svg><path></svgx><path></svg>p<svg><path>`,
	`<select><noscript><div class=x>text to the parser</div></noscript></select><p id=y class=z>w`,
	`<svg><desc></svg></desc><path class=x y=z><![CDATA[<p class=y>a text</p>]]></svg><p class=w>x`,
	`<a href=y HREF=z><a href=z b=c a=d><p a=b a=c A=d x="a&amp;b" y="&lt;&notit;&amp" z='&amp;lt; "'>y</a>`,
	`<a href="?a=1&b=2&amp=3&copy=4&amp;c=5&quot;6&d" a="& b" b=& c="&=" d="&;" e='&#39;&lt;' f="&ampx=" g="&amp" h="&#x27;&#0;">a`,
	"<p a='1\r\n2' b='\x00' /c/ d=/ e= =f g=\"h\"i>z<br/x=1/><img src=a><image a=b><p a=\"no end>",
	`<p><b c=1><b c=1><b c=1><b c=1><p><i d=2 c=1><a d=2 c=1><table><tr><td><a d=2 c=1>a</table><p>b`,
	`<html a=1><body b=2><p c=3><html a=4 d=5><body b=6 e=7><table><input type=hidden><input type=text f=8></table>`,
	`<math><annotation-xml encoding=text/html><div class=x>c</div></annotation-xml><mi class=y></math>&#1;<p class=&#1;>d`,
	`<style class=x>p > a { content: "<p class=y>, and more than the sixty-four bytes that it takes" }</style><p class=z>e`,
	`<!DOCTYPE html "><script>a body behind an odd doctype, with more than sixty-four bytes of text</script>p`,
	"<g><svg></g></svg>0", "<path><svg><g></path></svg>0", "<svg><title><title></svg><svg>0</svg", "<svg><B><stYle></svg><svg>0</svg", "<svg></p><style></svg><svg>0</svg>", "<div><svg></div><style></svg><svg>0</svg>", "<svg><desc><b><style></svg><svg>0</svg>", "<math><mi><title></math><svg>0</svg>", "<svg><foreignObject><title></svg><svg><path/>0</svg>", "<svg><g><path></g></path></svg>0", "<svg><g><path/><title>x</title></g></svg>0",
}

// difference is where two trees differ, but for what is below an svg element that is empty in got.
func difference(got, want *Tree) string {
	say := func(t *Tree, n, up ID) string {
		if n == 0 {
			return "nothing"
		}
		return fmt.Sprintf("%d %q %q %v in %q", t.Kind(n), t.Name(n), t.Data(n), t.Attrs(n), t.Name(up))
	}
	next := func(t *Tree, n ID, skip bool) ID {
		if skip {
			return t.After(n, Root)
		}
		return t.Following(n, Root)
	}
	for g, w := Root, Root; ; {
		empty := g != Root && got.Name(g) == "svg" && got.FirstChild(g) == 0
		g, w = next(got, g, empty), next(want, w, empty)
		if a, b := say(got, g, got.Parent(g)), say(want, w, want.Parent(w)); a != b {
			return a + ", not " + b
		}
		if g == 0 {
			return ""
		}
	}
}

func checkAsParsed(t *testing.T, page []byte) {
	t.Helper()
	got := Parse(page, Limits{})
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil || got.Flat || got.Truncated {
		return
	}
	want := new(Tree)
	want.FromHTML(root, Limits{})
	if d := difference(got, want); d != "" {
		t.Errorf("the page %q\ngives %s", page, d)
	}
}

func TestWhatIsTakenOutChangesNothing(t *testing.T) {
	for _, page := range tricky {
		checkAsParsed(t, []byte(page))
	}
	s := newScan([]byte(tricky[0]), Limits{}.withDefaults(), false)
	if !s.read() || len(s.scripts) != 1 || bytes.Contains(s.source(), []byte("not markup")) {
		t.Errorf("the script stays in %q", s.source())
	}
}

func TestAttributesAreReadOnce(t *testing.T) {
	page := `<div class="a" id=b><b class=c><style>` + strings.Repeat("p{}", 30) + `</style><p title="a &amp; b">x<p TITLE=y></p>`
	s := newScan([]byte(page), Limits{}.withDefaults(), false)
	if want := "<div \x012><b class=c><style>\x010</style><p \x01129>x<p TITLE=y></p>"; !s.read() || string(s.source()) != want {
		t.Errorf("%q", s.source())
	}
	if tree := Parse([]byte(page), Limits{}); tree.Attr(tree.First(Root, atom.P), "title") != "a & b" {
		t.Errorf("%q", tree.Attr(tree.First(Root, atom.P), "title"))
	}
}

func TestAPageWhoseMarksGoAstrayIsParsedAsItIs(t *testing.T) {
	page := []byte("<p class=x>&#1;2")
	tree := new(Tree)
	if tree.parse(page, Limits{}.withDefaults(), false) {
		t.Error("what a text says is taken for a mark")
	}
	checkAsParsed(t, page)
}

func TestLinesOfDrawingsAreNotParsed(t *testing.T) {
	page := `<p>a<svg class=icon><title>Icon</title><g><path d="M0"/></g></svg>b <svg><g data-latex="x^2"></g></svg>`
	s := newScan([]byte(page), Limits{}.withDefaults(), false)
	if want := `<p>a<svg class=icon></svg>b <svg><g data-latex="x^2"></g></svg>`; !s.read() || string(s.source()) != want {
		t.Errorf("%s", s.source())
	}
}

func FuzzScripts(f *testing.F) {
	for _, page := range tricky {
		f.Add([]byte(page))
	}
	f.Add([]byte("<p><b a=1><b a=2></p><table><td><i></table><div>x"))
	f.Fuzz(func(t *testing.T, page []byte) { checkAsParsed(t, page) })
}

// reopening are small pages of which the parser makes millions of nodes.
func reopening() map[string]string {
	var bold strings.Builder
	for i := range 400 {
		fmt.Fprintf(&bold, "<b c=%d>", i)
	}
	b := bold.String()
	closings := strings.Repeat("</b>", 400)
	blocks := strings.Repeat("<div>x</div>", 20_000) + "text"
	return map[string]string{
		"plain":                          "<p>" + b + "</p>" + blocks,
		"closed where it does not count": "<p>" + b + "</p><table><td>" + closings + "</table>" + blocks,
		"closed in a menu":               "<p>" + b + "</p><select>" + closings + "</select>" + blocks,
		"closed in an object":            "<p>" + b + "<object>" + closings + "</object></p>" + blocks,
		"a cell that is none":            "<p><td>" + b + "</td></p>" + blocks,
		"a table that is none":           "<select><table></select><p><td>" + b + "</td></p>" + blocks,
		"in a title of a picture":        "<svg><title></svg><p>" + b + "</p>" + blocks + "</title>",
	}
}

func TestPagesThatGrowInTheParserAreFlattened(t *testing.T) {
	for name, page := range reopening() {
		tree := Parse([]byte(page), Limits{})
		if !tree.Flat || tree.Len() > 100_000 || !strings.Contains(tree.Text(Root), "text") {
			t.Errorf("%s: flat %v, %d nodes", name, tree.Flat, tree.Len())
		}
	}
}

func TestOrdinaryFormattingIsNotTakenForGrowth(t *testing.T) {
	for name, page := range map[string]string{
		"unclosed in cells":    "<table>" + strings.Repeat("<tr><td><font size=2 color=red><b>x<td><font size=2>y", 5000) + "</table>",
		"pictures in links":    strings.Repeat("<div><a href=x><svg viewBox='0 0 1 1'><path d=x/></svg> x</a></div>", 5000),
		"self-closed pictures": strings.Repeat(`<div><a href=x><svg a="b"/> x</a></div>`, 5000),
		"unclosed anchors":     strings.Repeat("<p><a name=x>x", 5000),
		"links around tables":  strings.Repeat("<a href=y><table><td>x</table></a>", 5000),
		"templates":            strings.Repeat("<template><b class=z>x</b></template><p>y", 5000),
	} {
		if tree := Parse([]byte(page), Limits{}); tree.Flat || tree.First(Root, atom.Body) == 0 {
			t.Errorf("%s: flattened", name)
		}
	}
}

func TestDeepPicturesAndMenusDoNotSwallowWhatFollows(t *testing.T) {
	for _, tag := range []string{"<svg>", "<select>"} {
		tree := Parse([]byte("<p>one</p>"+strings.Repeat("<svg><g>", 400)+tag+"no<p>two"), Limits{})
		if got := tree.Text(tree.First(Root, atom.Body)); !tree.Flat || got != "onetwo" {
			t.Errorf("%s: flat %v, %q", tag, tree.Flat, got)
		}
	}
}
