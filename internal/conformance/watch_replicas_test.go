package conformance

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
)

// What a dead process had taken is taken up again, on either database: each page once, one round.
func TestARoundOutlivesItsProcess(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		m := newMonitorOn(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0), database)
		_, sites := m.towns(8)
		m.follow(watch.Watch{}, sites...)
		m.clock.AdvanceTo(day(amsterdam, 2026, 5, 4, 7, 0))
		book := m.store.WatchBook()
		if id, err := book.Begin(t.Context(), m.watch.ID, m.clock.Now(), day(amsterdam, 2026, 5, 4, 9, 24)); err != nil || id == "" {
			t.Fatal(id, err)
		}
		var dead []*watch.Claim
		for range 3 {
			c, err := book.Claim(t.Context())
			if err != nil || c == nil {
				t.Fatal(c, err)
			}
			dead = append(dead, c)
		}
		m.runUntil(day(amsterdam, 2026, 5, 4, 9, 0))
		if r := m.rounds(); len(r) != 1 || r[0].Status != "completed" || r[0].StartedAt.IsZero() {
			t.Errorf("rounds %+v", r)
		}
		for k, n := range kinds(m.collect()) {
			if n != 1 {
				t.Errorf("%s was reported %d times", k, n)
			}
		}
		// The dead come back and find that they have lost what they held.
		for _, c := range dead {
			pages, err := book.Pages(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := book.Record(t.Context(), c, watch.Finding{Page: pages[0]}); err == nil {
				t.Error("a lapsed visit recorded a page")
			}
		}
	})
}

// Two servers on one database share a round: no page twice, gaps and rounds kept. An opt-out and a forgotten
// domain reach both.
func TestTwoServersShareARound(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, database string) {
		if !strings.HasPrefix(database, "postgres") {
			return // SQLite is for one server
		}
		s := newServer(t, "subsidieupdate", "WEBREADER_DATABASE_URL="+database)
		s.env = append(s.env, "WEBREADER_DATABASE_URL="+database)
		s.key = strings.TrimSpace(s.operate("keys", "create", "--account", "pair", "--create-account"))
		second := exec.Command(webreader(t), "serve")
		second.Env, second.Dir = append(s.env, "WEBREADER_ADDR="+freeAddress(t), "WEBREADER_ADMIN_ADDR="+freeAddress(t)), t.TempDir()
		if err := second.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = second.Process.Kill(); _ = second.Wait() })
		var rows strings.Builder
		rows.WriteString("name;start_url\r\n")
		for i := range 120 {
			host := fmt.Sprintf("g%03d.test", i)
			fmt.Fprintf(&rows, "\"Gemeente \"\"%d\"\"\";http://%s/subsidies\r\n", i, host)
			s.Handle(host, "/", &town{host: host, calls: []string{"/subsidie-1"}})
		}
		var made watchShown
		if status := s.send(s.key, "POST", "/watches", "text/csv", "\xef\xbb\xbf"+rows.String(), &made); status != 201 || made.Sites != 120 {
			t.Fatalf("%d %+v", status, made)
		}
		s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", nil)
		s.within(30*time.Second, "the round is under way", func() bool { return len(s.Requests()) > 50 })
		s.operate("forget", "--domain", "g119.test")
		s.operate("optout", "add", "--domain", "g118.test")
		after := time.Now().Add(5 * time.Second)
		s.within(3*time.Minute, "the round is over", func() bool {
			var list struct{ Rounds []struct{ Status string } }
			s.send(s.key, "GET", "/watches/"+made.ID+"/rounds", "", "", &list)
			return len(list.Rounds) == 1 && list.Rounds[0].Status == "completed"
		})
		last, seen := map[string]time.Time{}, map[string]int{}
		for _, r := range s.Requests() {
			if gap := r.At.Sub(last[r.Host]); gap < 2*time.Second-transit {
				t.Errorf("%s came %v after another one", r.URL(), gap)
			}
			last[r.Host] = r.At
			if seen[r.URL()]++; seen[r.URL()] > 1 {
				t.Errorf("%s was asked for twice", r.URL())
			}
			if (r.Host == "g118.test" || r.Host == "g119.test") && r.At.After(after) {
				t.Errorf("%s came after the wish of its operator", r.URL())
			}
		}
		if n := len(last); n < 118 {
			t.Errorf("%d hosts were visited", n)
		}
		var shown watchShown
		if status := s.send(s.key, "GET", "/watches/"+made.ID, "", "", &shown); status != http.StatusOK || shown.Sites != 119 {
			t.Errorf("after forgetting one: %d %+v", status, shown)
		}
	})
}
