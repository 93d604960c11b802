package watch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader"
)

func profile(t testing.TB, name string) *policy.Profile {
	t.Helper()
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := all.Get(name)
	if p == nil {
		t.Fatalf("no profile %q", name)
	}
	return p
}

func TestSitesAreReadFromCSV(t *testing.T) {
	sites, err := ParseCSV([]byte("\xef\xbb\xbfStart_URL;Name;Topics;Sitemap;Include\nhttps://a.example/x;\"A; de eerste\";subsidie | regeling*;ja;/s/**|/t\n\nhttps://b.example/ https://b.example/2\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{A; de eerste [https://a.example/x] true [/s/** /t] [] [subsidie regeling*]} { [https://b.example/ https://b.example/2] false [] [] []}]"
	if got := fmt.Sprint(sites); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What spreadsheets make of a list: a line that names the separator, rows without anything, lines that end as
// they did long ago. Lines are counted as the file has them.
func TestSitesAreReadFromSpreadsheets(t *testing.T) {
	for name, text := range map[string]string{
		"separator":  "\xef\xbb\xbfsep=;\r\nname;start_url\r\nA;http://a.example/\r\nB;http://b.example/\r\n",
		"empty rows": "name,start_url\n,\nA,http://a.example/\n , \nB,http://b.example/\n,\n",
		"old lines":  "name;start_url\rA;http://a.example/\rB;http://b.example/\r",
	} {
		sites, err := ParseCSV([]byte(text))
		if got, want := fmt.Sprint(sites), "[{A [http://a.example/] false [] [] []} {B [http://b.example/] false [] [] []}]"; err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	var f *fault.Error
	if _, err := ParseCSV([]byte("sep=;\nname;start_url\n;\nA;ftp://a.example/\n")); !errors.As(err, &f) || f.Fields[0].Name != "line 4, start_urls.0" {
		t.Errorf("a fault below a separator: %v", err)
	}
}

func TestABadRowIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "line 1",
		"name,website\n":        "line 1",
		"name\nx\n":             "line 1",
		"start_url,start_url\n": "line 1",
		"start_url\n":           "sites",
		"start_url\nhttp://a.example/\nhttp://b.example/\nhttps://a.example/#top\n": "line 4, start_urls",
		"name,start_url\nA,\n":                                                 "line 2, start_urls",
		"start_url\nhttp://a.example/\nftp://b.example/\n":                     "line 3, start_urls.0",
		"start_url\nhttp://a.example/\n\n\nnot an address\n":                   "line 5, start_urls.0",
		"start_url,sitemap\nhttp://a.example/,perhaps\n":                       "line 2",
		"start_url,include\nhttp://a.example/,subsidie\n":                      "line 2, include.0",
		"start_url,topics\nhttp://a.example/,energie-besparen\n":               "line 2, topics",
		"name,start_url\nA,http://a.example/,more\n":                           "line 2",
		"name,start_url\n\"A,http://a.example/\n":                              "line 2",
		"start_url\nhttp://a.example/" + strings.Repeat("x", 3000) + "\n":      "line 2, start_urls.0",
		"name,start_url\n" + strings.Repeat("x", 201) + ",http://a.example/\n": "line 2, name",
		"start_url\n" + strings.Repeat("http://a.example/ ", 21) + "\n":        "line 2, start_urls",
	} {
		_, err := ParseCSV([]byte(text))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || len(f.Fields) == 0 || f.Fields[0].Name != want || f.Detail == "" {
			t.Errorf("%.60q: %+v, want the fault to name %q", text, err, want)
		}
	}
}

// One answer names all rows at fault, whatever is wrong with each, in the order of the file.
func TestAllBadRowsAreNamed(t *testing.T) {
	_, err := ParseCSV([]byte("\xef\xbb\xbfname\tstart_url\tsitemap\r\nA\tftp://a.example/\t\r\nB\thttp://b.example/\tmaybe\r\nC\t\t\r\n" +
		"D\thttp://münchen.example/\t\r\nE\thttp://xn--mnchen-3ya.example/\t\r\nF\thttp://f.example/\tja\tmore\r\nG\t\"http://g.example/\r\n"))
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	var names []string
	for _, field := range f.Fields {
		names = append(names, field.Name)
	}
	want := []string{"line 2, start_urls.0", "line 3", "line 4, start_urls", "line 6, start_urls", "line 7", "line 8"}
	if !slices.Equal(names, want) {
		t.Errorf("named %q, want %q", names, want)
	}
	for _, text := range []string{"\xff\xfen\x00a\x00", "name,start_url\nS\xfadwest,http://a.example/\n", "name,start_url\nA\x00,http://a.example/\n"} {
		if _, err := ParseCSV([]byte(text)); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("name,start_url\nA,http://a.example/\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sites, err := ParseCSV(text)
		if err == nil && Check(sites) != nil {
			t.Error("what was read is not good")
		}
	})
}

func TestWhichLinksAreFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		profile string
		site    Site
		from    PageKind
		url     string
		text    string
		kept    bool
		nofol   bool
		want    string
	}{
		"by its text":                          {"subsidieupdate", Site{}, Start, "/sport", "Subsidie voor sport", true, false, "page"},
		"by its path":                          {"subsidieupdate", Site{}, Start, "/subsidieregeling", "lees meer", false, false, "page"},
		"off the subject":                      {"subsidieupdate", Site{}, Start, "/paspoort", "Paspoort", true, false, ""},
		"elsewhere":                            {"subsidieupdate", Site{}, Start, "https://b.example/subsidie", "", true, false, ""},
		"a sub-domain":                         {"subsidieupdate", Site{}, Start, "https://x.a.example/subsidie", "", true, false, ""},
		"the other scheme":                     {"subsidieupdate", Site{}, Start, "http://a.example/subsidie", "", true, false, "page"},
		"nofollow":                             {"subsidieupdate", Site{}, Start, "/subsidie", "", true, true, ""},
		"a search":                             {"subsidieupdate", Site{}, Start, "/?s=subsidie", "Subsidie", true, false, ""},
		"search results":                       {"subsidieupdate", Site{}, Start, "/zoeken/subsidie", "Subsidie", true, false, ""},
		"a picture":                            {"subsidieupdate", Site{}, Start, "/subsidie.jpg", "Subsidie", true, false, ""},
		"a document, not listed":               {"subsidieupdate", Site{}, Linked, "/subsidie.pdf", "Subsidie", true, false, ""},
		"a page with an ending":                {"subsidieupdate", Site{}, Start, "/subsidie.aspx?id=3", "", true, false, "page"},
		"a number is no ending":                {"subsidieupdate", Site{}, Start, "/subsidie-2.0", "", true, false, "page"},
		"a call's document":                    {"subvenio", Site{}, Linked, "/doc/melleklet.pdf", "1. melléklet", true, false, "document"},
		"a document in a call's footer":        {"subvenio", Site{}, Linked, "/doc/adatvedelem.pdf", "Adatvédelem", false, false, ""},
		"a listing's document":                 {"subvenio", Site{}, Start, "/doc/menetrend.pdf", "Menetrend", true, false, ""},
		"a listing's document, on the subject": {"subvenio", Site{}, Start, "/doc/a.docx", "Pályázati útmutató", false, false, "document"},
		"a document by a script":               {"subvenio", Site{}, Linked, "/letoltes.php?f=utmutato.xlsx", "Útmutató", true, false, "document"},
		"a document of another kind":           {"subvenio", Site{}, Linked, "/a.zip", "Pályázat", true, false, ""},
		"by a site's topic":                    {"webreaderapi", Site{Topics: []string{"huur"}}, Start, "/huurtoeslag", "", true, false, "page"},
		"off a site's topic":                   {"webreaderapi", Site{Topics: []string{"huur"}}, Start, "/koop", "Kopen", true, false, ""},
		"a topic as a path":                    {"webreaderapi", Site{Topics: []string{"/wonen/**"}}, Start, "/wonen/koop", "", true, false, "page"},
		"topics do not widen the subject":      {"subsidieupdate", Site{Topics: []string{"parkeren"}}, Start, "/parkeren", "Parkeren", true, false, ""},
		"not included":                         {"subsidieupdate", Site{Include: []string{"/subsid*"}}, Start, "/x/subsidie", "", true, false, ""},
		"included":                             {"subsidieupdate", Site{Include: []string{"/subsid*"}}, Start, "/subsidies", "", true, false, "page"},
		"excluded":                             {"subsidieupdate", Site{Exclude: []string{"/subsidies/oud/**"}}, Start, "/subsidies/oud/2019", "Subsidie", true, false, ""},
		"no subject, no topics":                {"webreaderapi", Site{}, Start, "/anything", "", false, false, "page"},
		"too long":                             {"webreaderapi", Site{}, Start, "/" + strings.Repeat("x", 2048), "", false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.site.StartURLs = []string{"https://a.example/start"}
			s, err := newScope(profile(t, c.profile), c.site)
			if err != nil {
				t.Fatal(err)
			}
			base, _ := policy.ParseTarget("https://a.example/start")
			to, err := base.Resolve(c.url)
			if err != nil {
				t.Fatal(err)
			}
			kind, follow := s.kindOf(reader.Outlink{Target: to, Text: c.text, Kept: c.kept, NoFollow: c.nofol}, c.from)
			got := ""
			if follow {
				got = map[PageKind]string{Linked: "page", Document: "document"}[kind]
			}
			if got != c.want {
				t.Errorf("%s %q: %q, want %q", c.url, c.text, got, c.want)
			}
		})
	}
}

func TestOnePageHasOneName(t *testing.T) {
	hash := func(raw string) string {
		to, err := policy.ParseTarget(raw)
		if err != nil {
			t.Fatal(err)
		}
		return hashOf(to)
	}
	same := []string{"https://a.example/x", "http://a.example/x", "https://A.example/x#top", "https://a.example/x?utm_source=mail&fbclid=1"}
	for _, raw := range same {
		if hash(raw) != hash(same[0]) {
			t.Errorf("%s is another page", raw)
		}
	}
	for _, raw := range []string{"https://a.example/X", "https://a.example/x/", "https://a.example/x?id=1", "https://b.example/x"} {
		if hash(raw) == hash(same[0]) {
			t.Errorf("%s is the same page", raw)
		}
	}
}

func TestFeedsAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"RSS":  `<?xml version="1.0"?><rss version="2.0"><channel><title>x</title><item><title>One</title><link>https://a.example/1</link><pubDate>Mon, 30 Nov 2026 10:00:00 GMT</pubDate></item><item><title>Two</title><guid>https://a.example/2</guid></item></channel></rss>`,
		"Atom": `<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><entry><title>One</title><link href="https://a.example/1"/><updated>2026-11-30T10:00:00Z</updated></entry><entry><title>Two</title><link href="https://a.example/2"/></entry></feed>`,
		"JSON": `{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[{"id":"1","title":"One","url":"https://a.example/1"},{"id":"2","title":"Two","url":"https://a.example/2"}]}`,
	} {
		items, err := readFeed([]byte(text))
		if err != nil || len(items) != 2 || items[0].url != "https://a.example/1" || items[0].text != "One" || items[1].url != "https://a.example/2" {
			t.Errorf("%s: %+v, %v", name, items, err)
			continue
		}
		other, _ := readFeed([]byte(strings.NewReplacer("Mon, 30 Nov", "Tue, 01 Dec", "2026-11-30", "2026-12-01", `"One"`, `"One, changed"`).Replace(text)))
		if other[0].version == items[0].version || other[1].version != items[1].version {
			t.Errorf("%s: a changed entry has version %q after %q", name, other[0].version, items[0].version)
		}
	}
	for name, text := range map[string]string{
		"a page": "<!doctype html><p>x", "nothing": "", "deep": "<rss><channel>" + strings.Repeat("<a>", 5000), "large": "<rss>" + strings.Repeat(" ", mostFeedSize),
	} {
		if items, err := readFeed([]byte(text)); err == nil && len(items) > 0 || name != "nothing" && err == nil {
			t.Errorf("%s: %v, %v", name, items, err)
		}
	}
}

func TestSitemapsAreRead(t *testing.T) {
	text := `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x">
<url><loc> https://a.example/1?a=1&amp;b=2 </loc><lastmod>2026-11-30</lastmod><image:image><image:loc>https://a.example/i.jpg</image:loc></image:image></url>
<url><lastmod>2026-11-29</lastmod><loc>https://a.example/2</loc></url><url><loc>https://a.example/3</loc></url></urlset>`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	want := "[{https://a.example/1?a=1&b=2  2026-11-30} {https://a.example/2  2026-11-29} {https://a.example/3  }]"
	for name, body := range map[string][]byte{"XML": []byte(text), "packed": packed.Bytes(), "cut": []byte(text[:len(text)-5])} {
		if pages, files := readSitemap(body); fmt.Sprint(pages) != want || len(files) > 0 {
			t.Errorf("%s: %v, %v", name, pages, files)
		}
	}
	index := `<sitemapindex><sitemap><loc>https://a.example/s1.xml</loc><lastmod>2026-11-30</lastmod></sitemap></sitemapindex>`
	if pages, files := readSitemap([]byte(index)); len(pages) > 0 || fmt.Sprint(files) != "[{https://a.example/s1.xml  2026-11-30}]" {
		t.Errorf("an index: %v, %v", pages, files)
	}
	if pages, _ := readSitemap([]byte("https://a.example/1\r\nnot an address\nhttp://a.example/2\n")); len(pages) != 2 {
		t.Errorf("text: %v", pages)
	}
}

func FuzzListings(f *testing.F) {
	f.Add([]byte("<urlset><url><loc>http://a.example/</loc></url></urlset>"))
	f.Add([]byte("<rss><channel><item><link>http://a.example/</link></item></channel></rss>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		pages, files := readSitemap(body)
		if len(pages)+len(files) > mostEntries {
			t.Error("too many")
		}
		_, _ = readFeed(body)
	})
}

func TestCronComesNoMoreOftenThanTheProfilePromises(t *testing.T) {
	p := profile(t, "subsidieupdate")
	s := Schedule{Cron: "*/10 * * * *", TimeZone: "UTC"}
	if err := s.Check(p); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC) // a Monday, two o'clock in Amsterdam
	var begun []time.Time
	for range 12 {
		now = s.Next(p, now, begun)
		begun = append(begun, now)
	}
	perDay := map[string]int{}
	zone, _ := time.LoadLocation("Europe/Amsterdam")
	for _, b := range begun {
		perDay[b.In(zone).Format("Mon 02")]++
	}
	if fmt.Sprint(perDay) != "map[Mon 04:5 Tue 05:5 Wed 06:2]" {
		t.Errorf("rounds by day: %v", perDay)
	}
}

func TestSchedulesThatNeverComeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		profile string
		s       Schedule
		good    bool
	}{
		"by the profile":        {"subvenio", Schedule{}, true},
		"a profile without one": {"webreaderapi", Schedule{}, false},
		"a cron line":           {"webreaderapi", Schedule{"0 6 * * 1-5", "Europe/Amsterdam"}, true},
		"six fields":            {"webreaderapi", Schedule{"0 0 6 * * 1-5", "UTC"}, false},
		"words":                 {"webreaderapi", Schedule{"every day at six o'clock", "UTC"}, false},
		"never":                 {"webreaderapi", Schedule{"0 6 31 2 *", "UTC"}, false},
		"no such zone":          {"webreaderapi", Schedule{"0 6 * * *", "Europe/Atlantis"}, false},
		"this machine's zone":   {"webreaderapi", Schedule{"0 6 * * *", "Local"}, false},
	} {
		err := c.s.Check(profile(t, c.profile))
		if (err == nil) != c.good || err != nil && fault.Of(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
