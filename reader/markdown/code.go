package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// code writes inline code; a link around all of it goes outside.
func (w *writer) code(n dom.ID) bool {
	t := w.t
	if c := t.FirstChild(n); c != 0 && t.Next(c) == 0 && t.Tag(c) == atom.A && !w.inLink() && !w.plain {
		if w.anchor(c) {
			w.codeSpan(n)
			w.leave(c)
		}
		return false
	}
	if holdsPre(t, n) {
		return true
	}
	w.codeSpan(n)
	return false
}

// holdsPre is true when a pre, against the rules, stands in the code element n.
func holdsPre(t *dom.Tree, n dom.ID) bool {
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 32; c = t.Following(c, n) {
		seen++
		if t.Tag(c) == atom.Pre {
			return true
		}
	}
	return false
}

// codeSpan writes the text below n as code, a span for each of its lines.
func (w *writer) codeSpan(n dom.ID) {
	w.scratch = w.codeText(w.scratch[:0], n, false)
	text := w.scratch
	if len(text) > 0 && blank(text[0]) {
		w.space = true
	}
	after := len(text) > 0 && blank(text[len(text)-1])
	for first := true; len(text) > 0; first = false {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !first && len(w.buf) > 0 {
			w.breaks = max(w.breaks, 1)
		}
		w.span(line)
	}
	w.space = w.space || after
}

// span writes one line of inline code between runs of backticks longer or shorter than any in it.
func (w *writer) span(line []byte) {
	if w.plain {
		r, _ := utf8.DecodeRune(line)
		w.sync(r)
		w.buf = append(w.buf, line...)
		return
	}
	w.sync('`')
	if w.codeEnd > 0 && w.codeEnd == len(w.buf) {
		if len(w.buf)-w.codeAt > 4096 {
			w.buf = append(w.buf, ' ')
		} else {
			line = append(w.reopen(), line...) // two spans side by side would be read as one with backticks in it
		}
	}
	w.codeAt = len(w.buf)
	defer func() { w.codeEnd = len(w.buf) }()
	ticks := tickRun(line)
	pad := line[0] == '`' || line[len(line)-1] == '`'
	w.literal = 0
	for range ticks {
		w.buf = append(w.buf, '`')
	}
	if pad {
		w.buf = append(w.buf, ' ')
	}
	w.buf = append(w.buf, line...)
	if pad {
		w.buf = append(w.buf, ' ')
	}
	for range ticks {
		w.buf = append(w.buf, '`')
	}
}

// reopen takes the code span that ends the buffer out of it and gives its text.
func (w *writer) reopen() []byte {
	old := append([]byte(nil), w.buf[w.codeAt:]...)
	w.buf = w.buf[:w.codeAt]
	n := run(old, '`')
	old = old[n : len(old)-n]
	if len(old) > 2 && old[0] == ' ' && old[len(old)-1] == ' ' {
		old = old[1 : len(old)-1]
	}
	return old
}

// tickRun is the least length of a run of backticks that line does not have.
func tickRun(line []byte) int {
	var seen uint64
	long := 0
	for i := 0; i < len(line); {
		if line[i] != '`' {
			i++
			continue
		}
		n := run(line[i:], '`')
		long = max(long, n)
		if n < 64 {
			seen |= 1 << n
		}
		i += n
	}
	for n := 1; n < 64; n++ {
		if seen&(1<<n) == 0 {
			return n
		}
	}
	return long + 1
}

// pre writes n as a fenced block; in a cell as a code span a line.
func (w *writer) pre(n dom.ID) {
	t := w.t
	if w.gutter(n) {
		return
	}
	if w.cell != nil || w.heading > 0 {
		w.endBlock()
		w.codeSpan(n)
		w.endBlock()
		return
	}
	w.endBlock()
	code := codeIn(t, n)
	w.scratch = w.codeText(w.scratch[:0], code, true)
	lang := language(t, n)
	if lang == "" && code != n {
		lang = headLanguage(t, n, code)
	}
	if lang == "math" && bytes.IndexByte(w.scratch, '%') < 0 {
		w.putMath(string(w.scratch), true)
		return
	}
	w.fence(w.scratch, lang)
}

// fence writes a code block.
func (w *writer) fence(text []byte, lang string) {
	text = trimCode(text)
	if len(text) == 0 {
		return
	}
	long := 2
	for i := 0; i < len(text); i++ {
		if text[i] == '`' {
			n := run(text[i:], '`')
			long = max(long, n)
			i += n
		}
	}
	w.begin(true)
	if !w.plain {
		for range long + 1 {
			w.out = append(w.out, '`')
		}
		w.out = append(w.out, lang...)
		w.newLine()
	}
	for first := true; ; first = false {
		line, rest, more := cutLine(text)
		if !first {
			w.newLine()
		}
		if line = bytes.TrimRight(line, " \t"); len(line) > 0 {
			w.out = append(w.out, line...)
		} else {
			w.trimIndent()
		}
		if !more {
			break
		}
		text = rest
	}
	if !w.plain {
		w.newLine()
		for range long + 1 {
			w.out = append(w.out, '`')
		}
	}
	w.end()
}

func (w *writer) trimIndent() {
	for len(w.out) > 0 && w.out[len(w.out)-1] == ' ' {
		w.out = w.out[:len(w.out)-1]
	}
}

// trimCode takes empty lines off both ends.
func trimCode(text []byte) []byte {
	text = bytes.TrimRight(text, " \t\n")
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 || len(bytes.TrimSpace(text[:i])) > 0 {
			return text
		}
		text = text[i+1:]
	}
}

// codeText appends the text below n as code: line ends kept when in lines, gutters and buttons gone.
func (w *writer) codeText(out []byte, n dom.ID, lines bool) []byte {
	t := w.t
	w.numbered = 0
	if lines {
		w.numbered = numberedRows(t, n)
	}
	l := listing{w: w, out: out, start: len(out), line: len(out), lines: lines}
	at, c := n, t.FirstChild(n)
	for {
		switch {
		case c == 0 && at == n:
			return l.out
		case c == 0:
			l.leave(at)
			at, c = t.Parent(at), t.Next(at)
		case l.enter(c, at == n):
			at, c = c, t.FirstChild(c)
		default:
			c = t.Next(c)
		}
	}
}

// listing is code that is being read.
type listing struct {
	w     *writer
	out   []byte
	start int
	line  int  // where the last line element begins
	owed  bool // a line element has ended without a line end after it
	lines bool
}

// enter reads n and is true when its children are to be read; top is true for a child of the whole block.
func (l *listing) enter(n dom.ID, top bool) bool {
	t := l.w.t
	if t.Kind(n) == dom.Text {
		l.text(t.Data(n))
		return false
	}
	if t.Kind(n) != dom.Element || l.w.notCode(n) {
		return false
	}
	switch tag := t.Tag(n); {
	case tag == atom.Br:
		if p := t.Parent(n); t.Next(n) == 0 && !top && (isBlock(t.Tag(p)) || isLine(t, p)) {
			return false // it only ends the line that its element is
		}
		l.out, l.owed = append(l.out, '\n'), false
	case isBlock(tag) && tag != atom.Td && tag != atom.Th:
		if l.owed {
			l.out = append(l.out, '\n')
		}
		if l.owed = false; len(l.out) > l.start && l.out[len(l.out)-1] != '\n' {
			l.out = append(l.out, '\n')
		}
	case isLine(t, n):
		if l.owed && l.lines {
			l.out = append(l.out, '\n')
		}
		l.owed, l.line = false, len(l.out)
	}
	if t.FirstChild(n) != 0 {
		return true
	}
	l.owed = l.owed || isBlock(t.Tag(n)) || isLine(t, n)
	return false
}

func (l *listing) leave(n dom.ID) {
	switch t := l.w.t; {
	case isBlock(t.Tag(n)):
		l.owed = true
	case isLine(t, n):
		l.owed = len(l.out) == l.line || l.out[len(l.out)-1] != '\n'
	}
}

func (l *listing) text(s string) {
	if l.owed && s != "" {
		if ends := endsLine(s); ends || l.lines && strings.TrimSpace(s) != "" {
			l.owed = false
			if !ends {
				l.out = append(l.out, '\n')
			}
		}
	}
	l.out = l.w.appendCode(l.out, s, l.lines)
}

// endsLine is true for a text between lines of code that begins with the end of one.
func endsLine(s string) bool {
	return s[0] == '\n' || s[0] == '\r' || strings.TrimSpace(s) == "" && strings.Contains(s, "\n")
}

// isLine is true for the element in which highlighters put a line.
func isLine(t *dom.Tree, n dom.ID) bool {
	if tag := t.Tag(n); tag != atom.Span && tag != atom.Code {
		return false
	}
	for _, a := range t.Attrs(n) {
		switch a.Key {
		case "class":
			if hasToken(a.Val, "line", "token-line", "code-line", "view-line", "hljs-ln-line", "codeline", "cl-line", "ec-line", "LineContent") {
				return true
			}
		case "data-line":
			return true
		case "style":
			if strings.Contains(a.Val, "display:block") || strings.Contains(a.Val, "display: block") {
				return true
			}
		}
	}
	return false
}

// notCode is true for what stands in a code block and is not code.
func (w *writer) notCode(n dom.ID) bool {
	t := w.t
	switch t.Tag(n) {
	case atom.Button, atom.Script, atom.Style, atom.Svg, atom.Textarea, atom.Select, atom.Template, atom.Input, atom.Noscript, atom.Img:
		return true
	}
	if w.hidden(n) || w.marksLine(n) || unselectable(t, n) {
		return true
	}
	name := t.Name(n)
	if name == "clipboard-copy" || name == "copy-button" {
		return true
	}
	class := t.Attr(n, "class")
	return class != "" && (copyClass(class) || w.gutterClass(n, class) || hasToken(class, pointed...)) || t.Attr(n, "role") == "tooltip"
}

// pointed are classes of what is shown over code only where the pointer rests.
var pointed = []string{"hover-info", "twoslash-popup-container", "twoslash-popup-info-hover"}

// languageLabel is true for an element that tells a person the language of the code beside it, which the
// fence says already.
func (w *writer) languageLabel(n dom.ID) bool {
	t := w.t
	switch t.Tag(n) {
	case atom.Span, atom.Div, atom.P, atom.Figcaption:
	default:
		return false
	}
	text := strings.ToLower(strings.TrimSpace(shortText(t, n, 32)))
	for c, seen := t.FirstChild(n), 0; c != 0 && seen < 4; c, seen = t.Next(c), seen+1 {
		if t.Tag(c) == atom.Button || copyClass(t.Attr(c, "class")) {
			text = strings.TrimSpace(strings.TrimSuffix(text, strings.ToLower(strings.TrimSpace(shortText(t, c, 32)))))
		}
	}
	if text == "" || len(text) > 24 || holds(t, n, atom.Pre) || !knownLanguages[cleanLanguage(text)] && !noLanguage(text) {
		return false
	}
	for at, up := n, 0; at != 0 && up < 3; at, up = t.Parent(at), up+1 {
		for c, seen := t.Next(at), 0; c != 0 && seen < 6; c, seen = t.Next(c), seen+1 {
			if t.Tag(c) == atom.Pre || t.Tag(c) == atom.Div && t.Tag(t.FirstChild(c)) == atom.Pre {
				return true
			}
		}
		if t.Tag(t.Prev(at)) == atom.Pre {
			return true
		}
	}
	return false
}

// unselectable is true for a number that the page keeps out of what a person copies.
func unselectable(t *dom.Tree, n dom.ID) bool {
	style := t.Attr(n, "style")
	return strings.Contains(style, "user-select:none") && digitsOnly(t, n) || strings.Contains(style, "user-select: none") && digitsOnly(t, n)
}

func copyClass(class string) bool {
	return hasToken(class, "copy", "copybtn", "copy-btn", "copy-button", "btn-copy", "copy-code-button", "copy-code", "code-copy", "clipboard", "btn-clipboard",
		"zeroclipboard-container", "copy-to-clipboard", "copy-to-clipboard-button", "toolbar-item", "code-toolbar-buttons", "hljs-copy-button", "md-clipboard", "highlight-copy-btn", "copy_btn", "codecopy", "crayon-toolbar", "code-block-copy", "copyBtn", "copyButton", "source-toolbox")
}

var gutterClasses = []string{"lineno", "linenos", "linenodiv", "line-number", "line-numbers", "linenumber", "linenumbers", "lineNumber", "line-numbers-rows", "line-numbers-wrapper",
	"lnt", "lnum", "lno", "ln", "lnos", "nums", "hljs-ln-numbers", "hljs-ln-n", "gutter", "rouge-gutter", "gl", "crayon-nums", "crayon-num", "blob-num", "react-syntax-highlighter-line-number",
	"code-line-number", "diff-line-num", "old_line", "new_line", "CodeMirror-linenumber", "line_numbers", "line-no", "lineNumbers", "line-gutter", "ec-gutter", "special-line-numbers", "rowno", "code-lines", "CodeMirror-gutter-wrapper", "cm-gutters", "ace_gutter"}

// gutterClass is true for line numbers: by their class, and nothing but digits in them.
func (w *writer) gutterClass(n dom.ID, class string) bool {
	return hasToken(class, gutterClasses...) && digitsOnly(w.t, n)
}

// gutter is true for an element outside of code that only numbers its lines.
func (w *writer) gutter(n dom.ID) bool {
	class := w.t.Attr(n, "class")
	return class != "" && hasToken(class, gutterClasses...) && digitsOnly(w.t, n)
}

// digitsOnly is true when the text below n is digits and blanks.
func digitsOnly(t *dom.Tree, n dom.ID) bool {
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		if t.Kind(c) != dom.Text {
			continue
		}
		for _, b := range []byte(t.Data(c)) {
			if (b < '0' || b > '9') && !blank(b) && b != '.' && b != ':' {
				return false
			}
		}
	}
	return true
}

// appendCode appends a bit of code without the characters that no one sees.
func (w *writer) appendCode(out []byte, s string, lines bool) []byte {
	prev := rune(0)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f {
			out = append(out, c)
			prev = rune(c)
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= 0x80 {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		switch dom.Classify(prev, r, next) {
		case dom.Strip:
			w.stripped++
		case dom.Space:
			switch {
			case !lines || r >= 0x80 || r == '\f':
				out = append(out, ' ')
			case r == '\r':
				if next != '\n' {
					out = append(out, '\n')
				}
			default:
				out = append(out, c)
			}
		default:
			out = append(out, s[i:i+size]...)
		}
		prev = r
		i += size
	}
	return out
}

// language is what the page says a code block is written in, or "".
func language(t *dom.Tree, pre dom.ID) string {
	if c := t.FirstChild(pre); c != 0 {
		for seen := 0; c != 0 && seen < 4; seen++ {
			if t.Tag(c) == atom.Code {
				if lang := languageOf(t, c, true); lang != "" {
					return lang
				}
				break
			}
			c = t.Following(c, pre)
		}
	}
	at := pre
	for up := 0; at != 0 && up < 7; up++ {
		if lang := languageOf(t, at, up == 0); lang != "" {
			return lang
		}
		if at = t.Parent(at); t.Tag(at) == atom.Body || t.Tag(at) == atom.Article || t.Tag(at) == atom.Main {
			break
		}
	}
	return ""
}

var languageAttrs = []string{"data-lang", "data-language", "data-code-language", "data-enlighter-language", "data-canonical-lang", "data-highlight-language", "data-code-lang", "data-syntax", "syntax", "language", "data-programming-language", "data-mode-id"}

// languageOf is the language that n itself names. A pre or code may name it by a bare word.
func languageOf(t *dom.Tree, n dom.ID, bare bool) string {
	for _, key := range languageAttrs {
		if lang := cleanLanguage(t.Attr(n, key)); lang != "" {
			return lang
		}
	}
	if p := t.Attr(n, "data-syntaxhighlighter-params"); p != "" {
		if lang := cleanLanguage(brush(p)); lang != "" {
			return lang
		}
	}
	class := t.Attr(n, "class")
	if lang := classLanguage(class, bare || hasToken(class, "highlight", "sourceCode", "syntaxhighlighter", "code-block", "codeblock", "CodeMirror", "geshifilter", "codehilite")); lang != "" {
		return lang
	}
	if t.Tag(n) == atom.Pre {
		if lang := cleanLanguage(t.Attr(n, "lang")); knownLanguages[lang] || lang == "math" {
			return lang
		}
	}
	return ""
}

var languagePrefixes = []string{"language-", "lang-", "highlight-source-", "highlight-text-", "mw-highlight-lang-", "lang:", "language:", "brush:", "src-", "code-", "highlight-", "sh_", "syntax-", "type-", "prism-", "source-", "enlighter-l-"}

func classLanguage(class string, bare bool) string {
	if class == "" {
		return ""
	}
	if i := strings.Index(class, "brush:"); i >= 0 {
		return cleanLanguage(brush(class[i:]))
	}
	if strings.HasPrefix(class, "{") {
		class = strings.Trim(class, "{}")
	}
	var word string
	for rest := class; rest != ""; {
		word, rest, _ = strings.Cut(strings.TrimLeft(rest, " \t\n\r\f"), " ")
		for i, p := range languagePrefixes {
			if len(word) <= len(p) || !strings.EqualFold(word[:len(p)], p) {
				continue
			}
			lang := cleanLanguage(strings.TrimSpace(word[len(p):]))
			if lang != "" && (i < 7 || knownLanguages[lang]) {
				return lang
			}
			if i < 3 && noLanguage(strings.ToLower(word[len(p):])) {
				return ""
			}
		}
	}
	if !bare {
		return ""
	}
	for rest := class; rest != ""; {
		word, rest, _ = strings.Cut(strings.TrimLeft(rest, " \t\n\r\f"), " ")
		if lang := cleanLanguage(strings.TrimPrefix(word, ".")); knownLanguages[lang] {
			return lang
		}
	}
	return ""
}

// brush is the language in SyntaxHighlighter's "brush: js; gutter: false".
func brush(s string) string {
	i := strings.Index(s, "brush:")
	if i < 0 {
		return ""
	}
	s = strings.TrimLeft(s[i+len("brush:"):], " '\"")
	if i = strings.IndexAny(s, "; '\",\t\n"); i >= 0 {
		s = s[:i]
	}
	return s
}

func noLanguage(s string) bool {
	switch s {
	case "", "plaintext", "plain", "text", "txt", "none", "no-highlight", "nohighlight", "default", "auto", "undefined", "null", "unknown", "markup-templating", "raw", "generic", "console-output", "output":
		return true
	}
	return false
}

// cleanLanguage is s as an info string may have it, or "".
func cleanLanguage(s string) string {
	s = strings.ToLower(strings.Trim(s, " \t\n{}.;\"'"))
	if len(s) > 24 || noLanguage(s) {
		return ""
	}
	for i := 0; i < len(s); i++ {
		if !alnum(s[i]) && !strings.ContainsRune("+#-_.", rune(s[i])) {
			return ""
		}
	}
	return s
}

var knownLanguages = func() map[string]bool {
	known := make(map[string]bool)
	for _, lang := range strings.Fields(`abap ada apache apacheconf applescript arduino arm asciidoc asm aspnet assembly awk bash basic bat batch
		bibtex blade brainfuck c c# c++ cfg clike clj clojure cmake cobol coffee coffeescript common-lisp conf console cpp crystal cs csharp css csv
		cuda cypher cython d dart delphi diff django docker dockerfile dos dot elisp elixir elm emacs-lisp erb erl erlang f# fish forth fortran fsharp
		gdscript gherkin glsl gml gnuplot go golang gradle graphql groovy haml handlebars haskell haxe hcl hlsl html http ini ipython ipython3 irc java
		javascript jinja jinja2 js json json5 jsonc jsonnet jsp jsx julia kotlin kt ksh latex less lisp lua m4 makefile markdown markup mathematica matlab md
		mermaid mips mongodb mysql nasm nginx nim nix nohighlight objc objective-c objectivec ocaml octave pascal patch perl pgsql php pl plsql postgres postgresql powershell
		prolog properties proto protobuf ps1 pug puppet purescript py pycon python python2 python3 python-repl qml r racket rb reason regex rest rst ruby rs
		rust sas sass scala scheme scss sed sh shell shell-session shellsession smalltalk solidity sparql sql sqlite stata stylus svelte svg swift systemverilog tcl terminal
		terraform tex text toml ts tsql tsx turtle twig typescript vb vba vbnet vb.net verilog vhdl vim viml vue wasm wat xhtml xml xquery yaml yml zig zsh`) {
		known[lang] = true
	}
	for _, not := range []string{"text", "nohighlight"} {
		delete(known, not)
	}
	return known
}()
