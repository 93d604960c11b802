package refusal

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// zone says where on the page a node stands. A node is in all zones of its ancestors.
type zone uint8

const (
	hidden   zone = 1 << iota // not shown to a person, as the element itself says
	styled                    // not shown to a person, by a rule of the page
	mute                      // shown, but no text: script, style, head, options of a select
	chrome                    // header, navigation, sidebar, footer, dialog
	linked                    // inside a link
	fallback                  // inside noscript
	main                      // inside main or article: a header here is the article's own
)

// view is what a judgement looks at, gathered in one pass over the tree.
type view struct {
	tree *dom.Tree
	zone []zone

	titles  []string // the title element
	heads   []string // the first shown h1s
	shown   int      // characters shown, blanks collapsed
	content int      // those outside chrome, and in noscript
	prose   int      // those of content outside links
	bare    int      // those outside chrome and noscript

	scripts   []dom.ID
	frames    []dom.ID // iframes
	forms     []dom.ID
	fields    []dom.ID          // shown fields a person fills in; a password field is one
	passwords []dom.ID          // shown, outside chrome
	marked    map[mark][]dom.ID // elements with a class or id of the table marks
	refresh   string            // address of a meta refresh
	paid      declaration
}

const (
	mostHeads  = 4
	mostText   = 400 // bytes of a heading or title
	mostMarked = 32  // elements of one mark
)

// newView looks at a page. Its style rules are asked only where they could matter: on a page of some
// length that keeps nothing for subscribers they could not. Where they would hide next to everything,
// a script shows it again (pages that fade in), and only what hides itself counts as hidden.
func newView(t *dom.Tree) *view {
	v := look(t, dom.Set{})
	if v.content >= clearPage && !v.paid.notFree && len(v.marked) == 0 && len(v.passwords) == 0 {
		return v
	}
	unseen, _ := t.Hidden()
	styled := look(t, unseen)
	if styled.shown < consentRest || styled.shown < v.shown/5 && !v.paid.notFree {
		return v
	}
	return styled
}

func look(t *dom.Tree, unseen dom.Set) *view {
	v := &view{tree: t, zone: make([]zone, t.Len()), marked: map[mark][]dom.ID{}}
	for n := range t.Descendants(dom.Root) {
		v.zone[n] = v.zone[t.Parent(n)]
		if unseen.Has(n) {
			v.zone[n] |= styled
		}
		switch t.Kind(n) {
		case dom.Element:
			v.element(n)
		case dom.Text:
			v.text(n)
		}
	}
	return v
}

func (v *view) is(n dom.ID, z zone) bool { return v.zone[n]&z != 0 }

// unseen is true for what a person does not see.
func (v *view) unseen(n dom.ID) bool { return v.is(n, hidden|styled) }

func (v *view) text(n dom.ID) {
	z := v.zone[n]
	if z&(hidden|mute) != 0 {
		return
	}
	count := countText(v.tree.Data(n))
	if z&styled != 0 {
		return
	}
	if z&fallback != 0 {
		v.content += count
		return
	}
	v.shown += count
	if z&chrome != 0 {
		return
	}
	v.content += count
	v.bare += count
	if z&linked == 0 {
		v.prose += count
	}
}

// countText counts characters with runs of blanks as one, and none at the ends.
func countText(s string) int {
	n, gap := 0, false
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
		switch {
		case r > ' ' && r < 0x7f: // most of a page
			if gap {
				n, gap = n+1, false
			}
			n++
		case r == ' ', r == '\n', unicode.IsSpace(r):
			gap = n > 0
		case gap:
			n, gap = n+2, false
		default:
			n++
		}
	}
	return n
}

func (v *view) element(n dom.ID) {
	t := v.tree
	if isHidden(t, n) {
		v.zone[n] |= hidden
	}
	switch t.Tag(n) {
	case atom.Script:
		v.zone[n] |= mute
		v.script(n)
	case atom.Style, atom.Head, atom.Select, atom.Datalist, atom.Template, atom.Svg, atom.Object:
		v.zone[n] |= mute
	case atom.Title:
		if len(v.titles) == 0 && !t.Foreign(n) {
			v.titles = append(v.titles, clip(t.Text(n)))
		}
	case atom.H1:
		if len(v.heads) < mostHeads && !v.unseen(n) {
			v.heads = append(v.heads, clip(t.Text(n)))
		}
	case atom.Noscript:
		v.zone[n] |= fallback
	case atom.Main, atom.Article:
		v.zone[n] |= main
	case atom.Nav, atom.Aside, atom.Dialog:
		v.zone[n] |= chrome
	case atom.Header, atom.Footer:
		if !v.is(n, main) {
			v.zone[n] |= chrome
		}
	case atom.A:
		v.zone[n] |= linked
	case atom.Iframe, atom.Frame:
		v.frames = append(v.frames, n)
	case atom.Form:
		v.forms = append(v.forms, n)
	case atom.Input, atom.Textarea:
		v.field(n)
	case atom.Meta:
		v.meta(n)
	}
	v.names(n)
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > mostText {
		s = s[:mostText]
	}
	return s
}

// names looks at id, class and role.
func (v *view) names(n dom.ID) {
	for _, a := range v.tree.Attrs(n) {
		switch a.Key {
		case "id":
			v.named(n, a.Val)
		case "class":
			for name := range strings.FieldsSeq(a.Val) {
				v.named(n, name)
			}
		case "data-sitekey":
			v.mark(widget, n)
		case "subscriptions-section":
			if a.Val == "content-not-granted" {
				v.mark(notGranted, n)
			}
		case "role":
			if chromeRole[strings.ToLower(a.Val)] {
				v.zone[n] |= chrome
			}
		}
	}
	if v.tree.Name(n) == "altcha-widget" {
		v.mark(widget, n)
	}
}

func (v *view) named(n dom.ID, name string) {
	if m, ok := marks[name]; ok {
		v.mark(m, n)
	}
}

// mark notes n. What a mark points at is looked into once each, so there are few of them.
func (v *view) mark(m mark, n dom.ID) {
	if len(v.marked[m]) < mostMarked && (!v.unseen(n) || m == anubisScript) {
		v.marked[m] = append(v.marked[m], n)
	}
}

// field notes a shown field that a person fills in.
func (v *view) field(n dom.ID) {
	if v.unseen(n) {
		return
	}
	switch strings.ToLower(v.tree.Attr(n, "type")) {
	case "hidden", "submit", "button", "image", "reset", "checkbox", "radio":
		return
	case "password":
		if !v.is(n, chrome) && len(v.passwords) < mostMarked {
			v.passwords = append(v.passwords, n)
		}
	}
	if strings.HasPrefix(v.tree.Attr(n, "name"), "g-recaptcha") || strings.HasPrefix(v.tree.Attr(n, "name"), "h-captcha") {
		return
	}
	v.fields = append(v.fields, n)
}

func (v *view) meta(n dom.ID) {
	t := v.tree
	switch {
	case strings.EqualFold(t.Attr(n, "http-equiv"), "refresh"):
		if to := refreshAddress(t.Attr(n, "content")); to != "" && v.refresh == "" {
			v.refresh = to
		}
	case strings.EqualFold(t.Attr(n, "itemprop"), "isAccessibleForFree"):
		v.paid.note(t.Attr(n, "content"))
	}
}

// refreshAddress is the address of a Refresh header or meta element: `5; URL='/next'`.
func refreshAddress(s string) string {
	_, s, _ = strings.Cut(s, ";")
	s = strings.TrimSpace(s)
	if len(s) > 4 && strings.EqualFold(s[:3], "url") {
		s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s[3:]), "="))
	}
	return strings.Trim(s, `"' `)
}

// script notes a script; its text is read only when the page is thin, but for structured data.
func (v *view) script(n dom.ID) {
	v.scripts = append(v.scripts, n)
	if strings.EqualFold(strings.TrimSpace(v.tree.Attr(n, "type")), "application/ld+json") {
		v.paid.read(v.tree.Text(n))
	}
}

// isHidden is true for an element that says of itself that it is not shown.
func isHidden(t *dom.Tree, n dom.ID) bool {
	for _, a := range t.Attrs(n) {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			if hidesByStyle(a.Val) {
				return true
			}
		}
	}
	return t.Tag(n) == atom.Dialog && !t.HasAttr(n, "open")
}

// hidesByStyle reads the declarations of a style attribute, not its substrings.
func hidesByStyle(style string) bool {
	for d := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(d, ":")
		value, _, _ = strings.Cut(value, "!")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if strings.EqualFold(name, "display") && strings.EqualFold(value, "none") ||
			strings.EqualFold(name, "visibility") && (strings.EqualFold(value, "hidden") || strings.EqualFold(value, "collapse")) {
			return true
		}
	}
	return false
}

// visible counts the shown characters below n, and the characters that are there but not shown.
func (v *view) visible(n dom.ID) (shown, unseen int) {
	for c := range v.tree.Descendants(n) {
		if v.tree.Kind(c) != dom.Text || v.is(c, mute) {
			continue
		}
		if v.unseen(c) {
			unseen += countText(v.tree.Data(c))
		} else {
			shown += countText(v.tree.Data(c))
		}
	}
	return shown, unseen
}

// words is the text of a thin page in lower case, titles first. It is asked of thin pages only.
func (v *view) words() string {
	var b strings.Builder
	for _, s := range v.titles {
		b.WriteString(s)
		b.WriteByte(' ')
	}
	for n := range v.tree.Descendants(dom.Root) {
		if v.tree.Kind(n) == dom.Text && !v.is(n, hidden|styled|mute) {
			b.WriteString(v.tree.Data(n))
			b.WriteByte(' ')
		}
	}
	return strings.ToLower(strings.Join(strings.Fields(b.String()), " "))
}

// label is the text of n, as far as a label of a button or link goes.
func (v *view) label(n dom.ID) string {
	var b strings.Builder
	looked := 0
	for c := range v.tree.Descendants(n) {
		if looked++; looked > mostMarked || b.Len() > mostText {
			break
		}
		data := v.tree.Data(c)
		b.WriteString(clip(data[:min(len(data), mostText)]))
		b.WriteByte(' ')
	}
	return b.String()
}

// address parses a URL found on a page; nil when it is none.
func address(raw string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil
	}
	return u
}
