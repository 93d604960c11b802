package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// numberedRows is the element whose children, the lines of the code in n, each begin with an element
// that has nothing but the line's number, or 0.
func numberedRows(t *dom.Tree, n dom.ID) dom.ID {
	at := n
	for range 6 {
		first, more := rows(t, at)
		if first == 0 {
			return 0
		}
		if lineNumber(t, first) >= 0 {
			if more && countsUp(t, first) {
				return at
			}
			return 0
		}
		at = first
	}
	return 0
}

// rows is the first element in n, when no text stands beside it, and whether there are more.
func rows(t *dom.Tree, n dom.ID) (first dom.ID, more bool) {
	for c := t.FirstChild(n); c != 0; c = t.Next(c) {
		switch {
		case t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) != "":
			return 0, false
		case t.Kind(c) != dom.Element || t.FirstChild(c) == 0:
		case first == 0:
			first = c
		default:
			return first, true
		}
	}
	return first, false
}

// lineNumber is the number that the first element of the line row has for its only text, or -1.
func lineNumber(t *dom.Tree, row dom.ID) int {
	c := t.FirstChild(row)
	for c != 0 && t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) == "" {
		c = t.Next(c)
	}
	if t.Kind(c) != dom.Element || t.Next(c) == 0 || t.FirstChild(c) == 0 {
		return -1
	}
	v, err := strconv.Atoi(strings.TrimSpace(shortText(t, c, 8)))
	if err != nil || v < 0 {
		return -1
	}
	return v
}

func countsUp(t *dom.Tree, row dom.ID) bool {
	want := lineNumber(t, row)
	for c := row; c != 0; c = t.Next(c) {
		if t.Kind(c) != dom.Element {
			continue
		}
		if lineNumber(t, c) != want {
			return false
		}
		want++
	}
	return true
}

// marksLine is true for the number at the start of a line below w.numbered.
func (w *writer) marksLine(n dom.ID) bool {
	if w.numbered == 0 || w.t.Parent(w.t.Parent(n)) != w.numbered {
		return false
	}
	for p := w.t.Prev(n); p != 0; p = w.t.Prev(p) {
		if w.t.Kind(p) == dom.Element {
			return false
		}
	}
	return true
}

// editors are classes of what an editor of code makes around the code.
var editors = []string{"CodeMirror", "cm-editor", "monaco-editor", "ace_editor", "enlighter-default"}

// editor writes the code in the editor n, which makes an element of each line and draws it once more for itself.
func (w *writer) editor(n dom.ID) bool {
	code := editedCode(w.t, n)
	if code == n || w.cell != nil || w.heading > 0 {
		return false
	}
	w.endBlock()
	w.scratch = w.codeText(w.scratch[:0], code, true)
	w.fence(w.scratch, language(w.t, code))
	return true
}

// codeIn is the part of the code block n that holds the code itself, when n holds a whole editor.
func codeIn(t *dom.Tree, n dom.ID) dom.ID {
	if tag := t.Tag(t.FirstChild(n)); tag != atom.Div {
		return n
	}
	return editedCode(t, n)
}

func editedCode(t *dom.Tree, n dom.ID) dom.ID {
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 200; c = t.Following(c, n) {
		seen++
		if class := t.Attr(c, "class"); class != "" && hasToken(class, "cm-content", "CodeMirror-code", "view-lines", "ace_text-layer", "enlighter-raw") {
			return c
		}
	}
	return n
}

// headLanguage is the language that stands as a text of its own above the code in an editor.
func headLanguage(t *dom.Tree, pre, code dom.ID) string {
	for c := t.Following(pre, pre); c != 0 && c != code; c = t.Following(c, pre) {
		if t.Kind(c) == dom.Text {
			if lang := cleanLanguage(t.Data(c)); knownLanguages[lang] {
				return lang
			}
		}
	}
	return ""
}
