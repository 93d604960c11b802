package refusal

import (
	"strings"

	"github.com/webreaderapi/webreader/reader/dom"
)

// compound is one step of a CSS selector: a tag, an id and classes, all of which must fit.
type compound struct {
	tag, id string
	classes []string
}

// parseSelector reads the selectors that pages name their paid parts with: compounds of tag, #id and
// .class, with descendants or children between them. ok is false for anything else.
func parseSelector(s string) (chain []compound, ok bool) {
	for _, part := range strings.Fields(strings.ReplaceAll(s, ">", " ")) {
		c, ok := parseCompound(part)
		if !ok || len(chain) == 8 {
			return nil, false
		}
		chain = append(chain, c)
	}
	return chain, len(chain) > 0
}

func parseCompound(s string) (c compound, ok bool) {
	if strings.ContainsAny(s, "[]:()*+~\\\"'{}") {
		return c, false
	}
	for s != "" {
		end := strings.IndexAny(s[1:], ".#") + 1
		if end == 0 {
			end = len(s)
		}
		switch name := s[1:end]; {
		case s[0] == '.' && name != "":
			c.classes = append(c.classes, name)
		case s[0] == '#' && name != "":
			c.id = name
		case s[0] != '.' && s[0] != '#':
			c.tag = strings.ToLower(s[:end])
		default:
			return c, false
		}
		s = s[end:]
	}
	return c, true
}

// matchesAny is true when one of the chains ends at n and its earlier steps fit ancestors of n.
func matchesAny(t *dom.Tree, n dom.ID, chains [][]compound) bool {
	for _, chain := range chains {
		last := len(chain) - 1
		if !chain[last].fits(t, n) {
			continue
		}
		for p := t.Parent(n); p != 0 && last > 0; p = t.Parent(p) {
			if t.Kind(p) == dom.Element && chain[last-1].fits(t, p) {
				last--
			}
		}
		if last == 0 {
			return true
		}
	}
	return false
}

func (c compound) fits(t *dom.Tree, n dom.ID) bool {
	if c.tag != "" && c.tag != t.Name(n) || c.id != "" && c.id != t.Attr(n, "id") {
		return false
	}
	if len(c.classes) == 0 {
		return c.tag != "" || c.id != ""
	}
	have := t.Attr(n, "class")
	for _, want := range c.classes {
		if !hasField(have, want) {
			return false
		}
	}
	return true
}

func hasField(s, want string) bool {
	if !strings.Contains(s, want) {
		return false
	}
	for f := range strings.FieldsSeq(s) {
		if f == want {
			return true
		}
	}
	return false
}
