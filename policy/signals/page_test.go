package signals

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/reader/dom"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func robotsSet(text string) Set {
	return Set{Robots: Robots{State: RobotsFound, File: Parse([]byte(text))}}
}

func values(said map[string]Said) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(said)) {
		all = append(all, fmt.Sprintf("%s=%s@%d", k, said[k].Value, said[k].Line))
	}
	return strings.Join(all, " ")
}

func TestContentSignals_LongestPathThenStricter(t *testing.T) {
	for name, c := range map[string]struct{ file, path, want string }{
		"separators":               {"User-agent: *\nContent-Signal: SEARCH=Yes;ai-input='no' , ai-train=\"no\"", "/", "ai-input=no@2 ai-train=no@2 search=yes@2"},
		"without values":           {"User-agent: *\nContent-Signal: ai-input, search=, =no, ai-train=no=yes", "/", ""},
		"empty":                    {"User-agent: *\nContent-Signal:", "/", ""},
		"only a path":              {"User-agent: *\nContent-Signal: /a", "/a", ""},
		"path of another":          {"User-agent: *\nContent-Signal: /a ai-input=no", "/b", ""},
		"path with wildcard":       {"User-agent: *\nContent-Signal: /*.pdf$ ai-input=no", "/x/y.pdf", "ai-input=no@2"},
		"path with star first":     {"User-agent: *\nContent-Signal: *.pdf ai-input=no", "/x/y.pdf?a", "ai-input=no@2"},
		"longer path wins per key": {"User-agent: *\nContent-Signal: /a ai-input=no, search=no\nContent-Signal: /a/b ai-input=yes", "/a/b/c", "ai-input=yes@3 search=no@2"},
		"order does not matter":    {"User-agent: *\nContent-Signal: /a/b ai-input=yes\nContent-Signal: /a ai-input=no", "/a/b/c", "ai-input=yes@2"},
		"equal paths, stricter":    {"User-agent: *\nContent-Signal: /a ai-input=yes\nContent-Signal: /a ai-input=no", "/a", "ai-input=no@3"},
		"escaped paths are equal":  {"User-agent: *\nContent-Signal: /%7ea ai-input=no", "/~a", "ai-input=no@2"},
		"use, the least counts":    {"User-agent: *\nContent-Signal: use=full, use=immediate, use=reference", "/", "use=immediate@2"},
		"use unknown":              {"User-agent: *\nContent-Signal: use=partly", "/", ""},
		"own group alone":          {"User-agent: *\nContent-Signal: ai-input=no\nDisallow: /x\nUser-agent: ReadBot\nDisallow: /y", "/", ""},
		"own groups are merged":    {"User-agent: ReadBot\nContent-Signal: ai-input=yes\nDisallow: /x\nUser-agent: readbot\nContent-Signal: ai-input=no\nDisallow: /y", "/", "ai-input=no@5"},
		"above all, per key":       {"Content-Signal: ai-input=no, ai-train=no\nUser-agent: *\nContent-Signal: ai-input=yes", "/", "ai-input=yes@3 ai-train=no@1"},
		"above all with a path":    {"Content-Signal: /a ai-input=no\nContent-Signal: ai-input=yes\nUser-agent: *\nAllow: /", "/a", "ai-input=no@1"},
		"above all, without group": {"Content-Signal: ai-input=no", "/", "ai-input=no@1"},
		"group elsewhere on path":  {"Content-Signal: ai-input=no\nUser-agent: *\nContent-Signal: /open ai-input=yes", "/shut", "ai-input=no@1"},
		"separate groups":          {"User-agent: ReadBot\nContent-Signal: ai-input=yes\n\nUser-agent: *\nContent-Signal: ai-input=no\nDisallow: /x", "/", "ai-input=yes@2"},
		"after the rules, shared":  {"User-agent: ReadBot\nUser-agent: a\nDisallow: /x\nContent-Signal: ai-input=no", "/", "ai-input=no@4"},
	} {
		if got := values(robotsSet(c.file).ContentSignals("ReadBot", c.path)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestContentSignals_HeaderCountsWhereItIsStricter(t *testing.T) {
	s := robotsSet("User-agent: *\nContent-Signal: ai-input=yes, search=no, use=full")
	s.Header = http.Header{"Content-Signal": {"ai-input=no", "search=yes, use=reference, ai-train=yes"}}
	got := s.ContentSignals("x", "/")
	if v := values(got); v != "ai-input=no@0 ai-train=yes@0 search=no@2 use=reference@0" {
		t.Errorf("%s", v)
	}
	if g := got["ai-input"]; g.From != FromHeader || g.Text != "Content-Signal: ai-input=no" {
		t.Errorf("%+v", g)
	}
}

func TestAIPREF_Dictionaries(t *testing.T) {
	for value, want := range map[string]string{
		"train-ai=n":                            "train-ai=n@0",
		"train-ai=y, search=n":                  "search=n@0 train-ai=y@0",
		"train-ai=n , search=y":                 "search=y@0 train-ai=n@0",
		"train-ai=n;a;b=\"x,y\";c=?1, search=y": "search=y@0 train-ai=n@0",
		"train-ai=n, train-ai=y":                "train-ai=y@0",
		"train-ai=n, train-ai=x":                "",
		"train-ai=n, train-ai":                  "",
		"train-ai":                              "",
		"train-ai=?0":                           "",
		"train-ai=\"n\"":                        "",
		"train-ai=N":                            "",
		"Train-AI=n":                            "",
		"train-ai=(n y);q=1, search=n":          "search=n@0",
		"foo=1.5, bar=:aGk=:, baz=@1, search=n": "search=n@0",
		"*=n, search=n":                         "search=n@0",
		"train-ai=n,":                           "",
		",train-ai=n":                           "",
		"train-ai=n search=n":                   "",
		"train-ai = n":                          "",
		"train-ai=n, search=":                   "",
		"train-ai=n, x=\"":                      "",
		"train-ai=n, x=(a b":                    "",
		"train-ai=n, x=1.":                      "",
		"train-ai=n, x=ü":                       "",
		"":                                      "",
		"   ":                                   "",
	} {
		s := Set{Header: http.Header{"Content-Usage": {value}}}
		if got := values(s.ContentUsage("x", "/")); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestAIPREF_PlacesAndPaths(t *testing.T) {
	s := robotsSet("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\nContent-Usage: /open/ search=n\nContent-Usage: /open/ search=y")
	if got := values(s.ContentUsage("x", "/open/a")); got != "search=n@4 train-ai=y@3" {
		t.Errorf("%s", got)
	}
	s.Header = http.Header{"Content-Usage": {"train-ai=n", "search=y"}}
	if got := values(s.ContentUsage("x", "/open/a")); got != "search=n@4 train-ai=n@0" {
		t.Errorf("with a header: %s", got)
	}
	s.Header = http.Header{"Content-Usage": {"train-ai=n", "broken="}}
	if got := values(s.ContentUsage("x", "/open/a")); got != "search=n@4 train-ai=y@3" {
		t.Errorf("several fields are one dictionary: %s", got)
	}
}

func TestTDM_LaterPlacesSupersede(t *testing.T) {
	file := `[{"location":"/a/*.html$","tdm-reservation":1,"tdm-policy":"https://a.test/p"},{"location":"/a","tdm-reservation":0},{"location":"/b","tdm-reservation":2},{"location":"/","tdm-reservation":1}]`
	meta := func(name, content string) []Meta { return []Meta{{name, content}} }
	for name, c := range map[string]struct {
		path, header string
		meta         []Meta
		want         TDMState
		policy       string
	}{
		"file, pattern":                 {"/a/x.html", "", nil, TDMReserved, "https://a.test/p"},
		"file, first match":             {"/a/x", "", nil, TDMOpen, ""},
		"file, value that says nothing": {"/b", "", nil, TDMUnset, ""},
		"header over file":              {"/a/x.html", "0", nil, TDMOpen, "https://a.test/p"},
		"meta over header":              {"/a/x", "0", meta("TDM-Reservation", " 1 "), TDMReserved, ""},
		"meta that says nothing":        {"/a/x.html", "", meta("tdm-reservation", "yes"), TDMReserved, "https://a.test/p"},
		"header that says nothing":      {"/", "maybe", nil, TDMReserved, ""},
		"meta policy":                   {"/", "", meta("tdm-policy", "https://a.test/q"), TDMReserved, "https://a.test/q"},
	} {
		f, err := ParseTDM([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		s := Set{TDMFile: f, Meta: c.meta, Header: http.Header{}}
		if c.header != "" {
			s.Header.Set("TDM-Reservation", c.header)
		}
		if got := s.TDM(c.path); got.State != c.want || got.Policy != c.policy || (got.State != TDMUnset) != (got.Said.Text != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	twice := Set{Header: http.Header{"Tdm-Reservation": {"1", "0"}}}
	if got := twice.TDM("/"); got.State != TDMReserved {
		t.Errorf("two header fields that disagree: %+v", got)
	}
}

func TestTDM_FileIsReadAsFarAsItMakesSense(t *testing.T) {
	for _, broken := range []string{"", "{}", "null x", "[", `"x"`, strings.Repeat("[", 100_000), `[` + strings.Repeat(" ", maxTDMFile) + `]`} {
		if f, err := ParseTDM([]byte(broken)); err == nil && f != nil && len(f.rules) > 0 {
			t.Errorf("%.20q was read", broken)
		}
	}
	f, err := ParseTDM([]byte(`[1, null, {"tdm-reservation":1}, {"location":5}, {"location":"/","tdm-reservation":"1"}]`))
	if err != nil || len(f.rules) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := (Set{TDMFile: f}).TDM("/x"); got.State != TDMReserved {
		t.Errorf("%+v", got)
	}
}

func TestPageRobots_Headers(t *testing.T) {
	for value, want := range map[string]string{
		"noindex":                     "index",
		"NOINDEX , NoFollow":          "index follow",
		"none":                        "index follow",
		"all":                         "",
		"index, noindex, index":       "index",
		"noindex nofollow":            "index follow",
		"readbot: noindex":            "index",
		"ReadBot: none":               "index follow",
		"otherbot: noindex":           "",
		"otherbot: noindex, nofollow": "",
		"nofollow, otherbot: noindex": "follow",
		"otherbot: noindex, readbot: nofollow, noai":                      "follow ai",
		"readbot: nofollow, otherbot: noindex":                            "follow",
		"*: noindex":                                                      "index",
		"max-snippet: 20, noindex":                                        "index",
		"max-image-preview:large":                                         "",
		"max-video-preview:-1, nosnippet":                                 "snippet",
		"unavailable_after: 25 Jun 2010 15:00:00 PST":                     "index",
		"unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow":      "index follow",
		"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC":               "index",
		"unavailable_after: 2010-06-25T15:00:00+02:00":                    "index",
		"unavailable_after: 2010-06-25":                                   "index",
		"unavailable_after: 25 Jun 2099 15:00:00 PST":                     "",
		"unavailable_after: Fri, 25 Jun 2099 15:00:00 GMT, nofollow":      "follow",
		"unavailable_after: soon":                                         "",
		"unavailable_after: 25 Jun 2010 15:00:00 PST, otherbot: nofollow": "index",
		"readbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT":       "index",
		"otherbot: unavailable_after: 25 Jun 2010 15:00:00 GMT":           "",
		"noai, noimageai":                                                 "ai",
		"noimageai":                                                       "",
		"notranslate, noarchive":                                          "",
		"xnoindex, noindexx":                                              "",
		",,;, ":                                                           "",
		"":                                                                "",
	} {
		s := Set{Header: http.Header{"X-Robots-Tag": {value}}}
		if got := said(s.PageRobots("ReadBot", now)); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func said(p PageRobots) string {
	var all []string
	for _, s := range []struct {
		said Said
		name string
	}{{p.NoIndex, "index"}, {p.NoFollow, "follow"}, {p.NoAI, "ai"}, {p.NoSnippet, "snippet"}} {
		if s.said.From != FromNowhere {
			all = append(all, s.name)
		}
	}
	return strings.Join(all, " ")
}

func TestPageRobots_Elements(t *testing.T) {
	for page, want := range map[string]string{
		`<meta name=robots content=noindex>`:                                           "index",
		`<META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW">`:                             "index follow",
		`<meta name="readbot" content="none">`:                                         "index follow",
		`<meta name="googlebot" content="none">`:                                       "",
		`<meta name="robots" content="index"><meta name="readbot" content="nofollow">`: "follow",
		`<body><p>x<meta name="robots" content="noindex">`:                             "index",
		`<meta property="robots" content="noindex">`:                                   "",
		`<!-- <meta name="robots" content="noindex"> -->`:                              "",
		`<p>&lt;meta name="robots" content="noindex"&gt;`:                              "",
		`<meta name="robots" content="otherbot: noindex">`:                             "",
		`<meta name="" content="noindex"><meta content="noindex">`:                     "",
	} {
		var s Set
		s.Meta, s.Links = Elements(dom.Parse([]byte(page), dom.Limits{}))
		if got := said(s.PageRobots("ReadBot", now)); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
	many := strings.Repeat(`<meta name="robots" content="all">`, 3*maxElements)
	if m, _ := Elements(dom.Parse([]byte(many), dom.Limits{})); len(m) != maxElements {
		t.Errorf("%d elements", len(m))
	}
	if m, l := Elements(nil); m != nil || l != nil {
		t.Error("no tree has elements")
	}
}

func TestLicences(t *testing.T) {
	s := robotsSet("License: https://a.test/1.xml\nLicense: /2.xml\nUser-agent: *\nLicense: HTTPS://b.test/3\nLicense: javascript:x")
	s.Header = http.Header{"Link": {
		`</4.xml>; rel="license"; type="application/rsl+xml", <https://a.test/no>; rel="license"; type="text/html"`,
		`<https://a.test/5>; type="application/rsl+xml; v=1"; title="a, b; c"; rel="nofollow LICENSE", <https://a.test/no>; rel=next; type="application/rsl+xml"`,
		`<https://a.test/1.xml>; rel=license; type=application/rsl+xml`, `<broken; rel=license`, `<>;;;=,`, `<https://u:p@a.test/>; rel=license; type=application/rsl+xml`,
	}}
	s.Meta, s.Links = Elements(dom.Parse([]byte(`<link rel="license" type="application/rsl+xml" href="6.xml"><link rel="license" href="no"><link rel="icon" type="application/rsl+xml" href="no">`), dom.Limits{}))
	want := "[https://a.test/1.xml https://b.test/3 https://site.test/4.xml https://a.test/5 https://site.test/x/6.xml]"
	if got := fmt.Sprint(s.Licences("https://site.test/x/y")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"ai-input=no", "train-ai=n;a=\"b\"", "bot: noindex, unavailable_after: Fri, 1 Jan 2010", `<a>; rel="license"; type="b\"c"`, "1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		h := http.Header{}
		for _, name := range []string{"Content-Signal", "Content-Usage", "X-Robots-Tag", "TDM-Reservation", "TDM-Policy", "Link"} {
			h.Add(name, value)
		}
		s := Set{Header: h, Meta: []Meta{{"robots", value}, {"tdm-reservation", value}}}
		s.ContentSignals("x", "/")
		s.ContentUsage("x", "/")
		s.PageRobots("x", now)
		s.TDM("/")
		for _, l := range s.Licences("https://site.test/") {
			if !isAbsolute(l) {
				t.Fatalf("%q is no address", l)
			}
		}
		if file, err := ParseTDM([]byte(value)); (file == nil) != (err != nil) {
			t.Fatalf("%v beside %v", file, err)
		}
	})
}
