package extract

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Pages that a script draws bring their content along as JSON: in a script of that type, or as the
// value of one assignment. It is read as data; nothing is ever run.

const (
	mostStates = 8  // scripts that are looked at
	leastState = 60 // words that a text must have
	mostNested = 64 // of nesting
	mostTokens = 400_000
)

// state is the text that the page's state gives for its main content: the longest one, and where all is
// true all of its kind.
func state(t *dom.Tree, all bool) []string {
	var h harvest
	seen := 0
	for n := range t.Descendants(dom.Root) {
		if t.Tag(n) != atom.Script || t.HasAttr(n, "src") {
			continue
		}
		data := t.Data(t.FirstChild(n))
		if kind := t.Attr(n, "type"); strings.Contains(kind, "ld+json") || len(data) > mostData {
			continue
		} else if !strings.Contains(kind, "json") {
			data = assigned(data)
		}
		if data == "" {
			continue
		}
		if seen++; seen > mostStates {
			break
		}
		if rest, flat := strings.CutPrefix(strings.TrimSpace(data), "["); flat && strings.HasPrefix(strings.TrimSpace(rest), "[") {
			h.payload(data)
		} else {
			h.read(data)
		}
	}
	return h.best(all)
}

// assigned is the JSON that a script assigns to a property of the window, and nothing else.
func assigned(script string) string {
	script = strings.TrimSpace(script)
	if !strings.HasPrefix(script, "window") && !strings.HasPrefix(script, "self") && !strings.HasPrefix(script, "globalThis") {
		return ""
	}
	name, value, ok := strings.Cut(script, "=")
	if !ok || len(name) > 80 || strings.ContainsAny(name, "(){}\n") {
		return ""
	}
	value = strings.TrimSpace(value)
	if inner, ok := strings.CutPrefix(value, "JSON.parse("); ok {
		var text string
		if json.NewDecoder(strings.NewReader(inner)).Decode(&text) != nil {
			return ""
		}
		return text
	}
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") {
		return ""
	}
	return value
}

// harvest collects texts from data.
type harvest struct {
	items  []item
	tokens int
}

// item is one text: all that stands below one key.
type item struct {
	group string // the keys that lead to it, without the numbers of lists
	parts []string
	words int
	open  bool // the last part goes on
}

// level is an object or a list that is being read.
type level struct {
	list bool
	key  string // of an object, the one being read; of a list, the one it stands under
	want bool   // a key comes next
}

// read walks over data as far as it is JSON.
func (h *harvest) read(data string) {
	d := json.NewDecoder(strings.NewReader(data))
	var levels []level
	own := -1 // the level at which the open item began
	dull := -1
	for ; h.tokens < mostTokens && len(levels) < mostNested; h.tokens++ {
		token, err := d.Token()
		if err != nil {
			break
		}
		top := len(levels) - 1
		if top >= 0 && !levels[top].list && levels[top].want {
			if key, ok := token.(string); ok {
				levels[top].key, levels[top].want = key, false
				continue
			}
		}
		key := ""
		if top >= 0 {
			key = levels[top].key
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				if dull < 0 && dullKey(key) {
					dull = top + 1
				}
				if own < 0 && dull < 0 && bodyKey(key) {
					own = top + 1
					h.items = append(h.items, item{group: group(levels)})
				}
				levels = append(levels, level{list: v == '[', key: key, want: v == '{'})
				continue
			}
			levels = levels[:top]
			if own >= 0 && v == ']' {
				h.items[len(h.items)-1].open = false
			}
			if own == top {
				own = -1
			}
			if dull == top {
				dull = -1
			}
			top--
		case string:
			if dull < 0 {
				h.take(key, v, own >= 0, levels)
			}
		}
		if top < 0 {
			return
		}
		levels[top].want = !levels[top].list
	}
}

// take looks at a text that stands under a key: a part of the open item, or an item of its own.
func (h *harvest) take(key, text string, open bool, levels []level) {
	switch {
	case open && textKey(key):
		h.items[len(h.items)-1].add(text)
	case !open && bodyKey(key):
		made := item{group: group(levels)}
		made.add(text)
		h.items = append(h.items, made)
	}
}

// payload reads the form of a list in which the objects name their values by number.
func (h *harvest) payload(data string) {
	var values []json.RawMessage
	if json.Unmarshal([]byte(data), &values) != nil || len(values) > mostValues {
		return
	}
	for _, v := range values {
		if len(v) == 0 || v[0] != '{' {
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(v, &object) != nil {
			continue
		}
		for _, key := range [...]string{"articleBody", "body", "content", "html", "text", "description"} {
			var at int
			var text string
			if json.Unmarshal(object[key], &at) != nil || at <= 0 || at >= len(values) || json.Unmarshal(values[at], &text) != nil {
				continue
			}
			made := item{group: key}
			made.add(text)
			h.items = append(h.items, made)
			break
		}
	}
}

func group(levels []level) string {
	var b strings.Builder
	for i := range levels {
		if !levels[i].list {
			b.WriteString("/" + levels[i].key)
		}
	}
	return b.String()
}

// add takes a string in, if it is text.
func (i *item) add(s string) {
	words := len(strings.Fields(withoutTags(s)))
	letters, odd := 0, 0
	for _, r := range s[:min(len(s), 2000)] {
		switch {
		case unicode.IsLetter(r):
			letters++
		case strings.ContainsRune("{}[]\\|=_/#", r):
			odd++
		}
	}
	if letters <= 6*odd && !marked(s) || strings.HasPrefix(s, "http") || letters == 0 {
		return
	}
	i.words += words
	if n := len(i.parts) - 1; n >= 0 && i.open && len(i.parts[n]) < longPart && !marked(s) && !marked(i.parts[n]) && !ended(i.parts[n]) {
		i.parts[n] += s
		return
	}
	i.parts, i.open = append(i.parts, s), true
}

// longPart is the length of a paragraph to which nothing more is joined: each piece is looked at with what
// it would be joined to.
const longPart = 2 << 10

// ended says that a text ends as a paragraph does.
func ended(s string) bool {
	s = strings.TrimRight(s, "\n")
	last, _ := utf8.DecodeLastRuneInString(s)
	return s == "" || strings.ContainsRune(".!?:…\"", last)
}

// marked says that a text is HTML.
func marked(s string) bool {
	return strings.Contains(s, "</") || strings.Contains(s, "<br") || strings.Contains(s, "<p>")
}

func withoutTags(s string) string {
	if !marked(s) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte(' ')
		if _, s, ok = strings.Cut(rest, ">"); !ok {
			return b.String()
		}
	}
}

// best is the longest item, or the group of items with most words.
func (h *harvest) best(all bool) []string {
	words := make(map[string]int)
	best := -1
	for i := range h.items {
		it := &h.items[i]
		words[it.group] += it.words
		if best < 0 || !all && it.words > h.items[best].words || all && words[it.group] > words[h.items[best].group] {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	if !all {
		return h.items[best].parts
	}
	var parts []string
	for i := range h.items {
		if h.items[i].group == h.items[best].group {
			parts = append(parts, h.items[i].parts...)
		}
	}
	return parts
}

var dashes = strings.NewReplacer("_", "", "-", "")

func plainKey(key string) string { return strings.ToLower(dashes.Replace(key)) }

// bodyKey says that a key names the text of a thing.
func bodyKey(key string) bool {
	switch plainKey(key) {
	case "body", "content", "contents", "articlebody", "bodyhtml", "htmlbody", "contenthtml", "htmlcontent", "html", "richtext", "text", "description",
		"descriptionhtml", "longdescription", "fulldescription", "fulltext", "story", "cooked", "message", "paragraphs", "bodytext", "maintext":
		return true
	}
	return false
}

// textKey says that a key below the body names a text, not a kind or an address.
func textKey(key string) bool {
	switch plainKey(key) {
	case "value", "rendered", "children", "p", "paragraph", "data", "heading", "title", "caption", "lead", "summary", "raw":
		return true
	}
	return bodyKey(key)
}

// dullKey says that what stands below a key is none of the page's content.
func dullKey(key string) bool {
	key = plainKey(key)
	if key == "messages" || key == "meta" || key == "seo" || key == "ads" || key == "nav" || key == "labels" {
		return true
	}
	for _, word := range [...]string{"translat", "i18n", "locale", "dictionar", "related", "recommend", "footer", "header", "menu", "navigation", "cookie", "consent", "config", "setting", "legal", "sidebar", "banner"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}
