package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/reader"
)

// page is a URL for a frontier.
func page(host, path string) jobs.Found {
	url := "https://" + host + path
	sum := sha256.Sum256([]byte(url))
	return jobs.Found{URL: url, Host: host, Pace: host, Form: jobs.Form(sum[:16])}
}

// newJob is a job's order for an account.
func newJob(account billing.Account, key billing.Key, secret billing.Secret, items ...jobs.Found) jobs.Spec {
	identity, err := secret.Identity()
	if err != nil {
		panic(err)
	}
	return jobs.Spec{
		ID: billing.NewID("job"), Account: account.ID, Key: key.ID, Kind: jobs.Batch, Request: "req_1", Recipient: identity.Recipient(),
		MaxUnits: jobs.NoLimit, MaxPages: jobs.NoLimit, MaxRequests: jobs.NoLimit, MaxQueued: 1_000_000, MaxBytes: jobs.NoLimit,
		Deadline: time.Hour, MostRunning: 1_000_000, MostQueued: billing.Unlimited, Items: items,
	}
}

// read ends an item as delivered, as a runner would.
func delivery(t testing.TB, s *Store, i jobs.Item, account billing.Account, key billing.Key) jobs.Finish {
	t.Helper()
	h := must[billing.Hold](t)(s.Hold(context.Background(), billing.Order{Account: account.ID, Key: key.ID, Operation: i.ID(), Job: i.Job, Kind: jobs.Batch}))
	return jobs.Finish{Item: i, Fate: jobs.Ended, Counter: string(reader.Delivered), Hold: h, Held: true, Receipt: receipt(reader.Delivered, 1, i.Host),
		Requests: 1, Sealed: []jobs.Sealed{{Item: i.ID(), Host: i.Host, Envelope: seal.Envelope("sealed " + i.URL)}}}
}

// claimAll claims once whatever is ready.
func claimAll(t testing.TB, s *Store, p jobs.Pace) []jobs.Item {
	t.Helper()
	items, _, err := s.ClaimItems(t.Context(), p, 100)
	noError(t, err)
	return items
}

func TestABatchIsReadOnceChargedOnceAndCollected(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		twin := page("a.example", "/2")
		twin.Twins = []string{"https://a.example/2#x"}
		spec := newJob(account, key, secret, page("a.example", "/1"), twin, page("b.example", "/1"))
		j := must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
		if again := must[jobs.Job](t)(s.CreateJob(t.Context(), spec)); again != j || j.Total != 4 || j.Counts.Pending != 4 || j.Status != jobs.Running {
			t.Fatalf("made %+v, then %+v", j, again)
		}
		items := claimAll(t, s, jobs.Pace{MinGap: time.Second})
		if len(items) != 2 || items[0].Pace == items[1].Pace {
			t.Fatalf("claimed %+v: want one URL of each host", items)
		}
		if more := claimAll(t, s, jobs.Pace{MinGap: time.Second}); len(more) != 0 {
			t.Fatalf("claimed %+v while the hosts were leased", more)
		}
		for _, i := range items {
			noError(t, i.Turn.End(t.Context(), clock.Now()))
			noError(t, s.FinishItem(t.Context(), delivery(t, s, i, account, key)))
		}
		if more := claimAll(t, s, jobs.Pace{MinGap: time.Second}); len(more) != 0 {
			t.Fatalf("claimed %+v within the gap", more)
		}
		clock.advance(1100 * time.Millisecond)
		last := claimAll(t, s, jobs.Pace{MinGap: time.Second})
		if len(last) != 1 || last[0].URL != "https://a.example/2" || len(last[0].Twins) != 1 {
			t.Fatalf("claimed %+v", last)
		}
		noError(t, last[0].Turn.End(t.Context(), clock.Now()))
		done := delivery(t, s, last[0], account, key)
		noError(t, s.FinishItem(t.Context(), done))
		noError(t, s.FinishItem(t.Context(), done)) // a second end of the same item changes nothing
		j = must[jobs.Job](t)(s.Job(t.Context(), account.ID, j.ID))
		if j.Status != jobs.Completed || j.Counts.Delivered != 3 || j.Counts.Duplicate != 1 || j.Counts.Pending != 0 || j.Units != 3 {
			t.Fatalf("ended as %+v", j)
		}
		wantLedger(t, s, account, 3, 3)
		results := must[[]jobs.Stored](t)(s.Results(t.Context(), j.ID, 0, 10, 1<<20))
		if len(results) != 3 || results[0].Seq != 1 || results[2].Seq != 3 {
			t.Fatalf("results %+v", results)
		}
		noError(t, s.Acknowledge(t.Context(), j.ID, 2))
		if left := must[[]jobs.Stored](t)(s.Results(t.Context(), j.ID, 0, 10, 1<<20)); len(left) != 1 || left[0].Seq != 3 {
			t.Fatalf("left %+v", left)
		}
		clock.advance(25 * time.Hour)
		noError(t, s.SweepJobs(t.Context()))
		for _, table := range []string{"results", "frontier", "job_hosts", "hosts WHERE pending > 0"} {
			if n := number(t, s, "SELECT COUNT(*) FROM "+table); n != 0 {
				t.Errorf("%s: %d rows are left", table, n)
			}
		}
	})
}

func TestWhatADeadReaderHeldIsReadAgain(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		spec := newJob(account, key, secret, page("a.example", "/1"))
		spec.MaxPages = 1
		must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
		dead := claimAll(t, s, jobs.Pace{})
		clock.advance(DefaultLease + time.Second)
		noError(t, s.SweepJobs(t.Context()))
		again := claimAll(t, s, jobs.Pace{})
		if len(dead) != 1 || len(again) != 1 || dead[0].ID() != again[0].ID() {
			t.Fatalf("claimed %+v, then %+v", dead, again)
		}
		kept := 0
		late := delivery(t, s, dead[0], account, key)
		late.Found, late.Kept = []jobs.Found{page("a.example", "/2")}, func() { kept++ }
		noError(t, s.FinishItem(t.Context(), late)) // it was not dead after all, but late
		if n := number(t, s, "SELECT COUNT(*) FROM frontier"); n != 1 || kept != 0 {
			t.Errorf("%d URLs wait after a late read; it was told %d times that they are kept", n, kept)
		}
		wantLedger(t, s, account, 0, 0)
		last := delivery(t, s, again[0], account, key)
		last.Kept = func() { kept++ }
		noError(t, s.FinishItem(t.Context(), last))
		if kept != 1 {
			t.Errorf("it was told %d times that what was found is kept", kept)
		}
		wantLedger(t, s, account, 1, 1)
		if j := must[jobs.Job](t)(s.Job(t.Context(), account.ID, spec.ID)); j.Status != jobs.Completed || j.Counts.Delivered != 1 {
			t.Fatalf("ended as %+v", j)
		}
		if n := number(t, s, "SELECT COUNT(*) FROM results"); n != 1 {
			t.Errorf("%d results", n)
		}
	})
}

func TestAHostServesTheJobThatWaitsLongest(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		var many []jobs.Found
		for n := range 50 {
			many = append(many, page("a.example", fmt.Sprintf("/big/%d", n)))
		}
		big := newJob(account, key, secret, many...)
		must[jobs.Job](t)(s.CreateJob(t.Context(), big))
		small := newJob(account, key, secret, page("a.example", "/1"), page("a.example", "/2"))
		must[jobs.Job](t)(s.CreateJob(t.Context(), small))
		turns := map[string]int{}
		for range 4 {
			items := claimAll(t, s, jobs.Pace{})
			if len(items) != 1 {
				t.Fatalf("claimed %+v", items)
			}
			turns[items[0].Job]++
			noError(t, items[0].Turn.End(t.Context(), clock.Now()))
			noError(t, s.FinishItem(t.Context(), delivery(t, s, items[0], account, key)))
			clock.advance(time.Second)
		}
		if turns[small.ID] != 2 {
			t.Errorf("turns %v: want two for the small job", turns)
		}
	})
}

func TestALongListLeavesRoomForAShortOne(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, key, secret := customer(t, s, "Anna")
		var many []jobs.Found
		for n := range 2000 {
			many = append(many, page(fmt.Sprintf("big%d.example", n), "/"))
		}
		must[jobs.Job](t)(s.CreateJob(t.Context(), newJob(account, key, secret, many...)))
		for range 2 { // some of it is being read already
			claimAll(t, s, jobs.Pace{})
		}
		clock.advance(5 * time.Second)
		other, otherKey, otherSecret := customer(t, s, "Bert")
		small := newJob(other, otherKey, otherSecret, page("small1.example", "/"), page("small2.example", "/"), page("small3.example", "/"))
		must[jobs.Job](t)(s.CreateJob(t.Context(), small))
		mine := 0
		for range 3 {
			for _, i := range claimAll(t, s, jobs.Pace{}) {
				if i.Job == small.ID {
					mine++
				}
			}
		}
		if mine != 3 {
			t.Errorf("%d of the short list's URLs were taken within 300", mine)
		}
	})
}

func TestMaxUnitsAndPagesAreNeverCrossed(t *testing.T) {
	for name, limit := range map[string]func(*jobs.Spec){
		"max_units": func(s *jobs.Spec) { s.MaxUnits = 3 }, "max_pages": func(s *jobs.Spec) { s.MaxPages = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			withClock(t, func(t *testing.T, s *Store, clock *testClock) {
				account, key, secret := customer(t, s, "Anna")
				var items []jobs.Found
				for n := range 20 {
					items = append(items, page(fmt.Sprintf("h%d.example", n), "/"))
				}
				spec := newJob(account, key, secret, items...)
				limit(&spec)
				must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
				claimed := claimAll(t, s, jobs.Pace{})
				if len(claimed) != 3 {
					t.Fatalf("claimed %d at once, want 3", len(claimed))
				}
				for _, i := range claimed {
					noError(t, s.FinishItem(t.Context(), delivery(t, s, i, account, key)))
				}
				j := must[jobs.Job](t)(s.Job(t.Context(), account.ID, spec.ID))
				if j.Status != jobs.Completed || j.Reason != name || j.Units != 3 || j.Counts.Skipped != 17 || j.Counts.Pending != 0 {
					t.Errorf("ended as %+v", j)
				}
			})
		})
	}
}

// Results that are erased one soon after the other leave nothing in SQLite's write-ahead log either.
func TestWhatIsErasedLeavesTheWriteAheadLog(t *testing.T) {
	clock := newClock()
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, "sqlite:"+path, Options{Clock: clock})
	account, key, secret := customer(t, s, "Anna")
	spec := newJob(account, key, secret, page("a.example", "/1"), page("b.example", "/1"))
	must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
	for _, i := range claimAll(t, s, jobs.Pace{}) {
		noError(t, s.FinishItem(t.Context(), delivery(t, s, i, account, key)))
	}
	noError(t, s.Acknowledge(t.Context(), spec.ID, 1))
	noError(t, s.Acknowledge(t.Context(), spec.ID, 2))
	clock.advance(2 * cleanEvery)
	noError(t, s.SweepJobs(t.Context()))
	for _, file := range []string{path, path + "-wal"} {
		if text := must[[]byte](t)(os.ReadFile(file)); bytes.Contains(text, []byte("sealed https://")) {
			t.Errorf("an erased result is still in %s", filepath.Base(file))
		}
	}
}

func TestAnotherAccountsJobIsNotThere(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, key, secret := customer(t, s, "Anna")
		other, _, _ := customer(t, s, "Bert")
		spec := newJob(account, key, secret, page("a.example", "/1"))
		must[jobs.Job](t)(s.CreateJob(t.Context(), spec))
		_, err := s.Job(t.Context(), other.ID, spec.ID)
		wantKind(t, err, fault.NotFound)
		_, err = s.DropJob(t.Context(), other.ID, spec.ID)
		wantKind(t, err, fault.NotFound)
		_, err = s.Deliveries(t.Context(), other.ID, spec.ID)
		wantKind(t, err, fault.NotFound)
		dropped := must[jobs.Job](t)(s.DropJob(t.Context(), account.ID, spec.ID))
		if dropped.Status != jobs.Cancelled || dropped.Counts.Skipped != 1 {
			t.Errorf("dropped %+v", dropped)
		}
	})
}

// fetching simulates runners: claims, fetches that take 5 to 50 ms, finishes. It checks that no host is
// asked twice at once, nor before its gap has passed.
type fetching struct {
	s          *Store
	gap        time.Duration
	mu         sync.Mutex
	busy       map[string]bool
	written    map[string]time.Time
	overlaps   int
	early      int
	done       atomic.Int64
	ledger     bool
	account    billing.Account
	key        billing.Key
	concurrent int
}

func (f *fetching) run(t testing.TB, want int64) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	slots := make(chan struct{}, f.concurrent)
	var all sync.WaitGroup
	for f.done.Load() < want && ctx.Err() == nil {
		free := f.concurrent - len(slots)
		if free == 0 {
			<-time.After(time.Millisecond)
			continue
		}
		items, wait, err := f.s.ClaimItems(ctx, jobs.Pace{MinGap: f.gap}, free)
		if err != nil {
			t.Error(err)
			return
		}
		for _, i := range items {
			slots <- struct{}{}
			all.Go(func() { defer func() { <-slots }(); f.fetch(t, i) })
		}
		if len(items) == 0 {
			select {
			case <-time.After(wait):
			case <-f.s.JobsChanged():
			}
		}
	}
	all.Wait()
}

func (f *fetching) fetch(t testing.TB, i jobs.Item) {
	finish := jobs.Finish{Item: i, Fate: jobs.Ended, Counter: string(reader.Failed), Requests: 1}
	if f.ledger {
		finish = delivery(t, f.s, i, f.account, f.key)
	}
	<-time.After(time.Until(i.Turn.(*jobTurn).From()))
	now := time.Now()
	f.mu.Lock()
	if f.busy[i.Pace] {
		f.overlaps++
	}
	if last := f.written[i.Pace]; !last.IsZero() && now.Sub(last) < f.gap {
		f.early++
	}
	f.busy[i.Pace], f.written[i.Pace] = true, now
	f.mu.Unlock()
	<-time.After(time.Duration(5+rand.IntN(45)) * time.Millisecond)
	f.mu.Lock()
	f.busy[i.Pace] = false
	f.mu.Unlock()
	if err := i.Turn.End(context.Background(), now); err != nil {
		t.Error(err)
	}
	if err := f.s.FinishItem(context.Background(), finish); err != nil {
		t.Error(err)
	}
	f.done.Add(1)
}

// BenchmarkScheduler is the scheduler alone: hosts × 5 URLs with a fake fetch. WEBREADER_BENCH_HOSTS
// says how many hosts.
func BenchmarkScheduler(b *testing.B) {
	hosts := 10_000
	if n, err := strconv.Atoi(os.Getenv("WEBREADER_BENCH_HOSTS")); err == nil {
		hosts = n
	}
	for name, make := range databases() {
		for _, ledger := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/ledger=%v", name, ledger), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					s := open(b, make(b), Options{})
					account, key, secret := customer(b, s, "Anna")
					var items []jobs.Found
					for h := range hosts {
						for n := range 5 {
							items = append(items, page(fmt.Sprintf("h%d.example", h), fmt.Sprintf("/%d", n)))
						}
					}
					must[jobs.Job](b)(s.CreateJob(b.Context(), newJob(account, key, secret, items...)))
					f := &fetching{s: s, gap: time.Second, busy: map[string]bool{}, written: map[string]time.Time{}, ledger: ledger, account: account, key: key, concurrent: 512}
					b.StartTimer()
					began := time.Now()
					f.run(b, int64(len(items)))
					b.ReportMetric(float64(len(items))/time.Since(began).Seconds(), "urls/s")
					b.ReportMetric(float64(f.overlaps), "overlaps")
					b.ReportMetric(float64(f.early), "early")
				}
			})
		}
	}
}
