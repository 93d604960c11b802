package dom

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// The parser copies each attribute three times, which is a third of its work. Those of most tags are read
// here, as parts of the page's text, and the parser gets a mark in their place.

// mostTaken is how many attributes of a tag are taken out; of a tag with more they stay.
const mostTaken = 63

// parsers says that the parser needs the attributes of an element: to tell a field that is hidden, to put
// those of a second html or body to the first, to know formatting that is alike, to change their names
// in pictures and formulas.
func (s *scan) parsers(name []byte) bool {
	switch string(name) {
	case "html", "body", "input", "svg", "math":
		return true
	case "a": // is never open twice
		return false
	}
	return formatting(name)
}

// take takes the attributes of the tag at s.at out and gives the tag's size; 0 when there are some that
// the parser reads in another way than to copy them, or none.
func (s *scan) take() int {
	tag := s.text[s.at:]
	i := endOfName(tag)
	name, before := i, len(s.taken)
	for found := 0; found <= mostTaken; found++ {
		i = nextAttribute(tag, i)
		if i >= len(tag) {
			break
		}
		if tag[i] == '>' {
			s.putMark(name, i, before)
			return i + 1
		}
		a := readAttribute(tag, i)
		key, val := tag[i:a.key], tag[a.lo:a.hi]
		val, ok := copied(val)
		if !ok || !lower(key) {
			break
		}
		if !slices.ContainsFunc(s.taken[before:], func(b Attr) bool { return b.Key == key }) {
			if len(s.taken) == cap(s.taken) {
				s.taken = slices.Grow(s.taken, len(s.taken)+mostTaken) // append alone would copy them five times
			}
			s.taken = append(s.taken, Attr{key, val})
		}
		i = a.end
	}
	s.taken = s.taken[:before]
	return 0
}

// putMark puts a mark in the place of the attributes from lo to hi of the tag at s.at, which are those
// taken from before on.
func (s *scan) putMark(lo, hi, before int) {
	n := len(s.taken) - before
	s.attrs += n
	if n == 0 {
		return
	}
	if s.text[s.at+1]|0x20 == 'a' && lo == 2 { // the parser sorts those of formatting
		slices.SortFunc(s.taken[before:], func(a, b Attr) int { return strings.Compare(a.Key, b.Key) })
	}
	s.replace(s.at+lo, s.at+hi, " "+mark)
	s.out = strconv.AppendInt(s.out, int64(before*(mostTaken+1)+n), 10)
}

// takenOut says that n has a mark in the place of its attributes.
func takenOut(n *html.Node) bool { return len(n.Attr) == 1 && strings.HasPrefix(n.Attr[0].Key, mark) }

// attributes are those that were taken out of n.
func (s *scan) attributes(n *html.Node) (lo int32, many uint16, ok bool) {
	if len(s.taken) == 0 || !takenOut(n) {
		return 0, 0, false
	}
	k := marked(n.Attr[0].Key)
	if n.Namespace != "" || k < 0 {
		s.astray = true
		return 0, 0, false
	}
	return int32(k / (mostTaken + 1)), uint16(k % (mostTaken + 1)), true
}

// copied is the value of an attribute as the parser reads it, when that does little but copy it.
func copied(val string) (string, bool) {
	if strings.IndexByte(val, '\r') >= 0 {
		return "", false
	}
	i := strings.IndexByte(val, '&')
	if i < 0 {
		return val, true
	}
	var b strings.Builder
	b.Grow(len(val))
	for i >= 0 {
		b.WriteString(val[:i])
		val = val[i:]
		char, size := reference(val)
		if size == 0 {
			return "", false
		}
		b.WriteByte(char)
		val = val[size:]
		i = strings.IndexByte(val, '&')
	}
	b.WriteString(val)
	return b.String(), true
}

// reference is the character that the reference stands for with which s begins, and its length; 0 for one
// that is not among the usual. An ampersand before the name of a parameter stands for itself.
func reference(s string) (byte, int) {
	for _, r := range references {
		if strings.HasPrefix(s, r.name) {
			return r.char, len(r.name)
		}
	}
	i := 1
	for i < len(s) && (letter(s[i]) || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i < len(s) && (s[i] == '=' || i == 1 && space(s[i])) {
		return '&', 1
	}
	return 0, 0
}

var references = [...]struct {
	name string
	char byte
}{{"&amp;", '&'}, {"&quot;", '"'}, {"&#34;", '"'}, {"&#39;", '\''}, {"&#039;", '\''}, {"&#x27;", '\''}, {"&#038;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}}

// lower says that no letter of a name is a capital one that the parser makes small.
func lower(key string) bool {
	for i := range len(key) {
		if key[i] >= 'A' && key[i] <= 'Z' {
			return false
		}
	}
	return true
}

// countAttributes counts the attributes of the tag with which raw begins; end is where the first one
// beyond most begins, size where the tag ends.
func countAttributes(raw string, most int) (n, end, size int) {
	i := endOfName(raw)
	for {
		i = nextAttribute(raw, i)
		if i >= len(raw) {
			return n, end, len(raw)
		}
		if raw[i] == '>' {
			return n, end, i + 1
		}
		if n++; n == most+1 {
			end = i
		}
		i = readAttribute(raw, i).end
	}
}

// endOfName is where the name of the tag with which raw begins ends.
func endOfName(raw string) int {
	i := 1
	if raw[i] == '/' {
		i++
	}
	for i < len(raw) && !space(raw[i]) && raw[i] != '/' && raw[i] != '>' {
		i++
	}
	return i
}

// nextAttribute is where the next attribute from i on begins, or the tag ends.
func nextAttribute(raw string, i int) int {
	for i < len(raw) && (space(raw[i]) || raw[i] == '/') {
		i++
	}
	return i
}

// attribute is where the parts of an attribute are in a tag: its key ends, its value begins and ends,
// and what is behind it begins.
type attribute struct{ key, lo, hi, end int }

// readAttribute reads the attribute at i.
func readAttribute(raw string, i int) attribute {
	i++ // a name may begin with an equals sign
	for i < len(raw) && !space(raw[i]) && raw[i] != '=' && raw[i] != '>' && raw[i] != '/' {
		i++
	}
	j := i
	for j < len(raw) && space(raw[j]) {
		j++
	}
	if j >= len(raw) || raw[j] != '=' {
		return attribute{i, i, i, i}
	}
	for j++; j < len(raw) && space(raw[j]); {
		j++
	}
	if j < len(raw) && (raw[j] == '"' || raw[j] == '\'') {
		k := strings.IndexByte(raw[j+1:], raw[j])
		if k < 0 {
			return attribute{i, j, j, len(raw)}
		}
		return attribute{i, j + 1, j + 1 + k, j + k + 2}
	}
	lo := j
	for j < len(raw) && !space(raw[j]) && raw[j] != '>' {
		j++
	}
	return attribute{i, lo, j, j}
}
