package dom

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// Hidden finds the nodes that a reader of the page does not see, by the values of their style and of
// simple rules in style elements. The set holds the hidden nodes and all below them, scripts, styles,
// templates and comments too; the number counts the topmost ones that hold text. Panels that the page
// itself opens, tabs and accordions, are not in it: see Visibility.
func (t *Tree) Hidden() (Set, int) {
	set, _, n := t.Visibility()
	return set, n
}

// Visibility is what Hidden gives, and the topmost nodes that are closed now but opened by the page's
// own controls: content that a reader of the page can reach.
func (t *Tree) Visibility() (hidden Set, panels []ID, removed int) {
	h := hider{t: t, set: NewSet(t)}
	if t.Len() <= int(Root) {
		return h.set, nil, 0
	}
	h.learn()
	for n := t.Following(Root, Root); n != 0; {
		if h.drops(n) {
			t.AddSubtree(&h.set, n)
			n = t.After(n, Root)
			continue
		}
		n = t.Following(n, Root)
	}
	return h.set, h.panels, h.count
}

// hider is the state of one search for hidden nodes.
type hider struct {
	t        *Tree
	sheet    sheet
	controls map[string]bool // ids that a control of the page opens
	tabs     bool            // there are tabs
	text     int             // bytes of text of the page
	backs    []back
	set      Set
	panels   []ID
	count    int
}

// back is the background that an element gives to what is below it.
type back struct {
	node  ID
	color color
}

// learn passes over the page once for its style rules, its controls and the size of its text.
func (h *hider) learn() {
	t := h.t
	h.controls = make(map[string]bool)
	for n := t.Following(Root, Root); n != 0; n = t.Following(n, Root) {
		e := &t.nodes[n]
		switch e.kind {
		case Text:
			h.text += len(e.data)
			continue
		case Element:
		default:
			continue
		}
		switch e.tag {
		case atom.Style:
			if m := t.Attr(n, "media"); m == "" || mediaApplies(m) {
				h.sheet.parse(t.Text(n))
			}
		case atom.Script:
			if c := e.first; c != 0 {
				h.text -= len(t.nodes[c].data)
			}
		}
		for _, a := range t.Attrs(n) {
			switch a.Key {
			case "aria-controls", "data-bs-target", "data-target", "data-tab", "data-toggle-target", "data-panel", "aria-owns":
				h.control(a.Val)
			case "href":
				if strings.HasPrefix(a.Val, "#") && len(a.Val) > 1 {
					h.control(a.Val)
				}
			case "for":
				h.control(a.Val)
			case "role":
				h.tabs = h.tabs || a.Val == "tab" || a.Val == "tablist"
			}
		}
	}
}

func (h *hider) control(ids string) {
	if len(h.controls) > 20_000 || len(ids) > 1000 {
		return
	}
	for id := range strings.FieldsSeq(ids) {
		h.controls[strings.TrimLeft(id, "#.")] = true
	}
}

// drops is true when n and all below it are not seen.
func (h *hider) drops(n ID) bool {
	t := h.t
	e := &t.nodes[n]
	switch e.kind {
	case Comment:
		return true
	case Element:
	default:
		return false
	}
	switch e.tag {
	case atom.Script, atom.Style:
		return true
	case atom.Template:
		if t.HasAttr(n, "shadowrootmode") {
			return false
		}
		return h.drop(n)
	case atom.Html, atom.Body, atom.Main, atom.Head:
		h.background(n, look{})
		return false
	case atom.Dialog:
		if !t.HasAttr(n, "open") {
			return h.drop(n)
		}
	}
	hidden, how := h.judge(n)
	if !hidden || h.formula(n) || h.large(n) {
		return false
	}
	if how.opens() && h.panel(n) {
		h.panels = append(h.panels, n)
		return false
	}
	return h.drop(n)
}

// formula is true for the MathML that stands for a formula which is shown in another way.
func (h *hider) formula(n ID) bool {
	class := h.t.Attr(n, "class")
	return strings.Contains(class, "mwe-math") || strings.Contains(class, "katex") || strings.Contains(class, "MJX") || strings.Contains(class, "MathJax")
}

func (h *hider) drop(n ID) bool {
	if h.t.hasText(n) {
		h.count++
	}
	return true
}

// hasText is true when text of the page's own language stands below n.
func (t *Tree) hasText(n ID) bool {
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		e := &t.nodes[c]
		if e.kind == Text && strings.TrimSpace(e.data) != "" {
			if p := t.nodes[e.parent].tag; p != atom.Script && p != atom.Style {
				return true
			}
		}
	}
	return false
}

// large is true when two thirds of the page or more stand below n: a page that shows itself by a script.
func (h *hider) large(n ID) bool {
	size := 0
	for c := h.t.Following(n, n); c != 0; c = h.t.Following(c, n) {
		e := &h.t.nodes[c]
		if e.kind == Text {
			if p := h.t.nodes[e.parent].tag; p != atom.Script && p != atom.Style {
				size += len(e.data)
			}
		}
	}
	return size > 400 && size*3 > h.text*2
}

var srOnly = map[string]bool{
	"sr-only": true, "visually-hidden": true, "visuallyhidden": true, "screen-reader-text": true, "screen-reader-only": true, "screenreader-only": true, "screen-reader": true,
	"a11y-hidden": true, "u-visually-hidden": true, "element-invisible": true, "hide-visually": true, "cdk-visually-hidden": true, "govuk-visually-hidden": true,
	"usa-sr-only": true, "is-visually-hidden": true, "show-for-sr": true, "sr-text": true, "assistive-text": true, "slds-assistive-text": true, "wcag-hidden": true,
}

// judge says whether n itself is hidden, and how.
func (h *hider) judge(n ID) (bool, look) {
	t := h.t
	var l look
	inline, class, id, modal := "", "", "", false
	for _, a := range t.Attrs(n) {
		switch a.Key {
		case "style":
			inline = a.Val
		case "class":
			class = a.Val
		case "id":
			id = a.Val
		case "hidden":
			l.apply("display", "none")
		case "color":
			l.apply("color", a.Val)
		case "bgcolor":
			l.apply("background-color", a.Val)
		case "aria-hidden":
			modal = a.Val == "true"
		}
	}
	known := false
	for word, rest := cutWord(class); word != ""; word, rest = cutWord(rest) {
		known = known || len(word) >= 7 && strings.IndexByte("svaeuciwhg", word[0]) >= 0 && srOnly[word]
	}
	h.sheet.style(t, n, class, id, inline, &l)
	if l.hasBack || l.hasColor {
		h.background(n, l)
	}
	switch {
	case known:
		return true, look{}
	case modal && (t.Attr(n, "role") == "dialog" || hasWord(class, "modal")):
		return true, look{}
	case l.hidden() && !(l.fades() && h.animated(n, l, class)):
		return true, l
	case l.fontSize == sizeNone && !h.resized(n):
		return true, l
	case h.sameColor(n, l):
		return true, l
	}
	return false, l
}

// animated is true for an element that a script fades in as the reader comes to it.
func (h *hider) animated(n ID, l look, class string) bool {
	if l.moves {
		return true
	}
	for _, a := range h.t.Attrs(n) {
		if strings.HasPrefix(a.Key, "data-aos") || strings.HasPrefix(a.Key, "data-framer") || strings.HasPrefix(a.Key, "data-anim") || strings.HasPrefix(a.Key, "data-scroll") || a.Key == "data-w-id" || strings.HasPrefix(a.Key, "data-sr") {
			return true
		}
	}
	class = strings.ToLower(class)
	for _, word := range [...]string{"anim", "reveal", "fade", "aos", "wow", "motion", "lazy", "scroll", "appear", "slide"} {
		if strings.Contains(class, word) {
			return true
		}
	}
	return false
}

// resized is true when something below an element without font size may set one again.
func (h *hider) resized(n ID) bool {
	t := h.t
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 100; c = t.Following(c, n) {
		seen++
		if t.nodes[c].kind == Element && (t.HasAttr(c, "class") || strings.Contains(t.Attr(c, "style"), "font")) {
			return true
		}
	}
	return false
}

// background keeps the background that n gives.
func (h *hider) background(n ID, l look) {
	for k := len(h.backs); k > 0 && !h.t.Contains(h.backs[k-1].node, n); k-- {
		h.backs = h.backs[:k-1]
	}
	if l.hasBack {
		if len(h.backs) < 64 {
			h.backs = append(h.backs, back{n, l.back})
		}
	}
}

// sameColor is true when the text of n has the colour of what is behind it.
func (h *hider) sameColor(n ID, l look) bool {
	if !l.hasColor || l.clipsText {
		return false
	}
	if l.color.clear {
		return true
	}
	if !l.color.known || len(h.backs) == 0 {
		return false
	}
	b := h.backs[len(h.backs)-1].color
	return b.known && !b.clear && near(l.color, b)
}

var panelWords = []string{"tab-pane", "tabcontent", "tab-content", "tabs-panel", "tab-panel", "tabpanel", "tabs__panel", "tabs-content", "tab__content", "tabs__content", "collapse", "panel-collapse", "collapsible",
	"accordion", "faq", "toggle", "expand", "answer", "uitklap", "harmonika", "disclosure", "details", "read-more", "readmore", "more-content", "show-more"}

var notPanels = []string{"modal", "dropdown", "menu", "popup", "popover", "tooltip", "offcanvas", "cookie", "consent", "lightbox", "navbar", "nav-", "search", "overlay", "drawer", "login", "newsletter", "toast", "spinner"}

// panel is true for a part that a tab or an accordion's head on the page opens.
func (h *hider) panel(n ID) bool {
	t := h.t
	class, role, id := strings.ToLower(t.Attr(n, "class")), t.Attr(n, "role"), t.Attr(n, "id")
	switch role {
	case "dialog", "alertdialog", "menu", "listbox", "tooltip", "navigation", "alert", "search":
		return false
	}
	if t.nodes[n].tag == atom.Nav || t.nodes[n].tag == atom.Form || t.nodes[n].tag == atom.Ul && strings.Contains(class, "menu") {
		return false
	}
	for _, word := range notPanels {
		if strings.Contains(class, word) || strings.Contains(strings.ToLower(id), word) {
			return false
		}
	}
	opened := id != "" && h.controls[id]
	if role == "tabpanel" {
		return opened || h.tabs
	}
	if opened && (role == "region" || t.HasAttr(n, "aria-labelledby")) || t.Attr(n, "hidden") == "until-found" {
		return true
	}
	for _, word := range panelWords {
		if strings.Contains(class, word) {
			return opened || h.tabs || h.headed(n)
		}
	}
	return opened && !strings.Contains(class, "-nav") && t.nodes[n].tag != atom.Ul
}

// headed is true when the element before n, or before its parent, is one that opens it.
func (h *hider) headed(n ID) bool {
	t := h.t
	for up := 0; n != 0 && up < 2; up++ {
		p := t.nodes[n].prev
		for p != 0 && t.nodes[p].kind != Element {
			p = t.nodes[p].prev
		}
		if p != 0 {
			switch t.nodes[p].tag {
			case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Button, atom.Dt, atom.Label, atom.A, atom.Summary:
				return true
			}
			if t.HasAttr(p, "aria-expanded") || t.First(p, atom.Button) != 0 || t.Attr(p, "role") == "button" {
				return true
			}
			return strings.Contains(strings.ToLower(t.Attr(p, "class")), "head") || strings.Contains(strings.ToLower(t.Attr(p, "class")), "title") || strings.Contains(strings.ToLower(t.Attr(p, "class")), "question")
		}
		n = t.nodes[n].parent
	}
	return false
}

func hasWord(class string, word string) bool {
	for w, rest := cutWord(class); w != ""; w, rest = cutWord(rest) {
		if w == word {
			return true
		}
	}
	return false
}

// cutWord is the first of the blank-separated words of s, and what is behind it; "" when there is none.
func cutWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && space(s[i]) {
		i++
	}
	j := i
	for j < len(s) && !space(s[j]) {
		j++
	}
	return s[i:j], s[j:]
}
