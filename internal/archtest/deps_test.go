package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// depsRules says which packages of the house a package may import: a statement of policy, not a
// description. Do not add to it to make a build pass; see ARCHITECTURE.md, and ask why the call wants
// to go that way. Commands wire everything and are exempt; tests are free.
const depsRules = `
# Leaves.
internal/fault, internal/netguard, internal/seal, internal/telemetry, reader/dom, profiles, openapi, docs :

# What pages and sites say.
policy/signals, reader/extract, reader/markdown, policy/refusal : reader/dom

# The judge.
policy : policy/signals

# The gate and what stands behind it.
reader/gate/internal/fetch : policy, internal/netguard, internal/fault
reader/gate : reader/gate/internal/fetch, policy, policy/signals, policy/refusal, reader/dom, internal/netguard, internal/fault

# The road upwards.
reader : reader/gate, reader/dom, reader/extract, reader/markdown, policy, internal/seal, internal/fault
billing : reader, policy, internal/seal, internal/fault
internal/jobs : billing, reader, policy, internal/seal, internal/fault
internal/jobs/change : reader/extract
internal/jobs/watch : internal/jobs/change, billing, reader, reader/gate, policy, internal/seal, internal/fault
internal/webhook : internal/netguard, internal/fault
handlers : openapi, docs, profiles, billing, internal/jobs, internal/jobs/watch, reader, reader/gate, policy, internal/seal, internal/telemetry, internal/fault

# An adapter: it knows them, they do not know it.
internal/store : billing, internal/jobs, internal/jobs/watch, internal/webhook, reader, reader/gate, policy, internal/seal, internal/fault
`

// rules are depsRules by package.
func rules(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, line := range strings.Split(depsRules, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, right, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("no colon in rule %q", line)
		}
		for _, p := range list(left) {
			if _, twice := out[p]; twice {
				t.Fatalf("two rules for %s", p)
			}
			out[p] = list(right)
		}
	}
	return out
}

func list(s string) []string {
	var out []string
	for _, p := range strings.Split(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func TestImportsFollowTheArrows(t *testing.T) {
	allowed := rules(t)
	for _, f := range sources(t) {
		if f.ast.Name.Name == "main" {
			continue // the binary, and tools that are run by hand
		}
		room, may := ruleOf(allowed, f.dir)
		if room == "" {
			t.Errorf("%s: package %s has no rule in depsRules", f.path, f.dir)
			continue
		}
		for _, p := range f.paths {
			dep, ours := strings.CutPrefix(p, module+"/")
			if ours && !slices.Contains(may, dep) && !strings.HasPrefix(dep, room+"/internal/") {
				t.Errorf("%s imports %s, which depsRules do not allow", f.path, dep)
			}
		}
	}
}

// ruleOf is the rule of a package: its own, or that of the room whose internal package it is.
func ruleOf(allowed map[string][]string, dir string) (room string, may []string) {
	if may, ok := allowed[dir]; ok {
		return dir, may
	}
	room, _, inside := strings.Cut(dir, "/internal/")
	if may, ok := allowed[room]; inside && ok {
		return room, may
	}
	return "", nil
}

// What the product imports is never a test package, not even from cmd.
func TestTestPackagesStayInTests(t *testing.T) {
	for _, f := range sources(t) {
		for _, p := range f.paths {
			dep, _ := strings.CutPrefix(p, module+"/")
			if testsOnly[dep] || p == "testing" || p == "net/http/httptest" || p == "testing/fstest" {
				t.Errorf("%s imports %s, which is for tests", f.path, p)
			}
		}
	}
}

// The rules have no cycle and name only each other: an order from the leaves up must exist.
func TestRulesHaveAnOrder(t *testing.T) {
	left := rules(t)
	for len(left) > 0 {
		free := ""
		for p, needs := range left {
			if !slices.ContainsFunc(needs, func(n string) bool { _, waits := left[n]; return waits }) {
				free = p
				break
			}
		}
		if free == "" {
			t.Fatalf("these wait for each other: %v", fmt.Sprint(left))
		}
		delete(left, free)
	}
}

// Rooms are named for what they are about (CONTRIBUTING).
func TestPackageNames(t *testing.T) {
	vague := []string{"pkg", "util", "utils", "common", "models", "types", "helpers", "helper", "service", "config", "manager", "misc"}
	for _, f := range all(t) {
		if name := strings.TrimSuffix(f.ast.Name.Name, "_test"); slices.Contains(vague, name) {
			t.Errorf("%s: package %s says nothing about what it holds", f.path, name)
		}
	}
}

func TestEveryPackageSaysItsPurpose(t *testing.T) {
	said := map[string]bool{}
	seen := map[string]string{}
	for _, f := range all(t) {
		if f.test {
			continue
		}
		seen[f.dir] = f.ast.Name.Name
		if f.ast.Doc == nil {
			continue
		}
		text := f.ast.Doc.Text()
		if strings.HasPrefix(text, "Package "+f.ast.Name.Name+" ") || f.ast.Name.Name == "main" && strings.HasPrefix(text, "Command ") {
			said[f.dir] = true
		}
	}
	for dir, name := range seen {
		if !said[dir] {
			t.Errorf("%s: no file has a comment that begins %q", dir, "Package "+name+" ")
		}
	}
}
