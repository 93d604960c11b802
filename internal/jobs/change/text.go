package change

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longSentence = 120 // runes; a longer sentence is parted at its commas
	longClause   = 200 // runes; a longer clause is parted between words
)

// sentences parts a block into the units that are compared: sentences, and the clauses of long ones.
func sentences(text string) []string {
	var units []string
	for _, s := range part(text, sentenceEnd) {
		if utf8.RuneCountInString(s) <= longSentence {
			units = append(units, s)
			continue
		}
		for _, c := range part(s, clauseEnd) {
			units = append(units, windows(c)...)
		}
	}
	return units
}

func sentenceEnd(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '。', '！', '？', '؟', '।':
		return true
	}
	return false
}

func clauseEnd(r rune) bool {
	switch r {
	case ',', ';', ':', '–', '—', '、', '，', '；', '：', '(', ')', '،':
		return true
	}
	return false
}

// part cuts text behind the marks that end says, where a blank follows or the script has none.
func part(text string, end func(rune) bool) []string {
	var parts []string
	from := 0
	for i, r := range text {
		if !end(r) {
			continue
		}
		at := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(text[at:])
		if at < len(text) && (r > 0x2fff || unicode.IsSpace(next)) {
			parts = append(parts, strings.TrimSpace(text[from:at]))
			from = at
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// windows cuts a clause that has no marks, behind words that the text itself chooses, so that a word
// put in moves one border only.
func windows(clause string) []string {
	if utf8.RuneCountInString(clause) <= longClause {
		return []string{clause}
	}
	var parts []string
	from, hash := 0, uint32(2166136261)
	for i, r := range clause {
		if !unicode.IsSpace(r) {
			hash = (hash ^ uint32(r)) * 16777619
			continue
		}
		if hash>>8%8 == 0 || i-from > 4*longClause {
			parts = append(parts, strings.TrimSpace(clause[from:i]))
			from = i
		}
		hash = 2166136261
	}
	return append(parts, strings.TrimSpace(clause[from:]))
}

// volatile is true for a short line that counts visits or tells today's date or the time: furniture
// that stands inside the content.
func volatile(text string) bool {
	return utf8.RuneCountInString(text) <= 140 && (counter.MatchString(text) || clock.MatchString(text))
}

var (
	counter = regexp.MustCompile(`(?i)(\d[\d.,\s]*\s*(keer|maal|x|×)\s+(bekeken|gelezen|bezocht|gedeeld|gedownload|geopend))|` +
		`(\d[\d.,\s]*\s*(views?|visits?|visitors|page ?views|reads|hits|shares|likes|weergaven|bezoekers|bezoeken|lezers|megtekintés\w*|látogató\w*|látogatás\w*|olvasás\w*|letöltés\w*)\b)|` +
		`(\b(viewed|visited|read|shared)\b.{0,20}\d[\d.,\s]*\s*times)|(\d[\d.,\s]*\s*alkalommal\b.{0,40}(meg|nyit|olvas|tekint|látogat))|` +
		`((views|hits|page views|weergaven|bekeken|aantal keer bekeken|megtekintések( száma)?|megtekintve|látogatók|olvasta|olvasottság)\s*:?\s*\d)|` +
		`(\d[\d.,\s]*\s*(users?|visitors?|guests?|bezoekers?|vendég\w*)\s+(are |is |zijn |nu )?online)`)
	clock = regexp.MustCompile(`(?i)^(het is (vandaag|nu)|vandaag( is het)?\b|today( is)?\b|it is now|nu:|huidige (tijd|datum)|current (time|date)|` +
		`(a )?mai (nap|dátum)|ma\b[^.]{0,12}\d{4}|pontos idő|aktuális (idő|dátum)|server ?time|generated (at|on|in)|gegenereerd (op|om|in)|page generated)[^.!?]{0,60}\d|` +
		`^\d{1,2}:\d{2}:\d{2}$`)
)

// Excerpt quotes the unit with as much of its block around it as fits into most characters, at
// words' borders, without personal data.
func Excerpt(block, unit string, most int) string {
	from := strings.Index(block, unit)
	if from < 0 {
		from = 0
		unit = block
	}
	text, from, to := redact(block, from, from+len(unit))
	runes := []rune(text)
	a, b := utf8.RuneCountInString(text[:from]), utf8.RuneCountInString(text[:to])
	if len(runes) <= most {
		return strings.TrimSpace(text)
	}
	most -= 2 // the marks of the cuts
	if b-a > most {
		b = a + most
	}
	spare := most - (b - a)
	left := min(a, spare/2)
	right := min(len(runes)-b, spare-left)
	left = min(a, spare-right)
	a, b = words(runes, a-left, b+right, a, b)
	quote := strings.TrimSpace(string(runes[a:b]))
	if quote == "" {
		return ""
	}
	if a > 0 {
		quote = "…" + quote
	}
	if b < len(runes) {
		quote += "…"
	}
	return quote
}

// words draws the borders a and b in to the words inside them, not past the quoted part.
func words(runes []rune, a, b, innerA, innerB int) (int, int) {
	for a > 0 && a < innerA && !unicode.IsSpace(runes[a-1]) {
		a++
	}
	for b < len(runes) && b > innerB && !unicode.IsSpace(runes[b]) {
		b--
	}
	return a, b
}
