package policy

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
)

// PromiseFile is the table's name beside the profiles.
const PromiseFile = "promises.yaml"

// Promise is a row of the promise table: what site operators are told, and what a test proves.
type Promise struct {
	ID       string   `yaml:"id"`
	Profiles []string `yaml:"profiles"` // whose promise it is
	NL       string   `yaml:"nl"`
	EN       string   `yaml:"en"`
	HU       string   `yaml:"hu"`
	// NotYet is true while no test proves the row; the public does not see it until then.
	NotYet bool `yaml:"not_yet"`
}

// Test names the test that proves p, for go test -run; empty while there is none.
func (p Promise) Test() string {
	if p.NotYet {
		return ""
	}
	return "TestPromise/" + p.ID
}

// Text is the promise in a language, or in English where the row has no such text.
func (p Promise) Text(language string) string {
	switch {
	case language == "nl" && p.NL != "":
		return p.NL
	case language == "hu" && p.HU != "":
		return p.HU
	}
	return p.EN
}

// Of is true when p is a promise of the profile of that name.
func (p Promise) Of(profile string) bool { return slices.Contains(p.Profiles, profile) }

var promiseID = regexp.MustCompile(`^[A-Z][0-9]{2}$`)

// LoadPromises reads the promise table, in its order. An unknown key, a row without an English text, a
// profile or a proper id, and a second row of an id are errors.
func LoadPromises(files fs.FS) ([]Promise, error) {
	src, err := fs.ReadFile(files, PromiseFile)
	if err != nil {
		return nil, fmt.Errorf("read the promise table: %w", err)
	}
	var rows []Promise
	if err := yaml.UnmarshalWithOptions(src, &rows, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", PromiseFile, err)
	}
	seen := map[string]bool{}
	for _, p := range rows {
		switch {
		case !promiseID.MatchString(p.ID):
			return nil, fmt.Errorf("%s: id %q is not a letter and two digits, like W09", PromiseFile, p.ID)
		case seen[p.ID]:
			return nil, fmt.Errorf("%s: %s stands there twice", PromiseFile, p.ID)
		case p.EN == "" || len(p.Profiles) == 0:
			return nil, fmt.Errorf("%s: %s needs an en: text and profiles", PromiseFile, p.ID)
		}
		seen[p.ID] = true
	}
	return rows, nil
}
