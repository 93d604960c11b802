package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// Clock is the injected clock.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Reader reads pages and what a crawl follows: *reader.Reader.
type Reader interface {
	billing.Reader
	Look(ctx context.Context, r reader.Request) (reader.Trail, error)
	Sitemaps(ctx context.Context, r reader.Request) ([]string, error)
	SitemapFile(ctx context.Context, r reader.Request) (body []byte, final policy.Target, err error)
}

// Config is what a Runner is made of. Workers may be 0 for the default.
type Config struct {
	Store   Store
	Ledger  billing.Ledger
	Reader  Reader
	Profile *policy.Profile
	Clock   Clock
	Log     *slog.Logger
	Workers int           // URLs read at the same time
	Timeout time.Duration // of a read as a whole
}

// DefaultWorkers is how many URLs a Runner reads at the same time when it is not told. Most of them wait:
// for an answer, or for their second turn at a host whose robots.txt took the first.
const DefaultWorkers = 512

// Runner reads what waits in the frontier. Any number of them may run over one store.
type Runner struct {
	c     Config
	works works
	seen  seen
}

// NewRunner makes a runner.
func NewRunner(c Config) (*Runner, error) {
	if c.Store == nil || c.Ledger == nil || c.Reader == nil || c.Profile == nil || c.Clock == nil || c.Log == nil {
		return nil, errors.New("jobs: a runner needs a store, a ledger, a reader, a profile, a clock and a log")
	}
	if c.Workers <= 0 {
		c.Workers = DefaultWorkers
	}
	if c.Timeout <= 0 {
		c.Timeout = reader.DefaultTimeout
	}
	return &Runner{c: c}, nil
}

// Run reads until ctx ends. Then it takes nothing new, lets reads that run come to their end until
// patience ends, and gives the rest back.
func (r *Runner) Run(ctx, patience context.Context) {
	slots := make(chan struct{}, r.c.Workers)
	reading, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(patience, cut)
	defer stop()
	var running sync.WaitGroup
	for ctx.Err() == nil {
		changed := r.c.Store.JobsChanged() // before the claim: what changes during it is not missed
		items, wait := r.claim(ctx, slots)
		for _, item := range items {
			running.Go(func() {
				defer func() { <-slots }()
				r.read(reading, item)
			})
		}
		if len(items) == 0 {
			r.pause(ctx, wait, changed)
		}
	}
	running.Wait()
}

// claim takes as many URLs as there are free slots; it waits for one.
func (r *Runner) claim(ctx context.Context, slots chan struct{}) ([]Item, time.Duration) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, 0
	}
	free := 1
	for free < r.c.Workers {
		select {
		case slots <- struct{}{}:
			free++
			continue
		default:
		}
		break
	}
	items, wait, err := r.c.Store.ClaimItems(ctx, PaceOf(r.c.Profile), free)
	if err != nil {
		if ctx.Err() == nil {
			r.c.Log.Error("no URLs could be claimed; it is tried again", "error", err.Error())
		}
		items, wait = nil, time.Second
	}
	for range free - len(items) {
		<-slots
	}
	return items, wait
}

func (r *Runner) pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) {
	if wait <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-r.c.Clock.After(wait):
	}
}

// margin is left of a claim's time for what is to be written after the read.
const margin = time.Second

// read reads one item and writes what became of it.
func (r *Runner) read(ctx context.Context, item Item) {
	left := item.Until.Sub(r.c.Clock.Now())
	reading, cancel := context.WithTimeout(ctx, max(left-min(margin, left/4), time.Millisecond))
	defer cancel()
	f := r.one(reading, ctx, item)
	// Links that were not queued after all are offered again by the next read of the item.
	f.Kept = func() { r.seen.add(item.Job, f.Found) }
	writing, done := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer done()
	if err := r.c.Store.FinishItem(writing, f); err != nil {
		r.c.Log.Error("a URL of a job was read and could not be written; it is read again", "job", item.Job, "error", err.Error())
		return
	}
}

// works keeps the constants of jobs that are being read.
type works struct {
	mu sync.Mutex
	by map[string]Work
}

const mostWorks = 500

// get is the item's job. The read of a start page or a sitemap may change the job's host, here or in another
// replica: only what comes after it is kept.
func (w *works) get(ctx context.Context, s Store, item Item) (Work, error) {
	job := item.Job
	if item.Kind != Page {
		return s.Work(ctx, job)
	}
	w.mu.Lock()
	work, ok := w.by[job]
	w.mu.Unlock()
	if ok {
		return work, nil
	}
	work, err := s.Work(ctx, job)
	if err != nil {
		return work, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil || len(w.by) >= mostWorks {
		w.by = map[string]Work{}
	}
	w.by[job] = work
	return work, nil
}

// seen remembers, as far as it has room, what was queued for which job, so that the links that all pages
// of a site share are not offered to the store again and again.
type seen struct {
	mu sync.Mutex
	by map[seenForm]struct{}
}

type seenForm struct {
	job  string
	form Form
}

const mostSeen = 200_000

func (s *seen) add(job string, found []Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil || len(s.by)+len(found) > mostSeen {
		s.by = map[seenForm]struct{}{}
	}
	for _, f := range found {
		s.by[seenForm{job, f.Form}] = struct{}{}
	}
}

func (s *seen) has(job string, form Form) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.by[seenForm{job, form}]
	return ok
}
