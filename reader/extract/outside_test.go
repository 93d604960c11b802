package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

const lamp = "The lamp is turned from a single piece of ash, oiled by hand, and stands on a base of cast iron that keeps it steady. " +
	"Its shade is of linen, woven in a mill that has worked for three generations, and throws a warm light over a desk or a bed. " +
	"The cable is two metres long and the bulb can be changed without a tool."

// ware is a shop's page whose data describe what it sells; shown is the text of the page.
func warePage(shown string) (*dom.Tree, Content) {
	t := dom.Parse([]byte(`<html><head><title>Ash lamp</title><script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Ash lamp","description":"`+lamp+`",
"review":[{"@type":"Review","reviewBody":"A zebra of a lamp, I would buy it again for every room of the house and for my neighbours too."}]}</script></head>
<body><main><h1>Ash lamp</h1>`+shown+`</main></body></html>`), dom.Limits{})
	return t, Extract(t, nil, Options{})
}

func keptText(t *dom.Tree, c Content) string {
	var b strings.Builder
	for n := range t.Descendants(dom.Root) {
		if t.Kind(n) == dom.Text && c.Keep.Has(n) {
			b.WriteString(t.Data(n) + " ")
		}
	}
	return b.String()
}

const aboutShop = "<p>Every lamp of ours is packed by hand in our own workshop, and we send it on the same day when you order before noon, in a box that you can use again. " +
	"Should it not please you after all, then send it back to us within thirty days, and we will pay the postage both ways.</p>"

func TestADescriptionThatThePageDoesNotShowComesFromItsData(t *testing.T) {
	got := keptText(warePage(aboutShop))
	if n := strings.Count(got, "turned from a single piece of ash"); n != 1 {
		t.Errorf("the description is there %d times in %q", n, got)
	}
	if strings.Contains(got, "zebra") {
		t.Errorf("a review is in %q", got)
	}
}

func TestADescriptionThatThePageShowsIsTakenOnce(t *testing.T) {
	got := keptText(warePage("<p>" + lamp + "</p>" + aboutShop))
	if n := strings.Count(got, "turned from a single piece of ash"); n != 1 {
		t.Errorf("the description is there %d times in %q", n, got)
	}
}
