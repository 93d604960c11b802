package conformance

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// towns are n towns with one to six calls each, every third with conditional answers.
func (m *monitor) towns(n int) ([]*town, []watch.Site) {
	var all []*town
	var sites []watch.Site
	for i := range n {
		v := &town{host: fmt.Sprintf("gemeente%03d.test", i), etag: i%3 > 0}
		for j := range 1 + i%6 {
			v.calls = append(v.calls, fmt.Sprintf("/subsidies/regeling-%d", j))
		}
		m.put(v)
		all = append(all, v)
		sites = append(sites, siteOf("http://"+v.host+"/subsidies"))
	}
	return all, sites
}

// known are the pages of a town that a watch may ask for.
func (v *town) known() map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := map[string]bool{"/subsidies": true, "/robots.txt": true}
	for _, c := range v.calls {
		all[c] = true
	}
	return all
}

// manyTowns is how many towns the two weeks are run with; all of them are 342.
var manyTowns = flag.Int("towns", 8, "towns in the two weeks of S03")

// allTowns is how many of them a day is run with.
func allTowns() int { return min(342, 8**manyTowns) }

// S03. Two weeks around the days when clocks change.
func roundsOfTwoWeeks(t *testing.T) {
	for name, monday := range map[string]time.Time{
		"summer begins": day(amsterdam, 2026, 3, 23, 0, 0),
		"summer ends":   day(amsterdam, 2026, 10, 19, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fortnight(t, monday, *manyTowns)
		})
	}
}

// allTownsForADay is a working day of many towns, with -towns 43 of all of them, for S02.
func allTownsForADay(t *testing.T) {
	monday := day(amsterdam, 2026, 6, 1, 0, 0)
	m := newMonitor(t, "subsidieupdate", monday)
	_, sites := m.towns(allTowns())
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
	m.runUntil(monday.AddDate(0, 0, 1))
	m.lookAtDay(monday, 5)
	hosts := map[string]bool{}
	for _, r := range m.Requests() {
		hosts[r.Host] = true
	}
	if len(hosts) != allTowns() {
		t.Errorf("%d hosts were visited, want all %d and no other", len(hosts), allTowns())
	}
}

// fortnight runs two weeks from a Monday on, edits pages on each day, and looks at each round.
func fortnight(t *testing.T, monday time.Time, n int) {
	m := newMonitor(t, "subsidieupdate", monday)
	all, sites := m.towns(n)
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
	want := map[string]int{}
	for _, v := range all {
		for path := range v.known() {
			if path != "/robots.txt" {
				want["new http://"+v.host+path] = 1
			}
		}
	}
	got := map[string]int{}
	for d := range 14 {
		if d >= 4 && d < 12 { // by then every page has been seen; the last edits get time to be seen
			for i, v := range all {
				if (i+d)%9 == 0 {
					path := v.calls[(i+d)%len(v.calls)]
					v.edit(path)
					want["changed http://"+v.host+path]++
				}
			}
		}
		m.Reset()
		m.runUntil(monday.AddDate(0, 0, d+1))
		m.lookAtDay(monday.AddDate(0, 0, d), 5)
		for k, c := range kinds(m.collect()) {
			got[k] += c
		}
	}
	compare(t, got, want)
	if rounds := m.rounds(); len(rounds) != 54 {
		t.Errorf("%d rounds in two weeks, want 54", len(rounds))
	}
}

func compare(t *testing.T, got, want map[string]int) {
	t.Helper()
	wrong := 0
	for k, n := range want {
		if got[k] != n && wrong < 10 {
			t.Errorf("%s: reported %d times, want %d", k, got[k], n)
			wrong++
		}
	}
	for k, n := range got {
		if want[k] == 0 && wrong < 10 {
			t.Errorf("%s: reported %d times, want none", k, n)
			wrong++
		}
	}
}

// lookAtDay checks what each host saw on a day: robots.txt once, gaps, pages on the subject only, and per
// round no more than the cap and no page twice.
func (m *monitor) lookAtDay(day time.Time, most int) {
	m.t.Helper()
	var rounds []watch.Round
	for _, r := range m.rounds() {
		if !r.StartedAt.Before(day) && r.StartedAt.Before(day.AddDate(0, 0, 1)) {
			rounds = append(rounds, r)
		}
	}
	slices.Reverse(rounds)
	wanted := 5
	if wd := day.Weekday(); wd == time.Saturday || wd == time.Sunday {
		wanted = 1
	}
	if len(rounds) != wanted {
		m.t.Errorf("%s: %d rounds, want %d", day.Format(time.DateOnly), len(rounds), wanted)
	}
	perHost := map[string][]origintest.Request{}
	for _, r := range m.Requests() {
		perHost[r.Host] = append(perHost[r.Host], r)
	}
	for host, seen := range perHost {
		m.lookAtHost(host, seen, rounds, most)
	}
}

func (m *monitor) lookAtHost(host string, seen []origintest.Request, rounds []watch.Round, most int) {
	m.t.Helper()
	robots := 0
	perRound := map[string]map[string]int{}
	for i, r := range seen {
		if i > 0 && r.At.Sub(seen[i-1].At) < 2*time.Second {
			m.t.Errorf("%s: %s came %v after %s", host, r.Path, r.At.Sub(seen[i-1].At), seen[i-1].Path)
		}
		if r.Path == "/robots.txt" {
			robots++
			continue
		}
		if !strings.HasPrefix(r.Path, "/subsidies") {
			m.t.Errorf("%s: %s is off the subject", host, r.Path)
		}
		id := ""
		for _, round := range rounds {
			if !r.At.Before(round.StartedAt) {
				id = round.ID
			}
		}
		if perRound[id] == nil {
			perRound[id] = map[string]int{}
		}
		perRound[id][r.Path]++
	}
	if robots > 1 {
		m.t.Errorf("%s: robots.txt was asked for %d times on one day", host, robots)
	}
	for id, paths := range perRound {
		total := 0
		for path, n := range paths {
			total += n
			if n > 1 {
				m.t.Errorf("%s: %s was asked for %d times in round %s", host, path, n, id)
			}
		}
		if total > most {
			m.t.Errorf("%s: %d pages in round %s", host, total, id)
		}
	}
}
