package signals

import "strings"

// pattern is a compiled path pattern of a rule: pieces of literal octets with any run between them.
// Matching takes time linear in the path for each piece, whatever the pieces are.
type pattern struct {
	pieces []string
	anchor bool // ends with "$"
	octets int  // of the normalised pattern: the most decide
}

// compile reads the value of a rule (RFC 9309 section 2.2.3). A value that starts with neither "/" nor
// "*" is read as if "/" stood before it. An empty one matches nothing.
func compile(value string) pattern {
	if value == "" {
		return pattern{}
	}
	var p pattern
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	body := value
	if strings.HasSuffix(body, "$") {
		p.anchor, body = true, body[:len(body)-1]
	}
	for i, piece := range strings.Split(body, "*") {
		n := normal(piece)
		p.octets += len(n)
		if i > 0 {
			p.octets++
		}
		p.pieces = append(p.pieces, literal(n))
	}
	if p.anchor {
		p.octets++
	}
	return p
}

func (p *pattern) empty() bool { return len(p.pieces) == 0 }

// matches is true when the pattern matches from the first octet of path, which normalPath made.
func (p *pattern) matches(path string) bool {
	if p.empty() || !strings.HasPrefix(path, p.pieces[0]) {
		return false
	}
	rest := path[len(p.pieces[0]):]
	if len(p.pieces) == 1 {
		return !p.anchor || rest == ""
	}
	last := len(p.pieces) - 1
	for _, piece := range p.pieces[1:last] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return false
		}
		rest = rest[i+len(piece):]
	}
	if p.anchor {
		return strings.HasSuffix(rest, p.pieces[last])
	}
	return strings.Contains(rest, p.pieces[last])
}

// normalPath is the path and query of a URL as rules are compared with it. An empty one counts as "/".
func normalPath(pathQuery string) string {
	if pathQuery == "" || pathQuery[0] != '/' {
		pathQuery = "/" + pathQuery
	}
	return literal(normal(pathQuery))
}

const hexDigits = "0123456789ABCDEF"

// normal brings escapes into one form (RFC 9309 section 2.2.2): octets that no URL may hold are
// escaped, escaped letters, digits, "-", ".", "_", "~" are not, and hexadecimal digits are upper case.
// Everything else stays, reserved characters as they are: raw equals raw, escaped equals escaped.
func normal(s string) string {
	if isNormal(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			c = byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			if unreserved(c) {
				b.WriteByte(c)
				continue
			}
		} else if !mustEscape(c) {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
	}
	return b.String()
}

func isNormal(s string) bool {
	for i := range len(s) {
		if mustEscape(s[i]) {
			return false
		}
	}
	return true
}

// literal makes an escaped "*" or "$" the same as a raw one: where it comes to matching, both are
// the character itself, wildcards and anchors being gone (section 2.2.3, figure 6).
func literal(s string) string {
	if !strings.Contains(s, "%2") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "%2A", "*"), "%24", "$")
}

// mustEscape is true for octets that stand in a URL only when escaped, the percent sign included.
func mustEscape(c byte) bool { return escaped[c] }

var escaped = func() (t [256]bool) {
	for c := range t {
		t[c] = c <= ' ' || c >= 0x7f || strings.IndexByte("%\"<>\\^`{|}", byte(c)) >= 0
	}
	return t
}()

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
