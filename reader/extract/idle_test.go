package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract/internal/blocks"
)

func TestLinesThatOnlyCountOrTellTheTimeAreLeftOut(t *testing.T) {
	const page = `<html lang="nl"><body><ul><li><a href="/a">Wonen</a><li><a href="/b">Werken</a></ul><main><h1>Regeling dorpshuizen</h1>
<p>%LINE%</p><p>Wilt u iets moois op touw zetten? Met deze regeling betalen wij een deel van uw kosten, als u ten minste vijf buren meeneemt.</p>
<h2>Voorwaarden</h2><p>U bent bestuurder van een stichting of vereniging zonder winstoogmerk. Een schuld aan de gemeente is een reden om te weigeren.</p>
<table><tr><th>Soort<th>Aantal<tr><td>Feest<td>250 bezoekers<tr><td>Markt<td>900 bezoekers</table></main></body></html>`
	lines := map[string]bool{
		"Deze pagina is 212 keer bekeken": false, "Nog 12 dagen": false, "Megtekintések száma: 233": false, "24 results found": false, "Vandaag is het 3 mei 2027": false,
		"Geplaatst door redactie op 3 mei 2027": false, "Közzétette: szerkesztő, 2027. május 3.": false, "Posted by editor on 3 May 2027 • 1204 views": false,
		"Gepubliceerd door de gemeente in 2027, en geldig zolang er geld in de pot is.": true,
		"Minimaal 150 bezoekers": true, "Sluit op 3 mei 2027": true, "Nog 12 dagen om mee te doen met uw plan": true,
	}
	for line, content := range lines {
		tree := dom.Parse([]byte(strings.Replace(page, "%LINE%", line, 1)), dom.Limits{})
		text := ""
		for _, b := range TextBlocks(tree, Extract(tree, nil, Options{})) {
			if b.Kept {
				text += b.Text + "\n"
			}
		}
		// A comparison takes in gaps, so ask the content itself.
		c := Extract(tree, nil, Options{})
		kept := false
		for n := range tree.Descendants(dom.Root) {
			kept = kept || tree.Kind(n) == dom.Text && strings.Contains(tree.Data(n), line) && c.Keep.Has(n)
		}
		if kept != content {
			t.Errorf("%q kept: %v", line, kept)
		}
		if !strings.Contains(text, "250 bezoekers") {
			t.Errorf("a value in a table is gone: %q", text)
		}
	}
}

func TestADefinitionIsAValueOnlyBehindItsTerm(t *testing.T) {
	const text = "<p>Wilt u iets moois op touw zetten? Met deze regeling betalen wij een deel van uw kosten, als u ten minste vijf buren meeneemt.</p>"
	tree := dom.Parse([]byte("<body><main>"+text+"<dl><dd>Bekeken: 212 keer</dd></dl>"+text+"<dl><dt>Bezocht</dt><dd>250 bezoekers</dd></dl>"+text+"</main>"), dom.Limits{})
	var p blocks.Page
	p.Prepare(tree, nil)
	keep := make([]bool, len(p.Blocks))
	for i := range keep {
		keep[i] = true
	}
	withoutIdle(&p, keep)
	for i := range keep {
		if got := p.Text(i); keep[i] == strings.HasPrefix(got, "Bekeken") {
			t.Errorf("%q kept: %v", got, keep[i])
		}
	}
}
