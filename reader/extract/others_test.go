package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

// story is the page of an article of news with a part in its text and another far behind it.
func story(amid, behind string) string {
	page := `<html lang="en"><head><title>Ferry returns to the lower lake | Aldermere Courier</title><meta property="og:type" content="article"></head><body><div class="site"><div class="top"><a href="/">Courier</a></div>
<main><div class="wrap"><div class="column"><article><h1>Ferry returns to the lower lake</h1><div class="text"><p>The old ferry crossed the lower lake again on Monday, eleven years after the service ended, and the first forty passengers were carried for nothing.</p>
<p>Two volunteers had rebuilt the boat in a barn near the southern shore, plank by plank, with timber that a sawmill had put aside for them since the spring.</p>` + amid + `
<p>“We never counted the hours,” said the elder of the two, who had worked on the ferry as a boy, “and nobody should ask us to begin with that now.”</p>
<p>From next week the boat will cross six times a day, except in strong wind, and the fare will be the same as it was on the last day of the old service.</p></div></article></div></div></main>` + behind + `</div></body></html>`
	t := dom.Parse([]byte(page), dom.Limits{})
	c := Extract(t, nil, Options{})
	var b strings.Builder
	for n := range t.Descendants(dom.Root) {
		if t.Kind(n) == dom.Text && c.Keep.Has(n) {
			b.WriteString(strings.TrimSpace(t.Data(n)) + "|")
		}
	}
	return b.String()
}

// rest is an article of its own behind the first.
const rest = `<section><article><h1>Zebra found in the museum's cellar</h1><div class="text"><p>Nobody at the museum knew that the zebra was there until a pipe burst on Sunday night, and the firemen carried the crates up the stairs.</p>
<p>The animal was given to the town in the year the railway came, as a letter in the crate shows, and had been on show for two summers only.</p></div></article></section>`

// cards are links to other articles with their first lines.
const cards = `<div class="more"><div><ul><li class="card"><div class="in"><div class="head"><a href="/n/1">Mayor asks for a second zebra crossing</a></div><div class="line">The mayor told the council on Tuesday that one crossing was not enough for a street with two schools, and that the money could be found within the year.</div></div></li>
<li class="card"><div class="in"><div class="head"><a href="/n/2">Zebra fish return to the upper river</a></div><div class="line">Anglers at the upper river have seen the striped fish again since the weir was opened, and a count in the autumn is to show how many there are.</div></div></li>
<li class="card"><div class="in"><div class="head"><a href="/n/3">Circus leaves without its zebra</a></div><div class="line">A circus that had stayed on the meadow for a month left on Friday, but one of its animals would not go, and stands behind the baker’s house now.</div></div></li></ul></div></div>`

func TestAnArticleHasNothingOfOthers(t *testing.T) {
	for name, got := range map[string]string{
		"a second article": story("", rest),
		"cards":            story("", cards),
		"a line":           story(`<p>Read also: <a href="/n/1">Mayor asks for a second zebra crossing</a></p>`, ""),
		"a line in French": story(`<p><strong>À lire aussi</strong> <a href="/n/1">Un zèbre dans la ville, ou le zebra du maire</a></p>`, ""),
	} {
		if strings.Contains(strings.ToLower(got), "zebra") || !strings.Contains(got, "never counted") || !strings.Contains(got, "six times a day") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestLabelsOfAdvertisementsAreDropped(t *testing.T) {
	for _, label := range []string{"Advertisement", "Anzeige", "Publicidad:", "広告", "Реклама"} {
		if got := story(`<p>`+label+`</p>`, ""); strings.Contains(got, label) {
			t.Errorf("%s: %s", label, got)
		}
	}
}

func TestWhatAnArticleSaysOfOthersStays(t *testing.T) {
	for name, part := range map[string]string{
		"a sentence":         `<p>Read also what the zebra keeper wrote in his diary, of which <a href="/d">a copy</a> lies in the library of the town for everybody to see.</p>`,
		"a word longer":      `<p>Advertisement of the zebra was forbidden in those years, as the older people of the town remember well.</p>`,
		"a heading in it":    `<h1>A zebra on board</h1><p>The first animal to be carried was a zebra of wood, which the children of the northern school had painted.</p>`,
		"a link in the text": `<p>The timber came from <a href="/s">the sawmill of the zebra wood company</a>, which had kept it dry for seven months and asked for no more than the price of the saw blades.</p>`,
	} {
		if got := story(part, ""); !strings.Contains(strings.ToLower(got), "zebra") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
