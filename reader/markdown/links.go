package markdown

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// longestURL is what a link's address may have; a longer one is data, not an address.
const longestURL = 4096

type target struct {
	url  string
	once bool // it links the first paragraph inside only
}

// resolver makes addresses absolute.
type resolver struct {
	base   *url.URL
	origin string // scheme and host of base
}

func newResolver(t *dom.Tree, base *url.URL) resolver {
	r := resolver{base: base}
	if head := t.First(dom.Root, atom.Base); head != 0 {
		if v, ok := t.LookupAttr(head, "href"); ok {
			if abs := r.resolve(v); strings.HasPrefix(abs, "http") {
				if u, err := url.Parse(abs); err == nil {
					r.base = u
				}
			}
		}
	}
	if r.base != nil && r.base.Host != "" {
		r.origin = r.base.Scheme + "://" + r.base.Host
	}
	return r
}

// urlByte are the bytes that may stand in an address as they are, in a link of a table's cell too.
var urlByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c > 0x20 && c < 0x7f
	}
	for _, c := range "<>\"\\^`{|}" {
		t[c] = false
	}
	return t
}()

// resolve is the absolute address that raw names, or "" when it is none that a reader may follow:
// only http, https and mailto are.
func (r *resolver) resolve(raw string) string {
	raw = strings.Trim(raw, " \t\n\r\f\x00")
	if raw == "" || len(raw) > longestURL {
		return ""
	}
	if abs, ok := r.plain(raw); ok {
		return abs
	}
	return r.slow(raw)
}

// plain does the common addresses, which need no parsing.
func (r *resolver) plain(raw string) (string, bool) {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case !urlByte[c], c == '%' && !hexPair(raw[i+1:]):
			return "", false
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return "", false
			}
		case c == '/' && i+1 < len(raw) && raw[i+1] == '.':
			return "", false
		}
	}
	if depth != 0 {
		return "", false
	}
	rest, ok := strings.CutPrefix(raw, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(raw, "http://")
	}
	if ok {
		host, _, _ := strings.Cut(rest, "/")
		return raw, host != "" && !strings.ContainsAny(host, "@[%?#")
	}
	if raw[0] == '/' && r.origin != "" && (len(raw) == 1 || raw[1] != '/') {
		return r.origin + raw, true
	}
	return "", false
}

func hexPair(s string) bool { return len(s) >= 2 && hexDigit(s[0]) && hexDigit(s[1]) }
func hexDigit(c byte) bool  { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func (r *resolver) slow(raw string) string {
	raw = strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f {
			return -1
		}
		return c
	}, raw)
	scheme := schemeOf(raw)
	switch scheme {
	case "mailto":
		if raw = escapeURL(raw); len(raw) <= len("mailto:") {
			return ""
		}
		return raw
	case "", "http", "https":
	default:
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(escapeURL(raw), "\\", "/"))
	if err != nil || scheme == "" && r.base == nil {
		return ""
	}
	if r.base != nil {
		u = r.base.ResolveReference(u)
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return balance(escapeURL(u.String()))
}

// schemeOf is the lower-case scheme that raw begins with, or "".
func schemeOf(raw string) string {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == ':' && i > 0 {
			return strings.ToLower(raw[:i])
		}
		if !alnum(c) && c != '+' && c != '-' && c != '.' {
			return ""
		}
	}
	return ""
}

// escapeURL percent-encodes what may not stand in an address.
func escapeURL(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' || urlByte[c] && (c != '%' || hexPair(s[i+1:])) {
			b.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// balance encodes the parentheses of an address where they do not pair.
func balance(s string) string {
	depth := 0
	for i := 0; i < len(s) && depth >= 0; i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	if depth == 0 {
		return s
	}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(s)
}

// anchor writes a link, and is false when there is nothing in it for a reader.
func (w *writer) anchor(n dom.ID) bool {
	if w.noteRef(n) {
		return false
	}
	if w.backlink(n) {
		if w.noteMark != "" && strings.TrimSpace(shortText(w.t, n, 24)) == w.noteMark {
			w.noteMark = "]" // the number has gone with the link; what closes its bracket may follow
		}
		return false
	}
	href, ok := w.t.LookupAttr(n, "href")
	if w.permalink(n, href) {
		return false
	}
	if !ok || w.o.Links == "none" || w.plain || w.inLink() || w.heading > 0 && strings.HasPrefix(href, "#") {
		return true
	}
	if h := strings.TrimSpace(href); h == "" || h == "#" || h == "#top" {
		return true
	}
	abs := w.links.resolve(href)
	if abs == "" {
		return true
	}
	head, blocks := w.facts.blockLinks[n]
	w.targets = append(w.targets, target{url: abs, once: blocks})
	id := int32(len(w.targets))
	if head != 0 {
		w.facts.headLinks[head] = id
		return true
	}
	w.push(markLink, id)
	w.after(n, func(w *writer, _ dom.ID) { w.pop() })
	return true
}

// permalinks are classes of links that only repeat the address of the heading they stand in.
var permalinks = []string{"headerlink", "header-anchor", "heading-anchor", "heading-link", "anchor", "anchorjs-link", "permalink",
	"hash-link", "header-link", "anchor-link", "deep-link", "deeplink", "octicon-link", "direct-link", "link-to-heading", "toc-anchor",
	"self-link", "paragraph-link", "autolink-headings", "header-anchor-link", "heading-permalink", "sl-anchor-link", "anchor-heading"}

func (w *writer) permalink(n dom.ID, href string) bool {
	local := strings.Contains(href, "#")
	if !local {
		if w.heading > 0 {
			switch strings.TrimSpace(shortText(w.t, n, 16)) {
			case "🔗", "¶", "⚓", "§", "🔗\ufe0e":
				return true
			}
		}
		return false
	}
	class := w.t.Attr(n, "class")
	known := class != "" && hasToken(class, permalinks...)
	if !known && w.heading == 0 {
		return false
	}
	text := shortText(w.t, n, 40)
	if symbolOnly(text) {
		return true
	}
	switch text = strings.ToLower(strings.TrimSpace(text)); text {
	case "link", "permalink", "anchor", "permanent link", "link to this heading", "direct link", "copy link", "edit", "[edit]", "top", "back to top":
		return true
	}
	for _, p := range [...]string{"permalink", "link to this", "link to section", "direct link to", "anchor for", "anchor link"} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// symbolOnly is true for a text without letters and digits.
func symbolOnly(s string) bool {
	r, _ := nextLetter(s)
	return r == 0
}

// shortText is the text below n, as far as it goes within most bytes; a longer one is cut.
func shortText(t *dom.Tree, n dom.ID, most int) string {
	if c := t.FirstChild(n); c != 0 && t.Next(c) == 0 && t.Kind(c) == dom.Text {
		s := t.Data(c)
		return s[:min(len(s), most)]
	}
	var b strings.Builder
	seen := 0
	for c := t.Following(n, n); c != 0 && b.Len() < most && seen < 64; c = t.Following(c, n) {
		seen++
		if t.Kind(c) == dom.Text && t.Tag(t.Parent(c)) != atom.Style && t.Tag(t.Parent(c)) != atom.Script {
			s := t.Data(c)
			b.WriteString(s[:min(len(s), most)])
		}
	}
	return b.String()
}

// holds is true when one of the tags is among the first nodes below n.
func holds(t *dom.Tree, n dom.ID, tags ...atom.Atom) bool {
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 64; c = t.Following(c, n) {
		seen++
		if slices.Contains(tags, t.Tag(c)) {
			return true
		}
	}
	return false
}

// hasToken is true when one of words is among the blank-separated words of class.
func hasToken(class string, words ...string) bool {
	for len(class) > 0 {
		i := 0
		for i < len(class) && !blank(class[i]) {
			i++
		}
		for _, word := range words {
			if class[:i] == word {
				return true
			}
		}
		for i < len(class) && blank(class[i]) {
			i++
		}
		class = class[i:]
	}
	return false
}

// closeLink writes what comes behind a link's text.
func (w *writer) closeLink(m mark) {
	to := w.targets[m.link-1]
	text := w.buf[m.pos+m.wide:]
	if w.o.Collect {
		w.pages = append(w.pages, Link{URL: to.url, Text: unescape(text)})
	}
	if sameURL(text, to.url) {
		w.buf = append(w.buf[:m.pos], '<')
		w.buf = append(w.buf, to.url...)
		w.buf = append(w.buf, '>')
		return
	}
	w.buf = append(w.buf, ']')
	if w.o.Links != "references" {
		w.buf = append(w.buf, '(')
		w.buf = append(w.buf, to.url...)
		w.buf = append(w.buf, ')')
		return
	}
	w.buf = append(w.buf, '[')
	w.buf = strconv.AppendInt(w.buf, int64(w.reference(to.url)), 10)
	w.buf = append(w.buf, ']')
}

func (w *writer) reference(to string) int {
	if k, ok := w.refs[to]; ok {
		return k
	}
	if w.refs == nil {
		w.refs = make(map[string]int)
	}
	w.refs[to] = len(w.refs) + 1
	return len(w.refs)
}

// writeReferences writes the definitions of reference links, in the order of their numbers.
func (w *writer) writeReferences() {
	if len(w.refs) == 0 {
		return
	}
	all := make([]string, len(w.refs)+1)
	for to, k := range w.refs {
		all[k] = to
	}
	w.out = append(w.out, '\n')
	for k, to := range all[1:] {
		w.out = append(w.out, "\n["...)
		w.out = strconv.AppendInt(w.out, int64(k+1), 10)
		w.out = append(w.out, "]: "...)
		w.out = append(w.out, to...)
	}
}

// sameURL is true when text, but for its backslashes, is the address to.
func sameURL(text []byte, to string) bool {
	if len(text) < len(to) || len(text) > 2*len(to) {
		return false
	}
	i := 0
	for j := 0; j < len(text); j++ {
		if text[j] == '\\' && j+1 < len(text) && asciiPunct(text[j+1]) {
			continue
		}
		if i == len(to) || text[j] != to[i] {
			return false
		}
		i++
	}
	return i == len(to)
}

// unescape is the plain text of a bit of our Markdown.
func unescape(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	for j := 0; j < len(text); j++ {
		if text[j] == '\\' && j+1 < len(text) && asciiPunct(text[j+1]) {
			j++
			b.WriteByte(text[j])
			continue
		}
		if text[j] == '*' || text[j] == '`' {
			continue
		}
		b.WriteByte(text[j])
	}
	return strings.TrimSpace(b.String())
}
