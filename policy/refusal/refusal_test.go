package refusal_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/webreaderapi/webreader/policy/refusal"
	"github.com/webreaderapi/webreader/reader/dom"
)

type vector struct {
	ID       string            `json:"id"`
	URL      string            `json:"url"`
	FinalURL string            `json:"final_url"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	HTML     string            `json:"html"`
	Note     string            `json:"note"`
	Expected struct {
		Class    string   `json:"class"`
		Reason   string   `json:"reason"`
		Vendor   string   `json:"vendor"`
		Warnings []string `json:"warnings"`
	} `json:"expected"`
}

func (v vector) answer() refusal.Answer {
	h := http.Header{}
	for name, value := range v.Headers {
		h.Set(name, value)
	}
	a := refusal.Answer{URL: v.URL, FinalURL: v.FinalURL, Status: v.Status, Header: h, Body: []byte(v.HTML)}
	if len(v.HTML) > 0 {
		a.Tree = dom.Parse(a.Body, dom.Limits{})
	}
	return a
}

func TestVectors(t *testing.T) {
	for _, file := range []string{"testdata/responses.json", "testdata/house.json", "testdata/more.json"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(raw, &vectors); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(vectors) < 60 {
			t.Fatalf("%s: only %d vectors", file, len(vectors))
		}
		for _, v := range vectors {
			t.Run(v.ID, func(t *testing.T) { check(t, v) })
		}
	}
}

func check(t *testing.T, v vector) {
	t.Helper()
	got := refusal.Recognise(v.answer())
	if string(got.Class) != v.Expected.Class || got.Reason != v.Expected.Reason || !slices.Equal(got.Warnings, v.Expected.Warnings) {
		t.Errorf("%s: got %+v, want %+v", v.Note, got, v.Expected)
	}
	if v.Expected.Vendor != "" && got.Vendor != v.Expected.Vendor {
		t.Logf("%s: vendor %q, expected %q", v.Note, got.Vendor, v.Expected.Vendor)
	}
}
