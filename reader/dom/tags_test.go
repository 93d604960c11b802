package dom_test

import (
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

func TestTagsAreBounded(t *testing.T) {
	for page, want := range map[string]bool{
		strings.Repeat("<p>x</p>", 5):                          true,
		strings.Repeat("<p>x</p>", 6):                          false,
		"<!-- " + strings.Repeat("<a> ", 20) + " --><p>":       true,
		strings.Repeat("a < b ", 50):                           true,
		"<script>" + strings.Repeat("'<b>'", 20) + "</script>": true,
	} {
		if _, err := dom.CountTags([]byte(page), 10); (err == nil) != want {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestALongTagOfFewAttributesIsLeftAlone(t *testing.T) {
	page := `<img srcset="` + strings.Repeat("/a.png 1w, ", 500) + `" alt="A"><p a1 a2 a3>x</p>`
	tree := dom.Parse([]byte(page), dom.Limits{AttrsPer: 2})
	for n := range tree.Descendants(dom.Root) {
		if tree.Name(n) == "img" && (tree.Attr(n, "alt") != "A" || len(tree.Attr(n, "srcset")) != 5500) {
			t.Errorf("the image has %v", tree.Attrs(n))
		}
	}
	many := "<p " + strings.Repeat("a", 600) + " b c d>x</p>"
	if tree = dom.Parse([]byte(many), dom.Limits{AttrsPer: 2}); !tree.Truncated {
		t.Error("attributes over the bound are kept")
	}
}
