package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The second stage learns from pages in the order they came in: writing answers must not change it.
func TestAnswersAreSortedAndPagesStayAsTheyAre(t *testing.T) {
	pages := []*page{{ID: "b"}, {ID: "c"}, {ID: "a"}}
	name := filepath.Join(t.TempDir(), "answers")
	if err := answers(name, pages, func(*page) []bool { return nil }); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := strings.Index(string(written), `"a"`), strings.Index(string(written), `"b"`), strings.Index(string(written), `"c"`)
	if a < 0 || a > b || b > c {
		t.Errorf("answers:\n%s", written)
	}
	if pages[0].ID != "b" || pages[2].ID != "a" {
		t.Errorf("the pages are now %s, %s, %s", pages[0].ID, pages[1].ID, pages[2].ID)
	}
}
