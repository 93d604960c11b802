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
	return strings.ContainsRune(line, '©') || trail.MatchString(line) || extract.Idle(line) || extract.OpeningHours(line)
}

// trail is how a line begins that shows the way to the page.
var trail = regexp.MustCompile(`(?i)^(u bent hier|je bent hier|you are here|ön itt (áll|van|jár)|jelenlegi hely|itt jár)\s*:`)

// tally is a count inside a line of content, as behind a download: how often it was fetched.
var tally = regexp.MustCompile(`(?i)[(\[]?(\d[\d.,\x{a0}\x{202f} ]*(keer|maal|x|×)\s+(bekeken|gelezen|bezocht|gedeeld|gedownload|geopend)|` +
	`(viewed|downloaded|read|visited|shared)\s+\d[\d., ]*\s*times|\d[\d.,]*\s+(downloads|views|page ?views|weergaven|shares|likes)\b|` +
	`(downloads|views|hits|gedownload|bekeken|weergaven|letöltések|letöltve|letöltések száma|megtekintések|megtekintések száma|megtekintve)\s*:\s*\d[\d.,\x{a0}\x{202f} ]*( ?(keer|maal|alkalommal|x)\b)?|` +
	`\d[\d., ]*\s*(alkalommal|letöltés|megtekintés|megosztás)( (töltötték le|letöltve|letöltötték|nyitották meg|tekintették meg))?)[)\]]?`)

// tallied are the words one of which each tally has; most lines have none and need no closer look.
var tallied = [...]string{"gelezen", "bekeken", "bezocht", "gedeeld", "gedownload", "geopend", "times", "downloads", "views", "weergaven", "hits",
	"letölt", "megtekint", "megoszt", "alkalommal", "shares", "likes"}

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
