package blocks

import (
	"unicode"
	"unicode/utf8"
)

// classes of single bytes, for the fast path.
const (
	isSpace = 1 << iota
	isLetter
	isUpper
	isDigit
	isStop
	isComma
)

var ascii = func() (t [128]uint8) {
	for c := range t {
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			t[c] = isSpace
		case c >= 'a' && c <= 'z' || c == '_':
			t[c] = isLetter
		case c >= 'A' && c <= 'Z':
			t[c] = isLetter | isUpper
		case c >= '0' && c <= '9':
			t[c] = isDigit
		case c == '.' || c == '!' || c == '?' || c == ':' || c == ';':
			t[c] = isStop
		case c == ',':
			t[c] = isComma
		}
	}
	return t
}()

// The classes of a block's last letter that tell how it ends, and of its first.
const (
	endWord = iota
	endStop
	endAsk
	endColon
	endEllipsis
	endQuote
	endDigit
	endOther
)

func blank(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 128 {
			return blankWide(s[i:])
		}
		if ascii[c]&isSpace == 0 {
			return false
		}
	}
	return true
}

func blankWide(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !Ignored(r) {
			return false
		}
	}
	return true
}

// Ignored are letters without a width or a sound: soft hyphens, joiners, direction marks.
func Ignored(r rune) bool {
	switch r {
	case 0xad, 0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0x200e, 0x200f:
		return true
	}
	return false
}

// Wide says that a script has no spaces between words, so that each letter counts as one.
func Wide(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return r <= 0x0eff || r >= 0x1000 && r <= 0x109f || r >= 0x1780 && r <= 0x17ff || r >= 0x3040 && r <= 0x30ff ||
		r >= 0x3400 && r <= 0x4dbf || r >= 0x4e00 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff
}

// lexWords is how many words of a block are looked up.
const lexWords = 24

// reader goes over the letters of one text node.
type reader struct {
	b      *Block
	word   [28]byte
	n      int // bytes of the current word, may exceed the array
	digits int
	link   int32
	number int // value of a run of digits
}

// read counts the letters and words of data and says whether it ends within a word.
func (b *Block) read(data string, inWord, linked bool) bool {
	r := reader{b: b}
	if linked {
		r.link = 1
	}
	for i := 0; i < len(data); {
		c := data[i]
		if c < 128 {
			inWord = r.byte(c, inWord)
			i++
			continue
		}
		wide, size := utf8.DecodeRuneInString(data[i:])
		inWord = r.rune(wide, data[i:i+size], inWord)
		i += size
	}
	r.endWord()
	return inWord
}

func (r *reader) byte(c byte, inWord bool) bool {
	class := ascii[c]
	b := r.b
	if class&isSpace != 0 {
		r.endWord()
		return false
	}
	b.Chars++
	if class&(isLetter|isDigit) != 0 {
		if !inWord {
			b.Words++
			b.Linked += r.link
		}
		r.letter(c, class)
		return true
	}
	r.endWord()
	switch {
	case class&isStop != 0:
		b.Stops++
		b.End = endStop
		if c == ':' {
			b.End = endColon
			if r.digits > 0 && r.digits <= 2 {
				b.Clock = true
			}
		} else if c == '?' {
			b.End = endAsk
		}
	case class&isComma != 0:
		b.Commas++
		b.End = endOther
	case c == '$':
		b.Money = true
	case c == '@':
		b.Mail = true
	case c == '"' || c == '\'' || c == ')':
		if b.End != endStop {
			b.End = endQuote
		}
	default:
		b.End = endOther
	}
	return false
}

func (r *reader) letter(c byte, class uint8) {
	b := r.b
	if b.Chars == 1 {
		b.Start = class
	}
	if class&isDigit != 0 {
		b.Digits++
		b.End = endDigit
		r.digits++
		r.number = r.number*10 + int(c-'0')
	} else {
		b.End = endWord
		if class&isUpper != 0 {
			b.Upper++
			c += 'a' - 'A'
		}
	}
	if r.n < len(r.word) {
		r.word[r.n] = c
	}
	r.n++
}

func (r *reader) rune(c rune, raw string, inWord bool) bool {
	b := r.b
	if Ignored(c) {
		return inWord
	}
	if unicode.IsSpace(c) {
		r.endWord()
		return false
	}
	b.Chars++
	switch {
	case Wide(c):
		r.endWord()
		b.Words++
		b.Wide++
		b.Linked += r.link
		b.End = endWord
		return false
	case unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.Is(unicode.M, c):
		if !inWord {
			b.Words++
			b.Linked += r.link
		}
		if unicode.IsUpper(c) {
			b.Upper++
			c = unicode.ToLower(c)
		}
		if r.n+utf8.RuneLen(c) <= len(r.word) {
			r.n += utf8.EncodeRune(r.word[r.n:], c)
		} else {
			r.n = len(r.word) + 1
		}
		b.End = endWord
		return true
	}
	r.endWord()
	r.sign(c, raw)
	return false
}

func (r *reader) sign(c rune, raw string) {
	b := r.b
	switch c {
	case '。', '！', '？', '…', '।', '؟', '۔', '．', '：':
		b.Stops++
		b.End = endStop
		if c == '…' {
			b.End = endEllipsis
		}
	case '，', '、', '،', '；':
		b.Commas++
		b.End = endOther
	case '€', '£', '¥', '₽', '₹', '￥':
		b.Money = true
		b.End = endOther
	case '”', '“', '»', '’', '」', '）':
		if b.End != endStop {
			b.End = endQuote
		}
	case '©':
		b.Lex |= lexicon[raw]
		b.End = endOther
	default:
		b.End = endOther
	}
}

func (r *reader) endWord() {
	if r.n == 0 {
		return
	}
	b := r.b
	if r.digits == 4 && r.n == 4 && r.number >= 1900 && r.number < 2100 {
		b.Year = true
	}
	if r.digits == 0 && b.Words <= lexWords && r.n <= len(r.word) && lexStarts[r.word[0]]>>r.n&1 == 1 {
		b.Lex |= lexicon[string(r.word[:r.n])]
	}
	r.n, r.digits, r.number = 0, 0, 0
}
