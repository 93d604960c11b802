package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

const budapest = "Europe/Budapest"

// inTheNight fails the test for a request outside the window, and answers the requests by the night they
// belong to: the day on which it began.
func (m *monitor) inTheNight() map[string][]origintest.Request {
	m.t.Helper()
	zone, _ := time.LoadLocation(budapest)
	nights := map[string][]origintest.Request{}
	for _, r := range m.Requests() {
		at := r.At.In(zone)
		if at.Hour() < 22 && at.Hour() >= 6 {
			m.t.Errorf("%s came at %s", r.URL(), at.Format(time.DateTime))
		}
		night := at.Add(-12 * time.Hour).Format(time.DateOnly)
		nights[night] = append(nights[night], r)
	}
	return nights
}

// B07. Work that is queued by day waits for the night, by the clock on the wall, also when that is changed.
func nightOnly(t *testing.T) {
	for name, noon := range map[string]time.Time{
		"summer ends":   day(budapest, 2026, 10, 23, 12, 0),
		"summer begins": day(budapest, 2026, 3, 27, 12, 0),
	} {
		m := newMonitor(t, "subvenio", noon)
		v := &town{host: "a.test", calls: []string{"/palyazat-1", "/palyazat-2"}}
		m.put(v)
		m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
		if _, err := m.store.WatchBook().Begin(t.Context(), m.watch.ID, noon, m.watch.NextRound); err != nil {
			t.Fatal(err)
		}
		m.runUntil(noon.AddDate(0, 0, 4))
		nights := m.inTheNight()
		if len(nights) != 4 {
			t.Errorf("%s: requests in %d nights, want 4", name, len(nights))
		}
		for night, seen := range nights {
			// robots.txt, the listing, two calls: once a night each, no round beside the one that waited.
			if len(seen) != 4 {
				t.Errorf("%s: %d requests in the night of %s, want 4", name, len(seen), night)
			}
		}
	}
}

// B03. At the start of each round, though the copy is fresh, and before anything else.
func robotsAtEachCrawl(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	for _, host := range []string{"a.test", "b.test"} {
		v := &town{host: host, calls: []string{"/palyazat-1", "/palyazat-2"}}
		m.put(v)
	}
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
	m.runUntil(day(budapest, 2026, 6, 2, 1, 0))
	// A second round in the same night, when the copy is an hour or two old.
	if _, err := m.store.WatchBook().Begin(t.Context(), m.watch.ID, m.clock.Now(), m.watch.NextRound); err != nil {
		t.Fatal(err)
	}
	m.runUntil(day(budapest, 2026, 6, 3, 12, 0))
	for _, host := range []string{"a.test", "b.test"} {
		log := m.Log(host)
		if log[0] != "GET /robots.txt" {
			t.Errorf("%s saw %s first", host, log[0])
		}
		if n := m.Count(host, "/robots.txt"); n != 3 {
			t.Errorf("%s: robots.txt was asked for %d times in three rounds: %q", host, n, log)
		}
	}
	// What it says is checked before each request: after a change nothing of the closed part is asked for.
	m.Robots("a.test", "User-agent: *\nDisallow: /palyazat-2\n")
	m.Reset()
	m.runUntil(day(budapest, 2026, 6, 4, 12, 0))
	if n := m.Count("a.test", "/palyazat-2"); n != 0 || m.Count("a.test", "/palyazat-1") != 1 {
		t.Errorf("after the change a.test saw %q", m.Log("a.test"))
	}
}

// B05. Over days: listings once in 24 hours, documents once, pages with their validators.
func onceADay(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	v := &town{host: "a.test", calls: []string{"/palyazat-1", "/palyazat-2"}, files: []string{"/docs/guide.pdf"}, etag: true}
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(budapest, 2026, 6, 2, 2, 0))
	if _, err := m.store.WatchBook().Begin(t.Context(), m.watch.ID, m.clock.Now(), m.watch.NextRound); err != nil {
		t.Fatal(err)
	}
	m.runUntil(day(budapest, 2026, 6, 6, 12, 0))
	m.inTheNight()
	var listings, documents []time.Time
	bare := map[string]int{}
	for _, r := range m.To("a.test") {
		switch {
		case r.Path == "/subsidies":
			listings = append(listings, r.At)
		case strings.HasSuffix(r.Path, ".pdf"):
			documents = append(documents, r.At)
		}
		if r.Path != "/robots.txt" && r.Header.Get("If-None-Match") == "" {
			bare[r.Path]++
		}
	}
	if len(listings) != 5 {
		t.Errorf("the listing was asked for at %v, want once in each of five nights", listings)
	}
	for i := 1; i < len(listings); i++ {
		if gap := listings[i].Sub(listings[i-1]); gap < 24*time.Hour {
			t.Errorf("the listing was asked for again after %v", gap)
		}
	}
	if len(documents) != 1 {
		t.Errorf("the document was asked for at %v, want once", documents)
	}
	for path, n := range bare {
		if n != 1 {
			t.Errorf("%s was asked for %d times without a validator", path, n)
		}
	}
	if n := m.Count("a.test", "/palyazat-1"); n != 6 { // five nights and one round more
		t.Errorf("a call was asked for %d times in six rounds", n)
	}
}

// B11. The feed stands for the listing; of what it lists only what is new is fetched.
func feedsFirst(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	v := &town{host: "a.test", calls: []string{"/palyazat-1", "/palyazat-2"}, feed: []string{"/palyazat-1", "/palyazat-2"}}
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	if n := len(m.collect()); n != 3 {
		t.Errorf("%d pages reported at first", n)
	}
	m.Reset()
	m.runUntil(day(budapest, 2026, 6, 3, 12, 0))
	m.saw("a.test", "GET /robots.txt", "GET /feed.xml")
	m.Reset()
	v.mu.Lock()
	v.feed = append([]string{"/palyazat-3"}, v.feed...)
	v.mu.Unlock()
	m.runUntil(day(budapest, 2026, 6, 4, 12, 0))
	m.saw("a.test", "GET /robots.txt", "GET /feed.xml", "GET /palyazat-3")
	if got := kinds(m.collect()); got["new http://a.test/palyazat-3"] != 1 || len(got) != 1 {
		t.Errorf("reported %v", got)
	}
}

func (m *monitor) saw(host string, want ...string) {
	m.t.Helper()
	if got := m.Log(host); !slices.Equal(got, want) {
		m.t.Errorf("%s saw %q, want %q", host, got, want)
	}
}

// B10. A change of robots.txt counts from the next crawl on, a mailed wish at once.
func changesOfMind(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	for _, host := range []string{"a.test", "b.test"} {
		m.put(&town{host: host, calls: []string{"/palyazat-1"}})
	}
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	m.Reset()
	m.Robots("a.test", "User-agent: SubvenioBot\nDisallow: /\n")
	m.optOut("b.test", "", 0)
	m.runUntil(day(budapest, 2026, 6, 3, 12, 0))
	m.saw("a.test", "GET /robots.txt")
	m.saw("b.test")
	if n := len(m.inTheNight()); n != 1 {
		t.Errorf("requests in %d nights", n)
	}
}

// The whole bot: one request under way, five seconds for each registrable domain, whatever the hosts.
func TestANightOfManySites(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	var sites []watch.Site
	for _, host := range []string{"www.egy.test", "adat.egy.test", "egy.test", "ketto.test", "harom.test", "negy.test"} {
		v := &town{host: host, calls: []string{"/palyazat-1", "/palyazat-2", "/palyazat-3"}}
		m.put(v)
		sites = append(sites, siteOf("http://"+host+"/subsidies"))
	}
	m.follow(watch.Watch{}, sites...)
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	m.inTheNight()
	if n := m.MostInFlight(); n != 1 {
		t.Errorf("%d requests at once", n)
	}
	last := map[string]time.Time{}
	for _, r := range m.Requests() {
		domain := r.Host
		if parts := strings.Split(r.Host, "."); len(parts) > 2 {
			domain = strings.Join(parts[len(parts)-2:], ".")
		}
		if gap := r.At.Sub(last[domain]); gap < 5*time.Second {
			t.Errorf("%s came %v after another one for %s", r.URL(), gap, domain)
		}
		last[domain] = r.At
	}
	if n := len(m.Requests()); n != 6*5 {
		t.Errorf("%d requests, want %d", n, 6*5)
	}
}
