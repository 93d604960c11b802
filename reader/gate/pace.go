package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate/internal/fetch"
)

// keys are the pace keys of a request, in the order in which they are claimed. Own hops go free of
// the profile's gap only: a longer one was asked for by the site and counts for every request.
func (r *reading) keys(c policy.Case) []Key {
	p := c.Profile
	gap := p.Gap(c.Cause, c.Signals.Robots, c.OptOut).Gap
	keys := []Key{{Name: p.PaceKey(c.Target), Gap: gap}}
	if total := p.TotalKey(); total != "" {
		keys = append(keys, Key{Name: total})
	}
	if p.Pace.OwnHops == policy.HopsFree && gap <= p.Pace.MinGap {
		for i := range keys {
			keys[i].After = r.wrote[keys[i].Name]
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return keys
}

// take is the turn for a request: the caller's own one first, else one that is waited for.
func (r *reading) take(ctx context.Context, c policy.Case) (Turn, error) {
	keys := r.keys(c)
	if turn := r.turn; turn != nil {
		r.turn = nil
		if kept(turn, keys) {
			return turn, r.begin(ctx, turn)
		}
		if err := endTurn(ctx, turn, time.Time{}); err != nil {
			return nil, err
		}
	}
	until := r.until
	if by := r.began.Add(r.ask.Patience); r.ask.Patience > 0 && by.Before(until) {
		until = by
	}
	if r.cfg.Clock.Now().After(until) {
		return nil, busy(0) // a turn that is free comes too late as well: a window may close
	}
	turn, err := r.cfg.Turns.Take(ctx, keys, until)
	if err != nil {
		if cause := ctx.Err(); cause != nil && errors.Is(cause, context.DeadlineExceeded) && fault.Of(err) == fault.Internal {
			return nil, busy(0)
		}
		return nil, err
	}
	return turn, nil
}

// begin waits for the beginning of a turn that came early, where it knows.
func (r *reading) begin(ctx context.Context, turn Turn) error {
	t, knows := turn.(interface{ From() time.Time })
	if !knows {
		return nil
	}
	wait := t.From().Sub(r.cfg.Clock.Now())
	if wait <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return endUnused(ctx, turn, ctx.Err())
	case <-r.cfg.Clock.After(wait):
		return nil
	}
}

// kept is false for a turn that came too soon for the gap that keys ask for, where it knows.
func kept(turn Turn, keys []Key) bool {
	t, knows := turn.(interface{ Keeps(gap time.Duration) bool })
	if !knows {
		return true
	}
	gap := time.Duration(0)
	for _, k := range keys {
		gap = max(gap, k.Gap)
	}
	return t.Keeps(gap)
}

// busy is the fault of a wait that would be too long.
func busy(wait time.Duration) error {
	return &fault.Error{
		Kind: fault.HostBusy, RetryAfter: max(wait, time.Second),
		Detail: "The site's pace, or a pause that it asked for, would not allow the request in time. Try again after the time given, or allow a longer timeout.",
	}
}

// turnEnd bounds how long giving a turn back may take once the read is over.
const turnEnd = 5 * time.Second

// endTurn gives a turn back, also when the read was cancelled.
func endTurn(ctx context.Context, turn Turn, written time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnEnd)
	defer cancel()
	return turn.End(ctx, written)
}

// endUnused gives a turn back that no request was made with, because of err.
func endUnused(ctx context.Context, turn Turn, err error) error {
	if endErr := endTurn(ctx, turn, time.Time{}); endErr != nil && fault.Of(err) == fault.Internal {
		return errors.Join(err, endErr)
	}
	return err // the turn lapses by itself
}

// send spends a turn on the request that v permits, logs it and gives the turn back. Beside an error the
// response is what there is of one.
func (r *reading) send(ctx context.Context, turn Turn, v policy.Verdict, o fetch.Options) (*fetch.Response, error) {
	p := v.Permit()
	began := r.cfg.Clock.Now()
	watched, stop := r.watch(ctx, turn, p.Target())
	response, err := r.fetcher.Do(watched, p, o)
	stop()
	if !response.WrittenAt.IsZero() {
		r.wroteWith(turn, p)
	}
	if errors.Is(err, fetch.ErrExpired) {
		err = &fault.Error{Kind: fault.TargetTimeout, Err: err, Detail: "The connection to the site took too long. Try again later."}
	}
	return response, r.settle(ctx, turn, p, began, response, err)
}

// transit is how long a request may take to the site where no answer tells that it came sooner.
const transit = 40 * time.Millisecond

// arrival is when the site had the request at the latest: the gap is between arrivals, which the site sees, and
// we see only writes and answers. Zero when nothing was written.
func arrival(response *fetch.Response, now time.Time) time.Time {
	if response.WrittenAt.IsZero() {
		return time.Time{}
	}
	latest := now
	if !response.AnsweredAt.IsZero() {
		latest = response.AnsweredAt
	}
	if in := response.WrittenAt.Add(transit); in.Before(latest) {
		return in
	}
	return latest
}

// wroteWith notes that the turn was spent on a request.
func (r *reading) wroteWith(turn Turn, p policy.Permit) {
	if r.wrote == nil {
		r.wrote = map[string]Turn{}
	}
	r.wrote[r.ask.Profile.PaceKey(p.Target())] = turn
	if total := r.ask.Profile.TotalKey(); total != "" {
		r.wrote[total] = turn
	}
}

// settle does what is owed after a request, whatever came of it: the row in the fetch log, the pause
// that the site asked for, the turn's end.
func (r *reading) settle(ctx context.Context, turn Turn, p policy.Permit, began time.Time, response *fetch.Response, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnEnd)
	defer cancel()
	var owed error
	if !response.WrittenAt.IsZero() {
		count(ctx)
	}
	if k := fault.Of(err); !response.WrittenAt.IsZero() || k == fault.TargetUnreachable || k == fault.TargetTimeout {
		owed = r.cfg.Log.Fetched(ctx, r.row(p, began, response, err))
	}
	if wait := retryAfter(response.Status, response.Header, r.cfg.Clock.Now()); wait > 0 {
		owed = errors.Join(owed, r.cfg.Turns.Pause(ctx, r.ask.Profile.PaceKey(p.Target()), r.cfg.Clock.Now().Add(wait)))
	}
	owed = errors.Join(owed, turn.End(ctx, arrival(response, r.cfg.Clock.Now())))
	if owed != nil {
		return errors.Join(err, owed) // the kind stays that of err
	}
	return err
}

// watch ends the context when the turn lapses, and within two seconds of the account's suspension or of
// an opt-out that covers t: both are known at most a second late.
func (r *reading) watch(ctx context.Context, turn Turn, t policy.Target) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := func() { cancel(context.Canceled) }
	if end := turn.Deadline(); !end.IsZero() {
		var free context.CancelFunc
		ctx, free = context.WithTimeoutCause(ctx, end.Sub(r.cfg.Clock.Now()), busy(0))
		outer := release
		release = func() { free(); outer() }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.poll(ctx, t, cancel)
	}()
	return ctx, func() { release(); <-done }
}

// stopPoll is how often it is asked, while a request is under way, whether it must be cut.
const stopPoll = time.Second

func (r *reading) poll(ctx context.Context, t policy.Target, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.cfg.Clock.After(stopPoll):
		}
		// A store that fails for a moment cuts nothing: the next request asks again before it starts.
		c, err := r.account(ctx, policy.Control, t)
		if err != nil {
			continue
		}
		if c.Standing != policy.StandingGood {
			cancel(&fault.Error{Kind: fault.AccountSuspended, Detail: "The account was suspended while the page was being read."})
			return
		}
		if stop := refusalFault(policy.Judge(c)); stop != nil {
			cancel(stop)
			return
		}
	}
}

// row is the fetch log's row of one request.
func (r *reading) row(p policy.Permit, began time.Time, response *fetch.Response, err error) FetchRow {
	at := response.WrittenAt
	if at.IsZero() {
		at = began
	}
	row := FetchRow{
		At: at, URL: p.Target().String(), Host: p.Target().Host(), Status: response.Status, Outcome: outcome(err),
		UserAgent: p.Profile().UserAgent(), Egress: p.Country(), Cause: p.Cause(), Profile: p.Profile().Name,
		Stage: stageNames[p.Stage()], Duration: r.cfg.Clock.Now().Sub(began), Bytes: response.Bytes,
	}
	if response.Remote.IsValid() {
		row.Remote = response.Remote.Addr().String()
	}
	return row
}

var stageNames = map[policy.Stage]string{policy.Control: "control", policy.Fetch: "fetch"}

func outcome(err error) string {
	switch fault.Of(err) {
	case fault.TargetTimeout:
		return "timeout"
	case fault.TargetUnreachable:
		return "connection"
	case fault.TooLarge:
		return "too_large"
	case fault.UnsupportedContent:
		return "unreadable"
	case fault.AccountSuspended:
		return "cut"
	}
	if err != nil {
		return "cut"
	}
	return "answered"
}
