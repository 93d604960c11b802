package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// largeSite is a site of five hundred pages with everything that leads crawlers astray. It knows which of
// its addresses are pages, which end as an error, and which are nobody's business.
type largeSite struct {
	*origintest.Web
	host  string
	home  strings.Builder   // links of the home page
	pages map[string]bool   // each to be delivered once
	fails map[string]string // address → code and reason of its one error
	twice map[string]int    // addresses that are asked for more than once, by right
}

func newLargeSite(web *origintest.Web, host string) *largeSite {
	s := &largeSite{Web: web, host: host, pages: map[string]bool{}, fails: map[string]string{}, twice: map[string]int{}}
	s.sitemaps()
	s.sections()
	s.names()
	s.closed()
	s.failures()
	s.traps()
	s.pages["/"] = true
	s.Handle(host, "/", exactly("/", origintest.Body("text/html", origintest.Article("Home")+s.home.String())))
	return s
}

// exactly is a handler for one path where a web would take it for a folder.
func exactly(path string, h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}
}

func anchors(paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, `<a href="%s">x</a> `, p)
	}
	return b.String()
}

func (s *largeSite) page(path, more string) {
	s.pages[path] = true
	s.Page(s.host, path, origintest.Article("Page "+path)+more)
}

func (s *largeSite) url(path string) string { return "http://" + s.host + path }

func urlset(urls ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">`)
	for _, u := range urls {
		fmt.Fprintf(&b, "<url><loc>\n %s </loc><lastmod>2026-01-01</lastmod><image:image><image:loc>%s.jpg</image:loc></image:image></url>", u, u)
	}
	return b.String() + "</urlset>"
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// sitemaps: an index with a packed child, a plain one, one of another host, a broken and an endless one;
// and the usual place, which robots.txt does not name.
func (s *largeSite) sitemaps() {
	list := func(kind string, n int) (urls []string) {
		for i := range n {
			path := fmt.Sprintf("/%s/%d", kind, i)
			s.page(path, anchors("/", fmt.Sprintf("/%s/%d#next", kind, (i+1)%n)))
			urls = append(urls, s.url(path))
		}
		return urls
	}
	s.Robots(s.host, "User-agent: *\nDisallow: /private/\nDisallow: /*?print=\n\nSitemap: "+s.url("/index.xml")+"\nSitemap: http://elsewhere.test/sitemap.xml\n")
	s.Handle(s.host, "/index.xml", origintest.Body("application/xml", "<sitemapindex><sitemap><loc>"+strings.Join([]string{
		s.url("/maps/a.xml.gz"), s.url("/maps/b.xml"), "http://elsewhere.test/c.xml", s.url("/maps/broken.xml"), s.url("/maps/large.xml"), s.url("/maps/none.xml"), s.url("/index.xml"),
	}, "</loc></sitemap><sitemap><loc>")+"</loc></sitemap></sitemapindex>"))
	s.Handle(s.host, "/maps/a.xml.gz", origintest.Body("application/x-gzip", packed(urlset(list("packed", 200)...))))
	s.Handle(s.host, "/maps/b.xml", origintest.Body("text/xml; charset=utf-8", urlset(append(list("plain", 100), s.url("/private/listed"), "http://elsewhere.test/listed")...)))
	s.Handle(s.host, "/maps/broken.xml", origintest.Body("application/xml", strings.TrimSuffix(urlset(list("broken", 5)...), "</urlset>")+"<url><loc>"+s.url("/brok")))
	s.Handle(s.host, "/maps/large.xml", origintest.Declared("application/xml", 100_000_000))
	s.Handle(s.host, "/sitemap.xml", origintest.Body("application/xml", urlset(list("usual", 50)...)))
}

// sections are pages that only links lead to, three deep.
func (s *largeSite) sections() {
	s.home.WriteString(anchors("/heals")) // first, so that its second try is due before the traps fill the crawl
	for i := range 10 {
		section := fmt.Sprintf("/section/%d", i)
		s.home.WriteString(anchors(section))
		var inside strings.Builder
		for j := range 10 {
			path := fmt.Sprintf("/article/%d", 10*i+j)
			inside.WriteString(anchors("/late", path, path+"?utm_source=section&gclid=1", path+"#comments"))
			s.page(path, anchors(section, path))
		}
		s.page(section, inside.String())
	}
}

// names are pages with several names, and pages whose names look alike.
func (s *largeSite) names() {
	for _, path := range []string{"/Doc", "/doc", "/dir", "/dir/", "/dir/index.html", "/q?a=1&b=2", "/q?a=1", "/café"} {
		s.pages[path] = true
	}
	s.Handle(s.host, "/q", origintest.Body("text/html", origintest.Article("Query")))
	for _, path := range []string{"/Doc", "/doc", "/dir", "/dir/index.html", "/café"} {
		s.Page(s.host, path, origintest.Article(path))
	}
	for _, written := range []string{"/packed/%37", "/caf%c3%a9"} { // the site takes them for the same
		s.Page(s.host, written, origintest.Article(written))
	}
	s.Handle(s.host, "/dir/", exactly("/dir/", origintest.Body("text/html", origintest.Article("Dir"))))
	s.home.WriteString(anchors("/Doc", "/doc", "/dir", "/dir/", "/dir/index.html", "/q?a=1&amp;b=2", "/q?b=2&amp;a=1", "/q?a=1", "/caf%c3%a9", "/café",
		"http://"+s.host+":80/packed/5", "HTTP://"+strings.ToUpper(s.host)+"/packed/6", "/packed/%37", "/x/../packed/8", "/packed/9?", "//"+s.host+"/packed/10",
		"/packed/11?fbclid=x&amp;utm_medium=y", "/packed/12;jsessionid=0A1B2C", "/packed/13?PHPSESSID=77", "/packed/14?sid=1", "/(S(lit3py55t21z5v55vlm25s55))/packed/15"))
	// Redirects: to a page that is known, over two hops to one, and to one that nothing else names.
	s.Redirect(s.host, "/old/1", http.StatusMovedPermanently, "/packed/1")
	s.Redirect(s.host, "/old/2", http.StatusFound, "/old/3")
	s.Redirect(s.host, "/old/3", http.StatusFound, "/packed/2")
	s.Redirect(s.host, "/old/4", http.StatusPermanentRedirect, "/moved")
	s.page("/moved", "")
	s.Redirect(s.host, "/late", http.StatusMovedPermanently, "/packed/4") // met when that one has been read
	// Pages that call themselves another: one of the site, the home page, one that is shut, one that is gone.
	s.Page(s.host, "/print/1", `<link rel="canonical" href="/packed/3?utm_source=print">`+origintest.Article("Print"))
	s.page("/calls-itself/home", `<link rel="canonical" href="/">`)
	s.page("/calls-itself/shut", `<link rel="canonical" href="/private/own">`)
	s.fails["/private/own"] = "blocked_by_site_policy robots_disallow"
	s.page("/calls-itself/gone", `<link rel="canonical" href="/gone">`)
	s.twice["/calls-itself/shut"], s.twice["/calls-itself/gone"] = 2, 2 // its own address was tried in between
	s.page("/calls-itself/elsewhere", `<link rel="canonical" href="http://elsewhere.test/own">`)
	s.home.WriteString(anchors("/old/1", "/old/2", "/old/4", "/print/1", "/calls-itself/home", "/calls-itself/shut", "/calls-itself/gone", "/calls-itself/elsewhere"))
}

// closed are the ways in which a site says: not this one.
func (s *largeSite) closed() {
	s.home.WriteString(anchors("/private/a", "/packed/1?print=1", "/to-private", "http://elsewhere.test/", "http://sub."+s.host+"/", "ftp://"+s.host+"/f", "mailto:a@b.test", "javascript:void(0)", "tel:1", "data:text/html,x") +
		`<a rel="external NoFollow" href="/unwanted/rel">x</a>`)
	s.Redirect(s.host, "/to-private", http.StatusFound, "/private/b")
	for _, path := range []string{"/private/a", "/private/listed", "/packed/1?print=1"} {
		s.fails[path] = "blocked_by_site_policy robots_disallow"
	}
	s.fails["/to-private"] = "blocked_by_site_policy robots_disallow"
	s.page("/nofollow/meta", `<meta name="robots" content="nofollow">`+anchors("/unwanted/meta"))
	s.pages["/nofollow/header"] = true
	s.Handle(s.host, "/nofollow/header", origintest.Body("text/html", origintest.Article("H")+anchors("/unwanted/header"), "X-Robots-Tag", "nofollow"))
	s.Redirect(s.host, "/away", http.StatusFound, "http://elsewhere.test/there")
	s.fails["/away"] = "target_error off_domain_redirect"
	s.home.WriteString(anchors("/nofollow/meta", "/nofollow/header", "/away"))
}

// failures are answers that are no pages, or not yet.
func (s *largeSite) failures() {
	html := origintest.Body("text/html", origintest.Article("A"))
	s.pages["/heals"], s.twice["/heals"] = true, 2
	s.Handle(s.host, "/heals", origintest.Sequence(origintest.Status(http.StatusBadGateway), html))
	s.fails["/busy"] = "target_refused rate_limited"
	s.Handle(s.host, "/busy", origintest.Status(http.StatusTooManyRequests, "Retry-After", "1"))
	s.fails["/gone"] = "target_not_found not_found"
	s.fails["/file.zip"] = "unsupported_content "
	s.Handle(s.host, "/file.zip", origintest.Body("application/zip", "PK\x03\x04"))
	s.pages["/soft"] = true
	s.Page(s.host, "/soft", "<title>404 Page not found</title><h1>Page not found</h1><p>Sorry, the page you are looking for does not exist.</p>")
	s.home.WriteString(anchors("/busy", "/gone", "/file.zip", "/soft"))
}

// traps have no end of their own.
func (s *largeSite) traps() {
	trap := func(path string, links func(r *http.Request) string) {
		s.HandleFunc(s.host, path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, origintest.Article(r.URL.String())+links(r))
		})
	}
	trap("/trap/calendar", func(r *http.Request) string {
		var month int
		_, _ = fmt.Sscan(r.URL.Query().Get("month"), &month)
		return anchors(fmt.Sprintf("/trap/calendar?month=%d", month+1))
	})
	var visits atomic.Int64
	trap("/trap/session", func(*http.Request) string {
		n := visits.Add(1)
		return anchors(fmt.Sprintf("/trap/session;jsessionid=%d", n), fmt.Sprintf("/trap/session?PHPSESSID=%d", n), fmt.Sprintf("/(S(%024d))/trap/session", n))
	})
	trap("/trap/endless/", func(r *http.Request) string { return anchors(r.URL.Path + "a/") })
	trap("/trap/wares", func(r *http.Request) string {
		var links strings.Builder
		for _, facet := range []string{"color", "size", "brand", "price", "sort", "view", "stock", "page"} {
			for value := range 4 {
				q := r.URL.Query()
				q.Set(facet, fmt.Sprint(value))
				links.WriteString(anchors(strings.ReplaceAll("/trap/wares?"+q.Encode(), "&", "&amp;")))
			}
		}
		return links.String()
	})
	s.home.WriteString(anchors("/trap/calendar?month=1", "/trap/session", "/trap/endless/", "/trap/wares"))
}

// nameOf is an address of the site without escapes that need not be.
func nameOf(address string) string {
	path := strings.TrimPrefix(address, "http://shop.test")
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// A site of five hundred pages: the right addresses, each asked for once and charged once, and nothing of
// what the site keeps to itself. Its traps end by the crawl's bounds, and the job says so.
func TestALargeSite(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		file := filepath.Join(t.TempDir(), "bot.yaml") // 600 pages take nine seconds at least, a second try is due after five
		if err := os.WriteFile(file, []byte(strings.Replace(quick, "min_gap: 0s", "min_gap: 15ms", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newLive(t, file, database)
		site := newLargeSite(s.Web, "shop.test")
		j := s.order("/crawl", `{"url":"http://shop.test/?utm_source=start","max_pages":600}`)
		got, fails := map[string]int{}, map[string]string{}
		charged := int64(0)
		for _, r := range s.collect(j.ID) {
			path := strings.TrimPrefix(r.URL, "http://shop.test")
			switch {
			case r.Page != nil:
				got[nameOf(r.Page.FinalURL)]++
				charged += int64(r.Page.Charge.Units)
			case fails[path] != "":
				t.Errorf("%s failed twice", path)
			default:
				fails[path] = r.Error.Code + " " + r.Error.Reason
			}
		}
		got["/"] += got["/?utm_source=start"]
		delete(got, "/?utm_source=start")
		traps := 0
		for path, n := range got {
			switch {
			case strings.HasPrefix(path, "/trap/"):
				traps++
			case !site.pages[path]:
				t.Errorf("%s is no page of its own", path)
			}
			if n != 1 {
				t.Errorf("%s was delivered %d times", path, n)
			}
		}
		for path := range site.pages {
			if got[path] == 0 {
				t.Errorf("%s was not delivered: %q", path, fails[path])
			}
		}
		if !maps.Equal(fails, site.fails) {
			t.Errorf("failed: %q\nwant: %q", fails, site.fails)
		}
		if got["/trap/session"] != 1 {
			t.Errorf("the page behind session ids was delivered %d times", got["/trap/session"])
		}
		t.Logf("%d pages, %d of traps, %d requests; %+v", len(got), traps, len(s.Requests()), j)
		site.wasAskedFor(t, fails)
		delivered := int64(len(site.pages) + traps)
		if j.Status != "completed" || j.Reason != "max_pages" || j.Counts["delivered"] != 600 || delivered != 600 || j.Counts["pending"] != 0 {
			t.Errorf("%d pages were delivered; the job: %+v", delivered, j)
		}
		if charged != 599 || j.Units != 599 || s.units() != 599 { // the soft 404 is free
			t.Errorf("charged %d, of the job %d, of the account %d, want 599", charged, j.Units, s.units())
		}
	})
}

// wasAskedFor looks at what the site saw: each address once but where it failed, and no other ones.
func (s *largeSite) wasAskedFor(t *testing.T, fails map[string]string) {
	t.Helper()
	seen := map[string]int{}
	for _, r := range s.Requests() {
		if r.Host != s.host {
			t.Errorf("%s was asked for", r.URL())
		}
		seen[nameOf(r.Path)]++
	}
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		if n := seen[path]; n != max(1, s.twice[path]) {
			t.Errorf("%s was asked for %d times", path, n)
		}
		for _, noise := range []string{"utm_", "fbclid", "jsessionid", "PHPSESSID", "sid=", "(S("} {
			if strings.Contains(path, noise) && path != "/?utm_source=start" {
				t.Errorf("%s was asked for", path)
			}
		}
		for _, shut := range []string{"/private/", "/unwanted/", "/packed/1?print=1", "/brok"} {
			if strings.HasPrefix(path, shut) && !strings.HasPrefix(path, "/broken/") {
				t.Errorf("%s was asked for", path)
			}
		}
	}
	for _, path := range []string{"/robots.txt", "/index.xml", "/maps/a.xml.gz", "/maps/b.xml", "/maps/broken.xml", "/maps/large.xml", "/maps/none.xml", "/sitemap.xml"} {
		if seen[path] != 1 {
			t.Errorf("%s was asked for %d times", path, seen[path])
		}
	}
}
