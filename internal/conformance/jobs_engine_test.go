package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // databases are made and dropped by it
	"go.uber.org/goleak"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// onDatabases runs a test on SQLite, and on PostgreSQL where a server is given.
func onDatabases(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "test.db")) })
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); server != "" {
		t.Run("postgres", func(t *testing.T) { test(t, newPostgres(t, server)) })
	}
}

func newPostgres(t testing.TB, server string) string {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower("wr_promise_" + billing.NewID("t"))
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// replicas are real engines over one database, with one clock that the test moves.
type replicas struct {
	*origintest.Web
	t         *testing.T
	clock     *origintest.Clock
	store     *store.Store
	desk      *jobs.Desk
	principal billing.Principal
	secret    billing.Secret
}

func newReplicas(t *testing.T, profile, database string, n int) *replicas {
	t.Helper()
	r := &replicas{Web: origintest.New(t), t: t, clock: origintest.NewClock(time.Time{})}
	r.Now = r.clock.Now
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := all.Get(profile)
	settings, err := netguard.FromEnv(r.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	for range n {
		s, runner := r.replica(p, settings, database)
		r.store = s
		running.Go(func() { runner.Run(ctx, ctx) })
	}
	r.desk = jobs.NewDesk(r.store, p)
	account, err := r.store.CreateAccount(ctx, "customer", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, r.secret, err = r.store.CreateKey(ctx, account.ID, "first", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if r.principal, err = r.store.Authenticate(ctx, r.secret.Reveal()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *replicas) replica(p *policy.Profile, settings netguard.Config, database string) (*store.Store, *jobs.Runner) {
	r.t.Helper()
	s, err := store.Open(r.t.Context(), database, store.Options{Clock: r.clock})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	dialer, err := netguard.New(settings)
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Clock: r.clock, Dialer: dialer, Turns: s, Robots: s, OptOuts: s, Standings: s, Log: s})
	if err != nil {
		r.t.Fatal(err)
	}
	runner, err := jobs.NewRunner(jobs.Config{
		Store: s, Ledger: s, Reader: reader.New(g, reader.Config{}), Profile: p, Clock: r.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return s, runner
}

func (r *replicas) batch(urls ...string) jobs.Job {
	r.t.Helper()
	j, err := r.desk.Batch(r.t.Context(), jobs.BatchOrder{Order: jobs.Order{Principal: r.principal, ID: billing.NewID("job"), Request: "req_1"}, URLs: urls})
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// crawl begins a crawl, of as many pages as a crawl has by default or of most.
func (r *replicas) crawl(url string, most ...int64) jobs.Job {
	r.t.Helper()
	var pages *int64
	for _, n := range most {
		pages = &n
	}
	j, err := r.desk.Crawl(r.t.Context(), jobs.CrawlOrder{Order: jobs.Order{Principal: r.principal, ID: billing.NewID("job"), Request: "req_1"}, URL: url, MaxPages: pages,
		Rules: jobs.Rules{Sitemap: jobs.SitemapInclude, MaxDepth: -1}})
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// finish moves the clock until all jobs are over, and answers them.
func (r *replicas) finish(made ...jobs.Job) []jobs.Job {
	r.t.Helper()
	done := make(chan struct{})
	var over atomic.Bool
	go func() {
		defer close(done)
		for i := range made {
			for !made[i].Over() && !over.Load() {
				<-time.After(5 * time.Millisecond) // in real time: the clock stands while nobody is looked at
				if j, err := r.desk.Job(context.Background(), made[i].Account, made[i].ID); err == nil {
					made[i] = j
				}
			}
		}
	}()
	defer over.Store(true)
	r.clock.Run(r.t, r.Web, 25*time.Millisecond, done)
	return made
}

// gaps are the pauses between the requests that came for hosts.
func (r *replicas) gaps(belongs func(host string) bool) []time.Duration {
	var gaps []time.Duration
	var last time.Time
	for _, request := range r.Requests() {
		if !belongs(request.Host) {
			continue
		}
		if !last.IsZero() {
			gaps = append(gaps, request.At.Sub(last))
		}
		last = request.At
	}
	return gaps
}

func (r *replicas) delivered(j jobs.Job, want int64) {
	r.t.Helper()
	if j.Status != jobs.Completed || j.Counts.Delivered != want || j.Units != want {
		r.t.Errorf("job ended as %+v, want %d delivered", j, want)
	}
}

// S04. Two batches and a crawl by two replicas, robots.txt and sitemaps counted in.
func twoSecondsBetween(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "subsidieupdate", database, 2)
		r.Handle("town.test", "/", origintest.Body("text/html", origintest.Article("A")))
		r.Robots("town.test", "Sitemap: http://town.test/sitemap.xml\n")
		r.Handle("town.test", "/sitemap.xml", origintest.Body("application/xml", "<urlset><url><loc>http://town.test/s1</loc></url><url><loc>http://town.test/s2</loc></url></urlset>"))
		ended := r.finish(r.batch("http://town.test/a", "http://town.test/b"), r.batch("http://town.test/c", "http://town.test/d"), r.crawl("http://town.test/"))
		r.delivered(ended[0], 2)
		r.delivered(ended[1], 2)
		r.delivered(ended[2], 3)
		if n := len(r.To("town.test")); n != 9 {
			t.Errorf("the town saw %d requests, want 9: %q", n, r.Log("town.test"))
		}
		for _, gap := range r.gaps(func(string) bool { return true }) {
			if gap < 2*time.Second {
				t.Errorf("gap of %v", gap)
			}
		}
	})
}

// B04. Sub-domains share the pace; over all domains and replicas one request is under way.
func oneAtATime(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "subvenio", database, 2)
		r.HandleFunc("*", "/", func(w http.ResponseWriter, request *http.Request) {
			<-time.After(50 * time.Millisecond) // in real time, in which a second request would come if it may
			origintest.Body("text/html", origintest.Article("A")).ServeHTTP(w, request)
		})
		ended := r.finish(r.batch("http://a.one.test/1", "http://b.one.test/1", "http://two.test/1", "http://www.two.test/2"), r.batch("http://a.one.test/2"))
		r.delivered(ended[0], 4)
		r.delivered(ended[1], 1)
		if n := r.MostInFlight(); n != 1 {
			t.Errorf("%d requests were under way at once", n)
		}
		for _, domain := range []string{"one.test", "two.test"} {
			gaps := r.gaps(func(host string) bool { return host == domain || strings.HasSuffix(host, "."+domain) })
			if len(gaps) < 3 {
				t.Errorf("%s: only %d gaps", domain, len(gaps))
			}
			for _, gap := range gaps {
				if gap < 5*time.Second {
					t.Errorf("%s: gap of %v", domain, gap)
				}
			}
		}
	})
}

// W16, for jobs under way: a batch that has many pages to go, and a crawl that waits for the delay its site
// asks for, stand still on both replicas within five seconds.
func suspensionStopsJobs(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "webreaderapi", database, 2)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		var suspended atomic.Int64
		r.HandleFunc("slow.test", "/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
			if err := r.store.Suspend(context.WithoutCancel(t.Context()), r.principal.Account, "against the rules of use"); err != nil {
				t.Error(err)
			}
			suspended.Store(r.clock.Now().UnixNano())
			_, _ = io.WriteString(w, "User-agent: *\nCrawl-delay: 10\n")
		})
		var urls []string
		for i := range 40 {
			urls = append(urls, "http://busy.test/"+strconv.Itoa(i))
		}
		ended := r.finish(r.batch(urls...), r.crawl("http://slow.test/"))
		for _, j := range ended {
			if j.Status != jobs.Failed || j.Reason != jobs.ReasonSuspended {
				t.Errorf("the job ended as %+v", j)
			}
		}
		last := time.Unix(0, suspended.Load()).Add(5 * time.Second)
		for _, request := range r.Requests() {
			if request.At.After(last) {
				t.Errorf("%s came %v after the suspension", request.URL(), request.At.Sub(last)+5*time.Second)
			}
		}
		if n := r.Count("slow.test", "/robots.txt"); n != 1 {
			t.Errorf("robots.txt was asked for %d times: the crawl was not under way", n)
		}
	})
}

// N03, for who has the disk and asks no server: what is stored opens with the key that made the job, and
// with none that was made for its account or another one.
func envelopesOpenWithOneKey(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const canary = "Diskcanary2207"
		r := newReplicas(t, "webreaderapi", database, 1)
		r.Page("a.test", "/1", canaryPage(canary))
		j := r.finish(r.batch("http://a.test/1"))[0]
		stored, err := r.store.Results(t.Context(), j.ID, 0, 10, 1<<20)
		if err != nil || len(stored) != 1 {
			t.Fatalf("%d envelopes are stored, %v", len(stored), err)
		}
		opens := func(secret billing.Secret) bool {
			identity, err := secret.Identity()
			if err != nil {
				t.Fatal(err)
			}
			plain, err := identity.Open(seal.Context{Account: j.Account, Job: j.ID, Item: stored[0].Item}, stored[0].Envelope)
			return err == nil && strings.Contains(string(plain), canary)
		}
		if !opens(r.secret) {
			t.Error("the key that made the job does not open its result")
		}
		other, err := r.store.CreateAccount(t.Context(), "other", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, account := range []string{j.Account, other.ID} {
			_, secret, err := r.store.CreateKey(t.Context(), account, "second", time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if opens(secret) {
				t.Errorf("a key of %s opens it too", account)
			}
		}
	})
}

// B06. Each failure waits longer than the one before, and nothing comes before Retry-After has passed.
func backsOff(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "subvenio", database, 1)
		r.Handle("broken.test", "/", origintest.Status(http.StatusBadGateway))
		for host, after := range map[string]string{
			"seconds.test": "20", "date.test": r.clock.Now().Add(time.Minute).UTC().Format(http.TimeFormat),
		} {
			r.Handle(host, "/1", origintest.Status(http.StatusTooManyRequests, "Retry-After", after))
			r.Handle(host, "/2", origintest.Body("text/html", origintest.Article("A")))
		}
		ended := r.finish(r.batch("http://broken.test/1"), r.batch("http://seconds.test/1", "http://seconds.test/2"), r.batch("http://date.test/1", "http://date.test/2"))
		if j := ended[0]; j.Status != jobs.Completed || j.Counts.Failed != 1 || j.Units != 0 {
			t.Errorf("the broken site's job ended as %+v", j)
		}
		seen := r.To("broken.test")
		if len(seen) != 4 { // robots.txt, which answers 404 here, and three tries
			t.Fatalf("the broken site saw %q", r.Log("broken.test"))
		}
		for i, least := range []time.Duration{5 * time.Second, 10 * time.Second} {
			if gap := seen[i+2].At.Sub(seen[i+1].At); gap < least {
				t.Errorf("after failure %d the wait was %v, want at least %v", i+1, gap, least)
			}
		}
		for host, least := range map[string]time.Duration{"seconds.test": 20 * time.Second, "date.test": 0} {
			seen := r.To(host)
			if len(seen) != 3 || r.Count(host, "/1") != 1 {
				t.Fatalf("%s saw %q", host, r.Log(host))
			}
			if host == "date.test" {
				least = time.Minute - seen[1].At.Sub(time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)) - time.Second
			}
			if gap := seen[2].At.Sub(seen[1].At); gap < least {
				t.Errorf("%s: asked again after %v, want %v", host, gap, least)
			}
		}
	})
}

// W08 and S08 in a crawl: the gap that robots.txt asks for, up to the profile's cap.
func crawlDelayInCrawls(t *testing.T) {
	for name, c := range map[string]struct {
		profile string
		delay   int
		want    time.Duration
		most    time.Duration // shows that a cap is kept; a slow machine makes any gap longer
	}{
		"as asked": {"webreaderapi", 10, 10 * time.Second, 0}, "far": {"webreaderapi", 45, 45 * time.Second, 0},
		"capped": {"subsidieupdate", 120, 30 * time.Second, 2 * time.Minute}, "short": {"subsidieupdate", 1, 2 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onDatabases(t, func(t *testing.T, database string) {
				r := newReplicas(t, c.profile, database, 1)
				r.Robots("a.test", "User-agent: *\nCrawl-delay: "+strconv.Itoa(c.delay)+"\n")
				r.Handle("a.test", "/sitemap.xml", origintest.Status(http.StatusNotFound))
				r.Page("a.test", "/", origintest.Article("A")+`<a href="/b">b</a> <a href="/c">c</a>`)
				r.Page("a.test", "/b", origintest.Article("B"))
				r.Page("a.test", "/c", origintest.Article("C"))
				r.delivered(r.finish(r.crawl("http://a.test/"))[0], 3)
				for i, gap := range r.gaps(func(string) bool { return true }) {
					if i > 0 && (gap < c.want || c.most > 0 && gap >= c.most) {
						t.Errorf("gap of %v, want %v: %q", gap, c.want, r.Log("a.test"))
					}
				}
			})
		})
	}
}

// A runner that was cut off, and one that came to the jobs' end, leave no goroutine behind; nor does the
// store.
func TestJobsLeaveNothingRunning(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		before := goleak.IgnoreCurrent()
		t.Run("jobs", func(t *testing.T) { cutOffAndEnd(t, database) })
		// A connection whose query was broken off is closed by pgx on its own, within 15 seconds.
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn.(*PgConn).asyncClose.func1"))
	})
}

func cutOffAndEnd(t *testing.T, database string) {
	web := origintest.New(t)
	ctx, cut := context.WithCancel(t.Context())
	var asked atomic.Int64
	web.Handle("*", "/robots.txt", http.NotFoundHandler())
	web.Handle("*", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 10 {
			cut()
		}
		origintest.Body("text/html", origintest.Article("A")).ServeHTTP(w, r)
	}))
	desk, customer, runner := roadEngine(t, web, database, quick)
	principal := customer()
	var urls []string
	for i := range 60 {
		urls = append(urls, fmt.Sprintf("http://h%d.test/%d", i%20, i))
	}
	order := jobs.Order{Principal: principal, ID: billing.NewID("job"), Request: "req_1"}
	j, err := desk.Batch(t.Context(), jobs.BatchOrder{Order: order, URLs: urls})
	if err != nil {
		t.Fatal(err)
	}
	runner.Run(ctx, ctx)
	if j, err = desk.Job(t.Context(), j.Account, j.ID); err != nil || j.Over() {
		t.Fatalf("cut off: %+v, %v", j, err)
	}
	if delivered := roadRun(t, runner, desk, []jobs.Job{j}); delivered != 60 {
		t.Errorf("%d of 60 pages were delivered", delivered)
	}
}
