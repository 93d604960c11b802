package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Meter makes a paid read: *billing.Meter.
type Meter interface {
	Read(ctx context.Context, o billing.Order, give billing.HandOver) error
}

// Gate gets feeds and sitemaps, which nobody pays for: *gate.Gate.
type Gate interface {
	Get(ctx context.Context, a gate.Ask) (gate.Page, policy.Verdict, error)
	Sitemaps(ctx context.Context, a gate.Ask) ([]string, error)
}

// Book keeps watches, rounds and pages. A Claim that has lapsed, or whose watch or site is gone, records
// nothing: ErrLost.
type Book interface {
	// Due are active watches whose next round is due and that have no unfinished one.
	Due(ctx context.Context) ([]Watch, error)
	// Begun are the rounds of a watch due since then.
	Begun(ctx context.Context, watch string, since time.Time) ([]time.Time, error)
	// Begin makes a round of all sites, unless one is unfinished: it answers its id, or "".
	Begin(ctx context.Context, watch string, due, next time.Time) (string, error)
	// PutOff sets when the next round is due; the zero time is never.
	PutOff(ctx context.Context, watch string, next time.Time) error
	// Claim leases one site that is to be visited now; nil when there is none.
	Claim(ctx context.Context) (*Claim, error)
	// Start answers when the round began its work: now, for the first that asks.
	Start(ctx context.Context, c *Claim) (at time.Time, first bool, err error)
	// Others counts the rounds begun since then, of any watch, that have asked the claim's site for anything,
	// or were before the claim's and still will. The claim's own is left out.
	Others(ctx context.Context, c *Claim, since time.Time) (int, error)
	// Pages are what is known of the claim's site.
	Pages(ctx context.Context, c *Claim) ([]Page, error)
	// Record keeps what one page came to, and lengthens the lease. It answers the change's number.
	Record(ctx context.Context, c *Claim, f Finding) (int64, error)
	// Paused is true when the claim's watch has been paused, or is gone.
	Paused(ctx context.Context, c *Claim) (bool, error)
	// Skip notes that the round leaves a host alone.
	Skip(ctx context.Context, c *Claim, s Skip) error
	// Postpone gives the claim back, to be taken up again then.
	Postpone(ctx context.Context, c *Claim, until time.Time) error
	// Finish ends the visit; the last one ends the round.
	Finish(ctx context.Context, c *Claim) error
	// Reserve takes n units off the watch's ceiling; false when they are not there. A negative n gives
	// back.
	Reserve(ctx context.Context, c *Claim, n int64) (bool, error)
	// Pause pauses the watch by itself.
	Pause(ctx context.Context, watch, reason string) error
	// Tell queues a webhook watch.changed.
	Tell(ctx context.Context, c *Claim, changes []Told) error
	// Next is when Due or Claim may have something; zero when nothing is planned.
	Next(ctx context.Context) (time.Time, error)
}

// ErrLost says that a claim is not its holder's any more.
var ErrLost = errors.New("the visit is not this worker's any more")

// Config is what a Runner is made of. All but Workers, Poll and Timeout is needed.
type Config struct {
	Profile *policy.Profile
	Meter   Meter
	Gate    Gate
	Book    Book
	Clock   gate.Clock
	Log     *slog.Logger
	Workers int           // sites visited at the same time; 32 by default
	Poll    time.Duration // how often other replicas' doings are looked for; a second by default
	Timeout time.Duration // of one read; 30 s by default
	// Told, when not nil, is called after each page: progress on a command line.
	Told func(Progress)
}

// Progress is one page of a round as it is done.
type Progress struct {
	Site, URL string
	Kind      string // new, changed, unchanged, gone, back, or skipped
	Reason    string // why it was skipped
}

// Runner begins rounds and visits sites. Several may run on one Book.
type Runner struct {
	Config
	active sync.WaitGroup
	slots  chan struct{}
	kicks  chan struct{}
}

// New makes a Runner.
func New(c Config) (*Runner, error) {
	if c.Profile == nil || c.Meter == nil || c.Gate == nil || c.Book == nil || c.Clock == nil || c.Log == nil {
		return nil, errors.New("watch: a field of Config is not set")
	}
	if c.Workers <= 0 {
		c.Workers = 32
	}
	if total := c.Profile.Pace.InFlightTotal; total > 0 {
		c.Workers = min(c.Workers, 16*total) // more would only stand in line
	}
	if c.Poll <= 0 {
		c.Poll = time.Second
	}
	if c.Timeout <= 0 {
		c.Timeout = gate.DefaultTimeout
	}
	return &Runner{Config: c, slots: make(chan struct{}, c.Workers), kicks: make(chan struct{}, 1)}, nil
}

// Run works until ctx ends; then it gives its claims back.
func (r *Runner) Run(ctx context.Context) {
	defer r.active.Wait()
	for ctx.Err() == nil {
		if err := r.Step(ctx); err != nil && ctx.Err() == nil {
			r.Log.Error("watches: a step failed; it is tried again", "error", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-r.kicks:
		case <-r.Clock.After(r.Poll):
		}
	}
}

// Kick makes Run look for work at once.
func (r *Runner) Kick() {
	select {
	case r.kicks <- struct{}{}:
	default:
	}
}

// Step begins the rounds that are due and visits sites for which there is a worker. It does not wait for
// the visits.
func (r *Runner) Step(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		select {
		case r.slots <- struct{}{}:
		default:
			return nil
		}
		claim, err := r.Book.Claim(ctx)
		if err != nil || claim == nil {
			<-r.slots
			return err
		}
		r.active.Go(func() {
			r.visit(ctx, claim)
			<-r.slots
			r.Kick()
		})
	}
	return ctx.Err()
}

// Busy is how many sites are being visited now.
func (r *Runner) Busy() int { return len(r.slots) }

// Wait waits for the visits that are under way.
func (r *Runner) Wait() { r.active.Wait() }

// begin begins the rounds that are due. What was missed is caught up with one round, and by day a night
// bot only notes when its window opens.
func (r *Runner) begin(ctx context.Context) error {
	due, err := r.Book.Due(ctx)
	if err != nil {
		return fmt.Errorf("look for due rounds: %w", err)
	}
	for _, w := range due {
		if err := r.beginOne(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) beginOne(ctx context.Context, w Watch) error {
	now := r.Clock.Now()
	if window := r.Profile.Schedule.Window; !window.Open(now) {
		return r.Book.PutOff(ctx, w.ID, window.NextOpen(now))
	}
	begun, err := r.Book.Begun(ctx, w.ID, now.Add(-48*time.Hour))
	if err != nil {
		return err
	}
	if Left(r.Profile, now, begun) <= 0 {
		return r.Book.PutOff(ctx, w.ID, w.Schedule.Next(r.Profile, now, begun))
	}
	_, err = r.Book.Begin(ctx, w.ID, w.NextRound, w.Schedule.Next(r.Profile, now, append(begun, now)))
	return err
}
