package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// mostRetries is how often a URL is queued again after the site failed.
const mostRetries = 2

// mostMishaps is how often a URL is queued again after we failed ourselves.
const mostMishaps = 5

// errNotOurs is how a read ends whose page is not what the job wants.
var errNotOurs = errors.New("jobs: a page that is not delivered")

// task is one item being read.
type task struct {
	*Runner
	item   Item
	work   Work
	scope  scope // of a crawl
	target policy.Target
	finish Finish
}

// one reads an item. outer ends when the process stops; ctx also when the claim lapses.
func (r *Runner) one(ctx, outer context.Context, item Item) Finish {
	t := &task{Runner: r, item: item}
	t.finish = Finish{Item: item, Fate: Ended, Failing: item.Failing}
	var err error
	if t.work, err = r.works.get(ctx, r.c.Store, item); err != nil {
		return t.again(0, true)
	}
	if t.target, err = policy.ParseTarget(item.URL); err != nil {
		return t.ended(t.failure(err))
	}
	if t.work.Kind == Crawl {
		t.scope = newScope(t.work)
		if item.Kind == Page {
			t.finish.Form = FormOf(t.target)
		}
	}
	switch item.Kind {
	case Seed:
		err = t.seed(ctx)
	case Sitemap:
		err = t.sitemap(ctx)
	default:
		err = t.page(ctx)
	}
	return t.judge(outer, err)
}

// request is the item's read.
func (t *task) request(ctx context.Context) reader.Request {
	cause := policy.Cause{Kind: policy.CauseKind(t.work.Kind), ID: t.work.Job, Account: t.work.Account, Request: t.work.Request}
	r := reader.Request{
		Profile: t.c.Profile, Cause: cause, Target: t.target, Options: t.work.Options, FingerprintKey: t.work.FingerprintKey,
		Turn: t.item.Turn, Follow: t.work.Kind == Crawl,
	}
	if t.work.Kind == Crawl {
		r.Within = t.mayLead(ctx)
		if t.item.Kind == Start {
			r.Within, r.FreshRobots = t.scope.sameOwner, refetches(t.c.Profile)
		}
	}
	return r
}

// mayLead says where redirects may lead: on the site, and not to a page that the job has or will have under
// that name.
func (t *task) mayLead(ctx context.Context) func(policy.Target) bool {
	return func(to policy.Target) bool {
		if !t.scope.onSite(to) || t.item.Kind == Sitemap {
			return t.scope.onSite(to)
		}
		form := FormOf(to)
		if form == FormOf(t.target) {
			return true // a hop that sets a cookie, or adds what names no page
		}
		known, err := t.c.Store.KnowsPage(ctx, t.item.Job, form)
		return err != nil || !known
	}
}

// refetches is true for profiles that read robots.txt anew when a crawl begins.
func refetches(p *policy.Profile) bool {
	for _, when := range p.Robots.RefetchOn {
		if when == policy.CrawlStart {
			return true
		}
	}
	return false
}

// page reads a page through the meter; the hand-over seals it.
func (t *task) page(ctx context.Context) error {
	if t.item.Kind == Start && !t.scope.wanted(t.target) {
		return t.look(ctx)
	}
	l := &itemLedger{ledger: t.c.Ledger, finish: &t.finish}
	meter := billing.New(t.c.Reader, l)
	order := billing.Order{
		Account: t.work.Account, Key: t.work.Key, Operation: t.item.ID(), Job: t.work.Job, Kind: t.work.Kind,
		Longest: t.c.Timeout + margin, Request: t.request(ctx),
	}
	return meter.Read(ctx, order, t.handOver)
}

// look reads a start page that is not itself wanted, for its links.
func (t *task) look(ctx context.Context) error {
	trail, err := t.c.Reader.Look(ctx, t.request(ctx))
	if err != nil {
		return err
	}
	t.follow(trail)
	t.finish.Counter = Skipped
	return nil
}

// handOver seals the page to the job's key, once for each time the customer gave its URL.
func (t *task) handOver(_ context.Context, d *reader.Document, h billing.Hold) error {
	t.finish.Counter = string(d.Receipt().Outcome())
	if t.work.Kind == Crawl {
		t.follow(d.Trail())
		if !t.scope.wanted(t.trailTarget(d)) {
			t.finish.Counter, t.finish.Sealed = Skipped, nil
			return errNotOurs
		}
	}
	t.finish.Requests = 1 + len(d.Page().Decision.Hops)
	t.finish.Final = d.Page().FinalURL
	units := h.Charge(d.Receipt())
	for i, written := range append([]string{t.item.Written()}, t.item.Twins...) {
		answer := reader.Answer{Page: d.Page(), RequestID: t.work.Request}
		answer.URL = written
		if i == 0 && units > 0 {
			answer.Charge = reader.Charge{Units: units, Receipt: h.Receipt}
		}
		page, err := json.Marshal(answer)
		if err != nil {
			return errors.New("jobs: a page has no JSON form")
		}
		if err := t.seal(i, Line{URL: written, Page: page}, false); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) trailTarget(d *reader.Document) policy.Target {
	if final := d.Trail().Final; !final.IsZero() {
		return final
	}
	return t.target
}

// seal adds a result. The URL is in the envelope too: outside it stands only the host.
func (t *task) seal(i int, line Line, failure bool) error {
	plain, err := json.Marshal(line)
	if err != nil {
		return errors.New("jobs: a result has no JSON form")
	}
	item := t.item.ID()
	if i > 0 {
		item = fmt.Sprintf("%s.%d", item, i)
	}
	envelope, err := t.work.Recipient.Seal(seal.Context{Account: t.work.Account, Job: t.work.Job, Item: item}, plain)
	if err != nil {
		return fmt.Errorf("seal a result: %w", err)
	}
	t.finish.Sealed = append(t.finish.Sealed, Sealed{Item: item, Host: t.item.Host, Failure: failure, Envelope: envelope})
	return nil
}

// judge says what becomes of the item after its read ended with err.
func (t *task) judge(outer context.Context, err error) Finish {
	if err == nil {
		t.finish.Failing = 0
		return t.finish
	}
	if errors.Is(err, errNotOurs) {
		return t.finish
	}
	t.finish.Cause = err
	if outer.Err() != nil {
		return t.again(0, false) // we are stopping: the next one reads it
	}
	if off, ok := errors.AsType[*reader.OffScope](err); ok {
		return t.offScope(off.Target)
	}
	f := fault.As(err)
	switch f.Kind {
	case fault.AccountSuspended:
		return t.stop(ReasonSuspended)
	case fault.PaymentRequired:
		return t.stop(ReasonPayment)
	case fault.HostBusy, fault.Overloaded:
		return t.wait(f)
	case fault.Internal:
		return t.mishap(err)
	}
	if trail, ok := reader.TrailIn(err); ok && t.work.Kind == Crawl {
		t.follow(trail)
	}
	t.finish.Requests = max(t.finish.Requests, requestsOf(f))
	return t.failed(f)
}

// requestsOf is 0 for what was decided before a request was made.
func requestsOf(f *fault.Error) int {
	if f.TargetStatus == 0 && (f.Kind == fault.BlockedBySitePolicy || f.Kind == fault.AddressNotAllowed) {
		return 0
	}
	return 1
}

// failed ends an item, or queues it again after a failure that may pass.
func (t *task) failed(f *fault.Error) Finish {
	busy := f.TargetStatus == http.StatusTooManyRequests || f.TargetStatus >= http.StatusInternalServerError
	wait := time.Duration(0)
	if busy {
		t.finish.Failing = t.item.Failing + 1
		wait, _ = t.c.Profile.Again(f.TargetStatus, t.finish.Failing, f.RetryAfter)
		t.finish.Pause = wait
	}
	if passes(f) && t.item.Attempts < mostRetries {
		return t.again(max(wait, t.c.Profile.Pace.Backoff.Wait(t.item.Attempts+1)), true)
	}
	return t.ended(f)
}

// passes is true for failures of a site that another try may get over. A refusal is none, and 503 is an
// answer: not now.
func passes(f *fault.Error) bool {
	switch f.Kind {
	case fault.TargetTimeout, fault.TargetUnreachable:
		return true
	case fault.TargetError:
		return f.Reason == "server_error" && f.TargetStatus != http.StatusServiceUnavailable
	}
	return false
}

// wait lets an item wait as long as the site wants; what cannot be in time ends.
func (t *task) wait(f *fault.Error) Finish {
	wait := max(f.RetryAfter, 250*time.Millisecond)
	if t.c.Clock.Now().Add(wait).After(t.work.Deadline) {
		return t.ended(f)
	}
	return t.again(wait, false)
}

// mishap is a failure of our own: the item is tried again a few times.
func (t *task) mishap(err error) Finish {
	if t.item.Attempts < mostMishaps {
		t.c.Log.Warn("a URL of a job could not be read for a reason of ours; it is tried again", "job", t.item.Job, "error", err.Error())
		return t.again(time.Second<<t.item.Attempts, true)
	}
	t.c.Log.Error("a URL of a job could not be read for a reason of ours", "job", t.item.Job, "error", err.Error())
	return t.ended(t.failure(err))
}

func (t *task) failure(err error) *fault.Error { return &fault.Error{Kind: fault.Internal, Err: err} }

func (t *task) again(wait time.Duration, failed bool) Finish {
	f := &t.finish
	f.Fate, f.Counter, f.Sealed, f.Found, f.Receipt = Again, "", nil, nil, reader.Receipt{}
	f.Retry, f.Failed = wait, failed
	return *f
}

// stop ends the whole job.
func (t *task) stop(reason string) Finish {
	f := t.again(0, false)
	f.Stop = reason
	return f
}

// offScope ends an item whose page leads elsewhere: told, not followed. One that leads to another page of
// the job is a name of that page.
func (t *task) offScope(to policy.Target) Finish {
	t.finish.Requests = 1
	if t.scope.onSite(to) {
		t.finish.Counter = Duplicate
		return t.finish
	}
	return t.ended(&fault.Error{Kind: fault.TargetError, Reason: "off_domain_redirect", Detail: "The page redirects to " + cutText(to.String(), 500) +
		", outside of this crawl, and was not followed. Start a crawl there, or read it alone."})
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}

// ended ends an item with a failure as its result. Sitemaps have none.
func (t *task) ended(f *fault.Error) Finish {
	t.finish.Fate, t.finish.Counter = Ended, string(billing.OutcomeOf(f))
	t.finish.Sealed, t.finish.Receipt = nil, reader.Receipt{}
	if t.item.Kind == Start && len(t.finish.Found) == 0 {
		t.startOver()
	}
	if t.item.Kind == Seed || t.item.Kind == Sitemap || t.item.Kind == Start && t.work.Rules.Sitemap == SitemapOnly {
		return t.finish
	}
	failure := Failure{Kind: uint8(f.Kind), Reason: f.Reason, Detail: f.Detail, TargetStatus: f.TargetStatus, RetryAfter: f.RetryAfter}
	if d, ok := reader.DecisionIn(f); ok {
		failure.Decision = &d
	}
	for i, written := range append([]string{t.item.Written()}, t.item.Twins...) {
		if err := t.seal(i, Line{URL: written, Fault: &failure}, true); err != nil {
			t.finish.Cause = errors.Join(t.finish.Cause, err)
		}
	}
	return t.finish
}

// itemLedger is the ledger of one item: the hold is made as always; its end is part of the finish.
type itemLedger struct {
	ledger billing.Ledger
	finish *Finish
}

// Hold reserves the price.
func (l *itemLedger) Hold(ctx context.Context, o billing.Order) (billing.Hold, error) {
	h, err := l.ledger.Hold(ctx, o)
	l.finish.Hold, l.finish.Held = h, err == nil
	return h, err
}

// Settle keeps the receipt for the finish.
func (l *itemLedger) Settle(_ context.Context, _ billing.Hold, r reader.Receipt) error {
	l.finish.Receipt = r
	return nil
}

// Void keeps the cause for the finish.
func (l *itemLedger) Void(_ context.Context, _ billing.Hold, _ reader.Outcome, cause error) error {
	l.finish.Cause = cause
	return nil
}
