package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
)

// One request at a time for the whole bot: a night's round takes as long as its answers do, one after the other, and
// the bot's own waiting adds little to that. With -towns 342 for all towns.
func TestARoundOfANight(t *testing.T) {
	t.Parallel()
	const answer = time.Second
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	_, sites := m.towns(*manyTowns)
	m.answersTake(answer, answer/10)
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
	m.runUntil(day(budapest, 2026, 6, 2, 12, 0))
	m.inTheNight()
	if n := m.MostInFlight(); n != 1 {
		t.Errorf("%d requests at once", n)
	}
	r := m.lastRound()
	took, least := r.FinishedAt.Sub(r.StartedAt), time.Duration(len(m.Requests()))*answer
	t.Logf("%d sites, %d requests whose answers take %v: the round took %v", len(sites), len(m.Requests()), answer, took)
	if limit := least + least/8 + time.Minute; len(m.rounds()) != 1 || r.Status != "completed" || took < least || took > limit {
		t.Errorf("the round %+v took %v, want %v to %v", r, took, least, limit)
	}
}

// What a night has no time for is done in the next one, before anything else: in a round each page is asked for once
// (a listing at most once, as it may have been asked for less than a day before), and rounds do not overlap. Each
// site's robots.txt comes first in each night.
func TestANightCutsARoundOff(t *testing.T) {
	t.Parallel()
	m := newMonitor(t, "subvenio", day(budapest, 2026, 6, 1, 12, 0))
	m.profile.Schedule.Window.Hours.From, m.profile.Schedule.Window.Hours.To = 4*60, 4*60+40
	all, sites := m.towns(20)
	m.answersTake(25*time.Second, 5*time.Second)
	m.follow(watch.Watch{Options: watch.Options{NoPage: true}}, sites...)
	m.runUntil(day(budapest, 2026, 6, 4, 12, 0))
	rounds := m.rounds()
	slices.Reverse(rounds)
	asked := make([]map[string]int, len(rounds))
	for i, r := range rounds {
		asked[i] = map[string]int{}
		if i > 0 && r.StartedAt.Before(rounds[i-1].FinishedAt) {
			t.Errorf("a round began at %v, the one before ended at %v", r.StartedAt, rounds[i-1].FinishedAt)
		}
	}
	zone, _ := time.LoadLocation(budapest)
	told := map[string]bool{} // by night and host
	for _, r := range m.Requests() {
		at := r.At.In(zone)
		if at.Hour() != 4 || at.Minute() >= 40 {
			t.Errorf("%s came at %v", r.URL(), at)
		}
		if night := at.Format(time.DateOnly) + r.Host; !told[night] {
			if told[night] = true; r.Path != "/robots.txt" {
				t.Errorf("%s came first in a night, at %v", r.URL(), at)
			}
		}
		if i := slices.IndexFunc(rounds, func(round watch.Round) bool { return round.FinishedAt.IsZero() || r.At.Before(round.FinishedAt) }); r.Path != "/robots.txt" {
			asked[i][r.URL()]++
		}
	}
	if len(rounds) != 3 || rounds[1].Status != "completed" || !rounds[0].FinishedAt.After(rounds[0].StartedAt.Add(23*time.Hour)) {
		t.Fatalf("rounds %+v, want two that took until the next night, and one that is under way", rounds)
	}
	for i, pages := range asked[:2] {
		want := map[string]int{}
		for _, v := range all {
			for path := range v.known() {
				if url := "http://" + v.host + path; path != "/robots.txt" && (path != "/subsidies" || i == 0 || pages[url] > 0) {
					want[url] = 1
				}
			}
		}
		compare(t, pages, want)
	}
	for kind, n := range kinds(m.collect()) {
		if n != 1 || !strings.HasPrefix(kind, "new ") {
			t.Errorf("reported %d times: %s", n, kind)
		}
	}
}
