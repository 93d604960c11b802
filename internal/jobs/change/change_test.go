package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/extract"
)

func page(texts ...string) []extract.Block {
	blocks := make([]extract.Block, len(texts))
	for i, s := range texts {
		blocks[i] = extract.Block{Text: s, Kept: true, Heading: []string{"Subsidie"}}
	}
	return blocks
}

// visits runs versions of one page through a detector and returns the last report.
func visits(t *testing.T, versions ...[]extract.Block) Report {
	t.Helper()
	d := NewDetector(Options{Key: []byte("k")})
	var s State
	var r Report
	for _, v := range versions {
		r, s = d.Visit(s, v)
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestAVisitIsJudgedByLettersAndDigits(t *testing.T) {
	first := page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 25.000.")
	cases := map[string]struct {
		second []extract.Block
		want   Kind
	}{
		"the same":                {page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 25.000."), Unchanged},
		"other blanks and dashes": {page("Aanvragen  kan tot 1 mei 2027", "Het budget is: € 25.000"), Unchanged},
		"another order":           {page("Het budget is € 25.000.", "Aanvragen kan tot 1 mei 2027."), Unchanged},
		"other thousands":         {page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 25 000."), Unchanged},
		"a decimal moved":         {page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 2.50.00."), Changed},
		"one block in two":        {page("Aanvragen", "kan tot 1 mei 2027.", "Het budget is € 25.000."), Unchanged},
		"two blocks in one":       {page("Aanvragen kan tot 1 mei 2027. Het budget is € 25.000."), Unchanged},
		"another date":            {page("Aanvragen kan tot 8 mei 2027.", "Het budget is € 25.000."), Changed},
		"a typo":                  {page("Aanvragen kna tot 1 mei 2027.", "Het budget is € 25.000."), Changed},
		"a sentence more":         {page("Aanvragen kan tot 1 mei 2027. De pot is leeg.", "Het budget is € 25.000."), Changed},
		"a block less":            {page("Aanvragen kan tot 1 mei 2027."), Changed},
		"a repeated block":        {page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 25.000.", "Het budget is € 25.000."), Changed},
		"a counter more":          {page("Aanvragen kan tot 1 mei 2027.", "Het budget is € 25.000.", "Deze pagina is 41 keer bekeken"), Unchanged},
		"today's date":            {page("Vandaag is het 3 mei 2027", "Aanvragen kan tot 1 mei 2027.", "Het budget is € 25.000."), Unchanged},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := visits(t, first, c.second).Kind; got != c.want {
				t.Errorf("kind %s, want %s", got, c.want)
			}
		})
	}
}

func TestABlockThatOnlyChangesSidesIsNoNews(t *testing.T) {
	inside, outside := page("Lees ook: speelplekken"), page("Lees ook: speelplekken")
	outside[0].Kept = false
	body := page("Aanvragen kan tot 1 mei 2027.")
	if got := visits(t, append(inside, body...), append(outside, body...)).Kind; got != Unchanged {
		t.Errorf("out of the content: %s", got)
	}
	if got := visits(t, append(outside, body...), append(inside, body...)).Kind; got != Unchanged {
		t.Errorf("into the content: %s", got)
	}
}

func TestADocumentThatLeadsElsewhereIsAChange(t *testing.T) {
	with := func(file string) []extract.Block {
		b := page("Aanvraagformulier (PDF)")
		b[0].Files = []string{file}
		return b
	}
	r := visits(t, with("/docs/a.pdf"), with("/docs/b.pdf"))
	if r.Kind != Changed || len(r.Passages) != 1 || r.Passages[0].Excerpt != "Aanvraagformulier (PDF)" {
		t.Errorf("got %+v", r)
	}
}

func TestADocumentBehindABareLinkIsNamedByTheBlockBefore(t *testing.T) {
	with := func(file string) []extract.Block {
		b := page("Begrotingsmodel XLSX 40 kB", "Download")
		b[1].Files = []string{file}
		return b
	}
	r := visits(t, with("/docs/a.xlsx"), with("/docs/b.xlsx"))
	if r.Kind != Changed || len(r.Passages) != 1 || r.Passages[0].Excerpt != "Begrotingsmodel XLSX 40 kB Download" {
		t.Errorf("got %+v", r)
	}
}

func TestAPassageQuotesWhatIsNewWithItsHeadings(t *testing.T) {
	long := strings.Repeat("Deze zin staat er al heel lang en blijft ook staan. ", 12)
	r := visits(t, page(long+"Einde."), page(long+"Nieuw is de termijn van 8 mei 2028. Einde."))
	if r.Kind != Changed || r.Changed != 1 || r.Added != 0 || len(r.Passages) != 1 {
		t.Fatalf("got %+v", r)
	}
	p := r.Passages[0]
	if !strings.Contains(p.Excerpt, "Nieuw is de termijn van 8 mei 2028.") || len([]rune(p.Excerpt)) > 280 || p.Heading[0] != "Subsidie" {
		t.Errorf("passage %+v", p)
	}
}

func TestAPlaceThatDiffersAtEveryVisitIsLearned(t *testing.T) {
	var versions [][]extract.Block
	for i := range 6 {
		versions = append(versions, page("Er zijn nog "+fmt.Sprint(90-i)+" plaatsen vrij", "Aanvragen kan tot 1 mei 2027."))
	}
	r := visits(t, versions...)
	if r.Kind != Unchanged || r.Ignored != 1 {
		t.Errorf("sixth visit: %+v", r)
	}
	r = visits(t, append(versions, page("Er zijn nog 80 plaatsen vrij", "Aanvragen kan tot 9 mei 2027."))...)
	if got := fmt.Sprint(r.Flickers); r.Kind != Changed || r.Ignored != 1 || got != "[{[Subsidie] digits 6}]" {
		t.Errorf("a real change beside it: %+v", r)
	}
}

func TestGoneAndBack(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k"), Misses: 2})
	r, s := d.Visit(State{}, page("Tekst."))
	kinds := []Kind{r.Kind}
	for range 3 {
		r, s = d.Missing(s)
		kinds = append(kinds, r.Kind)
	}
	r, s = d.Visit(s, page("Tekst."))
	kinds = append(kinds, r.Kind)
	r, _ = d.Visit(s, page("Tekst."))
	kinds = append(kinds, r.Kind)
	if got := fmt.Sprint(kinds); got != "[new unchanged gone unchanged back unchanged]" {
		t.Error(got)
	}
}

func TestTheStateOfALongPageFitsFourKilobytes(t *testing.T) {
	var texts []string
	for i := range 3000 {
		texts = append(texts, fmt.Sprintf("Regeling nummer %d loopt tot week %d.", i, i%52))
	}
	long := page(texts...)
	d := NewDetector(Options{Key: []byte("k")})
	_, s := d.Visit(State{}, long)
	b, err := s.MarshalBinary()
	if err != nil || len(b) > 4096 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if strings.Contains(string(b), "Regeling") {
		t.Error("the state holds text")
	}
	if r, _ := d.Visit(s, long); r.Kind != Unchanged {
		t.Errorf("same page: %+v", r)
	}
	texts[1500] = "Regeling nummer 1500 is gesloten."
	r, _ := d.Visit(s, page(texts...))
	if r.Kind != Changed || r.Changed+r.Added > 3 {
		t.Errorf("one sentence changed: added %d changed %d removed %d", r.Added, r.Changed, r.Removed)
	}
}

// long is a page of n sentences in the content, each with a furniture block behind it.
func long(n int, word string) []extract.Block {
	var blocks []extract.Block
	for i := range n {
		letter := string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		blocks = append(blocks, extract.Block{Text: fmt.Sprintf("Zin %s %s%d van een pagina.", letter, word, i), Kept: true},
			extract.Block{Text: fmt.Sprintf("Rand %d", i)})
	}
	return blocks
}

func TestNoStateIsLargerThanFourKilobytes(t *testing.T) {
	for _, n := range []int{mostUnits, mostUnits + 1, mostSlim, mostSlim + 1, 9000} {
		d := NewDetector(Options{Key: []byte("k")})
		_, s := d.Visit(State{}, long(n, ""))
		if n <= mostUnits {
			_, s = d.Visit(s, long(n, "1"))
		} else {
			s.Spots = make([]flickers, mostSpots)
		}
		s.Past = make([]uint32, mostPast)
		b, err := s.MarshalBinary()
		if err != nil || len(b) > 4096 || len(s.Spots) != mostSpots || len(s.Others) != mostOthers {
			t.Errorf("%d sentences: %d bytes, %d spots, %d others, %v", n, len(b), len(s.Spots), len(s.Others), err)
		}
	}
}

func TestAPageThatGrowsOverABoundOfTheStateShowsItsNewSentenceOnly(t *testing.T) {
	for _, n := range []int{mostUnits, mostSlim, 2 * mostSlim} {
		r := visits(t, long(n, ""), append(long(n, ""), page("Nieuw is de termijn van 8 mei 2028.")...))
		if r.Kind != Changed || r.Added+r.Changed > 2 || r.Removed > 1 || n < mostSlim && r.Passages[0].Excerpt != "Nieuw is de termijn van 8 mei 2028." {
			t.Errorf("%d sentences and one: %+v", n, r)
		}
		if r := visits(t, long(n+1, ""), long(n, ""), long(n+1, ""), long(n+1, "")); r.Kind != Unchanged {
			t.Errorf("%d sentences, the same again: %+v", n, r)
		}
	}
}

func TestFurnitureBesideTheContentIsRememberedFirst(t *testing.T) {
	var menu []extract.Block
	for i := range 3 * mostOthers {
		menu = append(menu, extract.Block{Text: fmt.Sprintf("Menu-onderdeel %d", i)})
	}
	bar := extract.Block{Text: "Deel deze pagina met anderen"}
	first := append(append(menu, bar), page("Aanvragen kan tot 1 mei 2027.")...)
	bar.Kept = true
	second := append(append(menu, bar), page("Aanvragen kan tot 1 mei 2027.")...)
	if got := visits(t, first, second).Kind; got != Unchanged {
		t.Errorf("a bar that changes sides: %s", got)
	}
}

func TestStatesOfTwoCustomersDiffer(t *testing.T) {
	_, a := NewDetector(Options{Key: []byte("a")}).Visit(State{}, page("Tekst."))
	_, b := NewDetector(Options{Key: []byte("b")}).Visit(State{}, page("Tekst."))
	if a.Units[0].print == b.Units[0].print {
		t.Error("one text has the same fingerprint under two keys")
	}
}

func TestABrokenStateIsRefused(t *testing.T) {
	w := strings.Repeat("\x00", 8) // the page in one piece
	for _, b := range []string{"\x01\x01\x00\x00" + w + "\x00\x00\x00", "\x02", "\x02\x01\x00\x00" + w + "\xff\xff\xff\xff\x0f", "\x02\x01\x00\x00" + w + "\x00\x00\x00tail",
		"\x02\x08\x00\x00" + w + "\x00\x00\x00", "\x02\x01\x00\xff" + w + "\x00\x00\x00"} {
		if err := new(State).UnmarshalBinary([]byte(b)); err == nil {
			t.Errorf("%q was taken", b)
		}
	}
}

// personalForms are written forms of personal data: all of them invented.
var personalForms = []string{
	"jan.de-vries@gemeente.example", "jan(at)gemeente.example", "kovacs.ilona [kukac] hivatal.example", "j.devries at gemeente dot example",
	"j.devries [at] gemeente [dot] example", "jan (a) gemeente.example", "jan@gemeente . example", "jan apenstaartje gemeente.example",
	"kovacs kukac hivatal pont example", "info＠hely.example", "jan_AT_gemeente.example", "jan{at}x{dot}example", "JAN @ GEMEENTE.EXAMPLE",
	"0612345697", "06 - 1234 5697", "06.12.34.56.97", "06/12345697", "+31612345697", "+31 (0)6 1234 5697", "0031 (0)6 12345697", "(06) 12345697",
	"06 12 34 56 97", "+31 6 1234 0258", "(020) 123 45 67", "020-1234567", "020 123 4567", "(0314) 39 39 39", "0314 - 393 393", "088 - 123 45 67",
	"+31.20.123.45.67", "tel. 393 393", "telefoon: 39 39 39",
	"+36-20-555-30 08", "06 20 555 3008", "20/555-3008", "(1) 234-5678", "+36/1/234-5678", "+36(1)2345678", "(06-1) 234-5678", "0620-555-3008",
	"36-20-555-3008", "30 555 3008", "(22) 555-300", "22/555-300 / 12", "06-22-555-300/112", "(+36) 30/555-3008", "+36 (20) 555-3008",
	"020 7946 0123", "+44 20 7946 0123", "07700 900123", "01632-960123",
	"999 976 096", "999976096", "9999.76.096", "99-99-76-096", "BSN: 99997609", "bsn-nummer 9 9 9 9 7 6 0 9 6", "taj 999/456/788", "TAJ száma 999-456-788",
	"8123456789", "8 123 456 789", "adóazonosító jele 8123-456-789", "1-850101-1234", "1 850101 1234", "123456TA", "személyi igazolvány: AB 123456",
	"útlevél száma BE1234567", "paspoort NX1234567", "QQ 12 34 56 C",
	"NL91 ABNA 0417 1643 00", "NL91.ABNA.0417.1643.00", "11773016-11111018-00000000", "11773016 11111018", "12345678-1-42",
}

// plainForms look like personal data and are none.
var plainForms = []string{
	"Tot 4 september 2026", "uiterlijk 04-09-2026 om 12:00 uur", "2028. április 2.", "2026-11-30", "20260904", "2026. 05. 01. – 2026. 06. 30.", "01-05-2026 t/m 30-06-2026",
	"€ 1.250.000", "€ 999.976.096", "7 600 000 Ft", "999 976 096 Ft", "120 000 000 forint", "100.000.000", "EUR 12.500.000,00", "1 000 000-5 000 000 Ft", "500-1000 lakos",
	"2026-2027", "artikel 4:25", "artikel 3 (a) van de regeling", "one-at-a-time", "postcode 1234 AB", "H-1055 Budapest", "70%", "van 9.00-17.00 uur", "08:00–16:30",
	"kenmerk 2026-123456", "zaaknummer 12345678", "Z-2026-012345", "iktatószám: 1234-5/2026", "KvK 12345678", "cégjegyzékszám 01-09-123456", "1407/2013/EU", "651/2014/EU",
	"(EU) 2023/2831", "12/2026. (III. 12.) rendelet", "KEHOP-5.2.11-16-2017-00123", "GINOP-1.2.3-21-2021-00045", "hrsz. 0123/12", "10-944", "CVDR123456", "150 000 fő",
}

func TestPersonalDataIsTakenOut(t *testing.T) {
	for _, s := range personalForms {
		for _, frame := range []string{"%s", "Vragen? %s.", "Schrijf aan Jan de Vries (%s) voor 8 mei 2027.", "Kijk op %s, of kom langs"} {
			text := fmt.Sprintf(frame, s)
			if got := WithoutPersonalData(text); strings.Contains(got, s) || onlyDigits(got) != onlyDigits(strings.ReplaceAll(frame, "%s", "")) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	const two = "Mail naar loket@plaats.example. Nieuw is dat ook scholen mogen aanvragen."
	if got := WithoutPersonalData(two); got != "Mail naar […]. Nieuw is dat ook scholen mogen aanvragen." {
		t.Errorf("an address at the end of a sentence took the next one along: %q", got)
	}
	for _, s := range plainForms {
		if got := WithoutPersonalData("Het is " + s + ", zo staat er."); !strings.Contains(got, s) {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestAnExcerptStaysWithinItsLimitAndAtWords(t *testing.T) {
	block := strings.Repeat("woord ander ", 80) + "hier is het nieuwe " + strings.Repeat("slot einde ", 80)
	e := Excerpt(block, "hier is het nieuwe", 100)
	if n := len([]rune(e)); n > 100 || !strings.Contains(e, "hier is het nieuwe") {
		t.Errorf("%d characters: %q", n, e)
	}
	for _, w := range strings.Fields(strings.Trim(e, "…")) {
		if !strings.Contains(" woord ander hier is het nieuwe slot einde ", " "+w+" ") {
			t.Errorf("cut inside a word: %q", w)
		}
	}
	if e := Excerpt("Mail "+strings.Repeat("x", 300)+" jan@site.example nu", "Mail", 50); len([]rune(e)) > 50 {
		t.Errorf("too long: %q", e)
	}
}

func TestLinesThatOnlyCountOrTellTheTimeAreNoise(t *testing.T) {
	noise := []string{
		"Deze pagina is 212 keer bekeken", "Aantal weergaven: 157", "3412x gelezen", "12 gasten online", "Nog 12 dagen", "Wachttijd aan de balie: 8 minuten",
		"Er zijn 3 wachtenden voor u", "24 resultaten gevonden", "90 mensen vonden dit nuttig, 6 niet", "Vandaag is het 3 mei 2027", "Het is nu 3 mei 2027, 14:05 uur",
		"Megtekintések száma: 233", "Találatok: 41", "Olvasta: 12", "Az oldalt eddig 1 240 alkalommal nyitották meg", "Oldalainkat 45 vendég és 0 tag böngészi",
		"Még 38 nap", "Jelenleg 4 ügyfél várakozik", "Ma 2026. november 30., hétfő van", "Ma 2026. november 30. hétfő, András, Andor napja van.", "17 találat",
		"This page has been viewed 41 times", "1,204 views", "12 days left", "Maandag tot en met donderdag van 8.30 tot 17.00 uur", "Hétfőtől csütörtökig 9.30-tól 16 óráig", "Monday to Friday: 9am to 5pm", "© 2026 Gemeente Zuiderwold", "U bent hier: Start › Subsidies", "There are 7 people ahead of you", "Current waiting time: 9 minutes", "Posted 3 hours ago",
	}
	for _, s := range noise {
		if !volatile(s) {
			t.Errorf("%q is taken for content", s)
		}
	}
	content := []string{
		"Het feest moet minstens 150 bezoekers trekken.", "A rendezvényen legalább 100 látogató részvétele várható.", "Events must draw at least 150 visitors.",
		"Vandaag sluit de regeling.", "Sluit op 3 mei 2027", "3 mei 2027", "Határidő: 2027. május 3.", "Maximaal € 2.500", "Binnen 12 dagen na het besluit", "A keret 12 000 000 Ft",
		"Nieuw: vanaf vandaag 60% van de kosten", "Closes 3 May 2027", "Status: 2 rondes", "12 dagen", "Vrijdag 30 april 2027 om 17.00 uur", "Uiterlijk vrijdag 17.00 uur", "péntek, 2027. április 30. 12:00", "Ma 2026. november 30. a beadás utolsó napja a cégeknek", "14:30",
	}
	for _, s := range content {
		if volatile(s) {
			t.Errorf("%q is taken for noise", s)
		}
	}
}

func TestACountInsideALineOfContentIsNoise(t *testing.T) {
	pairs := [][2]string{
		{"Begroting (PDF, 120 kB) (12 keer gedownload)", "Begroting (PDF, 120 kB) (14 keer gedownload)"},
		{"Adatlap (DOCX, 48 kB) letöltések: 12", "Adatlap (DOCX, 48 kB) letöltések: 1 233"},
		{"Deel deze pagina Facebook E-mail 69 keer gedeeld", "Deel deze pagina Facebook E-mail 70 keer gedeeld"},
		{"Megosztás Facebook E-mail 9 megosztás", "Megosztás Facebook E-mail 12 megosztás"},
		{"Bid form (PDF, 40 kB) downloaded 9 times", "Bid form (PDF, 40 kB) downloaded 10 times"},
	}
	for _, p := range pairs {
		if got := visits(t, page(p[0]), page(p[1])).Kind; got != Unchanged {
			t.Errorf("%q to %q: %s", p[0], p[1], got)
		}
		if got := visits(t, page(p[0]), page(strings.Replace(p[1], "(", "II (", 1), p[1]+" nieuw")).Kind; got != Changed {
			t.Errorf("%q: a real change is not seen", p[0])
		}
	}
}

func FuzzPersonalData(f *testing.F) {
	f.Add("Bel 06 12 34 56 97 of mail jan@site.example", "of")
	f.Add("++((12/34-", "1")
	f.Fuzz(func(t *testing.T, block, unit string) {
		if e := Excerpt(block, unit, 280); len([]rune(e)) > 280 {
			t.Errorf("%d characters", len([]rune(e)))
		}
	})
}
