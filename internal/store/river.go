package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

// What is short and has no host is River's: a delivery, a payment event, a chore. A job of River's is
// inserted in the transaction that makes it necessary, and says only that there is something to do: what
// and when is in the tables here, which are asked again when it is done. So a job that is done twice, too
// early or too late changes nothing.

// The queues, each with workers of its own: a slow receiver keeps no chore waiting.
const (
	deliveryQueue = "deliveries"
	choreQueue    = "chores"
	paymentQueue  = "payments"
)

// The times of River's jobs.
const (
	pollEvery    = 500 * time.Millisecond // how long a job may wait to be seen; a chore is seen by who orders it
	fetchPause   = 100 * time.Millisecond // between two looks
	jobTime      = 30 * time.Second       // longer than a delivery may take
	paymentTime  = 2 * time.Minute        // longer than the payment service may take for all an event asks
	choreTime    = 10 * time.Minute
	rescueAfter  = 45 * time.Second // a job whose worker died is another's after it, and after its own time where that is longer
	jobsKept     = time.Minute      // when they are done
	discardsKept = 24 * time.Hour   // when they were given up
	drainTime    = 22 * time.Second // for what is under way when the process is to stop
	againAfter   = 5 * time.Second  // what failed for a reason of ours
)

// lives are the states of a job that is not done: one row has one such job.
var lives = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled}

// deliveryJob is the job of a row of deliveries, paymentJob that of one of payment_events.
type (
	deliveryJob struct {
		ID string `json:"id"`
	}
	paymentJob struct {
		ID string `json:"id"`
	}
	choreJob struct {
		Name string `json:"name"`
	}
)

func (deliveryJob) Kind() string { return "delivery" }
func (paymentJob) Kind() string  { return "payment_event" }
func (choreJob) Kind() string    { return "chore" }

func (deliveryJob) InsertOpts() river.InsertOpts { return once(deliveryQueue) }
func (paymentJob) InsertOpts() river.InsertOpts  { return once(paymentQueue) }
func (choreJob) InsertOpts() river.InsertOpts    { return river.InsertOpts{MaxAttempts: 1} }

func once(queue string) river.InsertOpts {
	return river.InsertOpts{Queue: queue, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: lives}}
}

// Both drivers, without their notices: on SQLite they are a table that is asked twenty times a second, on
// PostgreSQL a lock that commits wait for.
type (
	sqliteQueue   struct{ *riversqlite.Driver }
	postgresQueue struct{ *riverdatabasesql.Driver }
)

func (sqliteQueue) SupportsListener() bool       { return false }
func (sqliteQueue) SupportsListenNotify() bool   { return false }
func (postgresQueue) SupportsListener() bool     { return false }
func (postgresQueue) SupportsListenNotify() bool { return false }

func (s *Store) riverDriver() riverdriver.Driver[*sql.Tx] {
	if s.postgres {
		return postgresQueue{riverdatabasesql.New(s.db)}
	}
	return sqliteQueue{riversqlite.New(s.db)}
}

// riverMigrations bring River's own tables: each is a migration of ours and a version of River's. There are
// two, as PostgreSQL uses a new value of a type only in a later transaction. A newer version of the tables is
// one more.
var riverMigrations = map[int64]int{7: 5, 8: 8}

// migrateRiver brings River's tables to a version, in one transaction.
func (s *Store) migrateRiver(ctx context.Context, tx *sql.Tx, version int) error {
	m, err := rivermigrate.New(s.riverDriver(), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	//nolint:staticcheck // it warns of new values of a type, see riverMigrations
	_, err = m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version})
	return err
}

// openRiver makes the client that inserts jobs.
func (s *Store) openRiver() (err error) {
	s.river, err = river.NewClient(s.riverDriver(), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return err
}

// enqueue inserts a job in tx, to be done after a while. A job that is there already stays.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, job river.JobArgs, after time.Duration) error {
	var o river.InsertOpts
	if after > 0 {
		o.ScheduledAt = machineClock{}.Now().Add(after)
	}
	if _, err := s.river.InsertTx(ctx, tx, job, &o); err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	return nil
}

// Workers is what the jobs of River's are done with. Payment events are left to others where Event is nil.
type Workers struct {
	Log    *slog.Logger
	Sender Sender
	// Event deals with a payment event and answers after which time it is to be dealt with again: 0 is never.
	Event  func(ctx context.Context, id string) (again time.Duration, err error)
	Chores []Chore
}

// Chore is something that is to be done again and again, by one process of all at a time.
type Chore struct {
	Name   string
	Every  time.Duration // at least a second
	Paying bool          // it is for processes that deal with payment events
	// Needed, if there is one, says whether there is anything to do.
	Needed func(ctx context.Context) (bool, error)
	Do     func(ctx context.Context) error
}

func (c Chore) queue() string {
	if c.Paying {
		return paymentQueue
	}
	return choreQueue
}

// WorkQueues does River's jobs until ctx ends, and waits then for those under way.
func (s *Store) WorkQueues(ctx context.Context, w Workers) error {
	w.Chores = append(slices.Clone(w.Chores), Chore{Name: "requeue", Every: time.Minute, Do: s.requeue})
	client, err := river.NewClient(s.riverDriver(), s.riverConfig(w))
	if err != nil {
		return err
	}
	for {
		if err = client.Start(ctx); err == nil || ctx.Err() != nil {
			break
		}
		w.Log.Error("short work does not begin; it is tried again", "error", err.Error())
		s.wait(ctx, time.Second)
	}
	if err != nil {
		return nil // stopped before it began
	}
	var ticking sync.WaitGroup
	for _, c := range w.Chores {
		ticking.Go(func() { s.order(ctx, client, c, w.Log) })
	}
	ticking.Wait()
	<-client.Stopped()
	return nil
}

func (s *Store) wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-s.clock.After(d):
	}
}

func (s *Store) riverConfig(w Workers) *river.Config {
	workers := river.NewWorkers()
	queues := map[string]river.QueueConfig{deliveryQueue: {MaxWorkers: 50}, choreQueue: {MaxWorkers: len(w.Chores) + 1, FetchPollInterval: 10 * pollEvery}}
	river.AddWorker(workers, &worker[deliveryJob]{log: w.Log, limit: jobTime, do: func(ctx context.Context, j deliveryJob) (time.Duration, error) {
		return s.Deliver(ctx, w.Sender, j.ID)
	}})
	chores := map[string]*doing{}
	for _, c := range w.Chores {
		chores[c.Name] = &doing{do: c.Do}
	}
	river.AddWorker(workers, &worker[choreJob]{log: w.Log, limit: choreTime, do: func(ctx context.Context, j choreJob) (time.Duration, error) {
		if err := chores[j.Name].once(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", j.Name, err)
		}
		return 0, nil
	}})
	// Who leads rescues jobs of all queues, so that it must know all kinds.
	river.AddWorker(workers, &worker[paymentJob]{log: w.Log, limit: paymentTime, do: func(ctx context.Context, j paymentJob) (time.Duration, error) {
		return w.Event(ctx, j.ID)
	}})
	if w.Event != nil {
		queues[paymentQueue] = river.QueueConfig{MaxWorkers: 5 + len(w.Chores)}
	}
	return &river.Config{
		ID: billing.NewID("worker"), Logger: slog.New(quiet{w.Log.Handler()}), Queues: queues, Workers: workers, PollOnly: true,
		FetchCooldown: fetchPause, FetchPollInterval: pollEvery, JobTimeout: jobTime, RescueStuckJobsAfter: rescueAfter, SoftStopTimeout: drainTime,
		CompletedJobRetentionPeriod: jobsKept, CancelledJobRetentionPeriod: jobsKept, DiscardedJobRetentionPeriod: discardsKept,
		ReindexerIndexNames: []string{},
	}
}

// quiet is a log that River tells only of what went wrong.
type quiet struct{ slog.Handler }

// Enabled is for warnings and errors.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs is as quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup is as quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// doing keeps a process from doing a chore twice at the same time: one that takes long would take all workers.
type doing struct {
	mu sync.Mutex
	do func(ctx context.Context) error
}

func (d *doing) once(ctx context.Context) error {
	if d == nil || !d.mu.TryLock() {
		return nil
	}
	defer d.mu.Unlock()
	return d.do(ctx)
}

// order inserts a chore's job in each of its times, if no other process has done so.
func (s *Store) order(ctx context.Context, client *river.Client[*sql.Tx], c Chore, log *slog.Logger) {
	for s.wait(ctx, c.Every); ctx.Err() == nil; s.wait(ctx, c.Every) {
		needed, err := true, error(nil)
		if c.Needed != nil {
			needed, err = c.Needed(ctx)
		}
		if err == nil && needed {
			_, err = client.Insert(ctx, choreJob{c.Name}, &river.InsertOpts{Queue: c.queue(), UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: c.Every}})
		}
		if err != nil && ctx.Err() == nil {
			log.Error("a chore was not ordered; it is tried again", "chore", c.Name, "error", err.Error())
		}
	}
}

// worker does jobs of one kind. What went wrong is logged here and not kept with the job: an error may name
// whom it is about.
type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	log   *slog.Logger
	limit time.Duration
	do    func(ctx context.Context, job T) (again time.Duration, err error)
}

var errLogged = errors.New("it failed; see the log")

// Work does a job. See river.Worker.
func (w *worker[T]) Work(ctx context.Context, job *river.Job[T]) (err error) {
	defer func() {
		if said := recover(); said != nil {
			w.log.Error("a job panicked; it is tried again", "job", job.ID, "kind", job.Kind, "error", "panic at "+fault.PanicPlace())
			err = errLogged
		}
	}()
	again, err := w.do(ctx, job.Args)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			w.log.Error("a job failed; it is tried again", "job", job.ID, "kind", job.Kind, "error", err.Error())
		}
		return errLogged
	case again > 0:
		return river.JobSnooze(again)
	}
	return nil
}

// Timeout is how long a job may take. See river.Worker.
func (w *worker[T]) Timeout(*river.Job[T]) time.Duration { return w.limit }

// NextRetry is when a job that failed is tried again. See river.Worker.
func (w *worker[T]) NextRetry(job *river.Job[T]) time.Time { return job.AttemptedAt.Add(againAfter) }

// lateAfter is how long after its time what waits is thought to have lost its job.
const lateAfter = 2 * time.Minute

// requeue gives a job to rows that should have been dealt with and were not: a version without River wrote
// them, or their job was given up. A job that is there stays.
func (s *Store) requeue(ctx context.Context) error {
	deliveries, err := s.DueDeliveries(ctx, lateAfter, 1000)
	if err != nil {
		return err
	}
	events, err := s.DueEvents(ctx, lateAfter, 1000)
	if err != nil {
		return err
	}
	var late []river.InsertManyParams
	for _, id := range deliveries {
		late = append(late, river.InsertManyParams{Args: deliveryJob{id}})
	}
	for _, id := range events {
		late = append(late, river.InsertManyParams{Args: paymentJob{id}})
	}
	if len(late) == 0 {
		return nil
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := s.river.InsertManyTx(ctx, tx, late)
		return err
	})
}
