package dom

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Char says what a reader's text does with a character.
type Char uint8

// Plain characters stay, Space stands for a blank of any kind, Strip goes: controls, zero-width,
// bidi and tag characters, soft hyphens.
const (
	Plain Char = iota
	Space
	Strip
)

// Classify says what r is between prev and next (0 at an edge). Joiners stay where a script or an
// emoji needs them, a variation selector behind a character that can have one.
func Classify(prev, r, next rune) Char {
	switch {
	case r < 0x80:
		return classifyASCII(r)
	case r < 0xa0:
		if r == 0x85 {
			return Space
		}
		return Strip
	case r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return Space
	case r == 0xad, r == 0x180e, r == 0x200b, r == 0x61c, r == 0xfeff, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return Strip
	case r == 0x200c || r == 0x200d:
		return joiner(prev, next)
	case r >= 0x200e && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return Strip
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef:
		return selector(prev, r)
	case r >= 0xe0000 && r <= 0xe0fff, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return Strip
	}
	return Plain
}

func classifyASCII(r rune) Char {
	switch {
	case r == ' ', r == '\t', r == '\n', r == '\r', r == '\f':
		return Space
	case r < 0x20, r == 0x7f:
		return Strip
	}
	return Plain
}

// joining are the scripts whose spelling needs the zero-width joiner or non-joiner.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

func joiner(prev, next rune) Char {
	if prev > 0x5ff && next > 0x5ff && unicode.In(prev, joining...) && unicode.In(next, joining...) {
		return Plain
	}
	if pictograph(prev) && pictograph(next) {
		return Plain
	}
	return Strip
}

func pictograph(r rune) bool {
	return r >= 0x1f000 && r < 0x1fb00 || r >= 0x2190 && r < 0x2c00 || r == 0xfe0f
}

func selector(prev, r rune) Char {
	switch {
	case r == 0xfe0e || r == 0xfe0f:
		if pictograph(prev) && prev != 0xfe0f || prev >= '0' && prev <= '9' || prev == '#' || prev == '*' || prev == 0xa9 || prev == 0xae || prev == 0x203c || prev == 0x2049 || prev == 0x2122 || prev == 0x2139 || prev == 0x3030 || prev == 0x303d || prev == 0x3297 || prev == 0x3299 {
			return Plain
		}
	case unicode.Is(unicode.Han, prev), r < 0xfe10 && unicode.Is(unicode.Mongolian, prev):
		return Plain
	}
	return Strip
}

// Clean takes the characters out of s that a reader cannot see and says how many. Blanks stay as
// they are.
func Clean(s string) (string, int) {
	at := suspect(s)
	if at < 0 {
		return s, 0
	}
	var b strings.Builder
	prev, gone := rune(0), 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		if Classify(prev, r, next) == Strip {
			if gone == 0 {
				b.Grow(len(s))
				b.WriteString(s[:i])
			}
			gone++
		} else {
			if gone > 0 {
				b.WriteString(s[i : i+size])
			}
			prev = r
		}
		i += size
	}
	if gone == 0 {
		return s, 0
	}
	return b.String(), gone
}

// suspect is the index of the first byte of s that may begin a character to strip, or -1.
func suspect(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0xc2 || c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f' || c == 0x7f {
			return i
		}
	}
	return -1
}
