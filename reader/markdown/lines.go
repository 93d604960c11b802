package markdown

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutLine cuts text after its first line; a line break is two blanks and a line end.
func cutLine(text []byte) (line, rest []byte, more bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return text, nil, false
	}
	return text[:i], text[i+1:], true
}

// writeLine writes a line of a paragraph, its start escaped where it would begin another block.
func (w *writer) writeLine(line []byte, first bool) {
	if w.plain {
		w.out = append(w.out, line...)
		return
	}
	at := lineEscape(line, first)
	if k := len(w.frames); first && k > 0 && w.frames[k-1].item && w.frames[k-1].blocks == 1 && taskLike(line) {
		at = 0
	}
	if at < 0 {
		w.out = append(w.out, line...)
		return
	}
	w.out = append(w.out, line[:at]...)
	w.out = append(w.out, '\\')
	w.out = append(w.out, line[at:]...)
}

// lineEscape is where line needs a backslash so as not to begin a heading, a list, a quote, a
// rule, a table or a definition; -1 when it does not.
func lineEscape(line []byte, first bool) int {
	if len(line) == 0 {
		return -1
	}
	switch c := line[0]; {
	case c == '#':
		n := run(line, '#')
		if n <= 6 && (n == len(line) || line[n] == ' ') {
			return 0
		}
	case c == '>':
		return 0
	case c == '-' || c == '+' || c == '*':
		if len(line) == 1 || line[1] == ' ' || c == '-' && only(line, "- ") {
			return 0
		}
		if !first && c == '-' && only(line, "-:| ") {
			return 0
		}
	case c == '=' && !first && only(line, "= "), c == '_' && only(line, "_ "):
		return 0
	case (c == ':' || c == '|') && !first && only(line, "-:| "):
		return 0
	case c == '~' && run(line, '~') >= 3:
		return 0
	case c >= '0' && c <= '9':
		n := 0
		for n < len(line) && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n <= 9 && n < len(line) && (line[n] == '.' || line[n] == ')') && (n+1 == len(line) || line[n+1] == ' ') {
			return n
		}
	case c == '[' && first:
		return definitionLike(line)
	}
	return -1
}

// definitionLike is 0 when line could be read as a link or footnote definition.
func definitionLike(line []byte) int {
	for i := 1; i < len(line) && i < 1000; i++ {
		switch line[i] {
		case '\\':
			i++
		case '[':
			return -1
		case ']':
			if i+1 < len(line) && line[i+1] == ':' {
				return 0
			}
			return -1
		}
	}
	return -1
}

// taskLike is true for a line that begins as a task does in a list.
func taskLike(line []byte) bool {
	return len(line) > 3 && line[0] == '[' && line[2] == ']' && line[3] == ' ' && (line[1] == ' ' || line[1]|0x20 == 'x')
}

func run(line []byte, c byte) int {
	n := 0
	for n < len(line) && line[n] == c {
		n++
	}
	return n
}

func only(line []byte, set string) bool {
	for _, c := range line {
		if strings.IndexByte(set, c) < 0 {
			return false
		}
	}
	return true
}

// sameWords is true when a and b have the same letters and digits in the same order.
func sameWords(a, b string) bool {
	found := false
	for {
		var x, y rune
		x, a = nextLetter(a)
		y, b = nextLetter(b)
		if x != y {
			return false
		}
		if x == 0 {
			return found
		}
		found = true
	}
}

func nextLetter(s string) (rune, string) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r), s
		}
	}
	return 0, ""
}
