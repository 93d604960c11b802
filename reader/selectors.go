package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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

const (
	mostSteps   = 20
	combinators = " \t\n\r\f>+~"
)

var errNoSelector = errors.New("is not a CSS selector, such as main .article or #content > p")

// parseSelectors reads a list of selectors, separated by commas.
func parseSelectors(s string) ([]selector, error) {
	if len(s) > longSelector {
		return nil, fmt.Errorf("is longer than %d bytes", longSelector)
	}
	if !utf8.ValidString(s) || !balanced(s) {
		return nil, errNoSelector
	}
	var list []selector
	parts, _ := splitTop(s, ",")
	for _, one := range parts {
		parsed, err := parseSelector(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		list = append(list, parsed)
	}
	return list, nil
}

// parseSelector reads compounds with combinators between them: a blank, >, + or ~ with or without
// blanks around it.
func parseSelector(s string) (selector, error) {
	var sel selector
	parts, between := splitTop(s, combinators)
	combinator := byte(0)
	for i, part := range parts {
		if part != "" {
			compound, err := parseCompound(part)
			if err != nil || len(sel) == mostSteps || len(sel) > 0 && combinator == 0 {
				return nil, errors.Join(err, errNoSelector)
			}
			sel, combinator = append(sel, step{combinator, compound}), 0
		}
		if i == len(between) {
			break
		}
		switch c := between[i]; {
		case c != '>' && c != '+' && c != '~':
			if combinator == 0 {
				combinator = ' '
			}
		case combinator == 0 || combinator == ' ':
			combinator = c
		default:
			return nil, errNoSelector
		}
		if len(sel) == 0 {
			return nil, errNoSelector
		}
	}
	if len(sel) == 0 || combinator != 0 {
		return nil, errNoSelector
	}
	return sel, nil
}

func parseCompound(s string) (compound cascadia.Sel, err error) {
	if err := checkNested(s); err != nil {
		return nil, err
	}
	defer func() {
		// The library reads past the end of some broken selectors (":not(" at the end is one).
		if recover() != nil {
			compound, err = nil, errNoSelector
		}
	}()
	if compound, err = cascadia.Parse(s); err != nil {
		return nil, errNoSelector
	}
	return compound, nil
}

// balanced is true when every bracket, parenthesis and quote is closed.
func balanced(s string) bool {
	var open []byte
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i == len(s) {
				return false
			}
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '(':
			open = append(open, map[byte]byte{'[': ']', '(': ')'}[c])
		case c == ']' || c == ')':
			n := len(open) - 1
			if n < 0 || open[n] != c {
				return false
			}
			open = open[:n]
		}
	}
	return quote == 0 && len(open) == 0
}

// splitTop cuts s at every separator outside brackets, parentheses and quotes.
func splitTop(s, separators string) (parts []string, between []byte) {
	depth, quote, from := 0, byte(0), 0
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
			parts, between, from = append(parts, s[from:i]), append(between, c), i+1
		}
	}
	return append(parts, s[from:]), between
}

// checkNested refuses what takes more than one pass: combinators inside :not() and :has(), and
// parentheses inside parentheses.
func checkNested(part string) error {
	for rest := part; ; {
		i := strings.IndexByte(rest, '(')
		if i < 0 {
			return nil
		}
		name := rest[strings.LastIndexByte(rest[:i], ':')+1 : i]
		inside := argument(rest[i+1:])
		rest = rest[i+1+len(inside):]
		if !slices.ContainsFunc([]string{"not", "has", "haschild"}, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue
		}
		simple, _ := splitTop(inside, ",")
		for _, one := range simple {
			if steps, _ := splitTop(strings.TrimSpace(one), combinators); len(steps) > 1 || strings.Contains(one, "(") {
				return fmt.Errorf("may hold only simple selectors inside :%s()", name)
			}
		}
	}
}

// argument is s up to the parenthesis that closes it.
func argument(s string) string {
	depth, quote := 1, byte(0)
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
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}

// selectable is a tree with the form of it that selectors are matched on.
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
