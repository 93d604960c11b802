package dom

import (
	"slices"
	"strconv"
	"strings"
)

// look is what a style says about whether its text can be seen.
type look struct {
	displayNone, invisible, clear, away, clipped, flat bool
	fontSize                                           size
	absolute, overflow, thin, low, shut                bool
	moves                                              bool // it has a transform, a transition or an animation
	hasColor, hasBack, clipsText                       bool
	color, back                                        color
}

type size uint8

const (
	sizeSome size = iota
	sizeNone
)

// hidden is true when the values alone hide the element.
func (l *look) hidden() bool {
	return l.displayNone || l.invisible || l.clear || l.away || l.clipped && l.absolute || l.flat || l.overflow && (l.thin || l.low || l.shut)
}

// fades is true when only opacity or visibility hide it, as animations do at their start.
func (l *look) fades() bool {
	return (l.clear || l.invisible) && !l.displayNone && !l.away && !l.clipped && !(l.overflow && (l.thin || l.low || l.shut))
}

// opens is true for the ways in which panels are closed.
func (l *look) opens() bool {
	return l.displayNone || l.invisible || l.overflow && (l.low || l.shut)
}

// apply takes one declaration into l; later ones win.
func (l *look) apply(prop, val string) {
	switch prop {
	case "display":
		l.displayNone = val == "none"
	case "visibility":
		l.invisible = val == "hidden" || val == "collapse"
	case "content-visibility":
		l.displayNone = val == "hidden"
	case "opacity":
		v, ok := number(val)
		l.clear = ok && v < 0.05
	case "font-size":
		l.fontSize = sizeSome
		if v, unit, ok := measure(val); ok && (v <= 0 || unit == "px" && v < 2.5 || unit == "pt" && v < 2 || (unit == "em" || unit == "rem") && v < 0.12 || unit == "%" && v < 12) {
			l.fontSize = sizeNone
		}
	case "font":
		if strings.HasPrefix(val, "0/") || strings.HasPrefix(val, "0 ") || strings.Contains(val, " 0/") || strings.Contains(val, " 0px") || strings.HasPrefix(val, "0px") {
			l.fontSize = sizeNone
		}
	case "overflow", "overflow-y", "overflow-x":
		l.overflow = strings.HasPrefix(val, "hidden") || strings.HasPrefix(val, "clip")
	case "width", "max-width":
		v, unit, ok := measure(val)
		l.thin = ok && (v == 0 || v <= 1 && unit == "px")
	case "height":
		v, unit, ok := measure(val)
		l.low = ok && (v == 0 || v <= 1 && unit == "px")
	case "max-height":
		v, unit, ok := measure(val)
		l.shut = ok && (v == 0 || v <= 1 && unit == "px")
	case "filter":
		if i := strings.Index(val, "opacity("); i >= 0 {
			v, ok := number(strings.TrimRight(val[i+len("opacity("):], ") "))
			l.clear = l.clear || ok && v < 0.05
		}
	case "color", "-webkit-text-fill-color":
		l.color, l.hasColor = parseColor(val), true
	case "background", "background-color":
		l.back, l.hasBack = parseColor(firstWord(val)), true
		if prop == "background" && (strings.Contains(val, "url(") || strings.Contains(val, "gradient")) {
			l.back = color{}
		}
	case "background-image":
		if val != "none" {
			l.back, l.hasBack = color{}, true
		}
	case "background-clip", "-webkit-background-clip":
		l.clipsText = val == "text"
	default:
		l.place(prop, val)
	}
}

// place takes a declaration into l that moves or cuts a box.
func (l *look) place(prop, val string) {
	switch prop {
	case "position":
		l.absolute = val == "absolute" || val == "fixed"
	case "left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top", "margin-right":
		if v, unit, ok := measure(val); ok {
			far := v <= -900 && unit == "px" || v <= -60 && (unit == "em" || unit == "rem") || v <= -100 && (unit == "vw" || unit == "vh") && prop != "margin-top" || v >= 5000 && unit == "px" || v <= -500 && unit == "%" || v <= -700 && unit == "pt"
			l.away = l.away || far
		}
	case "transform":
		l.moves = val != "none"
		if strings.Contains(val, "scale(0)") || strings.Contains(val, "scale(0,") {
			l.flat = true
		}
		if i := strings.Index(val, "translate"); i >= 0 {
			if j := strings.IndexByte(val[i:], '('); j >= 0 {
				if v, unit, ok := measure(strings.TrimLeft(val[i+j+1:], " ")); ok && unit == "px" && (v <= -2000 || v >= 5000) {
					l.away = true
				}
			}
		}
	case "transition", "animation", "will-change", "-webkit-transition", "-webkit-animation", "animation-name":
		l.moves = val != "none" && val != "auto"
	case "clip":
		l.clipped = smallRect(val)
	case "clip-path", "-webkit-clip-path":
		if strings.HasPrefix(val, "inset(50%") || strings.HasPrefix(val, "inset(100%") || strings.HasPrefix(val, "circle(0") || strings.HasPrefix(val, "polygon(0 0, 0 0") || strings.HasPrefix(val, "polygon(0px 0px, 0px 0px") {
			l.flat = true
		}
	}
}

func smallRect(val string) bool {
	inner, ok := strings.CutPrefix(val, "rect(")
	if !ok {
		return false
	}
	inner = strings.TrimRight(inner, ") ")
	var edge [4]float64
	i := 0
	for word := range strings.FieldsFuncSeq(inner, func(r rune) bool { return r == ',' || r == ' ' }) {
		v, _, ok := measure(word)
		if !ok || i > 3 {
			return false
		}
		edge[i] = v
		i++
	}
	return i == 4 && (edge[2]-edge[0] <= 1 || edge[1]-edge[3] <= 1)
}

func number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	scale := 1.0
	if p, ok := strings.CutSuffix(s, "%"); ok {
		s, scale = p, 0.01
	}
	v, err := strconv.ParseFloat(s, 64)
	return v * scale, err == nil
}

// measure is a length and its unit; a number without one counts as pixels.
func measure(s string) (float64, string, bool) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == '-' || s[i] == '+') {
		i++
	}
	v, err := strconv.ParseFloat(s[:i], 64)
	if err != nil {
		return 0, "", false
	}
	j := i
	for j < len(s) && (s[j] >= 'a' && s[j] <= 'z' || s[j] == '%') {
		j++
	}
	unit := s[i:j]
	if unit == "" {
		unit = "px"
	}
	return v, unit, true
}

type color struct {
	r, g, b      uint8
	known, clear bool
}

var colorNames = map[string]color{
	"white": {255, 255, 255, true, false}, "black": {0, 0, 0, true, false}, "red": {255, 0, 0, true, false}, "green": {0, 128, 0, true, false}, "blue": {0, 0, 255, true, false},
	"yellow": {255, 255, 0, true, false}, "gray": {128, 128, 128, true, false}, "grey": {128, 128, 128, true, false}, "silver": {192, 192, 192, true, false}, "snow": {255, 250, 250, true, false},
	"ivory": {255, 255, 240, true, false}, "whitesmoke": {245, 245, 245, true, false}, "navy": {0, 0, 128, true, false}, "transparent": {known: true, clear: true},
}

func near(a, b color) bool {
	d := func(x, y uint8) int { return max(int(x), int(y)) - min(int(x), int(y)) }
	return d(a.r, b.r) <= 8 && d(a.g, b.g) <= 8 && d(a.b, b.b) <= 8
}

// parseColor reads a colour; one that it does not know is not known.
func parseColor(s string) color {
	s = strings.ToLower(strings.TrimSpace(s))
	if c, ok := colorNames[s]; ok {
		return c
	}
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		return hexColor(hex)
	}
	if i := strings.IndexByte(s, '('); i > 0 && strings.HasPrefix(s, "rgb") {
		var v [4]float64
		v[3] = 1
		k := 0
		for word := range strings.FieldsFuncSeq(strings.TrimRight(s[i+1:], ")"), func(r rune) bool { return r == ',' || r == ' ' || r == '/' }) {
			x, ok := number(word)
			if !ok || k > 3 {
				return color{}
			}
			if k < 3 && strings.HasSuffix(word, "%") {
				x *= 255
			}
			v[k] = x
			k++
		}
		if k < 3 {
			return color{}
		}
		return color{uint8(min(max(v[0], 0), 255)), uint8(min(max(v[1], 0), 255)), uint8(min(max(v[2], 0), 255)), true, v[3] < 0.05}
	}
	return color{}
}

func hexColor(hex string) color {
	if len(hex) == 3 || len(hex) == 4 {
		wide := make([]byte, 0, 8)
		for i := range len(hex) {
			wide = append(wide, hex[i], hex[i])
		}
		hex = string(wide)
	}
	if len(hex) != 6 && len(hex) != 8 {
		return color{}
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return color{}
	}
	clear := false
	if len(hex) == 8 {
		clear = v&0xff < 13
		v >>= 8
	}
	return color{uint8(v >> 16), uint8(v >> 8), uint8(v), true, clear}
}

func firstWord(s string) string {
	if strings.HasPrefix(s, "rgb") {
		if i := strings.IndexByte(s, ')'); i >= 0 {
			return s[:i+1]
		}
	}
	s, _, _ = strings.Cut(s, " ")
	return s
}

// declarations gives the declarations of a style that say something about what is seen.
func declarations(style string, take func(prop, val string, important bool)) {
	for n := 0; style != "" && n < 200; n++ {
		var one string
		one, style = cutDeclaration(style)
		prop, val, ok := strings.Cut(one, ":")
		if !ok {
			continue
		}
		prop = strings.ToLower(strings.TrimSpace(prop))
		if !tells[prop] {
			continue
		}
		val = strings.ToLower(strings.TrimSpace(val))
		val, important := strings.CutSuffix(val, "!important")
		if !important {
			val, important = strings.CutSuffix(val, "! important")
		}
		take(prop, strings.TrimSpace(val), important)
	}
}

// cutDeclaration cuts at the first semicolon outside of parentheses and quotes.
func cutDeclaration(s string) (one, rest string) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ';' && depth <= 0:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

var tells = func() map[string]bool {
	m := make(map[string]bool)
	for _, p := range strings.Fields(`display visibility content-visibility opacity font-size font position left top right bottom text-indent margin-left margin-top margin-right transform
		transition animation will-change -webkit-transition -webkit-animation animation-name clip clip-path -webkit-clip-path overflow overflow-y overflow-x width max-width height max-height filter
		color -webkit-text-fill-color background background-color background-image background-clip -webkit-background-clip`) {
		m[p] = true
	}
	return m
}()

// The bounds of a page's own style sheets: more is not read.
const (
	mostCSS   = 512 << 10
	mostRules = 5000
	mostTries = 2_000_000 // of a rule on an element, for a page
)

// sheet has the simple rules of a page's style elements: one compound selector of a tag, an id and
// classes each.
type sheet struct {
	bytes int
	rules []rule
	by    [3]map[string][]int32 // by kind of name: the rules whose selector has that name for its rarest
	names []string              // the classes of all rules
	seen  []int32
	tries int
}

type rule struct {
	tag, id string
	lo, hi  int32 // its classes in the sheet's names
	weight  int
	body    string // its declarations as they are, until the rule is found to match something
	decls   []declaration
}

type declaration struct {
	prop, val string
	important bool
}

// parse reads a style sheet. Rules for other media than a wide screen are passed over.
func (s *sheet) parse(css string) {
	if s.bytes += len(css); s.bytes > mostCSS {
		return
	}
	css = stripComments(css)
	if s.by[byTag] == nil {
		s.by = [3]map[string][]int32{{}, {}, {}}
	}
	for css != "" && len(s.rules) < mostRules {
		i := strings.IndexAny(css, "{};")
		if i < 0 {
			return
		}
		if css[i] != '{' {
			css = css[i+1:]
			continue
		}
		selector := strings.TrimSpace(css[:i])
		css = css[i+1:]
		if strings.HasPrefix(selector, "@") {
			if !entersAt(selector) {
				css = skipBlock(css)
			}
			continue
		}
		end := strings.IndexAny(css, "{}")
		if end < 0 {
			return
		}
		if css[end] == '{' { // nested rules: only the outer ones are read
			css = skipBlock(css)
			continue
		}
		s.add(selector, css[:end])
		css = css[end+1:]
	}
}

func stripComments(css string) string {
	if !strings.Contains(css, "/*") {
		return css
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(css, "/*")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, css, ok = strings.Cut(rest, "*/"); !ok {
			return b.String()
		}
	}
}

func entersAt(at string) bool {
	switch {
	case strings.HasPrefix(at, "@media"):
		return mediaApplies(strings.TrimSpace(at[len("@media"):]))
	case strings.HasPrefix(at, "@supports"), strings.HasPrefix(at, "@layer"):
		return true
	}
	return false
}

// mediaApplies is true when a query holds for a screen 1280 pixels wide.
func mediaApplies(query string) bool {
	query = strings.ToLower(query)
	for _, no := range [...]string{"print", "speech", "not ", "prefers", "hover", "orientation: portrait", "orientation:portrait", "forced", "scripting", "height"} {
		if strings.Contains(query, no) {
			return false
		}
	}
	for rest := query; ; {
		i := strings.Index(rest, "width")
		if i < 0 {
			return true
		}
		low := i >= 4 && rest[i-4:i] == "min-"
		high := i >= 4 && rest[i-4:i] == "max-"
		rest = rest[i+len("width"):]
		v, unit, ok := measure(strings.TrimLeft(rest, ": "))
		if !ok {
			return false
		}
		if unit == "em" || unit == "rem" {
			v *= 16
		}
		if low && v > 1280 || high && v < 1280 {
			return false
		}
	}
}

// skipBlock passes over a block of which the opening brace is behind.
func skipBlock(css string) string {
	depth := 1
	for i := 0; i < len(css); i++ {
		switch css[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return css[i+1:]
			}
		}
	}
	return ""
}

func (s *sheet) add(selectors, body string) {
	for one := range strings.SplitSeq(selectors, ",") {
		one = strings.TrimSpace(one)
		r, kind, key, ok := s.compound(one)
		if !ok {
			continue
		}
		r.body = body
		s.by[kind][key] = append(s.by[kind][key], int32(len(s.rules)))
		s.rules = append(s.rules, r)
	}
}

// read reads the declarations of a rule, once.
func (r *rule) read() {
	if r.body == "" {
		return
	}
	declarations(r.body, func(prop, val string, important bool) {
		r.decls = append(r.decls, declaration{prop, val, important})
	})
	r.body = ""
}

// The kinds of names in a selector.
const (
	byTag = iota
	byClass
	byID
)

// compound reads a selector of one tag, one id and classes; key is the rarest of them.
func (s *sheet) compound(sel string) (r rule, kind int, key string, ok bool) {
	if sel == "" || len(sel) > 200 {
		return r, 0, "", false
	}
	r.lo = int32(len(s.names))
	for sel != "" {
		kind := byte(0)
		if sel[0] == '.' || sel[0] == '#' {
			kind, sel = sel[0], sel[1:]
		}
		n := 0
		for n < len(sel) && (sel[n] == '-' || sel[n] == '_' || sel[n] >= '0' && sel[n] <= '9' || sel[n]|0x20 >= 'a' && sel[n]|0x20 <= 'z' || sel[n] >= 0x80) {
			n++
		}
		if n == 0 {
			return r, 0, "", false
		}
		name := sel[:n]
		sel = sel[n:]
		switch kind {
		case '.':
			s.names = append(s.names, name)
			r.weight += 10
		case '#':
			r.id = name
			r.weight += 100
		default:
			r.tag = strings.ToLower(name)
			r.weight++
		}
	}
	r.hi = int32(len(s.names))
	switch {
	case r.id != "":
		return r, byID, r.id, true
	case r.hi > r.lo:
		return r, byClass, s.names[r.hi-1], true
	}
	return r, byTag, r.tag, true
}

// style takes the rules that match n, and its own style, into l.
func (s *sheet) style(t *Tree, n ID, class, id, inline string, l *look) {
	if len(s.rules) > 0 {
		s.match(t, n, class, id)
	}
	if len(s.seen) == 0 && inline == "" {
		return
	}
	for _, k := range s.seen {
		for _, d := range s.rules[k].decls {
			if !d.important {
				l.apply(d.prop, d.val)
			}
		}
	}
	if inline != "" {
		declarations(inline, func(prop, val string, _ bool) { l.apply(prop, val) })
	}
	for _, k := range s.seen {
		for _, d := range s.rules[k].decls {
			if d.important {
				l.apply(d.prop, d.val)
			}
		}
	}
}

// match leaves in s.seen the rules that hold for n, the weakest first.
func (s *sheet) match(t *Tree, n ID, class, id string) {
	s.seen = s.seen[:0]
	s.try(t, n, class, id, s.by[byTag][t.nodes[n].data])
	if id != "" {
		s.try(t, n, class, id, s.by[byID][id])
	}
	for word, rest := cutWord(class); word != ""; word, rest = cutWord(rest) {
		if some := s.by[byClass][word]; some != nil {
			s.try(t, n, class, id, some)
		}
	}
	if len(s.seen) > 1 {
		slices.SortFunc(s.seen, func(a, b int32) int {
			if d := s.rules[a].weight - s.rules[b].weight; d != 0 {
				return d
			}
			return int(a - b)
		})
	}
}

func (s *sheet) try(t *Tree, n ID, class, id string, some []int32) {
	for _, k := range some {
		if s.tries++; len(s.seen) > 32 || s.tries > mostTries {
			return
		}
		r := &s.rules[k]
		if r.tag != "" && r.tag != t.nodes[n].data || r.id != "" && r.id != id {
			continue
		}
		all := true
		for _, c := range s.names[r.lo:r.hi] {
			all = all && hasWord(class, c)
		}
		if all && !slices.Contains(s.seen, k) {
			r.read()
			s.seen = append(s.seen, k)
		}
	}
}
