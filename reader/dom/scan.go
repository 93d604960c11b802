package dom

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html/atom"
)

// Before golang.org/x/net/html builds a tree, one pass over the page's tags finds out whether it can
// do so in bounded time and memory, and takes out what would only cost it time: attributes and the
// bodies of scripts and style sheets, which are put back into the Tree, attributes beyond the limits,
// and the lines of drawings.

const (
	// mostTags is how many tags a page may have to be parsed. One with more is flattened.
	mostTags = 500_000
	// mostReopened bounds the elements that the parser may have to make anew because formatting was
	// not closed where its block was: 400 open b elements before 20,000 paragraphs would be 8 million.
	mostReopened = 400_000
	// mostFormats is how many formatting elements may be open at once; the parser gives up at 512.
	mostFormats = 600
	// leastScript is the size of a script from which on it is taken out.
	leastScript = 64
)

// scan is the state of that pass.
type scan struct {
	page    []byte
	text    string // the page again, of which the Tree keeps parts
	limits  Limits
	at      int    // what lies before is read
	out     []byte // the page as the parser gets it, up to done
	done    int
	scripts []string // bodies taken out
	taken   []Attr   // attributes taken out
	astray  bool     // what was taken out of a tag or an element turned up elsewhere
	attrs   int      // attributes so far
	tags    int
	drawing int               // where what is in the svg element being read begins, when all of it is lines of a drawing; else 0
	lines   [][nameBytes]byte // of the drawing, those that are open
	formats formats
	nest    *nest // of a second pass only
	cut     bool  // attributes are cut off
	asIs    bool  // nothing more is taken out
	within  bool  // HTML may have begun inside a picture or a formula
}

func newScan(page []byte, limits Limits, asIs bool) *scan {
	return &scan{page: page, text: string(page), limits: limits, asIs: asIs}
}

// read passes over the page; false says that it is not to be parsed.
func (s *scan) read() bool {
	for s.at < len(s.page) && s.tags <= mostTags && s.formats.cost <= mostReopened && s.formats.most() <= mostFormats {
		i := bytes.IndexByte(s.page[s.at:], '<')
		if i < 0 || s.at+i+1 >= len(s.page) {
			return true
		}
		s.at += i
		switch c := s.page[s.at+1]; {
		case letter(c):
			s.start()
		case c == '/' && s.at+2 < len(s.page) && letter(s.page[s.at+2]):
			s.tags++
			var buf [nameBytes]byte
			name := tagName(s.page[s.at+2:], &buf)
			if !s.formats.readable() && string(name) != "title" && string(name) != "desc" {
				s.foreign(name)
			}
			s.endDrawing(name)
			s.formats.end(name)
			if s.nest != nil {
				s.nest.end(name)
			}
			_, _, size := countAttributes(s.text[s.at:], 0)
			s.at += size
		case c == '!' || c == '?' || c == '/':
			if !s.formats.readable() && bytes.HasPrefix(s.page[s.at:], []byte("<![CDATA[")) {
				s.asIs = true // what looks like tags may be text
			}
			s.at += declared(s.page[s.at:])
		default:
			s.at++
		}
	}
	return s.at >= len(s.page)
}

// source is the page for the parser.
func (s *scan) source() []byte {
	if s.done == 0 {
		return s.page
	}
	s.out = append(s.out, s.page[s.done:]...)
	s.done = len(s.page)
	return s.out
}

// sources are the memory of pages for the parser.
var sources = sync.Pool{New: func() any { return new([]byte) }}

// free gives the page for the parser back; nothing points into it.
func (s *scan) free() {
	if s.out != nil && cap(s.out) <= largeSource {
		out := s.out // a pointer into s would keep the page with it
		sources.Put(&out)
	}
}

// largeSource is the size of a page from which on its memory is not kept.
const largeSource = 4 << 20

// replace puts text in the place of the page's bytes from lo to hi.
func (s *scan) replace(lo, hi int, text string) {
	if s.out == nil {
		s.out = slices.Grow(*sources.Get().(*[]byte), len(s.page))[:0]
	}
	s.out = append(append(s.out, s.page[s.done:lo]...), text...)
	s.done = hi
}

// start reads a start tag, and the text up to its end tag where that is no markup.
func (s *scan) start() {
	s.tags++
	tag := s.page[s.at:]
	var buf [nameBytes]byte
	name := tagName(tag[1:], &buf)
	most := min(s.limits.AttrsPer, s.limits.Attrs-s.attrs)
	readable := s.formats.readable()
	size := 0
	if readable && !s.asIs && most > mostTaken && !s.parsers(name) {
		size = s.take()
	}
	if size == 0 {
		found, end, all := countAttributes(s.text[s.at:], most)
		size = all
		s.attrs += min(found, most)
		if found > most {
			s.cut = true
			s.replace(s.at+end, s.at+size, ">")
		}
	}
	s.formats.start(name, tag[:size])
	if s.nest != nil {
		s.nest.start(name)
	}
	s.at += size
	if s.drawing > 0 && !s.draws(name, tag[:size]) {
		s.drawing = 0
	}
	if s.drawing > 0 && !bytes.HasSuffix(tag[:size], []byte("/>")) {
		s.lines = append(s.lines, [nameBytes]byte{})
		copy(s.lines[len(s.lines)-1][:], name)
	}
	if string(name) == "svg" && readable && !s.formats.readable() {
		s.drawing, s.lines = s.at, s.lines[:0]
	}
	if !readable {
		s.foreign(name)
	}
	switch {
	case string(name) == "plaintext":
		s.at = len(s.page)
	case rawText[string(name)] && readable:
		s.pass(string(name))
	}
}

// foreign reads the name of a tag inside a picture or a formula. There scripts and titles are no text, but HTML may
// begin again: in some elements, and by any tag that is not known to belong there, since it may end the picture.
// From a script or a title behind such a one on, the page is parsed as it is.
func (s *scan) foreign(name []byte) {
	if !ofPicture[string(name)] && !s.draws(name, nil) {
		s.within = true
	}
	if s.within && rawText[string(name)] {
		s.asIs = true
	}
}

// ofPicture are the elements of pictures and formulas that hold no HTML, besides those of draws.
var ofPicture = map[string]bool{"svg": true, "math": true, "style": true, "script": true, "a": true, "image": true, "marker": true, "pattern": true,
	"mrow": true, "mfrac": true, "msup": true, "msub": true, "msubsup": true, "mover": true, "munder": true, "munderover": true, "msqrt": true, "mroot": true,
	"mtable": true, "mtr": true, "mtd": true, "mstyle": true, "mspace": true, "mpadded": true, "menclose": true, "semantics": true, "annotation": true}

// draws says that an element in an svg is one of its lines, or a title of no more than text. What a
// program for formulas leaves at its lines stays: their TeX, or which characters they draw.
func (s *scan) draws(name, tag []byte) bool {
	switch string(name) {
	case "path", "circle", "rect", "use", "defs", "line", "polygon", "polyline", "ellipse", "symbol", "stop", "lineargradie", "radialgradie", "clippath", "mask", "filter", "text", "tspan":
		return true
	case "g":
		return !bytes.Contains(tag, []byte("data-latex")) && !bytes.Contains(tag, []byte("data-mml-node"))
	case "title", "desc":
		i := bytes.IndexByte(s.page[s.at:], '<')
		return i >= 0 && bytes.HasPrefix(s.page[s.at+i:], append([]byte("</"), name...))
	}
	return bytes.HasPrefix(name, []byte("fe")) // of a filter
}

// endDrawing takes the lines of a drawing out at its end tag.
func (s *scan) endDrawing(name []byte) {
	if s.drawing == 0 {
		return
	}
	if string(name) == "svg" {
		if s.drawing >= s.done && s.drawing < s.at && !s.asIs {
			s.replace(s.drawing, s.at, "")
		}
		s.drawing = 0
		return
	}
	// An end tag of another line than the last may end an element around the drawing.
	last := len(s.lines) - 1
	if last < 0 || string(bytes.TrimRight(s.lines[last][:], "\x00")) != string(name) {
		s.drawing = 0
		return
	}
	s.lines = s.lines[:last]
}

// pass passes over what is text up to the end tag of name, and takes a script's or a style sheet's out.
func (s *scan) pass(name string) {
	n := untilEnd(s.text[s.at:], name)
	if s.at+n == len(s.page) {
		s.asIs = true // the rest is text, if the parser sees it so
		return
	}
	body := s.text[s.at : s.at+n]
	switch {
	case s.asIs || n < leastScript || name != "script" && name != "style":
	case name == "script" && strings.Contains(body, "<!--"):
		if strings.Contains(strings.ToLower(body), "<script") {
			s.asIs = true // its end may be another one
			return
		}
	default:
		s.replace(s.at, s.at+n, mark)
		s.out = strconv.AppendInt(s.out, int64(len(s.scripts)), 10)
		s.scripts = append(s.scripts, unixLines(body))
	}
	s.at += n
}

// mark and a number stand in the place of what is taken out.
const mark = "\x01"

// odd says that a page has characters in it by which it has to be parsed as it is: the mark, and one that
// the parser puts others for.
func odd(page []byte) bool {
	return bytes.IndexByte(page, mark[0]) >= 0 || bytes.IndexByte(page, 0) >= 0
}

// marked is the number behind the mark with which text begins, -1 for none.
func marked(text string) int {
	digits, ok := strings.CutPrefix(text, mark)
	if !ok {
		return -1
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// body is the text of a node in parent, with the body of a script where that was taken out.
func (s *scan) body(text string, parent *node) string {
	if len(s.scripts)+len(s.taken) == 0 || strings.IndexByte(text, mark[0]) < 0 {
		return text
	}
	n := marked(text)
	if parent.foreign || parent.tag != atom.Script && parent.tag != atom.Style || n < 0 || n >= len(s.scripts) {
		s.astray = true
		return text
	}
	return s.scripts[n]
}

func unixLines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// formats is an upper bound of what the parser holds open of formatting elements, which it makes anew
// in each block that begins before they are closed.
type formats struct {
	open   []format
	frames []frame
	floor  int // what is open below it is out of an end tag's reach
	cost   int
}

type format struct {
	name [6]byte
	hash uint64
}

// frame is an element that keeps end tags inside it from what is open outside.
type frame struct {
	name  [8]byte
	floor int
}

// most is how many elements of the kinds are open.
func (f *formats) most() int { return max(len(f.open), len(f.frames)) }

// readable says that scripts and titles are text here, as they are but in pictures and formulas.
func (f *formats) readable() bool {
	for i := range f.frames {
		switch f.frames[i].name {
		case [8]byte{'s', 'v', 'g'}, [8]byte{'m', 'a', 't', 'h'}:
			return false
		}
	}
	return true
}

func formatting(name []byte) bool {
	switch string(name) {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

func (f *formats) start(name, tag []byte) {
	if formatting(name) {
		f.begin(name, tag)
		return
	}
	f.cost += len(f.open)
	switch string(name) {
	case "tr", "tbody", "thead", "tfoot":
		f.leaveCell()
		return
	case "td", "th", "caption":
		f.leaveCell()
	case "select": // closes the one around
		f.leave("select")
	case "table", "applet", "marquee", "object", "template", "frameset":
	case "svg", "math":
		if closed(tag) {
			return
		}
	default:
		return
	}
	made := frame{floor: len(f.open)}
	copy(made.name[:], name)
	f.frames = append(f.frames, made)
	f.floor = made.floor
}

// closed says that a tag of SVG or MathML is the whole element.
func closed(tag []byte) bool {
	inner, ok := bytes.CutSuffix(tag, []byte("/>"))
	if !ok {
		return false
	}
	trimmed := bytes.TrimRight(inner, " \t\r\n\f")
	last := trimmed[len(trimmed)-1]
	return last != '=' && (len(trimmed) < len(inner) || last == '"' || last == '\'' || bytes.IndexByte(trimmed, '=') < 0)
}

func (f *formats) begin(name, tag []byte) {
	made := format{}
	copy(made.name[:], name)
	switch string(name) {
	case "a", "nobr": // closes the one before
		f.close(made.name)
	default:
		made.hash = hashBytes(tag)
		// The parser keeps three that are alike.
		alike, first := 0, -1
		for i := range f.open {
			if f.open[i].hash == made.hash {
				if alike++; first < 0 {
					first = i
				}
			}
		}
		if alike >= 3 {
			if first < f.floor {
				return
			}
			f.open = append(f.open[:first], f.open[first+1:]...)
		}
	}
	f.open = append(f.open, made)
}

func (f *formats) end(name []byte) {
	if formatting(name) {
		var key [6]byte
		copy(key[:], name)
		f.close(key)
		return
	}
	f.cost += len(f.open)
	switch string(name) {
	case "tr", "tbody", "thead", "tfoot", "table":
		f.leaveCell()
	}
	f.leave(string(name))
}

func (f *formats) leaveCell() {
	f.leave("td")
	f.leave("th")
	f.leave("caption")
}

// leave ends the innermost frame if it has that name.
func (f *formats) leave(name string) {
	n := len(f.frames) - 1
	if n < 0 || len(name) > len(frame{}.name) {
		return
	}
	var key [8]byte
	copy(key[:], name)
	if f.frames[n].name != key {
		return
	}
	f.frames = f.frames[:n]
	f.floor = 0
	if n > 0 {
		f.floor = f.frames[n-1].floor
	}
}

func (f *formats) close(name [6]byte) {
	for i := len(f.open) - 1; i >= f.floor; i-- {
		if f.open[i].name == name {
			f.open = append(f.open[:i], f.open[i+1:]...)
			return
		}
	}
}

func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// declared is how long the comment, or what is read like one, is with which page begins.
func declared(page []byte) int {
	if !bytes.HasPrefix(page, []byte("<!--")) {
		if i := bytes.IndexByte(page, '>'); i >= 0 {
			return i + 1
		}
		return len(page)
	}
	at := 2 // <!--> is whole
	for {
		i := bytes.Index(page[at:], []byte("--"))
		if i < 0 {
			return len(page)
		}
		at += i + 2
		for at < len(page) && page[at] == '-' {
			at++
		}
		rest := page[at:]
		switch {
		case bytes.HasPrefix(rest, []byte(">")):
			return at + 1
		case bytes.HasPrefix(rest, []byte("!>")) && at >= len("<!----"):
			return at + 2
		}
	}
}

// rawText are the elements in which a tag is text until their own end tag.
var rawText = map[string]bool{"script": true, "style": true, "textarea": true, "title": true, "xmp": true, "iframe": true, "noembed": true, "noframes": true}

// nameBytes is how long a name can be that means something here.
const nameBytes = 12

// tagName is the name with which a tag begins, in lower case; its end may be missing.
func tagName(tag []byte, buf *[nameBytes]byte) []byte {
	n := 0
	for n < len(tag) && n < len(buf) && !space(tag[n]) && tag[n] != '/' && tag[n] != '>' {
		buf[n] = tag[n]
		if tag[n] >= 'A' && tag[n] <= 'Z' {
			buf[n] += 'a' - 'A'
		}
		n++
	}
	return buf[:n]
}

// untilEnd is where the end tag of name is in page; its length when there is none.
func untilEnd(page, name string) int {
	at := 0
	for {
		i := strings.Index(page[at:], "</")
		if i < 0 {
			return len(page)
		}
		at += i + 2
		end := at + len(name)
		if end < len(page) && (space(page[end]) || page[end] == '/' || page[end] == '>') && strings.EqualFold(page[at:end], name) {
			return at - 2
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
