package policy_test

import (
	"testing"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

func builtIn(t testing.TB) *policy.Profiles {
	t.Helper()
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestX(t *testing.T) {
	for _, n := range builtIn(t).Names() {
		for _, l := range builtIn(t).Get(n).Explain() {
			t.Log(l)
		}
	}
}
