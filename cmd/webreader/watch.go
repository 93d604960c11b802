package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

type watchCmd struct {
	File     string `help:"Sites, as CSV: name,start_url,sitemap,include,exclude,topics." required:"" placeholder:"FILE"`
	Once     bool   `help:"One round now; without it, rounds by the schedule until interrupted."`
	State    string `help:"Where fingerprints are kept between rounds (default: beside the file, with .db behind its name)." placeholder:"FILE"`
	Cron     string `help:"When rounds begin, instead of the profile's own times." placeholder:"EXPRESSION"`
	TimeZone string `help:"The time zone of --cron." placeholder:"ZONE"`
	MaxPages int    `help:"Pages per site and round, where the profile lets it be so many." placeholder:"N"`
	JSON     bool   `help:"Print each change as a line of JSON."`

	engineFlags
}

// Help is shown by --help.
func (watchCmd) Help() string {
	return `Visits the sites of a file and prints what is new, changed, gone or back since the last round. Needs no
server, key or database: fingerprints are kept in one file, pages are not. Pace, window and robots.txt hold.

Example:

  WEBREADER_PROFILE=my-bot.yaml webreader watch --file sites.csv --once`
}

// Run goes over the sites.
func (c watchCmd) Run(a *app) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return usage("--file: %s cannot be read: %s", c.File, rootCause(err))
	}
	sites, err := watch.ParseCSV(text)
	if err != nil {
		return c.faulty(a, fault.As(err))
	}
	profile, err := loadProfile(a.setting)
	if err != nil {
		return err
	}
	db, err := c.open(a.ctx)
	if err != nil {
		return err
	}
	d := &grantDesk{app: a, cmd: c, db: db, profile: profile}
	return errors.Join(d.work(sites), db.Close())
}

// faulty tells all faults of a file, one a line.
func (c watchCmd) faulty(a *app, f *fault.Error) error {
	if len(f.Fields) < 2 {
		return usage("--file: %s", f.Detail)
	}
	for _, field := range f.Fields {
		_, _ = fmt.Fprintf(a.Err, "webreader: %s: %s: %s\n", c.File, field.Name, field.Detail)
	}
	return usage("--file: The sites cannot be watched: %d faults.", len(f.Fields))
}

func (c watchCmd) open(ctx context.Context) (*store.Store, error) {
	file := c.State
	if file == "" {
		file = c.File + ".db"
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, "sqlite:"+file, store.Options{Lease: 2 * time.Minute})
	if err != nil {
		return nil, usage("--state: %s", err)
	}
	return db, nil
}

// grantDesk is a watch from the command line.
type grantDesk struct {
	app      *app
	cmd      watchCmd
	db       *store.Store
	profile  *policy.Profile
	runner   *watch.Runner
	identity seal.Identity
	watch    watch.Watch
	seen     int64

	mu   sync.Mutex
	done int // pages so far
}

func (d *grantDesk) work(sites []watch.Site) error {
	e, err := newEngine(d.app.setting, storeRooms(d.db))
	if err != nil {
		return err
	}
	d.runner, err = watch.New(watch.Config{
		Profile: d.profile, Meter: billing.New(e.reader, d.db), Gate: e.gate, Book: d.db.WatchBook(), Clock: gate.SystemClock{},
		Log: slog.New(slog.NewTextHandler(d.app.Err, &slog.HandlerOptions{Level: slog.LevelWarn})), Timeout: e.timeout, Told: d.progress,
	})
	if err != nil {
		return err
	}
	if err := d.prepare(d.app.ctx, sites); err != nil {
		return err
	}
	if d.cmd.Once {
		return d.round(d.app.ctx)
	}
	return d.rounds(d.app.ctx)
}

// prepare finds the file's watch, or makes it. Each run has a key of its own: what an interrupted one
// left sealed is gone.
func (d *grantDesk) prepare(ctx context.Context, sites []watch.Site) error {
	account, err := d.db.Account(ctx, localAccount)
	if fault.Of(err) == fault.NotFound {
		account, err = d.db.CreateAccount(ctx, localAccount, "")
	}
	if err != nil {
		return err
	}
	key, err := d.newKey(ctx, account.ID)
	if err != nil {
		return err
	}
	schedule := watch.Schedule{Cron: d.cmd.Cron, TimeZone: d.cmd.TimeZone}
	if schedule.Cron != "" && schedule.TimeZone == "" {
		schedule.TimeZone = "UTC"
	}
	if err := schedule.Check(d.profile); err != nil && (schedule.Cron != "" || !d.cmd.Once) {
		return usage("--cron: %s", fault.As(err).Detail)
	}
	next := func(w watch.Watch) time.Time { return w.Schedule.Next(d.profile, time.Now(), nil) }
	known, err := d.db.Watches(ctx, account.ID, "", 1)
	if err != nil {
		return err
	}
	if len(known) == 0 {
		w := watch.Watch{Account: account.ID, Key: key, Schedule: schedule, MaxPages: d.cmd.MaxPages, Options: watch.Options{NoPage: true}, Request: billing.NewID("req")}
		w.NextRound = next(w)
		d.watch, err = d.db.CreateWatch(ctx, w, sites, billing.Unlimited)
		return err
	}
	active := watch.Active
	edit := watch.Edit{Status: &active, Schedule: &schedule, MaxPages: &d.cmd.MaxPages}
	before, err := d.db.WatchSites(ctx, known[0].ID)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before, sites) {
		edit.Sites = sites
	}
	if d.watch, err = d.db.ChangeWatch(ctx, account.ID, known[0].ID, key, edit, next); err != nil {
		return err
	}
	return d.db.FreeVisits(ctx, d.watch.ID)
}

func (d *grantDesk) newKey(ctx context.Context, account string) (string, error) {
	old, err := d.db.ListKeys(ctx, account)
	if err != nil {
		return "", err
	}
	key, secret, err := d.db.CreateKey(ctx, account, "command line", time.Time{})
	if err != nil {
		return "", err
	}
	for _, k := range old {
		if k.RevokedAt.IsZero() {
			if _, err := d.db.RevokeKey(ctx, account, k.ID, true); err != nil {
				return "", err
			}
		}
	}
	d.identity, err = secret.Identity()
	return key.ID, err
}

// round makes one round and waits for its end. One that was interrupted is ended first: it is this one.
func (d *grantDesk) round(ctx context.Context) error {
	book := d.db.WatchBook()
	if _, err := book.Begin(ctx, d.watch.ID, time.Now(), d.watch.NextRound); err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() { defer close(ended); d.runner.Run(working) }()
	defer func() { stop(); <-ended }()
	told := false
	for {
		rounds, err := d.db.WatchRounds(ctx, d.watch.Account, d.watch.ID, "", 1)
		if err != nil || len(rounds) == 0 {
			return errors.Join(err, d.interrupted(ctx))
		}
		if err := d.print(ctx); err != nil {
			return err
		}
		if rounds[0].Status == "completed" {
			return d.summary(rounds[0])
		}
		if next, err := book.Next(ctx); err == nil && !told && time.Until(next) > time.Minute && d.runner.Busy() == 0 {
			told = true
			d.say("webreader: %s; going on at %s", d.waiting(), next.Local().Format(time.DateTime))
		}
		select {
		case <-ctx.Done():
			return d.interrupted(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// waiting says why nothing is done for more than a moment.
func (d *grantDesk) waiting() string {
	if !d.profile.Schedule.Window.Open(time.Now()) {
		return "the window is closed"
	}
	return "the sites that are left asked for a pause"
}

// rounds makes rounds by the schedule until it is interrupted.
func (d *grantDesk) rounds(ctx context.Context) error {
	d.say("webreader: the next round begins at %s", d.watch.NextRound.Local().Format(time.DateTime))
	ended := make(chan struct{})
	go func() { defer close(ended); d.runner.Run(ctx) }()
	defer func() { <-ended }()
	for {
		if err := d.print(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return d.interrupted(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (d *grantDesk) interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("interrupted; the next run goes on where this one stopped")
	}
	return nil
}

// print writes what was found since it was asked last, and lets go of it.
func (d *grantDesk) print(ctx context.Context) error {
	list, err := d.db.Changes(ctx, d.watch.Account, d.watch.ID, d.seen, 1000, 8_000_000)
	if err != nil {
		return err
	}
	for _, sealed := range list {
		c, err := sealed.Open(d.identity, d.watch)
		if err != nil {
			return fmt.Errorf("open a change: %w", err)
		}
		if err := d.printOne(c); err != nil {
			return err
		}
		d.seen = sealed.Seq
	}
	return nil
}

func (d *grantDesk) printOne(c watch.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	if d.cmd.JSON {
		text, err := marshal(c)
		if err == nil {
			_, err = d.app.Out.Write(text)
		}
		return err
	}
	_, err := fmt.Fprintf(d.app.Out, "%s %s\n", c.Kind, c.Source)
	for _, p := range c.Passages {
		if err == nil {
			_, err = fmt.Fprintf(d.app.Out, "    %s\n", p.Excerpt)
		}
	}
	return err
}

// progress is a line that stays at the bottom of a terminal; a pipe gets none.
func (d *grantDesk) progress(p watch.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done++
	if isTerminal(d.app.Err) {
		url := []rune(p.URL)
		fmt.Fprintf(d.app.Err, "\r\x1b[K%d pages, %s %s", d.done, p.Kind, string(url[:min(len(url), 60)]))
	}
}

func (d *grantDesk) clear() {
	if isTerminal(d.app.Err) {
		_, _ = io.WriteString(d.app.Err, "\r\x1b[K")
	}
}

func (d *grantDesk) say(format string, a ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	fmt.Fprintf(d.app.Err, format+"\n", a...)
}

func (d *grantDesk) summary(r watch.Round) error {
	if err := d.print(d.app.ctx); err != nil {
		return err
	}
	p := r.Pages
	d.say("webreader: round done: %d new, %d changed, %d back, %d gone, %d unchanged, %d skipped; %d requests", p.New, p.Changed, p.Back, p.Gone, p.Unchanged, p.Skipped, p.Requests)
	for _, s := range r.Skips {
		d.say("webreader: %s was left alone: %s", s.Host, s.Reason)
	}
	return nil
}
