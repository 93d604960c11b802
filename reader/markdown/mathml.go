package markdown

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/reader/dom"
)

// longestFormula bounds the nodes of one formula that are read.
const longestFormula = 5000

// mathTeX is the TeX of a math element: its own, or made from its MathML.
func mathTeX(t *dom.Tree, math dom.ID) string {
	if tex := statedTeX(t, math); tex != "" {
		return tex
	}
	return convertMath(t, math)
}

// statedTeX is the TeX that a math element has beside its MathML: its annotation or its alttext.
func statedTeX(t *dom.Tree, math dom.ID) string {
	seen := 0
	for c := t.Following(math, math); c != 0 && seen < longestFormula; c = t.Following(c, math) {
		seen++
		if t.Name(c) == "annotation" && texEncoding(t.Attr(c, "encoding")) {
			if tex := strings.TrimSpace(t.Text(c)); tex != "" {
				return tex
			}
		}
	}
	return strings.TrimSpace(t.Attr(math, "alttext"))
}

// part is an element of a formula of which the children are being made.
type part struct {
	node dom.ID
	kind string
	made []child
}

// child is what a child of an element gave, and where it stands in it when that does not follow from its turn.
type child struct {
	tex   string
	place place
}

type place uint8

const (
	inTurn place = iota
	atBase
	below // or a subscript
	above // or a superscript
	numerator
	denominator
	rootIndex
	label  // of the rows of a table
	before // what follows stands before the base
	matrix // in turn: rows that may have fences around them
)

// mathKind is the name that n has in MathML. MathJax sets formulas in elements with names made of those of
// MathML, in its second version in spans with such classes, and in drawings in groups that bear the name.
func mathKind(t *dom.Tree, n dom.ID) string {
	name := t.Name(n)
	switch name {
	case "span", "div":
		for word := range strings.FieldsSeq(t.Attr(n, "class")) {
			if strings.HasPrefix(word, "mjx-") {
				name = word
				break
			}
		}
	case "g", "svg", "use", "path", "rect", "line", "text":
		if t.HasAttr(n, "data-labels") {
			return "labels"
		}
		return strings.ToLower(t.Attr(n, "data-mml-node"))
	}
	kind, _ := strings.CutPrefix(name, "mjx-")
	return kind
}

// unread are the parts of a formula that show nothing, or what the others say already.
func unread(kind string) bool {
	switch kind {
	case "mphantom", "surd", "line", "strut", "nstrut", "dstrut", "tstrut", "spacer", "ustrike", "dstrike", "hstrike", "assistive-mml", "speech":
		return true
	}
	return strings.HasPrefix(kind, "annotation")
}

// convertMath makes TeX of MathML and of what MathJax makes of it, without recursion: a stack of elements and
// what their children gave.
func convertMath(t *dom.Tree, math dom.ID) string {
	stack := []part{{node: math, kind: mathKind(t, math)}}
	c, seen, bytes := t.FirstChild(math), 0, 0
	for {
		top := &stack[len(stack)-1]
		if c == 0 || seen > longestFormula || bytes > 1<<16 {
			if len(stack) == 1 {
				return strings.TrimSpace(joinTeX(texts(fenceMatrices(top.made))))
			}
			up := &stack[len(stack)-2]
			had := len(up.made)
			up.made = append(up.made, top.give(t, up)...)
			for _, p := range up.made[had:] {
				bytes += len(p.tex)
			}
			c = t.Next(top.node)
			if seen > longestFormula || bytes > 1<<16 {
				c = 0
			}
			stack = stack[:len(stack)-1]
			continue
		}
		seen++
		if t.Kind(c) == dom.Text {
			if s := strings.Trim(t.Data(c), " \t\r\n\f"); s != "" {
				top.made = append(top.made, child{tex: s})
			}
		} else if t.Kind(c) == dom.Element {
			if s := glyph(t, c); s != "" {
				top.made = append(top.made, child{tex: s})
			} else if kind := mathKind(t, c); !unread(kind) {
				stack = append(stack, part{node: c, kind: kind})
				c = t.FirstChild(c)
				continue
			}
		}
		c = t.Next(c)
	}
}

// glyph is the character that n draws, which MathJax tells by a class or an attribute, or "".
func glyph(t *dom.Tree, n dom.ID) string {
	code := ""
	switch t.Name(n) {
	case "mjx-c", "mjx-stretchy-v", "mjx-stretchy-h":
		for word := range strings.FieldsSeq(t.Attr(n, "class")) {
			if hex, ok := strings.CutPrefix(word, "mjx-c"); ok {
				code = hex
				break
			}
		}
	case "use", "path":
		code = t.Attr(n, "data-c")
	default:
		return ""
	}
	v, err := strconv.ParseUint(code, 16, 32)
	if err != nil || v < ' ' || v > unicode.MaxRune {
		return strings.TrimSpace(t.Text(n))
	}
	return string(rune(v))
}

// give is what the element gives to the one around it, up.
func (p *part) give(t *dom.Tree, up *part) []child {
	switch p.kind {
	case "box", "row", "frac", "dbox", "dtable", "sqrt", "itable", "table", "stack", "cell", "charbox", "char", "utext", "linebox", "prescripts", "":
		return p.made
	case "munder":
		if t.Name(t.Parent(up.node)) == "mjx-munderover" { // in a box there are the base and what stands below
			return p.made
		}
	case "script":
		for i := range p.made {
			switch up.kind {
			case "msub", "munder":
				p.made[i].place = below
			case "msup", "mover":
				p.made[i].place = above
			default:
				p.made[i].place = above - place(min(i, 1))
			}
		}
		return p.made
	case "mprescripts":
		return []child{{"", before}}
	}
	where, made := places[p.kind], p.made
	switch {
	case p.kind == "mtable", p.kind == "mfrac" && flat(t, p.node):
		where = matrix
	case !positional[p.kind]:
		made = fenceMatrices(made)
		if len(made) == 1 && made[0].place == matrix && (p.kind == "mrow" || p.kind == "mstyle" || p.kind == "mpadded" || p.kind == "texatom") {
			where = matrix
		}
	case t.Name(p.node) == "g" && p.kind == "mroot" && len(made) > 2: // a drawing has the root sign at the end
		made = made[:2]
	}
	if t.Name(p.node) == "g" {
		if p.kind == "msqrt" && len(made) > 1 {
			made = made[:len(made)-1]
		}
		if len(up.made) > 0 && (up.kind == "msubsup" || up.kind == "munderover") {
			where = above
			if _, y, _ := strings.Cut(t.Attr(p.node, "transform"), ","); strings.HasPrefix(strings.TrimSpace(y), "-") {
				where = below
			}
		}
	}
	return []child{{texOf(t, p, made), where}}
}

// fences are the environments of matrices between two fences.
var fences = map[[2]string]string{{"(", ")"}: "pmatrix", {"[", "]"}: "bmatrix", {`\{`, `\}`}: "Bmatrix", {"|", "|"}: "vmatrix", {`\mid`, `\mid`}: "vmatrix", {`\|`, `\|`}: "Vmatrix",
	{`\parallel`, `\parallel`}: "Vmatrix", {`\{`, ""}: "cases"}

// fenceMatrices makes one of rows and the fences before and behind them.
func fenceMatrices(made []child) []child {
	if !slices.ContainsFunc(made, func(p child) bool { return p.place == matrix }) {
		return made
	}
	made = slices.DeleteFunc(made, func(p child) bool { return p.tex == "" })
	shuts := -1 // the last brace that closes
	for i, p := range made {
		if p.tex == `\}` {
			shuts = i
		}
	}
	out := made[:0]
	for i := 0; i < len(made); i++ {
		p := made[i]
		if k := len(out); p.place == matrix && k > 0 {
			shut := ""
			if i+1 < len(made) {
				shut = made[i+1].tex
			}
			open := out[k-1].tex
			if env := fences[[2]string{open, shut}]; env != "" && shut != "" && (open == "(" || !strings.HasPrefix(p.tex, `\binom{`)) {
				out[k-1] = child{tex: inside(p.tex, env)}
				i++
				continue
			}
			if open == `\{` && shuts < i && strings.HasPrefix(p.tex, `\begin{matrix}`) {
				out[k-1] = child{tex: inside(p.tex, "cases")}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// inside is the rows of a matrix in another environment; \binom has its fences.
func inside(tex, env string) string {
	rows, ok := strings.CutPrefix(tex, `\begin{matrix}`)
	if !ok {
		return tex
	}
	return `\begin{` + env + "}" + strings.TrimSuffix(rows, `\end{matrix}`) + `\end{` + env + "}"
}

// aligned is true for a table that only sets equations below each other at their signs.
func aligned(t *dom.Tree, n dom.ID) bool {
	if t.Name(n) == "mjx-mtable" {
		for c, seen := t.Following(n, n), 0; c != 0 && seen < 8; c, seen = t.Following(c, n), seen+1 {
			if t.Name(c) == "mjx-mtd" {
				return strings.Contains(t.Attr(c, "style"), "text-align: right")
			}
		}
	}
	return strings.HasPrefix(t.Attr(n, "columnalign"), "right left")
}

var places = map[string]place{"base": atBase, "op": atBase, "sub": below, "under": below, "sup": above, "over": above, "num": numerator, "numerator": numerator,
	"den": denominator, "denominator": denominator, "root": rootIndex, "labels": label}

// positional are the elements of which each child has a part of its own.
var positional = map[string]bool{"msub": true, "msup": true, "msubsup": true, "munder": true, "mover": true, "munderover": true, "mfrac": true, "mroot": true, "mmultiscripts": true}

func texts(made []child) []string {
	out := make([]string, len(made))
	for i, p := range made {
		out[i] = p.tex
	}
	return out
}

// split is the parts of an element that has a base: each is where its place says, or stands in turn.
func split(made []child, order ...place) (parts [denominator + 2]string) {
	turn := 0
	for _, p := range made {
		at := p.place
		if at == inTurn || at == matrix {
			if turn >= len(order) {
				continue
			}
			at = order[turn]
			turn++
		}
		if int(at) < len(parts) {
			parts[at] = p.tex
		}
	}
	return parts
}

func texOf(t *dom.Tree, p *part, made []child) string {
	n := p.node
	switch p.kind {
	case "mi", "mn", "mo", "ms":
		variant := t.Attr(n, "mathvariant")
		if hasToken(t.Attr(n, "class"), "mjx-cal") || strings.Contains(t.Attr(t.FirstChild(n), "href"), "-TEX-C-") {
			variant = "script"
		}
		return symbol(strings.Join(texts(made), ""), p.kind, variant)
	case "mtext":
		between := ""
		if t.Name(n) == "mtext" {
			between = " "
		}
		return `\text{` + strings.ReplaceAll(strings.Join(texts(made), between), "\u00a0", " ") + "}"
	case "mspace":
		return `\ `
	case "msup":
		s := split(made, atBase, above)
		return scripts(s[atBase], s[below], s[above])
	case "msub", "msubsup":
		s := split(made, atBase, below, above)
		return scripts(s[atBase], s[below], s[above])
	case "munder", "mover", "munderover":
		return limits(p.kind, made)
	case "mmultiscripts":
		return multiscripts(made)
	case "mfrac":
		s := split(made, numerator, denominator)
		if flat(t, n) {
			return `\binom{` + s[numerator] + "}{" + s[denominator] + "}"
		}
		return `\frac{` + s[numerator] + "}{" + s[denominator] + "}"
	case "msqrt":
		return `\sqrt{` + joinTeX(texts(made)) + "}"
	case "mroot":
		s := split(made, atBase, rootIndex)
		return `\sqrt[` + s[rootIndex] + "]{" + s[atBase] + "}"
	case "menclose":
		return enclosed(notation(t, n), joinTeX(texts(made)))
	case "mfenced":
		return fenced(t, n, made)
	case "mtable":
		return tableTeX(t, n, made)
	case "mtr":
		return strings.Join(texts(made), " & ")
	case "mlabeledtr":
		if len(made) > 1 {
			return strings.Join(texts(made[1:]), " & ") + ` \quad ` + made[0].tex
		}
	}
	return joinTeX(texts(made))
}

// flat is true for a fraction without a line.
func flat(t *dom.Tree, n dom.ID) bool {
	if t.Name(n) == "g" {
		return t.Name(t.LastChild(n)) != "rect"
	}
	return t.Attr(n, "linethickness") == "0" || t.Attr(t.FirstChild(n), "atop") == "true"
}

// scripts is base with what is not empty of sub and sup.
func scripts(b, sub, sup string) string {
	b = base(b)
	if sub != "" {
		b += "_" + group(sub)
	}
	switch {
	case sup == "":
	case strings.Trim(sup, "'") == "":
		b += sup
	default:
		b += "^" + group(sup)
	}
	return b
}

// limits is what stands with something below or above it.
func limits(kind string, made []child) string {
	order := []place{atBase, below, above}
	if kind == "mover" {
		order[1] = above
	}
	s := split(made, order...)
	switch {
	case s[above] == "":
		return under(s[atBase], s[below])
	case s[below] == "":
		return over(s[atBase], s[above])
	case braces[s[below]] != "":
		return over(under(s[atBase], s[below]), s[above])
	case braces[s[above]] != "":
		return under(over(s[atBase], s[above]), s[below])
	}
	return scripts(s[atBase], s[below], s[above])
}

// multiscripts has pairs of scripts behind its base, and before it.
func multiscripts(made []child) string {
	b, sides := "", [2][2][]string{} // behind or before; below or above
	side, turn := 0, 0
	for i, p := range made {
		switch {
		case i == 0:
			b = p.tex
		case p.place == before:
			side, turn = 1, 0
		default:
			sides[side][turn%2] = append(sides[side][turn%2], p.tex)
			turn++
		}
	}
	join := func(s [2][]string, b string) string { return scripts(b, joinTeX(s[0]), joinTeX(s[1])) }
	if first := join(sides[1], ""); first != "" {
		return "{}" + first + join(sides[0], b)
	}
	return join(sides[0], b)
}

// notation is the attribute of that name of menclose, or what MathJax made of it.
func notation(t *dom.Tree, n dom.ID) string {
	if s := t.Attr(n, "notation"); s != "" {
		return s
	}
	words := ""
	for c := t.FirstChild(n); c != 0; c = t.Next(c) {
		style := t.Attr(c, "style")
		switch t.Name(c) {
		case "mjx-ustrike":
			words += " updiagonalstrike"
		case "mjx-dstrike":
			words += " downdiagonalstrike"
		case "mjx-hstrike":
			words += " horizontalstrike"
		case "mjx-box":
			for _, side := range [...][2]string{{"border:", "box"}, {"border-top:", "top"}, {"border-bottom:", "bottom"}} {
				if strings.Contains(style, side[0]) {
					words += " " + side[1]
				}
			}
		}
	}
	return words
}

// enclosed has lines drawn around or through tex (MathML 3, 3.3.9.2).
func enclosed(notation, tex string) string {
	has := func(words ...string) bool {
		for _, w := range words {
			if !hasToken(notation, w) {
				return false
			}
		}
		return true
	}
	var wrap string
	switch {
	case has("box"), has("roundedbox"), has("circle"), has("left", "right", "top", "bottom"):
		wrap = `\boxed`
	case has("updiagonalstrike", "downdiagonalstrike"):
		wrap = `\xcancel`
	case has("updiagonalstrike"):
		wrap = `\cancel`
	case has("downdiagonalstrike"):
		wrap = `\bcancel`
	case has("horizontalstrike"):
		wrap = `\sout`
	case has("radical"):
		wrap = `\sqrt`
	case has("top", "bottom"):
		return `\overline{\underline{` + tex + "}}"
	case has("top"), has("longdiv"), has("actuarial"):
		wrap = `\overline`
	case has("bottom"), has("phasorangle"):
		wrap = `\underline`
	default:
		return tex
	}
	return wrap + "{" + tex + "}"
}

// tableTeX is a table of formulas; of an equation that is only one for its number, the equation.
func tableTeX(t *dom.Tree, n dom.ID, made []child) string {
	rows, tag := make([]string, 0, len(made)), ""
	for _, p := range made {
		if p.place == label {
			tag = p.tex
			continue
		}
		rows = append(rows, p.tex)
	}
	if len(rows) == 1 && tag != "" {
		return rows[0] + ` \quad ` + tag
	}
	if c := t.First(n, 0); len(rows) == 1 && t.Name(c) == "mlabeledtr" {
		return rows[0]
	}
	env := "matrix"
	if aligned(t, n) {
		env = "aligned"
	}
	return `\begin{` + env + "} " + strings.Join(rows, ` \\ `) + ` \end{` + env + "}"
}

func fenced(t *dom.Tree, n dom.ID, made []child) string {
	open, shut, sep := "(", ")", ","
	if v, ok := t.LookupAttr(n, "open"); ok {
		open = v
	}
	if v, ok := t.LookupAttr(n, "close"); ok {
		shut = v
	}
	if v, ok := t.LookupAttr(n, "separators"); ok {
		sep = strings.TrimSpace(v)
	}
	if len(sep) > 1 {
		sep = sep[:1]
	}
	if len(made) == 1 && made[0].place == matrix {
		if env := fences[[2]string{symbol(open, "mo", ""), symbol(shut, "mo", "")}]; env != "" {
			return inside(made[0].tex, env)
		}
	}
	return `\left` + fence(open) + " " + strings.Join(texts(made), sep+" ") + ` \right` + fence(shut)
}

func fence(s string) string {
	switch s {
	case "":
		return "."
	case "{", "}":
		return `\` + s
	}
	return symbol(s, "mo", "")
}

func under(a, b string) string {
	switch {
	case b == "":
		return a
	case limited[a], strings.HasPrefix(a, `\underbrace{`), strings.HasPrefix(a, `\underbracket{`):
		return a + "_" + group(b)
	case braces[b] != "":
		return braces[b] + "{" + a + "}"
	case b == "_" || b == `\_` || b == "¯" || b == "‾" || b == "―" || b == "–" || b == "-" || b == "\u0332":
		return `\underline{` + a + "}"
	}
	return `\underset{` + b + "}{" + a + "}"
}

// limited are the operators whose limits stand below and above them.
var limited = func() map[string]bool {
	m := make(map[string]bool)
	for _, s := range strings.Fields(`\sum \prod \coprod \lim \max \min \int \iint \oint \sup \inf \det \gcd \Pr \bigcup \bigcap \bigoplus \bigotimes \bigvee \bigwedge`) {
		m[s] = true
	}
	return m
}()

var braces = map[string]string{"⏞": `\overbrace`, "⏟": `\underbrace`, "⎴": `\overbracket`, "⎵": `\underbracket`}

// accents are what stands above one letter, and above more than one.
var accents = func() map[string][2]string {
	m := make(map[string][2]string)
	f := strings.Fields(`^ \hat \widehat ˆ \hat \widehat ̂ \hat \widehat ~ \tilde \widetilde ˜ \tilde \widetilde ̃ \tilde \widetilde \sim \tilde \widetilde ∼ \tilde \widetilde
		¯ \bar \overline ˉ \bar \overline ̄ \bar \overline - \bar \overline ‾ \overline \overline ― \overline \overline – \overline \overline _ \overline \overline \_ \overline \overline ̅ \overline \overline
		→ \vec \overrightarrow \to \vec \overrightarrow ⃗ \vec \overrightarrow \leftarrow \overleftarrow \overleftarrow \leftrightarrow \overleftrightarrow \overleftrightarrow
		˙ \dot \dot ̇ \dot \dot ¨ \ddot \ddot ̈ \ddot \ddot ⃛ \dddot \dddot ... \dddot \dddot ˇ \check \widecheck ̌ \check \widecheck
		˘ \breve \breve ̆ \breve \breve ´ \acute \acute ́ \acute \acute ` + "` \\grave \\grave" + ` ̀ \grave \grave ˚ \mathring \mathring ̊ \mathring \mathring`)
	for i := 0; i+2 < len(f); i += 3 {
		m[f[i]] = [2]string{f[i+1], f[i+2]}
	}
	return m
}()

// letterIn is true for one letter, also in an alphabet of its own.
func letterIn(s string) bool {
	if i := strings.IndexByte(s, '{'); i > 0 && s[len(s)-1] == '}' && one(s[:i]) {
		s = s[i+1 : len(s)-1]
	}
	return one(s)
}

func over(a, b string) string {
	switch {
	case b == "":
		return a
	case limited[a], strings.HasPrefix(a, `\overbrace{`), strings.HasPrefix(a, `\overbracket{`):
		return a + "^" + group(b)
	case braces[b] != "":
		return braces[b] + "{" + a + "}"
	}
	if cmd, ok := accents[strings.TrimSpace(b)]; ok {
		if letterIn(a) {
			return cmd[0] + "{" + a + "}"
		}
		return cmd[1] + "{" + a + "}"
	}
	return `\overset{` + b + "}{" + a + "}"
}

// base is what may stand before ^ or _.
func base(s string) string {
	if one(s) {
		return s
	}
	return "{" + s + "}"
}

// group is what may stand behind ^ or _.
func group(s string) string {
	if len(s) == 1 {
		return s
	}
	return "{" + s + "}"
}

// one is true for a single letter, number, command or bracketed group.
func one(s string) bool {
	if s == "" {
		return true
	}
	if s[0] == '\\' {
		return !strings.ContainsAny(s[1:], ` \{}^_+-`)
	}
	return len([]rune(s)) == 1 || strings.Trim(s, "0123456789.") == ""
}

func joinTeX(made []string) string {
	var b strings.Builder
	last := ""
	for _, s := range made {
		if s == "" {
			continue
		}
		if needsBlank(last, s) {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		last = s
	}
	return b.String()
}

// needsBlank is true where two parts would read as one command, or read badly.
func needsBlank(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if operator(a) || operator(b) {
		return true
	}
	if k := len(a); k > 1 && (a[k-2] == '^' || a[k-2] == '_') && alnum(b[0]) {
		return true
	}
	i := strings.LastIndexByte(a, '\\')
	return i >= 0 && allLetters(a[i+1:]) && (b[0]|0x20 >= 'a' && b[0]|0x20 <= 'z')
}

func operator(s string) bool {
	switch s {
	case "=", "+", "-", "<", ">", `\le`, `\ge`, `\ne`, `\approx`, `\to`, `\times`, `\pm`, `\in`, `\cdot`, `\equiv`, `\sim`, `\cup`, `\cap`, `\subset`, `\Rightarrow`, `\Leftrightarrow`, `\mid`, `\propto`:
		return true
	}
	return false
}

func allLetters(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

// functions are names that TeX sets upright by a command of the same name.
var functions = map[string]bool{"sin": true, "cos": true, "tan": true, "cot": true, "sec": true, "csc": true, "log": true, "ln": true, "exp": true, "lim": true,
	"max": true, "min": true, "sup": true, "inf": true, "det": true, "dim": true, "ker": true, "deg": true, "gcd": true, "arg": true, "sinh": true, "cosh": true, "tanh": true, "arcsin": true, "arccos": true, "arctan": true, "Pr": true, "hom": true}

func symbol(s, name, variant string) string {
	s = strings.TrimSpace(s)
	if r, size := utf8.DecodeRuneInString(s); size < len(s) && assembled[r] != "" {
		s = assembled[r]
	}
	if cmd, ok := symbols[s]; ok {
		if name == "mi" && strings.HasPrefix(variant, "bold") {
			return `\boldsymbol{` + cmd + "}"
		}
		return cmd
	}
	switch s {
	case "{", "}", "%", "#", "&", "$", "_":
		return `\` + s
	case "\u2061", "\u2062", "\u2063", "\u2064", "\u200b":
		return ""
	}
	if plain, cmd := plainLetters(s); plain != s {
		switch {
		case cmd != "":
			return cmd + "{" + symbol(plain, "mn", "") + "}"
		case len([]rune(plain)) == 1:
			return symbol(plain, name, variant)
		}
		return `\mathit{` + plain + "}"
	}
	if len(s) > 1 && name != "mn" && functions[s] {
		return `\` + s
	}
	if name == "mi" && len(s) > 1 && allLetters(s) {
		return `\mathrm{` + s + "}"
	}
	switch variant {
	case "bold":
		return `\mathbf{` + s + "}"
	case "bold-italic":
		return `\boldsymbol{` + s + "}"
	case "sans-serif":
		return `\mathsf{` + s + "}"
	case "monospace":
		return `\mathtt{` + s + "}"
	case "double-struck":
		return `\mathbb{` + s + "}"
	case "script":
		return `\mathcal{` + s + "}"
	case "fraktur":
		return `\mathfrak{` + s + "}"
	}
	return s
}

// assembled are the fences that a drawing puts together of parts, by the first of them; MathJax has some
// of the parts in the private area.
var assembled = map[rune]string{'⎛': "(", '⎞': ")", '⎡': "[", '⎤': "]", '⎧': "{", '⎫': "}", 0xe150: "⏞", 0xe152: "⏟", '′': "″"}

// plainLetters is s without the mathematical alphabets of Unicode, and the command for the one that it is in.
func plainLetters(s string) (plain, cmd string) {
	out := make([]rune, 0, 4)
	for _, r := range s {
		p, c := plainLetter(r)
		out = append(out, p)
		if len(out) > 1 && c != cmd {
			return s, ""
		}
		cmd = c
	}
	return string(out), cmd
}

// plainLetter is the letter or digit that r shows (Unicode 16, block Mathematical Alphanumeric Symbols) and
// the command for its alphabet, which for the italic of variables is none.
func plainLetter(r rune) (plain rune, cmd string) {
	switch {
	case r < 0x2102 || r > 0x2138 && r < 0x1d400 || r > 0x1d7ff:
		return r, ""
	case r < 0x1d400:
		for _, row := range [...]struct{ letters, plain, cmd string }{{"ℬℰℱℋℐℒℳℛℯℊℴ", "BEFHILMRego", `\mathcal`}, {"ℭℌℨ", "CHZ", `\mathfrak`}, {"ℍℙ", "HP", `\mathbb`}, {"ℎ", "h", ""}} {
			if i := strings.IndexRune(row.letters, r); i >= 0 {
				return rune(row.plain[len([]rune(row.letters[:i]))]), row.cmd
			}
		}
		return r, ""
	case r < 0x1d6a4:
		i := r - 0x1d400
		return rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[i%52]), letterCommands[i/52]
	case r < 0x1d6a8:
		return 'ı' + (r-0x1d6a4)*('ȷ'-'ı'), ""
	case r < 0x1d7cc:
		i := r - 0x1d6a8
		if i/58 != 1 {
			cmd = `\boldsymbol`
		}
		return []rune("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΘΣΤΥΦΧΨΩ∇αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ")[i%58], cmd
	case r < 0x1d7ce:
		return r, ""
	}
	i := r - 0x1d7ce
	return '0' + i%10, [...]string{`\mathbf`, `\mathbb`, `\mathsf`, `\mathsf`, `\mathtt`}[i/10]
}

// letterCommands are those of the alphabets from U+1D400 on, in their order.
var letterCommands = [...]string{`\mathbf`, "", `\boldsymbol`, `\mathcal`, `\mathcal`, `\mathfrak`, `\mathbb`, `\mathfrak`, `\mathsf`, `\mathsf`, `\mathsf`, `\mathsf`, `\mathtt`}

var symbols = func() map[string]string {
	m := make(map[string]string)
	f := strings.Fields(`α \alpha β \beta γ \gamma δ \delta ε \epsilon ϵ \epsilon ζ \zeta η \eta θ \theta ϑ \vartheta ι \iota κ \kappa λ \lambda μ \mu µ \mu ν \nu ξ \xi π \pi
		ρ \rho σ \sigma ς \varsigma τ \tau υ \upsilon φ \varphi ϕ \phi χ \chi ψ \psi ω \omega Γ \Gamma Δ \Delta Θ \Theta Λ \Lambda Ξ \Xi Π \Pi Σ \Sigma Υ \Upsilon
		Φ \Phi Ψ \Psi Ω \Omega ∞ \infty ∂ \partial ∇ \nabla ∑ \sum ∏ \prod ∫ \int ∬ \iint ∮ \oint √ \surd ± \pm ∓ \mp × \times ÷ \div · \cdot ⋅ \cdot ∗ * ∘ \circ
		≤ \le ≥ \ge ≠ \ne ≈ \approx ≡ \equiv ∼ \sim ≃ \simeq ≅ \cong ∝ \propto ≪ \ll ≫ \gg → \to ← \leftarrow ↔ \leftrightarrow ⇒ \Rightarrow ⇐ \Leftarrow ⇔ \Leftrightarrow ↦ \mapsto
		∈ \in ∉ \notin ∋ \ni ⊂ \subset ⊆ \subseteq ⊃ \supset ⊇ \supseteq ∪ \cup ∩ \cap ∅ \emptyset ∀ \forall ∃ \exists ¬ \neg ∧ \wedge ∨ \vee ⊕ \oplus ⊗ \otimes ⊥ \perp ∥ \parallel ∣ \mid
		… \ldots ⋯ \cdots ⋮ \vdots ⋱ \ddots ′ ' ″ '' ℝ \mathbb{R} ℕ \mathbb{N} ℤ \mathbb{Z} ℚ \mathbb{Q} ℂ \mathbb{C} ℏ \hbar ℓ \ell ⟨ \langle ⟩ \rangle ⌊ \lfloor ⌋ \rfloor ⌈ \lceil ⌉ \rceil − - – - ‖ \| ∠ \angle ° ^\circ ∖ \setminus
		⋃ \bigcup ⋂ \bigcap ⨁ \bigoplus ⨂ \bigotimes ⋁ \bigvee ⋀ \bigwedge ∐ \coprod ⟶ \longrightarrow ⟹ \Longrightarrow ⟺ \iff ⊢ \vdash ⊤ \top ⪯ \preceq ⪰ \succeq ϱ \varrho ϖ \varpi ı \imath ȷ \jmath
		ℜ \Re ℑ \Im ℵ \aleph`)
	for i := 0; i+1 < len(f); i += 2 {
		m[f[i]] = f[i+1]
	}
	return m
}()
