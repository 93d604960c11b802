package extract

import (
	"slices"
	"strings"
	"unicode"
)

// letters is s in lower case without anything but letters and digits.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

func sameLetters(a, b string) bool { return a != "" && letters(a) == letters(b) }

func (p *papers) siteName() string {
	for _, s := range [...]string{p.first("og:site_name"), p.ld.site, p.ld.publisher, p.first("application-name", "apple-mobile-web-app-title", "twitter:app:name:iphone", "dc.publisher", "dcterms.publisher")} {
		if s = tidy(s, 200); s != "" && !strings.Contains(s, "://") && !(sameLetters(s, p.title) && len(strings.Fields(s)) > 4) {
			return s
		}
	}
	return ""
}

// pickTitle is the title of the page without the site's name, and the site's name, which a title may
// tell when nothing else does.
func (p *papers) pickTitle(site string) (title, siteName string) {
	bare, found := p.bareTitle(p.title, site)
	if site == "" {
		site = found
	}
	og, _ := p.bareTitle(p.first("og:title", "twitter:title", "dc.title", "dcterms.title"), site)
	if rest, ok := strings.CutPrefix(bare, og); ok && og != "" && strings.HasPrefix(strings.TrimSpace(rest), `"`) {
		og = bare // a quotation mark in the title has cut the attribute short
	}
	headline := p.ld.headline
	if head, _, ok := p.cutName(headline, site); ok {
		headline = head
	}
	for _, s := range [...]string{p.agreed(headline), p.agreed(og), bare, og, headline, p.named["headline"], first(p.h1)} {
		if s != "" && !(site != "" && sameLetters(s, site) && first(p.h1) != "" && !sameLetters(first(p.h1), site)) {
			return s, site
		}
	}
	return "", site
}

func first(some []string) string {
	if len(some) == 0 {
		return ""
	}
	return some[0]
}

// agreed is s when the page's title or first heading has most of its words; else the two speak of
// different things.
func (p *papers) agreed(s string) string {
	if s == "" {
		return ""
	}
	for _, other := range append([]string{p.title}, p.h1...) {
		if overlap(s, other) >= 0.5 {
			return s
		}
	}
	if p.title == "" && len(p.h1) == 0 {
		return s
	}
	return ""
}

// overlap is the share of the words of a that b has.
func overlap(a, b string) float64 {
	a, b = strings.ToLower(a), strings.ToLower(b)
	all := strings.FieldsFunc(a, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(all) == 0 || b == "" {
		return 0
	}
	n := 0
	for _, word := range all {
		if strings.Contains(b, word) {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

// separators part a title from the site's name.
var separators = []string{" | ", " – ", " — ", " - ", " · ", " • ", " » ", " « ", " :: ", " / ", " ~ ", " ‹ ", " › ", " > ", " < ", " : ", ": ", "|", " ⋅ ", " ∙ ", " → "}

// bareTitle is title without the name of the site: the part that is the site's name, that of its
// domain, or, when the first heading of the page is the rest, whatever stands beside that.
func (p *papers) bareTitle(title, site string) (bare, name string) {
	title = strings.TrimRight(title, " |:•")
	if title == "" {
		return "", ""
	}
	heads := p.h1
	if len(heads) == 0 {
		heads = p.h2
	}
	for _, h := range heads {
		if sameLetters(title, h) {
			return title, ""
		}
	}
	if head, tail, ok := p.cutName(title, site); ok {
		return head, tail
	}
	for _, sep := range separators {
		for _, h := range heads {
			if head, tail, ok := cutAround(title, sep, h); ok {
				return head, tail
			}
		}
	}
	for _, sep := range [...]string{" | ", " » ", " :: ", " • "} {
		if i := strings.LastIndex(title, sep); i > 0 && len(strings.Fields(title[:i])) > 1 && len(title)-i < 60 {
			if head, tail := title[:i], title[i+len(sep):]; p.hosts(head) && len(strings.Fields(tail)) > 3 {
				return strings.TrimSpace(tail), strings.TrimSpace(head)
			}
			return strings.TrimSpace(title[:i]), ""
		}
	}
	return title, ""
}

// cutName parts the name of the site from a title that has it at its end or its start.
func (p *papers) cutName(title, site string) (bare, name string, ok bool) {
	for _, sep := range separators {
		if !strings.Contains(title, sep) {
			continue
		}
		if i := strings.LastIndex(title, sep); i > 0 {
			if head, tail := title[:i], title[i+len(sep):]; p.names(tail, site) {
				return p.again(head, site), strings.TrimSpace(tail), true
			}
		}
		if i := strings.Index(title, sep); i > 0 {
			if head, tail := title[:i], title[i+len(sep):]; p.names(head, site) && tail != "" {
				return strings.TrimSpace(tail), strings.TrimSpace(head), true
			}
		}
	}
	return "", "", false
}

// again takes a second mention of the site, as in "Title - Section | Site", no further than the
// heading.
func (p *papers) again(title, site string) string {
	title = strings.TrimSpace(title)
	for _, sep := range separators {
		for _, h := range p.h1 {
			if head, _, ok := cutAround(title, sep, h); ok {
				return head
			}
		}
		if i := strings.LastIndex(title, sep); i > 0 && p.names(title[i+len(sep):], site) {
			return strings.TrimSpace(title[:i])
		}
	}
	return title
}

// cutAround is the part of title on one side of sep when it says what the heading h does.
func cutAround(title, sep, h string) (part, rest string, ok bool) {
	i := strings.Index(title, sep)
	j := strings.LastIndex(title, sep)
	if i <= 0 {
		return "", "", false
	}
	for _, s := range [...][2]string{{title[:i], ""}, {title[:j], ""}, {title[i+len(sep):], ""}, {title[j+len(sep):], ""}} {
		if sameLetters(s[0], h) {
			return strings.TrimSpace(s[0]), "", true
		}
	}
	return "", "", false
}

// names is true when part is the name of the site: as it calls itself, or as its domain is called.
func (p *papers) names(part, site string) bool {
	l := letters(part)
	if l == "" {
		return false
	}
	if s := letters(site); s != "" && (l == s || len(s) > 3 && strings.HasPrefix(l, s) && len(l) < len(s)+8 || len(l) > 3 && strings.HasPrefix(s, l) && !p.heads(l)) {
		return true
	}
	if p.base == nil {
		return false
	}
	host := strings.TrimPrefix(strings.ToLower(p.base.Hostname()), "www.")
	if l == letters(host) {
		return true
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if i < len(labels)-1 && len(label) > 3 && letters(label) == l {
			return true
		}
	}
	return false
}

// hosts is true when part begins as the domain is called and says little more.
func (p *papers) hosts(part string) bool {
	if p.base == nil {
		return false
	}
	l := letters(part)
	for label := range strings.SplitSeq(strings.ToLower(p.base.Hostname()), ".") {
		if label = letters(label); len(label) > 5 && strings.HasPrefix(l, label) && len(l) < len(label)+16 {
			return true
		}
	}
	return false
}

func (p *papers) heads(l string) bool {
	for _, h := range p.h1 {
		if letters(h) == l {
			return true
		}
	}
	return false
}

// byWords begin a byline, in the languages we meet.
var byWords = []string{"written by ", "posted by ", "published by ", "story by ", "text by ", "words by ", "by: ", "by ", "author: ", "authors: ", "door: ", "door ", "geschreven door ", "auteur: ", "auteur ", "tekst: ", "von ", "von: ", "autor: ", "text: ", "par ", "par: ",
	"por ", "por: ", "di ", "szerző: ", "szerző ", "írta: ", "írta ", "av ", "af ", "de: ", "autor ", "скрито: ", "автор: ", "автор "}

// byline is who wrote the page. The name that the site declares for itself is no byline; a name that only
// the page's title has beside it is one when the page names it as its author.
func (p *papers) byline(declared, site string) string {
	if s := joinNames(p.ld.authors, declared); s != "" {
		return s
	}
	var metas []string
	for _, name := range [...]string{"author", "article:author", "article:author_name", "parsely-author", "sailthru.author", "byl", "dc.creator", "dcterms.creator", "citation_author", "og:author", "rbauthors"} {
		if v := p.named[name]; v != "" {
			metas = append(metas, v)
			if s := joinNames(metas, declared); s != "" {
				return s
			}
		}
	}
	if s := joinNames([]string{p.labelledAuthor()}, site); s != "" {
		return s
	}
	for _, s := range p.authors {
		if s = joinNames([]string{s}, site); s != "" {
			return s
		}
	}
	return ""
}

// labelledAuthor is the name that a page labels as its author's for cards on social networks.
func (p *papers) labelledAuthor() string {
	for _, k := range [...]string{"1", "2"} {
		switch strings.ToLower(p.named["twitter:label"+k]) {
		case "written by", "author", "verfasst von", "geschrieben von", "geschreven door", "auteur", "écrit par", "rédigé par", "szerző", "írta", "szerző:", "escrito por", "scritto da":
			return p.named["twitter:data"+k]
		}
	}
	return ""
}

func joinNames(names []string, site string) string {
	var all []string
	for _, s := range names {
		s = cleanName(s)
		if s == "" || sameLetters(s, site) {
			continue
		}
		twice := false
		for _, other := range all {
			twice = twice || sameLetters(other, s)
		}
		if !twice {
			all = append(all, s)
		}
	}
	return strings.Join(all, ", ")
}

// withoutDate is s without the date and the time behind a name, and nothing when it is only those.
func withoutDate(s string) string {
	if !digit(s) {
		return s
	}
	d, rest := findDate(s, "")
	if d == "" {
		return s
	}
	kept := slices.DeleteFunc(strings.Fields(rest), func(word string) bool {
		word = strings.ToLower(word)
		return digit(word) || word == "am" || word == "pm" || word == "-" || word == "at"
	})
	if rest = strings.Join(kept, " "); len(letters(rest)) < 4 {
		return ""
	}
	return rest
}

// cleanName is a name out of a byline: without "By", a date behind it, or a link.
func cleanName(s string) string {
	s = tidy(stripTags(s), 300)
	lower := strings.ToLower(s)
	for _, w := range byWords {
		if strings.HasPrefix(lower, w) && len(lower) == len(s) {
			s = strings.TrimSpace(s[len(w):])
			lower = strings.ToLower(s)
		}
	}
	for _, sep := range [...]string{" | ", " • ", " · ", " – ", " — "} {
		s, _, _ = strings.Cut(s, sep)
	}
	s = strings.Trim(withoutDate(s), " ,;:|-–—·")
	switch lower = strings.ToLower(s); {
	case s == "", len(s) > 120, strings.Contains(lower, "www."), strings.Contains(s, "://"), strings.HasPrefix(lower, "www."), strings.HasPrefix(s, "@"), strings.Contains(s, "@") && !strings.Contains(s, " "):
		return ""
	case lower == "admin", lower == "administrator", lower == "by", lower == "author", lower == "null", lower == "undefined", lower == "none", lower == "unknown", lower == "anonymous":
		return ""
	}
	if strings.IndexFunc(s, unicode.IsLetter) < 0 || len(strings.Fields(s)) > 14 {
		return ""
	}
	return s
}
