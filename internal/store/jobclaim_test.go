package store

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/reader"
)

// Between the pick of a URL and the lock of its job another URL of the job may lead to the same page.
func TestAURLThatEndsWhileItIsPickedIsNotClaimed(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		must[jobs.Job](t)(s.CreateJob(t.Context(), newJob(account, key, secret, page("a.example", "/1"), page("b.example", "/1"))))
		c := newClaiming(jobs.Pace{})
		c.now = clock.Now().UnixMilli()
		noError(t, s.tx(t.Context(), func(tx *sql.Tx) error {
			noError(t, s.readyHosts(t.Context(), tx, c, 10))
			noError(t, s.pickItems(t.Context(), tx, c))
			noError(t, s.leaseHosts(t.Context(), tx, c))
			picked := c.items
			_, err := tx.ExecContext(t.Context(), "UPDATE frontier SET state = 3 WHERE host = 'a.example'")
			noError(t, err)
			noError(t, s.admit(t.Context(), tx, c))
			noError(t, s.markClaimed(t.Context(), tx, c))
			return s.freeHosts(t.Context(), tx, c, picked)
		}))
		if len(c.items) != 1 || c.items[0].Host != "b.example" {
			t.Errorf("claimed %+v, want b.example alone", c.items)
		}
		if running, leased := number(t, s, "SELECT running FROM jobs"), number(t, s, "SELECT COUNT(*) FROM hosts WHERE leased = 1"); running != 1 || leased != 1 {
			t.Errorf("%d URLs run, %d hosts are leased; want 1 and 1", running, leased)
		}
	})
}

// A job's first URLs come a minute before PostgreSQL's own daemon looks at the tables.
func TestTablesThatGrowFastAreLookedAtBeforeTheClaim(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		if !s.postgres {
			return // SQLite takes the first index that fits
		}
		account, key, secret := customer(t, s, "Anna")
		var items []jobs.Found
		for n := range 2000 {
			items = append(items, page(fmt.Sprintf("h%d.example", n), "/"))
		}
		must[jobs.Job](t)(s.CreateJob(t.Context(), newJob(account, key, secret, items...)))
		claimAll(t, s, jobs.Pace{})
		if n := number(t, s, "SELECT CAST(reltuples AS BIGINT) FROM pg_class WHERE oid = 'frontier'::regclass"); n != 2000 {
			t.Errorf("PostgreSQL believes that %d URLs wait, want 2000", n)
		}
	})
}

// PostgreSQL may break a transaction up to end a deadlock: the next try starts with what was given.
func TestATransactionBegunAnewFindsItsItemsAsTheyWere(t *testing.T) {
	found := []jobs.Found{page("a.example", "/1")}
	given := []*jobs.Finish{{Counter: string(reader.Delivered), Found: append(make([]jobs.Found, 0, 4), found...)}}
	first := copies(given)
	first[0].Found = append(first[0].Found, page("a.example", "/2"))
	duplicate(first[0])
	second := copies(given)
	if second[0].Counter != string(reader.Delivered) || len(second[0].Found) != 1 {
		t.Errorf("the second try found %+v", second[0])
	}
	second[0].Found = append(second[0].Found, page("a.example", "/3"))
	if first[0].Found[1].URL != page("a.example", "/2").URL {
		t.Errorf("the second try wrote %q into the first one's list", first[0].Found[1].URL)
	}
}

// Nothing is delivered that cannot be charged: the page is read again.
func TestALapsedHoldsPageIsReadAgain(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		spec := newJob(account, key, secret, page("a.example", "/1"))
		must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
		first := claimAll(t, s, jobs.Pace{})[0]
		late := delivery(t, s, first, account, key)
		clock.advance(late.Hold.Expires.Sub(clock.Now()) + time.Millisecond)
		noError(t, s.FinishItem(t.Context(), late))
		wantLedger(t, s, account, 0, 0)
		if n := number(t, s, "SELECT COUNT(*) FROM results"); n != 0 {
			t.Errorf("%d results that nobody pays for", n)
		}
		again := claimAll(t, s, jobs.Pace{})
		if len(again) != 1 || again[0].ID() != first.ID() {
			t.Fatalf("claimed %+v, want the URL again", again)
		}
		noError(t, s.FinishItem(t.Context(), delivery(t, s, again[0], account, key)))
		wantLedger(t, s, account, 1, 1)
		if j := must[jobs.Job](t)(s.Job(t.Context(), account.ID, spec.ID)); j.Status != jobs.Completed || j.Counts.Delivered != 1 {
			t.Errorf("ended as %+v", j)
		}
	})
}

// What a large sitemap lists is queued in parts, and the sitemap ends with the last of them.
func TestALargeSitemapIsQueuedInParts(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, _ *testClock) {
		account, key, secret := customer(t, s, "Anna")
		spec := newJob(account, key, secret, page("a.example", "/sitemap.xml"))
		must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
		kept := 0
		f := jobs.Finish{Item: claimAll(t, s, jobs.Pace{})[0], Fate: jobs.Ended, Counter: string(reader.Failed), Requests: 1, Kept: func() { kept++ }}
		for n := range 2*maxWeight + 1 {
			f.Found = append(f.Found, page("a.example", fmt.Sprintf("/%d", n)))
		}
		noError(t, s.FinishItem(t.Context(), f))
		if n := number(t, s, "SELECT COUNT(*) FROM frontier WHERE state = 0"); n != 2*maxWeight+1 || kept != 1 {
			t.Errorf("%d URLs wait, want %d; it was told %d times that they are kept", n, 2*maxWeight+1, kept)
		}
		if n := number(t, s, "SELECT pending FROM hosts"); n != 2*maxWeight+1 {
			t.Errorf("%d URLs wait for the host", n)
		}
		j := must[jobs.Job](t)(s.Job(t.Context(), account.ID, spec.ID))
		if j.Status != jobs.Running || j.Total != 2*maxWeight+2 || j.Counts.Failed != 1 {
			t.Errorf("the job is %+v", j)
		}
		if next := claimAll(t, s, jobs.Pace{}); len(next) != 1 || next[0].URL != "https://a.example/0" {
			t.Errorf("claimed %+v after the sitemap", next)
		}
	})
}

// What goes before a request (holding a unit, looking at robots.txt) is done by the time that the gap is over.
func TestAHostIsClaimedShortlyBeforeItsTime(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		must[jobs.Job](t)(s.CreateJob(t.Context(), newJob(account, key, secret, page("a.example", "/1"), page("a.example", "/2"))))
		pace := jobs.Pace{MinGap: time.Second}
		first := claimAll(t, s, pace)[0]
		written := clock.Now()
		noError(t, first.Turn.End(t.Context(), written))
		noError(t, s.FinishItem(t.Context(), delivery(t, s, first, account, key)))
		clock.advance(time.Second - (ahead+1)*time.Millisecond)
		if early := claimAll(t, s, pace); len(early) != 0 {
			t.Fatalf("claimed %+v, %d ms before its time", early, ahead+1)
		}
		clock.advance(time.Millisecond)
		second := claimAll(t, s, pace)
		if len(second) != 1 {
			t.Fatalf("claimed %+v, %d ms before its time; want one", second, ahead)
		}
		if from := second[0].Turn.(*jobTurn).From(); !from.Equal(written.Add(time.Second)) {
			t.Errorf("its turn begins %v after the request before, want 1s", from.Sub(written))
		}
	})
}
