package markdown

import (
	"strings"

	"github.com/webreaderapi/webreader/reader/dom"
)

// longestFormula bounds the nodes of one formula that are read.
const longestFormula = 5000

// mathTeX is the TeX of a math element: its annotation, its alttext, or made from its MathML.
func mathTeX(t *dom.Tree, math dom.ID) string {
	seen := 0
	for c := t.Following(math, math); c != 0 && seen < longestFormula; c = t.Following(c, math) {
		seen++
		if t.Name(c) == "annotation" && texEncoding(t.Attr(c, "encoding")) {
			if tex := strings.TrimSpace(t.Text(c)); tex != "" {
				return tex
			}
		}
	}
	if alt := strings.TrimSpace(t.Attr(math, "alttext")); alt != "" {
		return alt
	}
	return convertMath(t, math)
}

// part is an element of MathML of which the children are being made.
type part struct {
	node dom.ID
	made []string
}

// convertMath makes TeX of MathML, without recursion: a stack of elements and what their children gave.
func convertMath(t *dom.Tree, math dom.ID) string {
	stack := []part{{node: math}}
	c, seen, bytes := t.FirstChild(math), 0, 0
	for {
		top := &stack[len(stack)-1]
		if c == 0 || seen > longestFormula || bytes > 1<<16 {
			tex := texOf(t, top.node, top.made)
			bytes += len(tex)
			if len(stack) == 1 {
				return strings.TrimSpace(tex)
			}
			c = t.Next(top.node)
			if seen > longestFormula || bytes > 1<<16 {
				c = 0
			}
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].made = append(stack[len(stack)-1].made, tex)
			continue
		}
		seen++
		switch {
		case t.Kind(c) == dom.Text:
			if s := strings.TrimSpace(t.Data(c)); s != "" {
				top.made = append(top.made, s)
			}
		case t.Kind(c) == dom.Element && !strings.HasPrefix(t.Name(c), "annotation") && t.Name(c) != "mphantom":
			stack = append(stack, part{node: c})
			c = t.FirstChild(c)
			continue
		}
		c = t.Next(c)
	}
}

func texOf(t *dom.Tree, n dom.ID, made []string) string {
	arg := func(i int) string {
		if i < len(made) {
			return made[i]
		}
		return ""
	}
	switch t.Name(n) {
	case "mi", "mn", "mo", "ms":
		return symbol(strings.Join(made, ""), t.Name(n), t.Attr(n, "mathvariant"))
	case "mtext":
		return `\text{` + strings.Join(made, " ") + "}"
	case "mspace":
		return `\ `
	case "msup":
		return base(arg(0)) + "^" + group(arg(1))
	case "msub":
		return base(arg(0)) + "_" + group(arg(1))
	case "msubsup":
		return base(arg(0)) + "_" + group(arg(1)) + "^" + group(arg(2))
	case "munder":
		return under(arg(0), arg(1))
	case "mover":
		return over(arg(0), arg(1))
	case "munderover":
		return base(arg(0)) + "_" + group(arg(1)) + "^" + group(arg(2))
	case "mfrac":
		if t.Attr(n, "linethickness") == "0" {
			return `\binom{` + arg(0) + "}{" + arg(1) + "}"
		}
		return `\frac{` + arg(0) + "}{" + arg(1) + "}"
	case "msqrt":
		return `\sqrt{` + joinTeX(made) + "}"
	case "mroot":
		return `\sqrt[` + arg(1) + "]{" + arg(0) + "}"
	case "mfenced":
		return fenced(t, n, made)
	case "mtable":
		return `\begin{matrix} ` + strings.Join(made, ` \\ `) + ` \end{matrix}`
	case "mtr", "mlabeledtr":
		return strings.Join(made, " & ")
	}
	return joinTeX(made)
}

func fenced(t *dom.Tree, n dom.ID, made []string) string {
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
	return `\left` + fence(open) + " " + strings.Join(made, sep+" ") + ` \right` + fence(shut)
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
	if a == `\sum` || a == `\prod` || a == `\lim` || a == `\max` || a == `\min` || a == `\int` {
		return a + "_" + group(b)
	}
	if b == "_" || b == `\_` || b == "¯" {
		return `\underline{` + a + "}"
	}
	return `\underset{` + b + "}{" + a + "}"
}

var accents = map[string]string{"^": `\hat`, "~": `\tilde`, `\sim`: `\tilde`, "¯": `\bar`, "‾": `\overline`, "→": `\vec`, `\to`: `\vec`, "˙": `\dot`, "¨": `\ddot`, "ˇ": `\check`, "_": `\overline`, "˜": `\tilde`, "ˆ": `\hat`}

func over(a, b string) string {
	if cmd, ok := accents[strings.TrimSpace(b)]; ok {
		return cmd + "{" + a + "}"
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
	for i, s := range made {
		if i > 0 && b.Len() > 0 && needsBlank(made[i-1], s) {
			b.WriteByte(' ')
		}
		b.WriteString(s)
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
	if cmd, ok := symbols[s]; ok {
		return cmd
	}
	switch s {
	case "{", "}", "%", "#", "&", "$", "_":
		return `\` + s
	case "\u2061", "\u2062", "\u2063", "\u2064", "\u200b":
		return ""
	}
	if name == "mi" && len(s) > 1 && allLetters(s) {
		if functions[s] {
			return `\` + s
		}
		return `\mathrm{` + s + "}"
	}
	switch variant {
	case "bold":
		return `\mathbf{` + s + "}"
	case "double-struck":
		return `\mathbb{` + s + "}"
	case "script":
		return `\mathcal{` + s + "}"
	case "fraktur":
		return `\mathfrak{` + s + "}"
	}
	return s
}

var symbols = func() map[string]string {
	m := make(map[string]string)
	f := strings.Fields(`α \alpha β \beta γ \gamma δ \delta ε \epsilon ϵ \epsilon ζ \zeta η \eta θ \theta ϑ \vartheta ι \iota κ \kappa λ \lambda μ \mu µ \mu ν \nu ξ \xi π \pi
		ρ \rho σ \sigma ς \varsigma τ \tau υ \upsilon φ \varphi ϕ \phi χ \chi ψ \psi ω \omega Γ \Gamma Δ \Delta Θ \Theta Λ \Lambda Ξ \Xi Π \Pi Σ \Sigma Υ \Upsilon
		Φ \Phi Ψ \Psi Ω \Omega ∞ \infty ∂ \partial ∇ \nabla ∑ \sum ∏ \prod ∫ \int ∬ \iint ∮ \oint √ \surd ± \pm ∓ \mp × \times ÷ \div · \cdot ⋅ \cdot ∗ * ∘ \circ
		≤ \le ≥ \ge ≠ \ne ≈ \approx ≡ \equiv ∼ \sim ≃ \simeq ≅ \cong ∝ \propto ≪ \ll ≫ \gg → \to ← \leftarrow ↔ \leftrightarrow ⇒ \Rightarrow ⇐ \Leftarrow ⇔ \Leftrightarrow ↦ \mapsto
		∈ \in ∉ \notin ∋ \ni ⊂ \subset ⊆ \subseteq ⊃ \supset ⊇ \supseteq ∪ \cup ∩ \cap ∅ \emptyset ∀ \forall ∃ \exists ¬ \neg ∧ \wedge ∨ \vee ⊕ \oplus ⊗ \otimes ⊥ \perp ∥ \parallel ∣ \mid
		… \ldots ⋯ \cdots ⋮ \vdots ⋱ \ddots ′ ' ″ '' ℝ \mathbb{R} ℕ \mathbb{N} ℤ \mathbb{Z} ℚ \mathbb{Q} ℂ \mathbb{C} ℏ \hbar ℓ \ell ⟨ \langle ⟩ \rangle ⌊ \lfloor ⌋ \rfloor ⌈ \lceil ⌉ \rceil − - – - ‖ \| ∠ \angle ° ^\circ ∖ \setminus`)
	for i := 0; i+1 < len(f); i += 2 {
		m[f[i]] = f[i+1]
	}
	return m
}()
