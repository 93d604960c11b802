package dom

// For most tags the parser looks through the elements that are open: where many are, and many tags
// come, that takes it seconds. What it would look at is added up before.

const (
	// mostLooks is how many open elements the parser may look at for all tags together.
	mostLooks = 30_000_000
	// deepest is how many elements may be open; the parser gives up at 512.
	deepest = 512
)

// deep says that the parser would look at too many open elements; only a page of many tags can make it.
func (s *scan) deep() bool {
	if s.tags*deepest < mostLooks {
		return false
	}
	again := newScan(s.page, s.limits, true)
	again.nest = new(nest)
	again.read()
	again.free()
	return again.nest.looks > mostLooks
}

// nest is what is open at a tag.
type nest struct {
	open  []opened
	looks int
}

type opened struct {
	name uint64
	kind tagKind
}

// tagKind says what a start tag does to what is open.
type tagKind uint8

const (
	plainTag   tagKind = iota // inside a line
	blockTag                  // ends a paragraph, is ended by its end tag
	voidTag                   // is empty, or never open twice
	paraTag                   // a paragraph
	itemTag                   // is ended by the next one
	cellTag                   // is ended by the next one, a row or a section
	rowTag                    // is ended by the next one or a section
	sectionTag                // of a table
	tableTag                  // keeps end tags inside from what is open outside
)

func kindOf(name []byte) tagKind {
	switch string(name) {
	case "p":
		return paraTag
	case "li", "dt", "dd", "option", "optgroup", "rt", "rp", "rb", "rtc":
		return itemTag
	case "td", "th":
		return cellTag
	case "tr":
		return rowTag
	case "thead", "tbody", "tfoot", "caption", "colgroup":
		return sectionTag
	case "table":
		return tableTag
	case "br", "hr", "img", "input", "link", "meta", "base", "col", "embed", "area", "param", "source", "track", "wbr", "html", "head", "body", "frame", "keygen", "image",
		"script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext", "a", "nobr", "button", "form":
		return voidTag
	case "div", "section", "article", "aside", "main", "header", "footer", "nav", "ul", "ol", "dl", "menu", "dir", "blockquote", "center", "details", "summary", "hgroup",
		"fieldset", "figure", "figcaption", "address", "pre", "listing", "h1", "h2", "h3", "h4", "h5", "h6", "template", "select", "object", "applet", "marquee", "search", "dialog":
		return blockTag
	}
	return plainTag
}

// start takes in a start tag.
func (s *nest) start(name []byte) {
	kind := kindOf(name)
	if kind != plainTag {
		s.looks += len(s.open)
		if kind == voidTag {
			return
		}
		s.imply(kind)
	}
	if len(s.open) < deepest {
		s.open = append(s.open, opened{hashBytes(name), kind})
	}
}

// imply ends what ends where an element of that kind begins.
func (s *nest) imply(kind tagKind) {
	for i := len(s.open) - 1; i >= 0; i-- {
		switch k := s.open[i].kind; {
		case k == plainTag:
		case k == paraTag, k == itemTag && kind == itemTag, k >= cellTag && k <= kind && kind <= sectionTag:
			s.open = s.open[:i]
		default:
			return
		}
	}
}

// end takes in an end tag: it ends the innermost element of its name, but none around a block by the tag
// of a bit of a line, and none around a table by any but those of its parts.
func (s *nest) end(name []byte) {
	key, kind := hashBytes(name), kindOf(name)
	for i := len(s.open) - 1; i >= 0; i-- {
		s.looks++
		if s.open[i].name == key {
			s.open = s.open[:i]
			return
		}
		if k := s.open[i].kind; kind == plainTag && k != plainTag || kind < cellTag && k >= cellTag {
			return
		}
	}
}
