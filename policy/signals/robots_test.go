package signals

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func TestRFC9309_Matching(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		matches    bool
	}{
		{"/", "/", true}, {"/", "", true}, {"/a", "/a", true}, {"/a", "/ab", true}, {"/a", "/A", false}, {"/a/", "/a", false},
		{"/a$", "/a", true}, {"/a$", "/a?", false}, {"/a$", "/a/", false}, {"/$", "/", true}, {"/$", "/a", false},
		{"*", "/x", true}, {"**", "/x", true}, {"/**", "/", true}, {"*$", "/x", true}, {"/*$", "/", true}, {"$", "/", true}, {"$", "/a", false},
		{"*.php$", "/a.php", true}, {"*.php$", "/a.php?x", false}, {"*.php", "/a.php?x", true}, {"*a*b$", "/ab", true}, {"*a*b$", "/aab", true},
		{"*a*b$", "/ba", false}, {"*a*b$", "/abc", false}, {"/a*a$", "/a", false}, {"/a*a$", "/aa", true}, {"/ab*ba$", "/aba", false},
		{"/ab*ba$", "/abba", true}, {"/*/*/", "/a/b/", true}, {"/*/*/", "/a/b", false}, {"/a**b", "/ab", true}, {"/a*?b", "/ax?b", true},
		{"/a$$", "/a$", true}, {"/a$$", "/a", false}, {"/a$*", "/a$x", true}, {"/a$*", "/ax", false},
		{"/%2A", "/*", true}, {"/%2a", "/%2A", true}, {"/%2A", "/x", false}, {"/*x", "/%2Ax", true}, {"/a%24", "/a$", true}, {"/a%24", "/a", false},
		{"/a$b", "/a%24b", true}, {"/%252A", "/%252A", true}, {"/%252A", "/*", false},
		{"/%7euser", "/~user", true}, {"/~user", "/%7Euser", true}, {"/%41", "/A", true}, {"/A%2dB%5f%2E", "/A-B_.", true},
		{"/a%2Fb", "/a/b", false}, {"/a/b", "/a%2Fb", false}, {"/a%2fb", "/a%2Fb", true}, {"/a%3fb", "/a?b", false}, {"/a%20b", "/a b", true},
		{"/a b", "/a%20b", true}, {"/ü", "/%c3%bc", true}, {"/%C3%bc", "/ü", true}, {"/ツ", "/%E3%83%84x", true}, {"/\xff", "/%FF", true},
		{"/100%", "/100%25", true}, {"/100%/x", "/100%/x", true}, {"/%4", "/%4", true}, {"/%zz", "/%zz", true}, {"/{a}", "/%7Ba%7D", true},
		{"/[a]", "/[a]", true}, {"/a|b", "/a%7Cb", true}, {"/\"", "/%22", true}, {"/a'b(c)", "/a'b(c)", true}, {"/a+b", "/a b", false},
		{"intern/", "/intern/x", true}, {"intern/", "/x/intern/", false}, {"?q=", "/?q=1", true}, {"", "/", false}, {"", "", false},
		{"/a.c", "/abc", false}, {"/[ab]", "/a", false}, {"/a\\", "/a%5C", true}, {"/(a+)+$", "/aaaa", false},
	} {
		p := compile(c.rule)
		if got := p.matches(normalPath(c.path)); got != c.matches {
			t.Errorf("rule %q, path %q: %v, want %v", c.rule, c.path, got, c.matches)
		}
	}
}

func TestRFC9309_MostOctetsWin(t *testing.T) {
	for _, c := range []struct {
		lines, path string
		allowed     bool
		line        int
	}{
		{"Disallow: /a\nAllow: /a\nDisallow: /a\nAllow: /a", "/a", true, 3},
		{"Disallow: /a%C3%BC\nAllow: /aü", "/aü", true, 3},
		{"Disallow: /%61bc\nAllow: /abc", "/abc", true, 3},
		{"Allow: /a*\nDisallow: /ab", "/abc", true, 2},
		{"Allow: /a\nDisallow: /a$", "/a", false, 3},
		{"Allow: /ab$\nDisallow: /a*b", "/ab", true, 2},
		{"Disallow: /*\nAllow: /", "/x", false, 2},
		{"Disallow:\nAllow:", "/x", true, 0},
		{"Disallow: \nDisallow: /x", "/x", false, 3},
		{"Allow: /a/b/c\nDisallow: /a/b/\nAllow: /a/\nDisallow: /", "/a/b/x", false, 3},
		{"Allow: /a/b/c\nDisallow: /a/b/\nAllow: /a/\nDisallow: /", "/a/x", true, 4},
		{"Allow: /a/b/c\nDisallow: /a/b/\nAllow: /a/\nDisallow: /", "/x", false, 5},
	} {
		d := Parse([]byte("User-agent: *\n"+c.lines)).Decide("ReadBot", c.path)
		if d.Allowed != c.allowed || d.Rule.Line != c.line {
			t.Errorf("%q, %s: %v by line %d, want %v by %d", c.lines, c.path, d.Allowed, d.Rule.Line, c.allowed, c.line)
		}
	}
}

func TestRFC9309_Syntax(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		allowed bool
		line    int
	}{
		"blank around the colon":        {"User-agent : *\nDisallow : /x", false, 2},
		"tabs and leading blanks":       {"\t User-agent:\t*\n  Disallow:\t/x  ", false, 2},
		"no blank after the colon":      {"User-agent:*\nDisallow:/x", false, 2},
		"vertical tab":                  {"User-agent:\v*\n\vDisallow: /x", false, 2},
		"colon in the value":            {"User-agent: *\nDisallow: /x:y", true, 0},
		"comment behind a token":        {"User-agent: ReadBot # us\nDisallow: /x # all", false, 2},
		"comment cuts the value":        {"User-agent: *\nDisallow: /x#y", false, 2},
		"hash is the value":             {"User-agent: *\nDisallow: #/x", true, 0},
		"blank lines inside a group":    {"User-agent: *\n\n\n\nDisallow: /x", false, 5},
		"other record between":          {"User-agent: *\nHost: a\nFoo: b\nDisallow: /x", false, 4},
		"sitemap between agents":        {"User-agent: a\nSitemap: /s\nUser-agent: *\nDisallow: /x", false, 4},
		"empty file":                    {"", true, 0},
		"only a BOM":                    {"\xef\xbb\xbf", true, 0},
		"NUL bytes":                     {"User-agent: *\x00\nDisallow: /x\x00", true, 0},
		"HTML":                          {"<!doctype html><p>User-agent: *</p>\n<p>Disallow: /</p>", true, 0},
		"mixed line ends":               {"User-agent: *\r\n\r\rDisallow: /a\nDisallow: /x\r", false, 5},
		"no line end":                   {"User-agent: *\nDisallow: /x", false, 2},
		"misspelt":                      {"Useragent: *\nDissallow: /x", false, 2},
		"misspelt otherwise":            {"User agent: *\nDisalow: /x", false, 2},
		"three words without colon":     {"User-agent *\nDisallow /x y", true, 0},
		"allow without colon":           {"User-agent: *\nDisallow: /\nAllow /x", true, 3},
		"agent without a token":         {"User-agent:\nDisallow: /x", true, 0},
		"agent that is a number":        {"User-agent: 360Spider\nDisallow: /x", true, 0},
		"token with a star":             {"User-agent: ReadBot*\nDisallow: /x", false, 2},
		"token in quotes":               {"User-agent: \"ReadBot\"\nDisallow: /x", true, 0},
		"own group without rules":       {"User-agent: *\nDisallow: /x\n\nUser-agent: ReadBot\n", true, 0},
		"own group below the star's":    {"User-agent: *\nDisallow: /\nUser-agent: Readbot\nDisallow: /x", false, 4},
		"group after a rule above all":  {"Disallow: /x\nUser-agent: *\nAllow: /", true, 3},
		"token twice in one group":      {"User-agent: ReadBot\nUser-agent: READBOT\nDisallow: /x", false, 3},
		"own rules in three places":     {"User-agent: ReadBot\nAllow: /\nUser-agent: a\nDisallow: /\nUser-agent: readbot\nDisallow: /x\nUser-agent: b\nUser-agent: READBOT\nAllow: /xy", false, 6},
		"disallow with text before it":  {"User-agent: *\nX-Disallow: /x", true, 0},
		"longer name than the token":    {"User-agent: ReadBotX\nDisallow: /x", true, 0},
		"shorter name than the token":   {"User-agent: Read\nDisallow: /x", true, 0},
		"file of another kind of blank": {"User-agent:\u00a0*\nDisallow: /x", true, 0},
	} {
		d := Parse([]byte(c.file)).Decide("ReadBot", "/x")
		if d.Allowed != c.allowed || d.Rule.Line != c.line {
			t.Errorf("%s: %v by line %d, want %v by %d", name, d.Allowed, d.Rule.Line, c.allowed, c.line)
		}
	}
}

func TestRFC9309_SaysWhoAndWhere(t *testing.T) {
	f := Parse([]byte("# a\nUser-agent: *\nDisallow: /b\n\nUser-agent: A\nUser-agent: READ-Bot/2\n  Allow:  /b/c   # yes\nDisallow: /b\n"))
	d := f.Decide("read-bot", "/b/c/d")
	if !d.Allowed || d.Why != ByRule || d.Group != "READ-Bot" || d.GroupLine != 6 || d.Rule.Line != 7 || d.Rule.Text != "Allow:  /b/c" {
		t.Errorf("%+v", d)
	}
	if d := f.Decide("read-bot", "/a"); !d.Allowed || d.Why != NoRule || d.Group != "READ-Bot" || d.Rule.Line != 0 {
		t.Errorf("%+v", d)
	}
	if d := f.Decide("x", "/b"); d.Allowed || d.Group != "*" || d.GroupLine != 2 {
		t.Errorf("%+v", d)
	}
	if d := Parse([]byte("User-agent: a\nDisallow: /")).Decide("x", "/b"); !d.Allowed || d.Why != NoGroup || d.Group != "" {
		t.Errorf("%+v", d)
	}
	for _, path := range []string{"/robots.txt", "/%72obots.txt"} {
		if d := Parse([]byte("User-agent: *\nDisallow: /")).Decide("x", path); !d.Allowed || d.Why != RobotsFile {
			t.Errorf("%s: %+v", path, d)
		}
	}
	if d := Parse([]byte("User-agent: *\nDisallow: /")).Decide("x", "/a/robots.txt"); d.Allowed {
		t.Errorf("%+v", d)
	}
}

func TestRobots_IsCutAtItsBound(t *testing.T) {
	head := "User-agent: *\n"
	for _, c := range []struct {
		name, tail string
		size       int
		truncated  bool
		disallowed []string
		open       string
	}{
		{"whole", "Disallow: /a\n", 1000, false, []string{"/a"}, "/b"},
		{"last line ends at the bound", "Disallow: /a\n", MaxRobots, false, []string{"/a"}, "/b"},
		{"last line lies behind it", "Disallow: /a\nDisallow: /b\n", MaxRobots + len("Disallow: /b\n"), true, []string{"/a"}, "/b"},
		{"bound falls into a line", "Disallow: /a\nDisallow: /bbbb\n", MaxRobots + 4, true, []string{"/a"}, "/bb"},
	} {
		filler := "#" + strings.Repeat("x", c.size-len(head)-len(c.tail)-2) + "\n"
		f := Parse([]byte(head + filler + c.tail))
		if f.Truncated != c.truncated {
			t.Errorf("%s: truncated %v", c.name, f.Truncated)
		}
		for _, p := range c.disallowed {
			if f.Decide("x", p).Allowed {
				t.Errorf("%s: %s is open", c.name, p)
			}
		}
		if !f.Decide("x", c.open).Allowed {
			t.Errorf("%s: %s is closed", c.name, c.open)
		}
	}
	if f := Parse(bytes.Repeat([]byte("a"), MaxRobots+1)); len(f.Groups) != 0 || !f.Truncated {
		t.Errorf("one endless line: %+v", f)
	}
}

func TestRobots_UTF16IsReadByItsMark(t *testing.T) {
	units := utf16.Encode([]rune("User-agent: *\r\nDisallow: /pályázat\U0001F600/\r\n"))
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		body := order.AppendUint16(nil, 0xfeff)
		for _, u := range units {
			body = order.AppendUint16(body, u)
		}
		d := Parse(append(body, 'x')).Decide("x", "/p%C3%A1ly%C3%A1zat%F0%9F%98%80/1")
		if d.Allowed || d.Rule.Line != 2 {
			t.Errorf("%v: %+v", order, d)
		}
	}
}

func TestRobots_WhatIsShownIsFitToBeShown(t *testing.T) {
	f := Parse([]byte("User-agent: *\nDisallow: /a\x1b[31m\u202e\u0085\xff\nDisallow: /" + strings.Repeat("é", 300) + "\n"))
	for _, r := range f.Groups[0].Rules {
		if len(r.Text) > maxText+2 || strings.ContainsAny(r.Text, "\x1b\u202e\u0085") || strings.ToValidUTF8(r.Text, "") != r.Text {
			t.Errorf("%q", r.Text)
		}
	}
	if got := f.Groups[0].Rules[1].Text; strings.Contains(got, "\ufffd") || !strings.HasSuffix(got, "é") {
		t.Errorf("cut inside a letter: %q", got)
	}
}

func TestRobots_WarnsWithLines(t *testing.T) {
	f := Parse([]byte("Disallow: /\nUser-agent: *\nwhat is this\nUser-agent: 9\nFoo: bar\n"))
	var lines []int
	for _, w := range f.Warnings {
		lines = append(lines, w.Line)
	}
	if fmt.Sprint(lines) != "[1 3 4 5]" {
		t.Errorf("%+v", f.Warnings)
	}
	if f := Parse(bytes.Repeat([]byte("x\n"), 5000)); len(f.Warnings) != maxWarnings {
		t.Errorf("%d warnings", len(f.Warnings))
	}
}

func TestRobots_RecordsAndSitemaps(t *testing.T) {
	f := Parse([]byte("Sitemap: https://a.test/1.xml\nUser-agent: a\nSITEMAP:https://a.test/2.xml # two\nsite-map: /3.xml\nLicense: https://a.test/l\n"))
	if fmt.Sprint(f.Sitemaps) != "[https://a.test/1.xml https://a.test/2.xml /3.xml]" || fmt.Sprint(f.Licences) != "[https://a.test/l]" {
		t.Errorf("%q, %q", f.Sitemaps, f.Licences)
	}
}

func TestCrawlDelay(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want time.Duration
		line int
	}{
		"of the group":                   {"User-agent: *\nCrawl-delay: 10\n", 10 * time.Second, 2},
		"fraction":                       {"User-agent: *\nCrawl-delay: 0.25\n", 250 * time.Millisecond, 2},
		"zero":                           {"User-agent: *\nCrawl-delay: 0\n", 0, 2},
		"exponent":                       {"User-agent: *\nCrawl-delay: 1e1\n", 10 * time.Second, 2},
		"beyond all numbers":             {"User-agent: *\nCrawl-delay: 1e999\n", longest, 2},
		"with a unit":                    {"User-agent: *\nCrawl-delay: 10s\n", 0, 0},
		"hexadecimal":                    {"User-agent: *\nCrawl-delay: 0x10\n", 0, 0},
		"underscore":                     {"User-agent: *\nCrawl-delay: 1_0\n", 0, 0},
		"infinite":                       {"User-agent: *\nCrawl-delay: Inf\n", 0, 0},
		"minus nothing":                  {"User-agent: *\nCrawl-delay: -\n", 0, 0},
		"largest of several":             {"User-agent: *\nCrawl-delay: 3\nCrawl-delay: 7\nCrawl-delay: 5\n", 7 * time.Second, 3},
		"bad one beside a good one":      {"User-agent: *\nCrawl-delay: x\nCrawl-delay: 7\n", 7 * time.Second, 3},
		"of merged groups":               {"User-agent: ReadBot\nCrawl-delay: 3\nAllow: /\nUser-agent: a\nAllow: /\nUser-agent: readbot\nCrawl-delay: 9\nAllow: /", 9 * time.Second, 7},
		"own group without one":          {"User-agent: *\nCrawl-delay: 10\nAllow: /\nUser-agent: ReadBot\nAllow: /\n", 0, 0},
		"above all groups":               {"Crawl-delay: 10\nUser-agent: *\nAllow: /\n", 0, 0},
		"of the lines above it":          {"User-agent: a\nCrawl-delay: 10\nUser-agent: *\nDisallow: /b\n", 0, 0},
		"each of its own lines":          {"User-agent: *\nCrawl-delay: 4\n\nUser-agent: a\nCrawl-delay: 60\n", 4 * time.Second, 2},
		"after a rule, of all":           {"User-agent: *\nCrawl-delay: 4\nUser-agent: a\nDisallow: /\nCrawl-delay: 60\n", 60 * time.Second, 5},
		"with a run of three":            {"User-agent: a\nUser-agent: *\nUser-agent: b\nCrawl-delay: 4\nUser-agent: c\nCrawl-delay: 5", 4 * time.Second, 4},
		"a sitemap does not end the run": {"User-agent: *\nSitemap: /s\nUser-agent: a\nCrawl-delay: 4", 4 * time.Second, 4},
		"request rate is not asked for":  {"User-agent: *\nRequest-rate: 1/10\n", 0, 0},
	} {
		if d := Parse([]byte(c.file)).Delay("ReadBot", false); d.Gap != c.want || d.Line != c.line {
			t.Errorf("%s: %s by line %d, want %s by %d", name, d.Gap, d.Line, c.want, c.line)
		}
	}
	for rate, want := range map[string]time.Duration{
		"1/10": 10 * time.Second, "2/10s": 5 * time.Second, "1/5m": 5 * time.Minute, "1/1h": time.Hour, "1/10s 0600-0845": 10 * time.Second,
		"0/10": 0, "1/0": 0, "1": 0, "x/y": 0, "1/-5": 0, "": 0, "1/1e300h": longest,
	} {
		if d := Parse([]byte("User-agent: *\nRequest-rate: "+rate+"\n")).Delay("x", true); d.Gap != want {
			t.Errorf("%q: %s, want %s", rate, d.Gap, want)
		}
	}
}

func TestRobots_SizeGrowsWithWhatIsKept(t *testing.T) {
	empty, small := Parse(nil).Size(), benchmarkFile(10).Size()
	large := Parse([]byte("User-agent: *\n" + strings.Repeat("allow:/*\n", 50_000))).Size()
	if empty > 1000 || small < 2000 || small > 20_000 || large < 5<<20 || large > 30<<20 {
		t.Errorf("%d, %d, %d bytes", empty, small, large)
	}
}

// Files made to cost time: each kind of parsing and asking stays far below a second.
func TestRobots_HostileFilesCostLittle(t *testing.T) {
	fill := func(line string) string { return strings.Repeat(line, MaxRobots/len(line)) }
	stars := strings.Repeat("a*", 60) + "b"
	path := "/" + strings.Repeat("a", 8000)
	for name, file := range map[string]string{
		"stars":                        "User-agent: *\n" + fill("Disallow: /"+stars+"\n"),
		"anchored stars":               "User-agent: *\n" + fill("Disallow: /"+stars+"$\n"),
		"agents":                       fill("User-agent: a\n"),
		"different agents":             fill("User-agent: a\nUser-agent: b\nUser-agent: c\nUser-agent: x\nDisallow: /q\n"),
		"runs and delays":              fill("User-agent: x\nCrawl-delay: 1\n"),
		"runs, then rules":             fill("User-agent: x\nCrawl-delay: 1\n")[:MaxRobots/2] + "\nDisallow: /q\n" + fill("Allow: /q\n")[:MaxRobots/2-100],
		"signals":                      "User-agent: x\n" + fill("Content-Signal: /*a*b ai-input=no\n"),
		"signals above all":            fill("Content-Signal: /*a*b search=no,search=yes\n"),
		"usage":                        "User-agent: x\n" + fill("Content-Usage: search=n, search=n, search=n\n"),
		"one usage line after another": "User-agent: x\nContent-Usage: " + strings.Repeat("search=n,", 1800) + "search=y\n",
		"empty rules":                  "User-agent: x\n" + fill("allow:\n"),
		"slashes":                      "User-agent: x\n" + fill("Disallow: /\n"),
		"colons":                       fill(":"),
		"junk":                         fill("\x00\xff\n"),
		"escapes":                      "User-agent: x\n" + fill("Allow: /%2A%24%7e%zz\n"),
	} {
		start := time.Now()
		f := Parse([]byte(file))
		set := Set{Robots: Robots{State: RobotsFound, File: f}}
		for range 3 {
			f.Decide("x", path)
			f.Delay("x", true)
			set.ContentSignals("x", path)
			set.ContentUsage("x", path)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%-30s %s", name, took)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"User-agent: *\nDisallow: /a*b$\nAllow: /a%2Fb\nCrawl-delay: 1.5\nContent-Signal: /x ai-input=no\nContent-Usage: train-ai=n\n",
		"\xef\xbbUser-agent: a\r\rDisallow /\r\n", "\xff\xfeU\x00s\x00", "License: https://a/\nSitemap: b\nUser-agent:\n",
		"User-agent: a\nRequest-rate: 1/10s\nUser-agent: *\nDisallow: $\nDisallow: *\n",
	} {
		f.Add([]byte(s), "/a%2fb?x=*", "a")
	}
	f.Fuzz(func(t *testing.T, body []byte, path, token string) {
		file := Parse(body)
		d := file.Decide(token, path)
		if again := file.Decide(token, path); again.Allowed != d.Allowed || again.Rule.Line != d.Rule.Line {
			t.Fatal("two answers to one question")
		}
		if !d.Allowed && (d.Why != ByRule || d.Rule.Line == 0 || d.Rule.Allow) {
			t.Fatalf("closed without a rule: %+v", d)
		}
		if again := file.Decide(strings.ToUpper(token), path); isASCIIToken(token) && again.Allowed != d.Allowed {
			t.Fatal("the case of the token matters")
		}
		if n := normal(path); normal(n) != n {
			t.Fatalf("%q is not brought into one form: %q, %q", path, n, normal(n))
		}
		set := Set{Robots: Robots{State: RobotsFound, File: file}}
		for _, s := range set.ContentSignals(token, path) {
			if s.Line == 0 || s.Text == "" {
				t.Fatalf("a signal without a line: %+v", s)
			}
		}
		set.ContentUsage(token, path)
		if delay := file.Delay(token, true); delay.Gap < 0 || delay.Gap > longest {
			t.Fatalf("a delay of %s", delay.Gap)
		}
		set.Licences("https://site.test/")
	})
}

func isASCIIToken(s string) bool { return productToken(s) == s }

func benchmarkFile(rules int) *File {
	var b strings.Builder
	b.WriteString("User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nContent-Signal: search=yes, ai-train=no\n")
	for i := range rules {
		fmt.Fprintf(&b, "Disallow: /map%d/prive*/\nAllow: /map%d/prive/open$\n", i, i)
	}
	return Parse([]byte(b.String()))
}

func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{10, 100, 1000} {
		f := benchmarkFile(rules)
		b.Run(fmt.Sprint(2*rules, " rules"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if f.Decide("ReadBot", "/subsidies/aanvragen/cultuur?jaar=2026&pagina=2").Why != NoRule {
					b.Fatal("another answer")
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("User-agent: *\n" + strings.Repeat("Disallow: /een/map/met/een/naam/*?\n", 300))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Parse(text)
	}
}
