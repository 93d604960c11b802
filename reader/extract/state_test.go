package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/reader/dom"
)

// essay is a text of n paragraphs, each known by its number.
func essay(n int, join string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("Chapter%d tells how the bridge over the narrow water was built by people who had never built one, and why it still stands after so many winters.", i+1)
	}
	return strings.Join(parts, join)
}

var related = `"related":[{"body":"` + strings.Repeat("On and on it goes about nothing at all. ", 30) + `Elsewhere somebody wrote at great length of quite another matter, which no reader of this page has asked for, and which would fill it all the same if it were taken, ` +
	`for it is longer than what the page is about, and goes on, and on, and on, with more words in every line, until nobody knows any more what the page was about at all, and then on again, and on, ` +
	`with a few more words about nothing, so that there is no doubt that it is the longest text of them all, by far, and then some more."}]`

func drawn(shown, scripts string) (*dom.Tree, Content) {
	t := dom.Parse([]byte(`<html><head><title>The bridge</title></head><body><div id="app">`+shown+`</div>`+scripts+`</body></html>`), dom.Limits{})
	return t, Extract(t, nil, Options{})
}

func TestWhatAPageDrawsFromItsStateIsRead(t *testing.T) {
	html := strings.ReplaceAll(essay(4, "</p><p>"), `"`, `\"`)
	lines := strings.ReplaceAll(essay(4, "\n\n"), "\n", `\n`)
	for name, script := range map[string]string{
		"HTML in a state":       `<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{` + related + `,"article":{"title":"The bridge","body":"<p>` + html + `</p><p hidden>Secret9</p>"}}}}</script>`,
		"lines in a state":      `<script type="application/json">{"article":{"content":"` + lines + `"}}</script>`,
		"an assignment":         `<script>window.__STATE__ = {"a":[{"b":{"bodyHtml":"<p>` + html + `</p>"}}]};</script>`,
		"an assignment in JSON": `<script>window.__STATE__ = JSON.parse("{\"a\":{\"text\":\"` + strings.ReplaceAll(lines, `\n`, `\\n`) + `\"}}")</script>`,
		"values by number":      `<script type="application/json" id="__NUXT_DATA__">[["Reactive",1],{"article":2},{"title":3,"body":4},"The bridge","<p>` + html + `</p>"]</script>`,
		"a tree of text": `<script type="application/json">{"story":{"body":{"type":"doc","content":[` +
			`{"type":"paragraph","content":[{"type":"text","text":"` + strings.ReplaceAll(essay(4, "|"), "|", `"}]},{"type":"paragraph","content":[{"type":"text","text":"`) + `"}]}]}}}</script>`,
		"runs of text": `<script type="application/json">{"body":[{"children":[{"text":"` + strings.ReplaceAll(essay(4, "|"), "|", `"}]},{"children":[{"text":"`) + `"}]}]}</script>`,
	} {
		tree, c := drawn("<p>Loading</p>", script)
		got := keptText(tree, c)
		for _, want := range []string{"Chapter1 tells", "Chapter4 tells"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s: %q is there %d times in %q", name, want, strings.Count(got, want), got)
			}
		}
		if strings.Contains(got, "Elsewhere") || strings.Contains(got, "Secret9") || len(c.Warnings) == 0 {
			t.Errorf("%s: %v, %q", name, c.Warnings, got)
		}
	}
}

func TestPostsOfAThreadAreAllTaken(t *testing.T) {
	posts := strings.ReplaceAll(essay(5, "|"), "|", `"},{"cooked":"`)
	tree, c := drawn("<p>Loading</p>", `<script type="application/ld+json">{"@type":"DiscussionForumPosting"}</script><script type="application/json">{"posts":[{"cooked":"`+posts+`"}]}</script>`)
	if got := keptText(tree, c); !strings.Contains(got, "Chapter1 ") || !strings.Contains(got, "Chapter5 ") {
		t.Errorf("%q", got)
	}
}

func TestTheStateOfAPageThatShowsItsTextIsLeftAlone(t *testing.T) {
	shown := "<article><h1>The bridge</h1><p>" + essay(4, "</p><p>") + "</p></article>"
	tree, c := drawn(shown, `<script type="application/json">{"article":{"body":"<p>`+essay(30, "</p><p>")+`</p>"}}</script>`)
	if got := keptText(tree, c); strings.Count(got, "Chapter1 tells") != 1 || len(c.Warnings) > 0 {
		t.Errorf("%v, %q", c.Warnings, got)
	}
}

func TestABodyThatThePageOnlyBeginsIsTakenFromItsState(t *testing.T) {
	intro := "<article><h1>The bridge</h1><p>It was a cold day when the first stone was laid, and the people of both banks had come to see who would give up first. " +
		"Nobody did, as we know today, and the story of how that came about has been told in many ways since.</p></article>"
	body := `<script type="application/json">{"article":{"body":"<p>` + essay(12, "</p><p>") + `</p>"}}</script>`
	tree, c := drawn(intro, body)
	if got := keptText(tree, c); !strings.Contains(got, "cold day") || !strings.Contains(got, "Chapter12 tells") {
		t.Errorf("%q", got)
	}
	tree, c = drawn(intro+"<footer><p>"+essay(12, "</p><p>")+"</p></footer>", body)
	if got := keptText(tree, c); strings.Count(got, "Chapter12 tells") > 1 {
		t.Errorf("what the page shows is there twice: %q", got)
	}
}

func TestStatesThatAreNoneDoNoHarm(t *testing.T) {
	for _, script := range []string{
		`<script type="application/json">"body"</script>`, `<script type="application/json">[[`, `<script type="application/json">{"body":` + strings.Repeat(`{"a":`, 5000) + `</script>`,
		`<script type="application/json">]</script>`, `<script type="application/json">[[],{"body":-1},{"body":99},{"body":"x"}]</script>`, `<script>window.a=JSON.parse(</script>`,
		`<script>window.f(function(){ return "` + essay(9, " ") + `" })</script>`, `<script>window.a = {body: "` + essay(9, " ") + `"}</script>`,
		`<script type="application/json">{"translations":{"text":"` + essay(9, " ") + `"}}</script>`,
		`<script type="application/json">{"body":"` + strings.Repeat("{a:[1]} = b/c_d#e\\\\f ", 200) + `"}</script>`,
	} {
		if tree, c := drawn("<p>Loading</p>", script); strings.Contains(keptText(tree, c), "Chapter") || len(c.Warnings) > 1 {
			t.Errorf("%.60q gives %q", script, keptText(tree, c))
		}
	}
}

func TestFullContentHasShadowRootsAndWhatIsForReadersWithoutScripts(t *testing.T) {
	tree := dom.Parse([]byte(`<body><menu>Menu</menu><x-card><template shadowrootmode="open"><p>In a shadow root.</p><style>p{}</style></template></x-card>
<template><p>Never shown.</p></template><noscript>Please turn scripts on.</noscript><noscript><div>`+essay(3, " ")+`</div></noscript><noscript><img src=a.png></noscript></body>`), dom.Limits{})
	got := keptText(tree, Extract(tree, nil, Options{Full: true}))
	for want, there := range map[string]bool{"Menu": true, "In a shadow root.": true, "Never shown.": false, "p{}": false, "turn scripts on": false, "Chapter3": true} {
		if strings.Contains(got, want) != there {
			t.Errorf("%q: %v is wrong in %q", want, !there, got)
		}
	}
}

func TestPiecesAreJoinedUpToAParagraph(t *testing.T) {
	var i item
	i.open = true
	for range 10_000 {
		i.add("aa")
	}
	if len(i.parts) != 10 {
		t.Fatalf("%d parts", len(i.parts))
	}
	for _, p := range i.parts {
		if len(p) > longPart {
			t.Errorf("a part of %d bytes", len(p))
		}
	}
}
