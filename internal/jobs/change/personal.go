package change

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redacted stands where personal data was taken out.
const Redacted = "[…]"

// WithoutPersonalData is text without e-mail addresses, phone numbers, bank accounts and national
// identity numbers (NL BSN; HU TAJ and tax numbers) in their usual written forms. Dates and sums of
// money stay.
func WithoutPersonalData(text string) string {
	clean, _, _ := redact(text, 0, len(text))
	return clean
}

var (
	// An address, its sign written in any of the ways that are to keep machines off. Signs that occur
	// in plain text too need a name with a dot behind them.
	email = regexp.MustCompile(`(?i)[\p{L}\d._%+'-]+\s?(@|\((at|kukac|apenstaartje)\)|\[(at|kukac)\]|\{(at|kukac)\}|＠)\s?[\p{L}\d-]+(\.[\p{L}\d-]+|\s\.\s[\p{L}\d-]+|\s?[([{](dot|punt|pont)[)\]}]\s?[\p{L}\d-]+)*` +
		`|[\p{L}\d._%+'-]+(\s?\(a\)\s?|\s?\[a\]\s?|<at>|[_-]at[_-]|\s(kukac|apenstaartje|at)\s)[\p{L}\d-]+((\.|\s?[([{](dot|punt|pont)[)\]}]\s?|\s(dot|punt|pont)\s)[\p{L}\d-]+)+`)
	iban = regexp.MustCompile(`\b[A-Z]{2}\d{2}([\s.-]?[A-Z0-9]{4}){2,7}([\s.-]?[A-Z0-9]{1,3})?\b`)
	// Hungarian bank accounts are two or three groups of eight.
	account = regexp.MustCompile(`\b\d{8}[\s-]\d{8}([\s-]\d{8})?\b`)
	// Numbers of documents with letters: Hungarian identity cards, British national insurance, and
	// whatever follows the name of such a document.
	card     = regexp.MustCompile(`\b(\d{6}\s?[A-Z]{2}|[A-Z]{2}\s?\d{2}\s?\d{2}\s?\d{2}\s?[A-D])\b`)
	document = regexp.MustCompile(`(?i:igazolvány|útlevél|jogosítvány|paspoort|passport|identiteitskaart|id-kaart|rijbewijs|driving licence|v-nummer|vreemdelingennummer|nhs|national insurance)\pL*` +
		`(?i:[\s:.]{1,3}(nummer|nr|no|number|szám\pL*))?[\s:.]{1,3}([A-Z]{0,5}\s?\d[\dA-Z -]{3,12}[\dA-Z]|[A-Z]{3,6}\d[\dA-Z]{2,8})\b`)
	// A run of digits as phone and identity numbers are written; judged by personalNumber.
	number = regexp.MustCompile(`[+(]{0,2}\d[\d\s\x{a0}\x{2007}\x{2009}\x{202f}().\-/–‑−·]*\d`)
	// What looks like a run but tells a day, a time or a span of years.
	dated = regexp.MustCompile(`\b(\d{1,2}\s?[-./]\s?\d{1,2}\s?[-./]\s?(19|20)\d{2}|(19|20)\d{2}\s?[-./]\s?\d{1,2}\s?[-./]\s?\d{1,2}\.?|` +
		`(19|20)\d{2}\s?[-–/]\s?(19|20)\d{2}|\d{1,2}[:.]\d{2}\s?[-–]\s?\d{1,2}[:.]\d{2}|\d{1,2}:\d{2})\b`)
	money  = regexp.MustCompile(`(?i)^\s?(€|eur\b|euro|ft\b|huf\b|forint|e\s?ft\b|m\s?ft\b|mft\b|eft\b|miljoen|millió|mrd|milliárd|,-|,–|,\d{2}\b|%|m2|m²)`)
	moneyB = regexp.MustCompile(`(?i)(€|eur|euro|huf|ft|\$|£)\.?\s{0,2}$`)
	named  = regexp.MustCompile(`(?i)(bsn|burgerservicenummer|sofinummer|sofi-nummer|taj|taj-szám\w*|társadalombiztosítási\s+azonosító\s+jel\w*|adóazonosító\s*(jel\w*)?|adószám\w*|személyi\s+(szám|azonosító)\w*|` +
		`\b(tel|telefoon\w*|telefon\w*|phone|telephone|fax|gsm|mobiel|mobil\w*|mobile)\b)[^\d\n]{0,30}$`)
	// Numbers of cases, companies and plots, which name nobody.
	filed  = regexp.MustCompile(`(?i)(zaak|kenmerk|dossier|iktatósz|ügyirat|hivatkoz|referen|\bref|case|kvk|rsin|cégjegyzék|nyilvántartás|isbn|hrsz|helyrajzi|vestiging|projekt|charity|company|besluit|publicatie)\pL*[\s:.-]{0,3}((szám|nummer|number|no|nr)\pL*)?[\s:.#+-]{0,4}$`)
	code   = regexp.MustCompile(`[\p{Lu}\d_]{2,}[-/.]$`)
	lawNo  = regexp.MustCompile(`^\d{1,5}/(19|20)\d{2}$`)
	day8   = regexp.MustCompile(`^(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])$`)
	fromTo = regexp.MustCompile(`^(\d{2,4})\s?[-–]\s?(\d{3,4})$`)
)

// redact takes personal data out of text and says where the span from..to stands afterwards.
func redact(text string, from, to int) (clean string, newFrom, newTo int) {
	var b strings.Builder
	at := 0
	newFrom, newTo = -1, -1
	mark := func(pos int) {
		if newFrom < 0 && pos >= from {
			newFrom = b.Len() - max(0, pos-from)
		}
		if newTo < 0 && pos >= to {
			newTo = b.Len() - (pos - to)
		}
	}
	for _, s := range personal(text) {
		b.WriteString(text[at:s[0]])
		mark(s[0])
		b.WriteString(Redacted)
		at = s[1]
		if newFrom < 0 && at > from {
			newFrom = b.Len()
		}
		if newTo < 0 && at >= to {
			newTo = b.Len()
		}
	}
	b.WriteString(text[at:])
	mark(len(text))
	clean = b.String()
	newFrom = min(max(newFrom, 0), len(clean))
	return clean, newFrom, min(max(newTo, newFrom), len(clean))
}

// personal are the spans of personal data in text, in order and apart.
func personal(text string) [][2]int {
	var spans [][2]int
	for _, re := range [...]*regexp.Regexp{email, iban, account, card} {
		for _, m := range re.FindAllStringIndex(text, -1) {
			spans = append(spans, [2]int{m[0], m[1]})
		}
	}
	for _, m := range document.FindAllStringSubmatchIndex(text, -1) {
		spans = append(spans, [2]int{m[4], m[5]})
	}
	for _, run := range runs(text) {
		if personalNumber(text, run) {
			spans = append(spans, run)
		}
	}
	return merge(spans)
}

// runs are the digit runs of text with dates and times taken out of them.
func runs(text string) [][2]int {
	days := dated.FindAllStringIndex(text, -1)
	var found [][2]int
	for _, m := range number.FindAllStringIndex(text, -1) {
		at := m[0]
		for _, d := range days {
			if d[1] <= at || d[0] >= m[1] {
				continue
			}
			if d[0] > at {
				found = append(found, trim(text, at, d[0]))
			}
			at = max(at, d[1])
		}
		if at < m[1] {
			found = append(found, trim(text, at, m[1]))
		}
	}
	return found
}

func trim(text string, a, b int) [2]int {
	inside := strings.TrimLeftFunc(text[a:b], func(r rune) bool { return !unicode.IsDigit(r) && r != '+' && r != '(' })
	if !strings.Contains(inside, ")") {
		inside = strings.TrimLeft(inside, "(")
	}
	a = b - len(inside)
	inside = strings.TrimRightFunc(inside, func(r rune) bool { return !unicode.IsDigit(r) })
	return [2]int{a, a + len(inside)}
}

// nearby is how many bytes beside a number say what it is.
const nearby = 96

// personalNumber judges a run: a phone number, a BSN, a TAJ number or a tax number, unless it is a
// sum of money or stands inside a longer word or address.
func personalNumber(text string, run [2]int) bool {
	if run[1] <= run[0] {
		return false
	}
	s := text[run[0]:run[1]]
	digits := onlyDigits(s)
	before, after := text[max(0, run[0]-nearby):run[0]], text[run[1]:min(len(text), run[1]+nearby)]
	if len(digits) >= 6 && named.MatchString(before) {
		return true
	}
	if money.MatchString(after) || moneyB.MatchString(before) || insideWord(before, after) || impersonal(s, digits, before) {
		return false
	}
	return phone(s, digits) || identity(s, digits)
}

// impersonal knows numbers that look like a person's and are not: of cases and laws, days without
// marks, spans and round sums.
func impersonal(s, digits, before string) bool {
	switch {
	case filed.MatchString(before), lawNo.MatchString(s), day8.MatchString(s):
		return true
	case code.MatchString(before) && len(digits) < 9:
		return true
	case strings.HasSuffix(digits, "000") && digits[0] != '0' && s[0] != '+' && groups(s) > 1 && !strings.ContainsAny(s, "/()"):
		return true
	}
	m := fromTo.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	low, _ := strconv.Atoi(m[1])
	high, _ := strconv.Atoi(m[2])
	return low < high && low%50 == 0 && high%50 == 0
}

func insideWord(before, after string) bool {
	b, _ := utf8.DecodeLastRuneInString(before)
	a, _ := utf8.DecodeRuneInString(after)
	return b == '/' || b == '_' || b == '=' || unicode.IsLetter(b) && !unicode.IsSpace(b) || a == '_' || unicode.IsLetter(a)
}

// phone knows numbers by their written form: an international prefix, a trunk zero, or a short area
// code set off by a slash, hyphen or brackets.
func phone(s, digits string) bool {
	n := len(digits)
	switch {
	case strings.HasPrefix(strings.TrimLeft(s, "("), "+") || strings.HasPrefix(digits, "00"):
		return n >= 8 && n <= 16
	case digits[0] == '0':
		return n >= 9 && n <= 13
	case n < 7 || n > 11 || year(s):
		return false
	}
	return strings.ContainsAny(s, "/-()–‑") && groups(s) >= 2
}

// identity knows the lengths of national numbers: BSN 8 or 9, TAJ 9, Hungarian tax number 10 from 8.
func identity(s, digits string) bool {
	if strings.ContainsAny(s, "()+/") {
		return false
	}
	switch len(digits) {
	case 9:
		return true
	case 8:
		return groups(s) == 1 && !year(s)
	case 10:
		return digits[0] == '8'
	case 11:
		return birthNumber.MatchString(s)
	}
	return false
}

// birthNumber is the Hungarian personal number: sex and century, day of birth, serial number.
var birthNumber = regexp.MustCompile(`^[1-8][\s-]?\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])[\s-]?\d{4}$`)

// year is true for a run that begins with a year, as case numbers do.
func year(s string) bool {
	return len(s) > 4 && (strings.HasPrefix(s, "19") || strings.HasPrefix(s, "20")) &&
		unicode.IsDigit(rune(s[2])) && unicode.IsDigit(rune(s[3])) && !unicode.IsDigit(rune(s[4]))
}

func groups(s string) int {
	return len(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }))
}

func onlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// merge orders spans and joins those that touch.
func merge(spans [][2]int) [][2]int {
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	var out [][2]int
	for _, s := range spans {
		if len(out) > 0 && s[0] <= out[len(out)-1][1] {
			out[len(out)-1][1] = max(out[len(out)-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}
