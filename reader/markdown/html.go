package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// HTML writes the kept nodes as minimal HTML: structure, links and images, no classes, styles or
// scripts. Addresses are absolute.
func HTML(t *dom.Tree, keep dom.Set, o Options) string {
	if t.Len() <= int(dom.Root) {
		return ""
	}
	h := htmlWriter{w: &writer{t: t, keep: keep, o: o, links: newResolver(t, o.Base)}}
	h.walk()
	return strings.TrimSpace(string(h.out))
}

type htmlWriter struct {
	w    *writer
	out  []byte
	open []openTag
	pre  int
}

type openTag struct {
	node dom.ID
	name string
}

func (h *htmlWriter) walk() {
	t := h.w.t
	at, n := dom.Root, t.FirstChild(dom.Root)
	for {
		if n == 0 {
			if at == dom.Root {
				return
			}
			h.leave(at)
			n, at = t.Next(at), t.Parent(at)
			continue
		}
		if h.enter(n) {
			at, n = n, t.FirstChild(n)
			continue
		}
		n = t.Next(n)
	}
}

func (h *htmlWriter) leave(n dom.ID) {
	for k := len(h.open) - 1; k >= 0 && h.open[k].node == n; k-- {
		h.out = append(append(append(h.out, "</"...), h.open[k].name...), '>')
		if h.open[k].name == "pre" {
			h.pre--
		}
		if isBlock(h.w.t.Tag(n)) {
			h.out = append(h.out, '\n')
		}
		h.open = h.open[:k]
	}
}

// enter writes the start of n and is true when its children are to be visited.
func (h *htmlWriter) enter(n dom.ID) bool {
	t := h.w.t
	if !h.w.keep.Has(n) {
		return false
	}
	if t.Kind(n) == dom.Text {
		h.text(t.Data(n))
		return false
	}
	if t.Kind(n) != dom.Element {
		return false
	}
	if t.Foreign(n) {
		if t.Name(n) == "math" {
			h.text("$" + mathTeX(t, n) + "$")
		}
		return false
	}
	switch tag := t.Tag(n); tag {
	case atom.Script, atom.Style, atom.Head, atom.Template, atom.Select, atom.Textarea, atom.Input, atom.Iframe, atom.Object, atom.Embed,
		atom.Video, atom.Audio, atom.Canvas, atom.Link, atom.Meta, atom.Source, atom.Track, atom.Button, atom.Datalist, atom.Frame:
		return tag == atom.Template && t.HasAttr(n, "shadowrootmode")
	case atom.Br, atom.Hr:
		h.start(n, t.Name(n), false)
		return false
	case atom.Img:
		h.image(n)
		return false
	case atom.A:
		if abs := h.w.links.resolve(t.Attr(n, "href")); abs != "" && h.w.o.Links != "none" {
			h.start(n, "a", true, dom.Attr{Key: "href", Val: abs})
		}
	case atom.Div, atom.Center:
		if h.holdsText(n) {
			h.start(n, "div", true)
		}
	case atom.Td, atom.Th:
		h.start(n, t.Name(n), true, h.numbers(n, "colspan", "rowspan")...)
	case atom.Ol:
		h.start(n, "ol", true, h.numbers(n, "start")...)
	case atom.Li:
		h.start(n, "li", true, h.numbers(n, "value")...)
	case atom.Time:
		if v := t.Attr(n, "datetime"); v != "" && len(v) < 64 {
			h.start(n, "time", true, dom.Attr{Key: "datetime", Val: v})
		}
	case atom.Pre:
		h.pre++
		h.start(n, "pre", true)
	default:
		if htmlTags[tag] {
			h.start(n, t.Name(n), true)
		}
	}
	return true
}

var htmlTags = func() map[atom.Atom]bool {
	m := make(map[atom.Atom]bool)
	for _, tag := range []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Ul, atom.Dl, atom.Dt, atom.Dd, atom.Blockquote, atom.Code, atom.Kbd,
		atom.Samp, atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Figure, atom.Figcaption, atom.Strong, atom.B, atom.Em, atom.I, atom.Del, atom.S,
		atom.Sup, atom.Sub, atom.Q, atom.Cite, atom.Abbr, atom.Mark, atom.Ins, atom.Small, atom.Details, atom.Summary, atom.Ruby, atom.Rt, atom.Rp, atom.Var, atom.Section, atom.Article, atom.Address, atom.U, atom.Dfn} {
		m[tag] = true
	}
	return m
}()

func (h *htmlWriter) holdsText(n dom.ID) bool {
	t := h.w.t
	for c := t.FirstChild(n); c != 0; c = t.Next(c) {
		if h.w.keep.Has(c) && (t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) != "" || t.Kind(c) == dom.Element && !isBlock(t.Tag(c)) && t.Tag(c) != 0) {
			return true
		}
	}
	return false
}

func (h *htmlWriter) numbers(n dom.ID, keys ...string) []dom.Attr {
	var some []dom.Attr
	for _, key := range keys {
		if v, err := strconv.Atoi(h.w.t.Attr(n, key)); err == nil && v >= 0 && v < 1_000_000_000 {
			some = append(some, dom.Attr{Key: key, Val: strconv.Itoa(v)})
		}
	}
	return some
}

func (h *htmlWriter) start(n dom.ID, name string, shut bool, attrs ...dom.Attr) {
	h.out = append(append(h.out, '<'), name...)
	for _, a := range attrs {
		h.out = append(append(append(h.out, ' '), a.Key...), `="`...)
		h.escape(a.Val)
		h.out = append(h.out, '"')
	}
	h.out = append(h.out, '>')
	if shut {
		h.open = append(h.open, openTag{n, name})
	}
}

func (h *htmlWriter) image(n dom.ID) {
	alt := h.w.t.Attr(n, "alt")
	src := h.w.source(n)
	switch {
	case h.w.o.Images == "none" || src == "" || tiny(h.w.t, n):
	case h.w.o.Images == "alt":
		h.text(alt)
	default:
		h.start(n, "img", false, dom.Attr{Key: "src", Val: src}, dom.Attr{Key: "alt", Val: alt})
	}
}

func (h *htmlWriter) text(s string) {
	s, _ = dom.Clean(s)
	if h.pre == 0 && strings.TrimSpace(s) == "" {
		if k := len(h.out); k > 0 && h.out[k-1] != ' ' && h.out[k-1] != '\n' {
			h.out = append(h.out, ' ')
		}
		return
	}
	h.escape(s)
}

func (h *htmlWriter) escape(s string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '<':
			h.out = append(h.out, "&lt;"...)
		case '>':
			h.out = append(h.out, "&gt;"...)
		case '&':
			h.out = append(h.out, "&amp;"...)
		case '"':
			h.out = append(h.out, "&quot;"...)
		default:
			h.out = append(h.out, c)
		}
	}
}
