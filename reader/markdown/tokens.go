package markdown

import (
	"unicode"
	"unicode/utf8"
)

// Bounds on the time that one word takes, which a hostile page may make of megabytes: one of more than
// mostPiece bytes is counted in parts, which may come a few tokens too high each.
const (
	mostPiece = 512
	partPiece = 64
)

// Tokens is the number of o200k tokens of s.
func Tokens(s string) int {
	v := o200k()
	n := 0
	for len(s) > 0 {
		size := piece(s[:min(len(s), mostPiece)])
		if size == mostPiece {
			size = partPiece
		}
		n += v.count(s[:size])
		s = s[size:]
	}
	return n
}

// The kinds of characters in the pattern by which o200k splits text.
type runeKind uint8

const (
	kindOther runeKind = iota
	kindUpper          // Lu, Lt
	kindLower          // Ll
	kindBoth           // Lm, Lo, M: part of both runs
	kindNumber
	kindSpace
	kindLine
)

func kindOf(r rune) runeKind {
	switch {
	case r < 0x80:
		switch c := byte(r); {
		case c >= 'a' && c <= 'z':
			return kindLower
		case c >= 'A' && c <= 'Z':
			return kindUpper
		case c >= '0' && c <= '9':
			return kindNumber
		case c == '\n' || c == '\r':
			return kindLine
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			return kindSpace
		}
		return kindOther
	case unicode.Is(unicode.Ll, r):
		return kindLower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return kindUpper
	case unicode.In(r, unicode.Lm, unicode.Lo, unicode.M):
		return kindBoth
	case unicode.IsNumber(r):
		return kindNumber
	case unicode.IsSpace(r):
		return kindSpace
	}
	return kindOther
}

// piece is the length of the first piece of s by o200k's pattern: a word with at most one sign or
// blank before it, up to three digits, signs, or blanks.
func piece(s string) int {
	r, size := utf8.DecodeRuneInString(s)
	k := kindOf(r)
	if n := word(s, 0); n > 0 {
		return n
	}
	if k != kindLine && k != kindNumber {
		if n := word(s, size); n > 0 {
			return n
		}
	}
	if k == kindNumber {
		return digits(s)
	}
	if n := signs(s); n > 0 {
		return n
	}
	return blankPiece(s)
}

// word is the end of a word that begins at i, with its contraction: capitals and then at least one
// small letter, or at least one capital; 0 when there is none.
func word(s string, i int) int {
	upper, lastBoth := i, -1
	for upper < len(s) {
		r, size := utf8.DecodeRuneInString(s[upper:])
		k := kindOf(r)
		if k != kindUpper && k != kindBoth {
			break
		}
		if k == kindBoth {
			lastBoth = upper
		}
		upper += size
	}
	lower := upper
	for lower < len(s) {
		r, size := utf8.DecodeRuneInString(s[lower:])
		if k := kindOf(r); k != kindLower && k != kindBoth {
			break
		}
		lower += size
	}
	switch {
	case lower > upper:
		return contraction(s, lower)
	case lastBoth >= 0:
		// The first alternative gives back capitals until a letter that is both ends the word.
		_, size := utf8.DecodeRuneInString(s[lastBoth:])
		return contraction(s, lastBoth+size)
	case upper > i:
		return contraction(s, upper)
	}
	return 0
}

func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if i+2 < len(s) {
		switch string([]byte{s[i+1] | 0x20, s[i+2] | 0x20}) {
		case "re", "ve", "ll":
			return i + 3
		}
	}
	return i
}

func digits(s string) int {
	n := 0
	for i := 0; i < 3 && n < len(s); i++ {
		r, size := utf8.DecodeRuneInString(s[n:])
		if kindOf(r) != kindNumber {
			break
		}
		n += size
	}
	return n
}

// signs is the end of a run of signs, with one blank before it and line ends or slashes behind it.
func signs(s string) int {
	i := 0
	if s[0] == ' ' {
		i = 1
	}
	from := i
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if kindOf(r) != kindOther {
			break
		}
		i += size
	}
	if i == from {
		return 0
	}
	for i < len(s) && (s[i] == '\n' || s[i] == '\r' || s[i] == '/') {
		i++
	}
	return i
}

// blankPiece is the end of a run of blanks: up to its last line end, or all of it but the blank that
// belongs to the word behind it.
func blankPiece(s string) int {
	end, line, last := 0, 0, 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		k := kindOf(r)
		if k != kindSpace && k != kindLine {
			break
		}
		last = end
		end += size
		if k == kindLine {
			line = end
		}
	}
	switch {
	case line > 0:
		return line
	case end == len(s) || last == 0:
		return max(end, 1)
	}
	return last
}

// cut is the part of text within most tokens that ends where a block ends, its tokens, and whether
// something was cut off.
func cut(text string, ends []int, most int) (string, int, bool) {
	total, at := 0, 0
	for i, end := range ends {
		if i+1 < len(ends) && end < len(text) {
			for end < len(text) && text[end] == '\n' {
				end++ // a piece goes on to the end of the blank lines
			}
		}
		end = min(end, len(text))
		if end <= at {
			continue
		}
		n := Tokens(text[at:end])
		if total+n > most {
			return fit(text, at, end, most)
		}
		total, at = total+n, end
	}
	if at < len(text) {
		if n := Tokens(text[at:]); total+n > most {
			return fit(text, at, len(text), most)
		}
	}
	return text, Tokens(text), false
}

// fit ends text at a block's end; when not even the first block fits, inside it, at a line's or a
// word's end.
func fit(text string, at, end, most int) (string, int, bool) {
	if at > 0 {
		text = trimLines(text[:at])
		if n := Tokens(text); n <= most {
			return text, n, true
		}
	}
	total, stop := 0, 0
	for pos := 0; pos < end; {
		size := piece(text[pos:end])
		n := o200k().count(text[pos : pos+size])
		if total+n > most {
			break
		}
		total += n
		pos += size
		stop = pos
	}
	text = trimLines(text[:stop])
	return text, Tokens(text), true
}

func trimLines(s string) string {
	for len(s) > 0 && (s[len(s)-1] == '\n' || s[len(s)-1] == ' ') {
		s = s[:len(s)-1]
	}
	return s
}
