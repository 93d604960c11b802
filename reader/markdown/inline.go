package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/reader/dom"
)

// A mark is an inline element of the paragraph that is being written: wanted, when the walk is
// inside it, and open, when its opening is in the buffer already.
type mark struct {
	kind markKind
	link int32 // for markLink: 1 + index into writer.targets
	turn int32 // the how-manyth element with a mark it is
	pos  int   // where its opening begins in the buffer
	wide int   // bytes of its opening; 0 when it could not be opened here
}

type markKind uint8

const (
	markStrong markKind = iota + 1
	markEm
	markStrike
	markSup
	markSub
	markLink
	markNone // a link that has ended before its element
)

var opening = [...]string{markStrong: "**", markEm: "*", markStrike: "~~", markSup: "<sup>", markSub: "<sub>", markLink: "["}
var closing = [...]string{markStrong: "**", markEm: "*", markStrike: "~~", markSup: "</sup>", markSub: "</sub>"}

// delimits is true for marks to which the flanking rules of CommonMark 6.2 apply.
func (k markKind) delimits() bool { return k <= markStrike }

// push wants a mark; it is false when one like it is wanted already, so that there is nothing to pop.
func (w *writer) push(k markKind, link int32) bool {
	for _, m := range w.wants {
		if m.kind == k {
			return false
		}
	}
	w.turn++
	w.wants = append(w.wants, mark{kind: k, link: link, turn: w.turn})
	return true
}

// goesOn is true when the open mark m serves for the wanted one: the same element's, or one like it that
// follows without a gap, which would melt into it.
func (m mark) goesOn(want mark, gap bool) bool {
	return m.kind == want.kind && m.link == want.link && (m.turn == want.turn || !gap && m.wide > 0)
}

func (w *writer) pop() { w.wants = w.wants[:len(w.wants)-1] }

// sync brings the buffer to the point where a character next can be written: marks no longer wanted
// are closed, a waiting break or blank is written, wanted marks are opened.
func (w *writer) sync(next rune) {
	if w.breaks > 1 && w.heading == 0 && w.cell == nil && !w.inLink() {
		w.flush()
	}
	gap := len(w.buf) > 0 && (w.space || w.breaks > 0)
	same := 0
	for same < len(w.open) && same < len(w.wants) && w.open[same].goesOn(w.wants[same], gap) {
		w.open[same].turn = w.wants[same].turn // it is this element's now, also behind a gap
		same++
	}
	if same < len(w.open) {
		after := next
		if gap {
			after = ' '
		} else if same < len(w.wants) && !w.wants[same].kind.delimits() && w.wants[same].kind != markNone {
			after = rune(opening[w.wants[same].kind][0])
		}
		w.close(same, after)
		if !gap && same < len(w.wants) && w.wants[same].kind == markLink && len(w.buf) > 0 && w.buf[len(w.buf)-1] == ')' {
			gap, w.space = true, true
		}
	}
	if gap {
		w.blank()
	}
	w.space, w.breaks = false, 0
	for i := same; i < len(w.wants); i++ {
		w.openMark(i, next)
	}
}

// blank writes what separates two words: a line break, or one space.
func (w *writer) blank() {
	switch {
	case w.breaks == 0 || w.heading > 0:
		w.buf = append(w.buf, ' ')
	case w.cell != nil:
		w.buf = append(w.buf, w.breakTag()...)
	default:
		if !w.plain {
			w.buf = append(w.buf, ' ', ' ')
		}
		w.buf = append(w.buf, '\n')
	}
	w.literal = 0
}

func (w *writer) breakTag() string {
	if w.plain {
		return " "
	}
	return "<br>"
}

// close closes the open marks from the last down to index from; after is the character behind them.
func (w *writer) close(from int, after rune) {
	before, inRun := rune(0), false // inRun: a run of asterisks ends the buffer, before is what stands before it
	for i := len(w.open) - 1; i >= from; i-- {
		m := w.open[i]
		if m.wide == 0 {
			continue
		}
		if !m.kind.delimits() {
			w.closeTag(m)
			inRun = false
			continue
		}
		if !inRun || m.kind == markStrike {
			before = w.last()
		}
		follow := after
		for j := i - 1; j >= from; j-- {
			if w.open[j].wide > 0 && !w.open[j].kind.delimits() {
				follow = '<'
				break
			}
		}
		if punctuation(before) && !blankRune(follow) && !surePunctuation(follow) || m.kind == markStrike && (before == '~' || follow == '~') {
			w.buf = append(w.buf[:m.pos], w.buf[m.pos+m.wide:]...)
			continue
		}
		w.buf = append(w.buf, closing[m.kind]...)
		inRun = m.kind != markStrike
		w.literal = 0
	}
	w.open = w.open[:from]
}

func (w *writer) closeTag(m mark) {
	w.literal = 0
	if m.kind != markLink {
		w.buf = append(w.buf, closing[m.kind]...)
		return
	}
	w.closeLink(m)
}

// openMark opens the wanted mark i before a character next.
func (w *writer) openMark(i int, next rune) {
	m := w.wants[i]
	m.pos = len(w.buf)
	if w.plain || m.kind == markNone {
		w.open = append(w.open, m)
		return
	}
	if m.kind.delimits() && !w.canOpen(i, next) {
		w.open = append(w.open, m)
		return
	}
	if m.kind == markLink && w.literal == '!' {
		w.buf = append(w.buf[:len(w.buf)-1], '\\', '!')
		m.pos++
	}
	m.wide = len(opening[m.kind])
	w.buf = append(w.buf, opening[m.kind]...)
	w.literal = 0
	w.open = append(w.open, m)
}

func (w *writer) canOpen(i int, next rune) bool {
	k := w.wants[i].kind
	if w.heading > 0 && k == markStrong {
		return false
	}
	follow := next
	for j := i + 1; j < len(w.wants); j++ {
		if kj := w.wants[j].kind; kj != markNone && !kj.delimits() || kj == markStrike != (k == markStrike) {
			follow = '<'
			break
		}
	}
	prev := w.beforeRun()
	if k == markStrike && (prev == '~' || follow == '~' || w.tilde) {
		return false
	}
	if k != markStrike && !blankRune(prev) && w.starOpen() {
		return false // inside of another and not behind a blank: it could as well close that
	}
	if w.literal == 0 && prev == rune(closing[k][0]) {
		return false // it would melt into the marks just closed, be it when those between are taken back
	}
	return !punctuation(follow) || blankRune(prev) || surePunctuation(prev)
}

// beforeRun is the character before the openings that end the buffer: one of them may yet be taken
// back, so that none may count on another.
func (w *writer) beforeRun() rune {
	at := len(w.buf)
	for n := len(w.open) - 1; n >= 0 && w.open[n].pos+w.open[n].wide == at && (w.open[n].wide == 0 || w.open[n].kind.delimits()); n-- {
		at = w.open[n].pos
	}
	if at == 0 {
		return ' '
	}
	r, _ := utf8.DecodeLastRune(w.buf[:at])
	return r
}

func (w *writer) starOpen() bool {
	for _, m := range w.open {
		if m.wide > 0 && m.kind < markStrike {
			return true
		}
	}
	return false
}

// last is the last character of the line in the buffer; a blank at its start.
func (w *writer) last() rune {
	if len(w.buf) == 0 {
		return ' '
	}
	r, _ := utf8.DecodeLastRune(w.buf)
	return r
}

func blankRune(r rune) bool { return r == 0 || r == ' ' || r == '\n' }

// punctuation is what any reading of CommonMark may take for punctuation, surePunctuation what all do.
func punctuation(r rune) bool {
	if r < 0x80 {
		return asciiPunct(byte(r))
	}
	return unicode.IsPunct(r) || unicode.IsSymbol(r)
}

func surePunctuation(r rune) bool {
	if r < 0x80 {
		return asciiPunct(byte(r))
	}
	return unicode.IsPunct(r)
}

func asciiPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// raw writes s, which is Markdown already, as a part of the paragraph.
func (w *writer) raw(s string) {
	if s == "" {
		return
	}
	r, _ := utf8.DecodeRuneInString(s)
	w.sync(r)
	w.buf = append(w.buf, s...)
	w.literal = 0
}

// simple are the bytes that need no thought anywhere.
var simple = func() (t [256]bool) {
	for c := range t {
		t[c] = c > 0x20 && c < 0x7f
	}
	for _, c := range `\*_[]<&~$!` + "`" {
		t[c] = false
	}
	return t
}()

// text writes the text of a node: blanks collapsed, unseen characters gone, and each character
// escaped that CommonMark would take for a mark.
func (w *writer) text(s string) {
	i := w.skipBlank(s, 0)
	if i == len(s) {
		return
	}
	trimmed := strings.TrimRight(s, " \n\t\r\f") // so that a character at its end knows that anything may follow
	ends := len(trimmed) < len(s)
	s = trimmed
	w.beforeText(s[i:])
	inURL := w.startsURL(s, i)
	from := i
	for i < len(s) {
		c := s[i]
		if simple[c] {
			i++
			continue
		}
		if c >= 0x80 {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r < 0x2c00 || r > 0xd7ff || r == 0x3000 || r == 0x3164 {
				prev, _ := utf8.DecodeLastRuneInString(s[:i])
				next, _ := utf8.DecodeRuneInString(s[i+size:])
				switch dom.Classify(prev, r, next) {
				case dom.Strip:
					w.buf = append(w.buf, s[from:i]...)
					w.stripped++
					i += size
					from = i
					continue
				case dom.Space:
					w.buf = append(w.buf, s[from:i]...)
					i, inURL = w.innerBlank(s, i)
					from = i
					continue
				}
			}
			i += size
			continue
		}
		w.buf = append(w.buf, s[from:i]...)
		if c <= 0x20 || c == 0x7f {
			if dom.Classify(0, rune(c), 0) == dom.Strip {
				w.stripped++
				i++
			} else {
				i, inURL = w.innerBlank(s, i)
			}
			from = i
			continue
		}
		if !w.plain && w.escapes(s, i, inURL) {
			w.buf = append(w.buf, '\\')
			inURL = false
		}
		from = i
		i++
	}
	w.buf = append(w.buf, s[from:]...)
	w.afterText(ends)
}

// beforeText brings the buffer to the point where the word s begins with can be written.
func (w *writer) beforeText(s string) {
	first, _ := utf8.DecodeRuneInString(s)
	if !w.space && len(w.open) > 0 && mailFirst(s) {
		w.space = true // GFM would take the marks before it for a part of the address
	}
	w.sync(first)
	if w.amp > 0 && w.ampEnd == len(w.buf) && w.buf[w.amp-1] == '&' && (s[0] == ';' || s[0] == '#' || alnum(s[0])) {
		w.buf = slices.Insert(w.buf, w.amp-1, '\\')
	}
	w.amp = 0
	if w.literal == ']' && (first == '(' || first == '[') {
		w.buf = append(w.buf[:len(w.buf)-1], '\\', ']')
	}
}

// afterText notes what ends the buffer: a blank that is owed, or a character of the text.
func (w *writer) afterText(blank bool) {
	w.literal, w.ampEnd = 0, len(w.buf)
	w.space = w.space || blank
	if !w.space && len(w.buf) > 0 {
		w.literal = w.buf[len(w.buf)-1]
		if n := len(w.buf); n > 1 && w.buf[n-2] == '\\' {
			w.literal = 0
		}
	}
}

// mailFirst is true when s begins with a mail address.
func mailFirst(s string) bool {
	for i := 0; i < len(s) && i < 64; i++ {
		switch c := s[i]; {
		case c == '@':
			return i > 0
		case !alnum(c) && c != '.' && c != '_' && c != '-' && c != '+':
			return false
		}
	}
	return false
}

// skipBlank passes over blanks and unseen characters from i on.
func (w *writer) skipBlank(s string, i int) int {
	for i < len(s) {
		r, size := rune(s[i]), 1
		if r >= 0x80 {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch dom.Classify(0, r, 0) {
		case dom.Space:
			w.space = true
		case dom.Strip:
			w.stripped++
		default:
			return i
		}
		i += size
	}
	return i
}

// innerBlank writes the blank at i, or lets it wait when s ends with it.
func (w *writer) innerBlank(s string, i int) (int, bool) {
	i = w.skipBlank(s, i)
	if i == len(s) {
		w.space = true
		return i, false
	}
	if w.space {
		w.buf = append(w.buf, ' ')
		w.space = false
	}
	return i, w.startsURL(s, i)
}

// startsURL is true where GFM makes a link of the word at i by itself; there nothing is escaped.
func (w *writer) startsURL(s string, i int) bool {
	if s[i] != 'h' && s[i] != 'w' {
		return false
	}
	for _, p := range [...]string{"https://", "http://", "www."} {
		if len(s)-i > len(p) && s[i:i+len(p)] == p {
			return !w.inLink() && (len(w.buf) == 0 || blankRune(w.last()))
		}
	}
	return false
}

func (w *writer) inLink() bool { return w.wanted(markLink) }

func (w *writer) wanted(k markKind) bool {
	for _, m := range w.wants {
		if m.kind == k {
			return true
		}
	}
	return false
}

// escapes is true when the character at i of s needs a backslash.
func (w *writer) escapes(s string, i int, inURL bool) bool {
	next, known := byte(' '), i+1 < len(s)
	if known {
		next = s[i+1]
	}
	switch c := s[i]; c {
	case '\\':
		return !known || asciiPunct(next)
	case '`':
		return true
	case '<':
		return !known || next|0x20 >= 'a' && next|0x20 <= 'z' || next == '/' || next == '!' || next == '?'
	case '&':
		is, open := entity(s[i:])
		if open {
			w.amp = len(w.buf) + 1
		}
		return is
	case '[':
		return !known || next == '^' || w.inLink() || w.brackets
	case ']':
		return known && (next == '(' || next == '[') || w.inLink() || w.brackets
	case '!':
		return known && next == '['
	case '$':
		return w.facts.math
	case '*':
		return !(w.blankBefore(s, i) && known && blank(next))
	case '_':
		if inURL || w.blankBefore(s, i) && known && blank(next) {
			return false
		}
		return !known || !alnum(next) || !w.wordBefore(s, i)
	case '~':
		if known && !w.wanted(markStrike) && !w.tilde && (inURL && alnum(next) && i > 0 && s[i-1] == '/' || next >= '0' && next <= '9' && w.blankBefore(s, i)) {
			w.tilde = true // one alone, as in "~5 km", strikes nothing, so nothing else may be struck beside it
			return false
		}
		return !(known && blank(next) && w.blankBefore(s, i))
	}
	return false
}

// longestEntity is more than the letters of any name of a character, and than the digits of its number.
const longestEntity = 32

// entity says whether s, which begins with an ampersand, begins with the name or number of a character, and
// whether what follows s could make it one.
func entity(s string) (is, open bool) {
	i := 1
	if i < len(s) && s[i] == '#' {
		i++
	}
	for from := i; i < len(s) && i-from <= longestEntity; i++ {
		if !alnum(s[i]) {
			return s[i] == ';' && i > from, false
		}
	}
	return false, i == len(s)
}

func (w *writer) blankBefore(s string, i int) bool {
	if i > 0 {
		return blank(s[i-1])
	}
	return blankRune(w.last())
}

func (w *writer) wordBefore(s string, i int) bool {
	if i > 0 {
		return alnum(s[i-1])
	}
	r := w.last()
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
func alnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
