package blocks

import (
	"strings"
	"testing"
)

const framed = `<body><nav><a href=/a>Home</a><a href=/b>Shop</a></nav>
<main><div id=text>
<p>A paragraph of running text, with commas, that a reader for articles would find at once.</p>
<p>Another paragraph, a little longer than the first one, and also with commas in it.</p>
<div><p>One more, set apart by a box of its own, but still a part of the text.</p></div>
</div></main>
<ul><li><a href=/1><h3>First card</h3></a>A teaser of it.</li><li><a href=/2><h3>Second card</h3></a>Its teaser.</li><li><a href=/3><h3>Third card</h3></a>Teaser.</li></ul>`

// blockOf is the number of the block that holds text.
func blockOf(t *testing.T, p *Page, text string) int {
	t.Helper()
	for i := range p.Blocks {
		if strings.Contains(p.Text(i), text) {
			return i
		}
	}
	t.Fatalf("no block has %q", text)
	return -1
}

func TestBlocksAreRelatedToTheElementWithTheMostRunningText(t *testing.T) {
	p := cut(t, framed)
	rows := p.Describe()
	for _, c := range []struct {
		text           string
		place, in, out uint8
	}{
		{"Home", 1, noMark, 1}, // main has the most, body is around both
		{"A paragraph", 0, 2, 0},
		{"One more", 0, 3, 0},
		{"Its teaser", 2, noMark, 1},
	} {
		x := rows[blockOf(t, p, c.text)*Features+fTop:]
		if x[0] != c.place || x[2] != c.in || x[5] != c.out {
			t.Errorf("%s: place %d, %d below, %d out; want %d, %d, %d", c.text, x[0], x[2], x[5], c.place, c.in, c.out)
		}
	}
}

func TestAUnitIsOneOfManyAlike(t *testing.T) {
	p := cut(t, framed)
	rows := p.Describe()
	unit := func(text string) []uint8 { return rows[blockOf(t, p, text)*Features+fUnit:] }
	if x := unit("Its teaser"); x[6] != amount(3) || x[2] != amount(2) || x[9] != 3<<1|1 {
		t.Errorf("a card: %v", x[:nUnit])
	}
	if x := unit("One more"); x[6] != 0 {
		t.Errorf("no card: %v", x[:nUnit])
	}
}

func TestAHeadingsWordsAreToldToWhatFollows(t *testing.T) {
	p := cut(t, "<body><h2>Related</h2><p>Something else altogether.</p>")
	x := p.Describe()[blockOf(t, p, "Something")*Features+fHead:]
	if x[6] != 1 {
		t.Errorf("words of the heading: %v", x[:textGroup])
	}
}

func TestOddsOfKindsStandInEachRow(t *testing.T) {
	p := cut(t, framed)
	p.Kinds[3] = 0.5
	rows := append([]uint8(nil), p.Describe()...)
	var odds [nKinds]float32
	odds[3] = 0.5
	p.Kinds = [nKinds]float32{}
	later := append([]uint8(nil), p.Describe()...)
	SetKinds(later, odds[:])
	for i := range p.Blocks {
		if at := i*Features + fKinds + 3; rows[at] != chance(0.5) || later[at] != rows[at] {
			t.Fatalf("block %d: %d as told before, %d as set later", i, rows[at], later[at])
		}
	}
	p.Kinds[3] = 0.5
	p.Cut(p.Tree, nil, nil)
	if p.Kinds[3] != 0 {
		t.Error("the next page has the odds of the last")
	}
}

func TestAPagesRowTellsKindsApart(t *testing.T) {
	shop := cut(t, "<body><div class=price>€ 12</div><div class=price>€ 30</div>").KindRow(nil)
	text := cut(t, framed).KindRow([]uint8{7})
	if len(shop) != KindFeatures || len(text) != KindFeatures+1 || text[0] != 7 {
		t.Fatalf("rows of %d and %d numbers", len(shop), len(text))
	}
	own := nKindFacts + nKindMarks + textGroup
	if shop[own] == 0 || text[1+own] != 0 {
		t.Errorf("blocks with money: %d in a shop, %d in a text", shop[own], text[1+own])
	}
	if price := nKindFacts + 23; shop[price] != 250 || text[1+price] != 0 {
		t.Errorf("words in prices: %d in a shop, %d in a text", shop[price], text[1+price])
	}
}

func TestButtonsAreNotKept(t *testing.T) {
	p := cut(t, `<body><p>A text of some length, so that it is kept.</p><a class=btn href=/go>Get started</a><p>And more of it, a second paragraph.</p>
<p><a class=btn href=/form.pdf>The form</a></p><p>And the last paragraph of all.</p>`)
	odds := make([]float32, len(p.Blocks))
	for i := range odds {
		odds[i] = 0.9
	}
	keep := Choose(odds, p.View())
	for text, want := range map[string]bool{"A text": true, "Get started": false, "And more": true, "The form": true} {
		if i := blockOf(t, p, text); keep[i] != want {
			t.Errorf("%s: kept %v", text, keep[i])
		}
	}
}

func TestAMenuMayBeOneBlockOfLinks(t *testing.T) {
	text := strings.Repeat("Running text of a page, with its commas, that goes on for a while. ", 6)
	p := cut(t, `<body><table><tr><td><a href=/1>Home</a><br><a href=/2>News and more</a><br><a href=/3>People</a><br><a href=/4>Contact us</a></td></tr></table>
<p>`+text+`</p><p>`+text+`</p><p><a href=/5>One link</a></p>`)
	odds := make([]float32, len(p.Blocks))
	for i := range odds {
		odds[i] = 0.9
	}
	keep := Choose(odds, p.View())
	for text, want := range map[string]bool{"Home": false, "Running": true, "One link": true} {
		if i := blockOf(t, p, text); keep[i] != want {
			t.Errorf("%s: kept %v", text, keep[i])
		}
	}
}
