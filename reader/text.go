package reader

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/reader/markdown"
)

// composeText is the content of an answer that is Markdown or plain text already.
func composeText(text string, o plan) content {
	c := content{text: text}
	c.meta.Title = firstHeading(text)
	c.written.Markdown, c.written.Tokens, c.written.Truncated = o.cut(text, blockEnds, "")
	return c
}

// composeFenced is the content of an answer that is data: as it stands, in a code fence.
func composeFenced(language string, body []byte, o plan) content {
	text := strings.TrimRight(printable(string(body)), " \t\r\n")
	if strings.TrimSpace(text) == "" {
		return content{}
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	written := fence + language + "\n" + text + "\n" + fence + "\n"
	c := content{text: text}
	c.written.Markdown, c.written.Tokens, c.written.Truncated = o.cut(written, lineEnds, fence+"\n")
	return c
}

// firstHeading is the text of a heading on the first line that is not blank.
func firstHeading(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
	title, ok := strings.CutPrefix(line, "# ")
	if !ok || len(title) > 300 {
		return ""
	}
	return strings.Trim(title, "# \t\r")
}

// blockEnds are the places in text after which a block of Markdown is over: before blank lines, but
// not inside a code fence.
func blockEnds(text string) []int {
	var ends []int
	at, fence := 0, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case trimmed == "":
			ends = append(ends, at)
		}
		at += len(line)
	}
	return ends
}

func lineEnds(text string) []int {
	var ends []int
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// cut cuts text at an end that fits max_tokens, and counts what is left; tail closes what was cut.
func (p plan) cut(text string, ends func(string) []int, tail string) (cut string, tokens int, truncated bool) {
	if p.MaxTokens == 0 && p.noTokens {
		return text, 0, false
	}
	if tokens = markdown.Tokens(text); p.MaxTokens == 0 || tokens <= p.MaxTokens {
		return text, tokens, false
	}
	cut, tokens = cutAt(text, ends(text), p.MaxTokens, tail)
	return cut, tokens, true
}

// cutAt cuts text at the last of ends where it has at most so many tokens.
// Ends are tried by halving, so the text is counted a few times, not once an end.
func cutAt(text string, ends []int, most int, tail string) (cut string, tokens int) {
	low, high := 0, len(ends) // ends[:low] fit, ends[high:] do not
	for low < high {
		middle := (low + high) / 2
		if markdown.Tokens(text[:ends[middle]]+tail) <= most {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || strings.TrimSpace(text[:ends[low-1]]) == "" {
		return "", 0
	}
	cut = text[:ends[low-1]] + tail
	return cut, markdown.Tokens(cut)
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// plain is a text file as Markdown: as it stands, but that nothing in it is taken for HTML. Links in it
// are made safe as in Markdown.
func plain(text string) string {
	text = printable(text)
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '<' && i+1 < len(text) && startsTag(text[i+1]) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func startsTag(c byte) bool {
	return c == '/' || c == '!' || c == '?' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// printable leaves control, zero-width, direction and tag characters out, but for line ends and tabs.
func printable(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case r == utf8.RuneError, unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}
