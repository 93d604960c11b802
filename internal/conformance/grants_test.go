package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// town is a small site of grants: a listing, calls, and what is not about grants.
type town struct {
	mu    sync.Mutex
	host  string
	calls []string       // paths of calls
	texts map[string]int // version of each page
	extra string         // of the listing
	etag  bool           // it answers conditional requests
	files []string       // documents of each call
	feed  []string       // paths that its feed lists; nil is no feed
	seen  int
}

// put makes the town's pages be answered.
func (m *monitor) put(v *town) {
	m.Handle(v.host, "/", v)
	m.Robots(v.host, "User-agent: *\nDisallow: /intern/\n")
}

// edit changes one page's text.
func (v *town) edit(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.texts == nil {
		v.texts = map[string]int{}
	}
	v.texts[path]++
}

// ServeHTTP answers a page with its noise: a counter, a clock and a token differ at each visit.
func (v *town) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen++
	tag := fmt.Sprintf(`W/"%s-%d-%d"`, strings.Trim(r.URL.Path, "/"), v.texts[r.URL.Path], len(v.calls))
	if v.etag {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	switch {
	case r.URL.Path == "/feed.xml" && v.feed != nil:
		v.serveFeed(w)
		return
	case strings.HasSuffix(r.URL.Path, ".pdf"):
		w.Header().Set("Content-Type", "application/pdf")
		fmt.Fprint(w, "%PDF-1.4 nothing to see")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	noise := fmt.Sprintf(`<p>Deze pagina is %d keer bekeken</p><input type="hidden" name="csrf" value="t%d">`, 100+v.seen, v.seen*7919)
	if v.etag {
		noise = ""
	}
	fmt.Fprintf(w, `<!doctype html><html lang=nl><head><title>%s van %s</title>%s</head><body><header><nav><a href="/">Home</a> <a href="/contact">Contact</a>
<a href="/parkeren/vergunning">Parkeren</a></nav></header><main><article><h1>%s</h1>%s%s</article></main><footer><a href="/privacy">Privacy</a></footer></body></html>`,
		r.URL.Path, v.host, v.advert(), r.URL.Path, v.body(r.URL.Path), noise)
}

func (v *town) advert() string {
	if v.feed == nil {
		return ""
	}
	return `<link rel="alternate" type="application/rss+xml" title="Subsidies" href="/feed.xml">`
}

func (v *town) serveFeed(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/rss+xml")
	fmt.Fprintf(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>Subsidies</title><link>http://%s/</link>`, v.host)
	for _, item := range v.feed {
		fmt.Fprintf(w, `<item><title>Subsidie %s</title><link>http://%s%s</link><guid>%s</guid></item>`, item, v.host, item, item)
	}
	fmt.Fprint(w, `<item><title>Afvalkalender</title><link>/afval/nieuw</link></item></channel></rss>`)
}

func (v *town) body(path string) string {
	if path != "/subsidies" {
		var files strings.Builder
		for _, f := range v.files {
			fmt.Fprintf(&files, `<p>Lees de <a href="%s">toelichting bij de aanvraag</a> voordat u begint.</p>`, f)
		}
		return fmt.Sprintf(`<p>De regeling %s steunt verenigingen die iets voor hun buurt willen doen, en die daar zelf ook tijd en geld in steken.</p>
<p>Het budget voor dit jaar is %d duizend euro; aanvragen worden behandeld op volgorde van binnenkomst, zolang er geld is.</p>
<p>Een aanvraag bevat een begroting en een plan, en wordt gedaan met het formulier op deze pagina.</p>%s`, path, 100+v.texts[path], files.String())
	}
	var b strings.Builder
	b.WriteString(`<p>Hieronder staan de regelingen waarmee de gemeente inwoners en verenigingen steunt; kies er een om te lezen hoe het werkt.</p><ul>`)
	for _, c := range v.calls {
		fmt.Fprintf(&b, `<li><a href="%s">Subsidie %s</a> voor wie iets wil beginnen in zijn eigen buurt</li>`, c, strings.TrimPrefix(c, "/"))
	}
	return b.String() + `</ul><p><a href="/afval/kalender">Afvalkalender</a> <a href="/zoeken?q=subsidie">Zoek subsidie</a>
<a href="http://elders.test/subsidie">Subsidie elders</a> <a href="/subsidie.jpg">Subsidie in beeld</a> <a rel=nofollow href="/subsidie-nofollow">Subsidie nofollow</a></p>` + v.extra
}

// day is a time of that day in a zone.
func day(zone string, y int, mo time.Month, d, h, min int) time.Time {
	l, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	return time.Date(y, mo, d, h, min, 0, 0, l)
}
