package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

// keptBy makes the Content that holds what stands in elements of class k.
func keptBy(t *dom.Tree) Content {
	set := dom.NewSet(t)
	for n := range t.Descendants(dom.Root) {
		if t.Attr(n, "class") == "k" {
			t.AddSubtree(&set, n)
			t.AddAncestors(&set, n)
		}
	}
	return Content{Keep: set}
}

func blockTexts(page string) (kept, rest string) {
	t := dom.Parse([]byte(page), dom.Limits{})
	for _, b := range TextBlocks(t, keptBy(t)) {
		if b.Kept {
			kept += "|" + strings.TrimSpace(b.Text+" "+strings.Join(b.Files, " "))
		} else {
			rest += "|" + b.Text
		}
	}
	return kept, rest
}

func TestAComparisonTakesInWhatBelongsToTheContent(t *testing.T) {
	cases := map[string]struct{ page, kept, rest string }{
		"the title of the page": {`<title>Regeling dorpshuizen | Gemeente</title><div>Regeling dorpshuizen</div><div><p class=k>Tekst.</div><h1>Kop</h1>`,
			"|Regeling dorpshuizen|Tekst.|Kop", ""},
		"documents, one by one":           {`<div><p class=k>Tekst.</div><div><a href="/a.pdf?v=1">A</a><a href="/b.pdf/view">B</a></div>`, "|Tekst.|A /a.pdf|B /b.pdf", ""},
		"all that a document's link says": {`<div><p class=k>Tekst.</div><a href="/a.pdf"><div>A</div><div>40 kB</div></a><p>B`, "|Tekst.|A /a.pdf|40 kB", "|B"},
		"documents of the footer":         {`<div><p class=k>Tekst.</div><footer><a href="/a.pdf">A</a></footer>`, "|Tekst.", "|A"},
		"a gap in a run":                  {`<div><p class=k>Een.</p><p>Twee</p><p><a href=/x>Menu</a></p><p class=k>Drie.</p></div>`, "|Een.|Twee|Drie.", "|Menu"},
		"a gap between far parts": {`<div><div><div><div><div><div><p class=k>Een.</div></div></div></div></div></div><p>Twee<div><div><div><div><div><p class=k>Drie.</div></div></div></div></div>`,
			"|Een.|Drie.", "|Twee"},
		"a paragraph that goes on": {`<div><p class=k>Een.</p><p>Vragen over uw plan? Bel ons gerust.</p><p>Deel dit</p></div>`, "|Een.|Vragen over uw plan? Bel ons gerust.", "|Deel dit"},
		"a panel made of a menu": {`<div><p class=k>Een.</p><div><div>Bezwaar</div><nav><p>U kunt binnen zes weken bezwaar maken.</p></nav></div></div>`,
			"|Een.|Bezwaar|U kunt binnen zes weken bezwaar maken.", ""},
		"a form around the page":    {`<form><h1>Kop</h1><p class=k>Een.</p></form><form><p>Vond u op deze pagina wat u zocht.</p></form>`, "|Kop|Een.", "|Vond u op deze pagina wat u zocht."},
		"columns of a layout table": {`<table><tr><td>Vandaag 3 mei<br>a<br>b<br>c<br>d<td class=k>Een.</table>`, "|Een.", "|Vandaag 3 mei|a|b|c|d"},
		"cells of a data table":     {`<table><tr><td class=k>Advies<td class=k>60%</table>`, "|Advies 60%", ""},
		"labels and values":         {`<p class=k><span class=l>Status</span><span class=v>Open</span></p>`, "|Status Open", ""},
		"a link around blocks":      {`<div class=k><a href="/a.pdf"><div>Begroting</div><div>40 kB</div></a></div>`, "|Begroting /a.pdf|40 kB", ""},
	}
	for name, c := range cases {
		if kept, rest := blockTexts(c.page); kept != c.kept || rest != c.rest {
			t.Errorf("%s: kept %q, want %q; rest %q, want %q", name, kept, c.kept, rest, c.rest)
		}
	}
}

func FuzzTextBlocks(f *testing.F) {
	f.Add("<table><tr><td><p class=k>a<br>b<td>c</table><nav><p>d e f g h.")
	f.Add("<form><h1>t</h1><a class=k href=x.pdf><div>x</div></a><a href=y.pdf>y</a><p>Een twee drie vier vijf@zes.</p></form>")
	f.Fuzz(func(t *testing.T, page string) {
		tree := dom.Parse([]byte(page), dom.Limits{})
		for _, b := range TextBlocks(tree, keptBy(tree)) {
			if b.Text == "" && len(b.Files) == 0 {
				t.Error("an empty block")
			}
			if strings.Contains(b.Text, "  ") || strings.TrimSpace(b.Text) != b.Text {
				t.Errorf("blanks are not folded: %q", b.Text)
			}
		}
	})
}
