package signals

import "strings"

// ContentUsage is what a site says by Content-Usage (draft-ietf-aipref-attach): train-ai and search,
// each "y" or "n"; a label it does not speak about, or not so that it can be understood, is absent.
// The longest path decides per label; among equals, and between robots.txt and header, "n".
func (s Set) ContentUsage(token, pathQuery string) map[string]Said {
	m := newStrictest(func(_, a, b string) bool { return a == "n" && b == "y" })
	m.robots(s.Robots.File, token, pathQuery, "content-usage")
	// Several fields are one dictionary (RFC 9110 section 5.3).
	if v := strings.Join(fields(s.Header, "Content-Usage"), ", "); v != "" {
		m.header("Content-Usage", v, parseContentUsage(v))
	}
	return m.said
}

// parseContentUsage reads a dictionary of structured fields (RFC 9651 section 3.2): of a repeated key
// the last member counts, parameters mean nothing, one fault voids the whole value.
func parseContentUsage(value string) []pair {
	d := sfParser{rest: strings.Trim(value, " ")}
	var pairs []pair
	for d.rest != "" {
		key, v, ok := d.member()
		if !ok {
			return nil
		}
		pairs = setUsage(pairs, key, v)
		d.skip(" \t")
		if d.rest == "" {
			return pairs
		}
		if !d.take(',') {
			return nil
		}
		if d.skip(" \t"); d.rest == "" {
			return nil // a comma at the end
		}
	}
	return pairs
}

func setUsage(pairs []pair, key, value string) []pair {
	if key != "train-ai" && key != "search" {
		return pairs
	}
	kept := pairs[:0]
	for _, p := range pairs {
		if p.key != key {
			kept = append(kept, p)
		}
	}
	if value != "y" && value != "n" {
		return kept
	}
	return append(kept, pair{key, value})
}

// sfParser reads structured fields just far enough to tell a well-formed dictionary from another
// and to know the values that are tokens.
type sfParser struct{ rest string }

func (d *sfParser) take(c byte) bool {
	if d.rest == "" || d.rest[0] != c {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

// skip drops the characters of set at the front and returns them.
func (d *sfParser) skip(set string) string {
	after := strings.TrimLeft(d.rest, set)
	taken := d.rest[:len(d.rest)-len(after)]
	d.rest = after
	return taken
}

const (
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	upperLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits       = "0123456789"
	tokenMarks   = "!#$%&'*+-.^_`|~:/"
	base64Marks  = "+/="
)

// member reads a key and its value; the value is "" unless it is a token.
func (d *sfParser) member() (key, value string, ok bool) {
	if key, ok = d.key(); !ok {
		return "", "", false
	}
	if d.take('=') {
		if value, ok = d.itemOrList(); !ok {
			return "", "", false
		}
	}
	return key, value, d.parameters()
}

func (d *sfParser) key() (string, bool) {
	if d.rest == "" || strings.IndexByte(lowerLetters+"*", d.rest[0]) < 0 {
		return "", false
	}
	return d.skip(lowerLetters + digits + "_-.*"), true
}

func (d *sfParser) itemOrList() (value string, ok bool) {
	if !d.take('(') {
		return d.item()
	}
	for {
		d.skip(" ")
		if d.take(')') {
			return "", true
		}
		if _, ok := d.item(); !ok || !d.parameters() {
			return "", false
		}
		if d.rest == "" || d.rest[0] != ' ' && d.rest[0] != ')' {
			return "", false
		}
	}
}

func (d *sfParser) parameters() bool {
	for d.take(';') {
		d.skip(" ")
		if _, ok := d.key(); !ok {
			return false
		}
		if d.take('=') {
			if _, ok := d.item(); !ok {
				return false
			}
		}
	}
	return true
}

// item reads a bare item; token is "" for items of other types.
func (d *sfParser) item() (token string, ok bool) {
	if d.rest == "" {
		return "", false
	}
	switch c := d.rest[0]; {
	case c == '"':
		return "", d.quoted()
	case c == '?':
		d.rest = d.rest[1:]
		return "", d.take('0') || d.take('1')
	case c == ':':
		d.rest = d.rest[1:]
		d.skip(lowerLetters + upperLetters + digits + base64Marks)
		return "", d.take(':')
	case c == '@' || c == '-' || strings.IndexByte(digits, c) >= 0:
		return "", d.number()
	case strings.IndexByte(lowerLetters+upperLetters+"*", c) >= 0:
		return d.skip(lowerLetters + upperLetters + digits + tokenMarks), true
	}
	return "", false
}

func (d *sfParser) number() bool {
	d.take('@')
	d.take('-')
	whole := d.skip(digits)
	if d.take('.') {
		part := d.skip(digits)
		return whole != "" && len(whole) <= 12 && part != "" && len(part) <= 3
	}
	return whole != "" && len(whole) <= 15
}

func (d *sfParser) quoted() bool {
	for i := 1; i < len(d.rest); i++ {
		switch c := d.rest[i]; {
		case c == '\\':
			i++
			if i >= len(d.rest) || d.rest[i] != '"' && d.rest[i] != '\\' {
				return false
			}
		case c == '"':
			d.rest = d.rest[i+1:]
			return true
		case c < ' ' || c >= 0x7f:
			return false
		}
	}
	return false
}
