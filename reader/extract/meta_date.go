package extract

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// dates are when the page was published and last changed, as far as it says.
func (p *papers) dates(lang string) (published, modified string) {
	pick := func(raws ...string) string {
		for _, raw := range raws {
			if d := parseDate(raw, lang); d != "" {
				return d
			}
		}
		return ""
	}
	n := p.named
	published = pick(p.ld.published, n["article:published_time"], n["og:article:published_time"], n["og:published_time"], n["datepublished"], n["article:published"], n["parsely-pub-date"], n["sailthru.date"], n["citation_publication_date"],
		n["citation_date"], n["pubdate"], n["publishdate"], n["publish-date"], n["publish_date"], n["publication_date"], n["publicationdate"], n["published_at"], n["dc.date.issued"], n["dcterms.issued"], n["dc.date.created"], n["dcterms.created"], n["dcterms.available"],
		n["dc.date"], n["dcterms.date"], n["dc.terms.issued"], n["date.available"], n["rnews:datepublished"], n["cxenseparse:recs:publishtime"], n["datecreated"], n["date"], n["originalpublicationdate"], n["article.published"], n["displaydate"])
	modified = pick(p.ld.modified, n["article:modified_time"], n["og:updated_time"], n["og:article:modified_time"], n["datemodified"], n["dcterms.modified"], n["dc.date.modified"], n["last-modified"], n["lastmod"], n["revised"], n["article.updated"], n["overheid.modified"])
	for _, e := range p.times {
		d := parseDate(e.value, lang)
		if d == "" {
			continue
		}
		switch {
		case hints(e.hint, "modif", "updat", "gewijzigd", "bijgewerkt", "frissit", "geändert", "aktualis"):
			if modified == "" {
				modified = d
			}
		case published == "" && hints(e.hint, "publi", "entry-date", "post-date", "posted", "dateline", "date-posted", "article-date", "datum", "kozzet", "created"):
			published = d
		}
	}
	if published == "" && len(p.times) == 1 {
		if d := parseDate(p.times[0].value, lang); d != "" && d != modified {
			published = d
		}
	}
	seenPublished, seenModified := p.visibleDates(lang)
	if published == "" {
		published = seenPublished
	}
	if modified == "" {
		modified = seenModified
	}
	if len(published) >= 10 && len(modified) >= 10 && modified[:10] < published[:10] {
		modified = "" // a page cannot have changed before it was there
	}
	return published, modified
}

func hints(s string, some ...string) bool {
	for _, h := range some {
		if strings.Contains(s, h) {
			return true
		}
	}
	return false
}

var publishedLabels = []string{"gepubliceerd op", "gepubliceerd:", "gepubliceerd", "publicatiedatum", "geplaatst op", "geplaatst:", "datum publicatie", "published on", "published:", "published", "posted on", "posted:", "date published", "publication date", "first published", "közzétéve", "közzététel", "megjelent",
	"megjelenés", "publikálva", "feltöltve", "létrehozva", "létrehozás dátuma", "beküldve", "dátum:", "datum:", "veröffentlicht am", "veröffentlicht", "erschienen am", "erstellt am", "erstellt:", "publié le", "publié", "mis en ligne le", "date de publication", "publicado", "pubblicato"}

var modifiedLabels = []string{"laatst gewijzigd", "laatst bijgewerkt", "laatste wijziging", "gewijzigd op", "bijgewerkt op", "bijgewerkt", "last updated", "last modified", "last reviewed", "updated on", "updated:", "updated", "modified", "frissítve", "utolsó módosítás", "utoljára módosítva", "utolsó frissítés", "módosítva",
	"zuletzt aktualisiert", "aktualisiert am", "aktualisiert", "stand:", "letzte änderung", "zuletzt geändert", "mis à jour le", "mise à jour", "dernière mise à jour", "actualizado", "aggiornato"}

// visibleDates reads the dates that the text itself labels, and one that stands alone by the heading.
func (p *papers) visibleDates(lang string) (published, modified string) {
	heading := -100
	for i, raw := range p.texts {
		if raw == "\x00h1" {
			heading = i
			continue
		}
		if published != "" && modified != "" {
			break
		}
		if !hasYear(raw) {
			continue
		}
		s, before := tidy(raw, 400), ""
		if i > 0 && len(p.texts[i-1]) < 60 {
			before = strings.ToLower(tidy(p.texts[i-1], 60))
		}
		d, kind := labelled(s, before, lang)
		switch {
		case kind == labelModified:
			modified = cmp.Or(modified, d)
		case kind == labelPublished:
			published = cmp.Or(published, d)
		case published == "" && i-heading < 8 && len(s) < 48:
			published = lineDate(s, lang)
		}
	}
	return published, modified
}

// lineDate is the date of a line by the heading that says nothing else, or has it to itself between bars.
func lineDate(s, lang string) string {
	word, _, _ := strings.Cut(strings.ToLower(s), " ")
	switch strings.Trim(word, ":.") {
	case "tot", "t/m", "vanaf", "until", "till", "to", "from", "due", "since", "sinds", "bis", "ab", "seit", "geldig", "valid", "expires", "jusqu'au", "dès":
		return "" // the end or the start of something else
	}
	if d, rest := findDate(s, lang); d != "" && len(letters(rest)) < 8 {
		return d
	}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '|' || r == '·' || r == '•' }) {
		if d, rest := findDate(part, lang); d != "" && len(part) < len(s) && len(letters(rest)) < 4 {
			return d
		}
	}
	return ""
}

type labelKind uint8

const (
	noLabel labelKind = iota
	labelPublished
	labelModified
)

// labelled is the date in s behind a label, which may also be all of the text before s.
func labelled(s, before, lang string) (string, labelKind) {
	lower := strings.ToLower(s)
	for _, group := range [...]struct {
		labels []string
		kind   labelKind
	}{{modifiedLabels, labelModified}, {publishedLabels, labelPublished}} {
		for _, l := range group.labels {
			if at := strings.Index(lower[:min(len(lower), 40+len(l))], l); at >= 0 && at <= 40 && (at == 0 || len(lower) == len(s) && !endsInLetter(lower[:at])) {
				rest := s[min(at+len(l), len(s)):]
				d, _ := findDate(rest[:min(len(rest), 60)], lang)
				return d, group.kind
			}
			if strings.HasPrefix(before, l) && len(before) < len(l)+4 && len(s) < 60 {
				d, _ := findDate(s, lang)
				return d, group.kind
			}
		}
	}
	return "", noLabel
}

func endsInLetter(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r)
}

func digit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// parseDate reads a date that a machine or a person wrote, and gives it in ISO 8601: with a time and
// a zone only if it has them.
func parseDate(raw, lang string) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || len(raw) > 80 || !digit(raw) {
		return ""
	}
	if d := isoDate(raw); d != "" {
		return d
	}
	for _, layout := range [...]string{time.RFC1123Z, time.RFC1123, time.RFC850, time.RFC822Z, time.ANSIC, time.UnixDate, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "Mon Jan 2 2006 15:04:05 GMT-0700"} {
		if t, err := time.Parse(layout, raw); err == nil && t.Year() > 1900 && t.Year() < 2100 {
			if name, off := t.Zone(); off == 0 && name != "UTC" && name != "GMT" && !strings.Contains(raw, "+0000") {
				return t.Format("2006-01-02T15:04:05")
			}
			return t.Format("2006-01-02T15:04:05Z07:00")
		}
	}
	d, _ := findDate(raw, lang)
	return d
}

// isoDate reads 2024-05-06, 20240506, and 2024-05-06T07:08:09.123+0200 with its variants.
func isoDate(s string) string {
	y, rest, ok := digits(s, 4)
	if !ok {
		return ""
	}
	sep := strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "/")
	m, rest, ok := digits(strings.TrimLeft(rest, "-/"), 2)
	if !ok {
		return ""
	}
	d, rest, ok := digits(strings.TrimLeft(rest, "-/"), 2)
	if !ok || !valid(y, m, d) || rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		return ""
	}
	date := fmt.Sprintf("%04d-%02d-%02d", y, m, d)
	if rest == "" {
		return date
	}
	if !sep && rest[0] != 'T' {
		return ""
	}
	if rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' {
		return ""
	}
	return date + clock(strings.TrimLeft(rest[1:], " "))
}

// clock reads a time of day and its zone, as "T…"; "" when s is none.
func clock(s string) string {
	h, rest, ok := digits(s, 2)
	if !ok || h > 23 {
		return ""
	}
	minute, rest, ok := digits(strings.TrimPrefix(rest, ":"), 2)
	if !ok || minute > 59 {
		return ""
	}
	sec := 0
	if after, is := strings.CutPrefix(rest, ":"); is {
		if sec, rest, ok = digits(after, 2); !ok || sec > 60 {
			return ""
		}
		sec = min(sec, 59)
	}
	if after, is := strings.CutPrefix(rest, "."); is {
		rest = strings.TrimLeft(after, "0123456789")
	}
	out := fmt.Sprintf("T%02d:%02d:%02d", h, minute, sec)
	rest = strings.TrimSpace(rest)
	switch {
	case rest == "Z" || rest == "z" || rest == "UTC" || rest == "GMT":
		return out + "Z"
	case rest != "" && (rest[0] == '+' || rest[0] == '-'):
		zh, tail, ok := digits(rest[1:], 2)
		zm := 0
		if ok && tail != "" {
			zm, tail, ok = digits(strings.TrimPrefix(tail, ":"), 2)
		}
		if ok && tail == "" && zh < 15 && zm < 60 {
			return out + fmt.Sprintf("%c%02d:%02d", rest[0], zh, zm)
		}
	}
	return out
}

func digits(s string, n int) (v int, rest string, ok bool) {
	if len(s) < n {
		return 0, s, false
	}
	for i := range n {
		if s[i] < '0' || s[i] > '9' {
			return 0, s, false
		}
		v = v*10 + int(s[i]-'0')
	}
	return v, s[n:], true
}

func valid(y, m, d int) bool {
	if y < 1900 || y > 2100 || m < 1 || m > 12 || d < 1 {
		return false
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return t.Day() == d
}

var months = func() map[string]int {
	m := make(map[string]int)
	for _, names := range []string{
		"january february march april may june july august september october november december",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"január február március április május június július augusztus szeptember október november december",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
		"jan feb mar apr may jun jul aug sep oct nov dec", "jan feb mrt apr mei jun jul aug sept okt nov dec",
		"jan febr márc ápr máj jún júl aug szept okt nov dec", "jän feb mär apr mai juni juli aug sept okt nov dez", "janv févr mars avr mai juin juil août sept oct nov déc",
	} {
		for i, name := range strings.Fields(names) {
			m[name] = i + 1
		}
	}
	return m
}()

// findDate is the one date in s, with words for its month or in an order that is certain, and s
// without it. Two readings are no date.
func findDate(s, lang string) (date, rest string) {
	f := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == ',' || r == '(' || r == ')' || r == '|' || r == '·'
	})
	for i := range f {
		f[i] = strings.Trim(f[i], ".:;")
	}
	for i := range f {
		if d := isoDate(f[i]); d != "" {
			return d + clockAt(f, i+1), strings.Join(append(append([]string{}, f[:i]...), f[i+1:]...), " ")
		}
		if d := numericDate(f[i], lang); d != "" {
			return d, strings.Join(append(append([]string{}, f[:i]...), f[i+1:]...), " ")
		}
		if d, used := wordDate(f[i:]); d != "" {
			return d, strings.Join(append(append([]string{}, f[:i]...), f[i+used:]...), " ")
		}
	}
	return "", s
}

func clockAt(f []string, i int) string {
	if i < len(f) && len(f[i]) >= 5 && f[i][2] == ':' {
		return clock(f[i])
	}
	return ""
}

// wordDate reads "6 May 2024", "May 6 2024" and "2024 május 6" at the start of f.
func wordDate(f []string) (string, int) {
	if len(f) < 3 {
		return "", 0
	}
	a, b, c := f[0], f[1], f[2]
	read := func(y, m, d string) string {
		month := months[strings.ToLower(m)]
		year, err1 := strconv.Atoi(y)
		day, err2 := strconv.Atoi(ordinal(d))
		if month == 0 || err1 != nil || err2 != nil || len(y) != 4 || !valid(year, month, day) {
			return ""
		}
		return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	}
	if d := read(c, b, a); d != "" {
		return d, 3
	}
	if d := read(c, a, b); d != "" {
		return d, 3
	}
	if d := read(a, b, c); d != "" {
		return d, 3
	}
	if len(f) >= 5 && strings.EqualFold(b, "de") && strings.EqualFold(f[3], "de") {
		if d := read(f[4], c, a); d != "" {
			return d, 5
		}
	}
	// 2024. 05. 06. as Hungarians write it
	if len(a) == 4 && len(b) <= 2 && len(c) <= 2 {
		y, e1 := strconv.Atoi(a)
		m, e2 := strconv.Atoi(b)
		d, e3 := strconv.Atoi(c)
		if e1 == nil && e2 == nil && e3 == nil && valid(y, m, d) {
			return fmt.Sprintf("%04d-%02d-%02d", y, m, d), 3
		}
	}
	return "", 0
}

func ordinal(s string) string {
	for _, suffix := range [...]string{"st", "nd", "rd", "th", "er", "e", "-án", "-én", "-i", "-jén", "-ján"} {
		if v, ok := strings.CutSuffix(strings.ToLower(s), suffix); ok && v != "" {
			s = v
		}
	}
	return strings.Trim(s, ".,")
}

// numericDate reads 06.05.2024, 06-05-2024 and 2024.05.06: the day first where points and dashes
// are used; with slashes only when one number cannot be a month, or the page is not English.
func numericDate(s, lang string) string {
	sep := byte(0)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '.' || c == '-' || c == '/' {
			if sep != 0 && sep != c {
				return ""
			}
			sep = c
		} else if c < '0' || c > '9' {
			return ""
		}
	}
	if sep == 0 {
		return ""
	}
	parts := strings.Split(s, string(sep))
	if len(parts) != 3 {
		return ""
	}
	var v [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return ""
		}
		v[i] = n
	}
	y, m, d := v[2], v[1], v[0]
	switch {
	case len(parts[0]) == 4:
		y, m, d = v[0], v[1], v[2]
	case len(parts[2]) != 4:
		return ""
	case sep == '/' && v[1] > 12:
		m, d = v[0], v[1]
	case sep == '/' && v[0] <= 12 && v[0] != v[1] && (lang == "" || lang == "en" || lang == "en-US"):
		return ""
	}
	if !valid(y, m, d) {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}
