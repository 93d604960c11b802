package signals

import (
	"testing"

	"github.com/temoto/robotstxt"
)

// temotoDiffers says why temoto/robotstxt, which was first asked for, answers otherwise than we do on
// the vectors. It was read in its source; each reason is a way in which a site's wish gets lost or a
// page is closed that its owner left open (docs/adr/0001-own-robots-parser.md).
var temotoDiffers = map[string][]string{
	"an own group without rules is lost, so the star group is applied":                 {"rb-006", "rb-007"},
	"a version after the token is not cut off, so the group is not found":              {"rb-019"},
	"of rules of equal length the first one wins, not allow":                           {"rb-023", "gf-052", "gf-055"},
	"a pattern with a wildcard becomes a regular expression that may match anywhere":   {"rb-030"},
	"a \"$\" inside a pattern acts as an end":                                          {"rb-034"},
	"escapes and other letters are compared as they stand":                             {"rb-039", "rb-040", "rb-042", "gf-063", "gf-066", "gf-067"},
	"robots.txt itself is not exempt":                                                  {"rb-046"},
	"one line that cannot be read voids the whole file":                                {"rb-047", "rb-048", "gf-008", "gf-009", "gf-010", "gf-011", "gf-012", "gf-013", "gf-014", "gf-015", "gf-016", "gf-017", "bom-02", "bom-03", "bom-04"},
	"a Crawl-delay line ends a list of user-agent lines":                               {"rb-054"},
	"a token is compared with the beginning of ours: \"Foo\" is taken for \"Foo Bar\"": {"gf-041"},
	"the length of a pattern with wildcards is that of its regular expression":         {"gf-058"},
	"a \"#\" inside a value does not begin a comment":                                  {"gf-078"},
	"long lines are not cut":                                                           {"gf-084", "gf-087"},
}

// temoto's answer, or its refusal of the whole file.
func temoto(v robotsVector) (allowed bool, err error) {
	data, err := robotstxt.FromBytes(v.body())
	if err != nil {
		return false, err
	}
	return data.FindGroup(v.Token).Test(pathQuery(v.url())), nil
}

func TestTemoto_CrossCheck(t *testing.T) {
	explained := map[string]bool{}
	for _, ids := range temotoDiffers {
		for _, id := range ids {
			explained[id] = true
		}
	}
	for _, file := range []string{"robots.json", "google-facts.json", "bom-bytes.json"} {
		for _, v := range readVectors[robotsVector](t, file) {
			ours := Parse(v.body()).Decide(v.Token, pathQuery(v.url())).Allowed
			theirs, err := temoto(v)
			if differs := err != nil || theirs != ours; differs != explained[v.ID] {
				t.Errorf("%s (%s): ours %v, temoto %v, %v; explained: %v", v.ID, v.Note, ours, theirs, err, explained[v.ID])
			}
			delete(explained, v.ID)
		}
	}
	for id := range explained {
		t.Errorf("%s is explained and is no vector", id)
	}
}
