package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// reserve is something in the standard library that only few may use.
type reserve struct {
	what    string
	names   map[string][]string // import path → names; "*" is the whole package
	allowed map[string]string   // file, folder, or "file pkg.Name" → why
}

var reserves = []reserve{
	{
		what: "opens connections",
		names: map[string][]string{
			"net": {"Dial", "DialTimeout", "Dialer", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Resolver", "DefaultResolver",
				"LookupHost", "LookupIP", "LookupAddr", "LookupCNAME", "LookupMX", "LookupNS", "LookupSRV", "LookupTXT"},
			"net/http":               {"Client", "DefaultClient", "DefaultTransport", "Transport", "Get", "Head", "Post", "PostForm", "RoundTripper"},
			"net/http/httputil":      {"ReverseProxy", "NewSingleHostReverseProxy"},
			"net/rpc":                {"*"},
			"net/smtp":               {"*"},
			"crypto/tls":             {"Dial", "DialWithDialer", "Dialer", "Client"},
			"golang.org/x/net/proxy": {"*"},
		},
		allowed: map[string]string{
			"reader/gate/internal/fetch": "the one road to a site",
			"internal/netguard":          "decides which addresses may be dialled",
			"internal/webhook":           "delivers to customers, through netguard",
			"billing/stripe.go":          "the payment provider, at one fixed address",
			"openapi":                    "the generated client, for customers; nothing here calls it",
		},
	},
	{
		what: "writes files",
		names: map[string][]string{
			"os": {"Create", "CreateTemp", "OpenFile", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "Rename", "Remove",
				"RemoveAll", "Symlink", "Link", "Truncate", "Chmod", "Chown", "CopyFS", "Root", "OpenRoot"},
			"io/ioutil": {"*"},
		},
		allowed: map[string]string{
			"internal/store":                "makes the database's folder and takes its lock",
			"reader/extract/internal/train": "the trainer of the weights, run by hand; not part of the binary",
		},
	},
	{
		what: "reads the clock or waits",
		names: map[string][]string{
			"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		},
		allowed: map[string]string{
			"cmd/webreader":                          "wires the real clock",
			"reader/gate/memory.go":                  "the real clock",
			"internal/store/store.go":                "the real clock",
			"internal/telemetry":                     "measures durations for metrics; decides nothing by them",
			"reader/gate/gate.go time.Until":         "a context's deadline is in real time",
			"internal/netguard/dialer.go time.Until": "a context's deadline is in real time",
			"handlers/read.go time.Now":              "a connection's deadline is in real time",
			"handlers/server.go time.Now":            "a connection's deadline is in real time",
			"reader/extract/internal/answer":         "a tool that measures itself; not part of the binary",
			"reader/extract/internal/train":          "a tool that measures itself; not part of the binary",
		},
	},
	{
		what:  "starts processes or reaches below the language",
		names: map[string][]string{"os/exec": {"*"}, "unsafe": {"*"}, "plugin": {"*"}, "C": {"*"}},
	},
}

func TestReservedUses(t *testing.T) {
	for _, r := range reserves {
		for _, f := range sources(t) {
			for _, hit := range f.uses(r.names) {
				if !exempt(f.path, hit.name, r.allowed) {
					t.Errorf("%s: %s %s; only these may: %v", hit.at, hit.name, r.what, keys(r.allowed))
				}
			}
		}
	}
}

// exempt looks for the file, a folder above it, or the file with this one name.
func exempt(file, name string, allowed map[string]string) bool {
	for place := range allowed {
		if place == file || place == file+" "+name || strings.HasPrefix(file, place+"/") {
			return true
		}
	}
	return false
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

type hit struct{ name, at string }

// uses finds pkg.Name for the given names, and imports of whole packages.
func (f *file) uses(names map[string][]string) []hit {
	var hits []hit
	for _, p := range f.paths {
		if slices.Contains(names[p], "*") {
			hits = append(hits, hit{p, f.path})
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || f.shadowed(id) {
			return true
		}
		if slices.Contains(names[f.imports[id.Name]], sel.Sel.Name) {
			hits = append(hits, hit{id.Name + "." + sel.Sel.Name, f.where(sel)})
		}
		return true
	})
	return hits
}

// shadowed is true when id is a variable, not the package of that name. The parser resolves names
// within a file, which is enough: an import cannot be shadowed from another file.
func (f *file) shadowed(id *ast.Ident) bool { return id.Obj != nil }

// The finder itself: aliases and values are found, variables of a package's name are not.
func TestUsesAreFound(t *testing.T) {
	src := `package p
import (
	"os"
	clock "time"
	web "net/http"
)
var now = clock.Now
func f() { _ = web.Client{}; os.Getenv("x"); g(os.Create) }
func g(os struct{ Create int }) { _ = os.Create }
`
	f, err := parseSource(token.NewFileSet(), "p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, r := range reserves {
		for _, h := range f.uses(r.names) {
			found = append(found, h.name+" "+h.at)
		}
	}
	want := []string{"web.Client p.go:8", "os.Create p.go:8", "clock.Now p.go:7"}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// A dot import would hide all of the above.
func TestNoDotImports(t *testing.T) {
	for _, f := range all(t) {
		if p, ok := f.imports["."]; ok {
			t.Errorf("%s: dot import of %s", f.path, p)
		}
	}
}

// Statuses of failures are decided in one table.
func TestStatusesOnlyInProblemTable(t *testing.T) {
	fine := []string{"StatusOK", "StatusCreated", "StatusAccepted", "StatusNoContent", "StatusNotModified", "StatusSeeOther", "StatusFound",
		"StatusText"}
	for _, f := range sources(t) {
		if f.dir != "handlers" || f.path == "handlers/problem.go" || f.gen {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := sel.Sel.Name
			switch f.imports[id.Name] {
			case "net/http":
				if strings.HasPrefix(name, "Status") && !slices.Contains(fine, name) || name == "Error" || name == "NotFound" {
					t.Errorf("%s: http.%s; return a fault, handlers/problem.go knows its status", f.where(sel), name)
				}
			case "github.com/labstack/echo/v4":
				if name == "NewHTTPError" || strings.HasPrefix(name, "Err") {
					t.Errorf("%s: echo.%s; return a fault, handlers/problem.go knows its status", f.where(sel), name)
				}
			}
			return true
		})
	}
}
