package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// Exporter tells the payment service what was used: what the outbox holds, and nothing else.
//
// A report is sent under one identifier until it is known to have arrived. The payment service drops
// doubles for 24 hours only. So before that is over since the report may have arrived first, the
// exporter looks: the report's minute is its own, and what the payment service holds for it is the
// report or nothing.
type Exporter struct {
	outbox   Outbox
	reporter Reporter
	log      *slog.Logger
	pace     *rate.Limiter
	problems func() // counts what an operator must look at
}

// exportPace is how many calls a second are made: far below the payment service's limit of 1,000
// reports a second, and below its general one.
const exportPace = 20

// Times that keep a repetition safe.
const (
	doubtAfter = 23 * time.Hour              // from here on doubles might count: look first
	summedIn   = time.Hour                   // by then the payment service has added up what arrived
	tooLate    = 35*24*time.Hour - time.Hour // it takes nothing older than 35 days
	// What was refused is tried again, as a wrong setting or clock is put right some day; after so long that
	// it is looked for first.
	givenUpFor = 25 * time.Hour
)

// NewExporter is an exporter. problems, which may be nil, is called for each report that an operator
// must look at.
func NewExporter(o Outbox, r Reporter, log *slog.Logger, problems func()) *Exporter {
	if problems == nil {
		problems = func() {}
	}
	return &Exporter{o, r, log, rate.NewLimiter(exportPace, exportPace), problems}
}

// Step gathers what is due and sends it. It answers how many reports it dealt with: at 0 there is
// nothing to do for now.
func (e *Exporter) Step(ctx context.Context) (int, error) {
	if _, err := e.outbox.Gather(ctx); err != nil {
		return 0, err
	}
	list, err := e.outbox.Claim(ctx, exportPace)
	if err != nil {
		return 0, err
	}
	for i, r := range list {
		if err := e.pace.Wait(ctx); err != nil {
			return i, err
		}
		if err := e.deal(ctx, r); err != nil {
			return i, fmt.Errorf("report %s: %w", r.ID, err)
		}
	}
	return len(list), nil
}

func (e *Exporter) deal(ctx context.Context, r UsageReport) error {
	if r.Cancels {
		return e.cancel(ctx, r)
	}
	now, err := e.outbox.Now(ctx)
	if err != nil {
		return err
	}
	if r.Units == 0 {
		return e.outbox.Arrived(ctx, r.ID) // credited before it was sent
	}
	notBefore := time.Time{}
	doubtful := !r.FirstSent.IsZero() && now.Sub(r.FirstSent) >= doubtAfter
	if doubtful {
		there, err := e.there(ctx, r)
		if there || err != nil {
			return e.after(ctx, r, err, time.Time{})
		}
		// Nothing sent before the last hour arrived. What was sent since is dropped as a double.
		notBefore = now.Add(-summedIn)
	}
	if now.Sub(r.Minute) > tooLate {
		return e.giveUp(ctx, r, "older than 35 days: the payment service takes it no more; the house pays", 0)
	}
	return e.after(ctx, r, e.reporter.Report(ctx, r), notBefore)
}

// there is true when the payment service holds the report.
func (e *Exporter) there(ctx context.Context, r UsageReport) (bool, error) {
	held, err := e.reporter.Held(ctx, r.Customer, Period{r.Minute, r.Minute.Add(time.Minute)})
	return held >= r.Units, err
}

// after writes down how sending r ended.
func (e *Exporter) after(ctx context.Context, r UsageReport, err error, notBefore time.Time) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || errors.Is(err, ErrDuplicate) {
		return e.outbox.Arrived(ctx, r.ID)
	}
	if final(err) {
		return e.giveUp(ctx, r, err.Error(), givenUpFor)
	}
	return e.outbox.Again(ctx, r.ID, err.Error(), pause(r.Tries), notBefore)
}

// giveUp leaves r for the operator, unless an earlier try of it arrived after all. It is tried once more after
// again; 0 is never.
func (e *Exporter) giveUp(ctx context.Context, r UsageReport, problem string, again time.Duration) error {
	if !r.FirstSent.IsZero() {
		there, err := e.there(ctx, r)
		if there {
			return e.outbox.Arrived(ctx, r.ID)
		}
		if err != nil && !final(err) {
			return e.outbox.Again(ctx, r.ID, err.Error(), pause(r.Tries), time.Time{})
		}
	}
	if err := e.outbox.GiveUp(ctx, r.ID, problem, again); err != nil {
		return err
	}
	e.problems()
	e.log.Error("usage could not be reported to the payment service; see webreader billing reconcile",
		"report", r.ID, "account", r.Account, "units", r.Units, "minute", r.Minute, "problem", problem)
	return nil
}

// cancel takes a report back.
func (e *Exporter) cancel(ctx context.Context, r UsageReport) error {
	err := e.reporter.Cancel(ctx, r)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil || errors.Is(err, ErrDuplicate):
		return e.outbox.TakenBack(ctx, r.ID)
	case !final(err):
		return e.outbox.Again(ctx, r.ID, err.Error(), pause(r.Tries), time.Time{})
	}
	if held, asked := e.reporter.Held(ctx, r.Customer, Period{r.Minute, r.Minute.Add(time.Minute)}); asked == nil && held == 0 {
		return e.outbox.TakenBack(ctx, r.ID) // an earlier try was carried out
	}
	if stuck := e.outbox.StillThere(ctx, r.ID, err.Error()); stuck != nil {
		return stuck
	}
	e.problems()
	e.log.Error("a credit could not be taken off what was reported; give it in the payment service's dashboard",
		"report", r.ID, "account", r.Account, "problem", err.Error())
	return nil
}

// pause is how long to wait after the given number of earlier tries: 5 seconds, doubled up to an hour.
func pause(tries int) time.Duration {
	return min(time.Hour, 5*time.Second<<min(tries, 10))
}
