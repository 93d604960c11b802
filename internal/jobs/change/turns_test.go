package change

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/extract"
)

// kinds are what a detector answers to versions of a page, the first left out.
func kinds(t *testing.T, versions ...[]extract.Block) string {
	t.Helper()
	var got []string
	for i := range versions[1:] {
		got = append(got, string(visits(t, versions[:i+2]...).Kind))
	}
	return strings.Join(got, " ")
}

// What takes turns in a box of its own is no change at the first turn already, though nothing names the box.
func TestABoxWithoutATellingNameTakesTurns(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	turns := [][2]string{
		{"Kom naar de molendag", "Proef brood van de molenaar en klim naar boven."},
		{"Sétáljon a gáton", "Vasárnap hajnalban madarakat nézünk, utána forró tea."},
		{"Borrow a cargo bike", "Six of them stand ready at the station."},
	}
	for _, box := range []string{
		`<div class="css-4f1a"><h3><a href="/x">TITLE</a></h3><p>TEXT</p></div>`,
		`<section class="wp-block-group"><p>TITLE. TEXT <a href="/x">Lees verder</a></p></section>`,
		`<div><a href="/x"><img src="/a.jpg" alt=""><strong>TITLE</strong></a><p>TEXT</p></div>`,
		`<div class="mt-6 p-4"><h3>Actueel</h3><div><a href="/x">TITLE TEXT</a></div></div>`,
		`<div class="m-2"><a href="/x"><strong>TITLE</strong></a><p>TEXT TEXT</p></div>`,
		`<blockquote><p>TEXT</p></blockquote>`,
		`<div class="box"><p>„TEXT”</p><p>TITLE</p></div>`,
		`<figure><img src="/a.jpg" alt=""><figcaption>TITLE. Foto: gemeentearchief</figcaption></figure>`,
		`<div><h3>Spreuk van de dag</h3><p>TEXT</p></div>`,
		`<div><p>Wist u dat: TEXT</p></div>`,
		`<h3>Meest gelezen</h3><ul><li><a href="/x">TITLE</a></li><li><a href="/y">TEXT</a></li></ul>`,
	} {
		s := passesOver(t, d, box, turns)
		if r, _ := visitSlot(t, d, s, `<p>Voor de wijk Noord is het geld op.</p>`+filled(box, turns[0])); r.Kind != Changed || !says(r, "wijk Noord") || says(r, turns[0][0]) {
			t.Errorf("%s: the paragraph before it is not told, or the turn is: %+v", box, r)
		}
	}
}

// An edited text, a number, a word about the call, a message of the page itself and a card of a listing are
// content in any box.
func TestABoxThatIsEditedOrTellsOfACallIsContent(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	card := func(title, text string) string {
		return `<div class="col"><h3><a href="/s">` + title + `</a></h3><p>` + text + `</p></div>`
	}
	other := card("Zonnepanelen", "Voor eigenaren van een oude woning.") + card("Speelplekken", "Voor buren met kinderen.")
	for _, c := range [][3]string{ // before, after, what an excerpt says
		{`<div><p>Een wijkmanager komt langs. <a href="/x">Lees meer</a></p></div>`, `<div><p>Een wijkmanger komt langs. <a href="/x">Lees meer</a></p></div>`, "wijkmanger"},
		{`<div><h3><a href="/x">Fiets mee</a></h3><p>Een tocht langs molens.</p></div>`, `<div><h3><a href="/x">Zing mee</a></h3><p>Het koor begint op 3 mei.</p></div>`, "3 mei"},
		{`<div><h3><a href="/x">Fiets mee</a></h3><p>Een tocht langs molens.</p></div>`, `<div><h3><a href="/x">Groene daken</a></h3><p>Vraag nu subsidie aan.</p></div>`, "Groene daken"},
		{`<div><p>Tot 3 mei bent u welkom. <a href="/x">Lees meer</a></p></div>`, `<div><p>Kom langs bij de buren. <a href="/x">Lees meer</a></p></div>`, "bij de buren"},
		{`<div class="melding"><p>Het kantoor verhuist. <a href="/x">Lees meer</a></p></div>`, `<div class="melding"><p>Brieven komen later. <a href="/x">Lees meer</a></p></div>`, "komen later"},
		{other + card("Heggen", "Voor tuinen aan de straat."), other + card("Taalles", "Voor scholen en ouders."), "Taalles"},
		{`<h3>Nieuwe regeling</h3><div><h4><a href="/x">Heggen</a></h4><p>Voor tuinen aan de straat.</p></div>`, `<h3>Nieuwe regeling</h3><div><h4><a href="/x">Taalles</a></h4><p>Voor scholen en ouders.</p></div>`, "Taalles"},
		{`<div><p>Dit is een kale alinea.</p></div>`, `<div><p>Ook schoolpleinen doen mee.</p></div>`, "schoolpleinen"},
		{`<ul><li><a href="/x">Een plan van aanpak</a></li></ul>`, `<ul><li><a href="/x">Twee foto's erbij</a></li></ul>`, "foto's"},
	} {
		_, s := visitSlot(t, d, State{}, c[0])
		if r, _ := visitSlot(t, d, s, c[1]); r.Kind != Changed || !says(r, c[2]) {
			t.Errorf("%s is not told: %+v", c[1], r)
		}
	}
}

// In running text it takes visits to learn that texts take turns; a date, a sum or a status is told each time,
// and so is what was edited and edited back.
func TestTextsThatTakeTurnsInRunningTextAreLearned(t *testing.T) {
	text := func(s string) []extract.Block {
		return page("Bewoners van Rietbroek krijgen geld voor een feest.", s, "Het college besluit binnen zes weken.")
	}
	mill, choir, bikes := text("Proef brood van de molenaar."), text("Het koor repeteert in de aula."), text("Bij het station staan bakfietsen klaar.")
	if got := kinds(t, mill, choir, mill, choir, mill, bikes, mill); got != "changed changed unchanged unchanged unchanged unchanged" {
		t.Errorf("texts that take turns: %s", got)
	}
	if got := kinds(t, mill, choir, mill, choir, mill, text("Voor de feesten geldt een plafond."), text("U vraagt aan tot 3 mei.")); !strings.HasSuffix(got, "changed changed") {
		t.Errorf("a rule and a date in their place: %s", got)
	}
	for _, c := range [][2]string{{"Na de zomer is er weer meer ruimte.", "De mensen van de post hebben een wachtlijst."}, {"Kérjük, hogy telefonon is érdeklődjenek nálunk.", "Sajnos minden rendelkezésre álló forrás elfogyott."}, {"Open", "Vol"}, {"Nyitott", "Betelt"}, {"Available", "Fully booked"}, {"Het is € 500.", "Het is € 600."}, {"Een wijkmanager komt langs.", "Een wijkmanger komt langs."}} {
		if got := kinds(t, text(c[0]), text(c[1]), text(c[0]), text(c[1])); got != "changed changed changed" {
			t.Errorf("%q and %q: %s", c[0], c[1], got)
		}
	}
	calm := kinds(t, mill, choir, mill, choir, choir, choir, choir, choir, mill)
	if !strings.HasSuffix(calm, "unchanged changed") {
		t.Errorf("a place that was calm for long: %s", calm)
	}
}

// A box of its own that the extractor takes for furniture at one visit and for content at the next tells nothing.
func TestABoxThatTakesTurnsMayChangeSides(t *testing.T) {
	body := page("Aanvragen kan tot 1 mei 2027.")
	box := func(kept bool, text string) []extract.Block {
		return append(body[:1:1], extract.Block{Text: "Citaat", Kept: kept, Boxed: kept}, extract.Block{Text: text, Kept: kept, Boxed: kept})
	}
	if got := kinds(t, box(true, "Regen maakt de molen rijk."), box(false, "Oude stenen vertellen."), box(true, "Wie zaait, oogst verhalen.")); got != "unchanged unchanged" {
		t.Error(got)
	}
}

// stateVersion2 is what version 2 kept of a page with a counter after five visits.
const stateVersion2 = "AgEAAAxuKsZJuSVKAtdesQJ5ZBJtZL4g35ebAAHXXgQ="

func decode(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAStateOfVersion2GoesOn(t *testing.T) {
	var s State
	if err := s.UnmarshalBinary(decode(t, stateVersion2)); err != nil {
		t.Fatal(err)
	}
	d := NewDetector(Options{Key: []byte("k")})
	if _, missed := d.Missing(s); len(missed.Units) != 2 {
		t.Fatalf("%+v", missed)
	} else if b, err := missed.MarshalBinary(); err != nil || new(State).UnmarshalBinary(b) != nil {
		t.Errorf("a page of version 2 that is missing: %v", err)
	}
	r, next := d.Visit(s, page("Er zijn nog 80 plaatsen vrij", "Aanvragen kan tot 1 mei 2027."))
	if r.Kind != Unchanged || r.Ignored != 1 {
		t.Errorf("what was learned is forgotten: %+v", r)
	}
	if r, _ := d.Visit(next, page("Er zijn nog 70 plaatsen vrij", "Aanvragen kan tot 1 mei 2027.")); r.Kind != Unchanged || r.Ignored != 1 {
		t.Errorf("at the next visit: %+v", r)
	}
	if r, _ := d.Visit(s, page("Er zijn nog 80 plaatsen vrij", "Aanvragen kan tot 8 mei 2027.")); r.Kind != Changed || !says(r, "8 mei") {
		t.Errorf("a change: %+v", r)
	}
}

func FuzzState(f *testing.F) {
	f.Add(decode(f, stateVersion2))
	d := NewDetector(Options{Key: []byte("k")})
	_, s := d.Visit(State{}, page("Proef brood van de molenaar.", "Aanvragen kan tot 1 mei 2027."))
	_, s = d.Visit(s, page("Het koor repeteert in de aula.", "Aanvragen kan tot 1 mei 2027."))
	b, err := s.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again State
		if s.UnmarshalBinary(b) != nil {
			return
		}
		b, err := s.MarshalBinary()
		if err != nil || again.UnmarshalBinary(b) != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
		d.Visit(s, page("Proef brood van de molenaar."))
	})
}
