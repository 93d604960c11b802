package change

import (
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
		if at < len(text) && (r > 0x2fff || unicode.IsSpace(next)) && !ordinal(text[:i], r, text[at:]) {
			parts = append(parts, strings.TrimSpace(text[from:at]))
			from = at
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// ordinal is true for the dot of an ordinal number or a date, as in "2026. május 3." and "3. fejezet".
func ordinal(before string, r rune, after string) bool {
	if r != '.' {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \u00a0"))
	return unicode.IsDigit(last) && (unicode.IsLower(next) || unicode.IsDigit(next))
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
