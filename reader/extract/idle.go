package extract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longIdle is the most runes of a line that may count or tell the time and nothing else.
const longIdle = 140

// Idle is true for a line that does nothing but count (visits, votes, people waiting, results, days
// left) or tell today's date: furniture, though it may stand inside the content. All of its words must
// be words of such lines, so that a rule with a number in it, as "at least 200 visitors", is none.
// Dutch, Hungarian and English.
func Idle(line string) bool {
	said, digits, known := listen(line)
	if !known {
		return dayOfName.MatchString(line)
	}
	return digits && (said.idle() || maDate.MatchString(line))
}

// OpeningHours is true for a line of nothing but weekdays and times of day.
func OpeningHours(line string) bool {
	said, digits, known := listen(line)
	return known && digits && said&(weekday|month) == weekday && hour.MatchString(line)
}

// Timeless are the words of a text in one piece without digits, days and months: the same for a clock
// at any two times.
func Timeless(text string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(strings.ToLower(text), notInWord) {
		w = strings.TrimLeft(w, "0123456789")
		if s, _ := senseOf(w); s&(weekday|month) == 0 {
			b.WriteString(w)
		}
	}
	return b.String()
}

// listen says what the words of a line speak of, whether there are digits among them, and whether all
// of them are words of idle lines.
func listen(line string) (said sense, digits, known bool) {
	if utf8.RuneCountInString(line) > longIdle {
		return 0, false, false
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(line), notInWord) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsDigit(r) {
			digits = true
			if w = strings.TrimLeft(w, "0123456789"); w == "" {
				continue
			}
		}
		s, ok := senseOf(w)
		if !ok {
			return 0, false, false
		}
		said |= s
	}
	return said, digits, true
}

// maDate is how a Hungarian line begins that tells today's date; "ma" is Monday in Dutch. dayOfName is
// such a line with the names of the day.
var (
	maDate    = regexp.MustCompile(`(?i)^ma\b.{0,16}\d{4}\.`)
	dayOfName = regexp.MustCompile(`(?i)^ma\b.{0,40}\d{4}.*\bnapja( van)?\.?$`)
	hour      = regexp.MustCompile(`(?i)\d{1,2}[.:]\d{2}|\d\s?(uur|h|am|pm|óra)`)
)

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// sense is what the words of a line speak of.
type sense uint8

const (
	filler  sense = 0
	counted sense = 1 << iota // a thing that sites count: enough with a number
	left                      // still, left
	span                      // days, hours
	ago                       // since when something stands there
	today                     // today, now
	weekday
	month
)

// idle says that words of these senses, with a number and nothing beside them, make no content.
func (s sense) idle() bool {
	return s&(counted|ago|today) != 0 || s&left != 0 && s&span != 0
}

func senseOf(word string) (sense, bool) {
	if s, ok := idleWords[word]; ok {
		return s, true
	}
	for _, stem := range idleStems {
		if strings.HasPrefix(word, stem) {
			return counted, true
		}
	}
	for _, stem := range dayStems {
		if strings.HasPrefix(word, stem) {
			return weekday, true
		}
	}
	return filler, false
}

// idleStems are Hungarian stems, which take many endings.
var idleStems = [...]string{"megtekint", "látogat", "olvasott", "olvasás", "letölt", "szavaz", "találat", "vendég", "várakoz", "megoszt", "böngész", "kattint"}

var dayStems = [...]string{"hétfő", "kedd", "szerd", "csütörtök", "péntek", "szombat", "vasárnap"}

var idleWords = wordTable(map[sense]string{
	counted: "keer maal bekeken gelezen bezocht gedeeld gedownload weergaven weergave paginaweergaven bezoekers bezoeker bezoeken hits " +
		"views view viewed visits visitors visitor pageviews reads shares shared likes votes downloads downloaded times stemmen online gasten guests users " +
		"wachtenden wachttijd wachtrij waiting queue ahead resultaten resultaat treffers results result found gevonden nuttig useful helpful " +
		"alkalommal volgende vorige next previous következő előző olvasta olvasták lájk lájkolták hasznos sorszám sorban °c klicks aufrufe besucher vues visites",
	left:  "nog resterend resterende left remaining még hátra hátralévő noch verbleibend reste",
	span:  "dag dagen uur uren day days hour hours nap napja óra tag tage jours jour",
	ago:   "geleden ago órája perce napja hete",
	today: "vandaag today nu now mai heute aktuális huidige current pontos server servertime",
	filler: "met deze dit de het een pagina pagina's artikel bericht document bestand is zijn werd was al er in op aan van voor tot toe te u zo aantal totaal laatste " +
		"sinds balie loket minuten minuut min sec seconden mensen personen vonden vond niet en of x peiling uitslag tijd datum deel getoond toont zo'n ongeveer circa " +
		"geplaatst gepubliceerd bijgewerkt sluit over medewerkers beschikbaar rij totale teller stand wij hebben geopend " +
		"this page the a article file has been have had are there were be people persons person did not of at by to from so far for you your it its on we and total number count counter " +
		"estimated average current time date minutes minute mins showing poll result's advisers closes posted published updated since last one " +
		"az egy oldal oldalt oldalak oldalunkat oldalainkat honlap honlapot cikk cikket hír hírt dokumentum fájl eddig összesen jelenleg száma szám szerint nem és van vannak db fő " +
		"perc percek másodperc meg nyitották nyitotta tekintették idő ideje várható ügyfél ügyfelek munkatárs elérhető dátum dátuma nap napi fordult utolsó óta oldalon tart már " +
		"uur óra óráig órától tól től ig és között zárva gesloten closed t m until h am pm st nd rd th",
	month: "januari februari maart april mei juni juli augustus september oktober november december " +
		"january february march may june july august october " +
		"január február március április május június július augusztus szeptember október",
	weekday: "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma di wo do vr za zo monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun",
})

func wordTable(lists map[sense]string) map[string]sense {
	t := make(map[string]sense)
	for s, words := range lists {
		for w := range strings.FieldsSeq(words) {
			t[w] |= s
		}
	}
	return t
}
