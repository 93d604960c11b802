package blocks

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// What a page says of its own content in its head and its data: the body of the article, and
// descriptions. A block that says the same is known by runs of words.
const (
	saidBody = 1 << iota
	saidDescription
)

const (
	runWords = 4
	mostSaid = 20_000 // runs
	mostText = 1 << 18
)

// windows hands the hash of each run of four words of s to f until it says false.
func windows(s string, f func(uint64) bool) {
	var last [runWords]uint64
	n, h, in := 0, uint64(0), false
	end := func() bool {
		in = false
		copy(last[:], last[1:])
		last[runWords-1] = h
		if n++; n < runWords {
			return true
		}
		run := uint64(0)
		for _, w := range last {
			run = (run ^ w) * 0x9E3779B97F4A7C15
			run ^= run >> 29
		}
		return f(run)
	}
	for _, r := range s {
		if Ignored(r) {
			continue
		}
		wide := Wide(r)
		if !wide && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			if !in {
				h, in = 14695981039346656037, true
			}
			h = (h ^ uint64(unicode.ToLower(r))) * 1099511628211
			continue
		}
		if in && !end() {
			return
		}
		if wide {
			h = uint64(r) * 1099511628211
			if !end() {
				return
			}
		}
	}
	if in {
		end()
	}
}

func (p *Page) say(text string, kind uint8) {
	if kind == saidBody {
		p.hasBody = true
	}
	windows(text[:min(len(text), mostText)], func(h uint64) bool {
		p.said[h] |= kind
		return len(p.said) < mostSaid
	})
}

// sayJSON takes the bodies and descriptions out of JSON-LD without decoding all of it.
func (p *Page) sayJSON(data string) {
	for {
		i := strings.Index(data, `":`)
		if i < 0 {
			return
		}
		key := data[:i]
		data = data[i+1:]
		var kind uint8
		switch {
		case strings.HasSuffix(key, "escription"):
			kind = saidDescription
		case strings.HasSuffix(key, "Body"):
			kind = saidBody
		default:
			continue
		}
		if text, ok := stringValue(data); ok {
			p.say(text, kind)
		}
	}
}

// stringValue is the JSON string after a colon, its escapes undone.
func stringValue(data string) (string, bool) {
	data = strings.TrimLeft(data, " \t\n\r")
	if !strings.HasPrefix(data, ":") {
		return "", false
	}
	data = strings.TrimLeft(data[1:], " \t\n\r")
	if !strings.HasPrefix(data, `"`) {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(data) && b.Len() < mostText; i++ {
		switch c := data[i]; {
		case c == '"':
			return b.String(), true
		case c != '\\' || i+1 == len(data):
			b.WriteByte(c)
		case data[i+1] == 'u' && i+5 < len(data):
			b.WriteRune(hex(data[i+2 : i+6]))
			i += 5
		case data[i+1] == 'n' || data[i+1] == 'r' || data[i+1] == 't':
			b.WriteByte(' ')
			i++
		default:
			b.WriteByte(data[i+1])
			i++
		}
	}
	return b.String(), true
}

func hex(s string) (r rune) {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		}
	}
	if !utf8.ValidRune(r) {
		return ' '
	}
	return r
}

// echoes notes for each block how much of it the page says elsewhere: in its data, or in a block
// before, as quotes and second copies for other screens do.
func (p *Page) echoes() {
	for i := range p.Blocks {
		b := &p.Blocks[i]
		if b.Words < runWords {
			continue
		}
		var e echo
		for _, n := range p.Texts[b.Lo:b.Hi] {
			windows(p.Tree.Data(n), func(h uint64) bool {
				e.all++
				if at, ok := p.runs[h]; !ok && len(p.runs) < mostRuns {
					p.runs[h] = int32(i)
				} else if ok && at < int32(i) {
					e.again++
					e.first = at
				}
				kind := p.said[h]
				e.body += int(kind & saidBody)
				e.description += int(kind&saidDescription) / saidDescription
				return e.all < mostWindows
			})
			if e.all >= mostWindows {
				break
			}
		}
		b.Body, b.Description, b.Again = e.body*2 > e.all, e.description*2 > e.all, e.again*2 > e.all
		if b.Again {
			b.Echo = e.first
			p.Blocks[e.first].Later = true
		}
	}
}

// Shows says that the page shows a good part of a text: one of ten of its runs of words, since of a long
// block only the first are known.
func (p *Page) Shows(parts []string) bool {
	all, shown := 0, 0
	for _, part := range parts {
		windows(part[:min(len(part), mostText)], func(h uint64) bool {
			all++
			if _, ok := p.runs[h]; ok {
				shown++
			}
			return true
		})
	}
	return shown*10 > all
}

// echo counts the runs of one block: all, those known from the page's data, those read before.
type echo struct {
	all, body, description, again int
	first                         int32
}

const (
	mostWindows = 24 // runs looked at in one block
	mostRuns    = 200_000
)

// openedBy says that n is closed at first: a panel, or content for readers without scripts.
func (p *Page) openedBy(n dom.ID, tag atom.Atom) bool {
	return tag == atom.Noscript || tag == atom.Template || p.panels[n]
}
