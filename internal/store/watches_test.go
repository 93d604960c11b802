package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/reader/gate"
)

// anna is an account and a key of it.
func anna(t testing.TB, s *Store) (account, key string) {
	t.Helper()
	a, k, _ := customer(t, s, "Anna")
	return a.ID, k.ID
}

// newWatch makes a watch of start pages, one a site.
func newWatch(t testing.TB, s *Store, account, key string, starts ...string) watch.Watch {
	t.Helper()
	var sites []watch.Site
	for _, start := range starts {
		sites = append(sites, watch.Site{StartURLs: []string{start}, Topics: []string{"subsidie"}, Sitemap: true})
	}
	return must[watch.Watch](t)(s.CreateWatch(t.Context(), watch.Watch{Account: account, Key: key, Name: "desk", NextRound: s.clock.Now(),
		Schedule: watch.Schedule{Cron: "0 6 * * *", TimeZone: "UTC"}}, sites, billing.Unlimited))
}

// claimed is a claim on a watch's first site that is ready.
func claimed(t testing.TB, s *Store) *watch.Claim {
	t.Helper()
	c := must[*watch.Claim](t)(s.WatchBook().Claim(t.Context()))
	if c == nil {
		t.Fatal("there was nothing to claim")
	}
	return c
}

// found is a finding with a change for the first page of a claim's site.
func found(t testing.TB, s *Store, c *watch.Claim) watch.Finding {
	t.Helper()
	p := must[[]watch.Page](t)(s.WatchBook().Pages(t.Context(), c))[0]
	p.Validators, p.State, p.Body, p.CheckedAt, p.Round = gate.Validators{ETag: `W/"x"`}, []byte("state"), []byte("digest"), s.clock.Now(), c.Round
	return watch.Finding{Page: p, Change: &watch.Sealed{Item: billing.NewID("chg"), Host: p.Host, Kind: change.New, DetectedAt: s.clock.Now(), Envelope: seal.Envelope("sealed")}}
}

// watched makes a watch of host with a page, a change and a skip.
func watched(t testing.TB, s *Store, account, key, host string) {
	t.Helper()
	w := newWatch(t, s, account, key, "https://"+host+"/")
	book := s.WatchBook()
	must[string](t)(book.Begin(t.Context(), w.ID, s.clock.Now(), time.Time{}))
	c := claimed(t, s)
	must[int64](t)(book.Record(t.Context(), c, found(t, s, c)))
	noError(t, book.Skip(t.Context(), c, watch.Skip{Host: host, Reason: "server_error"}))
	noError(t, book.Finish(t.Context(), c))
}

func TestARoundVisitsEachSiteOnceAndEnds(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/", "https://b.example/"), s.WatchBook()
		if due := must[[]watch.Watch](t)(book.Due(t.Context())); len(due) != 1 || due[0].ID != w.ID || due[0].Sites != 2 {
			t.Fatalf("due are %+v", due)
		}
		next := clock.Now().Add(time.Hour)
		round := must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), next))
		if again := must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), next)); round == "" || again != "" {
			t.Errorf("rounds %q and %q", round, again)
		}
		if due := must[[]watch.Watch](t)(book.Due(t.Context())); len(due) != 0 {
			t.Errorf("while a round runs, due are %+v", due)
		}
		one, two := claimed(t, s), claimed(t, s)
		if one.Number == two.Number || one.Site.StartURLs[0] == two.Site.StartURLs[0] || !one.Site.Sitemap || one.Site.Topics[0] != "subsidie" {
			t.Errorf("claimed %+v and %+v", one, two)
		}
		if none := must[*watch.Claim](t)(book.Claim(t.Context())); none != nil {
			t.Errorf("claimed %+v as well", none)
		}
		noError(t, book.Finish(t.Context(), one))
		one.Tally.New = 3
		noError(t, book.Postpone(t.Context(), two, clock.Now().Add(time.Minute)))
		if at := must[time.Time](t)(book.Next(t.Context())); !at.Equal(clock.Now().Add(time.Minute)) {
			t.Errorf("next at %v", at)
		}
		clock.advance(time.Minute)
		two = claimed(t, s)
		if at, first := started(t, s, two); !first || !at.Equal(clock.Now()) {
			t.Errorf("started %v, %v", at, first)
		}
		two.Tally = watch.Tally{New: 2, Gone: 1, Requests: 4}
		noError(t, book.Finish(t.Context(), two))
		rounds := must[[]watch.Round](t)(s.WatchRounds(t.Context(), account, w.ID, "", 10))
		if len(rounds) != 1 || rounds[0].Status != "completed" || rounds[0].Pages.New != 2 || rounds[0].Pages.Requests != 4 || rounds[0].SitesDone != 2 {
			t.Errorf("rounds %+v", rounds)
		}
		if at := must[time.Time](t)(book.Next(t.Context())); !at.Equal(next) {
			t.Errorf("next at %v, want %v", at, next)
		}
	})
}

func started(t testing.TB, s *Store, c *watch.Claim) (time.Time, bool) {
	t.Helper()
	at, first, err := s.WatchBook().Start(t.Context(), c)
	noError(t, err)
	return at, first
}

func TestALapsedVisitRecordsNothing(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/"), s.WatchBook()
		must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), time.Time{}))
		dead := claimed(t, s)
		clock.advance(visitLease + time.Second)
		alive := claimed(t, s)
		if _, err := book.Record(t.Context(), dead, found(t, s, dead)); !errors.Is(err, watch.ErrLost) {
			t.Errorf("the dead one recorded: %v", err)
		}
		if err := book.Finish(t.Context(), dead); !errors.Is(err, watch.ErrLost) {
			t.Errorf("the dead one finished: %v", err)
		}
		if seq := must[int64](t)(book.Record(t.Context(), alive, found(t, s, alive))); seq != 1 {
			t.Errorf("change %d", seq)
		}
	})
}

func TestWhatIsForgottenDuringAVisitStaysForgotten(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/", "https://b.example/"), s.WatchBook()
		must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), time.Time{}))
		first, second := claimed(t, s), claimed(t, s)
		f := found(t, s, first)
		must[Forgotten](t)(s.Forget(t.Context(), "a.example", ""))
		if _, err := book.Record(t.Context(), first, f); !errors.Is(err, watch.ErrLost) {
			t.Errorf("recorded: %v", err)
		}
		g := found(t, s, second)
		g.Learned = []watch.Page{{Hash: "1", URL: "https://a.example/x", Host: "a.example"}, {Hash: "2", URL: "https://b.example/x", Host: "b.example"}}
		must[int64](t)(book.Record(t.Context(), second, g))
		if n := number(t, s, "SELECT COUNT(*) FROM watch_pages WHERE host = 'a.example'"); n != 0 {
			t.Errorf("%d pages came back", n)
		}
		noError(t, book.Finish(t.Context(), second))
		clock.advance(visitLease + time.Second)
		if c := must[*watch.Claim](t)(book.Claim(t.Context())); c != nil {
			t.Errorf("claimed %+v", c)
		}
		if n := number(t, s, "SELECT COUNT(*) FROM watches WHERE round = ''"); n != 1 {
			t.Error("the round did not end")
		}
	})
}

func TestChangesStayUntilTheyAreAcknowledged(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/"), s.WatchBook()
		must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), time.Time{}))
		c := claimed(t, s)
		for range 3 {
			must[int64](t)(book.Record(t.Context(), c, found(t, s, c)))
		}
		for _, step := range []struct {
			after int64
			want  string
		}{{-1, "1 2 3"}, {-1, "1 2 3"}, {0, "1 2 3"}, {2, "3"}, {-1, "3"}, {3, ""}} {
			var got []string
			for _, one := range must[[]watch.Stored](t)(s.Changes(t.Context(), account, w.ID, step.after, 10, 1000)) {
				got = append(got, fmt.Sprint(one.Seq))
			}
			if strings.Join(got, " ") != step.want {
				t.Errorf("after %d: %v, want %s", step.after, got, step.want)
			}
		}
		if _, err := s.Changes(t.Context(), "acc_other", w.ID, -1, 10, 1000); fault.Of(err) != fault.NotFound {
			t.Errorf("another account: %v", err)
		}
		must[int64](t)(book.Record(t.Context(), c, found(t, s, c)))
		clock.advance(31 * 24 * time.Hour)
		if n := must[int64](t)(s.SweepWatches(t.Context(), 30*24*time.Hour)); n != 1 {
			t.Errorf("%d rows swept", n)
		}
	})
}

func TestACeilingIsNeverCrossed(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/"), s.WatchBook()
		ceiling := int64(2)
		must[watch.Watch](t)(s.ChangeWatch(t.Context(), account, w.ID, key, watch.Edit{MaxUnits: &ceiling}, func(w watch.Watch) time.Time { return w.NextRound }))
		c := &watch.Claim{Watch: w}
		for i, want := range []bool{true, true, false} {
			if got := must[bool](t)(book.Reserve(t.Context(), c, 1)); got != want {
				t.Errorf("unit %d: %v", i+1, got)
			}
		}
		if !must[bool](t)(book.Reserve(t.Context(), c, -1)) || !must[bool](t)(book.Reserve(t.Context(), c, 1)) {
			t.Error("a unit given back cannot be had again")
		}
		ceiling = 1
		_, err := s.ChangeWatch(t.Context(), account, w.ID, key, watch.Edit{MaxUnits: &ceiling}, func(w watch.Watch) time.Time { return w.NextRound })
		wantKind(t, err, fault.InvalidRequest)
		_ = clock
	})
}

func TestChangesThatNobodyCollectsPauseAWatch(t *testing.T) {
	plans := must[*billing.Plans](t)(billing.ParsePlans([]byte(`version: 1
default: small
plans:
  small: {title: Small, included: 100, beyond: false, requests_per_minute: 60, concurrent_reads: 4, running_jobs: 1, pages_per_crawl: 50,
    queued_urls: 1000, undelivered_bytes: 10, watches: 5}
`)))
	s := open(t, newSQLite(t), Options{Plans: plans})
	account, key := anna(t, s)
	w, book := newWatch(t, s, account, key, "https://a.example/"), s.WatchBook()
	must[string](t)(book.Begin(t.Context(), w.ID, time.Now(), time.Time{}))
	c := claimed(t, s)
	for range 2 { // of six bytes each
		must[int64](t)(book.Record(t.Context(), c, found(t, s, c)))
	}
	noError(t, book.Finish(t.Context(), c))
	if round := must[string](t)(book.Begin(t.Context(), w.ID, time.Now(), time.Time{})); round != "" {
		t.Error("another round began")
	}
	if w := must[watch.Watch](t)(s.Watch(t.Context(), account, w.ID)); w.Status != watch.Paused || w.Reason != watch.ReasonUndelivered {
		t.Errorf("the watch is %s, %q", w.Status, w.Reason)
	}
}

func TestAnotherListOfSitesKeepsWhatStays(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		w, book := newWatch(t, s, account, key, "https://a.example/", "https://b.example/"), s.WatchBook()
		must[string](t)(book.Begin(t.Context(), w.ID, clock.Now(), time.Time{}))
		for range 2 {
			c := claimed(t, s)
			must[int64](t)(book.Record(t.Context(), c, found(t, s, c)))
			noError(t, book.Finish(t.Context(), c))
		}
		sites := []watch.Site{{StartURLs: []string{"https://c.example/"}}, {StartURLs: []string{"https://b.example/", "https://b.example/2"}, Name: "B"}}
		w = must[watch.Watch](t)(s.ChangeWatch(t.Context(), account, w.ID, key, watch.Edit{Sites: sites}, func(w watch.Watch) time.Time { return w.NextRound }))
		got := must[[]watch.Site](t)(s.WatchSites(t.Context(), w.ID))
		if w.Sites != 2 || len(got) != 2 || len(got[0].StartURLs) != 2 || got[0].Name != "B" || got[1].StartURLs[0] != "https://c.example/" {
			t.Errorf("sites %+v", got)
		}
		for query, want := range map[string]int64{"host = 'a.example'": 0, "host = 'b.example' AND checked_at > 0": 1, "host = 'b.example'": 2, "host = 'c.example' AND kind = 0": 1} {
			if n := number(t, s, "SELECT COUNT(*) FROM watch_pages WHERE "+query); n != want {
				t.Errorf("%s: %d pages, want %d", query, n, want)
			}
		}
	})
}

func TestADeletedWatchLeavesNothing(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key := anna(t, s)
		watched(t, s, account, key, "a.example")
		w := must[[]watch.Watch](t)(s.Watches(t.Context(), account, "", 10))[0]
		wantKind(t, s.DeleteWatch(t.Context(), "acc_other", w.ID), fault.NotFound)
		noError(t, s.DeleteWatch(t.Context(), account, w.ID))
		watched(t, s, account, key, "b.example")
		noError(t, s.CloseAccount(t.Context(), account))
		for _, table := range watchTables {
			if n := number(t, s, "SELECT COUNT(*) FROM "+table[0]); n != 0 {
				t.Errorf("%s: %d rows", table[0], n)
			}
		}
		_ = clock
	})
}

// A round of 100,000 pages is planned in well under two seconds, and a page takes less than 4 KB.
func TestPlanningALargeRoundIsQuick(t *testing.T) {
	s := open(t, "sqlite::memory:", Options{})
	account, key := anna(t, s)
	var starts []string
	for i := range 2000 {
		starts = append(starts, fmt.Sprintf("https://s%d.example/", i))
	}
	w := newWatch(t, s, account, key, starts...)
	noError(t, s.tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO watch_pages (watch, number, hash, url, host, kind, fed, wanted, hint, etag, last_modified, body, state, checked_at, round)
			SELECT p.watch, p.number, substr(p.hash, 1, 12) || n.value, p.url || 'subsidies/regeling-' || n.value, p.host, 1, 0, 0, '', '"5f3c-18a"', 'Mon, 30 Nov 2026 10:00:00 GMT',
			randomblob(16), randomblob(1200), 1, '' FROM watch_pages p, (WITH RECURSIVE c(value) AS (SELECT 10 UNION ALL SELECT value + 1 FROM c WHERE value < 58) SELECT value FROM c) n WHERE p.watch = $1`, w.ID)
		return err
	}))
	pages := number(t, s, "SELECT COUNT(*) FROM watch_pages")
	began := time.Now()
	must[string](t)(s.WatchBook().Begin(t.Context(), w.ID, time.Now(), time.Time{}))
	c := claimed(t, s)
	must[[]watch.Page](t)(s.WatchBook().Pages(t.Context(), c))
	took := time.Since(began)
	size := number(t, s, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	t.Logf("%d pages: a round was planned and its first site claimed in %v; %d bytes a page", pages, took, size/pages)
	if pages != 100_000 || took > 2*time.Second || size/pages > 4096 {
		t.Errorf("%d pages, %v, %d bytes a page", pages, took, size/pages)
	}
}
