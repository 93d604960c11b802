package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// lazySources are attributes in which scripts keep the address of an image until it is wanted.
var lazySources = []string{"data-src", "data-original", "data-lazy-src", "data-lazy", "data-original-src", "data-hi-res-src",
	"data-actualsrc", "data-url", "data-image", "data-img-src", "data-full-src", "data-large-file", "data-orig-file", "data-echo",
	"data-defer-src", "data-src-large", "data-image-src", "data-fallback-src", "data-ll-src", "data-pagespeed-lazy-src", "nitro-lazy-src",
	"data-cfsrc", "data-ezsrc", "data-lazyload", "data-delayed-url", "data-nimg-src", "data-raw-src", "data-zoom-src"}

var lazySets = []string{"srcset", "data-srcset", "data-lazy-srcset", "data-ll-srcset", "nitro-lazy-srcset", "data-ezsrcset", "data-original-set"}

// image writes an image with the source that a browser would show in the end.
func (w *writer) image(n dom.ID) {
	t := w.t
	if w.plain || w.mathImage(n) {
		return
	}
	alt := strings.TrimSpace(t.Attr(n, "alt"))
	class := t.Attr(n, "class")
	if alt != "" && hasToken(class, "emoji", "wp-smiley", "emojione", "twemoji") {
		w.text(alt)
		return
	}
	if tiny(t, n) || t.Attr(n, "aria-hidden") == "true" && alt == "" {
		return
	}
	if twin := w.twin(n); twin != 0 {
		if src := w.source(twin); src != "" {
			if alt == "" {
				alt = strings.TrimSpace(t.Attr(twin, "alt"))
			}
			w.putImage(src, alt)
			return
		}
	}
	w.putImage(w.source(n), alt)
}

// twin is the image in the noscript that stands beside n or, when n is only wrapped, beside its wrapper: the
// one that a page means when n is but a small preview. 0 when there is none.
func (w *writer) twin(n dom.ID) dom.ID {
	t := w.t
	for at, up := n, 0; up < 3; up++ {
		seen := 0
		for c := t.Next(at); c != 0 && seen < 6; c = t.Next(c) {
			seen++
			if t.Tag(c) == atom.Noscript {
				if img := t.First(c, atom.Img); img != 0 && c != w.twinned && onlyImages(t, c) {
					w.twinned = c
					return img
				}
				return 0
			}
			if t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) != "" || t.Tag(c) == atom.Img && w.source(c) != "" {
				return 0
			}
		}
		if at = t.Parent(at); t.Tag(at) != atom.Div && t.Tag(at) != atom.Span && t.Tag(at) != atom.Picture || t.FirstChild(at) != t.LastChild(at) && up > 0 {
			return 0
		}
	}
	return 0
}

// enlarges is true when the link just before, around an image, leads to src itself.
func (w *writer) enlarges(src string) bool {
	if len(w.open) == 0 || w.inLink() {
		return false
	}
	m := w.open[len(w.open)-1]
	return m.kind == markLink && m.wide > 0 && w.targets[m.link-1].url == src && bytes.HasPrefix(w.buf[m.pos+m.wide:], []byte("!["))
}

func (w *writer) putImage(src, alt string) {
	if src == "" {
		return
	}
	if w.enlarges(src) {
		return
	}
	if w.o.Collect {
		w.images = append(w.images, Image{URL: src, Alt: alt})
	}
	switch w.o.Images {
	case "none":
		return
	case "alt":
		if w.space = true; alt != "" {
			w.text(alt)
			w.space = true
		}
		return
	}
	w.sync('!')
	w.buf = append(w.buf, "!["...)
	w.label(alt)
	w.buf = append(w.buf, "]("...)
	w.buf = append(w.buf, src...)
	w.buf = append(w.buf, ')')
	w.literal = 0
}

// label writes text inside square brackets of the writer's own.
func (w *writer) label(s string) {
	s, gone := dom.Clean(s)
	w.stripped += gone
	wide := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if blank(c) {
			wide = true
			continue
		}
		if wide {
			w.buf = append(w.buf, ' ')
			wide = false
		}
		switch c {
		case '[', ']', '\\', '`', '*', '_', '<', '&', '~', '$', '!':
			w.buf = append(w.buf, '\\')
		}
		w.buf = append(w.buf, c)
	}
}

// tiny is true for pixels that count visits.
func tiny(t *dom.Tree, n dom.ID) bool {
	w, wide := size(t.Attr(n, "width"))
	h, high := size(t.Attr(n, "height"))
	return wide && high && w <= 2 && h <= 2
}

func size(s string) (int, bool) {
	v, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(s), "px"))
	return v, err == nil && v > 0
}

// source is the absolute address of an image: its src unless that is a stand-in, then what scripts
// would put there, then the largest of its sets and of a surrounding picture's.
func (w *writer) source(n dom.ID) string {
	t := w.t
	src := t.Attr(n, "src")
	if src != "" && !standIn(src) {
		lazy := hasLazy(t, n)
		if lazy == "" || !looksLazy(t, n, src) {
			return w.links.resolveHTTP(src)
		}
		if abs := w.links.resolveHTTP(lazy); abs != "" {
			return abs
		}
		return w.links.resolveHTTP(src)
	}
	if lazy := hasLazy(t, n); lazy != "" {
		if abs := w.links.resolveHTTP(lazy); abs != "" {
			return abs
		}
	}
	if abs := w.bestOfSets(n); abs != "" {
		return abs
	}
	if lazy := anyLazy(t, n); lazy != "" {
		if abs := w.links.resolveHTTP(lazy); abs != "" {
			return abs
		}
	}
	if p := t.Parent(n); t.Tag(p) == atom.Picture {
		for c := t.FirstChild(p); c != 0; c = t.Next(c) {
			if t.Tag(c) == atom.Source {
				if abs := w.bestOfSets(c); abs != "" {
					return abs
				}
			}
		}
	}
	return ""
}

func (w *writer) bestOfSets(n dom.ID) string {
	for _, key := range lazySets {
		if set := w.t.Attr(n, key); set != "" {
			if best := largest(set); best != "" && !standIn(best) {
				if abs := w.links.resolveHTTP(best); abs != "" {
					return abs
				}
			}
		}
	}
	return ""
}

func hasLazy(t *dom.Tree, n dom.ID) string {
	for _, a := range t.Attrs(n) {
		if len(a.Val) < 4 || len(a.Key) < 8 {
			continue
		}
		for _, key := range lazySources {
			if a.Key == key && !standIn(a.Val) && looksLikeURL(a.Val) {
				return a.Val
			}
		}
	}
	return ""
}

// anyLazy is the address of an image in whatever attribute of its own a script keeps it.
func anyLazy(t *dom.Tree, n dom.ID) string {
	for _, a := range t.Attrs(n) {
		if len(a.Key) < 6 || a.Key[:5] != "data-" || len(a.Val) > longestURL || standIn(a.Val) || !looksLikeURL(a.Val) {
			continue
		}
		path, _, _ := strings.Cut(strings.TrimSpace(a.Val), "?")
		if i := strings.LastIndexByte(path, '.'); i >= 0 && !strings.ContainsAny(path, " ,") && strings.Contains(path, "/") {
			switch strings.ToLower(path[i+1:]) {
			case "jpg", "jpeg", "png", "webp", "gif", "avif", "svg":
				return a.Val
			}
		}
	}
	return ""
}

func looksLikeURL(s string) bool {
	s = strings.TrimSpace(s)
	return !strings.ContainsAny(s, "{}<>\n") && (strings.Contains(s, "/") || strings.Contains(s, "."))
}

// looksLazy is true when src itself is likely a small stand-in, since the image is loaded by script.
func looksLazy(t *dom.Tree, n dom.ID, src string) bool {
	class := strings.ToLower(t.Attr(n, "class"))
	if strings.Contains(class, "lazy") || strings.Contains(class, "blur") || t.HasAttr(n, "data-src") || t.HasAttr(n, "data-lazy-src") {
		return true
	}
	return false
}

// standIn is true for a source that only keeps an image's place.
func standIn(src string) bool {
	src = strings.TrimSpace(src)
	if src == "" || src == "#" || src == "about:blank" {
		return true
	}
	if len(src) > 5 && strings.EqualFold(src[:5], "data:") || strings.HasPrefix(src, "blob:") {
		return true
	}
	path, _, _ := strings.Cut(src, "?")
	name := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "blank", "spacer", "pixel", "transparent", "placeholder", "loading", "loader", "lazy", "lazyload", "grey", "gray", "1x1",
		"empty", "trans", "clear", "px", "dot", "spinner", "ajax-loader", "lazy-placeholder", "image-placeholder", "placeholder-image",
		"cleardot", "img-placeholder", "lazy_placeholder", "default-placeholder", "white", "preload", "t", "s", "p", "x", "0":
		return len(name) > 1 || strings.HasSuffix(path, ".gif")
	}
	return strings.HasPrefix(name, "placeholder") || strings.HasSuffix(name, "-placeholder") || strings.HasSuffix(name, "_placeholder")
}

// largest is the widest or densest candidate of a srcset.
func largest(set string) string {
	best, most := "", -1.0
	for i := 0; i < len(set); {
		for i < len(set) && (blank(set[i]) || set[i] == ',') {
			i++
		}
		from := i
		for i < len(set) && !blank(set[i]) {
			i++
		}
		src := set[from:i]
		trimmed := strings.TrimRight(src, ",")
		weight := 1.0
		if trimmed == src {
			from = i
			for i < len(set) && set[i] != ',' {
				i++
			}
			weight = descriptor(set[from:i])
		}
		if trimmed != "" && weight > most {
			best, most = trimmed, weight
		}
	}
	return best
}

func descriptor(s string) float64 {
	s = strings.TrimSpace(s)
	if s == "" {
		return 1
	}
	first, _, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(strings.TrimRight(first, "wxh"), 64)
	if err != nil || v < 0 {
		return 1
	}
	return v
}

func (r *resolver) resolveHTTP(raw string) string {
	abs := r.resolve(raw)
	if strings.HasPrefix(abs, "mailto:") {
		return ""
	}
	return abs
}

// noscript shows the image that a page without scripts has, unless the one with scripts was
// written just before; other content in it is shown when it is kept.
func (w *writer) noscript(n dom.ID) bool {
	t := w.t
	if !w.keep.Has(t.Parent(n)) || t.Tag(t.Parent(n)) == atom.Head {
		return false
	}
	if c := t.FirstChild(n); w.keep.Has(n) && c != 0 && !onlyImages(t, n) {
		return true
	}
	if n == w.twinned || w.imageBefore(n) || w.imageBehind(n) {
		return false
	}
	seen := 0
	for c := t.Following(n, n); c != 0 && seen < 64; c = t.Following(c, n) {
		seen++
		if t.Tag(c) == atom.Img && !w.hidden(c) {
			w.image(c)
		}
	}
	return false
}

func onlyImages(t *dom.Tree, n dom.ID) bool {
	seen := 0
	for c := t.Following(n, n); c != 0; c = t.Following(c, n) {
		if seen++; seen > 64 || t.Kind(c) == dom.Text && !symbolOnly(t.Data(c)) {
			return false
		}
	}
	return true
}

// imageBefore is true when the elements just before n, or around it, are an image that was written.
func (w *writer) imageBefore(n dom.ID) bool {
	t := w.t
	if p := t.Name(t.Parent(n)); p == "amp-img" || p == "amp-anim" {
		return true
	}
	for c := t.Prev(n); c != 0; c = t.Prev(c) {
		if t.Kind(c) == dom.Element {
			at := c
			for i := 0; at != 0 && i < 8; i++ {
				if t.Tag(at) == atom.Img {
					return w.source(at) != "" && !w.hidden(at)
				}
				at = t.Following(at, c)
			}
			return false
		}
	}
	return false
}

// imageBehind is true when the image in the noscript n is the one that follows it.
func (w *writer) imageBehind(n dom.ID) bool {
	t := w.t
	c := t.Next(n)
	if t.Kind(c) == dom.Text && strings.TrimSpace(t.Data(c)) == "" {
		c = t.Next(c)
	}
	return t.Tag(c) == atom.Img && !w.hidden(c) && w.source(c) != "" && w.source(c) == w.source(t.First(n, atom.Img))
}

// hidden is true for a node whose own style hides it; others are judged before they get here.
func (w *writer) hidden(n dom.ID) bool {
	style := w.t.Attr(n, "style")
	return strings.Contains(style, "display:none") || strings.Contains(style, "display: none") || w.t.HasAttr(n, "hidden")
}
