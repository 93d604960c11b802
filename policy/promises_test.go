package policy

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestPromiseTableIsStrict(t *testing.T) {
	const good = "- {id: W09, profiles: [a], en: English, nl: Nederlands}\n"
	for name, c := range map[string]struct{ src, want string }{
		"unknown key": {"- {id: W09, profiles: [a], en: x, fr: y}\n", "fr"},
		"twice":       {good + good, "W09 stands there twice"},
		"no English":  {"- {id: W09, profiles: [a], nl: x}\n", "en: text"},
		"no profile":  {"- {id: W09, en: x}\n", "profiles"},
		"bad id":      {"- {id: W9, profiles: [a], en: x}\n", `id "W9"`},
	} {
		_, err := LoadPromises(fstest.MapFS{PromiseFile: {Data: []byte(c.src)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	rows, err := LoadPromises(fstest.MapFS{PromiseFile: {Data: []byte(good)}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("rows %v, error %v", rows, err)
	}
	if p := rows[0]; p.Text("nl") != "Nederlands" || p.Text("hu") != "English" || p.Test() != "TestPromise/W09" || !p.Of("a") || p.Of("b") {
		t.Errorf("row %+v", p)
	}
	if _, err := LoadPromises(fstest.MapFS{}); err == nil {
		t.Error("a missing table is no error")
	}
}
