package dom

import (
	"strings"
	"testing"
)

// seen is the visible text of a page, and how many hidden parts there were.
func seen(page string) (string, int) {
	t := Parse([]byte(page), Limits{})
	hidden, n := t.Hidden()
	var b strings.Builder
	for c := range t.Descendants(Root) {
		if t.Kind(c) == Text && !hidden.Has(c) {
			b.WriteString(t.Data(c))
		}
	}
	return b.String(), n
}

func TestHiddenTextIsFound(t *testing.T) {
	for name, part := range map[string]string{
		"display":            `<p style="display:none">SECRET</p>`,
		"display, spaced":    `<p style="color:red; DISPLAY : NONE !important">SECRET</p>`,
		"visibility":         `<p style="visibility:hidden">SECRET</p>`,
		"collapse":           `<p style="visibility:collapse">SECRET</p>`,
		"opacity":            `<p style="opacity:0">SECRET</p>`,
		"opacity small":      `<p style="opacity:0.01">SECRET</p>`,
		"opacity percent":    `<p style="opacity: 0%">SECRET</p>`,
		"font size":          `<p style="font-size:0">SECRET</p>`,
		"font size px":       `<p style="font-size:1px">SECRET</p>`,
		"left":               `<p style="position:absolute;left:-9999px">SECRET</p>`,
		"top":                `<p style="position:fixed;top:-100vh">SECRET</p>`,
		"indent":             `<p style="text-indent:-9999px">SECRET</p>`,
		"clip":               `<p style="position:absolute;clip:rect(0 0 0 0)">SECRET</p>`,
		"clip commas":        `<p style="position:absolute;clip:rect(1px,1px,1px,1px)">SECRET</p>`,
		"clip path":          `<p style="clip-path:inset(50%)">SECRET</p>`,
		"zero size":          `<p style="width:0;height:0;overflow:hidden">SECRET</p>`,
		"zero height":        `<p style="max-height:0;overflow:hidden">SECRET</p>`,
		"same colours":       `<p style="color:#fff;background-color:white">SECRET</p>`,
		"same as around":     `<div style="background:#FFFFFF"><p><span style="color:rgb(255,255,255)">SECRET</span></p></div>`,
		"transparent":        `<p style="color:transparent">SECRET</p>`,
		"scaled away":        `<p style="transform:scale(0)">SECRET</p>`,
		"hidden":             `<p hidden>SECRET</p>`,
		"template":           `<template><p>SECRET</p></template>`,
		"dialog":             `<dialog><p>SECRET</p></dialog>`,
		"modal":              `<div class="modal fade" aria-hidden="true"><p>SECRET</p></div>`,
		"reader only":        `<span class="sr-only">SECRET</span>`,
		"class rule":         `<style>.x1{display:none}</style><p class="a x1">SECRET</p>`,
		"id rule":            `<style>/* a */ #y , .z {visibility:hidden}</style><p id="y">SECRET</p>`,
		"compound rule":      `<style>p.q.r{opacity:0}</style><p class="r q">SECRET</p>`,
		"rule for screens":   `<style>@media screen and (min-width: 600px){.m{display:none}}</style><p class="m">SECRET</p>`,
		"important wins":     `<style>.i{display:none!important}</style><p class="i" style="display:block">SECRET</p>`,
		"semicolon in url":   `<p style="background:url('a;b');display:none">SECRET</p>`,
		"in the middle":      `<p>Visible <span style="display:none">SECRET</span> too.</p>`,
		"nested":             `<div hidden><div><p>SECRET</p></div></div>`,
		"collapsed nav menu": `<button aria-controls="m1">Menu</button><ul id="m1" hidden><li>SECRET</li></ul>`,
	} {
		text, n := seen("<body><p>Plain words.</p>" + part + "</body>")
		if strings.Contains(text, "SECRET") || n != 1 {
			t.Errorf("%s: shown %q, %d removed", name, text, n)
		}
	}
}

func TestVisibleTwinsStay(t *testing.T) {
	for name, part := range map[string]string{
		"opacity":          `<p style="opacity:0.95">KEPT</p>`,
		"opacity one":      `<p style="opacity:1.0">KEPT</p>`,
		"display":          `<p style="display:block">KEPT</p>`,
		"not a property":   `<p style="--display:none">KEPT</p>`,
		"in a url":         `<p style="background:url(display:none)">KEPT</p>`,
		"visible":          `<p style="visibility:visible">KEPT</p>`,
		"small indent":     `<p style="text-indent:-2em">KEPT</p>`,
		"hanging":          `<p style="position:relative;left:-10px">KEPT</p>`,
		"font size":        `<p style="font-size:10px">KEPT</p>`,
		"font size em":     `<p style="font-size:0.8em">KEPT</p>`,
		"gap hack":         `<div style="font-size:0"><span style="font-size:16px">KEPT</span></div>`,
		"white on dark":    `<p style="color:#fff;background:#003">KEPT</p>`,
		"white on picture": `<div style="background:#fff url(x.png)"><p style="color:#fff">KEPT</p></div>`,
		"white alone":      `<p style="color:white">KEPT</p>`,
		"gradient text":    `<p style="color:transparent;-webkit-background-clip:text">KEPT</p>`,
		"zero height":      `<div style="height:0">KEPT</div>`,
		"aria-hidden":      `<p aria-hidden="true">KEPT</p>`,
		"hidden-gem":       `<p class="hidden-gem not-hidden">KEPT</p>`,
		"dialog open":      `<dialog open>KEPT</dialog>`,
		"shadow":           `<x-a><template shadowrootmode="open"><p>KEPT</p></template></x-a>`,
		"other class":      `<style>.x{display:none}</style><p class="xx">KEPT</p>`,
		"descendant rule":  `<style>.menu .x{display:none}</style><p class="x">KEPT</p>`,
		"print rule":       `<style>@media print{.x{display:none}}</style><p class="x">KEPT</p>`,
		"phone rule":       `<style>@media (max-width:600px){.x{display:none}}</style><p class="x">KEPT</p>`,
		"keyframes":        `<style>@keyframes a{from{visibility:hidden}to{opacity:1}} body{animation:a}</style><p>KEPT</p>`,
		"shown again":      `<style>.tab{display:none}.tab.on{display:block}</style><p class="tab on">KEPT</p>`,
		"inline wins":      `<style>.x{display:none}</style><p class="x" style="display:block">KEPT</p>`,
		"fades in":         `<div style="opacity:0;transform:translateY(20px)">KEPT</div>`,
		"details":          `<details><summary>Q</summary><p>KEPT</p></details>`,
		"whole page":       `<style>body{visibility:hidden}</style><p>KEPT</p>`,
		"tab panel":        `<div role="tablist"><button role="tab" aria-controls="p2">B</button></div><div role="tabpanel" id="p2" hidden><p>KEPT</p></div>`,
		"accordion":        `<h3><button aria-expanded="false" aria-controls="s1">Q</button></h3><div id="s1" role="region" hidden><p>KEPT</p></div>`,
		"collapse":         `<a data-bs-toggle="collapse" href="#c1">More</a><div class="collapse" id="c1" style="display:none">KEPT</div>`,
		"formula":          `<span class="mwe-math-mathml-inline" style="display: none;"><math><mi>KEPT</mi></math></span>`,
	} {
		text, n := seen("<body><p>Plain words.</p>" + part + "</body>")
		if !strings.Contains(text, "KEPT") || n != 0 {
			t.Errorf("%s: shown %q, %d removed", name, text, n)
		}
	}
}

func TestAHiddenPartStaysOnlyWhereItIsThePage(t *testing.T) {
	long := strings.Repeat("Words that were written for the page. ", 20)
	for name, page := range map[string]struct {
		html string
		kept bool
	}{
		"half":         {`<body><p>` + long + `</p><div style="visibility:hidden">SECRET ` + long + `</div></body>`, false},
		"nearly all":   {`<body><p>Plain words.</p><div style="visibility:hidden">SECRET ` + long + `</div></body>`, true},
		"a large menu": {`<body><p>` + long + `</p><div style="display:none">SECRET ` + long + long[:len(long)/2] + `</div></body>`, false},
	} {
		if text, _ := seen(page.html); strings.Contains(text, "SECRET") != page.kept {
			t.Errorf("%s: shown %q", name, text)
		}
	}
}

func TestPanelsAreNamed(t *testing.T) {
	tree := Parse([]byte(`<div role="tablist"><b role="tab">x</b></div><div role="tabpanel">a</div><div role="tabpanel" hidden>b</div>`), Limits{})
	_, panels, _ := tree.Visibility()
	if len(panels) != 1 || tree.Text(panels[0]) != "b" {
		t.Errorf("panels %v", panels)
	}
}

func TestCleanStripsWhatNobodySees(t *testing.T) {
	for in, want := range map[string]string{
		"zero\u200bwidth soft\u00adhyphen":            "zerowidth softhyphen",
		"bidi \u202eevil\u202c \u2066x\u2069":         "bidi evil x",
		"tags \U000e0041\U000e0042":                   "tags ",
		"bell\a null\x00 del\x7f c1\u0086":            "bell null del c1",
		"\ufeffmark":                                  "mark",
		"می\u200cخواهم":                               "می\u200cخواهم",
		"क्\u200dष":                                   "क्\u200dष",
		"a\u200cb x\u200dy":                           "ab xy",
		"👨\u200d👩\u200d👧":                             "👨\u200d👩\u200d👧",
		"❤\ufe0f x\ufe0f":                             "❤\ufe0f x",
		"葛\U000e0100 a\U000e0100\U000e0101\U000e0102": "葛\U000e0100 a",
		"plain ünïcode\n\tstays":                      "plain ünïcode\n\tstays",
	} {
		got, n := Clean(in)
		if got != want || (n == 0) != (in == want) {
			t.Errorf("Clean(%q) = %q, %d; want %q", in, got, n, want)
		}
	}
}
