package archtest

import (
	"bytes"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Bots are data: their names stand in profiles/*.yaml and nowhere in the code.
func TestNoBotNameInCode(t *testing.T) {
	names := botNames(t)
	for _, f := range sources(t) {
		for _, lit := range literals(f.ast) {
			low := strings.ToLower(lit.Value)
			for _, name := range names {
				if strings.Contains(low, name) {
					t.Errorf("%s: %s names a bot; take it from the profile", f.where(lit), lit.Value)
				}
			}
		}
	}
}

// botNames are the product tokens and names of the built-in profiles, in lower case. The default
// profile's name is left out: it is also the default of a setting.
func botNames(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "profiles", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	token := regexp.MustCompile(`product_token:\s*"?([^",}\s]+)`)
	var names []string
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range token.FindAllSubmatch(src, -1) {
			names = append(names, strings.ToLower(string(m[1])))
		}
		if name := strings.TrimSuffix(filepath.Base(p), ".yaml"); name != "house" && name != "promises" && name != "webreaderapi" {
			names = append(names, name)
		}
	}
	if len(names) < 5 {
		t.Fatalf("found only %v in profiles", names)
	}
	return names
}

// literals are the string literals of a file but its imports and struct tags.
func literals(tree *ast.File) []*ast.BasicLit {
	var out []*ast.BasicLit
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				out = append(out, n)
			}
		}
		return true
	})
	return out
}

// What must not be left in a tracked file, by pattern. The patterns are put together here so that this
// file does not match itself.
var leftovers = map[string]*regexp.Regexp{
	"a mark of unfinished work (name an issue instead)": regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
	"a path of somebody's machine":                      regexp.MustCompile(`(?m)(^|[\s"'` + "`" + `(=])/(wo` + `rk|ro` + `ot|ho` + `me/[a-z]+)/`),
	"sleeping (use the injected clock or a channel)":    regexp.MustCompile(`time\.Sl` + `eep\(`),
}

func TestNothingLeftLyingAbout(t *testing.T) {
	err := walk(func(name string, _ fs.DirEntry) error {
		switch path.Ext(name) {
		case ".go", ".md", ".yaml", ".yml", ".toml", ".sh", ".sql", "":
		default:
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		for what, pattern := range leftovers {
			for _, at := range pattern.FindAllIndex(src, -1) {
				t.Errorf("%s:%d: %s: %s", name, 1+bytes.Count(src[:at[0]], []byte("\n")), what, bytes.TrimSpace(src[at[0]:at[1]]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A test that skips did not run: its name and reason stand in CONTRIBUTING.md.
func TestSkipsAreListed(t *testing.T) {
	listed, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all(t) {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && f.test && skips(fn) && !strings.Contains(string(listed), "`"+fn.Name.Name+"`") {
				t.Errorf("%s: %s skips and is not listed in CONTRIBUTING.md", f.where(fn), fn.Name.Name)
			}
		}
	}
}

func skips(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if ok && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow") {
			id, ok := sel.X.(*ast.Ident)
			found = found || ok && (id.Name == "t" || id.Name == "b" || id.Name == "f" || id.Name == "tb")
		}
		return true
	})
	return found
}
