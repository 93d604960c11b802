package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/rivermigrate"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/webhook"
)

// receiver is a customer's end of deliveries.
type receiver struct {
	mu     sync.Mutex
	sent   []string // ids, in the order they came
	now    map[string]int
	most   int // tries of one delivery at the same time
	answer func(ctx context.Context, n int) webhook.Result
}

var taken = webhook.Result{Status: 204}

func (r *receiver) Send(ctx context.Context, _, id string, _ []byte, _ ...string) webhook.Result {
	r.mu.Lock()
	if r.now == nil {
		r.now = map[string]int{}
	}
	r.sent = append(r.sent, id)
	n := len(r.sent)
	r.now[id]++
	r.most = max(r.most, r.now[id])
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now[id]--
	}()
	if r.answer != nil {
		return r.answer(ctx, n)
	}
	return taken
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// told queues an event of a customer and answers its id.
func told(t testing.TB, s *Store, account string) string {
	t.Helper()
	noError(t, s.tx(t.Context(), func(tx *sql.Tx) error {
		now := must[int64](t)(s.now(t.Context(), tx))
		return s.queueEvent(t.Context(), tx, now, account, "job_x", "https://hook.example/", webhook.JobCompleted, struct{}{})
	}))
	var id string
	noError(t, s.ro.QueryRow("SELECT id FROM deliveries ORDER BY created_at DESC, id DESC LIMIT 1").Scan(&id))
	return id
}

// working does the queues' work until the test ends, or until stop.
func working(t testing.TB, s *Store, w Workers) (stop func()) {
	t.Helper()
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.WorkQueues(ctx, w) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// soon waits until something is so.
func soon(t testing.TB, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); <-time.After(10 * time.Millisecond) {
		if time.Since(began) > 40*time.Second {
			t.Fatalf("not within 40 seconds: %s", what)
		}
	}
}

// onPairs runs a test on each kind of database, which two stores share.
func onPairs(t *testing.T, test func(t *testing.T, one, other *Store)) {
	t.Helper()
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := make(t)
			test(t, open(t, address, Options{}), open(t, address, Options{}))
		})
	}
}

const jobsThatWait = "SELECT COUNT(*) FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled')"

// What makes a job necessary and the job are written together, or neither is.
func TestAJobIsQueuedWithWhatMakesItNecessary(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		undone := errors.New("undone")
		event := billing.PaymentEvent{ID: "evt_1", Kind: billing.LookEvent}
		queue := func(end error) error {
			return s.tx(t.Context(), func(tx *sql.Tx) error {
				now := must[int64](t)(s.now(t.Context(), tx))
				return errors.Join(s.insertEvent(t.Context(), tx, event, now, now),
					s.queueEvent(t.Context(), tx, now, account.ID, "job_x", "https://hook.example/", webhook.JobCompleted, struct{}{}), end)
			})
		}
		if err := queue(undone); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if n := number(t, s, "SELECT COUNT(*) FROM river_job"); n != 0 {
			t.Errorf("%d jobs of a transaction that was rolled back", n)
		}
		noError(t, queue(nil))
		noError(t, s.TakeEvent(t.Context(), event)) // it came before
		if n := number(t, s, jobsThatWait); n != 2 {
			t.Errorf("%d jobs, want one for the delivery and one for the event", n)
		}
	})
}

// What went wrong with an event is told of in our log and the delivery's row, and is not kept by River.
func TestRiverKeepsIdsOnly(t *testing.T) {
	onPairs(t, func(t *testing.T, s, _ *Store) {
		account, _, _ := customer(t, s, "Anna")
		told(t, s, account.ID)
		told(t, s, account.ID)
		noError(t, s.TakeEvent(t.Context(), billing.PaymentEvent{ID: "evt_1", Kind: "invoice.paid", Customer: "canary"}))
		asked := 0
		var log bytes.Buffer
		stop := working(t, s, Workers{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Sender: &receiver{answer: func(_ context.Context, n int) webhook.Result {
				if n == 1 {
					panic("canary")
				}
				return webhook.Result{Problem: "canary"}
			}},
			Event: func(context.Context, string) (time.Duration, error) {
				if asked++; asked == 1 {
					return 0, errors.New("https://canary.example/")
				}
				return 0, nil
			},
		})
		as := map[bool]string{true: "river_job.*::text", false: "json(args) || ifnull(json(errors), '') || json(metadata) || ifnull(json(attempted_by), '') || json(tags)"}[s.postgres]
		rows := func() string {
			return strings.Join(must[[]string](t)(names(t.Context(), s.ro, "SELECT "+as+" FROM river_job")), "\n")
		}
		soon(t, "three failures", func() bool {
			return number(t, s, "SELECT COUNT(*) FROM river_job WHERE errors IS NOT NULL AND kind <> 'chore'") == 2 && number(t, s, "SELECT COUNT(*) FROM deliveries WHERE problem = 'canary'") == 1
		})
		if text := rows(); strings.Contains(text, "canary") || strings.Contains(text, "hook.example") || !strings.Contains(text, errLogged.Error()) || !strings.Contains(text, "evt_1") {
			t.Errorf("River keeps\n%s", text)
		}
		stop()
		_, panicked, _ := strings.Cut(log.String(), "a job panicked")
		panicked, _, _ = strings.Cut(panicked, "\n")
		if !strings.Contains(panicked, "panic at store.TestRiverKeepsIdsOnly") || strings.Contains(panicked, "canary") {
			t.Errorf("the log says of the panic: %s", panicked)
		}
	})
}

// Two processes share the deliveries: each is tried once, by one of them.
func TestADeliveryIsTriedByOneWorkerAtATime(t *testing.T) {
	onPairs(t, func(t *testing.T, one, other *Store) {
		account, _, _ := customer(t, one, "Anna")
		r := &receiver{answer: func(ctx context.Context, _ int) webhook.Result {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			return taken
		}}
		const all = 60
		for range all {
			told(t, one, account.ID)
		}
		working(t, one, Workers{Sender: r})
		working(t, other, Workers{Sender: r})
		soon(t, "all are delivered", func() bool {
			return number(t, one, "SELECT COUNT(*) FROM deliveries WHERE state = 1 AND attempts = 1") == all
		})
		if got := r.got(); len(got) != all || len(slices.Compact(slices.Sorted(slices.Values(got)))) != all || r.most != 1 {
			t.Errorf("%d deliveries were tried %d times, up to %d at once", all, len(got), r.most)
		}
	})
}

// A worker that dies between sending and writing leaves the job with River, as it does here: another
// worker sends the same event once more.
func TestADeliverySurvivesItsWorker(t *testing.T) {
	onPairs(t, func(t *testing.T, dead, alive *Store) {
		account, _, _ := customer(t, dead, "Anna")
		id := told(t, dead, account.ID)
		ago := map[bool]string{true: "now() - interval '2 minutes'", false: "strftime('%Y-%m-%d %H:%M:%f', 'now', '-2 minutes')"}[dead.postgres]
		noError(t, dead.exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = "+ago))
		r := &receiver{}
		working(t, alive, Workers{Sender: r})
		soon(t, "it is delivered", func() bool { return number(t, alive, "SELECT COUNT(*) FROM deliveries WHERE state = 1") == 1 })
		if got := r.got(); !slices.Equal(got, []string{id}) {
			t.Errorf("sent %v, want %s", got, id)
		}
	})
}

// What is under way when a worker is to stop comes to its end and is written.
func TestAStopWaitsForDeliveries(t *testing.T) {
	onPairs(t, func(t *testing.T, s, _ *Store) {
		account, _, _ := customer(t, s, "Anna")
		told(t, s, account.ID)
		sending, answer := make(chan struct{}), make(chan struct{})
		stop := working(t, s, Workers{Sender: &receiver{answer: func(ctx context.Context, _ int) webhook.Result {
			close(sending)
			select {
			case <-ctx.Done():
				return webhook.Result{Problem: "cut"}
			case <-answer:
				return taken
			}
		}}})
		<-sending
		time.AfterFunc(100*time.Millisecond, func() { close(answer) })
		stop()
		if n := number(t, s, "SELECT COUNT(*) FROM deliveries WHERE state = 1 AND attempts = 1"); n != 1 {
			t.Error("the delivery was cut")
		}
		if n := number(t, s, jobsThatWait); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

// A delivery that fails is put off to the time that its row names: River's own is the same.
func TestADeliveryThatFailsWaitsForItsTime(t *testing.T) {
	onPairs(t, func(t *testing.T, s, _ *Store) {
		account, _, _ := customer(t, s, "Anna")
		told(t, s, account.ID)
		working(t, s, Workers{Sender: &receiver{answer: func(context.Context, int) webhook.Result {
			return webhook.Result{Status: 503, Problem: "the receiver answered 503", RetryAfter: time.Hour}
		}}})
		at := map[bool]string{true: "EXTRACT(EPOCH FROM scheduled_at)", false: "unixepoch(scheduled_at, 'subsec')"}[s.postgres]
		soon(t, "it is put off", func() bool {
			return number(t, s, "SELECT COUNT(*) FROM river_job WHERE kind = 'delivery' AND state = 'scheduled'") == 1
		})
		apart := number(t, s, "SELECT CAST(ABS("+at+" * 1000 - next_at) AS BIGINT) FROM river_job, deliveries WHERE kind = 'delivery'")
		if wait := number(t, s, "SELECT next_at - created_at FROM deliveries"); wait < 3_600_000 || apart > 2000 {
			t.Errorf("it is tried again after %d ms, River's time is %d ms from that", wait, apart)
		}
	})
}

// Tries of a delivery that nobody takes: the longer the rarer, for 24 hours.
func TestADeliveryIsGivenUpAfterADay(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		id := told(t, s, account.ID)
		r := &receiver{answer: func(context.Context, int) webhook.Result { return webhook.Result{Problem: "no"} }}
		var waits []time.Duration
		for {
			wait := must[time.Duration](t)(s.Deliver(t.Context(), r, id))
			if early := must[time.Duration](t)(s.Deliver(t.Context(), r, id)); early != wait {
				t.Errorf("before its time it waits %s, not %s", early, wait)
			}
			if wait == 0 {
				break
			}
			clock.advance(wait)
			waits = append(waits, wait)
		}
		if !slices.IsSorted(waits[:8]) || waits[0] != 5*time.Second || len(r.got()) != len(waits)+1 {
			t.Errorf("waits %v for %d tries", waits, len(r.got()))
		}
		if n := number(t, s, "SELECT ended_at - created_at FROM deliveries WHERE state = 2"); n != 86_400_000 {
			t.Errorf("it was given up after %d ms", n)
		}
	})
}

// However many processes order a chore, it is done once in each of its times.
func TestAChoreIsDoneOnceInItsTime(t *testing.T) {
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			address, clock := make(t), newClock()
			var mu sync.Mutex
			done, idle := map[string]int{}, map[string]int{}
			chore := func(name string, needed bool) Chore {
				return Chore{Name: name, Every: 240 * time.Hour,
					Needed: func(context.Context) (bool, error) {
						mu.Lock()
						defer mu.Unlock()
						idle[name]++
						return needed, nil
					},
					Do: func(context.Context) error {
						mu.Lock()
						defer mu.Unlock()
						done[name]++
						return nil
					}}
			}
			count := func(m map[string]int, name string) int {
				mu.Lock()
				defer mu.Unlock()
				return m[name]
			}
			var stores []*Store
			for range 2 {
				s := open(t, address, Options{Clock: clock})
				stores = append(stores, s)
				working(t, s, Workers{Sender: &receiver{}, Chores: []Chore{chore("dust", true), chore("nothing", false)}})
			}
			soon(t, "both have asked", func() bool {
				clock.advance(240 * time.Hour)
				return count(idle, "dust") >= 4 && count(idle, "nothing") >= 4
			})
			soon(t, "it is done", func() bool {
				return number(t, stores[0], "SELECT COUNT(*) FROM river_job WHERE kind = 'chore' AND state = 'completed'") == 2 // requeue is the other
			})
			if n := count(done, "dust"); n != 1 || count(done, "nothing") != 0 {
				t.Errorf("done %v", done)
			}
		})
	}
}

// A row whose job is lost gets another one; one that has a job keeps it.
func TestWhatWaitsIsNotLostWithItsJob(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "Anna")
		lost := told(t, s, account.ID)
		noError(t, s.TakeEvent(t.Context(), billing.PaymentEvent{ID: "evt_lost", Kind: billing.LookEvent}))
		noError(t, s.exec(t.Context(), "DELETE FROM river_job"))
		noError(t, s.requeue(t.Context()))
		if n := number(t, s, jobsThatWait); n != 0 {
			t.Errorf("%d jobs were made too early", n)
		}
		clock.advance(lateAfter)
		told(t, s, account.ID)
		noError(t, s.requeue(t.Context()))
		clock.advance(lateAfter)
		noError(t, s.requeue(t.Context()))
		args := map[bool]string{true: "args::text", false: "json(args)"}[s.postgres]
		got := must[[]string](t)(names(t.Context(), s.ro, "SELECT "+args+" FROM river_job"))
		if text := fmt.Sprint(got); len(got) != 3 || !strings.Contains(text, lost) || !strings.Contains(text, "evt_lost") {
			t.Errorf("jobs %s", text)
		}
	})
}

// River's tables are those of the version that the migrations name.
func TestRiversTablesAreWhole(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		m := must[*rivermigrate.Migrator[*sql.Tx]](t)(rivermigrate.New(s.riverDriver(), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)}))
		if r := must[*rivermigrate.ValidateResult](t)(m.Validate(t.Context(), nil)); !r.OK {
			t.Errorf("River's migrations: %v. Add one to riverMigrations", r.Messages)
		}
		text := "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'river_%' ORDER BY name"
		if s.postgres {
			text = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_name LIKE 'river_%' ORDER BY table_name"
		}
		want := []string{"river_job", "river_leader", "river_migration", "river_notification", "river_queue"}
		if got := must[[]string](t)(names(t.Context(), s.ro, text)); !slices.Equal(got, want) {
			t.Errorf("River's tables are %v", got)
		}
	})
}

// River's log says what went wrong and nothing else, whatever River adds to it.
func TestRiverIsQuiet(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(quiet{slog.NewTextHandler(&text, nil)}).With("a", 1).WithGroup("g")
	log.Info("work goes on")
	log.Warn("something is wrong", "b", 2)
	if got := text.String(); strings.Contains(got, "work goes on") || !strings.Contains(got, "something is wrong") || !strings.Contains(got, "a=1 g.b=2") {
		t.Errorf("logged %s", got)
	}
}
