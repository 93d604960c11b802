package change

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longNoise is the most runes of a line that may count or tell the time and nothing else.
const longNoise = 140

// volatile is true for a line that does nothing but count (visits, votes, people waiting, results,
// days left), tell the time or hours of opening, claim a copyright or say where the reader is: furniture that stands inside the content. All of its words must be
// words of such lines, so that a rule with a number in it, as "at least 200 visitors", is none.
func volatile(text string) bool {
	if utf8.RuneCountInString(text) > longNoise {
		return false
	}
	if strings.ContainsRune(text, '©') || trail.MatchString(text) {
		return true
	}
	var seen sense
	digits := false
	for _, w := range strings.FieldsFunc(strings.ToLower(text), notInWord) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsDigit(r) {
			digits = true
			w = strings.TrimLeft(w, "0123456789")
		}
		if w == "" {
			continue
		}
		s, ok := senseOf(w)
		if !ok {
			return nameDay(text)
		}
		seen |= s
	}
	return digits && (seen.isNoise() || seen&(weekday|month) == weekday && hour.MatchString(text) || maDate.MatchString(text))
}

// maDate is how a Hungarian line begins that tells today's date; "ma" is Monday in Dutch.
var maDate = regexp.MustCompile(`(?i)^ma\b.{0,16}\d{4}\.`)

// hour tells a time of day: a line of weekdays and hours says when a desk is open.
var hour = regexp.MustCompile(`(?i)\d{1,2}[.:]\d{2}|\d\s?(uur|h|am|pm|óra)`)

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

// isNoise says that words of these senses, with a number and nothing beside them, make no content.
func (s sense) isNoise() bool {
	return s&(counted|ago|today) != 0 || s&left != 0 && s&span != 0
}

func senseOf(word string) (sense, bool) {
	if s, ok := noiseWords[word]; ok {
		return s, true
	}
	for _, stem := range noiseStems {
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

// noiseStems are Hungarian stems, which take many endings.
var noiseStems = [...]string{"megtekint", "látogat", "olvasott", "olvasás", "letölt", "szavaz", "találat", "vendég", "várakoz", "megoszt", "böngész", "kattint"}

var dayStems = [...]string{"hétfő", "kedd", "szerd", "csütörtök", "péntek", "szombat", "vasárnap"}

var noiseWords = wordTable(map[sense]string{
	counted: "keer maal bekeken gelezen bezocht gedeeld gedownload geopend weergaven weergave paginaweergaven bezoekers bezoeker bezoeken hits " +
		"views view viewed visits visitors visitor pageviews reads shares shared likes votes downloads downloaded times stemmen online gasten guests users " +
		"wachtenden wachttijd wachtrij waiting queue ahead resultaten resultaat treffers results result found gevonden nuttig useful helpful " +
		"alkalommal volgende vorige next previous következő előző olvasta olvasták lájk lájkolták hasznos sorszám sorban °c klicks aufrufe besucher vues visites",
	left:  "nog resterend resterende left remaining még hátra hátralévő noch verbleibend reste",
	span:  "dag dagen uur uren day days hour hours nap napja óra tag tage jours jour",
	ago:   "geleden ago órája perce napja hete",
	today: "vandaag today nu now mai heute aktuális huidige current pontos server servertime",
	filler: "met deze dit de het een pagina pagina's artikel bericht document bestand is zijn werd was al er in op aan van voor tot toe te u zo aantal totaal laatste " +
		"sinds balie loket minuten minuut min sec seconden mensen personen vonden vond niet en of x peiling uitslag tijd datum deel getoond toont zo'n ongeveer circa " +
		"geplaatst gepubliceerd bijgewerkt sluit over medewerkers beschikbaar rij totale teller stand wij hebben " +
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

// trail is how a line begins that shows the way to the page.
var trail = regexp.MustCompile(`(?i)^(u bent hier|je bent hier|you are here|ön itt (áll|van|jár)|jelenlegi hely|itt jár)\s*:`)

var dayOfName = regexp.MustCompile(`(?i)^ma\b.{0,40}\d{4}.*\bnapja( van)?\.?$`)

// nameDay knows the Hungarian line that tells today's date with the names of the day.
func nameDay(text string) bool { return dayOfName.MatchString(text) }

// tally is a count inside a line of content, as behind a download: how often it was fetched.
var tally = regexp.MustCompile(`(?i)[(\[]?(\d[\d.,\x{a0}\x{202f} ]*(keer|maal|x|×)\s+(bekeken|gelezen|bezocht|gedeeld|gedownload|geopend)|` +
	`(viewed|downloaded|read|visited|shared)\s+\d[\d., ]*\s*times|\d[\d.,]*\s+(downloads|views|page ?views|weergaven)\b|` +
	`(downloads|views|hits|gedownload|bekeken|weergaven|letöltések|letöltve|letöltések száma|megtekintések|megtekintések száma|megtekintve)\s*:\s*\d[\d.,\x{a0}\x{202f} ]*( ?(keer|maal|alkalommal|x)\b)?|` +
	`\d[\d., ]*\s*(alkalommal|letöltés|megtekintés)( (töltötték le|letöltve|letöltötték|nyitották meg|tekintették meg))?)[)\]]?`)

// tallied are the words one of which each tally has; most lines have none and need no closer look.
var tallied = [...]string{"gelezen", "bekeken", "bezocht", "gedeeld", "gedownload", "geopend", "times", "downloads", "views", "weergaven", "hits",
	"letölt", "megtekint", "alkalommal"}

// lasting is text without the counts in it.
func lasting(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	lower := strings.ToLower(text)
	for _, w := range tallied {
		if strings.Contains(lower, w) {
			return tally.ReplaceAllString(text, " ")
		}
	}
	return text
}
