package signals

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The bounds of a robots.txt. RFC 9309 section 2.5 asks for at least 500 KiB.
const (
	MaxRobots   = 512_000
	maxLine     = 16_663
	maxWarnings = 100
	maxText     = 200
)

// Parse reads a robots.txt as it was served. It accepts anything: what cannot be read is skipped and
// noted in Warnings. A body of MaxRobots bytes or more is taken as cut there, and a line that the cut
// falls into is dropped.
func Parse(body []byte) *File {
	f := &File{byAgent: map[string][]member{}, byKey: map[string][]int{}}
	if len(body) >= MaxRobots {
		f.Truncated = len(body) > MaxRobots
		body = body[:MaxRobots]
	}
	text := decodeText(body)
	if len(body) == MaxRobots {
		text = text[:1+strings.LastIndexAny(text, "\r\n")]
	}
	f.bytes = len(text)
	p := parser{file: f}
	for text != "" {
		p.line++
		var line string
		line, text = cutLine(text)
		p.read(line)
	}
	p.close()
	return f
}

// decodeText is body as a string, without its byte order mark, whole or cut short; UTF-16 is read by
// its mark.
func decodeText(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		return decodeUTF16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		return decodeUTF16(body[2:], binary.BigEndian)
	}
	for _, c := range []byte("\xef\xbb\xbf") {
		if len(body) == 0 || body[0] != c {
			break
		}
		body = body[1:]
	}
	return string(body)
}

func decodeUTF16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

// cutLine ends a line at LF, CR or CR LF.
func cutLine(s string) (line, rest string) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, ""
	}
	line, rest = s[:i], s[i+1:]
	if s[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest
}

// parser reads lines into its file. The last group is open for more user-agent lines until it has a
// rule; a run is a part of them with no record of another kind in between.
type parser struct {
	file  *File
	line  int
	run   int  // index of the first user-agent line of the run in its group
	ended bool // by a record: the next user-agent line begins a run
}

func (p *parser) read(line string) {
	if len(line) > maxLine {
		line = line[:maxLine]
		p.warn("the line is longer than 16,663 bytes; the rest of it is not read")
	}
	line, _, _ = strings.Cut(line, "#")
	line = trim(line)
	if line == "" {
		return
	}
	key, value, ok := cutKey(line)
	if !ok {
		p.warn("not of the form \"name: value\"")
		return
	}
	switch kind := keyOf(key); kind {
	case "user-agent":
		p.agent(value)
	case "allow", "disallow":
		p.rule(kind == "allow", value, line)
	default:
		p.record(kind, value, line)
	}
}

// cutKey splits at the colon. Without one, two words are a name and a value, as Google reads them.
func cutKey(line string) (key, value string, ok bool) {
	if key, value, ok = strings.Cut(line, ":"); ok {
		return trim(key), trim(value), trim(key) != ""
	}
	words := strings.FieldsFunc(line, isBlank)
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

// keyOf is what a name means. The misspellings are those that Google's parser accepts.
func keyOf(key string) string {
	key = lower(key)
	switch {
	case hasAnyPrefix(key, "user-agent", "useragent", "user agent"):
		return "user-agent"
	case hasAnyPrefix(key, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		return "disallow"
	case key == "site-map":
		return "sitemap"
	case key == "content-signals":
		return "content-signal"
	}
	return key
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

func (p *parser) agent(value string) {
	groups := p.file.Groups
	if len(groups) == 0 || len(groups[len(groups)-1].Rules) > 0 {
		p.file.Groups = append(groups, Group{})
		p.run, p.ended = 0, false
	}
	last := len(p.file.Groups) - 1
	g := &p.file.Groups[last]
	if p.ended {
		p.run, p.ended = len(g.Agents), false
	}
	name := productToken(value)
	g.Agents = append(g.Agents, Agent{Name: name, Line: p.line})
	if name == "" {
		p.warn("the user-agent line names no product token")
		return
	}
	key := lower(name)
	of := p.file.byAgent[key]
	if known := len(of) > 0 && of[len(of)-1].group == last && of[len(of)-1].agent >= p.run; !known {
		p.file.byAgent[key] = append(of, member{last, len(g.Agents) - 1})
	}
}

// productToken is the token at the start of a user-agent value, without a version or text after it;
// "*" only when it stands alone or before a blank.
func productToken(value string) string {
	if value == "*" || strings.HasPrefix(value, "*") && isBlank(rune(value[1])) {
		return "*"
	}
	end := 0
	for end < len(value) {
		c := value[end]
		if ('a' > c|0x20 || c|0x20 > 'z') && c != '-' && c != '_' {
			break
		}
		end++
	}
	return value[:end]
}

func (p *parser) rule(allow bool, value, line string) {
	if len(p.file.Groups) == 0 {
		p.warn("a rule above the first user-agent line counts for nobody")
		return
	}
	g := &p.file.Groups[len(p.file.Groups)-1]
	p.run = 0
	g.Rules = append(g.Rules, Rule{
		Allow: allow, Value: value, Line: p.line, Text: clip(line), match: compile(value),
	})
}

func (p *parser) record(key, value, line string) {
	r := Record{Key: key, Value: value, Line: p.line, Text: clip(line), group: len(p.file.Groups) - 1}
	if r.group >= 0 {
		r.from, r.to = p.run, len(p.file.Groups[r.group].Agents)
	}
	switch key {
	case "sitemap":
		p.file.Sitemaps = append(p.file.Sitemaps, value)
	case "license":
		p.file.Licences = append(p.file.Licences, value)
	case "content-signal":
		r.said = parseScoped(value, parseContentSignal)
	case "content-usage":
		r.said = parseScoped(value, parseContentUsage)
	case "crawl-delay", "request-rate":
	default:
		p.warn("a name that is not known")
		return
	}
	p.ended = p.ended || key != "sitemap" && key != "license"
	p.file.byKey[key] = append(p.file.byKey[key], len(p.file.Records))
	p.file.Records = append(p.file.Records, r)
}

// close ranks the rules of each group, so that the first one that matches decides.
func (p *parser) close() {
	for i := range p.file.Groups {
		g := &p.file.Groups[i]
		for j := range g.Rules {
			if m := &g.Rules[j].match; !m.empty() {
				g.ranked = append(g.ranked, ranked{m.pieces[0], int32(j)})
			}
		}
		slices.SortFunc(g.ranked, func(a, b ranked) int {
			switch {
			case a.rule == b.rule:
				return 0
			case g.Rules[a.rule].before(&g.Rules[b.rule]):
				return -1
			}
			return 1 // no two rules are equal: each has its own line
		})
	}
}

func (p *parser) warn(text string) {
	if len(p.file.Warnings) < maxWarnings {
		p.file.Warnings = append(p.file.Warnings, Warning{Line: p.line, Text: text})
	}
}

// clip makes a line of a site fit to be shown: valid UTF-8 without control characters, at most 200
// bytes.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && len(s) > maxText-utf8.UTFMax {
			s = s[:len(s)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func isBlank(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }

func trim(s string) string { return strings.TrimFunc(s, isBlank) }

func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}
