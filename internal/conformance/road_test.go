package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// BenchmarkRoad reads small pages of many hosts in batches, by the whole road: claim, gate, request, seal,
// ledger. WEBREADER_BENCH_HOSTS says how many hosts. On a machine that others use, look at the
// processor's time for a page and not at the clock.
func BenchmarkRoad(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { road(b, "sqlite:"+filepath.Join(b.TempDir(), "road.db")) })
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); server != "" {
		b.Run("postgres", func(b *testing.B) { road(b, newPostgres(b, server)) })
	}
}

func road(b *testing.B, database string) {
	hosts := 400
	if n, err := strconv.Atoi(os.Getenv("WEBREADER_BENCH_HOSTS")); err == nil {
		hosts = n
	}
	web := origintest.New(b)
	web.Handle("*", "/robots.txt", http.NotFoundHandler())
	page := strings.Replace(origintest.Article("A"), "</article>", strings.Repeat("<p>A sentence that has some words, so that this is a page of two kilobytes.</p>", 20)+"</article>", 1)
	web.Handle("*", "/", origintest.Body("text/html", page))
	desk, principal, runner := roadEngine(b, web, database)
	pages := 10 * hosts
	for b.Loop() {
		var made []jobs.Job
		for from := 0; from < pages; from += 100 {
			var urls []string
			for i := from; i < min(from+100, pages); i++ {
				urls = append(urls, fmt.Sprintf("http://h%d.test/p%d", i%hosts, i))
			}
			j, err := desk.Batch(b.Context(), jobs.BatchOrder{Order: jobs.Order{Principal: principal, ID: billing.NewID("job"), Request: "req_1"}, URLs: urls})
			if err != nil {
				b.Fatal(err)
			}
			made = append(made, j)
		}
		began, used := time.Now(), processorTime(b)
		delivered := roadRun(b, runner, desk, made)
		if delivered != int64(pages) {
			b.Errorf("%d of %d pages were delivered", delivered, pages)
		}
		b.ReportMetric(float64(pages)/time.Since(began).Seconds(), "pages/s")
		b.ReportMetric(float64((processorTime(b)-used).Microseconds())/1000/float64(pages), "cpu-ms/page")
	}
}

// roadEngine is a customer's desk and the runner behind it, for a bot without a gap.
func roadEngine(b *testing.B, web *origintest.Web, database string) (*jobs.Desk, billing.Principal, *jobs.Runner) {
	b.Helper()
	ok := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	all, err := policy.Load(profiles.Files)
	ok(err)
	file := filepath.Join(b.TempDir(), "quick.yaml")
	ok(os.WriteFile(file, []byte(quick), 0o600))
	p, err := all.LoadFile(file)
	ok(err)
	settings, err := netguard.FromEnv(web.Getenv)
	ok(err)
	s, err := store.Open(b.Context(), database, store.Options{})
	ok(err)
	b.Cleanup(func() { _ = s.Close() })
	dialer, err := netguard.New(settings)
	ok(err)
	g, err := gate.New(gate.Config{Clock: machineClock{}, Dialer: dialer, Turns: s, Robots: s, OptOuts: s, Standings: s, Log: s})
	ok(err)
	runner, err := jobs.NewRunner(jobs.Config{
		Store: s, Ledger: s, Reader: reader.New(g, reader.Config{}), Profile: p, Clock: machineClock{}, Log: slog.New(slog.DiscardHandler),
	})
	ok(err)
	account, err := s.CreateAccount(b.Context(), "customer", "")
	ok(err)
	_, secret, err := s.CreateKey(b.Context(), account.ID, "first", time.Time{})
	ok(err)
	principal, err := s.Authenticate(b.Context(), secret.Reveal())
	ok(err)
	return jobs.NewDesk(s, p), principal, runner
}

// roadRun runs a runner until the jobs are over, and answers how many pages were delivered.
func roadRun(b *testing.B, runner *jobs.Runner, desk *jobs.Desk, made []jobs.Job) (delivered int64) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx, ctx) })
	for _, j := range made {
		for !j.Over() {
			<-time.After(20 * time.Millisecond)
			var err error
			if j, err = desk.Job(b.Context(), j.Account, j.ID); err != nil {
				b.Fatal(err)
			}
		}
		delivered += j.Counts.Delivered
	}
	stop()
	running.Wait()
	return delivered
}

type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// processorTime is what this process has used of the processor, the web's part included.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
