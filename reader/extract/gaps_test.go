package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

// between makes an article with a construct between two of its paragraphs, and gives the kept text.
func between(construct string) string {
	para := "<p>The council has set aside a further sum for the repair of older bridges, and owners may ask for a part of it until the end of the year.</p>"
	page := "<html><head><title>Repair of bridges</title></head><body><nav><a href=/>Home</a></nav><main><article><h1>Repair of bridges</h1>" +
		para + strings.ReplaceAll(para, "council", "province") + construct + strings.ReplaceAll(para, "council", "district") + "</article></main></body></html>"
	t := dom.Parse([]byte(page), dom.Limits{})
	c := Extract(t, nil, Options{})
	var b strings.Builder
	for n := range t.Descendants(dom.Root) {
		if t.Kind(n) == dom.Text && c.Keep.Has(n) {
			b.WriteString(t.Data(n) + " ")
		}
	}
	return b.String()
}

func TestWhatAnAuthorSetsBetweenParagraphsStays(t *testing.T) {
	for _, construct := range []string{
		"<dl><dt>Span</dt><dd>zebra</dd><dt>Load</dt><dd>quagga</dd></dl>",
		"<details><summary>zebra</summary><p>quagga</p></details>",
		"<div class=\"highlight\"><table><tr><td>1</td><td>zebra quagga</td></tr></table></div>",
		"<ol><li>zebra</li><li>quagga</li></ol>",
	} {
		if got := between(construct); !strings.Contains(got, "zebra") || !strings.Contains(got, "quagga") {
			t.Errorf("%s is not whole in %q", construct, got)
		}
	}
}

func TestCodeAtTheEndStays(t *testing.T) {
	para := "<p>Good tea needs fresh water, a warm pot and a little patience; everything else is a matter of taste, of which there are many.</p>"
	for _, end := range []string{"<pre>zebra --quagga</pre>", "<pre><code class=language-sh>zebra --quagga</code></pre>", "<table><tr><th>Tea<th>Minutes<tr><td>Green<td>2</table><pre>zebra --quagga</pre>"} {
		tree := dom.Parse([]byte("<title>Tea</title><nav><a href=/>Home</a></nav><main><article><h1>Tea</h1>"+para+"<h2>What you need</h2>"+strings.ReplaceAll(para, "tea", "soup")+end+"</article></main><footer>All rights reserved.</footer>"), dom.Limits{})
		c := Extract(tree, nil, Options{})
		kept := false
		for n := range tree.Descendants(dom.Root) {
			kept = kept || c.Keep.Has(n) && tree.Data(n) == "zebra --quagga"
		}
		if !kept {
			t.Errorf("%s is not kept", end)
		}
	}
}

func TestFurnitureBetweenParagraphsGoes(t *testing.T) {
	for _, construct := range []string{
		"<div role=dialog><h3>zebra</h3><p>quagga</p></div>",
		"<form><h3>zebra</h3><label>quagga <input name=q></label></form>",
	} {
		if got := between(construct); strings.Contains(got, "zebra") || strings.Contains(got, "quagga") {
			t.Errorf("%s is in %q", construct, got)
		}
	}
}

func TestAPictureStaysWhereItsCaptionGoes(t *testing.T) {
	for _, c := range []struct {
		figure string
		text   bool
	}{
		{"<figure><img src=/p.jpg alt=bridge><figcaption>zebra</figcaption></figure>", false},
		{"<div class=highlights><figure><img src=/p.jpg alt=bridge><figcaption>zebra</figcaption></figure></div>", false},
		{"<figure><img src=/p.jpg alt=bridge><table><tr><td>zebra</td></tr></table></figure>", true},
	} {
		if picture, text := withFigure(c.figure); !picture || text != c.text {
			t.Errorf("%s: the picture stays: %v, the text stays: %v", c.figure, picture, text)
		}
	}
}

// withFigure says what stays of a figure between two paragraphs when the classifier keeps these alone.
func withFigure(figure string) (picture, text bool) {
	para := "<p>The council has set aside a further sum for the repair of older bridges, and owners may ask for a part of it.</p>"
	tree := dom.Parse([]byte("<article>"+para+figure+para+"</article>"), dom.Limits{})
	var p blocks.Page
	p.Prepare(tree, nil)
	keep := make([]bool, len(p.Blocks))
	keep[0], keep[len(keep)-1] = true, true
	closeGaps(tree, &p, keep)
	set := gather(tree, &p, keep)
	for n := range tree.Descendants(dom.Root) {
		picture = picture || set.Has(n) && tree.Attr(n, "alt") == "bridge"
		text = text || set.Has(n) && tree.Data(n) == "zebra"
	}
	return picture, text
}

func TestAPictureForReadersWithoutScriptsStays(t *testing.T) {
	for _, picture := range []string{
		`<p><noscript><img src="/p.jpg" alt="bridge"></noscript></p>`,
		`<amp-img src="/p.jpg" alt="bridge"></amp-img>`,
	} {
		tree := dom.Parse([]byte("<body><article><p>The council has set aside a further sum for the repair of bridges, and owners may ask for it until June.</p>"+
			picture+"<p>The province has set aside a further sum for the repair of roads, and owners may ask for it until July.</p></article></body>"), dom.Limits{})
		c := Extract(tree, nil, Options{})
		kept := false
		for n := range tree.Descendants(dom.Root) {
			kept = kept || c.Keep.Has(n) && tree.Attr(n, "alt") == "bridge"
		}
		if !kept {
			t.Errorf("%s is lost", picture)
		}
	}
}
