package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/webreaderapi/webreader"

// file is one Go file of the tree.
type file struct {
	path    string // from the root, with slashes
	dir     string
	test    bool
	gen     bool // generated
	src     string
	ast     *ast.File
	fset    *token.FileSet
	paths   []string          // what it imports
	imports map[string]string // the same by local name
}

// house is the whole tree, read once.
var house = sync.OnceValues(func() ([]*file, error) {
	var files []*file
	fset := token.NewFileSet()
	err := walk(func(name string, d fs.DirEntry) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parse(fset, name)
		files = append(files, f)
		return err
	})
	return files, err
})

const root = "../.."

// walk visits the files of the tree that are ours, in order, by their paths from the root.
func walk(visit func(name string, d fs.DirEntry) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			switch base := d.Name(); {
			case name == ".", name == ".ci":
				return nil
			case strings.HasPrefix(base, "."), base == "node_modules", base == "testdata", name == "data", name == "bin":
				return filepath.SkipDir
			}
			return nil
		}
		return visit(name, d)
	})
}

func parse(fset *token.FileSet, name string) (*file, error) {
	src, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	return parseSource(fset, name, src)
}

func parseSource(fset *token.FileSet, name string, src []byte) (*file, error) {
	tree, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f := &file{
		path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), gen: ast.IsGenerated(tree),
		src: string(src), ast: tree, fset: fset, imports: map[string]string{},
	}
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.paths = append(f.paths, p)
		f.imports[localName(spec, p)] = p
	}
	return f, nil
}

// localName is what a file calls an import: its given name, or its last path element that is no version.
func localName(spec *ast.ImportSpec, p string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	return base
}

// sources are the files that are built into the product.
func sources(t *testing.T) []*file {
	t.Helper()
	var out []*file
	for _, f := range all(t) {
		if !f.test && !testsOnly[f.dir] {
			out = append(out, f)
		}
	}
	return out
}

func all(t *testing.T) []*file {
	t.Helper()
	files, err := house()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d Go files: is the root right?", len(files))
	}
	return files
}

// testsOnly are packages that only tests may import; they are free in what they do.
var testsOnly = map[string]bool{
	"internal/archtest":    true,
	"internal/origintest":  true,
	"internal/conformance": true,
	"openapi/openapitest":  true,
	"billing/stripetest":   true,
}

// where is a position as path:line.
func (f *file) where(n ast.Node) string {
	p := f.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}
