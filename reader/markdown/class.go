package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// byClass deals with elements whose class says what they are. It is true when n needs no more.
func (w *writer) byClass(n dom.ID, class string) bool {
	t := w.t
	if mathWord(class) && w.mathByClass(n, class) {
		return true
	}
	if hasToken(class, "mw-editsection", "mw-cite-backlink", "mw-jump-link", "zeroclipboard-container", "anchorjs-link", "fn-backlink", "footnote-backlink", "sr-only-copy") {
		return true
	}
	tag := t.Tag(n)
	if tag == atom.Span && hasToken(class, "ltx_role_footnotemark") {
		return w.footnoteMark(n)
	}
	if tag == atom.Span && hasToken(class, sidenotes...) {
		return w.sidenote(n)
	}
	if (tag == atom.Span || tag == atom.Small || tag == atom.Em || tag == atom.I) && strings.Contains(class, "caption") && w.besideImage(n) {
		w.block(n)
		return false
	}
	if tag == atom.Label && hasToken(class, "margin-toggle", "sidenote-number", "sidenote-toggle", "footref") {
		return true
	}
	if (strings.Contains(class, "num") || strings.Contains(class, "lin") || strings.Contains(class, "gutter") || strings.Contains(class, "gl")) && tag != atom.Pre && tag != atom.Code && w.gutter(n) {
		return true
	}
	if tag != atom.A && w.marksSidenote(n, class) {
		return true
	}
	if tag == atom.Div && hasToken(class, editors...) && w.editor(n) {
		return true
	}
	if copyClass(class) && (tag == atom.Button || tag == atom.A || tag == atom.Span || tag == atom.Div) && len(shortText(t, n, 40)) < 24 {
		return true
	}
	if (strings.Contains(class, "lang") || strings.Contains(class, "code")) && w.languageLabel(n) {
		return true
	}
	if tag == atom.Div && hasToken(class, "MathJax_ref", "mjx-assistive-mml") {
		return true
	}
	w.callout(n, tag, class)
	return false
}

// besideImage is true when what stands just before n is an image.
func (w *writer) besideImage(n dom.ID) bool {
	t := w.t
	p := t.Prev(n)
	for p != 0 && t.Kind(p) == dom.Text && strings.TrimSpace(t.Data(p)) == "" {
		p = t.Prev(p)
	}
	for range 3 {
		if tag := t.Tag(p); tag == atom.Img || tag == atom.Picture || tag == atom.Noscript {
			return true
		}
		if p = t.LastChild(p); t.Kind(p) == dom.Text {
			return false
		}
	}
	return false
}

func mathWord(class string) bool {
	for _, word := range [...]string{"ath", "katex", "tex", "mjx", "MJX", "MJXc", "stem"} {
		if strings.Contains(class, word) {
			return true
		}
	}
	return false
}

// callout writes a boxed remark as a quote, its title in bold.
func (w *writer) callout(n dom.ID, tag atom.Atom, class string) {
	switch tag {
	case atom.Div, atom.Aside, atom.Section, atom.P, atom.Span:
	default:
		return
	}
	if hasToken(class, "admonition-title", "markdown-alert-title", "callout-title", "alert-title", "alert-heading", "note-title", "admonition-heading", "callout-heading", "custom-block-title", "hint-title") {
		w.boldBlock(n)
		return
	}
	if w.cell != nil || w.heading > 0 || tag == atom.Span || tag == atom.P {
		return
	}
	if hasToken(class, "admonition", "markdown-alert", "callout", "custom-block", "theme-admonition", "bs-callout", "sidebar-note", "notecard", "admonitionblock") && !hasToken(class, "cookie", "alert-dismissible") {
		w.quote(n)
	}
}

// checkbox writes the box of a task: only at the start of a list item is an input one.
func (w *writer) checkbox(n dom.ID) {
	t := w.t
	if t.Attr(n, "type") != "checkbox" || len(w.frames) == 0 || w.plain || w.cell != nil {
		return
	}
	f := &w.frames[len(w.frames)-1]
	if !f.item || f.started || len(w.buf) > 0 || strings.HasSuffix(f.marker, "] ") {
		return
	}
	if t.HasAttr(n, "checked") {
		f.marker += "[x] "
	} else {
		f.marker += "[ ] "
	}
}

// boxOf is the box of an item that shows its state without an input.
func (w *writer) boxOf(n dom.ID) string {
	t := w.t
	if w.plain {
		return ""
	}
	state, ok := t.LookupAttr(n, "data-checked")
	if !ok {
		state, ok = t.LookupAttr(n, "data-list")
		ok = ok && (state == "checked" || state == "unchecked")
	}
	if !ok && (t.Attr(n, "role") == "checkbox" || t.Attr(n, "role") == "menuitemcheckbox") {
		state, ok = t.LookupAttr(n, "aria-checked")
	}
	if !ok {
		if state, ok = w.boxInside(n); !ok {
			return ""
		}
	}
	for c, seen := t.Following(n, n), 0; c != 0 && seen < 8; c = t.Following(c, n) {
		seen++
		if t.Tag(c) == atom.Input && t.Attr(c, "type") == "checkbox" {
			state = strconv.FormatBool(t.HasAttr(c, "checked")) // the input knows best, be it kept or not
			break
		}
	}
	if state == "true" || state == "checked" {
		return "[x] "
	}
	return "[ ] "
}

// boxInside looks for an element with the role of a checkbox at the start of an item.
func (w *writer) boxInside(n dom.ID) (string, bool) {
	t := w.t
	first := t.FirstChild(n)
	for t.Kind(first) == dom.Text && strings.TrimSpace(t.Data(first)) == "" && t.Next(first) != 0 {
		first = t.Next(first)
	}
	if state, ok := t.LookupAttr(first, "aria-checked"); ok && t.Attr(first, "role") == "checkbox" {
		return state, true
	}
	list := t.Attr(t.Parent(n), "class")
	open := t.HasAttr(n, "data-inline-task-id") || hasToken(list, "inline-task-list", "to-do-list")
	if class := t.Attr(n, "class"); !open && !strings.Contains(class, "task") && !strings.Contains(class, "check") && !strings.Contains(class, "todo") && !hasToken(list, "checklist", "todo-list", "task-list", "tasklist") {
		return "", false
	}
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 8; c = t.Following(c, n) {
		seen++
		if v, ok := t.LookupAttr(c, "aria-checked"); ok {
			return v, true
		}
		if v, ok := t.LookupAttr(c, "data-checked"); ok {
			return v, true
		}
		if t.Tag(c) == atom.Input && t.Attr(c, "type") == "checkbox" {
			return strconv.FormatBool(t.HasAttr(c, "checked")), true
		}
		if class := t.Attr(c, "class"); class != "" {
			switch {
			case hasToken(class, "checkbox-on", "fa-check-square", "fa-check-square-o", "fa-square-check"):
				return "true", true
			case hasToken(class, "checkbox-off", "fa-square", "fa-square-o"):
				return "false", true
			}
		}
	}
	if hasToken(t.Attr(n, "class"), "checked", "task-list-item-checked", "is-checked", "todo-done", "to-do-children-checked") {
		return "true", true
	}
	if open {
		return "false", true
	}
	return "", false
}
