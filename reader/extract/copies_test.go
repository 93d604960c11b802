package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

const offer = `<div class="%CLASS%"><h2>The ash lamp, oiled by hand</h2><p>With a cable of two metres</p><p>€ 129.00</p></div>`

func TestAWareIsShownOnce(t *testing.T) {
	wide, narrow := strings.Replace(offer, "%CLASS%", "desktop", 1), strings.Replace(offer, "%CLASS%", "mobile", 1)
	cards := ""
	for _, name := range []string{"Oak", "Elm", "Yew", "Fir", "Box"} {
		cards += "<li><h3>" + name + " lamp</h3><p>Oiled by hand, with a base of cast iron and a shade of linen, in stock again from next week on.</p><p>€ 99.00</p></li>"
	}
	pair := ""
	for _, what := range []string{"Shade|Made of linen from the mill in the valley, it fits each of our lamps.", "Base|Cast of iron in the works by the river, it fits each of our lamps.",
		"Cable|Made of cotton and copper, two metres long, it fits each of our lamps.", "Second shade|Made of linen from the mill in the valley, it fits each of our lamps."} {
		name, says, _ := strings.Cut(what, "|")
		pair += "<li><h3>" + name + "</h3><p>" + says + "</p></li>"
	}
	got := keptText(warePage(wide + "<p>" + lamp + "</p>" + aboutShop + "<p>" + lamp + "</p><h2>Parts of the lamp</h2><ul>" + pair + "</ul><ul>" + cards + "</ul>" + narrow))
	for text, want := range map[string]int{"oiled by hand ": 1, "€ 129.00": 1, "turned from a single piece of ash": 1, "linen from the mill": 2} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is there %d times, want %d, in %q", text, n, want, got)
		}
	}
	if n := strings.Count(got, "Oiled by hand, with a base"); n != 0 && n != 5 {
		t.Errorf("a phrase of five cards is there %d times", n)
	}
}

func TestAPartThatFollowsItsCopyIsKeptOnce(t *testing.T) {
	part := `<div class="%CLASS%"><h2>Who can apply</h2><p>An association or a foundation of this town can apply, if it has at least twenty members.</p>
<ul><li>The plan is ready before the first of May.</li><li>The plan costs no more than 9,000 euros.</li></ul></div>`
	twins := strings.Replace(part, "%CLASS%", "show-for-large", 1) + strings.Replace(part, "%CLASS%", "hide-for-large", 1)
	alike := func(name string) string {
		return "<h3>" + name + "</h3><p>Takes the name of a file and the bytes to write.</p><h4>Errors</h4><p>The file may be closed by now.</p><p>The disk may be full.</p>"
	}
	page := `<html lang="en"><body><nav><a href="/">Home</a></nav><main><h1>Green roofs</h1><p>The town pays a part of what a green roof costs, up to 2,500 euros for each roof.</p>` +
		twins + "<h2>Calls</h2>" + alike("Write") + alike("Append") + `</main></body></html>`
	tree := dom.Parse([]byte(page), dom.Limits{})
	got := keptText(tree, Extract(tree, nil, Options{}))
	for text, want := range map[string]int{"Who can apply": 1, "at least twenty members": 1, "9,000 euros": 1, "The file may be closed": 2, "The disk may be full": 2} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is there %d times, want %d, in %q", text, n, want, got)
		}
	}
}
