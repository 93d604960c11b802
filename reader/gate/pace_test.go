package gate_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// gaps are the pauses between the requests that the origin saw, all hosts together.
func gaps(w *origintest.Web) []time.Duration {
	var ds []time.Duration
	all := w.Requests()
	for i := 1; i < len(all); i++ {
		ds = append(ds, all[i].At.Sub(all[i-1].At))
	}
	return ds
}

// together runs all asks at once while the clock runs.
func (w *world) together(t *testing.T, asks []gate.Ask, each func(int, error)) {
	t.Helper()
	var wg sync.WaitGroup
	for i, a := range asks {
		wg.Go(func() { _, _, err := w.Get(t.Context(), a); each(i, err) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	w.clock.Run(t, w.web, 0, done)
}

func noError(t *testing.T) func(int, error) {
	return func(i int, err error) {
		if err != nil {
			t.Errorf("read %d: %v", i, err)
		}
	}
}

func (w *world) asks(t *testing.T, n int, format string) []gate.Ask {
	var asks []gate.Ask
	for i := range n {
		asks = append(asks, w.ask(t, fmt.Sprintf(format, i)))
	}
	return asks
}

func TestReadsOfOneHostKeepTheGapAndOneInFlight(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("x")))
	w.together(t, w.asks(t, 8, "http://a.test/%d"), noError(t))
	if w.web.MostInFlight() != 1 || len(w.web.Requests()) != 9 {
		t.Errorf("%d in flight, %v", w.web.MostInFlight(), w.web.URLs())
	}
	// The robots.txt request and one page belong to one read; all others are half a second apart.
	for i, gap := range gaps(w.web) {
		if i > 0 && gap < 500*time.Millisecond {
			t.Errorf("gap %d is %v", i, gap)
		}
	}
}

func TestOwnHopsGoFreeOrAreCountedAsTheProfileSays(t *testing.T) {
	for name, want := range map[string]time.Duration{"webreaderapi": 0, "subsidieupdate": 2 * time.Second, "subvenio": 5 * time.Second} {
		w := newWorld(t, name)
		w.web.Redirect("a.test", "/x", 302, "/y")
		w.web.Redirect("a.test", "/y", 302, "/z")
		w.web.Page("a.test", "/z", origintest.Article("x"))
		if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
			t.Fatal(err)
		}
		if got := gaps(w.web); !slices.Equal(got, []time.Duration{want, want, want}) {
			t.Errorf("%s: gaps %v, want %v each", name, got, want)
		}
	}
}

// A request may be under way to the site for as long as its answer is not there: the gap begins with its
// arrival, as far as that is known.
func TestTheGapBeginsWhenTheSiteHadTheRequest(t *testing.T) {
	for delay, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 15 * time.Millisecond: 2015 * time.Millisecond, 300 * time.Millisecond: 2040 * time.Millisecond} {
		w := newWorld(t, "subsidieupdate")
		w.web.Handle("a.test", "/robots.txt", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			w.clock.Advance(delay)
			rw.Header().Set("Content-Type", "text/plain")
		}))
		w.web.Page("a.test", "/x", origintest.Article("x"))
		if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
			t.Fatal(err)
		}
		if got := gaps(w.web); !slices.Equal(got, []time.Duration{want}) {
			t.Errorf("an answer after %v: gaps %v, want %v", delay, got, want)
		}
	}
}

func TestARedirectOfOneReadDoesNotShortenTheGapOfAnother(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Redirect("a.test", "/0", 302, "/end")
	w.web.Redirect("a.test", "/1", 302, "/end")
	w.web.Page("a.test", "/end", origintest.Article("x"))
	w.together(t, w.asks(t, 2, "http://a.test/%d"), noError(t))
	all := w.web.Requests()
	var firsts []time.Time
	for _, r := range all {
		if r.Path == "/0" || r.Path == "/1" {
			firsts = append(firsts, r.At)
		}
	}
	if len(all) != 5 || firsts[1].Sub(firsts[0]) < 500*time.Millisecond {
		t.Errorf("%v at %v", w.web.URLs(), firsts)
	}
}

// A redirect leads to a host that somebody else has just visited: its gap is owed to it all the same.
// Who says how long turns are waited for is asked for nothing after that, though robots.txt took the time and the
// page's turn is free.
func TestNothingIsAskedForAfterThePatience(t *testing.T) {
	for late, want := range map[time.Duration][]string{9 * time.Second: {"http://a.test/robots.txt", "http://a.test/x"}, 11 * time.Second: {"http://a.test/robots.txt"}} {
		w := newWorld(t, "webreaderapi")
		w.web.Handle("a.test", "/robots.txt", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			w.clock.Advance(late)
			rw.Header().Set("Content-Type", "text/plain")
		}))
		w.web.Page("a.test", "/x", origintest.Article("x"))
		a := w.ask(t, "http://a.test/x")
		a.Patience = 10 * time.Second
		_, _, err := w.get(t, a)
		if got := w.web.URLs(); !slices.Equal(got, want) || (err != nil) != (len(want) == 1) || err != nil && fault.Of(err) != fault.HostBusy {
			t.Errorf("robots.txt after %v: %v, the site saw %v, want %v", late, err, got, want)
		}
	}
}

// earlyTurn is a turn that came before its time.
type earlyTurn struct {
	gate.Turn
	from time.Time
}

func (t earlyTurn) From() time.Time { return t.from }

func TestATurnThatCameEarlyIsWaitedFor(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Page("a.test", "/x", origintest.Article("x"))
	turn, err := gate.NewMemoryTurns(w.clock, time.Minute).Take(t.Context(), []gate.Key{{Name: "a.test"}}, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, from := w.ask(t, "http://a.test/x"), w.clock.Now().Add(50*time.Millisecond)
	a.Turn = earlyTurn{turn, from}
	if _, _, err := w.get(t, a); err != nil {
		t.Fatal(err)
	}
	if first := w.web.Requests()[0]; !first.At.Equal(from) {
		t.Errorf("the site had a request %v before the turn began", from.Sub(first.At))
	}
}

func TestARedirectKeepsTheGapOfTheHostItLeadsTo(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Redirect("a.test", "/x", 302, "http://b.test/end")
	w.web.Page("b.test", "/end", origintest.Article("x"))
	for _, address := range []string{"http://b.test/end", "http://a.test/x"} {
		if _, _, err := w.get(t, w.ask(t, address)); err != nil {
			t.Fatal(err)
		}
	}
	var pages []time.Time
	for _, r := range w.web.To("b.test") {
		if r.Path == "/end" {
			pages = append(pages, r.At)
		}
	}
	if len(pages) != 2 || pages[1].Sub(pages[0]) < 500*time.Millisecond {
		t.Errorf("%v at %v", w.web.URLs(), pages)
	}
}

func TestB04OneRequestInFlightOverAllAndAGapPerDomain(t *testing.T) {
	w := newWorld(t, "subvenio")
	w.web.Handle("*", "/", origintest.Body("text/html", origintest.Article("x")))
	asks := append(w.asks(t, 2, "http://h%d.one.test/x"), w.asks(t, 2, "http://h%d.two.test/x")...)
	w.together(t, asks, noError(t))
	if w.web.MostInFlight() != 1 || len(w.web.Requests()) != 8 {
		t.Errorf("%d in flight, %v", w.web.MostInFlight(), w.web.URLs())
	}
	last := map[string]time.Time{}
	for _, r := range w.web.Requests() {
		domain := r.Host[len("h0."):]
		if before, ok := last[domain]; ok && r.At.Sub(before) < 5*time.Second {
			t.Errorf("%s after %v", r.URL(), r.At.Sub(before))
		}
		last[domain] = r.At
	}
}

func TestCrawlDelayHoldsForCrawlsAndAllTheirRequests(t *testing.T) {
	for kind, want := range map[policy.CauseKind]time.Duration{policy.CauseRead: 0, policy.CauseBatch: 0, policy.CauseCrawl: 10 * time.Second, policy.CauseWatch: 10 * time.Second} {
		w := newWorld(t, "webreaderapi")
		w.web.Robots("a.test", "User-agent: *\nCrawl-delay: 10\nAllow: /\n")
		w.web.Redirect("a.test", "/x", 302, "/y")
		w.web.Page("a.test", "/y", origintest.Article("x"))
		a := w.ask(t, "http://a.test/x")
		a.Cause.Kind = kind
		if _, _, err := w.get(t, a); err != nil {
			t.Fatal(err)
		}
		if got := gaps(w.web); !slices.Equal(got, []time.Duration{want, want}) {
			t.Errorf("%s: gaps %v, want %v each", kind, got, want)
		}
	}
}

func TestAnOptOutsDelayIsKept(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.people.optOut("a.test", policy.OptOut{Delay: 20 * time.Second})
	w.web.Page("a.test", "/x", origintest.Article("x"))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
		t.Fatal(err)
	}
	if got := gaps(w.web); got[0] != 20*time.Second {
		t.Errorf("gaps %v", got)
	}
}

func TestAWaitBeyondTheReadsEndIsRefusedAtOnce(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("x")))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/1")); err != nil {
		t.Fatal(err)
	}
	a := w.ask(t, "http://a.test/2")
	a.Until = w.clock.Now().Add(200 * time.Millisecond)
	before := w.clock.Now()
	_, _, err := w.Get(t.Context(), a) // the clock stands still: whoever waits, hangs
	wantFault(t, err, fault.HostBusy, "", 0)
	if e := fault.As(err); e.RetryAfter <= 0 || !e.Retryable() || !w.clock.Now().Equal(before) || w.web.Count("a.test", "/2") != 0 {
		t.Errorf("%+v", e)
	}
}

func TestRetryAfterPausesTheHostForEveryone(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		want   time.Duration
	}{
		"seconds": {"120", 120 * time.Second}, "date": {"Thu, 15 Jan 2026 12:02:00 GMT", 120 * time.Second}, "past": {"Thu, 15 Jan 2015 12:02:00 GMT", 0},
		"negative": {"-5", 0}, "junk": {"soon", 0}, "fraction": {"1.5", 0}, "zero": {"0", 0},
	} {
		for _, status := range []int{429, 503} {
			w := newWorld(t, "webreaderapi")
			w.web.Handle("a.test", "/x", origintest.Status(status, "Retry-After", c.header))
			w.web.Page("a.test", "/y", origintest.Article("y"))
			_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
			if e := fault.As(err); e.RetryAfter != c.want || e.TargetStatus != status {
				t.Errorf("%s %d: %v, retry after %v", name, status, err, e.RetryAfter)
			}
			other := w.ask(t, "http://a.test/y")
			other.Until = w.clock.Now().Add(30 * time.Second)
			_, _, err = w.get(t, other)
			if c.want > 0 {
				wantFault(t, err, fault.HostBusy, "", 0)
				if wait := fault.As(err).RetryAfter; wait != c.want {
					t.Errorf("%s: %v are left, want %v", name, wait, c.want)
				}
				other.Until = w.clock.Now().Add(time.Hour)
				paused := w.clock.Now()
				if _, _, err = w.get(t, other); err != nil || w.clock.Now().Sub(paused) < c.want {
					t.Errorf("%s: read after %v, %v", name, w.clock.Now().Sub(paused), err)
				}
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := w.web.Count("a.test", "/x"); n != 1 {
				t.Errorf("%s: %d requests after a refusal", name, n)
			}
		}
	}
}

func TestFactsThatChangeWhileWaitingAreHeeded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		kind   fault.Kind
		reason string
	}{
		"opt-out":    {func(w *world) { w.people.optOut("a.test", policy.OptOut{Stop: true}) }, fault.BlockedBySitePolicy, "site_opt_out"},
		"suspension": {func(w *world) { w.people.set(policy.StandingSuspended) }, fault.AccountSuspended, ""},
	} {
		w := newWorld(t, "webreaderapi")
		w.web.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("x")))
		if _, _, err := w.get(t, w.ask(t, "http://a.test/1")); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		old := w.clock.Timers()
		go func() { _, _, err := w.Get(t.Context(), w.ask(t, "http://a.test/2")); got <- err }()
		w.clock.AwaitTimers(t, old+1) // it waits for its turn
		c.change(w)
		w.clock.Advance(time.Second)
		wantFault(t, <-got, c.kind, c.reason, 0)
		if w.web.Count("a.test", "/2") != 0 {
			t.Errorf("%s: the page was requested", name)
		}
	}
}

// turns counts what is taken and not given back.
type turns struct {
	gate.Turns
	mu    sync.Mutex
	taken int
	ended int
	onGet func()
}

func (s *turns) Take(ctx context.Context, keys []gate.Key, until time.Time) (gate.Turn, error) {
	inner, err := s.Turns.Take(ctx, keys, until)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
	if s.onGet != nil {
		s.onGet()
	}
	return &countedTurn{inner, s}, nil
}

type countedTurn struct {
	gate.Turn
	s *turns
}

func (c *countedTurn) End(ctx context.Context, written time.Time) error {
	c.s.mu.Lock()
	c.s.ended++
	c.s.mu.Unlock()
	return c.Turn.End(ctx, written)
}

func TestRobotsThatLapseWhileWaitingTakeTheTurnAndThePageQueuesAgain(t *testing.T) {
	w := newWorld(t, "subsidieupdate")
	counted := &turns{Turns: w.cfg.Turns}
	w.cfg.Turns = counted
	w.rebuild(t)
	w.web.Handle("a.test", "/", origintest.Body("text/html", origintest.Article("x")))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/1")); err != nil {
		t.Fatal(err)
	}
	once := false
	counted.onGet = func() { // the copy lapses between the two judgements
		if !once {
			once = true
			c, _, _ := w.robots.Robots(t.Context(), "http://a.test")
			c.ExpiresAt = w.clock.Now()
			_ = w.robots.PutRobots(t.Context(), c)
			w.web.Robots("a.test", "User-agent: *\nDisallow: /2\n")
		}
	}
	_, _, err := w.get(t, w.ask(t, "http://a.test/2"))
	wantFault(t, err, fault.BlockedBySitePolicy, "robots_disallow", 0)
	wantURLs(t, w.web.URLs(), "http://a.test/robots.txt", "http://a.test/1", "http://a.test/robots.txt")
	if counted.taken != 3 || counted.ended != 3 {
		t.Errorf("%d turns taken, %d ended", counted.taken, counted.ended)
	}
}

func TestACallersTurnIsSpentFirstAndAlwaysEnded(t *testing.T) {
	w := newWorld(t, "subsidieupdate")
	counted := &turns{Turns: w.cfg.Turns}
	w.cfg.Turns = counted
	w.rebuild(t)
	w.web.Robots("a.test", "User-agent: *\nDisallow: /closed\n")
	w.web.Page("a.test", "/x", origintest.Article("x"))
	for i, c := range []struct {
		url   string
		taken int // further turns
		sent  int
	}{
		{"http://a.test/x", 1, 2}, {"http://a.test/x", 0, 1}, {"http://a.test/closed", 0, 0}, {"http://10.0.0.1/", 0, 0}, {"http://a.test/x", 0, 1},
	} {
		mine, err := counted.Take(t.Context(), []gate.Key{{Name: target(t, c.url).Host(), Gap: 0}}, w.clock.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		counted.taken, counted.ended = 0, 0
		w.web.Reset()
		a := w.ask(t, c.url)
		a.Turn = mine
		_, _, _ = w.get(t, a)
		if counted.taken != c.taken || counted.ended != c.taken+1 || len(w.web.Requests()) != c.sent {
			t.Errorf("case %d: %d further turns, %d ended, %v", i, counted.taken, counted.ended, w.web.URLs())
		}
	}
	mine, _ := counted.Take(t.Context(), []gate.Key{{Name: "a.test"}}, w.clock.Now().Add(time.Hour))
	a := w.ask(t, "http://a.test/x")
	a.Turn, a.Country = mine, "nl"
	if _, _, err := w.Get(t.Context(), a); err == nil {
		t.Error("no error")
	}
	if _, err := counted.Take(t.Context(), []gate.Key{{Name: "a.test"}}, w.clock.Now().Add(time.Second)); err != nil {
		t.Errorf("the turn of a refused ask was not ended: %v", err)
	}
}

func TestMemoryTurnsServeInOrder(t *testing.T) {
	clock := origintest.NewClock(time.Time{})
	m := gate.NewMemoryTurns(clock, 0)
	key := []gate.Key{{Name: "a", Gap: time.Second}}
	first, err := m.Take(t.Context(), key, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			turn, err := m.Take(t.Context(), key, clock.Now().Add(time.Minute))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			_ = turn.End(t.Context(), clock.Now())
		})
		clock.AwaitTimers(t, i+1)
	}
	_ = first.End(t.Context(), clock.Now())
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	start := clock.Now()
	clock.Run(t, nil, 0, done)
	if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || clock.Now().Sub(start) < 5*time.Second {
		t.Errorf("order %v after %v", order, clock.Now().Sub(start))
	}
}

func TestATurnThatIsNeverEndedLapses(t *testing.T) {
	clock := origintest.NewClock(time.Time{})
	m := gate.NewMemoryTurns(clock, time.Minute)
	lost, _ := m.Take(t.Context(), []gate.Key{{Name: "a"}}, clock.Now())
	got := make(chan error, 1)
	go func() {
		_, err := m.Take(t.Context(), []gate.Key{{Name: "a"}}, clock.Now().Add(2*time.Minute))
		got <- err
	}()
	clock.AwaitTimers(t, 1)
	clock.Advance(time.Minute)
	if err := <-got; err != nil || !lost.Deadline().Equal(clock.Now()) {
		t.Errorf("%v", err)
	}
	_ = lost.End(t.Context(), clock.Now()) // too late to open the key for others
	if _, err := m.Take(t.Context(), []gate.Key{{Name: "a"}}, clock.Now()); fault.Of(err) != fault.HostBusy {
		t.Errorf("%v", err)
	}
}

func TestAPauseWakesThoseWhoCannotWaitForIt(t *testing.T) {
	clock := origintest.NewClock(time.Time{})
	m := gate.NewMemoryTurns(clock, 0)
	turn, _ := m.Take(t.Context(), []gate.Key{{Name: "a"}}, clock.Now())
	got := make(chan error, 1)
	go func() {
		_, err := m.Take(t.Context(), []gate.Key{{Name: "a"}}, clock.Now().Add(10*time.Second))
		got <- err
	}()
	clock.AwaitTimers(t, 1)
	_ = m.Pause(t.Context(), "a", clock.Now().Add(time.Minute))
	if err := <-got; fault.Of(err) != fault.HostBusy || fault.As(err).RetryAfter != time.Minute {
		t.Errorf("%v", err)
	}
	_ = turn.End(t.Context(), time.Time{})
}

func TestNothingIsSentASecondTimeAfterARefusal(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for _, status := range []int{403, 429, 500, 503, 404} {
		w.web.Handle("a.test", fmt.Sprintf("/%d", status), origintest.Status(status))
		_, _, err := w.get(t, w.ask(t, fmt.Sprintf("https://a.test/%d", status)))
		if err == nil || w.web.Count("a.test", fmt.Sprintf("/%d", status)) != 1 {
			t.Errorf("%d: %v", status, err)
		}
	}
	for _, r := range w.web.Requests() {
		if r.Method != http.MethodGet || r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Referer") != "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestATurnIsGivenBackBeforeWaitingForAnotherReadersRobots(t *testing.T) {
	w := newWorld(t, "subsidieupdate")
	w.web.Page("a.test", "/x", origintest.Article("x"))
	hold, err := w.cfg.Turns.Take(t.Context(), []gate.Key{{Name: "a.test"}}, w.clock.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	// One reader leads the request for robots.txt and waits for the turn that the other one holds.
	got := make(chan error, 2)
	get := func(a gate.Ask) {
		_, _, err := w.Get(t.Context(), a)
		got <- err
	}
	var both sync.WaitGroup
	both.Go(func() { get(w.ask(t, "http://a.test/x")) })
	w.clock.AwaitTimers(t, 1)
	both.Go(func() {
		a := w.ask(t, "http://a.test/x")
		a.Turn = hold
		get(a)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		both.Wait()
	}()
	before := w.clock.Now()
	w.clock.Run(t, w.web, 0, done)
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil || w.clock.Now().Sub(before) > time.Minute {
		t.Errorf("%v after %v", err, w.clock.Now().Sub(before))
	}
}

func TestATriedConnectionIsLogged(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	closed := target(t, "http://127.0.0.1:1/x")
	if _, err := w.Decide(t.Context(), w.ask(t, closed.String())); err != nil {
		t.Fatal(err)
	}
	if rows := w.log.all(); len(rows) != 1 || rows[0].Outcome != "connection" || rows[0].Status != 0 || rows[0].Stage != "control" {
		t.Errorf("%+v", rows)
	}
}
