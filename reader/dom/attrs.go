package dom

import (
	"bytes"
	"strings"
)

// fewTagBytes is how much of a page its start tags may take before their attributes are counted.
const fewTagBytes = 1 << 20

// trimAttributes is page without the attributes beyond the limits, which the parser would build
// before anyone could count them. Almost every page is given back as it is.
func trimAttributes(page []byte, limits Limits) ([]byte, bool) {
	if !attributeHeavy(page, limits.AttrsPer) {
		return page, false
	}
	out := make([]byte, 0, len(page))
	left, cut := limits.Attrs, false
	for len(page) > 0 {
		n := untilTag(page)
		out = append(out, page[:n]...)
		page = page[n:]
		if len(page) == 0 {
			break
		}
		most := min(limits.AttrsPer, left)
		found, end, size := countAttributes(page, most)
		left -= min(found, most)
		name := tagName(page)
		if found > most {
			cut = true
			out = append(append(out, page[:end]...), '>')
		} else {
			out = append(out, page[:size]...)
		}
		page = page[size:]
		if rawText[name] {
			n = untilEnd(page, name)
			out = append(out, page[:n]...)
			page = page[n:]
		}
	}
	return out, cut
}

// rawText are the elements in which a tag is text until their own end tag.
var rawText = map[string]bool{"script": true, "style": true, "textarea": true, "title": true, "xmp": true, "iframe": true, "noembed": true, "noframes": true}

// untilTag is where the next start tag of page is, past comments.
func untilTag(page []byte) int {
	at := 0
	for {
		i := bytes.IndexByte(page[at:], '<')
		if i < 0 || at+i+1 >= len(page) {
			return len(page)
		}
		at += i
		if letter(page[at+1]) {
			return at
		}
		if bytes.HasPrefix(page[at:], []byte("<!--")) {
			end := bytes.Index(page[at:], []byte("-->"))
			if end < 0 {
				return len(page)
			}
			at += end
		}
		at++
	}
}

func tagName(tag []byte) string {
	n := 1
	for n < len(tag) && n < 12 && letter(tag[n]) {
		n++
	}
	return strings.ToLower(string(tag[1:n]))
}

// untilEnd is where the end tag of name is in page.
func untilEnd(page []byte, name string) int {
	at := 0
	for {
		i := bytes.Index(page[at:], []byte("</"))
		if i < 0 {
			return len(page)
		}
		at += i + 2
		if len(page)-at >= len(name) && strings.EqualFold(string(page[at:at+len(name)]), name) {
			return at - 2
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// attributeHeavy is true when a tag may have more than per attributes, or all tags together so
// many bytes that it pays to look closer.
func attributeHeavy(page []byte, per int) bool {
	total := 0
	for {
		i := bytes.IndexByte(page, '<')
		if i < 0 || i+1 >= len(page) {
			return false
		}
		tag := page[i:]
		page = page[i+1:]
		if c := page[0] | 0x20; c < 'a' || c > 'z' {
			continue
		}
		end := bytes.IndexByte(page, '>')
		if end < 0 {
			end = len(page)
		}
		if total += end; total > fewTagBytes {
			return true
		}
		if end > 2*per {
			if found, _, _ := countAttributes(tag, per); found > per {
				return true
			}
		}
		page = page[end:]
	}
}

// countAttributes counts the attributes of the start tag with which raw begins; end is where the first
// one beyond most begins, size where the tag ends.
func countAttributes(raw []byte, most int) (n, end, size int) {
	i := 1
	for i < len(raw) && !space(raw[i]) && raw[i] != '/' && raw[i] != '>' {
		i++
	}
	for {
		for i < len(raw) && (space(raw[i]) || raw[i] == '/') {
			i++
		}
		if i >= len(raw) {
			return n, end, len(raw)
		}
		if raw[i] == '>' {
			return n, end, i + 1
		}
		if n++; n == most+1 {
			end = i
		}
		i = skipAttribute(raw, i)
	}
}

func skipAttribute(raw []byte, i int) int {
	i++ // a name may begin with an equals sign
	for i < len(raw) && !space(raw[i]) && raw[i] != '=' && raw[i] != '>' && raw[i] != '/' {
		i++
	}
	j := i
	for j < len(raw) && space(raw[j]) {
		j++
	}
	if j >= len(raw) || raw[j] != '=' {
		return i
	}
	for j++; j < len(raw) && space(raw[j]); {
		j++
	}
	if j < len(raw) && (raw[j] == '"' || raw[j] == '\'') {
		k := bytes.IndexByte(raw[j+1:], raw[j])
		if k < 0 {
			return len(raw)
		}
		return j + k + 2
	}
	for j < len(raw) && !space(raw[j]) && raw[j] != '>' {
		j++
	}
	return j
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
