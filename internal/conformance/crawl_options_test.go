package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// optionSite answers every host with one small site: two folders, three deep, and pages that only the
// sitemap names. news.<host> and <host> link to each other.
func optionSite(web *origintest.Web) {
	pages := map[string]string{
		"/": anchors("/blog/", "/docs/", "/about"), "/blog/": anchors("/blog/a", "/blog/b"), "/blog/a": anchors("/blog/2025/x"), "/blog/b": "", "/blog/2025/x": anchors("/blog/2025/y"),
		"/blog/2025/y": "", "/docs/": anchors("/docs/a"), "/docs/a": "", "/about": "", "/listed/1": anchors("/behind"), "/listed/2": "", "/behind": "",
	}
	web.HandleFunc("*", "/", func(w http.ResponseWriter, r *http.Request) {
		links, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path == "/about" {
			links += anchors("http://news." + strings.TrimPrefix(r.Host, "news.") + "/about")
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, origintest.Article(r.URL.Path)+links)
	})
	web.HandleFunc("*", "/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, urlset("http://"+r.Host+"/listed/1", "http://"+r.Host+"/listed/2"))
	})
}

// What a crawl's options let through is delivered, counted and charged; nothing else is, and what cannot be
// wanted is not even asked for.
func TestWhatACrawlIsAskedFor(t *testing.T) {
	s := quickLive(t, "sqlite:")
	optionSite(s.Web)
	s.Redirect("moved.test", "/", http.StatusMovedPermanently, "http://www.moved.test/")
	s.Redirect("left.test", "/", http.StatusMovedPermanently, "http://elsewhere.test/")
	s.Robots("map-moved.test", "Sitemap: http://www.map-moved.test/sitemap.xml\n")
	s.Redirect("map-redirects.test", "/sitemap.xml", http.StatusMovedPermanently, "http://www.map-redirects.test/sitemap.xml")
	blog := []string{"/blog/", "/blog/2025/x", "/blog/2025/y", "/blog/a", "/blog/b"}
	linked := append([]string{"/", "/about", "/docs/", "/docs/a"}, blog...)
	listed := []string{"/listed/1", "/listed/2"}
	for name, c := range map[string]struct {
		options string
		want    []string // delivered; of the host, or in full
		reason  string
		never   string // a part of addresses that nobody asked for
	}{
		"all":                {``, append(append([]string{"/behind"}, listed...), linked...), "", "news."},
		"skip":               {`"sitemap":"skip"`, linked, "", "sitemap.xml"},
		"only":               {`"sitemap":"only"`, listed, "", "/blog"},
		"only-shallow":       {`"sitemap":"only","max_depth":0`, listed, "", "/behind"},
		"map-moved":          {`"sitemap":"only"`, []string{"http://www.map-moved.test/listed/1", "http://www.map-moved.test/listed/2"}, "", "/blog"},
		"map-redirects":      {`"sitemap":"only"`, []string{"http://www.map-redirects.test/listed/1", "http://www.map-redirects.test/listed/2"}, "", "/blog"},
		"folder":             {`"include":["/blog/**"]`, blog, "", "/docs"},
		"one-segment":        {`"include":["/blog/*"]`, []string{"/blog/", "/blog/a", "/blog/b"}, "", "/2025"},
		"across":             {`"include":["/blog/**","/**/a"],"exclude":["/**/x"]`, []string{"/blog/", "/blog/a", "/blog/b"}, "", "/blog/2025/x"},
		"without":            {`"sitemap":"skip","exclude":["/blog/*","/docs/**"]`, []string{"/", "/about"}, "", "/docs"},
		"depth-0":            {`"sitemap":"skip","max_depth":0`, []string{"/"}, "", "/about"},
		"depth-1":            {`"sitemap":"skip","max_depth":1`, []string{"/", "/about", "/blog/", "/docs/"}, "", "/blog/a"},
		"depth-2":            {`"sitemap":"skip","max_depth":2`, []string{"/", "/about", "/blog/", "/blog/a", "/blog/b", "/docs/", "/docs/a"}, "", "/2025"},
		"three-of-the-blog":  {`"include":["/blog/**"],"max_pages":3,"sitemap":"skip"`, []string{"/blog/", "/blog/a", "/blog/b"}, "max_pages", "/docs"},
		"as-many-as-there":   {`"include":["/docs/**"],"max_pages":2,"sitemap":"skip"`, []string{"/docs/", "/docs/a"}, "", "/blog"},
		"two-units":          {`"max_units":2,"sitemap":"skip"`, []string{"/", "/blog/"}, "max_units", "/about"},
		"with-subdomains":    {`"subdomains":true,"sitemap":"skip","include":["/about","/"]`, []string{"/", "/about", "http://news.with-subdomains.test/about"}, "", "/blog"},
		"moved":              {`"sitemap":"skip","max_depth":1`, []string{"http://www.moved.test/", "http://www.moved.test/about", "http://www.moved.test/blog/", "http://www.moved.test/docs/"}, "", "news."},
		"left":               {`"sitemap":"skip"`, nil, "", "elsewhere"},
		"start-is-not-among": {`"include":["/none"]`, nil, "", "/blog"},
	} {
		host := name + ".test"
		before := s.units()
		s.Reset()
		options := c.options
		if options != "" {
			options = "," + options
		}
		j := s.order("/crawl", `{"url":"http://`+host+`/"`+options+`}`)
		got := []string{}
		for _, r := range s.collect(j.ID) {
			if r.Page != nil {
				got = append(got, strings.TrimPrefix(r.Page.FinalURL, "http://"+host))
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) || j.Status != "completed" || j.Reason != c.reason {
			t.Errorf("%s: %s, reason %q: %q\nwant %q", name, j.Status, j.Reason, got, want)
		}
		if n := int64(len(want)); j.Counts["delivered"] != n || j.Units != n || s.units()-before != n || j.Counts["pending"] != 0 {
			t.Errorf("%s: %d were charged; %+v", name, s.units()-before, j)
		}
		for _, r := range s.Requests() {
			if strings.Contains(r.URL(), c.never) {
				t.Errorf("%s: %s was asked for", name, r.URL())
			}
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(s.URLs())))); n != len(s.Requests()) {
			t.Errorf("%s: something was asked for twice: %q", name, s.URLs())
		}
	}
}
