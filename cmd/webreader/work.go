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
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

type workCmd struct {
	databaseFlags
	engineFlags
	workerFlags
	paymentFlags
	LogFormat string `setting:"WEBREADER_LOG_FORMAT" help:"text or json (default: text on a terminal, else json)." placeholder:"FORMAT"`
	LogLevel  string `setting:"WEBREADER_LOG_LEVEL" help:"debug, info, warn or error (default info)." placeholder:"LEVEL"`
}

// workerFlags are the settings of workers.
type workerFlags struct {
	ResultTTL string `name:"result-ttl" setting:"WEBREADER_RESULT_TTL" help:"How long results nobody collected are kept, sealed, after a job's end (default 24h)." placeholder:"DURATION"`
	Retention string `name:"fetch-log-retention" setting:"WEBREADER_FETCH_LOG_RETENTION" help:"How long the fetch log keeps a request (default 720h)." placeholder:"DURATION"`
}

const (
	envRetention     = "WEBREADER_FETCH_LOG_RETENTION"
	defaultRetention = 720 * time.Hour
)

// Help is shown by --help.
func (workCmd) Help() string {
	return "Workers read what jobs have queued, deliver webhooks, report usage and clear away. Any number of them may run\n" +
		"beside servers started with --no-workers, over one PostgreSQL database, with the same settings for Stripe.\n\nExample:\n\n  WEBREADER_DATABASE_URL=postgres://webreader@db/webreader webreader work"
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
	p, err := newPayments(a.setting, db, log, telemetry.NewMetrics(), strings.TrimRight(strings.TrimSpace(a.setting(envPublicURL)), "/"))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	w, err := newWorkers(a.setting, db, e, profile, p, log)
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

// workers are all that works on jobs and watches, and on what is short: see store.WorkQueues.
type workers struct {
	log       *slog.Logger
	store     *store.Store
	runner    *jobs.Runner
	rounds    *watch.Runner
	payments  *payments
	retention time.Duration // of the fetch log
}

func newWorkers(setting func(string) string, db *store.Store, e *engine, profile *policy.Profile, p *payments, log *slog.Logger) (*workers, error) {
	retention, err := durationSetting(setting, envRetention, defaultRetention)
	if err != nil {
		return nil, err
	}
	runner, err := jobs.NewRunner(jobs.Config{
		Store: db, Ledger: db, Reader: e.reader, Profile: profile, Clock: gate.SystemClock{}, Log: log, Timeout: e.timeout,
	})
	if err != nil {
		return nil, err
	}
	rounds, err := watch.New(watch.Config{
		Profile: profile, Meter: billing.New(e.reader, db), Gate: e.gate, Book: db.WatchBook(), Clock: gate.SystemClock{}, Log: log, Timeout: e.timeout,
	})
	if err != nil {
		return nil, err
	}
	return &workers{log: log, store: db, runner: runner, rounds: rounds, payments: p, retention: retention}, nil
}

// run works until ctx ends, and a little longer for what is under way.
func (w *workers) run(ctx context.Context) {
	patience, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	context.AfterFunc(ctx, func() { time.AfterFunc(stopTime-5*time.Second, done) })
	var all sync.WaitGroup
	all.Go(func() { w.runner.Run(ctx, patience) })
	all.Go(func() { w.rounds.Run(ctx) })
	all.Go(func() {
		err := w.store.WorkQueues(ctx, store.Workers{Log: w.log, Sender: w.payments.teller.sender, Event: w.payments.event(), Chores: w.chores()})
		if err != nil {
			w.log.Error("webhooks are not delivered and nothing is cleared away", "error", err.Error())
		}
	})
	all.Wait()
}

// chores are what is to be done now and then.
func (w *workers) chores() []store.Chore {
	return append([]store.Chore{
		{Name: "jobs", Every: time.Second, Needed: w.store.JobsToSweep, Do: w.store.SweepJobs},
		{Name: "sweep", Every: time.Minute, Do: func(ctx context.Context) error {
			_, err := w.store.Sweep(ctx, w.retention)
			return err
		}},
		{Name: "watches", Every: 10 * time.Minute, Do: func(ctx context.Context) error {
			_, err := w.store.SweepWatches(ctx, changesKept)
			return err
		}},
	}, w.payments.chores()...)
}

// changesKept is how long a change waits, sealed, for its customer.
const changesKept = 30 * 24 * time.Hour

// kick makes the rounds' worker look for work at once; without workers here, others find it.
func (w *workers) kick() {
	if w != nil {
		w.rounds.Kick()
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
