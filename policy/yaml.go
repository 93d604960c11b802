package policy

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// entry is what a profile is made of: a scalar with its text, a list of items, or a section whose
// items have keys.
type entry struct {
	kind  entryKind
	line  int
	key   string // within a section
	text  string
	items []entry
}

type entryKind uint8

const (
	nullValue entryKind = iota
	textValue
	wholeValue
	decimalValue
	truthValue
	listValue
	sectionValue
)

func (e entry) isScalar() bool { return e.kind != listValue && e.kind != sectionValue }

// maxNesting is deeper than any profile goes.
const maxNesting = 8

// parseYAML reads a file with one section in it. Anchors, aliases and tags are refused: a file is as
// large as it looks and means what it says.
func parseYAML(file string, src []byte) (entry, error) {
	doc, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return entry{}, yamlError(file, err)
	}
	if len(doc.Docs) != 1 || doc.Docs[0].Body == nil {
		return entry{}, fmt.Errorf("%s: is not one list of fields; write lines like \"name: municipal-news\"", file)
	}
	root, err := readEntry(doc.Docs[0].Body, 0)
	if err != nil {
		return entry{}, fmt.Errorf("%s:%d: %w; write lines like \"name: municipal-news\"", file, root.line, err)
	}
	if root.kind != sectionValue {
		return entry{}, fmt.Errorf("%s:%d: is not a list of fields; write lines like \"name: municipal-news\"", file, root.line)
	}
	return root, nil
}

func yamlError(file string, err error) error {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		return fmt.Errorf("%s:%d: is not YAML: %s; write lines like \"name: municipal-news\"", file, syntax.Token.Position.Line, syntax.Message)
	}
	return fmt.Errorf("%s: is not YAML; write lines like \"name: municipal-news\"", file)
}

func readEntry(n ast.Node, depth int) (entry, error) {
	e := entry{line: n.GetToken().Position.Line, text: n.GetToken().Value}
	if depth > maxNesting {
		return e, errors.New("is nested too deep")
	}
	switch n := n.(type) {
	case *ast.NullNode:
		e.kind = nullValue
	case *ast.StringNode:
		e.kind, e.text = textValue, n.Value
	case *ast.LiteralNode:
		e.kind, e.text = textValue, n.Value.Value
	case *ast.IntegerNode:
		e.kind = wholeValue
	case *ast.FloatNode:
		e.kind = decimalValue
	case *ast.BoolNode:
		e.kind = truthValue
	case *ast.SequenceNode:
		return e.readList(n, depth)
	case *ast.MappingNode:
		return e.readSection(n.Values, depth)
	case *ast.MappingValueNode:
		return e.readSection([]*ast.MappingValueNode{n}, depth)
	default:
		return e, fmt.Errorf("%q is a kind of value that profiles do not have", e.text)
	}
	return e, nil
}

func (e entry) readList(n *ast.SequenceNode, depth int) (entry, error) {
	e.kind = listValue
	for _, v := range n.Values {
		item, err := readEntry(v, depth+1)
		if err != nil {
			return item, err
		}
		e.items = append(e.items, item)
	}
	return e, nil
}

func (e entry) readSection(values []*ast.MappingValueNode, depth int) (entry, error) {
	e.kind = sectionValue
	for _, v := range values {
		key := v.Key.GetToken()
		item, err := readEntry(v.Value, depth+1)
		if err != nil {
			return item, err
		}
		item.key, item.line = key.Value, key.Position.Line
		e.items = append(e.items, item)
	}
	return e, nil
}
