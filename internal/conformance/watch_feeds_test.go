package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// nights are visits of a site of grants by the night bot: each call of tonight is one night.
type nights struct {
	*town
	m    *monitor
	noon time.Time
}

func (m *monitor) nights(v *town) *nights {
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://"+v.host+"/subsidies"))
	return &nights{v, m, day(budapest, 2026, 6, 1, 12, 0)}
}

func (n *nights) tonight() (log []string, reported map[string]int) {
	n.m.Reset()
	n.noon = n.noon.AddDate(0, 0, 1)
	n.m.runUntil(n.noon)
	log = slices.DeleteFunc(n.m.Log(n.host), func(line string) bool { return line == "GET /robots.txt" })
	slices.Sort(log)
	return log, kinds(n.m.collect())
}

func (n *nights) expect(reported string, requests ...string) {
	n.m.t.Helper()
	log, got := n.tonight()
	if fmt.Sprint(got) != reported || !slices.Equal(log, requests) {
		n.m.t.Errorf("%s: reported %v, want %s; asked for %q, want %q", n.noon.Format(time.DateOnly), got, reported, log, requests)
	}
}

func (v *town) set(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
}

func newNights(t *testing.T, calls, feed []string) *nights {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	return m.nights(&town{host: "a.test", calls: calls, feed: feed})
}

// A feed of news stands for no listing of calls, though one of its items is on the subject.
func TestAFeedOfNewsStandsForNoListing(t *testing.T) {
	n := newNights(t, []string{"/palyazat-1"}, []string{"/hirek/palyazat-nap"})
	n.tonight()
	n.set(func() { n.calls = append(n.calls, "/palyazat-2") })
	n.expect("map[changed http://a.test/subsidies:1 new http://a.test/palyazat-2:1]",
		"GET /feed.xml", "GET /palyazat-1", "GET /palyazat-2", "GET /subsidies")
}

// A feed that nobody feeds any more is found out: its listing is looked at once a fortnight, and stands on
// its own when it leads to a call that the feed did not tell of.
func TestADeadFeedIsFoundOut(t *testing.T) {
	n := newNights(t, []string{"/palyazat-1"}, []string{"/palyazat-1"})
	n.tonight()
	n.set(func() { n.calls = append(n.calls, "/palyazat-2") })
	n.edit("/palyazat-1")
	found := map[string]int{}
	listings := 0
	for range 16 {
		log, got := n.tonight()
		for k := range got {
			found[k]++
		}
		if slices.Contains(log, "GET /subsidies") {
			listings++
		}
	}
	want := "map[changed http://a.test/palyazat-1:1 changed http://a.test/subsidies:1 new http://a.test/palyazat-2:1]"
	if fmt.Sprint(found) != want || listings > 2 {
		t.Errorf("in sixteen nights: reported %v, want %s; %d looks at the listing", found, want, listings)
	}
	n.set(func() { n.calls = append(n.calls, "/palyazat-3") })
	if _, got := n.tonight(); got["new http://a.test/palyazat-3"] != 1 {
		t.Errorf("the night after the next call: reported %v", got)
	}
}

// One night without a feed that can be read, whatever comes in its place: the pages are visited, and the
// feed is used again when it is back.
func TestABrokenFeedIsLeftForANight(t *testing.T) {
	deep := "<rss><channel>" + strings.Repeat("<a>", 5000)
	for name, broken := range map[string]http.Handler{
		"a page":    origintest.Body("text/html", "<!doctype html><title>Error</title><p>Sorry"),
		"nothing":   origintest.Body("application/rss+xml", ""),
		"cut":       origintest.Body("application/rss+xml", "<rss><channel><item><title>x</title><li"),
		"deep":      origintest.Body("application/rss+xml", deep),
		"an image":  origintest.Body("image/png", "\x89PNG\r\n\x1a\n\x00\x00"),
		"too much":  origintest.Body("application/rss+xml", "<rss><channel>"+strings.Repeat("<item><title>palyazat</title></item>", 150_000)),
		"not found": origintest.Status(http.StatusNotFound),
		"forbidden": origintest.Status(http.StatusForbidden),
		"moved":     origintest.Status(http.StatusMovedPermanently, "Location", "http://a.test/"),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNights(t, []string{"/palyazat-1", "/palyazat-2"}, []string{"/palyazat-1", "/palyazat-2"})
			n.tonight()
			n.expect("map[]", "GET /feed.xml")
			n.m.Handle("a.test", "/feed.xml", broken)
			n.edit("/palyazat-2")
			n.expect("map[changed http://a.test/palyazat-2:1]", "GET /feed.xml", "GET /palyazat-1", "GET /palyazat-2", "GET /subsidies")
			n.m.Handle("a.test", "/feed.xml", n.town)
			if _, got := n.tonight(); len(got) > 0 {
				t.Errorf("with the feed again: reported %v", got)
			}
			n.expect("map[]", "GET /feed.xml")
		})
	}
}

// What a feed tells of and cannot be had at first is looked at again.
func TestANewItemThatFailsIsLookedAtAgain(t *testing.T) {
	n := newNights(t, []string{"/palyazat-1"}, []string{"/palyazat-1"})
	n.tonight()
	n.set(func() { n.feed = append(n.feed, "/palyazat-2") })
	n.m.Handle("a.test", "/palyazat-2", origintest.Status(http.StatusNotFound)) // the feed is ahead of the page
	n.expect("map[]", "GET /feed.xml", "GET /palyazat-2")
	n.m.Handle("a.test", "/palyazat-2", origintest.Reset())
	n.tonight()
	n.m.Handle("a.test", "/palyazat-2", n.town)
	n.expect("map[new http://a.test/palyazat-2:1]", "GET /feed.xml", "GET /palyazat-2")
	n.expect("map[]", "GET /feed.xml")
}

// JSON Feed and Atom do as well as RSS.
func TestFeedsOfOtherKinds(t *testing.T) {
	for kind, feed := range map[string]func(items []string) string{
		"application/feed+json": func(items []string) string {
			var b strings.Builder
			for i, p := range items {
				fmt.Fprintf(&b, `%s{"id":"%s","title":"Pályázat","url":"http://a.test%s"}`, []string{"", ","}[min(i, 1)], p, p)
			}
			return `{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[` + b.String() + `]}`
		},
		"application/atom+xml": func(items []string) string {
			var b strings.Builder
			for _, p := range items {
				fmt.Fprintf(&b, `<entry><title>Pályázat</title><link rel="alternate" href="%s"/><id>%s</id></entry>`, p, p)
			}
			return `<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title>` + b.String() + `</feed>`
		},
	} {
		t.Run(kind, func(t *testing.T) {
			n := newNights(t, []string{"/palyazat-1"}, nil)
			n.set(func() { n.extra = `<link rel=alternate type="` + kind + `" href="/hirlista">` })
			serve := func(items ...string) {
				n.m.Handle("a.test", "/hirlista", origintest.Body(kind, feed(items)))
			}
			serve("/palyazat-1")
			n.tonight()
			n.expect("map[]", "GET /hirlista")
			serve("/palyazat-1", "/palyazat-2")
			n.expect("map[new http://a.test/palyazat-2:1]", "GET /hirlista", "GET /palyazat-2")
		})
	}
}
