package change

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/extract"
)

// slotted is a made-up page with slots and, for each slot, what stands there first and then. What
// differs in a slot of Noise is no change, in one of Real it is.
type slotted struct {
	name    string
	page    *template.Template
	Noise   map[string][2]string
	Real    map[string][2]string
	Mention map[string]string // by slot: what an excerpt must say
	Secrets []string          // and what none may say
	URL     string
}

func slottedPages(t testing.TB) []slotted {
	t.Helper()
	files, err := filepath.Glob("testdata/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var pages []slotted
	for _, file := range files {
		p := slotted{name: strings.TrimSuffix(filepath.Base(file), ".html")}
		p.page = template.Must(template.ParseFiles(file))
		slots, err := os.ReadFile(strings.TrimSuffix(file, ".html") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(slots, &p); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	return pages
}

// visit reads the page with the named slots in their second state.
func (p slotted) visit(t testing.TB, d *Detector, s State, changed ...string) (Report, State) {
	t.Helper()
	values := map[string]string{}
	for _, slots := range []map[string][2]string{p.Noise, p.Real} {
		for name, v := range slots {
			values[name] = v[0]
			if slices.Contains(changed, name) {
				values[name] = v[1]
			}
		}
	}
	var html strings.Builder
	if err := p.page.Execute(&html, values); err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	tree := dom.Parse([]byte(html.String()), dom.Limits{})
	return d.Visit(s, extract.TextBlocks(tree, extract.Extract(tree, base, extract.Options{})))
}

func TestNoiseOnPagesOfManyKindsIsNoChange(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	for _, p := range slottedPages(t) {
		noise := slices.Sorted(maps.Keys(p.Noise))
		_, first := p.visit(t, d, State{})
		for _, slot := range noise {
			if r, _ := p.visit(t, d, first, slot); r.Kind != Unchanged {
				t.Errorf("%s: %s is reported: %+v", p.name, slot, r)
			}
		}
		if r, _ := p.visit(t, d, first, noise...); r.Kind != Unchanged {
			t.Errorf("%s: all noise at once is reported: %+v", p.name, r)
		}
	}
}

func TestRealChangesOnPagesOfManyKindsAreQuoted(t *testing.T) {
	d := NewDetector(Options{Key: []byte("k")})
	for _, p := range slottedPages(t) {
		noise := slices.Sorted(maps.Keys(p.Noise))
		_, first := p.visit(t, d, State{})
		for _, slot := range slices.Sorted(maps.Keys(p.Real)) {
			for _, changed := range [][]string{{slot}, append([]string{slot}, noise...)} {
				r, _ := p.visit(t, d, first, changed...)
				if r.Kind != Changed || !says(r, p.Mention[slot]) {
					t.Errorf("%s: %s is not told: %+v", p.name, slot, r)
				}
				for _, secret := range p.Secrets {
					if says(r, secret) {
						t.Errorf("%s: %s tells %q", p.name, slot, secret)
					}
				}
			}
		}
	}
}

// says is true when an excerpt of r holds text.
func says(r Report, text string) bool {
	return text == "" || slices.ContainsFunc(r.Passages, func(p Passage) bool {
		return strings.Contains(letters(p.Excerpt), letters(text))
	})
}

func FuzzVisit(f *testing.F) {
	f.Add("<h1>Regeling</h1><p>Tot 1 mei 2027.</p>", "<h1>Regeling</h1><p>Tot 2 mei 2027.</p>")
	f.Add("<table><tr><td><p>a<br>b<td>c</table><nav><p>d e f g h.", "<a href=x.pdf>x</a><a href=y.pdf>y</a><form><h1>t")
	for _, p := range slottedPages(f) {
		f.Add(p.page.Root.String(), "<p>")
	}
	d := NewDetector(Options{Key: []byte("k")})
	f.Fuzz(func(t *testing.T, first, second string) {
		var s State
		for i, html := range []string{first, second, second} {
			tree := dom.Parse([]byte(html), dom.Limits{})
			r, next := d.Visit(s, extract.TextBlocks(tree, extract.Extract(tree, nil, extract.Options{})))
			if i == 2 && r.Kind != Unchanged {
				t.Errorf("the same page twice: %+v", r)
			}
			b, err := next.MarshalBinary()
			if err != nil || len(b) > 4096 {
				t.Errorf("state of %d bytes, %v", len(b), err)
			}
			if err := s.UnmarshalBinary(b); err != nil {
				t.Error(err)
			}
		}
	})
}
