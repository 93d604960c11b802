package reader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/webreaderapi/webreader/reader/dom"
)

// selector is one CSS selector as steps from left to right. Steps are matched for the whole page at
// once, each in one pass, so that a deep page and a long selector do not multiply.
type selector []step

type step struct {
	combinator byte // ' ', '>', '+' or '~' to the step before; 0 for the first one
	compound   cascadia.Sel
}

const mostSteps = 20

// parseSelectors reads a list of selectors, separated by commas.
func parseSelectors(s string) ([]selector, error) {
	if len(s) > longSelector {
		return nil, fmt.Errorf("is longer than %d bytes", longSelector)
	}
	var list []selector
	for _, one := range splitTop(s, ",") {
		parsed, err := parseSelector(one)
		if err != nil {
			return nil, err
		}
		list = append(list, parsed)
	}
	return list, nil
}

func parseSelector(s string) (selector, error) {
	var sel selector
	combinator := byte(0)
	for _, part := range splitTop(s, " >+~\t\n") {
		if part = strings.TrimSpace(part); part == "" {
			return nil, errors.New("is not a CSS selector, such as main .article or #content > p")
		}
		if len(part) == 1 && strings.ContainsAny(part, ">+~") {
			if combinator != ' ' {
				return nil, errors.New("has a combinator in a place where none can be")
			}
			combinator = part[0]
			continue
		}
		if err := checkNested(part); err != nil {
			return nil, err
		}
		compound, err := cascadia.Parse(part)
		if err != nil || len(sel) == mostSteps {
			return nil, errors.New("is not a CSS selector, such as main .article or #content > p")
		}
		sel = append(sel, step{combinator, compound})
		combinator = ' '
	}
	if len(sel) == 0 || combinator != ' ' {
		return nil, errors.New("is not a CSS selector, such as main .article or #content > p")
	}
	return sel, nil
}

// splitTop cuts s at separators outside brackets, parentheses and quotes. Blanks in a run are one
// separator; the others stay as parts of their own, but for commas.
func splitTop(s, separators string) []string {
	var parts []string
	depth, quote, from := 0, byte(0), 0
	cut := func(i int) {
		if i > from {
			parts = append(parts, s[from:i])
		}
		from = i + 1
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			cut(i)
			switch c {
			case '>', '+', '~':
				parts = append(parts, s[i:i+1])
			case ',':
				if i == 0 || len(parts) == 0 || i+1 == len(s) {
					parts = append(parts, "")
				}
			}
		}
	}
	cut(len(s))
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// checkNested refuses what takes more than one pass: combinators inside :not() and :has(), and
// parentheses inside parentheses.
func checkNested(part string) error {
	lower := strings.ToLower(part)
	for _, name := range []string{":not(", ":has(", ":haschild("} {
		i := strings.Index(lower, name)
		if i < 0 {
			continue
		}
		inside, _, _ := strings.Cut(part[i+len(name):], ")")
		for _, one := range splitTop(inside, ",") {
			if strings.ContainsAny(strings.TrimSpace(one), " >+~(") && !strings.Contains(one, "[") {
				return fmt.Errorf("may hold only simple selectors inside %s)", name)
			}
		}
		if strings.Contains(inside, "(") {
			return fmt.Errorf("may hold only simple selectors inside %s)", name)
		}
	}
	return nil
}

// page is a tree with the form of it that selectors are matched on.
type selectable struct {
	tree  *dom.Tree
	nodes []*html.Node // by ID
}

func newSelectable(t *dom.Tree) selectable {
	_, ids := t.HTML(dom.Root)
	s := selectable{tree: t, nodes: make([]*html.Node, t.Len())}
	for n, id := range ids {
		s.nodes[id] = n
	}
	return s
}

// find are the nodes that any of the selectors matches. It stops when ctx ends.
func (s selectable) find(ctx context.Context, list []selector) (dom.Set, error) {
	found := dom.NewSet(s.tree)
	for _, sel := range list {
		matched, err := s.match(ctx, sel)
		if err != nil {
			return found, err
		}
		for id := range matched {
			if matched[id] {
				found.Add(dom.ID(id))
			}
		}
	}
	return found, nil
}

// match is, for every node, whether sel matches it. A node's ID is higher than those of its parent
// and of its earlier siblings, so one pass in order of IDs is enough for each step.
func (s selectable) match(ctx context.Context, sel selector) ([]bool, error) {
	var before []bool
	for _, st := range sel {
		now, carried := make([]bool, len(s.nodes)), make([]bool, len(s.nodes))
		for i := dom.Root + 1; int(i) < len(s.nodes); i++ {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if s.tree.Kind(i) != dom.Element || s.nodes[i] == nil {
				continue
			}
			now[i] = s.follows(st.combinator, i, before, carried) && st.compound.Match(s.nodes[i])
		}
		before = now
	}
	return before, nil
}

// follows is true when the combinator leads from a node of before to n. carried remembers, for the
// combinators that reach far, what was met above or before a node.
func (s selectable) follows(combinator byte, n dom.ID, before, carried []bool) bool {
	switch combinator {
	case ' ':
		p := s.tree.Parent(n)
		carried[n] = carried[p] || before[p]
		return carried[n]
	case '>':
		return before[s.tree.Parent(n)]
	case '+':
		p := s.elementBefore(n)
		return before[p]
	case '~':
		p := s.elementBefore(n)
		carried[n] = carried[p] || before[p]
		return carried[n]
	}
	return true
}

// elementBefore is the element sibling before n, or 0.
func (s selectable) elementBefore(n dom.ID) dom.ID {
	for p := s.tree.Prev(n); p != 0; p = s.tree.Prev(p) {
		if s.tree.Kind(p) == dom.Element {
			return p
		}
	}
	return 0
}
