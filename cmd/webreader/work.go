package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/internal/webhook"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

type workCmd struct {
	databaseFlags
	engineFlags
	workerFlags
	LogFormat string `setting:"WEBREADER_LOG_FORMAT" help:"text or json (default: text on a terminal, else json)." placeholder:"FORMAT"`
	LogLevel  string `setting:"WEBREADER_LOG_LEVEL" help:"debug, info, warn or error (default info)." placeholder:"LEVEL"`
}

// workerFlags are the settings of workers.
type workerFlags struct {
	ResultTTL string `name:"result-ttl" setting:"WEBREADER_RESULT_TTL" help:"How long results nobody collected are kept, sealed, after a job's end (default 24h)." placeholder:"DURATION"`
}

// Help is shown by --help.
func (workCmd) Help() string {
	return "Workers read what jobs have queued. Any number of them may run beside servers started with --no-workers,\n" +
		"over one PostgreSQL database.\n\nExample:\n\n  WEBREADER_DATABASE_URL=postgres://webreader@db/webreader webreader work"
}

// Run works until the context ends; then it lets running reads finish.
func (workCmd) Run(a *app) error {
	logging, err := telemetry.FromEnv(a.setting, isTerminal(a.Err))
	if err != nil {
		return settingError(err)
	}
	profile, err := loadProfile(a.setting)
	if err != nil {
		return err
	}
	db, err := openStore(a.ctx, a.setting)
	if err != nil {
		return err
	}
	log := logging.Logger(a.Err)
	e, err := newEngine(a.setting, storeRooms(db))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	w, err := newWorkers(a.setting, db, e, profile, log)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	log.Info("working")
	w.run(a.ctx)
	return db.Close()
}

// storeRooms are the gate's rooms of a server: the database.
func storeRooms(db *store.Store) rooms {
	return rooms{Clock: gate.SystemClock{}, Turns: db, Robots: db, OptOuts: db, Standings: db, Log: db}
}

// workers are all that works on jobs and watches: the runners, the sweep, the webhooks.
type workers struct {
	log    *slog.Logger
	store  *store.Store
	runner *jobs.Runner
	sender *webhook.Sender
	rounds *watch.Runner
}

func newWorkers(setting func(string) string, db *store.Store, e *engine, profile *policy.Profile, log *slog.Logger) (*workers, error) {
	runner, err := jobs.NewRunner(jobs.Config{
		Store: db, Ledger: db, Reader: e.reader, Profile: profile, Clock: gate.SystemClock{}, Log: log, Timeout: e.timeout,
	})
	if err != nil {
		return nil, err
	}
	guard, err := netguard.FromEnv(setting)
	if err != nil {
		return nil, settingError(err)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		return nil, settingError(err)
	}
	sender, err := webhook.NewSender(webhook.Config{Dialer: dialer, UserAgent: "webreader-webhooks/1.0", Now: time.Now})
	if err != nil {
		return nil, err
	}
	rounds, err := watch.New(watch.Config{
		Profile: profile, Meter: billing.New(e.reader, db), Gate: e.gate, Book: db.WatchBook(), Clock: gate.SystemClock{}, Log: log, Timeout: e.timeout,
	})
	if err != nil {
		return nil, err
	}
	return &workers{log: log, store: db, runner: runner, sender: sender, rounds: rounds}, nil
}

// run works until ctx ends, and a little longer for what is under way.
func (w *workers) run(ctx context.Context) {
	patience, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	context.AfterFunc(ctx, func() { time.AfterFunc(stopTime-5*time.Second, done) })
	var all sync.WaitGroup
	all.Go(func() { w.runner.Run(ctx, patience) })
	all.Go(func() { w.rounds.Run(ctx) })
	all.Go(func() { every(ctx, time.Second, w.sweep) })
	all.Go(func() { every(ctx, 10*time.Minute, w.sweepWatches) })
	all.Go(func() { every(ctx, 500*time.Millisecond, w.deliver) })
	all.Wait()
}

// every does something now and then until ctx ends.
func every(ctx context.Context, pause time.Duration, do func(context.Context)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

func (w *workers) sweep(ctx context.Context) {
	if err := w.store.SweepJobs(ctx); err != nil && ctx.Err() == nil {
		w.log.Error("sweep of jobs failed; it is tried again", "error", err.Error())
	}
}

// changesKept is how long a change waits, sealed, for its customer.
const changesKept = 30 * 24 * time.Hour

func (w *workers) sweepWatches(ctx context.Context) {
	if _, err := w.store.SweepWatches(ctx, changesKept); err != nil && ctx.Err() == nil {
		w.log.Error("sweep of watches failed; it is tried again", "error", err.Error())
	}
}

// kick makes the rounds' worker look for work at once; without workers here, others find it.
func (w *workers) kick() {
	if w != nil {
		w.rounds.Kick()
	}
}

func (w *workers) deliver(ctx context.Context) {
	if _, err := w.store.DeliverEvents(ctx, w.sender); err != nil && ctx.Err() == nil {
		w.log.Error("events were not delivered; it is tried again", "error", err.Error())
	}
}

// plainHook is true for hosts that webhooks may reach by http: inside the networks that the operator allows.
func plainHook(setting func(string) string) func(host string) bool {
	guard, err := netguard.FromEnv(setting)
	if err != nil || len(guard.AllowNetworks) == 0 {
		return nil
	}
	return func(host string) bool {
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return err == nil && slices.ContainsFunc(guard.AllowNetworks, func(n netip.Prefix) bool { return n.Contains(addr) })
	}
}
