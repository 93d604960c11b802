package watch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

const (
	defaultPages = 50               // of a site and round, when neither watch nor profile says
	mostPages    = 1000             // known of a site
	mostSitemaps = 20               // of a site
	missesToGone = 2                // rounds with 404 or 410
	longestWait  = 2 * time.Minute  // that a visit is kept waiting for; beyond, it is given back
	patience     = time.Minute      // that a request waits for its turn
	unpunctual   = 10 * time.Second // from the end of patience until a request is written, at most
	longestIdle  = 5 * time.Minute  // that a visit waits in short waits; its lease is longer by more than a read
	mostFailures = 12               // in a row, with growing waits, until a host is left alone for the round
	endTime      = 10 * time.Second
)

// visit is one site of one round.
type visit struct {
	*Runner
	claim   *Claim
	scope   *scope
	pages   []*Page
	known   map[string]*Page
	skipped map[string]bool  // hosts left alone this round
	heard   map[string]*word // sitemaps that answered in this visit, by what hints of theirs begin with
	worked  time.Time        // when it last recorded something, which lengthens its lease
	since   time.Time        // copies of robots.txt that are older are not used, where the profile says so
	later   time.Time        // when a listing may be fetched that may not yet; zero is none
	changes []Told
	stop    bool // the round ends here: no money, no account
	mapped  bool // robots.txt was asked for the site's sitemaps
	others  bool // a round before had no time for other pages than start pages: they go first
	before  int  // requests until the claim
	sent    *atomic.Int64
}

// visit visits the claim's site to the end, or gives it back.
func (r *Runner) visit(ctx context.Context, c *Claim) {
	v := &visit{Runner: r, claim: c, known: map[string]*Page{}, skipped: map[string]bool{}, heard: map[string]*word{}, worked: r.Clock.Now()}
	counted, sent := gate.Counting(ctx)
	v.before, v.sent = c.Tally.Requests, sent
	until, err := v.run(counted)
	v.count()
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if len(v.changes) > 0 && !errors.Is(err, ErrLost) {
		err = errors.Join(err, r.Book.Tell(after, c, v.changes))
	}
	switch {
	case errors.Is(err, ErrLost):
		return
	case ctx.Err() != nil:
		err = r.Book.Postpone(after, c, r.Clock.Now())
	case err != nil:
		r.Log.Error("watches: a visit failed; it is taken up again", "watch", c.Watch.ID, "round", c.Round, "error", err.Error())
		err = r.Book.Postpone(after, c, r.Clock.Now().Add(longestWait))
	case !until.IsZero():
		err = r.Book.Postpone(after, c, until)
	default:
		err = r.Book.Finish(after, c)
	}
	if err != nil && !errors.Is(err, ErrLost) {
		r.Log.Error("watches: a visit could not be ended; it lapses", "watch", c.Watch.ID, "error", err.Error())
	}
}

// count brings the tally up to the requests made so far.
func (v *visit) count() { v.claim.Tally.Requests = v.before + int(v.sent.Load()) }

// run goes from page to page. It answers when to go on; the zero time says that all is done.
func (v *visit) run(ctx context.Context) (time.Time, error) {
	if opens := v.opens(v.Clock.Now()); opens.After(v.Clock.Now()) {
		return opens, nil
	}
	if err := v.start(ctx); err != nil {
		return time.Time{}, err
	}
	if err := v.load(ctx); err != nil {
		return time.Time{}, err
	}
	if spent, err := v.spent(ctx); err != nil || spent {
		return time.Time{}, err
	}
	for ctx.Err() == nil && !v.stop {
		now := v.Clock.Now()
		if opens := v.opens(now); opens.After(now) {
			return opens, nil
		}
		if now.Sub(v.worked) >= longestIdle {
			return now, nil // to the end of the line, before the lease lapses
		}
		p := v.next(now)
		if p == nil {
			return v.later, nil
		}
		if paused, err := v.Book.Paused(ctx, v.claim); err != nil || paused {
			return now, err // nobody takes it up before the watch is resumed
		}
		until, err := v.one(ctx, p)
		if err == nil && until.IsZero() {
			err = v.findSitemaps(ctx, p)
		}
		if err != nil || !until.IsZero() {
			return until, err
		}
	}
	return time.Time{}, ctx.Err()
}

// opens is when a request may begin, now or later: one that waits for its turn must not come out after
// the window has closed.
func (v *visit) opens(now time.Time) time.Time {
	window := v.Profile.Schedule.Window
	if !window.Open(now) {
		return window.NextOpen(now)
	}
	if !window.Open(now.Add(patience + unpunctual)) {
		return window.NextOpen(window.NextClosed(now))
	}
	return now
}

// start notes that the round has begun its work, and plans anew when the next one became due while it
// waited for its window: that one is this one.
func (v *visit) start(ctx context.Context) error {
	now := v.Clock.Now()
	started, first, err := v.Book.Start(ctx, v.claim)
	if err != nil {
		return err
	}
	v.since = started
	if closes := v.Profile.Schedule.Window.NextClosed(started); !closes.IsZero() && closes.Before(now) {
		v.since = now // another night
	}
	w := v.claim.Watch
	if !first || w.NextRound.IsZero() || w.NextRound.After(now) {
		return nil
	}
	begun, err := v.Book.Begun(ctx, w.ID, now.Add(-48*time.Hour))
	if err != nil {
		return err
	}
	return v.Book.PutOff(ctx, w.ID, w.Schedule.Next(v.Profile, now, begun))
}

// spent is true when other watches have had the day's rounds of this site: what the profile promises to a
// site holds for all watches together.
func (v *visit) spent(ctx context.Context) (bool, error) {
	since, most := today(v.Profile, v.Clock.Now())
	if most == 0 || v.before > 0 || len(v.claim.Site.StartURLs) == 0 {
		return false, nil
	}
	others, err := v.Book.Others(ctx, v.claim, since)
	if err != nil || others < most {
		return false, err
	}
	t, err := policy.ParseTarget(v.claim.Site.StartURLs[0])
	if err != nil {
		return false, nil //nolint:nilerr // it is noted when the page is tried
	}
	return true, v.skipHost(ctx, t.Host(), "rounds_used")
}

// load reads what is known of the site, and on the first visit where its sitemaps are.
func (v *visit) load(ctx context.Context) error {
	var err error
	if v.scope, err = newScope(v.Profile, v.claim.Site); err != nil {
		return err
	}
	pages, err := v.Book.Pages(ctx, v.claim)
	if err != nil {
		return fmt.Errorf("read the site's pages: %w", err)
	}
	for i := range pages {
		v.keep(&pages[i])
	}
	v.others = v.owed()
	return nil
}

func (v *visit) keep(p *Page) {
	v.pages = append(v.pages, p)
	v.known[p.Hash] = p
	v.scope.hosts[p.Host] = true
}

// cap is how many pages the visit may fetch: the strictest of what the watch and the profile say.
func (v *visit) cap() int {
	most := v.claim.Watch.MaxPages
	if limit := v.Profile.Scope.MaxPagesPerSite; limit > 0 && (most <= 0 || limit < most) {
		most = limit
	}
	if most <= 0 {
		return defaultPages
	}
	return most
}

// owed is true when a round before had no time for a page that then was next: a site so slow that a round
// gets no further than its start pages. That page goes before them now.
func (v *visit) owed() bool {
	for _, p := range v.pages {
		if p.Kind == Linked && p.Wanted && p.Hint == "" {
			return true
		}
	}
	return false
}

// next is the page to fetch now; nil when there is none.
func (v *visit) next(now time.Time) *Page {
	spent := 0
	for _, p := range v.pages {
		if p.Round == v.claim.Round {
			spent++
		}
	}
	if v.later = (time.Time{}); spent >= v.cap() {
		return nil
	}
	var best *Page
	for _, p := range v.pages {
		if p.Round == v.claim.Round || v.skipped[p.Host] || !v.due(p, now) {
			continue
		}
		if best == nil || v.sooner(p, best) {
			best = p
		}
	}
	return best
}

// sooner is the order of a round: start pages and what stands for them, then what was never seen or is
// said to be new, then what was looked at longest ago; documents after pages.
func (v *visit) sooner(a, b *Page) bool {
	if x, y := v.rank(a), v.rank(b); x != y {
		return x < y
	}
	return a.CheckedAt.Before(b.CheckedAt)
}

func (v *visit) rank(p *Page) int {
	switch {
	case p.Kind == Start && v.others:
		return 4
	case p.Kind == Start && p.Fed:
		return 1 // what the feed tells is known before
	case p.Kind == Start || p.Kind == Feed:
		return 0
	case p.Kind == Sitemap:
		return 1
	case p.CheckedAt.IsZero() || p.Wanted && markOf(p.Hint) != markFailed:
		if p.Kind == Document {
			return 3
		}
		return 2
	case p.Kind == Document:
		return 5
	}
	return 4
}

// due is false for what this round has no reason to fetch.
func (v *visit) due(p *Page, now time.Time) bool {
	switch {
	case p.CheckedAt.IsZero():
		return true
	case p.Kind.Listing():
		return (!p.Fed || now.Sub(p.CheckedAt) >= feedLooksAgain) && v.listingDue(p, now)
	case p.Kind == Document && (p.Fed || v.Profile.Scope.DocumentsOnce):
		return p.Wanted
	case p.Hint == alias:
		return now.Sub(p.CheckedAt) >= mapLooksAgain
	case p.Fed:
		return p.Wanted || now.Sub(p.CheckedAt) >= feedLooksAgain
	}
	return !v.vouched(p, now)
}

// listingDue: a listing that may be fetched a little later in the same night is waited for. A sitemap is
// fetched in a day's first round only, but for one whose word spares visits.
func (v *visit) listingDue(p *Page, now time.Time) bool {
	every := v.Profile.Schedule.Listing
	if p.Kind == Sitemap && !v.eachRound(p) {
		every = max(every, mapAge)
	}
	at := p.CheckedAt.Add(every)
	if !at.After(now) {
		return true
	}
	closes := v.Profile.Schedule.Window.NextClosed(now)
	if at.Before(closes) && (v.later.IsZero() || at.Before(v.later)) {
		v.later = at
	}
	return false
}

// one fetches one page and records what it came to. A time says when to go on with the visit.
func (v *visit) one(ctx context.Context, p *Page) (time.Time, error) {
	target, err := policy.ParseTarget(p.URL)
	if err != nil {
		return time.Time{}, v.skipPage(ctx, p, "invalid_url")
	}
	err = v.fetch(ctx, p, target)
	switch {
	case ctx.Err() != nil || errors.Is(err, ErrLost):
		return time.Time{}, err
	case isBusy(err):
		return v.await(ctx, p, max(fault.As(err).RetryAfter, time.Second))
	case err != nil:
		return v.failed(ctx, p, err)
	}
	v.claim.Failed = 0
	return time.Time{}, nil
}

// await waits for the site's pace; a long wait is for somebody else to end. One that lasts until the next
// round is due leaves the host to that one, so that no site holds up all others.
func (v *visit) await(ctx context.Context, p *Page, wait time.Duration) (time.Time, error) {
	if until := v.Clock.Now().Add(wait); wait > longestWait {
		if v.outlasts(until) {
			return time.Time{}, v.owe(ctx, p)
		}
		return until, nil
	}
	select {
	case <-ctx.Done():
	case <-v.Clock.After(wait):
	}
	return time.Time{}, ctx.Err()
}

// owe leaves p's host to the next round, which begins with p.
func (v *visit) owe(ctx context.Context, p *Page) error {
	if p.Kind == Linked && p.Hint == "" {
		p.Wanted = true
		if _, err := v.Book.Record(ctx, v.claim, Finding{Page: *p}); err != nil {
			return err
		}
	}
	return v.skipHost(ctx, p.Host, fault.HostBusy.String())
}

// outlasts is true when the next round is due by then.
func (v *visit) outlasts(until time.Time) bool {
	next := v.claim.Watch.NextRound
	return !next.IsZero() && !until.Before(next)
}

// fetch fetches p in the way of its kind.
func (v *visit) fetch(ctx context.Context, p *Page, t policy.Target) error {
	switch p.Kind {
	case Feed:
		return v.feed(ctx, p, t)
	case Sitemap:
		return v.sitemap(ctx, p, t)
	}
	return v.read(ctx, p, t)
}

// failed decides what becomes of a page that could not be had.
func (v *visit) failed(ctx context.Context, p *Page, err error) (time.Time, error) {
	f := fault.As(err)
	var off *gate.OffScope
	var unsettled *billing.SettleError
	switch {
	case errors.As(err, &unsettled):
		return time.Time{}, nil // the change is delivered; the house pays
	case errors.As(err, &off):
		return time.Time{}, v.led(ctx, p, off.Target)
	case errors.Is(err, errListing):
		return time.Time{}, v.unlisted(ctx, p, "unreadable")
	}
	reason := f.Reason
	if reason == "" {
		reason = f.Kind.String()
	}
	switch f.Kind {
	case fault.TargetNotFound:
		if p.Kind == Feed || p.Kind == Sitemap {
			return time.Time{}, v.unlisted(ctx, p, "not_found")
		}
		return time.Time{}, v.missing(ctx, p)
	case fault.PaymentRequired, fault.AccountSuspended:
		v.stop = true
		return time.Time{}, v.skipHost(ctx, p.Host, reason)
	case fault.TargetUnreachable, fault.TargetTimeout, fault.AddressNotAllowed:
		return time.Time{}, v.leave(ctx, p, reason)
	case fault.BlockedBySitePolicy:
		return v.blocked(ctx, p, f, reason)
	}
	if f.Kind == fault.TargetError && f.TargetStatus >= 500 || f.Kind == fault.TargetRefused && f.Reason == "rate_limited" {
		return v.busy(ctx, p, f.TargetStatus, f.RetryAfter, reason)
	}
	if f.Kind == fault.Internal {
		v.Log.Error("watches: a page could not be read", "watch", v.claim.Watch.ID, "error", err.Error())
	}
	if p.Kind == Feed {
		return time.Time{}, v.unlisted(ctx, p, reason)
	}
	return time.Time{}, v.skip(ctx, p, reason, f.Kind == fault.Internal)
}

func (v *visit) blocked(ctx context.Context, p *Page, f *fault.Error, reason string) (time.Time, error) {
	switch reason {
	case policy.ReasonNoIndex:
		return time.Time{}, v.discard(ctx, p)
	case policy.ReasonUnreachable:
		return v.busy(ctx, p, 503, f.RetryAfter, reason)
	case policy.ReasonOptOut, policy.ReasonCrawlDelay:
		if v.claimWholeHost(f) {
			return time.Time{}, v.leave(ctx, p, reason)
		}
	}
	if p.Kind == Feed {
		return time.Time{}, v.unlisted(ctx, p, reason)
	}
	return time.Time{}, v.skip(ctx, p, reason, true)
}

// claimWholeHost is true when what refused stands for the whole host, not for a part of it.
func (v *visit) claimWholeHost(f *fault.Error) bool {
	var refusal *policy.Refusal
	if !errors.As(f.Err, &refusal) || len(refusal.Verdict.Grounds) == 0 {
		return false
	}
	g := refusal.Verdict.Grounds[0]
	for i := range len(g.Rule) {
		if g.Source == policy.ByOptOut && g.Rule[i] == '/' {
			return false // "site.example/path"
		}
	}
	return true
}

// busy is a site that asks for a pause: it is waited for where the profile comes back, longer each
// time, and left alone for the round where not.
func (v *visit) busy(ctx context.Context, p *Page, status int, retryAfter time.Duration, reason string) (time.Time, error) {
	v.claim.Failed++
	wait, again := v.Profile.Again(status, v.claim.Failed, retryAfter)
	if until := v.Clock.Now().Add(wait); again && v.claim.Failed <= mostFailures && !v.outlasts(until) {
		return until, nil
	}
	v.claim.Failed = 0
	return time.Time{}, v.leave(ctx, p, reason)
}

// leave leaves p's host alone for the rest of the round.
func (v *visit) leave(ctx context.Context, p *Page, reason string) error {
	if err := v.skip(ctx, p, reason, true); err != nil {
		return err
	}
	return v.skipHost(ctx, p.Host, reason)
}

func (v *visit) skipHost(ctx context.Context, host, reason string) error {
	v.skipped[host] = true
	return v.Book.Skip(ctx, v.claim, Skip{host, reason})
}

// skipPage notes that p was tried in vain: what is known of it stays.
func (v *visit) skipPage(ctx context.Context, p *Page, reason string) error {
	return v.skip(ctx, p, reason, false)
}

// skip is skipPage. again says that what was told of p is still to be looked at: the failure may pass.
func (v *visit) skip(ctx context.Context, p *Page, reason string, again bool) error {
	v.claim.Tally.Skipped++
	v.tell(p, "skipped", reason)
	f := Finding{Page: *p, Again: again}
	if p.Kind == Linked || p.Kind == Document {
		f.Page.Hint = failed(p.Hint)
	}
	return v.record(ctx, p, f, change.Unchanged)
}

// discard keeps nothing of a page that asks not to be kept but its address.
func (v *visit) discard(ctx context.Context, p *Page) error {
	v.claim.Tally.Skipped++
	v.tell(p, "skipped", policy.ReasonNoIndex)
	bare := *p
	bare.Validators, bare.Body, bare.State = gate.Validators{}, nil, nil
	return v.record(ctx, p, Finding{Page: bare}, change.Unchanged)
}

// record keeps a finding and brings p up to it.
func (v *visit) record(ctx context.Context, p *Page, f Finding, kind change.Kind) error {
	f.Page.CheckedAt, f.Page.Round, f.Page.Wanted = v.Clock.Now(), v.claim.Round, f.Again && f.Page.Hint != ""
	v.count()
	seq, err := v.Book.Record(ctx, v.claim, f)
	if err != nil {
		return err
	}
	v.worked = f.Page.CheckedAt
	if f.Change != nil {
		v.changes = append(v.changes, Told{seq, p.URL, kind})
	}
	*p = f.Page
	v.adopted(f.Learned)
	return nil
}

// adopted takes what was recorded of other pages into the visit.
func (v *visit) adopted(learned []Page) {
	for i := range learned {
		if old := v.known[learned[i].Hash]; old != nil {
			*old = learned[i]
		} else {
			v.keep(&learned[i])
		}
	}
}

func (v *visit) tell(p *Page, kind, reason string) {
	if v.Told != nil {
		v.Told(Progress{Site: v.claim.Site.Name, URL: p.URL, Kind: kind, Reason: reason})
	}
}
