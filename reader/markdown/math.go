package markdown

import (
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// putMath writes a formula in TeX.
func (w *writer) putMath(tex string, display bool) {
	tex, gone := dom.Clean(tex)
	w.stripped += gone
	tex = unwrapTeX(strings.Join(strings.Fields(tex), " "))
	if tex == "" {
		return
	}
	if w.plain {
		w.raw(tex)
		return
	}
	tex = disarm(tex)
	if !display || w.cell != nil || w.heading > 0 || w.inLink() {
		w.raw("$" + tex + "$")
		return
	}
	w.endBlock()
	w.begin(true)
	w.out = append(w.out, "$$"...)
	w.out = append(w.out, tex...)
	w.out = append(w.out, "$$"...)
	w.end()
}

// disarm keeps a formula from ending early and, for readers that know no math, from being a link or
// a tag: a blank means nothing to TeX.
func disarm(tex string) string {
	out := make([]byte, 0, len(tex)+8)
	for i := 0; i < len(tex); i++ {
		c := tex[i]
		switch {
		case c == '\\' && i+1 < len(tex):
			out = append(out, c)
			i++
			c = tex[i]
		case c == '$':
			out = append(out, '\\')
		case c == '(' && i > 0 && tex[i-1] == ']', c == '[' && i > 0 && tex[i-1] == ']':
			out = append(out, ' ')
		case i > 0 && tex[i-1] == '<' && c != ' ':
			out = append(out, ' ')
		case c == '`':
			c = '\''
		}
		out = append(out, c)
	}
	if k := len(out); k > 0 && out[k-1] == '\\' {
		out = append(out, ' ')
	}
	return string(out)
}

// unwrapTeX takes off the delimiters and the style that generators put around a formula.
func unwrapTeX(s string) string {
	s = strings.TrimSpace(s)
	for _, p := range [...][2]string{{`\(`, `\)`}, {`\[`, `\]`}, {"$$", "$$"}, {"$", "$"}, {`{\displaystyle `, "}"}, {`{\textstyle `, "}"}, {`\displaystyle `, ""}} {
		if len(s) >= len(p[0])+len(p[1]) && strings.HasPrefix(s, p[0]) && strings.HasSuffix(s, p[1]) && (p[0][0] != '{' || wrapsAll(s)) {
			s = strings.TrimSpace(s[len(p[0]) : len(s)-len(p[1])])
		}
	}
	return s
}

// wrapsAll is true when the brace that begins s is closed by the one that ends it.
func wrapsAll(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 && i < len(s)-1 {
				return false
			}
		}
	}
	return depth == 0
}

// setsMath says whether the page loads a program that sets the TeX in its text, and whether it is told
// to take single dollars for its delimiters.
func setsMath(t *dom.Tree) (loads, dollars bool) {
	for n := t.Following(dom.Root, dom.Root); n != 0 && !loads; n = t.Following(n, dom.Root) {
		if t.Tag(n) == atom.Script {
			src := strings.ToLower(t.Attr(n, "src"))
			loads = strings.Contains(src, "mathjax") || strings.Contains(src, "katex") || strings.Contains(t.Attr(n, "type"), "x-mathjax-config")
		}
	}
	return loads, loads && setsDollars(t)
}

// setsDollars says that a script of the page makes dollars delimiters.
func setsDollars(t *dom.Tree) bool {
	for n := t.Following(dom.Root, dom.Root); n != 0; n = t.Following(n, dom.Root) {
		if t.Tag(n) != atom.Script || t.Attr(n, "src") != "" {
			continue
		}
		s := t.Data(t.FirstChild(n))
		if len(s) < 20_000 && (strings.Contains(s, "inlineMath") || strings.Contains(s, "delimiters")) && (strings.Contains(s, `'$'`) || strings.Contains(s, `"$"`)) {
			return true
		}
	}
	return false
}

// longestTeX bounds a formula in running text.
const longestTeX = 2000

// textAndMath writes text in which TeX stands between its delimiters.
func (w *writer) textAndMath(s string) {
	for {
		at, inner, rest, display := nextTeX(s, w.facts.dollars)
		if at < 0 {
			w.text(s)
			return
		}
		w.text(s[:at])
		w.putMath(inner, display)
		s = rest
	}
}

// nextTeX is the first formula in s, where it begins, and what stands behind it.
func nextTeX(s string, dollars bool) (at int, inner, rest string, display bool) {
	for i := 0; i+1 < len(s); i++ {
		var shut string
		if dollars && s[i] == '$' && s[i+1] != '$' && !blank(s[i+1]) {
			body := s[i+1:]
			if end := strings.IndexByte(body[:min(len(body), longestTeX)], '$'); end > 0 && !blank(body[end-1]) {
				return i, body[:end], body[end+1:], false
			}
			continue
		}
		switch s[i : i+2] {
		case `\(`:
			shut = `\)`
		case `\[`:
			shut = `\]`
		case "$$":
			shut = "$$"
		default:
			continue
		}
		body := s[i+2:]
		end := strings.Index(body[:min(len(body), longestTeX)], shut)
		if end < 0 {
			i++
			continue
		}
		return i, body[:end], body[end+2:], shut != `\)`
	}
	return -1, "", "", false
}

// mathByClass writes the formulas that scripts have set: KaTeX, MathJax and the pictures and spans
// that stand for TeX. It is true when n was one.
func (w *writer) mathByClass(n dom.ID, class string) bool {
	t := w.t
	switch {
	case hasToken(class, "katex-display"):
		if inner := w.findMath(n); inner.found {
			w.putMath(inner.tex, true)
			return true
		}
	case hasToken(class, "katex"):
		if inner := w.findMath(n); inner.found {
			w.putMath(inner.tex, inner.display)
			return true
		}
	case hasToken(class, "katex-html") && t.Attr(n, "aria-hidden") == "true" && t.Prev(n) != 0,
		hasToken(class, "MathJax_Preview"), hasToken(class, "MJX_Assistive_MathML"), hasToken(class, "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"):
		return !hasToken(class, "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display") || t.Tag(n) == atom.Img
	case hasToken(class, "MathJax_Display", "MathJax", "MathJax_SVG", "MathJax_CHTML", "mjx-chtml", "MathJax_MathML", "MathJax_SVG_Display", "MJXc-display", "mjx-container"):
		if w.scriptFollows(n) {
			return true
		}
		display := hasToken(class, "MathJax_Display", "MathJax_SVG_Display", "MJXc-display") || strings.HasSuffix(t.Attr(t.Parent(n), "class"), "Display") || t.Attr(n, "display") == "true"
		if tex := t.Attr(n, "data-mathml"); tex != "" && t.Tag(n) != atom.Div {
			if id := w.appended(tex); id != 0 {
				if m := t.First(id, atom.Math); m != 0 {
					w.putMath(mathTeX(t, m), display)
					return true
				}
			}
		}
		if inner := w.findMath(n); inner.found {
			w.putMath(inner.tex, display || inner.display)
			return true
		}
		if tex := w.setMath(n); tex != "" {
			w.putMath(tex, display)
			return true
		}
	case hasToken(class, "math", "math-container", "arithmatex", "mathjax_process", "tex2jax_process", "math-tex", "MathJye", "latex", "mathquill-static-math", "math-inline", "math-display", "mathjax", "stem", "katex-src", "tex"):
		return w.rawTeX(n, class)
	}
	return false
}

// appended does nothing to the page but parse a bit of MathML beside it.
func (w *writer) appended(markup string) dom.ID {
	if len(markup) > 1<<16 || w.facts.grafts > 500 {
		return 0
	}
	w.facts.grafts++
	box := w.t.NewElement(dom.Root, atom.Template)
	if w.t.AppendHTML(box, markup, dom.Limits{}) == 0 {
		return 0
	}
	return box
}

// texKeys are attributes in which programs leave the TeX of a formula that they show.
var texKeys = map[string]bool{"data-tex": true, "data-latex": true, "data-katex": true, "data-math": true, "data-formula": true, "data-equation": true, "data-expr": true,
	"data-entry": true, "data-eq": true, "data-tex-source": true, "data-latex-source": true}

// mathByData writes the TeX that an element keeps in an attribute, when all that it shows is a formula.
func (w *writer) mathByData(n dom.ID) bool {
	tex := ""
	for _, a := range w.t.Attrs(n) {
		if len(a.Key) > 5 && a.Key[:5] == "data-" && texKeys[a.Key] {
			tex = strings.TrimSpace(a.Val)
			break
		}
	}
	if tex == "" || tex[0] == '<' || len(tex) > longestTeX {
		return false
	}
	shown, display := w.shows(n)
	if shown == 0 {
		return false
	}
	text := w.t.Text(shown)
	drawn := w.t.Tag(shown) == atom.Img || w.t.Tag(shown) == atom.Svg
	if inner := w.findMath(n); inner.found && inner.annotated || !strings.ContainsAny(tex, `\^_`) && (drawn || !wordsOf(tex, text)) {
		return false
	}
	w.putMath(tex, display)
	return true
}

// shows is the element at or below n in which a formula is set, when nothing else is in n but buttons, and
// whether it is set on lines of its own.
func (w *writer) shows(n dom.ID) (shown dom.ID, display bool) {
	t := w.t
	for depth := 0; n != 0 && depth < 6; depth++ {
		class, name := t.Attr(n, "class"), t.Name(n)
		display = display || t.Tag(n) == atom.Div || t.Attr(n, "display") == "block" || t.Attr(n, "display") == "true" ||
			(strings.Contains(class, "display") || strings.Contains(class, "block")) && !strings.Contains(class, "inline")
		switch {
		case name == "math", name == "svg", name == "img", strings.HasPrefix(name, "mjx-"), hasToken(class, "katex-html", "mjx-chtml", "MathJax", "MathJax_SVG", "MathJax_CHTML", "MathJax_Display"):
			return n, display
		}
		only := dom.ID(0)
		for c := t.FirstChild(n); c != 0; c = t.Next(c) {
			switch {
			case t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) != "", only != 0 && t.Kind(c) == dom.Element && t.Tag(c) != atom.Button && t.Tag(c) != atom.Script:
				return 0, false
			case t.Kind(c) == dom.Element && only == 0:
				only = c
			}
		}
		n = only
	}
	return 0, false
}

// wordsOf is true when the letters and digits of tex are all in text.
func wordsOf(tex, text string) bool {
	for _, r := range tex {
		if (unicode.IsLetter(r) || unicode.IsDigit(r)) && !strings.ContainsRune(text, r) {
			return false
		}
	}
	return true
}

type formula struct {
	tex                       string
	display, found, annotated bool
}

// findMath is the first formula below n: its TeX annotation, or MathML.
func (w *writer) findMath(n dom.ID) formula {
	t := w.t
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		if t.Name(c) == "math" {
			tex := mathTeX(t, c)
			return formula{tex, t.Attr(c, "display") == "block", tex != "", statedTeX(t, c) != ""}
		}
		if t.Name(c) == "annotation" && texEncoding(t.Attr(c, "encoding")) {
			return formula{tex: t.Text(c), found: true, annotated: true}
		}
	}
	return formula{}
}

// setMath is the TeX of what MathJax has set below n, without MathML beside it, or "".
func (w *writer) setMath(n dom.ID) string {
	t := w.t
	for c, seen := t.Following(n, n), 0; c != 0 && seen < 500; c = t.Following(c, n) {
		seen++
		if mathKind(t, c) == "math" {
			return convertMath(t, c)
		}
	}
	return ""
}

// scriptFollows is true when the TeX from which MathJax 2 made n stands in a script behind it.
func (w *writer) scriptFollows(n dom.ID) bool {
	t := w.t
	for up := 0; n != 0 && up < 3; up++ {
		c := t.Next(n)
		for i := 0; c != 0 && i < 3; i++ {
			if t.Tag(c) == atom.Script && strings.HasPrefix(t.Attr(c, "type"), "math/") {
				return true
			}
			c = t.Next(c)
		}
		if n = t.Parent(n); !strings.Contains(t.Attr(n, "class"), "MathJax") && !strings.Contains(t.Attr(n, "class"), "MJX") {
			return false
		}
	}
	return false
}

// mathScript writes MathJax 2's scripts.
func (w *writer) mathScript(n dom.ID) {
	t := w.t
	kind := strings.ToLower(t.Attr(n, "type"))
	if !strings.HasPrefix(kind, "math/") || !w.keep.Has(t.Parent(n)) && !w.keep.Has(t.Parent(t.Parent(n))) {
		return
	}
	display := strings.Contains(kind, "display")
	if strings.HasPrefix(kind, "math/mml") {
		if id := w.appended(t.Text(n)); id != 0 {
			if m := t.First(id, atom.Math); m != 0 {
				w.putMath(mathTeX(t, m), display || t.Attr(m, "display") == "block")
			}
		}
		return
	}
	if strings.HasPrefix(kind, "math/tex") || strings.HasPrefix(kind, "math/asciimath") {
		w.putMath(t.Text(n), display)
	}
}

// mathJax writes a container of MathJax 3 or 4.
func (w *writer) mathJax(n dom.ID) {
	t := w.t
	display := t.Attr(n, "display") == "true" || t.Attr(n, "display") == "block"
	inner := w.findMath(n)
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		if tex := t.Attr(c, "data-latex"); tex != "" {
			inner = formula{tex: tex, found: true}
			break
		}
		if t.Name(c) != "mjx-math" && t.Name(c) != "svg" && t.Name(c) != "g" && t.Name(c) != "math" {
			break
		}
	}
	if inner.found {
		w.putMath(inner.tex, display || inner.display)
		return
	}
	if tex := w.setMath(n); tex != "" {
		w.putMath(tex, display)
		return
	}
	if label := t.Attr(n, "aria-label"); label != "" {
		w.space = true
		w.text(label)
		w.space = true
	}
}

// mathML writes a math element.
func (w *writer) mathML(n dom.ID) {
	t := w.t
	display := t.Attr(n, "display") == "block" || t.Attr(n, "mode") == "display"
	for up, p := 0, t.Parent(n); p != 0 && up < 3; up, p = up+1, t.Parent(p) {
		display = display || hasToken(t.Attr(p, "class"), "katex-display", "mwe-math-mathml-display", "ltx_equation", "display-math")
	}
	w.putMath(mathTeX(t, n), display)
}

// mathImage writes a picture whose description is TeX.
func (w *writer) mathImage(n dom.ID) bool {
	t := w.t
	alt, class := t.Attr(n, "alt"), t.Attr(n, "class")
	if alt == "" {
		return false
	}
	if looksTeX(alt) {
		w.putMath(alt, strings.HasPrefix(strings.TrimSpace(alt), `\begin{`) || strings.Contains(class, "display"))
		return true
	}
	if class == "" {
		return false
	}
	if hasToken(class, "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display") {
		if w.findSiblingMath(n) {
			return true
		}
		w.putMath(alt, strings.Contains(class, "display"))
		return true
	}
	if hasToken(class, "latex", "tex", "mathtex", "ql-img-inline-formula", "equation_image", "texhtml", "math") {
		w.putMath(alt, false)
		return true
	}
	if hasToken(class, "ql-img-displayed-equation") {
		w.putMath(alt, true)
		return true
	}
	return false
}

// looksTeX is true for a description that only a formula has: commands with arguments in braces.
func looksTeX(s string) bool {
	i := strings.IndexByte(s, '\\')
	if i < 0 || i+2 >= len(s) || !letter(s[i+1]) || !letter(s[i+2]) {
		return false
	}
	return strings.Contains(s, "{") && wrapsAll("{"+s+"}")
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (w *writer) findSiblingMath(n dom.ID) bool {
	for c := w.t.Prev(n); c != 0; c = w.t.Prev(c) {
		if w.findMath(c).found {
			return true
		}
	}
	return false
}

// rawTeX writes an element that holds TeX in delimiters, for a script to set.
func (w *writer) rawTeX(n dom.ID, class string) bool {
	t := w.t
	if inner := w.findMath(n); inner.found {
		return false
	}
	c := t.FirstChild(n)
	for c != 0 && t.Kind(c) != dom.Text && t.FirstChild(c) == 0 {
		c = t.Next(c) // the preview that MathJax leaves empty
	}
	if c == 0 || t.Kind(c) != dom.Text || t.Next(c) != 0 {
		return false
	}
	s := strings.TrimSpace(t.Data(c))
	display, ok := delimited(s)
	switch {
	case ok:
	case hasToken(class, "math-display"), hasToken(class, "math", "katex-src", "tex") && hasToken(class, "display"):
		display, ok = true, s != ""
	case hasToken(class, "math-inline", "katex-src"), hasToken(class, "math", "tex") && hasToken(class, "inline"):
		ok = s != ""
	}
	if !ok {
		return false
	}
	w.putMath(s, display)
	return true
}

// delimited is true when s is one formula between delimiters of TeX; display tells which kind.
func delimited(s string) (display, ok bool) {
	for _, p := range [...]struct {
		open, close string
		display     bool
	}{{`\(`, `\)`, false}, {`\[`, `\]`, true}, {"$$", "$$", true}, {"$", "$", false}} {
		if len(s) > len(p.open)+len(p.close) && strings.HasPrefix(s, p.open) && strings.HasSuffix(s, p.close) {
			return p.display, true
		}
	}
	if strings.HasPrefix(s, `\begin{`) && strings.HasSuffix(s, "}") {
		return true, true
	}
	return false, false
}

func texEncoding(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, "tex")
}
