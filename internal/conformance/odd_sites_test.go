package conformance

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// oddPage is a page whose version and answers a test sets.
type oddPage struct {
	mu      sync.Mutex
	version int
	links   string
	answer  func(w http.ResponseWriter, r *http.Request, version int, html string) // nil sends the page
}

func (p *oddPage) edit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
}

func (p *oddPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	html := fmt.Sprintf(`<!doctype html><html lang=nl><head><title>Subsidie %[1]s</title></head><body><main><h1>Subsidie %[1]s</h1>
<p>Met de regeling %[1]s helpt de gemeente wie in zijn straat of wijk iets wil beginnen waar anderen ook wat aan hebben.</p>
<p>Het plafond van de regeling is %[2]d duizend euro, en op is op; wie het eerst komt, die het eerst maalt.</p>
<p>De aanvraag doet u met het formulier van de gemeente, waarbij u een plan en een begroting voegt.</p>%[3]s</main></body></html>`, r.URL.Path, 300+p.version, p.links)
	if p.answer != nil {
		p.answer(w, r, p.version, html)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html)
}

func plainHTML(w http.ResponseWriter, html string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, html)
}

// oddAnswers are ways in which servers answer the same page.
var oddAnswers = map[string]func(w http.ResponseWriter, r *http.Request, version int, html string){
	"weak-etag": func(w http.ResponseWriter, r *http.Request, version int, html string) {
		tag := fmt.Sprintf(`W/"v %d, a"`, version)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		plainHTML(w, html)
	},
	"etag-of-the-moment": func() func(w http.ResponseWriter, r *http.Request, version int, html string) {
		n := 0
		return func(w http.ResponseWriter, _ *http.Request, _ int, html string) {
			n++
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
			plainHTML(w, html)
		}
	}(),
	"last-modified-only": func(w http.ResponseWriter, r *http.Request, version int, html string) {
		at := time.Date(2026, 1, 1+version, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat)
		w.Header().Set("Last-Modified", at)
		if r.Header.Get("If-Modified-Since") == at {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		plainHTML(w, html)
	},
	"packed-now-and-then": func() func(w http.ResponseWriter, r *http.Request, version int, html string) {
		n := 0
		return func(w http.ResponseWriter, r *http.Request, _ int, html string) {
			n++
			if n%2 == 0 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				plainHTML(w, html)
				return
			}
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, 1+n%9)
			_, _ = z.Write([]byte(html))
			_ = z.Close()
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(b.Bytes())
		}
	}(),
	"bare": nil,
}

// Each odd way of answering costs one request a round, and only edits are reported.
func TestOddServersAndTheirEdits(t *testing.T) {
	t.Parallel()
	start := day(amsterdam, 2026, 5, 4, 6, 0)
	m := newMonitor(t, "subsidieupdate", start)
	pages := map[string]*oddPage{}
	var sites []watch.Site
	for name, answer := range oddAnswers {
		host := name + ".test"
		for _, path := range []string{"/subsidies", "/subsidie-a"} {
			p := &oddPage{answer: answer}
			if path == "/subsidies" {
				p.links = `<p><a href="/subsidie-a">Subsidie A</a> <a href="/login?next=/subsidie-a">Inloggen</a> <a href="/agenda/2026/05">Agenda</a></p>`
			}
			pages[host+path] = p
			m.Handle(host, path, p)
		}
		sites = append(sites, siteOf("http://"+host+"/subsidies"))
	}
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
	m.runUntil(day(amsterdam, 2026, 5, 4, 8, 0))
	if got := kinds(m.collect()); len(got) != len(pages) {
		t.Fatalf("at first %v", got)
	}
	want := map[string]int{}
	hours := []int{10, 13, 15, 18}
	for i, hour := range hours {
		m.Reset()
		if i%2 == 1 {
			for name := range oddAnswers {
				path := []string{"/subsidies", "/subsidie-a"}[i/2]
				pages[name+".test"+path].edit()
				want["changed http://"+name+".test"+path]++
			}
		}
		m.runUntil(day(amsterdam, 2026, 5, 4, hour, 0))
		if got := kinds(m.collect()); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("round %d: %v, want %v", i+2, got, want)
		}
		want = map[string]int{}
		asked := 0
		for _, r := range m.Requests() {
			asked++
			if n := m.Count(r.Host, r.Path); n != 1 {
				t.Errorf("round %d: %s was asked for %d times", i+2, r.URL(), n)
			}
		}
		if r := m.lastRound(); asked != len(pages) || r.Pages.Requests != asked {
			t.Errorf("round %d: %d requests, reported as %d, want %d", i+2, asked, r.Pages.Requests, len(pages))
		}
	}
}

// A page that moves is one that is gone there and new here; home pages and start pages in the place of a 404
// are a 404; nothing off the subject is asked for.
func TestRedirectsOfWatchedPages(t *testing.T) {
	t.Parallel()
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	list := &oddPage{links: `<a href="/subsidie-a">Subsidie A</a> <a href="/subsidie-b">Subsidie B</a> <a href="/subsidie-c">Subsidie C</a> <a href="/subsidie-d">Subsidie D</a>`}
	m.Handle("a.test", "/subsidies", list)
	pages := map[string]*oddPage{}
	for _, path := range []string{"/subsidie-a", "/subsidie-b", "/subsidie-c", "/subsidie-d"} {
		pages[path] = &oddPage{}
		m.Handle("a.test", path, pages[path])
	}
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 8, 0))
	if got := kinds(m.collect()); len(got) != 5 {
		t.Fatalf("at first %v", got)
	}
	m.Reset()
	m.Redirect("a.test", "/subsidie-a", http.StatusFound, "/")
	m.Redirect("a.test", "/subsidie-b", http.StatusMovedPermanently, "/subsidies")
	m.Redirect("a.test", "/subsidie-c", http.StatusMovedPermanently, "/subsidie-d")
	m.Redirect("a.test", "/subsidie-d", http.StatusFound, "http://elders.test/subsidie-d")
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	if got, want := fmt.Sprint(kinds(m.collect())), "map[gone http://a.test/subsidie-a:1 gone http://a.test/subsidie-b:1]"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, r := range m.Requests() {
		seen[r.URL()] = true
	}
	if got := sorted(seen); len(got) != 5 || slices.ContainsFunc(got, func(u string) bool { return !strings.Contains(u, "a.test/subsidie") }) {
		t.Errorf("asked for %q", got)
	}
}

// A long pause that one site asks for is kept, and holds up no other site.
func TestALongPauseHoldsUpNoOtherSite(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]string{"seconds": "100000", "date": day(amsterdam, 2026, 5, 6, 9, 0).UTC().Format(http.TimeFormat)} {
		m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
		for _, host := range []string{"a.test", "b.test"} {
			m.put(&town{host: host, calls: []string{"/subsidie-1"}})
		}
		m.Handle("a.test", "/subsidies", origintest.Status(http.StatusTooManyRequests, "Retry-After", pause))
		m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
		m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
		if n := len(m.To("a.test")); n != 2 {
			t.Errorf("%s: a.test was asked %d times, want once and for robots.txt", name, n)
		}
		if n := m.Count("b.test", "/subsidies"); n != 5 || len(m.rounds()) != 5 {
			t.Errorf("%s: b.test was visited in %d rounds of %d, want 5", name, n, len(m.rounds()))
		}
		m.runUntil(day(amsterdam, 2026, 5, 7, 6, 0))
		if n := m.Count("a.test", "/subsidies"); n < 2 {
			t.Errorf("%s: after the pause a.test was not asked again", name)
		}
	}
}

// A site with so long a delay that a round has time for one page gets around to all of them.
func TestASlowSiteIsReadInTurns(t *testing.T) {
	t.Parallel()
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test", calls: []string{"/subsidie-1", "/subsidie-2"}}
	m.put(v)
	m.put(&town{host: "b.test", calls: []string{"/subsidie-1"}})
	m.optOut("a.test", "", 6*time.Hour)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 8, 6, 0))
	seen := m.To("a.test")
	for i := 1; i < len(seen); i++ {
		if gap := seen[i].At.Sub(seen[i-1].At); gap < 6*time.Hour {
			t.Errorf("%s came after %v", seen[i].Path, gap)
		}
	}
	for _, path := range []string{"/subsidies", "/subsidie-1", "/subsidie-2"} {
		if m.Count("a.test", path) == 0 {
			t.Errorf("%s was never asked for: %q", path, m.Log("a.test"))
		}
	}
	if n := m.Count("b.test", "/subsidies"); n != 20 {
		t.Errorf("b.test was visited %d times in four days, want 20", n)
	}
}

// A feed of something else does not stand for the listing; of several feeds the one on the subject does.
func TestAFeedOfSomethingElse(t *testing.T) {
	t.Parallel()
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	feed := func(item string) http.Handler {
		return origintest.Body("application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>`+item+`</title><link href="/`+item+`"/><id>`+item+`</id><updated>2026-05-01T00:00:00Z</updated></entry></feed>`)
	}
	for _, host := range []string{"hirek.test", "ketto.test"} {
		page := &oddPage{links: `<a href="/palyazat-1">Pályázat</a>`, answer: func(w http.ResponseWriter, _ *http.Request, _ int, html string) {
			plainHTML(w, strings.Replace(html, "<head>", `<head><link rel=alternate type="application/atom+xml" href="/hirek.xml"><link rel=alternate type="application/rss+xml" href="/palyazatok.xml">`, 1))
		}}
		if host == "hirek.test" {
			page.answer = func(w http.ResponseWriter, _ *http.Request, _ int, html string) {
				plainHTML(w, strings.Replace(html, "<head>", `<head><link rel=alternate type="application/atom+xml" href="/hirek.xml">`, 1))
			}
		}
		m.Handle(host, "/palyazatok", page)
		m.Handle(host, "/palyazat-1", &oddPage{})
		m.Handle(host, "/hirek.xml", feed("idojaras"))
		m.Handle(host, "/palyazatok.xml", feed("palyazat-1"))
	}
	m.follow(watch.Watch{}, siteOf("http://hirek.test/palyazatok"), siteOf("http://ketto.test/palyazatok"))
	m.runUntil(day(budapest, 2026, 6, 4, 12, 0))
	m.inTheNight()
	if n := m.Count("hirek.test", "/palyazatok"); n != 3 {
		t.Errorf("the listing beside a feed of news was read %d times in three nights", n)
	}
	if a, b, c := m.Count("ketto.test", "/hirek.xml"), m.Count("ketto.test", "/palyazatok.xml"), m.Count("ketto.test", "/palyazatok"); a != 0 || b != 3 || c != 1 {
		t.Errorf("of two feeds: %d of news, %d of calls, %d listings", a, b, c)
	}
}

// Two watches over one site do not make it twice the rounds that are promised.
func TestTwoWatchesShareTheRoundsOfASite(t *testing.T) {
	t.Parallel()
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 8, 6, 0)) // a Friday
	for _, host := range []string{"a.test", "b.test"} {
		m.put(&town{host: host})
	}
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
	m.customer()
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 10, 6, 0))
	if a, b := m.Count("a.test", "/subsidies"), m.Count("b.test", "/subsidies"); a != 6 || b != 6 {
		t.Errorf("on a Friday and a Saturday a.test was visited in %d rounds, b.test in %d, want 6", a, b)
	}
	if len(m.collect()) == 0 {
		t.Error("the second watch saw nothing")
	}
	for _, r := range m.rounds() {
		if r.Status != "completed" {
			t.Errorf("a round is %s", r.Status)
		}
	}
}

// What is kept of a watched page is small, also of one with much text.
func TestAWatchedPageIsSmall(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/desk.db"
	m := newMonitorOn(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0), "sqlite:"+file)
	const n = 49
	list := &oddPage{}
	for i := range n {
		path := fmt.Sprintf("/palyazat-%d", i)
		list.links += fmt.Sprintf(`<a href="%s">Pályázat %d</a> `, path, i)
		var text strings.Builder
		for j := range 40 {
			fmt.Fprintf(&text, "<p>Zin %d van regeling %d zegt wat de aanvrager moet doen, en waar hij op moet letten. Daarna volgt nog een zin %d over het budget.</p>", j, i, i*j)
		}
		m.Handle("a.test", path, &oddPage{links: text.String()})
	}
	m.Handle("a.test", "/palyazatok", list)
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, siteOf("http://a.test/palyazatok"))
	before := pagesOf(t, file)
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	if got := len(m.collect()); got != n+1 {
		t.Fatalf("%d pages were read", got)
	}
	state := 0
	for _, p := range m.pages() {
		state += len(p.State) + len(p.Body) + len(p.URL) + len(p.Validators.ETag)
	}
	each := (pagesOf(t, file) - before) / (n + 1)
	t.Logf("%d bytes of state and %d bytes of database for each page of 80 sentences", state/(n+1), each)
	if each > 4096 {
		t.Errorf("%d bytes of database for each page", each)
	}
}

// pagesOf is how many bytes of a database the watched pages take.
func pagesOf(t *testing.T, file string) int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var n int
	if err := db.QueryRow("SELECT COALESCE(sum(pgsize), 0) FROM dbstat WHERE name IN ('watch_pages', 'watch_pages_host', 'sqlite_autoindex_watch_pages_1')").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
