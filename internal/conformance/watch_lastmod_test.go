package conformance

import (
	"bytes"
	"compress/gzip"
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

// atlas is a town with a sitemap that names a lastmod for each call.
type atlas struct {
	*town
	m     *monitor
	mu    sync.Mutex
	stamp func(path string) string // the lastmod to name; nil is the last edit's, truly
	at    map[string]time.Time     // last edits
	left  map[string]bool          // calls that the sitemap does not list
	index bool                     // /sitemap.xml is an index of a packed file
	etag  bool
}

func (m *monitor) atlas(host string, calls int) *atlas {
	a := &atlas{town: &town{host: host}, m: m, at: map[string]time.Time{}, left: map[string]bool{}}
	for i := range calls {
		a.calls = append(a.calls, fmt.Sprintf("/subsidie-%d", i))
		a.at[a.calls[i]] = m.clock.Now().AddDate(0, -1, 0)
	}
	m.put(a.town)
	m.Handle(host, "/sitemap.xml", http.HandlerFunc(a.serveMap))
	m.Handle(host, "/kaart.xml.gz", http.HandlerFunc(a.serveMap))
	return a
}

func (a *atlas) serveMap(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b bytes.Buffer
	if a.index && r.URL.Path == "/sitemap.xml" {
		fmt.Fprintf(w, `<sitemapindex><sitemap><loc>http://%s/kaart.xml.gz</loc></sitemap></sitemapindex>`, a.host)
		return
	}
	b.WriteString(`<?xml version="1.0"?><urlset>`)
	for _, c := range a.calls {
		at := a.at[c].Format(time.RFC3339)
		if a.stamp != nil {
			at = a.stamp(c)
		}
		if !a.left[c] {
			fmt.Fprintf(&b, `<url><loc>http://%s%s</loc><lastmod>%s</lastmod></url>`, a.host, c, at)
		}
	}
	b.WriteString(`</urlset>`)
	if a.etag {
		tag := `"` + fmt.Sprint(len(b.Bytes())) + strings.Join(strings.Fields(fmt.Sprint(a.at)), "") + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if a.index {
		z := gzip.NewWriter(w)
		_, _ = z.Write(b.Bytes())
		_ = z.Close()
		return
	}
	_, _ = w.Write(b.Bytes())
}

// change edits calls now.
func (a *atlas) change(paths ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range paths {
		a.edit(p)
		a.at[p] = a.m.clock.Now()
	}
}

// round runs the nth round of working days from a Monday on, and answers what the host saw and what was reported.
func (a *atlas) round(n int) (log []string, reported string) {
	hours := []int{9, 11, 14, 16, 19}
	a.m.Reset()
	a.m.runUntil(day(amsterdam, 2026, 5, 4+n/5+n/25*2, hours[n%5], 0))
	log = slices.DeleteFunc(a.m.Log(a.host), func(line string) bool { return line == "GET /robots.txt" })
	return log, fmt.Sprint(kinds(a.m.collect()))
}

func (a *atlas) expect(n int, reported string, requests ...string) {
	a.m.t.Helper()
	log, got := a.round(n)
	if got != reported {
		a.m.t.Errorf("round %d: reported %s, want %s", n, got, reported)
	}
	slices.Sort(log)
	if len(requests) > 0 && !slices.Equal(log, requests) {
		a.m.t.Errorf("round %d: asked for %q, want %q", n, log, requests)
	}
}

func changed(paths ...string) string {
	all := map[string]int{}
	for _, p := range paths {
		all["changed http://a.test"+p] = 1
	}
	return fmt.Sprint(all)
}

func (a *atlas) followed() {
	a.m.follow(watch.Watch{}, watch.Site{StartURLs: []string{"http://" + a.host + "/subsidies"}, Sitemap: true})
}

// A sitemap that has told two changes is believed: pages that it says are as they were are spared.
func TestASitemapThatTellsSparesVisits(t *testing.T) {
	for name, index := range map[string]bool{"one": false, "an index of a packed one": true} {
		t.Run(name, func(t *testing.T) {
			m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
			a := m.atlas("a.test", 3)
			a.index = index
			file := "GET /sitemap.xml"
			if index {
				file = "GET /kaart.xml.gz"
			}
			a.followed()
			for n := range 5 {
				log, _ := a.round(n)
				if n > 0 && len(log) != 4 {
					t.Errorf("round %d: %q, want the start page and three calls", n, log)
				}
			}
			a.change("/subsidie-0") // in the evening
			a.expect(5, changed("/subsidie-0"))
			// From now on it is read in each round, and the second change teaches that it tells.
			a.expect(6, "map[]", file, "GET /subsidie-0", "GET /subsidie-1", "GET /subsidie-2", "GET /subsidies")
			a.change("/subsidie-1")
			a.expect(7, changed("/subsidie-1"), file, "GET /subsidie-0", "GET /subsidie-1", "GET /subsidie-2", "GET /subsidies")
			a.expect(8, "map[]", file, "GET /subsidies")
			a.expect(9, "map[]", file, "GET /subsidies")
			a.change("/subsidie-2")
			a.etag = true
			log, got := a.round(10)
			if got != changed("/subsidie-2") || !slices.Contains(log, "GET /subsidie-2") || slices.Contains(log, "GET /subsidie-1") {
				t.Errorf("the third change: reported %s, asked for %q", got, log)
			}
			a.expect(11, "map[]", file, "GET /subsidies")
			// What it lists no more, it says nothing about.
			a.left["/subsidie-1"] = true
			a.at["/subsidie-1"] = time.Time{}
			a.expect(12, "map[]", file, "GET /subsidie-1", "GET /subsidies")
			// A sitemap that cannot be read spares nothing.
			m.Handle("a.test", strings.TrimPrefix(file, "GET "), origintest.Status(http.StatusNotFound))
			a.expect(13, "map[]", file, "GET /subsidie-0", "GET /subsidie-1", "GET /subsidie-2", "GET /subsidies")
		})
	}
}

// A lastmod that stands still, that is always today's, or that names days only hides no change: each is reported in
// the round after it.
func TestALastmodThatLiesHidesNothing(t *testing.T) {
	for name, stamp := range map[string]func(m *monitor, a *atlas) func(string) string{
		"never moves": func(*monitor, *atlas) func(string) string { return func(string) string { return "2020-01-01" } },
		"is no time":  func(*monitor, *atlas) func(string) string { return func(string) string { return "gisteren" } },
		"is always now": func(m *monitor, _ *atlas) func(string) string {
			return func(string) string { return m.clock.Now().Format(time.RFC3339) }
		},
		"is always today": func(m *monitor, _ *atlas) func(string) string {
			return func(string) string { return m.clock.Now().Format(time.DateOnly) }
		},
		"is a true day": func(_ *monitor, a *atlas) func(string) string {
			return func(p string) string { return a.at[p].Format(time.DateOnly) }
		},
		"is a true morning": func(_ *monitor, a *atlas) func(string) string {
			return func(p string) string { return a.at[p].Format("2006-01-02T00:00:00Z07:00") }
		},
		"moves for some": func(_ *monitor, a *atlas) func(string) string {
			return func(p string) string {
				return map[bool]string{true: a.at[p].Format(time.RFC3339), false: "2020-01-01T08:00:00Z"}[p == "/subsidie-0"]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
			a := m.atlas("a.test", 3)
			a.stamp = stamp(m, a)
			a.followed()
			a.round(0)
			for n := 1; n < 40; n++ {
				path := a.calls[n%3]
				if n < 20 || n > 30 {
					a.change(path)
					a.expect(n, changed(path))
				} else {
					a.expect(n, "map[]")
				}
			}
		})
	}
}

// A sitemap that told once, and tells no more, is found out within a week, and not believed again soon.
func TestASitemapThatStopsTellingIsFoundOut(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	a := m.atlas("a.test", 3)
	a.followed()
	for n := range 5 {
		a.round(n)
	}
	a.change("/subsidie-0", "/subsidie-1")
	a.expect(5, changed("/subsidie-0", "/subsidie-1"))
	a.round(6)
	if log, _ := a.round(7); len(log) != 2 {
		t.Fatalf("asked for %q, want the sitemap and the start page", log)
	}
	frozen := a.at["/subsidie-2"].Format(time.RFC3339)
	a.stamp = func(string) string { return frozen }
	a.round(8) // another lastmod for two of them
	a.change("/subsidie-2")
	m.runUntil(day(amsterdam, 2026, 5, 13, 6, 0))
	if got := fmt.Sprint(kinds(m.collect())); got != changed("/subsidie-2") {
		t.Fatalf("within a week: reported %s", got)
	}
	m.runUntil(day(amsterdam, 2026, 5, 13, 9, 0))
	for range 3 {
		m.Reset()
		a.change("/subsidie-2")
		m.runUntil(m.clock.Now().Add(24 * time.Hour))
		if got := fmt.Sprint(kinds(m.collect())); got != changed("/subsidie-2") {
			t.Errorf("a day later: reported %s", got)
		}
	}
}
