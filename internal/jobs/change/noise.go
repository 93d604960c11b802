package change

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/reader/extract"
)

// longNoise is the most runes of a line that is noise.
const longNoise = 140

// volatile is true for a line of furniture that stands inside the content: it counts, tells the time
// or hours of opening, claims a copyright or says where the reader is.
func volatile(line string) bool {
	if utf8.RuneCountInString(line) > longNoise {
		return false
	}
	return strings.ContainsRune(line, '©') || strings.ContainsAny(line, "0123456789") && added(strings.Trim(line, " |·•\u00a0")) || trail.MatchString(line) || extract.Idle(line) || extract.OpeningHours(line)
}

// longMoment is the most bytes of a date with a time of day.
const longMoment = 48

// added is true for a line that a page's program adds.
func added(line string) bool {
	return furniture.MatchString(line) || len(line) <= longMoment && clock.MatchString(line) || strings.ContainsRune(line, '°') && thermometer.MatchString(line)
}

// trail is how a line begins that shows the way to the page.
var trail = regexp.MustCompile(`(?i)^(u bent hier|je bent hier|you are here|ön itt (áll|van|jár)|jelenlegi hely|itt jár)\s*:`)

// furniture is a line, or a part of one, that a page's program adds: how long it takes to read, how it is rated, how
// fast it was made, when it was printed or looked after, the week, how long others wait.
var furniture = regexp.MustCompile(`(?i)^(` +
	`(leestijd|reading time|olvasási idő)\s*:?\s*\d+ ?(min\pL*|perc)\.?|\d+ ?min\pL*\.? (read|leestijd|leestijd\.)|\d+ perc olvasás|` +
	`((gemiddelde )?(waardering|beoordeling)|(average )?rating|(átlagos )?értékelés)\s*:?\s*\d([.,]\d+)?( ?(/|van|of|out of) ?\d+)?( ?\(\d[\d., ]* (stem\pL*|votes?|beoordeling\pL*|ratings?|reviews?|szavazat\pL*|értékelés\pL*)\))?|` +
	`\d[\d., ]* (ember|látogató|olvasó) találta hasznosnak(, \d+ nem)?|` +
	`(pagina|page|az oldal|deze pagina is|this page was)( (gegenereerd|generated|geladen|loaded|opgebouwd|rendered) in)? \d+([.,]\d+)? ?(seconden|seconds?|sec\.?|ms|s|másodperc)( alatt (készült|generálódott|töltődött be))?|` +
	lookedAfter + `(\s*:| op| on)?\s+` + moment + `|` +
	`(` + lookedAfter + `\s*:?\s*)?` + ago + `( (` + updated + `))?|` +
	`(the time is|het is nu|pontos idő:?) \d\d?[:.]\d\d( (uur|óra))?|((er zijn |zijn er |op dit moment |right now |jelenleg |nu |currently |most |there are )*\d+ (bezoekers|mensen|people|visitors|látogató|olvasó)( (zijn|are))? (op de(ze)? (site|pagina)|online|olvassa|böngészi|nézi|(viewing|reading|on) (this|the) (page|site))\pL*( az oldalt)?)|` +
	`((geschatte |actuele |estimated |current )?(wachttijd|waiting time|wait time)|(várható |aktuális )?várakozási idő)( (aan|bij|at|in|az?) [\pL ]{3,40})?\s*:?\s*(ongeveer |about |kb\.? )?\d+ ?(min\pL*|perc)|` +
	`((u bent|je bent|you are) )?(bezoeker|visitor)( nummer| number| no\.?| nr\.?)?\s*:?\s*\d[\d., ]*|(ön az? )?\d[\d ]*\. látogató(nk)?|(szerveridő|szerver idő|rendszeridő|servertijd|systeemtijd|server time|system time)\s*:?\s*\d\d?:\d\d(:\d\d)?|` +
	`(geplaatst|gepubliceerd|posted|published|közzétéve|feltöltve|megjelent)\s*:?\s*` + ago + `|` +
	`(ön előtt|jelenleg)( még)? \d+ (várakozó|ügyfél)( (van|áll|várakozik))?( a sorban| ön előtt)?|` +
	`(((het|het is|ez|ez a|it is|it's|\d{4}\.|naptári) )*(week|weeknummer|week number|week no\.?|hét)\s*:?\s*\d\d?|((ez a|\d{4}\.) )?\d\d?\. (naptári )?hét( van)?)( (van|of) \d{4})?)$`)

// clock is a line of a time of day that nobody meets at, with a date or without; thermometer one of the weather.
var (
	clock       = regexp.MustCompile(`(?i)^((\pL+,? )?` + day + `,?( \pL+)? )?(\d\d?:(` + odd + `|\d\d:\d\d)( ?(uur|óra|h))?|\d\d?\.` + odd + ` (uur|óra))$`)
	thermometer = regexp.MustCompile(`(?i)^((vandaag|nu|today|now|ma|most|temperatu\pL+|hőmérséklet|(het )?(weer|weather)( (in|te) \pL[\pL -]*)?|(\pL[\pL -]* )?időjárása?)\s*:?\s*)?[-−]?\d+ ?°\s?c?(` + weather + `)*$`)
)

// What furniture is made of: the words of a page that was looked after, a date, with a time or without, and
// how the weather is.
const (
	updated     = `bijgewerkt|gewijzigd|geactualiseerd|gecontroleerd|updated|modified|changed|edited|revised|frissítve|módosítva|frissült|módosult`
	lookedAfter = `(((de(ze)? |this |az? )?(pagina|page|tekst|content|oldal)( (is|was))? )?((voor het )?laatst |last |utoljára |legutóbb )?(` + updated + `|(af)?gedrukt|geprint|printed|nyomtatva|reviewed|checked)|` +
		`(datum )?laatste (wijziging|aanpassing|update|controle)|last (update|change|revision|review)|(az )?(utolsó|legutóbbi) (frissítés|módosítás|ellenőrzés)( (dátuma|ideje|időpontja))?)`
	odd     = `(\d[1-46-8]|[0-4]9)`
	day     = `(\d\d?[-./ ]+(\d\d?|\pL+)[-./, ]+\d{4}|\d{4}[-./ ]+(\d\d?|\pL+)[-./ ]+\d\d?\.?)`
	moment  = `(\pL+,? )?` + day + `(,?( (om|at|-))? \d\d?[:.]\d\d([:.]\d\d)?( ?(uur|óra|h|am|pm|-?kor))?)?`
	ago     = `(\d+ ?(sec\pL*|min\pL*|uur|uren|dag|dagen|week|weken|maand|maanden|jaar) geleden|\d+ ?(second|minute|min|hour|day|week|month|year)s? ago|\d+ (másodperc|perc|óra|nap|hét|hónap|év|órá|het)\pL{2,3} ezelőtt|\d+ (perce|órája|napja|hete|hónapja|éve))`
	weather = `[ ,–-]+(lichte?|zware?|half|zonnig|bewolkt|helder|regen\pL*|buien|onweer|mist|sneeuw|wind\pL*|en|droog|sunny|cloudy|clear|light|heavy|rain|showers|fog|snow|wind|dry|and|partly|mostly|` +
		`napos|felhős|borult|derült|gyenge|erős|eső|zápor|köd|hó|havazás|szél|szeles|száraz|és|enyhén)`
)

// tally is a count inside a line of content, as behind a download: how often it was fetched.
var tally = regexp.MustCompile(`(?i)[(\[]?(\d[\d.,\x{a0}\x{202f} ]*(keer|maal|x|×)\s+(bekeken|gelezen|bezocht|gedeeld|gedownload|geopend)|` +
	`(viewed|downloaded|read|visited|shared)\s+\d[\d., ]*\s*times|\d[\d.,]*\s+(downloads|views|page ?views|weergaven|shares|likes)\b|` +
	`(downloads|views|hits|gedownload|bekeken|weergaven|letöltések|letöltve|letöltések száma|megtekintések|megtekintések száma|megtekintve)\s*:\s*\d[\d.,\x{a0}\x{202f} ]*( ?(keer|maal|alkalommal|x)\b)?|` +
	`\d[\d., ]*\s*(alkalommal|letöltés|megtekintés|megosztás)( (töltötték le|letöltve|letöltötték|nyitották meg|tekintették meg))?)[)\]]?`)

// tallied are the words one of which each tally has; most lines have none and need no closer look.
var tallied = [...]string{"gelezen", "bekeken", "bezocht", "gedeeld", "gedownload", "geopend", "times", "downloads", "views", "weergaven", "hits",
	"letölt", "megtekint", "megoszt", "alkalommal", "shares", "likes"}

// sides are the parts of a line that stand side by side, as in a byline.
func sides(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == '·' || r == '•' })
}

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
