package openapi

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"gopkg.in/yaml.v3"
)

// What is planned and what is served make one valid document, and nothing is in both.
func TestPlannedFits(t *testing.T) {
	served, planned := read(t, "openapi.yaml"), read(t, "planned.yaml")
	merge(t, "paths", served["paths"], planned["paths"])
	into, from := served["components"].(map[string]any), planned["components"].(map[string]any)
	for kind := range from {
		merge(t, kind, into[kind], from[kind])
	}
	text, err := yaml.Marshal(served)
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.OperationID == "" || seen[operation.OperationID] {
				t.Errorf("%s %s: operationId %q", method, path, operation.OperationID)
			}
			seen[operation.OperationID] = true
		}
	}
}

func read(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func merge(t *testing.T, kind string, into, from any) {
	t.Helper()
	target, ok := into.(map[string]any)
	if !ok || from == nil {
		return
	}
	for name := range from.(map[string]any) {
		if _, twice := target[name]; twice {
			t.Errorf("%s %s is both planned and served", kind, name)
		}
	}
	maps.Copy(target, from.(map[string]any))
}

// The generated file is what the document and the configuration make of it: no path of the document is
// missing in it, and no planned one is there.
func TestGeneratedCodeHasTheServedPathsOnly(t *testing.T) {
	code, err := os.ReadFile("openapi.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	document, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("oapi-codegen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if strings.Contains(string(config), operation.OperationID) {
				continue // excluded, with its reason
			}
			name := strings.ToUpper(operation.OperationID[:1]) + operation.OperationID[1:]
			if !strings.Contains(string(code), "\tVisit"+name+"Response(") {
				t.Errorf("%s is not generated; run go generate", name)
			}
		}
	}
	for path := range read(t, "planned.yaml")["paths"].(map[string]any) {
		if strings.Contains(string(code), `"`+path+`"`) {
			t.Errorf("%s is generated and only planned", path)
		}
	}
}
