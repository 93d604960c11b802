package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	desk, customer, runner := roadEngine(b, web, database, quick)
	principal := customer()
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
		b.ReportMetric(peakMemory(b), "MB-peak")
	}
}

// BenchmarkPolite crawls 342 sites of ten requests each, robots.txt and sitemap included, with a gap of two
// seconds, and compares the time with the least that the gaps leave: at most 1.05 of it. The rest says how
// late a request came after its gap, and by how much one came too soon.
func BenchmarkPolite(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { polite(b, "sqlite:"+filepath.Join(b.TempDir(), "polite.db")) })
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); server != "" {
		b.Run("postgres", func(b *testing.B) { polite(b, newPostgres(b, server)) })
	}
}

func polite(b *testing.B, database string) {
	const hosts, requests, gap, fetch = 342, 10, 2 * time.Second, 20 * time.Millisecond
	web := origintest.New(b)
	came := arrivals{at: map[string][]time.Time{}}
	answer := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			came.add(r.Host)
			<-time.After(fetch)
			h.ServeHTTP(w, r)
		})
	}
	links := "<urlset>"
	for i := range requests - 3 {
		links += fmt.Sprintf("<url><loc>/p%d</loc></url>", i)
	}
	web.Handle("*", "/robots.txt", answer(origintest.Body("text/plain", "Sitemap: /sitemap.xml\n")))
	web.Handle("*", "/sitemap.xml", answer(origintest.Body("application/xml", links+"</urlset>")))
	web.Handle("*", "/", answer(origintest.Body("text/html", origintest.Article("A"))))
	desk, customer, runner := roadEngine(b, web, database, strings.Replace(quick, "min_gap: 0s", "min_gap: 2s, own_hops: counted", 1))
	for b.Loop() {
		var made []jobs.Job
		var principal billing.Principal
		for i := range hosts {
			if i%50 == 0 { // as many jobs as a plan lets run
				principal = customer()
			}
			j, err := desk.Crawl(b.Context(), jobs.CrawlOrder{Order: jobs.Order{Principal: principal, ID: billing.NewID("job"), Request: "req_1"},
				URL: fmt.Sprintf("http://h%d.test/", i), Rules: jobs.Rules{MaxDepth: -1}})
			if err != nil {
				b.Fatal(err)
			}
			made = append(made, j)
		}
		began := time.Now()
		delivered := roadRun(b, runner, desk, made)
		took := time.Since(began)
		if delivered != hosts*(requests-2) {
			b.Errorf("%d of %d pages were delivered", delivered, hosts*(requests-2))
		}
		b.ReportMetric(took.Seconds()/((requests-1)*gap+fetch).Seconds(), "of-the-least-time")
		late, soonest := came.late(b, requests, gap)
		b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-late/median")
		b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms-late/p99")
		b.ReportMetric(float64(soonest.Microseconds())/1000, "ms-soonest")
	}
}

// arrivals are when requests came, by host.
type arrivals struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (a *arrivals) add(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[host] = append(a.at[host], time.Now())
}

// late is by how much requests came later than a gap after the one before, in order, and the least of it.
func (a *arrivals) late(b *testing.B, requests int, gap time.Duration) (all []time.Duration, soonest time.Duration) {
	b.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for host, at := range a.at {
		if len(at) != requests {
			b.Errorf("%s was asked %d times, want %d", host, len(at), requests)
		}
		for i := 1; i < len(at); i++ {
			all = append(all, at[i].Sub(at[i-1])-gap)
		}
	}
	slices.Sort(all)
	return all, all[0]
}

// roadEngine is a customer's desk and the runner behind it, for one bot.
func roadEngine(b testing.TB, web *origintest.Web, database, bot string) (desk *jobs.Desk, customer func() billing.Principal, runner *jobs.Runner) {
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
	ok(os.WriteFile(file, []byte(bot), 0o600))
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
	runner, err = jobs.NewRunner(jobs.Config{
		Store: s, Ledger: s, Reader: reader.New(g, reader.Config{}), Profile: p, Clock: machineClock{}, Log: slog.New(slog.DiscardHandler),
	})
	ok(err)
	customer = func() billing.Principal {
		account, err := s.CreateAccount(b.Context(), billing.NewID("customer"), "")
		ok(err)
		_, secret, err := s.CreateKey(b.Context(), account.ID, "first", time.Time{})
		ok(err)
		principal, err := s.Authenticate(b.Context(), secret.Reveal())
		ok(err)
		return principal
	}
	return jobs.NewDesk(s, p), customer, runner
}

// roadRun runs a runner until the jobs are over, and answers how many pages were delivered.
func roadRun(b testing.TB, runner *jobs.Runner, desk *jobs.Desk, made []jobs.Job) (delivered int64) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx, ctx) })
	for _, j := range made {
		for {
			var err error
			if j, err = desk.Job(b.Context(), j.Account, j.ID); err != nil {
				b.Fatal(err)
			}
			if j.Over() {
				break
			}
			<-time.After(20 * time.Millisecond)
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

// peakMemory is the most memory that this process has held so far, the web's part included, in megabytes.
func peakMemory(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Maxrss) / 1024
}
