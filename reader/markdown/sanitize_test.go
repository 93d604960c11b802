package markdown

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSanitize(t *testing.T) {
	base, _ := url.Parse("https://x.example/docs/page.md")
	for name, c := range map[string]struct{ in, want string }{
		"plain":              {"# A\n\nText *em* `a<b`.\n", "# A\n\nText *em* `a<b`.\n"},
		"tag":                {"a <b>bold</b> c", "a bold c"},
		"script":             {"a <script>evil()</script> b", "a  b"},
		"comment":            {"a <!-- note\n\nmore --> b", "a  b"},
		"comment unclosed":   {"a <!-- note", "a  note"},
		"relative link":      {"[a](b.md) ![i](/i.png)", "[a](https://x.example/docs/b.md) ![i](https://x.example/i.png)"},
		"script link":        {"x [a](javascript:alert(1)) y", "x a y"},
		"entity link":        {"[a](java&#115;cript:x)", "a"},
		"angle link":         {"[a](<javascript:x y>)", "a"},
		"data image":         {"![alt](data:image/png;base64,AAAA)", "alt"},
		"title":              {`[a](https://y.example "T")`, `[a](https://y.example "T")`},
		"definition":         {"[a]: javascript:x\n[b]: b.md\n", "[b]: https://x.example/docs/b.md\n"},
		"fence":              {"```html\n<b>x</b>\n```\n<b>y</b>\n", "```html\n<b>x</b>\n```\ny\n"},
		"fence in quote":     {"> ```\n> <b>\n<script>x</script>", "> ```\n> <b>\n"},
		"tag made of tags":   {"<<b>script>x", "\\<script>x"},
		"autolink":           {"<https://y.example/a> <javascript:x>", "<https://y.example/a> "},
		"less than":          {"1 < 2 <3", "1 < 2 \\<3"},
		"controls":           {"a\u202eb\u200bc\x00", "abc"},
		"escaped":            {`\<b> \[a](javascript:x)`, `\<b> \[a]\(javascript:x)`},
		"code in line":       {"`` a ` <b> `` <i>", "`` a ` <b> `` "},
		"ticks without end":  {"``` a <b>", "``` a <b>"},
		"unclosed tag":       {"a <b href='", "a \\<b href='"},
		"event handler":      {`<img src=x onerror="alert(1)"> ok`, " ok"},
		"mail":               {"[m](mailto:a@b.example)", "[m](mailto:a@b.example)"},
		"nested image link":  {"[![i](javascript:x)](https://y.example)", "[i](https://y.example)"},
		"link over two rows": {"[a](\njavascript:x)", "a"},
		"fragment":           {"[a](#part)", "[a](#part)"},
		"line break tag":     {"| a<br>b |", "| a b |"},
	} {
		if got := Sanitize([]byte(c.in), base); got != c.want {
			t.Errorf("%s: %q gives %q, want %q", name, c.in, got, c.want)
		}
	}
}

func TestSanitizeIsLinear(t *testing.T) {
	for _, part := range []string{"[", "![", "](", "<", "<!--", "`", "`` ` ", "<script>", "[a](", "<a href='", "[a]:\n", "> ```\n", "((((", "\\"} {
		start := time.Now()
		Sanitize([]byte(strings.Repeat(part, 200_000)), nil)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q took %v", part, took)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"[a](javascript:x)", "<b>", "```\n<b>\n```", "`", "[a]: b", "<!--", "\\<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Sanitize([]byte(s), nil)
		if strings.Contains(once, "](javascript:") || strings.Contains(once, "\x00") {
			t.Errorf("%q gives %q", s, once)
		}
	})
}
