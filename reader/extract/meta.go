package extract

import (
	"html"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Meta is what a page says about itself. A field is empty when the page does not say it: nothing is invented.
type Meta struct {
	Title       string
	Byline      string
	PublishedAt string // ISO 8601 as far as the page says: a date, or a time with its zone if it has one
	ModifiedAt  string
	Language    string // BCP 47
	SiteName    string
	Canonical   string // absolute
	Image       string // absolute
	Description string
	Tags        []string
}

// The bounds of what is read for metadata.
const (
	mostMetas   = 1000
	mostScripts = 40
	mostTexts   = 6000
	mostAuthors = 8
	longTitle   = 500
	longText    = 2000
)

// Metadata reads the metadata of a page whose address is base: JSON-LD first, checked against
// OpenGraph, meta elements, time elements and the visible text.
func Metadata(t *dom.Tree, base *url.URL) Meta {
	if t.Len() <= int(dom.Root) {
		return Meta{}
	}
	p := papers{t: t, base: base, named: make(map[string]string)}
	p.gather()
	p.ld = readLD(p.scripts, p.address(), p.headings())
	var m Meta
	declared := p.siteName()
	m.Title, m.SiteName = p.pickTitle(declared)
	m.Language = p.language()
	m.Byline = p.byline(declared, m.SiteName)
	m.PublishedAt, m.ModifiedAt = p.dates(m.Language)
	m.Canonical = p.canonical()
	m.Image = p.image()
	m.Description = p.description()
	m.Tags = p.tags()
	return m
}

// papers is what a page says about itself, as it says it.
type papers struct {
	t       *dom.Tree
	base    *url.URL
	named   map[string]string // meta elements and microdata by lower-case name; the first of each
	tagged  []string          // every article:tag, and links with rel=tag
	scripts []string
	ld      ldPage
	lang    string
	title   string
	h1      []string
	h2      []string          // of a page without an h1, the only headings that may say its title
	link    map[string]string // links of the head by rel
	authors []string
	times   []timeElement
	texts   []string // visible text nodes, short ones, in order; "\x00h1" where the heading stood
}

type timeElement struct{ value, hint string }

// gather passes over the page once.
func (p *papers) gather() {
	t := p.t
	p.link = make(map[string]string)
	metas := 0
	for n := t.Following(dom.Root, dom.Root); n != 0; {
		if t.Kind(n) == dom.Text {
			p.text(t.Data(n))
			n = t.Following(n, dom.Root)
			continue
		}
		tag := t.Tag(n)
		switch tag {
		case atom.Html:
			if p.lang = t.Attr(n, "lang"); p.lang == "" {
				p.lang = t.Attr(n, "xml:lang")
			}
		case atom.Title:
			if p.title == "" && !t.Foreign(n) {
				p.title = tidy(t.Text(n), longTitle)
			}
			n = t.After(n, dom.Root)
			continue
		case atom.Meta:
			if metas++; metas <= mostMetas {
				p.meta(n)
			}
		case atom.Link:
			p.headLink(n)
		case atom.Base:
			p.setBase(t.Attr(n, "href"))
		case atom.Script:
			if kind := strings.ToLower(t.Attr(n, "type")); strings.Contains(kind, "ld+json") && len(p.scripts) < mostScripts {
				p.scripts = append(p.scripts, t.Text(n))
			}
			n = t.After(n, dom.Root)
			continue
		case atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Nav, atom.Select, atom.Footer:
			if tag != atom.Footer || t.Tag(t.Parent(n)) == atom.Body {
				n = t.After(n, dom.Root)
				continue
			}
		case atom.H1:
			if s := tidy(t.Text(n), longTitle); s != "" && len(p.h1) < 5 {
				p.h1 = append(p.h1, s)
				p.texts = append(p.texts, "\x00h1")
			}
		case atom.H2:
			if s := tidy(t.Text(n), longTitle); s != "" && len(p.h2) < 5 {
				p.h2 = append(p.h2, s)
			}
		case atom.Time:
			p.time(n)
		}
		if t.Kind(n) == dom.Element {
			p.microdata(n, tag)
		}
		n = t.Following(n, dom.Root)
	}
}

// text keeps the short texts that may tell a date: those with a year in them, and those without,
// which may be the label before one.
func (p *papers) text(s string) {
	if len(p.texts) >= mostTexts || len(s) < 4 || len(s) > 400 {
		return
	}
	if len(s) < 60 && strings.TrimSpace(s) != "" || hasYear(s) {
		p.texts = append(p.texts, s)
	}
}

// hasYear is true when s has a number of four digits that may be a year of ours.
func hasYear(s string) bool {
	for i := 0; i+4 <= len(s); i++ {
		if (s[i] == '1' && s[i+1] == '9' || s[i] == '2' && s[i+1] == '0') && digitAt(s, i+2) && digitAt(s, i+3) && (i == 0 || !digitAt(s, i-1)) {
			return true
		}
	}
	return false
}

func digitAt(s string, i int) bool { return s[i] >= '0' && s[i] <= '9' }

func (p *papers) meta(n dom.ID) {
	content := tidy(p.t.Attr(n, "content"), longText)
	if content == "" {
		return
	}
	for _, key := range [...]string{"property", "name", "itemprop", "http-equiv"} {
		for name := range strings.FieldsSeq(strings.ToLower(p.t.Attr(n, key))) {
			if name == "article:tag" || name == "video:tag" || name == "book:tag" {
				p.tagged = append(p.tagged, content)
				continue
			}
			if _, ok := p.named[name]; !ok {
				p.named[name] = content
			}
		}
	}
}

func (p *papers) headLink(n dom.ID) {
	href := p.t.Attr(n, "href")
	for rel := range strings.FieldsSeq(strings.ToLower(p.t.Attr(n, "rel"))) {
		if _, ok := p.link[rel]; !ok && href != "" {
			p.link[rel] = href
		}
	}
}

func (p *papers) setBase(href string) {
	if abs := p.absolute(href); abs != "" && p.link["\x00base"] == "" {
		p.link["\x00base"] = abs
	}
}

func (p *papers) time(n dom.ID) {
	if len(p.times) >= 50 {
		return
	}
	t := p.t
	value := t.Attr(n, "datetime")
	if value == "" {
		value = tidy(t.Text(n), 100)
	}
	parent := t.Parent(n)
	hint := t.Attr(n, "class") + " " + t.Attr(n, "itemprop") + " " + t.Attr(parent, "class")
	if t.HasAttr(n, "pubdate") {
		hint += " published"
	}
	p.times = append(p.times, timeElement{value, strings.ToLower(hint)})
}

// microdata takes the few properties of schema.org that pages mark in their text.
func (p *papers) microdata(n dom.ID, tag atom.Atom) {
	t := p.t
	prop, class, rel := "", "", ""
	for _, a := range t.Attrs(n) {
		switch a.Key {
		case "itemprop":
			prop = a.Val
		case "class":
			class = a.Val
		case "rel":
			rel = a.Val
		}
	}
	if prop == "" && class == "" && rel == "" {
		return
	}
	switch prop {
	case "datePublished", "dateModified", "datecreated":
		v := t.Attr(n, "content")
		if v == "" {
			v = t.Attr(n, "datetime")
		}
		if v == "" {
			v = tidy(t.Text(n), 100)
		}
		if key := strings.ToLower(prop); p.named[key] == "" {
			p.named[key] = v
		}
	case "author", "creator":
		p.author(n)
		return
	}
	if tag == atom.A && hasRel(rel, "author") {
		p.author(n)
		return
	}
	if tag == atom.A && hasRel(rel, "tag") && len(p.tagged) < 40 {
		p.tagged = append(p.tagged, tidy(t.Text(n), 80))
	}
	if class != "" && len(p.authors) < mostAuthors && byClass(class) {
		p.author(n)
	}
}

func byClass(class string) bool {
	if !saysAuthor(class) || strings.Contains(class, "omment") {
		return false
	}
	for word := range strings.FieldsSeq(class) {
		switch strings.ToLower(word) {
		case "byline", "author", "author-name", "entry-author", "post-author", "article-author", "byline-name", "article__author", "p-author", "auteur", "byline__name", "article-byline", "c-byline", "szerzo", "author__name", "authors":
			return true
		}
		for _, end := range [...]string{"_author", "-author", "author-name", "author_name", "-byline", "_byline", "byline-author"} {
			if word = strings.ToLower(word); strings.HasSuffix(word, end) && !strings.HasPrefix(word, "related") {
				return true
			}
		}
	}
	return false
}

// saysAuthor is true when class has a word for a page's author in it: almost none has.
func saysAuthor(class string) bool {
	for i := 0; i+5 <= len(class); i++ {
		switch class[i] {
		case 'u':
			if w := class[i : i+5]; w == "uthor" || w == "uteur" {
				return true
			}
		case 'y', 'z':
			if w := class[i : i+5]; w == "yline" || w == "zerzo" {
				return true
			}
		}
	}
	return false
}

func hasRel(rel, want string) bool {
	for word := range strings.FieldsSeq(rel) {
		if strings.EqualFold(word, want) {
			return true
		}
	}
	return false
}

func (p *papers) author(n dom.ID) {
	if len(p.authors) >= mostAuthors {
		return
	}
	t := p.t
	if v := t.Attr(n, "content"); v != "" {
		p.authors = append(p.authors, v)
		return
	}
	for c := range t.Descendants(n) {
		if t.Attr(c, "itemprop") == "name" || t.Tag(c) == atom.A && hasRel(t.Attr(c, "rel"), "author") {
			v := t.Attr(c, "content")
			if v == "" {
				v = t.Text(c)
			}
			p.authors = append(p.authors, tidy(v, 200))
			return
		}
	}
	if s := tidy(t.Text(n), 300); len(s) < 200 {
		p.authors = append(p.authors, s)
	}
}

// tidy is s on one line, without characters that no one sees, cut at most bytes.
func tidy(s string, most int) string {
	if len(s) <= most && isTidy(s) {
		return s
	}
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s, _ = dom.Clean(s)
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return strings.ToValidUTF8(s, "")
	}
	s = s[:most]
	if i := strings.LastIndexByte(s, ' '); i > most/2 {
		s = s[:i]
	}
	return strings.ToValidUTF8(s, "")
}

// isTidy is true for plain ASCII on one line with single blanks inside.
func isTidy(s string) bool {
	prev := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || c >= 0x7f || c == '&' || c == ' ' && prev == ' ' {
			return false
		}
		prev = c
	}
	return prev != ' ' || s == ""
}

// first is the first of the named values that is there.
func (p *papers) first(names ...string) string {
	for _, name := range names {
		if v := p.named[name]; v != "" {
			return v
		}
	}
	return ""
}

// absolute is the http address that raw names, or "".
func (p *papers) absolute(raw string) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || len(raw) > 4096 {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	base := p.base
	if b := p.link["\x00base"]; b != "" {
		if v, err := url.Parse(b); err == nil {
			base = v
		}
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

func (p *papers) address() string {
	if p.base == nil {
		return ""
	}
	return p.base.String()
}

func (p *papers) headings() []string { return append([]string{p.title, p.named["og:title"]}, p.h1...) }

func (p *papers) canonical() string {
	for _, raw := range [...]string{p.link["canonical"], p.named["og:url"]} {
		if abs := p.absolute(raw); abs != "" {
			if i := strings.IndexByte(abs, '#'); i >= 0 && !strings.HasPrefix(abs[i:], "#!") {
				abs = abs[:i]
			}
			return abs
		}
	}
	return ""
}

func (p *papers) image() string {
	for _, raw := range [...]string{p.ld.image, p.named["og:image:secure_url"], p.named["og:image"], p.named["og:image:url"], p.named["twitter:image"], p.named["twitter:image:src"], p.link["image_src"], p.named["image"], p.named["thumbnail"]} {
		if abs := p.absolute(raw); abs != "" {
			return abs
		}
	}
	return ""
}

func (p *papers) description() string {
	for _, s := range [...]string{p.ld.description, p.first("og:description"), p.first("description", "dc.description", "dcterms.description", "twitter:description", "dcterms.abstract")} {
		if s = tidy(stripTags(s), longText); s != "" && !sameLetters(s, p.title) {
			return s
		}
	}
	return ""
}

func stripTags(s string) string {
	if strings.IndexByte(s, '<') < 0 {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, after, shut := strings.Cut(rest, ">")
		if !shut || rest == "" || rest[0] != '/' && !unicode.IsLetter(rune(rest[0])) {
			b.WriteByte('<')
			s = rest
			continue
		}
		b.WriteByte(' ')
		s = after
	}
}

func (p *papers) tags() []string {
	var all []string
	seen := make(map[string]bool)
	add := func(s string) {
		s = tidy(strings.TrimLeft(strings.TrimSpace(s), "#"), 200)
		if key := strings.ToLower(s); s != "" && len(s) <= 80 && !seen[key] && len(all) < 30 {
			seen[key] = true
			all = append(all, s)
		}
	}
	for _, s := range p.ld.keywords {
		add(s)
	}
	for _, s := range p.tagged {
		add(s)
	}
	for _, name := range [...]string{"news_keywords", "keywords", "parsely-tags", "sailthru.tags", "dcterms.subject", "dc.subject"} {
		if len(all) > 0 {
			break
		}
		for s := range strings.FieldsFuncSeq(p.named[name], func(r rune) bool { return r == ',' || r == ';' }) {
			add(s)
		}
	}
	return all
}
