package reader_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/reader"
)

// traps are pages that cost others seconds or a refusal: each opens and ends with a sentence to be found.
func traps() map[string]string {
	many := strings.Repeat
	var links, attributes, formats strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&links, `<a href="/l/%d">link %d</a> `, i, i)
	}
	for i := range 1_000_000 {
		fmt.Fprintf(&attributes, " a%d", i)
	}
	for i := range 400 {
		fmt.Fprintf(&formats, "<b id=%d>", i)
	}
	return map[string]string{
		"paragraphs":        many("<p>A paragraph says a few words, and ends with a stop.</p>", 50_000),
		"brackets":          "<p>" + many("[", 200_000) + "</p>",
		"pictures' marks":   "<p>" + many("![", 100_000) + "</p>",
		"emphasis":          "<p>" + many("<b><i>x</i></b>", 60_000) + "</p>",
		"emphasis marks":    "<p>" + many("*_**__ ", 100_000) + many("*a ", 100_000) + "</p>",
		"links":             links.String(),
		"misnested":         many("<b><i><p>x</b></i>", 60_000),
		"never closed":      "<p>" + formats.String() + "</p>" + many("<div>x</div>", 20_000),
		"nesting":           many("<div>", 100_000),
		"nesting of inline": many("<b>", 100_000),
		"nested quotes":     many("<blockquote>", 480) + many("<p>x y z</p>", 20_000) + many("</blockquote>", 480),
		"attributes":        "<p" + attributes.String() + ">Words of it.</p>",
		"pairs":             "<dl>" + many("<dt>term<dd>definition of it", 90_000) + "</dl>",
		"list of links":     "<ul>" + many("<li><a href=/l>a link</a>", 150_000) + "</ul>",
		"rows":              "<table>" + many("<tr><td>a<td>b<td>c", 60_000) + "</table>",
	}
}

func TestTrapsGiveTheirTextInBoundedTime(t *testing.T) {
	for name, trap := range traps() {
		t.Run(name, func(t *testing.T) {
			page := "<!doctype html><title>Trap</title><body><main><h1>Head</h1><p>The opening words of the page, which a reader must get whatever else happens, in one good sentence.</p>" + trap +
				"<p>The closing words of the page, which also have to be there in the end, as a sentence.</p></main>"
			start := processorTime(t)
			p, err := reader.Convert(t.Context(), reader.Source{Body: []byte(page)}, reader.Options{})
			took := processorTime(t) - start
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.Markdown, "opening words") || !strings.Contains(p.Markdown, "closing words") {
				t.Errorf("the text is lost: %.300q", p.Markdown)
			}
			t.Logf("%.1f MB in %v", float64(len(page))/1e6, took)
			if took > 8*time.Second { // quadratic ones take minutes; the race detector takes ten times as long
				t.Errorf("took %v", took)
			}
		})
	}
}

// processorTime is what this process has used so far: the clock would count the work of others too.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
