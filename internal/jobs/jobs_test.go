package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/policy"
)

func target(t testing.TB, raw string) policy.Target {
	t.Helper()
	to, err := policy.ParseTarget(raw)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestOnePageHasOneForm(t *testing.T) {
	for _, same := range [][2]string{
		{"http://a.test/p", "http://a.test/p#part"}, {"http://a.test/p", "http://A.test:80/p"}, {"https://a.test/", "https://a.test:443"},
		{"http://a.test/p", "http://a.test/p?"}, {"http://a.test/p", "http://a.test/p?utm_source=x&gclid=1"},
		{"http://a.test/p?a=1&b=2", "http://a.test/p?b=2&fbclid=3&a=1"}, {"http://a.test/~x", "http://a.test/%7Ex"},
		{"http://a.test/%c3%a9", "http://a.test/%C3%A9"}, {"http://a.test/p", "http://a.test/p;jsessionid=AB12"},
		{"http://a.test/p?a=1", "http://a.test/p?PHPSESSID=77&a=1"},
	} {
		if FormOf(target(t, same[0])) != FormOf(target(t, same[1])) {
			t.Errorf("%s and %s are one page", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{"http://a.test/Doc", "http://a.test/doc"}, {"http://a.test/p", "http://a.test/p/"}, {"http://a.test/p", "https://a.test/p"},
		{"http://a.test/p?a=1", "http://a.test/p?a=2"}, {"http://a.test/a%2Fb", "http://a.test/a/b"}, {"http://a.test/p", "http://b.test/p"},
		{"http://a.test/p", "http://a.test:81/p"},
	} {
		if FormOf(target(t, other[0])) == FormOf(target(t, other[1])) {
			t.Errorf("%s and %s are two pages", other[0], other[1])
		}
	}
}

func TestGlobsAreForWholePaths(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"/docs/*", "/docs/a", true}, {"/docs/*", "/docs/a/b", false}, {"/docs/*", "/docs/", true}, {"/docs/*", "/x/docs/a", false},
		{"/docs/**", "/docs/a/b", true}, {"/docs/**", "/docs", true}, {"/docs/**", "/docsx", false}, {"/docs", "/docs/a", false},
		{"**/print", "/a/b/print", true}, {"/**/print", "/print", true}, {"/a*c", "/abbc", true}, {"/a*c", "/ab/c", false},
		{"/a.b", "/aXb", false}, {"/(x)+", "/(x)+", true}, {"/é/*", "/%C3%A9/1", true}, {"/**.pdf", "/a/b.pdf", true},
	} {
		globs := compileGlobs([]string{c.glob})
		if got := matches(globs, target(t, "http://a.test"+c.path)); got != c.want {
			t.Errorf("%s on %s: %v", c.glob, c.path, got)
		}
	}
	for _, bad := range []string{"", "docs/*", "http://a.test/*", "/" + strings.Repeat("a", 600)} {
		if err := (Rules{Include: []string{bad}}).Validate(); err == nil {
			t.Errorf("%.40q was taken", bad)
		}
	}
}

func TestALongGlobIsMatchedInTime(t *testing.T) {
	globs := compileGlobs([]string{"/" + strings.Repeat("*a", 60) + "b"})
	if matches(globs, target(t, "http://a.test/"+strings.Repeat("a", 2000))) {
		t.Error("it matches")
	}
}

func TestTheScopeIsTheHostOrTheDomain(t *testing.T) {
	narrow := newScope(Work{ScopeHost: "www.shop.test"})
	wide := newScope(Work{ScopeHost: "www.shop.test", Rules: Rules{Subdomains: true, MaxDepth: -1}})
	for raw, want := range map[string][2]bool{
		"http://www.shop.test/": {true, true}, "https://www.shop.test:444/": {true, true}, "http://shop.test/": {false, true},
		"http://blog.shop.test/": {false, true}, "http://other.test/": {false, false}, "http://www.shop.test.evil.test/": {false, false},
		"http://xshop.test/": {false, false},
	} {
		if to := target(t, raw); narrow.onSite(to) != want[0] || wide.onSite(to) != want[1] {
			t.Errorf("%s: %v %v", raw, narrow.onSite(to), wide.onSite(to))
		}
	}
}

func TestTrapsAreOutOfBounds(t *testing.T) {
	var query []string
	for i := range 21 {
		query = append(query, fmt.Sprintf("f%d=1", i))
	}
	for _, raw := range []string{"/a/a/a/a/a/", "/" + strings.Repeat("x", 2100), "/?" + strings.Join(query, "&")} {
		if bounded(target(t, "http://a.test"+raw)) {
			t.Errorf("%.60s is within bounds", raw)
		}
	}
	if !bounded(target(t, "http://a.test/a/b/a/b/?"+strings.Join(query[:20], "&"))) {
		t.Error("an ordinary address is out of bounds")
	}
}

func TestSitemapsOfAllForms(t *testing.T) {
	xml := `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">
<url><loc> http://a.test/1?a=1&amp;b=2 </loc><image:image><image:loc>http://a.test/i.png</image:loc></image:image></url>
<url><loc><![CDATA[http://a.test/2]]></loc></url></urlset>`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(xml)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"http://a.test/1?a=1&b=2", "http://a.test/2"}
	for name, body := range map[string][]byte{
		"xml": []byte(xml), "packed": packed.Bytes(), "text": []byte("\ufeffhttp://a.test/1?a=1&b=2\r\n\nhttp://a.test/2\nmailto:x\n"),
		"cut off": []byte(xml[:len(xml)-15]),
	} {
		if got := readSitemap(body); !slices.Equal(got.pages, want) || len(got.files) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	index := readSitemap([]byte(`<sitemapindex><sitemap><loc>http://a.test/s.xml</loc></sitemap></sitemapindex>`))
	if !slices.Equal(index.files, []string{"http://a.test/s.xml"}) || len(index.pages) != 0 {
		t.Errorf("index: %+v", index)
	}
}

func TestHostileSitemapsEnd(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 80 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"bomb": bomb.Bytes(), "deep": []byte(strings.Repeat("<a>", 100_000)), "long": []byte("<urlset><url><loc>" + strings.Repeat("x", 1<<20) + "</loc></url></urlset>"),
		"junk": []byte("<\x00\xff<<>>"), "empty": nil, "entity": []byte(`<!DOCTYPE u [<!ENTITY a "aaaa">]><urlset><url><loc>&a;</loc></url></urlset>`),
	} {
		if got := readSitemap(body); len(got.files) != 0 || len(got.pages) > 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	many := readSitemap([]byte("<urlset>" + strings.Repeat("<url><loc>http://a.test/</loc></url>", mostSitemapURLs+10) + "</urlset>"))
	if len(many.pages) != mostSitemapURLs {
		t.Errorf("%d addresses were kept", len(many.pages))
	}
}

func TestTheSameOperationMakesTheSameJob(t *testing.T) {
	if NewJobID("op_abc") != "job_abc" {
		t.Error(NewJobID("op_abc"))
	}
}

// oneJob is a store with one job.
type oneJob struct {
	Store
	work  Work
	asked int
}

func (s *oneJob) Work(context.Context, string) (Work, error) {
	s.asked++
	return s.work, nil
}

// The start page of a crawl leads elsewhere, and another replica has read it: its pages are read with the
// host that it led to. From then on the job is as it is.
func TestAReplicaSeesTheHostThatAnotherOnesStartPageLedTo(t *testing.T) {
	s := &oneJob{work: Work{Job: "job_1", ScopeHost: "site.test"}}
	var w works
	for _, kind := range []ItemKind{Start, Seed, Sitemap} {
		if work, err := w.get(t.Context(), s, Item{Job: "job_1", Kind: kind}); err != nil || work.ScopeHost != "site.test" {
			t.Fatalf("%+v, %v", work, err)
		}
	}
	s.work.ScopeHost = "www.site.test" // as the other replica has written it
	for range 3 {
		if work, err := w.get(t.Context(), s, Item{Job: "job_1", Kind: Page}); err != nil || work.ScopeHost != "www.site.test" {
			t.Errorf("a page is read within %q, %v", work.ScopeHost, err)
		}
	}
	if s.asked != 4 {
		t.Errorf("the store was asked %d times, want 4: once for the pages", s.asked)
	}
}
