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
	return strings.ContainsRune(line, '©') || furniture.MatchString(strings.Trim(line, " |·•\u00a0")) || trail.MatchString(line) || extract.Idle(line) || extract.OpeningHours(line)
}

// trail is how a line begins that shows the way to the page.
var trail = regexp.MustCompile(`(?i)^(u bent hier|je bent hier|you are here|ön itt (áll|van|jár)|jelenlegi hely|itt jár)\s*:`)

// furniture is a line, or a part of one, that a page's program adds: how long it takes to read, how it is rated, how
// fast it was made, when it was printed or looked after, the weather.
var furniture = regexp.MustCompile(`(?i)^(` +
	`(leestijd|reading time|olvasási idő)\s*:?\s*\d+ ?(min\pL*|perc)\.?|\d+ ?min\pL*\.? (read|leestijd|leestijd\.)|\d+ perc olvasás|` +
	`((gemiddelde )?(waardering|beoordeling)|(average )?rating|(átlagos )?értékelés)\s*:?\s*\d([.,]\d+)?( ?(/|van|of|out of) ?\d+)?( ?\(\d[\d., ]* (stem\pL*|votes?|beoordeling\pL*|ratings?|reviews?|szavazat\pL*|értékelés\pL*)\))?|` +
	`(pagina|page|az oldal|deze pagina is|this page was)( (gegenereerd|generated|geladen|loaded|opgebouwd|rendered) in)? \d+([.,]\d+)? ?(seconden|seconds?|sec\.?|ms|s|másodperc)( alatt (készült|generálódott|töltődött be))?|` +
	`((af)?gedrukt|geprint|printed|nyomtatva|laatst (bijgewerkt|gewijzigd|gecontroleerd)|last (updated|modified|reviewed|checked)|utolsó (frissítés|módosítás|ellenőrzés))( op| on|:)[^.]{0,12}\d[\pL\d.,:/ -]{3,30}|` +
	`((bijgewerkt|gewijzigd|updated|modified) )?\d+ ((minuten|uur|uren|dagen) geleden|(minutes?|hours?|days?) ago|(perccel|órával|nappal) ezelőtt)( (frissítve|módosítva))?|` +
	`(the time is|het is nu|pontos idő:?) \d\d?[:.]\d\d( (uur|óra))?|(jelenleg |nu |currently )?\d+ (bezoekers|visitors|látogató) (online|olvassa|böngészi)\pL*( az oldalt)?|` +
	`(vandaag|nu|today|now|ma|most)\s*:?\s*[-−]?\d+ ?°\s?c?[\pL ,]{0,40})$`)

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
