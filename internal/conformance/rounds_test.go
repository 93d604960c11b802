package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// lastRound is the newest round.
func (m *monitor) lastRound() watch.Round {
	m.t.Helper()
	return m.rounds()[0]
}

// A page that is missing twice is gone, one that comes again is back; what fails is neither.
func TestGoneBackAndSkipped(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test", calls: []string{"/subsidie-1", "/subsidie-2"}}
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	hours := []int{8, 10, 13, 15, 17}
	next := func(i int) map[string]int {
		m.runUntil(day(amsterdam, 2026, 5, 4+i/5, hours[i%5], 0))
		return kinds(m.collect())
	}
	expect := func(i int, want string) {
		t.Helper()
		if got := fmt.Sprint(next(i)); got != want {
			t.Errorf("round %d: %s, want %s", i, got, want)
		}
	}
	expect(0, "map[new http://a.test/subsidie-1:1 new http://a.test/subsidie-2:1 new http://a.test/subsidies:1]")
	m.Handle("a.test", "/subsidie-1", origintest.Status(http.StatusNotFound))
	expect(1, "map[]")
	m.Handle("a.test", "/subsidie-1", origintest.Status(http.StatusGone))
	expect(2, "map[gone http://a.test/subsidie-1:1]")
	expect(3, "map[]")
	m.Handle("a.test", "/subsidie-1", v)
	expect(4, "map[back http://a.test/subsidie-1:1]")
	// A page that was missing once is not gone, nor back.
	m.Handle("a.test", "/subsidie-1", origintest.Status(http.StatusNotFound))
	expect(5, "map[]")
	m.Handle("a.test", "/subsidie-1", v)
	expect(6, "map[]")
	for name, broken := range map[string]http.Handler{
		"503": origintest.Status(http.StatusServiceUnavailable), "429": origintest.Status(http.StatusTooManyRequests), "reset": origintest.Reset(),
	} {
		m.Handle("a.test", "/subsidies", broken)
		before := m.Count("a.test", "/subsidie-2")
		m.runUntil(m.clock.Now().Add(24 * time.Hour))
		if got := kinds(m.collect()); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
		if r := m.lastRound(); len(r.Skips) != 1 || r.Skips[0].Host != "a.test" || r.Pages.Skipped == 0 || r.Status != "completed" {
			t.Errorf("%s: the round says %+v", name, r)
		}
		if n := m.Count("a.test", "/subsidie-2"); n != before {
			t.Errorf("%s: the host was asked for more", name)
		}
		m.Handle("a.test", "/subsidies", v)
	}
}

// A ceiling ends the round, and the watch waits for a higher one.
func TestACeilingOfUnitsPausesAWatch(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	var sites []watch.Site
	for i := range 4 {
		v := &town{host: fmt.Sprintf("s%d.test", i), calls: []string{"/subsidie-1", "/subsidie-2"}}
		m.put(v)
		sites = append(sites, siteOf("http://"+v.host+"/subsidies"))
	}
	m.follow(watch.Watch{MaxUnits: 5}, sites...)
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	w, err := m.store.Watch(t.Context(), m.account.ID, m.watch.ID)
	if err != nil {
		t.Fatal(err)
	}
	used, err := m.store.Totals(t.Context(), m.account.ID, m.month())
	if err != nil || used.Units != 5 || w.Units != 5 || w.Status != watch.Paused || w.Reason != watch.ReasonMaxUnits || len(m.collect()) != 5 {
		t.Errorf("used %+v, watch %+v, %v", used, w, err)
	}
	more, on := int64(100), watch.Active
	_, err = m.store.ChangeWatch(t.Context(), m.account.ID, w.ID, m.key.ID, watch.Edit{MaxUnits: &more, Status: &on}, func(w watch.Watch) time.Time {
		return w.Schedule.Next(m.profile, m.clock.Now(), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	m.runUntil(day(amsterdam, 2026, 5, 6, 6, 0))
	if n := len(m.collect()); n != 12-5 {
		t.Errorf("%d pages came then, want the other %d", n, 12-5)
	}
}

// An engine that stops in a round leaves it to the next one; no page is asked for twice.
func TestARoundSurvivesARestart(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	_, sites := m.towns(20)
	m.follow(watch.Watch{}, sites...)
	ctx, stop := context.WithCancel(t.Context())
	m.clock.AdvanceTo(day(amsterdam, 2026, 5, 4, 7, 0))
	if err := m.runner.Step(ctx); err != nil {
		t.Fatal(err)
	}
	for len(m.Requests()) < 30 {
		m.settle()
		m.tick()
	}
	stop()
	m.runner.Wait()
	if r := m.lastRound(); r.Status != "running" {
		t.Errorf("the round is %s", r.Status)
	}
	m.runUntil(day(amsterdam, 2026, 5, 4, 9, 0))
	if r := m.lastRound(); r.Status != "completed" || len(m.rounds()) != 1 {
		t.Errorf("rounds %+v", m.rounds())
	}
	seen := map[string]int{}
	twice := 0
	for _, r := range m.Requests() {
		if seen[r.URL()]++; seen[r.URL()] > 1 && !strings.HasSuffix(r.Path, "robots.txt") {
			twice++ // what was under way when it stopped
		}
	}
	if twice > 20 {
		t.Errorf("%d pages were asked for twice", twice)
	}
	for k, n := range kinds(m.collect()) {
		if n != 1 {
			t.Errorf("%s was reported %d times", k, n)
		}
	}
}

// Rounds that were missed are caught up with one; rounds never overlap.
func TestMissedRoundsAreOneRound(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test", calls: []string{"/subsidie-1"}}
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.clock.AdvanceTo(day(amsterdam, 2026, 5, 6, 8, 0)) // two days and a round later
	m.runUntil(day(amsterdam, 2026, 5, 6, 9, 0))
	if n := len(m.rounds()); n != 1 {
		t.Errorf("%d rounds at once", n)
	}
	// A round that outlasts the next one's time: a delay of two hours between requests.
	m.optOut("a.test", "", 2*time.Hour)
	m.runUntil(day(amsterdam, 2026, 5, 7, 0, 0))
	rounds := m.rounds()
	for i := 1; i < len(rounds); i++ {
		if later, sooner := rounds[i-1], rounds[i]; later.StartedAt.Before(sooner.FinishedAt) {
			t.Errorf("a round began at %v, the one before ended at %v", later.StartedAt, sooner.FinishedAt)
		}
	}
	if len(rounds) < 3 || len(rounds) > 5 {
		t.Errorf("%d rounds", len(rounds))
	}
}

// Sitemaps and cap: what is new or said to be modified goes first, then what was looked at longest ago.
func TestMorePagesThanTheCap(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test"}
	for i := range 12 {
		v.calls = append(v.calls, fmt.Sprintf("/subsidie-%d", i))
	}
	m.put(v)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	if n := m.Count("a.test", "/subsidies"); n != 5 {
		t.Errorf("the start page was asked for %d times in five rounds", n)
	}
	for _, c := range v.calls {
		if n := m.Count("a.test", c); n < 1 || n > 2 { // 5 × 4 places for 12 pages
			t.Errorf("%s was asked for %d times", c, n)
		}
	}
}

// A night bot waits longer each time, keeps Retry-After, and reads on when the site is well again.
func TestANightBotBacksOff(t *testing.T) {
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	v := &town{host: "a.test", calls: []string{"/palyazat-1"}}
	m.put(v)
	m.Handle("a.test", "/subsidies", origintest.Sequence(
		origintest.Status(http.StatusServiceUnavailable), origintest.Status(http.StatusBadGateway), origintest.Status(http.StatusTooManyRequests),
		origintest.Status(http.StatusServiceUnavailable, "Retry-After", "3600"), origintest.Status(http.StatusInternalServerError), v))
	w := &town{host: "b.test", calls: []string{"/palyazat-1"}}
	m.put(w)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"), siteOf("http://b.test/subsidies"))
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	m.inTheNight()
	var tries []time.Time
	for _, r := range m.To("a.test") {
		if r.Path == "/subsidies" {
			tries = append(tries, r.At)
		}
	}
	if len(tries) != 6 {
		t.Fatalf("the page was tried at %v", tries)
	}
	least := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, time.Hour, 80 * time.Second}
	for i, want := range least {
		if gap := tries[i+1].Sub(tries[i]); gap < want || gap > want+time.Minute {
			t.Errorf("try %d came %v after the one before, want %v", i+2, gap, want)
		}
	}
	if n := m.Count("a.test", "/robots.txt"); n != 1 {
		t.Errorf("robots.txt was asked for %d times in one round", n)
	}
	if got := kinds(m.collect()); len(got) != 4 {
		t.Errorf("reported %v", got)
	}
	if r := m.lastRound(); r.Status != "completed" || len(r.Skips) != 0 {
		t.Errorf("the round says %+v", r)
	}
}
