package store

import (
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

func benchOnEach(b *testing.B, bench func(b *testing.B, s *Store)) {
	for name, make := range databases() {
		b.Run(name, func(b *testing.B) { bench(b, open(b, make(b), Options{})) })
	}
}

// Settle by one caller: the median must be at most 1 ms on SQLite.
func BenchmarkSettle(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s *Store) {
		account, _, _ := customer(b, s, "Anna")
		var took []time.Duration
		for b.Loop() {
			h, err := s.Hold(b.Context(), order(account))
			if err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			if err := s.Settle(b.Context(), h, delivered()); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/settle-median")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/settle-p99")
	})
}

// Hold and settle by many callers at once: at least 1,000 a second over 100 accounts, 300 on one.
func BenchmarkDebits(b *testing.B) {
	for _, accounts := range []int{1, 100} {
		b.Run(fmt.Sprintf("accounts=%d", accounts), func(b *testing.B) {
			benchOnEach(b, func(b *testing.B, s *Store) {
				var all []billing.Account
				for i := range accounts {
					a, _, _ := customer(b, s, fmt.Sprint("customer ", i))
					all = append(all, a)
				}
				var next atomic.Int64
				b.SetParallelism(64)
				b.ResetTimer()
				began := time.Now()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						account := all[int(next.Add(1))%accounts]
						h, err := s.Hold(b.Context(), order(account))
						if err == nil {
							err = s.Settle(b.Context(), h, delivered())
						}
						if err != nil {
							b.Error(err)
						}
					}
				})
				b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "debits/s")
				if got := number(b, s, "SELECT CAST(SUM(amount) AS BIGINT) FROM debits"); got != int64(b.N) {
					b.Errorf("%d debits for %d reads", got, b.N)
				}
			})
		})
	}
}

func BenchmarkTurn(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s *Store) {
		keys := []gate.Key{{Name: "site.example"}}
		for b.Loop() {
			turn, err := s.Take(b.Context(), keys, time.Now().Add(time.Minute))
			if err == nil {
				err = turn.End(b.Context(), time.Now())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s *Store) {
		_, _, secret := customer(b, s, "Anna")
		for b.Loop() {
			if _, err := s.Authenticate(b.Context(), secret.Reveal()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkQueue finds a million URLs, as many at a time as a large sitemap lists: the process must stay under
// 200 MB.
func BenchmarkQueue(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s *Store) {
		account, key, secret := customer(b, s, "Anna")
		for b.Loop() {
			var files []jobs.Found
			for n := range 20 {
				files = append(files, page(fmt.Sprintf("site%d.example", n), "/sitemap.xml"))
			}
			spec := newJob(account, key, secret, files...)
			spec.MaxQueued = jobs.NoLimit
			must[jobs.Job](b)(s.CreateJob(b.Context(), spec))
			for _, i := range claimAll(b, s, jobs.Pace{}) {
				f := jobs.Finish{Item: i, Fate: jobs.Ended, Counter: string(reader.Failed), Requests: 1}
				for n := range 50_000 {
					f.Found = append(f.Found, page(i.Host, fmt.Sprintf("/%d", n)))
				}
				noError(b, s.FinishItem(b.Context(), f))
			}
			if n := number(b, s, "SELECT COUNT(*) FROM frontier WHERE state = 0"); n != 1_000_000 {
				b.Errorf("%d URLs wait, want a million", n)
			}
			var u syscall.Rusage
			noError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
			b.ReportMetric(float64(u.Maxrss)/1024, "MB-peak")
		}
	})
}
