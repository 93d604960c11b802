package markdown

import (
	"bytes"
	"html"
	"net/url"
	"strings"

	"github.com/webreaderapi/webreader/reader/dom"
)

// farthest bounds how far the end of a tag or of a link's address is looked for.
const farthest = 8192

// Sanitize makes a site's own Markdown safe: raw HTML, comments and control characters go, links
// other than http, https and mailto become text, relative links absolute. Fenced code stays as it is
// but for characters that no one sees. It takes time linear in md.
func Sanitize(md []byte, base *url.URL) string {
	text, _ := dom.Clean(strings.ToValidUTF8(string(md), "\ufffd"))
	s := sanitizer{in: strings.ReplaceAll(text, "\r\n", "\n"), links: resolver{base: base}}
	if base != nil && base.Host != "" {
		s.links.origin = base.Scheme + "://" + base.Host
	}
	s.out = make([]byte, 0, len(s.in)+len(s.in)/8)
	for s.at < len(s.in) {
		if !s.fenced() && !s.definition() {
			s.line()
		}
	}
	// Brackets of links that were taken apart are noughts by now: Clean has left no others.
	return string(bytes.ReplaceAll(s.out, []byte{0}, nil))
}

type sanitizer struct {
	in       string
	at       int
	out      []byte
	links    resolver
	brackets []int    // where in out brackets are open
	noTicks  [64]bool // no run of so many backticks is left
	noEnd    map[string]bool
	tried    int // bytes looked at in vain
}

// lineEnd is behind the line end that follows at.
func (s *sanitizer) lineEnd(at int) int {
	if i := strings.IndexByte(s.in[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s.in)
}

// fenced copies a fenced block that begins at this line. It ends where its container ends, too, so
// that nothing behind a quote or a list passes for code.
func (s *sanitizer) fenced() bool {
	end := s.lineEnd(s.at)
	prefix, fence := fenceOf(s.in[s.at:end])
	if fence == "" {
		return false
	}
	s.brackets = s.brackets[:0]
	s.out = append(s.out, s.in[s.at:end]...)
	s.at = end
	quotes := strings.Count(prefix, ">")
	inside := len(prefix) > 3 || strings.Trim(prefix, " ") != ""
	for s.at < len(s.in) {
		end = s.lineEnd(s.at)
		line := s.in[s.at:end]
		if inside && strings.TrimSpace(line) != "" && !continues(line, quotes, len(prefix)) {
			return true
		}
		s.out = append(s.out, line...)
		s.at = end
		if closesFence(line, fence) {
			return true
		}
	}
	return true
}

// fenceOf is the fence with which line opens a code block, and what stands before it.
func fenceOf(line string) (prefix, fence string) {
	i := 0
	for i < len(line) && (strings.IndexByte(" >-*+", line[i]) >= 0 || line[i] >= '0' && line[i] <= '9' || i > 0 && (line[i] == '.' || line[i] == ')')) {
		i++
	}
	n := i
	for n < len(line) && (line[n] == '`' || line[n] == '~') && line[n] == line[i] {
		n++
	}
	if n-i < 3 || line[i] == '`' && strings.IndexByte(line[n:], '`') >= 0 || i > 0 && line[i-1] != ' ' && line[i-1] != '>' {
		return "", ""
	}
	return line[:i], line[i:n]
}

func continues(line string, quotes, indent int) bool {
	found, n := 0, 0
	for n < len(line) && (line[n] == ' ' || line[n] == '>') {
		if line[n] == '>' {
			found++
		}
		n++
	}
	return found >= quotes && (quotes > 0 || n >= min(indent, 2))
}

func closesFence(line, fence string) bool {
	line = strings.Trim(line, " >\n")
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// definition deals with a line that defines a reference: one with an address that may not be
// followed is left out.
func (s *sanitizer) definition() bool {
	end := s.lineEnd(s.at)
	line := s.in[s.at:end]
	body := strings.TrimLeft(line, " >")
	if !strings.HasPrefix(body, "[") || strings.HasPrefix(body, "[^") {
		return false
	}
	i := strings.Index(body, "]:")
	if i < 0 || strings.IndexByte(body[1:i], '[') >= 0 {
		return false
	}
	rest := strings.TrimLeft(body[i+2:], " \t\n")
	if rest == "" { // the address is on the next line: joined to it
		next := s.lineEnd(end)
		rest = strings.TrimLeft(s.in[end:next], " \t>")
		end = next
	}
	dest, after := rest, ""
	if k := strings.IndexAny(rest, " \t\n"); k >= 0 {
		dest, after = rest[:k], rest[k:]
	}
	abs := s.resolve(strings.Trim(dest, "<>"))
	s.at = end
	if abs == "" {
		return true
	}
	s.out = append(s.out, line[:len(line)-len(body)]...)
	s.out = append(s.out, stripAngles(body[:i+2])...)
	s.out = append(s.out, ' ')
	s.out = append(s.out, abs...)
	after = strings.TrimRight(after, " \n")
	if !strings.ContainsAny(after, "<>&") {
		s.out = append(s.out, after...)
	}
	s.out = append(s.out, '\n')
	return true
}

func stripAngles(s string) string { return strings.NewReplacer("<", "", ">", "").Replace(s) }

func (s *sanitizer) resolve(dest string) string {
	dest = html.UnescapeString(dest)
	if strings.IndexByte(dest, '\\') >= 0 {
		var b strings.Builder
		for i := 0; i < len(dest); i++ {
			if dest[i] == '\\' && i+1 < len(dest) && asciiPunct(dest[i+1]) {
				i++
			}
			b.WriteByte(dest[i])
		}
		dest = b.String()
	}
	if strings.HasPrefix(dest, "#") {
		if len(dest) > farthest || strings.ContainsAny(dest, " \n<>()[]\"'`\\") {
			return ""
		}
		return dest
	}
	return s.links.resolve(dest)
}

// line copies a line of text.
func (s *sanitizer) line() {
	end := s.lineEnd(s.at)
	if strings.TrimSpace(s.in[s.at:end]) == "" {
		s.brackets = s.brackets[:0]
	}
	s.noTicks = [64]bool{}
	for s.at < end {
		switch c := s.in[s.at]; c {
		case '\\':
			n := min(2, len(s.in)-s.at)
			s.copy(n)
		case '`':
			s.code(end)
		case '<':
			s.angle()
		case '[':
			s.brackets = append(s.brackets, len(s.out))
			s.copy(1)
		case ']':
			s.closeBracket()
		default:
			n := s.at
			for n < end && strings.IndexByte("\\`<[]", s.in[n]) < 0 {
				n++
			}
			s.copy(n - s.at)
		}
	}
}

func (s *sanitizer) copy(n int) {
	s.out = append(s.out, s.in[s.at:s.at+n]...)
	s.at += n
}

// code copies a code span, up to a run of as many backticks before the end of the line: on the next
// one a list or a quote could begin, and what looks like code would be none.
func (s *sanitizer) code(end int) {
	n := 0
	for s.at+n < end && s.in[s.at+n] == '`' {
		n++
	}
	if n < len(s.noTicks) && !s.noTicks[n] {
		rest := s.in[s.at+n : end]
		for k := 0; k < len(rest); {
			i := strings.IndexByte(rest[k:], '`')
			if i < 0 {
				break
			}
			k += i
			m := 0
			for k+m < len(rest) && rest[k+m] == '`' {
				m++
			}
			if m == n {
				s.copy(n + k + m)
				return
			}
			k += m
		}
		s.noTicks[n] = true
	}
	for range n { // without an end they are text
		s.out = append(s.out, '\\', '`')
	}
	s.at += n
}

// angle deals with what begins with an angle bracket: tags and comments go, addresses stay.
func (s *sanitizer) angle() {
	rest := s.in[s.at:]
	if strings.HasPrefix(rest, "<!--") {
		s.skipTo("-->", 4)
		return
	}
	next := byte(' ')
	if len(rest) > 1 {
		next = rest[1]
	}
	switch {
	case next == '!' || next == '?':
		s.skipTo(">", 2)
		return
	case next != '/' && !alnum(next):
		if blank(next) || next == '=' {
			s.copy(1)
			return
		}
		s.out = append(s.out, '\\')
		s.copy(1)
		return
	}
	end := tagEnd(rest)
	if end < 0 {
		s.out = append(s.out, '\\')
		s.copy(1)
		return
	}
	inner := rest[1 : end-1]
	if abs := s.autolink(inner); abs != "" {
		s.out = append(append(append(s.out, '<'), abs...), '>')
		s.at += end
		return
	}
	s.at += end
	name := strings.ToLower(strings.TrimRight(firstField(inner), "/"))
	switch name {
	case "script", "style", "template", "iframe", "object", "svg", "noscript", "textarea", "title", "head":
		s.skipTo("</"+name, 0)
	case "br":
		s.out = append(s.out, ' ')
	}
}

func firstField(s string) string {
	if i := strings.IndexAny(s, " \t\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// tagEnd is behind the bracket that ends the tag with which s begins, or -1.
func tagEnd(s string) int {
	quote := byte(0)
	for i := 1; i < len(s) && i < farthest; i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && s[i-1] == '=':
			quote = c
		case c == '>':
			return i + 1
		case c == '<', c == '\n' && i+1 < len(s) && s[i+1] == '\n':
			return -1
		}
	}
	return -1
}

func (s *sanitizer) autolink(inner string) string {
	if strings.ContainsAny(inner, " \t\n\"'") {
		return ""
	}
	switch schemeOf(inner) {
	case "http", "https", "mailto":
		return s.links.resolve(inner)
	}
	return ""
}

// skipTo passes over everything up to the next end, and over it; when there is none, over from bytes.
func (s *sanitizer) skipTo(end string, from int) {
	if !s.noEnd[end] {
		rest := s.in[s.at+from:]
		if i := indexFold(rest, end); i >= 0 {
			s.at += from + i
			if end[0] == '<' {
				return
			}
			s.at += len(end)
			return
		}
		if s.noEnd == nil {
			s.noEnd = make(map[string]bool)
		}
		s.noEnd[end] = true
	}
	s.at += from
}

// indexFold is where end, in lower case, is in s in any case.
func indexFold(s, end string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], end[0])
		if i < 0 || at+i+len(end) > len(s) {
			return -1
		}
		at += i
		if strings.EqualFold(s[at:at+len(end)], end) {
			return at
		}
		at++
	}
}

// closeBracket deals with the end of a link's text.
func (s *sanitizer) closeBracket() {
	open := -1
	if k := len(s.brackets); k > 0 {
		open = s.brackets[k-1]
		s.brackets = s.brackets[:k-1]
	}
	rest := s.in[s.at+1:]
	if !strings.HasPrefix(rest, "(") {
		s.copy(1)
		return
	}
	dest, title, size := "", "", 0
	if s.tried < 4*len(s.in)+farthest { // so that many that have no end do not take forever
		dest, title, size = destination(rest)
		if size == 0 {
			s.tried += min(len(rest), farthest)
		}
	}
	if size == 0 || open < 0 {
		s.out = append(s.out, "]\\("...)
		s.at += 2
		return
	}
	abs := s.resolve(dest)
	s.at += 1 + size
	if abs == "" {
		s.out[open] = 0
		if open > 0 && s.out[open-1] == '!' {
			s.out[open-1] = 0
		}
		return
	}
	s.out = append(append(s.out, "]("...), abs...)
	if title != "" && !strings.ContainsAny(title, "<>&\n") {
		s.out = append(append(s.out, ' '), title...)
	}
	s.out = append(s.out, ')')
}

// destination reads "(address 'title')" at the start of s; size is 0 when it is none.
func destination(s string) (dest, title string, size int) {
	s = s[:min(len(s), farthest)]
	i := skipSpace(s, 1)
	from := i
	if i < len(s) && s[i] == '<' {
		end := strings.IndexAny(s[i+1:], ">\n")
		if end < 0 || s[i+1+end] != '>' {
			return "", "", 0
		}
		dest = s[i+1 : i+1+end]
		i += end + 2
	} else {
		depth := 0
		for i < len(s) && !blank(s[i]) && (s[i] != ')' || depth > 0) {
			switch s[i] {
			case '\\':
				i++
			case '(':
				depth++
			case ')':
				depth--
			}
			i++
		}
		i = min(i, len(s))
		dest = s[from:i]
	}
	i = skipSpace(s, i)
	if i < len(s) && (s[i] == '"' || s[i] == '\'' || s[i] == '(') {
		shut := s[i]
		if shut == '(' {
			shut = ')'
		}
		end := strings.IndexByte(s[i+1:], shut)
		if end < 0 {
			return "", "", 0
		}
		title = s[i : i+end+2]
		i = skipSpace(s, i+end+2)
	}
	if i >= len(s) || s[i] != ')' {
		return "", "", 0
	}
	return dest, title, i + 1
}

func skipSpace(s string, i int) int {
	for i < len(s) && blank(s[i]) {
		i++
	}
	return i
}
