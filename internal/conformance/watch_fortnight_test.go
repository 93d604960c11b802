package conformance

import (
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
)

// Two weeks of the night bot around the days when clocks change, with -towns 342 for all of them: at night only,
// one request at a time, five seconds for each site, robots.txt once a night, exactly the edits reported.
func TestAFortnightOfNights(t *testing.T) {
	for name, noon := range map[string]time.Time{
		"summer begins": day(budapest, 2026, 3, 23, 12, 0),
		"summer ends":   day(budapest, 2026, 10, 19, 12, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMonitor(t, "subvenio", noon)
			all, sites := m.towns(*manyTowns)
			m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
			want, got := map[string]int{}, map[string]int{}
			for _, v := range all {
				for path := range v.known() {
					if path != "/robots.txt" {
						want["new http://"+v.host+path] = 1
					}
				}
			}
			for d := range 14 {
				for i, v := range all {
					if path := v.calls[(i+d)%len(v.calls)]; d >= 2 && d < 13 && (i+d)%5 == 0 {
						v.edit(path)
						want["changed http://"+v.host+path]++
					}
				}
				m.Reset()
				m.runUntil(noon.AddDate(0, 0, d+1))
				m.inTheNight()
				if n := m.MostInFlight(); n > 1 {
					t.Errorf("night %d: %d requests at once", d, n)
				}
				last, seen := map[string]time.Time{}, map[string]int{}
				for _, r := range m.Requests() {
					if gap := r.At.Sub(last[r.Host]); gap < 5*time.Second {
						t.Errorf("%s came %v after another one", r.URL(), gap)
					}
					last[r.Host] = r.At
					if seen[r.URL()]++; seen[r.URL()] > 1 {
						t.Errorf("night %d: %s was asked for twice", d, r.URL())
					}
				}
				for k, c := range kinds(m.collect()) {
					got[k] += c
				}
			}
			compare(t, got, want)
		})
	}
}
