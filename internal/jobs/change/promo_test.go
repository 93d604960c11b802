package change

import (
	"net/url"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract"
)

// around is a made-up page with a slot in its main container.
func around(slot string) string {
	return `<!doctype html><html><head><title>Geld voor straatfeesten</title></head><body><main><h1>Geld voor straatfeesten</h1>
<p>Bewoners van Rietbroek die een straatfeest houden, krijgen geld voor muziek, tafels en afzetting van de straat.</p>
<p>U dient het plan acht weken van tevoren in met het formulier, samen met uw buren.</p>` + slot + `
<p>Het college besluit binnen zes weken en schrijft u een brief met het bedrag en de voorwaarden.</p></main></body></html>`
}

func visitSlot(t *testing.T, d *Detector, s State, slot string) (Report, State) {
	t.Helper()
	base, err := url.Parse("https://rietbroek.example/feest")
	if err != nil {
		t.Fatal(err)
	}
	tree := dom.Parse([]byte(around(slot)), dom.Limits{})
	return d.Visit(s, extract.TextBlocks(tree, extract.Extract(tree, base, extract.Options{})))
}

// filled is a box with a title and a text in it.
func filled(box string, turn [2]string) string {
	return strings.NewReplacer("TITLE", turn[0], "TEXT", turn[1]).Replace(box)
}

// passesOver visits a page whose box takes turns, and answers what is kept of the last one. No turn may be reported.
func passesOver(t *testing.T, d *Detector, box string, turns [][2]string) State {
	t.Helper()
	var s State
	for i, turn := range turns {
		var r Report
		r, s = visitSlot(t, d, s, filled(box, turn))
		if i > 0 && r.Kind != Unchanged {
			t.Errorf("%s: turn %d is reported: %+v", box, i, r)
		}
	}
	return s
}

// What takes turns in a box that says so is no change, though the box stands inside the content.
func TestABoxWhosePromotionsTakeTurnsIsNoChange(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	turns := [][2]string{
		{"Kom naar de molendag", "Proef brood van de molenaar en klim naar boven."},
		{"Jöjjön el a malomba", "Kóstolja meg a molnár kenyerét, és nézzen szét fentről."},
		{"Visit the old mill", "Taste the bread and climb up to the top."},
	}
	for _, box := range []string{
		`<div class="c-promo"><h3>TITLE</h3><p>TEXT</p></div>`,
		`<section class="block block-banner"><p><a href="/x">TITLE</a></p><p>TEXT</p></section>`,
		`<div id="banner"><p>TITLE. TEXT</p></div>`,
		`<div id="promoBlock"><p>TITLE. TEXT</p></div>`,
		`<div aria-roledescription="carousel"><div><p>TITLE. TEXT</p></div></div>`,
		`<div class="carousel"><div class="item active"><h3>TITLE</h3><p>TEXT</p></div></div>`,
		`<div class="uitgelicht"><h2>Uitgelicht</h2><p><a href="/x">TITLE</a></p><p>TEXT</p></div>`,
		`<div class="ajanlott-tartalom"><h3>TITLE</h3><p>TEXT</p></div>`,
		`<div class="tip"><p>TITLE. TEXT</p></div>`,
		`<section class="related-news"><h3><a href="/x">TITLE</a></h3><p>TEXT</p></section>`,
		`<aside><p><a href="/x">TITLE</a></p><p>TEXT</p></aside>`,
		`<div role="complementary"><h3>TITLE</h3><p>TEXT <a href="/x">→</a></p></div>`,
		`<aside><h2>Kiemelt</h2><p>TITLE. TEXT</p></aside>`,
	} {
		s := passesOver(t, d, box, turns)
		if r, _ := visitSlot(t, d, s, `<p>Voor de wijk Noord is het geld op.</p>`+box); r.Kind != Changed || !says(r, "wijk Noord") {
			t.Errorf("%s: the paragraph before it is not told: %+v", box, r)
		}
	}
}

// A box with such a name that tells of money, has a document, facts or an address to write to, is one of
// several cards, or speaks of the page itself is content.
func TestABoxThatTellsOfACallIsContent(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	for _, c := range [][3]string{ // before, after, what an excerpt says
		{`<div class="uitgelicht"><p>Kom naar de molendag.</p></div>`, `<div class="uitgelicht"><p>Nieuw: subsidie voor groene daken.</p></div>`, "groene daken"},
		{`<div class="kiemelt"><p>Jöjjön el a malomba.</p></div>`, `<div class="kiemelt"><p>Új pályázat nyílt zöld tetőkre.</p></div>`, "zöld tetőkre"},
		{`<aside><p><a href="/x">Visit the mill.</a></p></aside>`, `<aside><p><a href="/x">New grants for green roofs.</a></p></aside>`, "green roofs"},
		{`<div class="banner"><p>Kom naar de molendag.</p></div>`, `<div class="banner"><p>Het loket gaat eerder dicht.</p></div>`, "eerder dicht"},
		{`<div class="tip"><p>Vraag op tijd, tot 3 mei.</p></div>`, `<div class="tip"><p>Vraag op tijd, tot 9 mei.</p></div>`, "9 mei"},
		{`<div class="alert-banner"><p>Het kantoor is open.</p></div>`, `<div class="alert-banner"><p>Het kantoor is verhuisd.</p></div>`, "verhuisd"},
		{`<div class="teaser"><p>Geld voor muziek op straat.</p></div> <div class="teaser"><p>Geld voor tafels op straat.</p></div>`,
			`<div class="teaser"><p>Geld voor muziek op straat.</p></div> <div class="teaser"><p>Geld voor lampen op straat.</p></div>`, "lampen"},
		{`<div class="col"><div class="teaser"><p>Geld voor muziek op straat.</p></div></div> <div class="col"><div class="teaser"><p>Geld voor tafels op straat.</p></div></div>`,
			`<div class="col"><div class="teaser"><p>Geld voor muziek op straat.</p></div></div> <div class="col"><div class="teaser"><p>Geld voor lampen op straat.</p></div></div>`, "lampen"},
		{`<ul><li><div class="featured"><p>Geld voor muziek op straat.</p></div></li></ul>`, `<ul><li><div class="featured"><p>Geld voor lampen op straat.</p></div></li></ul>`, "lampen"},
		{`<p class="tip">Neem een foto van de straat mee.</p>`, `<p class="tip">Neem een kaart van de straat mee.</p>`, "kaart"},
		{`<aside><p>Vragen? <a href="/x">Mail</a> anna (at) de balie.</p></aside>`, `<aside><p>Vragen? <a href="/x">Mail</a> feest@rietbroek.example of kom langs.</p></aside>`, "kom langs"},
		{`<div class="related"><p><a href="/a/regels.pdf">De regels</a></p></div>`, `<div class="related"><p><a href="/a/kaart.pdf">De kaart</a></p></div>`, "De kaart"},
		{`<div class="featured"><table><tr><th>Groep</th><td>straten</td></tr></table></div>`, `<div class="featured"><table><tr><th>Groep</th><td>pleinen</td></tr></table></div>`, "pleinen"},
	} {
		_, s := visitSlot(t, d, State{}, c[0])
		if r, _ := visitSlot(t, d, s, c[1]); r.Kind != Changed || !says(r, c[2]) {
			t.Errorf("%s is not told: %+v", c[1], r)
		}
	}
}

// A site that names the box of all its content so has content all the same, and a box's title is no
// heading of what follows.
func TestAPromotionIsMeasuredAgainstThePage(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	visit := func(s State, body string) (Report, State) {
		tree := dom.Parse([]byte("<html><head><title>Molen</title></head><body><main>"+body+"</main></body></html>"), dom.Limits{})
		base := &url.URL{Scheme: "https", Host: "rietbroek.example", Path: "/molen"}
		return d.Visit(s, extract.TextBlocks(tree, extract.Extract(tree, base, extract.Options{})))
	}
	_, s := visit(State{}, `<p>Over de molen.</p><div class="slider"><p>De molen maalt op zaterdag voor wie graan brengt, ook bij regen.</p></div>`)
	if r, _ := visit(s, `<p>Over de molen.</p><div class="slider"><p>De molen maalt op zondag voor wie graan brengt, ook bij regen.</p></div>`); r.Kind != Changed {
		t.Errorf("the content of a page in a slider is passed over: %+v", r)
	}
	box := `<div class="promo"><h2>Kom naar de molendag</h2><p>Proef brood.</p></div>`
	_, s = visitSlot(t, d, State{}, box)
	r, _ := visitSlot(t, d, s, box+`<p>Voor de wijk Noord is het geld op.</p>`)
	if len(r.Passages) != 1 || strings.Contains(strings.Join(r.Passages[0].Heading, "/"), "molendag") {
		t.Errorf("a promotion heads the paragraph behind it: %+v", r)
	}
}
