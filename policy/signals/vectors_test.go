package signals

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// text is a string, or a list of strings and of {"repeat", "times"} to be joined.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		var rep struct {
			Repeat string
			Times  int
		}
		if json.Unmarshal(p, &s) == nil {
			*t += text(s)
		} else if err := json.Unmarshal(p, &rep); err != nil {
			return err
		} else {
			*t += text(strings.Repeat(rep.Repeat, rep.Times))
		}
	}
	return nil
}

type robotsVector struct {
	ID       string
	Robots   text   `json:"robots_txt"`
	Parts    text   `json:"robots_txt_parts"`
	Body     []byte `json:"body_b64"`
	Token    string
	URL      text `json:"url"`
	URLParts text `json:"url_parts"`
	Allowed  bool
	Google   bool
	Line     *int
	Note     string
}

func (v robotsVector) body() []byte {
	if v.Body != nil {
		return v.Body
	}
	return []byte(v.Robots + v.Parts)
}

func (v robotsVector) url() string { return string(v.URL + v.URLParts) }

func readVectors[T any](t testing.TB, name string) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v []T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(v) == 0 {
		t.Fatalf("%s holds no vector", name)
	}
	return v
}

// pathQuery is what a URL asks for, without help of the code under test. A URL that cannot be parsed
// as it stands is cut by hand.
func pathQuery(raw string) string {
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "#")
	i := strings.IndexAny(rest, "/?")
	if i < 0 {
		return "/"
	}
	if rest[i] == '?' {
		return "/" + rest[i:]
	}
	return rest[i:]
}

func TestRFC9309_Vectors(t *testing.T) {
	for _, v := range append(readVectors[robotsVector](t, "robots.json"), readVectors[robotsVector](t, "house-robots.json")...) {
		d := Parse(v.body()).Decide(v.Token, pathQuery(v.url()))
		if d.Allowed != v.Allowed || v.Line != nil && d.Rule.Line != *v.Line {
			t.Errorf("%s (%s): allowed %v by line %d, want %v by line %d", v.ID, v.Note, d.Allowed, d.Rule.Line, v.Allowed, *v.Line)
		}
	}
}

func TestGoogle_FactsByOurAnswers(t *testing.T) {
	same := 0
	for _, v := range readVectors[robotsVector](t, "google-facts.json") {
		d := Parse(v.body()).Decide(v.Token, pathQuery(v.url()))
		if d.Allowed != v.Allowed {
			t.Errorf("%s (%s): allowed %v, want %v", v.ID, v.Note, d.Allowed, v.Allowed)
		}
		if d.Allowed == v.Google {
			same++
		}
	}
	if same != 149 {
		t.Errorf("%d answers are Google's own, want 149: the four others are listed in docs/divergences.md", same)
	}
}

func TestGoogle_BOMBytes(t *testing.T) {
	for _, v := range readVectors[robotsVector](t, "bom-bytes.json") {
		if d := Parse(v.body()).Decide(v.Token, pathQuery(v.url())); d.Allowed != v.Allowed {
			t.Errorf("%s (%s): allowed %v, want %v", v.ID, v.Note, d.Allowed, v.Allowed)
		}
	}
}
