package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

func TestNotesThatTheTextRefersToAreKept(t *testing.T) {
	const text = `<p>Peat was dug here for six hundred years%1, and by the end of that time the land lay two metres lower than the river beside it.</p>
<p>The mills came late. A list of the year 1630 names eleven of them, and a map of 1712 shows forty-two%2, each with its own ditch to the dyke.</p>
<p>What they pumped out in a winter, a single engine of today moves in a day, which is why the last mill was stopped in 1951.</p>`
	const menu = `<nav><ul><li><a href="/a">Home</a><li><a href="/b">History</a><li><a href="/c">Visit</a></ul></nav>`
	const end = `<footer><p>Museum of the low lands, open from Tuesday to Sunday</p><ul><li><a href="/d">Press</a><li><a href="/e">Jobs</a></ul></footer>`
	refs := map[string][2]string{
		"raised":  {"<sup>1</sup>", "<sup>2</sup>"},
		"linked":  {`<sup><a href="#n1">1</a></sup>`, `<sup><a href="#n2">2</a></sup>`},
		"without": {"", ""},
	}
	first, second := "Rents, no. 14.", "Kept at the town hall, sheet 3."
	notes := map[string]string{
		"list":       `<div class="wrap"><div class="Post-module__footnotes"><h4>Footnotes</h4><ol><li id="n1">` + first + `</li><li id="n2">` + second + `</li></ol></div></div>`,
		"paragraphs": `<div class="wrap"><div class="small-print"><h4>Notes</h4><p id="n1"><sup>1</sup> ` + first + `</p><p id="n2"><sup>2</sup> ` + second + `</p></div></div>`,
		"asides":     `<div class="wrap"><aside><ol start="1"><li id="n1">` + first + `</li></ol></aside><aside><ol start="2"><li id="n2">` + second + `</li></ol></aside></div>`,
	}
	for ref, marks := range refs {
		for kind, note := range notes {
			page := "<html><body>" + menu + "<article><h1>How the low land was drained</h1>" + strings.NewReplacer("%1", marks[0], "%2", marks[1]).Replace(text) + "</article>" + note + end + "</body></html>"
			tree := dom.Parse([]byte(page), dom.Limits{})
			got := keptText(tree, Extract(tree, nil, Options{}))
			kept := strings.Contains(got, first) && strings.Contains(got, second)
			if kept != (ref != "without") {
				t.Errorf("%s, %s: the notes are kept: %v, in %q", ref, kind, kept, got)
			}
			if strings.Contains(got, "Tuesday") {
				t.Errorf("%s, %s: the foot of the page is in %q", ref, kind, got)
			}
		}
	}
}
