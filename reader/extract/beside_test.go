package extract

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

// call is the page of a call for applications with a part put behind its text.
func call(part string) string {
	const secs = `<h2>Who can apply</h2><p>You must be a constituted group, a registered charity or a social enterprise with a bank account in its own name.</p>
<h2>How much you can get</h2><p>You can ask for up to half of the eligible costs, to a limit of £12,000 for each application. If the fund is oversubscribed we will rank applications by score.</p>
<h2>What happens next</h2><p>An assessor will read your application and may phone you to talk it through, and the panel meets in the first week of June.</p>`
	page := `<html lang="en"><head><title>Heritage Repair Fund | Aldermere</title></head><body><div class="top"><a href="/">Aldermere</a><ul><li><a href="/bins">Bins</a></li><li><a href="/tax">Council tax</a></li><li><a href="/jobs">Jobs</a></li></ul></div>
<main><h1>Heritage Repair Fund</h1><p>The scheme pays part of the cost of work that would not go ahead without support from public money, and opens twice a year.</p>` + secs + part + `</main></body></html>`
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

func TestWhatSaysThatItIsBesideIsDropped(t *testing.T) {
	for name, part := range map[string]string{
		"contents":          `<h2>Contents zebra</h2><ul><li><a href="#a">Who can apply</a></li><li><a href="#b">How much you can get</a></li><li><a href="#c">What happens next</a></li></ul><p>Tell us straight away if your plans or your costs change, because this may affect what we can pay.</p>`,
		"news":              `<section><h2>Latest news</h2><div><h3><a href="/n/1">New zebra opens</a></h3><p>The mayor cut the ribbon at Saturday’s opening in the north ward.</p></div><div><h3><a href="/n/2">Bridge closed overnight</a></h3><p>Repairs will close the zebra bridge to traffic for three nights.</p></div></section>`,
		"news without tags": `<table><tr><td><b>Latest news</b><br><a href="/n/1">New zebra opens</a><br><font size="1">The mayor cut the ribbon in the north ward.</font><br><br><a href="/n/2">Bridge closed overnight</a><br><font size="1">Repairs will close the zebra bridge to traffic for three nights.</font></td></tr></table>`,
		"recommended":       `<section><h2>Recommended for you</h2><div><h3><a href="/n/1">New zebra opens</a></h3><p>The mayor cut the ribbon at Saturday’s opening in the north ward.</p></div><div><h3><a href="/n/2">Bridge closed overnight</a></h3><p>Repairs will close the zebra bridge to traffic for three nights.</p></div></section>`,
		"question":          `<div><p>Was this zebra of use to you, neighbour?</p><button>Yes</button> <button>No</button></div><p>Tell us straight away if your plans or your costs change, because this may affect what we can pay.</p>`,
		"opening hours":     `<div><p><b>Zebra House</b></p><p>12 Market Square</p><p>Open Monday to Thursday 9.00 to 17.00 hours, Friday 9.00 to 12.00 hours</p></div>`,
		"promotion":         `<div class="promo-box"><h3>Zebra at the town hall</h3><p>Come and see it on Saturday.</p><a href="/n/3">Read more</a></div><p>Tell us straight away if your plans or your costs change, because this may affect what we can pay.</p>`,
		"second way":        `<p><a href="/f/guidance.pdf">Guidance notes</a> <a class="file-button" href="/f/guidance.pdf">Zebra</a></p>`,
	} {
		if got := call(part); strings.Contains(strings.ToLower(got), "zebra") || !strings.Contains(got, "An assessor will read") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatWasMadeTogetherIsKeptTogether(t *testing.T) {
	for name, part := range map[string]string{
		"panels": `<div class="toggles"><div><div class="tab-title" role="button" aria-expanded="false"><a class="toggle-button">Zebra funding?</a></div><div class="tab-content" style="display:none"><p>You should find a tenth of the cost from elsewhere.</p></div></div>
<div><div class="tab-title" role="button" aria-expanded="false"><a class="toggle-button">Quagga payments?</a></div><div class="tab-content" style="display:none"><p>We pay in arrears once you have sent us receipts.</p></div></div></div>`,
		"cards": `<h2>Other schemes you can ask for</h2><div><a class="tile" href="/z"><h3>Zebra</h3><p>Quagga.</p></a><a class="tile" href="/g"><h3>Green Farmyards</h3><p>Hedges, ponds and planting on working farms.</p></a>
<a class="tile" href="/a"><h3>Active Lives</h3><p>Getting people moving who rarely take part in sport.</p></a><a class="tile" href="/s"><h3>Stage and Screen</h3><p>Production of theatre, dance and film in the region.</p></a></div>`,
		"rows":  `<h3>Documents</h3><table><tr><td><a href="/get?id=1">Zebra</a></td><td>XLSX</td><td>48KB</td></tr><tr><td><a href="/get?id=2">Quagga</a></td><td>PDF</td><td>1.3MB</td></tr></table>`,
		"pairs": `<h2>Documents</h2><div><h3><a href="/f/1.pdf">Guidance notes</a></h3><dl><div><dt>Zebra</dt><dd>212KB</dd></div></dl></div><div><h3><a href="/f/2.xlsx">Budget</a></h3><dl><div><dt>Quagga</dt><dd>48KB</dd></div></dl></div>`,
	} {
		if got := call(part); !strings.Contains(got, "ebra") || !strings.Contains(got, "uagga") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPartsThatComeLateAreNotOfOneKind(t *testing.T) {
	late := `<div hidden id="S:0"><h2>How we decide</h2><p>We weigh the need for the work, the care taken in planning it and the number of people who will gain from it.</p><p>Half of the fund is kept for groups that have not had a grant from us within the last five years.</p></div>
<div hidden id="S:1"><ul><li><a href="/z">Zebra</a></li><li><a href="/b">Buses</a></li><li><a href="/p">Parks</a></li><li><a href="/l">Libraries</a></li></ul></div>`
	if got := call(late); strings.Contains(got, "Zebra") || !strings.Contains(got, "weigh the need") {
		t.Error(got)
	}
}

func TestPagersAndToolsAreDropped(t *testing.T) {
	const more = `<p>Tell us straight away if your plans or your costs change, because this may affect what we can pay.</p>`
	for _, part := range []string{
		more + `<div><span>1</span> <a href="?page=2">2</a> <a href="?page=3">3</a> <a href="?page=2">»</a></div>` + more,
		more + `<p><a href="javascript:history.back()">« Back to top</a> | <a href="/print.php?id=2">Print this page</a></p>` + more,
		more + `<h3>Filter by</h3><div><label><input type="checkbox">Print (12)</label><label><input type="checkbox">Sport (8)</label><label><input type="checkbox">Culture (5)</label></div>` + more,
		more + `<div>Last updated: 12 February 2027 | <a href="/print">Print this page</a></div>` + more,
		more + `<div>The first of the schemes, for groups.</div><a href="/3" title="Print">Read more</a>` + more,
	} {
		if got := call(part); strings.Contains(got, "Read more") || strings.Contains(got, "|3|") || strings.Contains(got, "Print") {
			t.Errorf("%s: %s", part, got)
		}
	}
}

func TestAMenuIsKnownByItsLinksWhateverStandsBesideThem(t *testing.T) {
	var menu strings.Builder
	for _, name := range strings.Fields("Admissions Allotments Births Bins Careers Councillors Deaths Elections Events Fostering Gyms Libraries Licences Marriages Meetings Parking Planning Potholes Swimming") {
		menu.WriteString(`&raquo; <a href="/` + name + `">` + name + `</a><br>`)
	}
	const text = `<b>Who can apply</b><br><br>You must be a constituted group, a registered charity or a social enterprise with a bank account in its own name.<br><br>You can ask for up to half of the eligible costs, to a limit of £12,000 for each application.<br><br>An assessor will read your application and may phone you to talk it through, and the panel meets in the first week of June.`
	page := dom.Parse([]byte(`<title>Heritage Repair Fund</title><center><table><tr valign="top"><td width="180">`+menu.String()+`<br><b>Offices</b></td><td width="620"><h2>Heritage Repair Fund</h2>`+text+`</td></tr></table></center>`), dom.Limits{})
	c := Extract(page, nil, Options{})
	for n := range page.Descendants(dom.Root) {
		if c.Keep.Has(n) && page.Data(n) == "Potholes" {
			t.Error("the menu is kept")
		}
	}
}
