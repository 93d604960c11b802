package blocks

import (
	"math/bits"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// The tags whose distance above a block tells something. Similar ones share a mark.
const (
	markMain = iota
	markArticle
	markNav
	markHeader
	markFooter
	markAside
	markSection
	markList
	markItem
	markTable
	markCell
	markForm
	markQuote
	markFigure
	markPre
	markDL
	markDetails
	markHeading
	markLink
	markButton
	markPara
	markSummary
	markLabel
	markStrong
	markPanel
	markFile   // a link to a document
	markAnchor // a link into the page itself
	tagMarks
)

func tagMark(tag atom.Atom) int {
	switch tag {
	case atom.Main:
		return markMain
	case atom.Article:
		return markArticle
	case atom.Nav, atom.Menu:
		return markNav
	case atom.Header:
		return markHeader
	case atom.Footer:
		return markFooter
	case atom.Aside:
		return markAside
	case atom.Section:
		return markSection
	case atom.Ul, atom.Ol:
		return markList
	case atom.Li:
		return markItem
	case atom.Table:
		return markTable
	case atom.Td, atom.Th:
		return markCell
	case atom.Form, atom.Fieldset:
		return markForm
	case atom.Blockquote, atom.Q:
		return markQuote
	case atom.Figure, atom.Figcaption:
		return markFigure
	case atom.Pre, atom.Code:
		return markPre
	case atom.Dl, atom.Dt, atom.Dd:
		return markDL
	case atom.Details:
		return markDetails
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return markHeading
	case atom.A:
		return markLink
	case atom.Button, atom.Input:
		return markButton
	case atom.P:
		return markPara
	case atom.Summary:
		return markSummary
	case atom.Label, atom.Legend:
		return markLabel
	case atom.Strong, atom.B, atom.Em, atom.I:
		return markStrong
	}
	return -1
}

func roleMark(t *dom.Tree, n dom.ID) int {
	switch t.Attr(n, "role") {
	case "main":
		return markMain
	case "article":
		return markArticle
	case "navigation", "menu", "menubar":
		return markNav
	case "banner":
		return markHeader
	case "contentinfo":
		return markFooter
	case "complementary":
		return markAside
	case "heading":
		return markHeading
	case "list":
		return markList
	case "listitem":
		return markItem
	case "button", "tab":
		return markButton
	}
	return -1
}

// Unseen says that a browser shows nothing of what is in the tag, or nothing that is text of the page.
func Unseen(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Title, atom.Iframe, atom.Object,
		atom.Dialog, atom.Textarea, atom.Select, atom.Datalist, atom.Noframes, atom.Svg, atom.Canvas, atom.Noembed,
		atom.Audio, atom.Video, atom.Map:
		return true
	}
	return false
}

// Inline says that the tag does not end a run of text.
func Inline(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn,
		atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Nobr, atom.Picture, atom.Q,
		atom.S, atom.Samp, atom.Small, atom.Source, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time,
		atom.Tt, atom.U, atom.Var, atom.Wbr, atom.Svg, atom.Math, atom.Ruby, atom.Rt, atom.Rp, atom.Acronym, atom.Input,
		atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Select, atom.Output,
		atom.Mi, atom.Mn, atom.Mo, atom.Ms, atom.Mtext:
		return true
	}
	return false
}

// HeadingLevel is 1 to 6 for h1 to h6, 0 for other tags.
func HeadingLevel(tag atom.Atom) uint8 {
	switch tag {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	}
	return 0
}

func lowestBit(set uint64) int { return bits.TrailingZeros64(set) }

// tagKind is a small number for the tag of an element.
func tagKind(tag atom.Atom) uint8 {
	switch tag {
	case atom.P:
		return 1
	case atom.Div:
		return 2
	case atom.Li:
		return 3
	case atom.Td, atom.Th:
		return 4
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return 5
	case atom.A:
		return 6
	case atom.Span:
		return 7
	case atom.Ul, atom.Ol:
		return 8
	case atom.Section:
		return 9
	case atom.Article:
		return 10
	case atom.Main:
		return 11
	case atom.Body:
		return 12
	case atom.Table, atom.Tbody, atom.Tr:
		return 13
	case atom.Dl, atom.Dt, atom.Dd:
		return 14
	case atom.Pre, atom.Code:
		return 15
	case atom.Blockquote:
		return 16
	case atom.Figure, atom.Figcaption:
		return 17
	case atom.Header:
		return 18
	case atom.Footer:
		return 19
	case atom.Nav:
		return 20
	case atom.Aside:
		return 21
	case atom.Form:
		return 22
	case atom.Button, atom.Label, atom.Summary:
		return 23
	}
	if tag == 0 {
		return 24
	}
	return 25
}

// medium says that an element is content without text: shown, and kept with the text around it.
func medium(tag atom.Atom) bool {
	switch tag {
	case atom.Img, atom.Picture, atom.Video, atom.Audio, atom.Iframe, atom.Hr, atom.Input, atom.Embed, atom.Wbr, atom.Object:
		return true
	}
	return false
}

// Pictured says that n shows a picture though it is no image by its tag: an image of AMP, or a
// noscript with nothing but images in it.
func Pictured(t *dom.Tree, n dom.ID) bool {
	switch t.Tag(n) {
	case 0:
		name := t.Name(n)
		return name == "amp-img" || name == "amp-anim"
	case atom.Noscript:
	default:
		return false
	}
	image := false
	for c, seen := t.Following(n, n), 0; c != 0; c, seen = t.Following(c, n), seen+1 {
		if seen > 16 || t.Kind(c) == dom.Text && !blank(t.Data(c)) {
			return false
		}
		image = image || t.Tag(c) == atom.Img
	}
	return image
}

// linkMark tells links to documents and links into the page itself from the others.
func linkMark(t *dom.Tree, n dom.ID) int {
	href := t.Attr(n, "href")
	if strings.HasPrefix(href, "#") && len(href) > 1 {
		return markAnchor
	}
	if t.HasAttr(n, "download") {
		return markFile
	}
	if i := strings.IndexAny(href, "?#"); i >= 0 {
		href = href[:i]
	}
	if download(href) {
		return markFile
	}
	return -1
}

// Document says that a path ends as the name of a document does.
func Document(path string) bool {
	switch ending(path) {
	case "xlsm", "odp", "xml", "txt":
		return true
	}
	return download(path)
}

// download is true for documents that stand in a page's text. The weights know these: others may be its feeds.
func download(path string) bool {
	switch ending(path) {
	case "pdf", "doc", "docx", "xls", "xlsx", "ods", "odt", "rtf", "ppt", "pptx", "csv", "zip", "epub":
		return true
	}
	return false
}

// ending is what follows the last dot of a path, in lower case; empty where that is no ending of a file.
func ending(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 || len(path)-i > len(".epub") {
		return ""
	}
	return strings.ToLower(path[i+1:])
}

// Anchor says that all of block i is a link into the page itself, and not the head of a tab.
func (p *Page) Anchor(i int) bool {
	b := &p.Blocks[i]
	if b.Linked < b.Words || p.Mark(i, groups+markAnchor) == 0 {
		return false
	}
	for e := b.Elem; e >= 0 && e >= b.Box; e = p.Elems[e].Parent {
		n := p.Elems[e].ID
		if p.Tree.Attr(n, "role") == "tab" || p.Tree.HasAttr(n, "aria-controls") || p.Tree.HasAttr(n, "data-toggle") || p.Tree.HasAttr(n, "data-bs-toggle") {
			return false
		}
	}
	return true
}

// File says that block i links to a document, or names one with its size.
func (p *Page) File(i int) bool {
	b := &p.Blocks[i]
	return p.Mark(i, groups+markFile) > 0 || b.Digits > 0 && b.Words <= fileWords && (b.Lex>>fileGroup&1 == 1 || p.sized(b))
}

// fileWords is the most words of a line that names a document with its size.
const fileWords = 16

// sized says that a block has the size of a file in it, with the unit right behind the number.
func (p *Page) sized(b *Block) bool {
	for _, n := range p.Texts[b.Lo:b.Hi] {
		s := p.Tree.Data(n)
		for i := 1; i+1 < len(s); i++ {
			if c := s[i] | 0x20; (c == 'k' || c == 'm') && s[i+1]|0x20 == 'b' && s[i-1] >= '0' && s[i-1] <= '9' && (i+2 == len(s) || s[i+2] < 'A') {
				return true
			}
		}
	}
	return false
}

// Panel says that n is closed at first and opened by the page itself.
func (p *Page) Panel(n dom.ID) bool { return p.panels[n] && !sentLate(p.Tree, n) }
