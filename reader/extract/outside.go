package extract

import (
	"encoding/json"
	"html"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/reader/dom"
)

// Some pages hold their content outside the tree that is shown: a script writes it from data that
// came along. Where the tree is poor, the text of the page's own JSON-LD takes its place.

const (
	mostData   = 2 << 20 // bytes of one script
	mostDepth  = 12
	mostValues = 20_000
	richer     = 3 // how much more text the data must have
	leastWords = 40
	leastShown = 12 // words of a shown block that may be a description
	poorWords  = 150
	richWords  = 200
	fewTimes   = 4 // a page of a ware that shows more than so many times its description needs none
)

// outside is the text that the page's JSON-LD gives for its main content, from things whose kind is
// of; empty when it has none.
func outside(t *dom.Tree, of func(kind string) bool) (best []string) {
	for n := range t.Descendants(dom.Root) {
		if t.Tag(n) != atom.Script || !strings.Contains(t.Attr(n, "type"), "ld+json") {
			continue
		}
		data := t.Data(t.FirstChild(n))
		if len(data) > mostData {
			continue
		}
		var v any
		if json.Unmarshal([]byte(data), &v) != nil {
			continue
		}
		if parts := told(v, of); wordsOf(parts) > wordsOf(best) {
			best = parts
		}
	}
	return best
}

// told collects the bodies and descriptions of the things that v names, those whose kind is of.
func told(v any, of func(kind string) bool) (parts []string) {
	type job struct {
		v     any
		depth int
	}
	jobs := []job{{v, 0}}
	for seen := 0; len(jobs) > 0 && seen < mostValues; seen++ {
		j := jobs[0]
		jobs = jobs[1:]
		switch v := j.v.(type) {
		case []any:
			for _, e := range v {
				if j.depth < mostDepth {
					jobs = append(jobs, job{e, j.depth + 1})
				}
			}
		case map[string]any:
			if kind, _ := v["@type"].(string); of(kind) {
				parts = append(parts, bodies(v)...)
			}
			for _, key := range [...]string{"@graph", "mainEntity", "mainEntityOfPage", "review", "comment", "suggestedAnswer", "acceptedAnswer", "itemListElement", "item"} {
				if e, ok := v[key]; ok && j.depth < mostDepth {
					jobs = append(jobs, job{e, j.depth + 1})
				}
			}
		}
	}
	return parts
}

func wordsOf(parts []string) (n int) {
	for _, s := range parts {
		n += len(strings.Fields(withoutTags(s)))
	}
	return n
}

// subject says that a page can be about a thing of the kind.
func subject(kind string) bool {
	return !strings.HasPrefix(kind, "Web") && !strings.HasSuffix(kind, "Organization") && kind != "BreadcrumbList" && kind != "Person" && kind != "ImageObject"
}

// ware says that a thing of the kind is sold.
func ware(kind string) bool { return kind == "Product" || kind == "ProductGroup" }

// bodies are the texts of one thing.
func bodies(v map[string]any) (parts []string) {
	for _, key := range [...]string{"articleBody", "reviewBody", "text", "description"} {
		if s, ok := v[key].(string); ok && strings.TrimSpace(s) != "" {
			return []string{s}
		}
	}
	return nil
}

// addOutside appends the parts of a text to the body of t and keeps them: what is HTML as it is, a
// paragraph for each line of the others.
func addOutside(t *dom.Tree, keep *dom.Set, parts []string) {
	body := t.First(dom.Root, atom.Body)
	if body == 0 {
		return
	}
	box := t.NewElement(body, atom.Div)
	for _, part := range parts {
		if !marked(part) {
			part = html.UnescapeString(part)
		}
		if built(part) {
			t.AppendHTML(box, part, dom.Limits{})
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if marked(line) {
				t.AppendHTML(t.NewElement(box, atom.P), line, dom.Limits{})
				continue
			}
			t.NewText(t.NewElement(box, atom.P), line)
		}
	}
	t.AddAncestors(keep, box)
	t.AddSubtree(keep, box)
	dropUnseen(t, keep, box)
}

// built says that a text is HTML with blocks of its own.
func built(s string) bool {
	for _, end := range [...]string{"</p>", "<p>", "</div>", "</li>", "</h2>", "</h3>", "</table>", "<br"} {
		if strings.Contains(s, end) {
			return true
		}
	}
	return false
}

// dropUnseen takes scripts, styles and what is hidden below box out of keep.
func dropUnseen(t *dom.Tree, keep *dom.Set, box dom.ID) {
	hidden, _ := t.Hidden()
	for n := t.Following(box, box); n != 0; n = t.Following(n, box) {
		if !keep.Has(t.Parent(n)) || hidden.Has(n) || unseen(t.Tag(n)) || t.Kind(n) == dom.Comment {
			keep.Remove(n)
		}
	}
}
