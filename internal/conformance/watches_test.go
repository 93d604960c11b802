package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
)

// S05. The first round reads; each later one asks once for each page, and ends there.
func unchangedCostsOneRequest(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day("Europe/Amsterdam", 2026, 5, 4, 6, 0)) // a Monday
	v := &town{host: "een.test", calls: []string{"/subsidie-sport", "/subsidie-kunst"}, etag: true}
	w := &town{host: "twee.test", calls: []string{"/subsidie-groen", "/subsidie-feest"}}
	m.put(v)
	m.put(w)
	m.follow(watch.Watch{}, siteOf("http://een.test/subsidies"), siteOf("http://twee.test/subsidies"))
	m.runUntil(day("Europe/Amsterdam", 2026, 5, 4, 8, 0))
	if got := kinds(m.collect()); len(got) != 6 {
		t.Errorf("first round: %v", got)
	}
	t.Log(m.URLs())
	m.Reset()
	m.runUntil(day("Europe/Amsterdam", 2026, 5, 4, 11, 0))
	for _, host := range []string{"een.test", "twee.test"} {
		if got := m.Log(host); len(got) != 3 {
			t.Errorf("second round: %s saw %q", host, got)
		}
	}
	if got := kinds(m.collect()); len(got) != 0 {
		t.Errorf("second round: %v", got)
	}
	v.edit("/subsidie-sport")
	w.edit("/subsidie-feest")
	m.runUntil(day("Europe/Amsterdam", 2026, 5, 4, 13, 0))
	if got := kinds(m.collect()); fmt.Sprint(got) != "map[changed http://een.test/subsidie-sport:1 changed http://twee.test/subsidie-feest:1]" {
		t.Errorf("third round: %v", got)
	}
	t.Logf("%+v", m.rounds()[0])
	_ = time.Second
}

func TestScratch(t *testing.T) { unchangedCostsOneRequest(t) }

func TestScratchNight(t *testing.T) {
	t.Run("B07", nightOnly)
	t.Run("B03", robotsAtEachCrawl)
	t.Run("B05", onceADay)
	t.Run("B11", feedsFirst)
	t.Run("B10", changesOfMind)
}
