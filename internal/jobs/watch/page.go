package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// read reads a page or document through the meter: one conditional request, which ends at a 304 or an
// equal body.
func (v *visit) read(ctx context.Context, p *Page, t policy.Target) error {
	w := v.claim.Watch
	if w.MaxUnits > 0 {
		if ok, err := v.Book.Reserve(ctx, v.claim, 1); err != nil || !ok {
			return v.ceiling(ctx, p, err)
		}
	}
	charged := false
	request := reader.Request{
		Profile: v.Profile, Cause: v.cause(), Target: t, Options: w.Options.Read, FingerprintKey: v.claim.FingerprintKey,
		NoTokens: w.Options.NoPage, Within: v.within(p), RobotsSince: v.since, Trace: true, Patience: patience,
	}
	if state, err := stateOf(p); err == nil && state.Seen && state.Missed == 0 {
		request.Validators, request.KnownBody = p.Validators, p.Body
	}
	err := v.Meter.Read(ctx, billing.Order{
		Account: w.Account, Key: w.Key, Operation: v.claim.Round + "." + p.Hash, Job: w.ID, Kind: string(policy.CauseWatch),
		Longest: patience + 2*v.Timeout, Request: request,
	}, func(ctx context.Context, d *reader.Document, h billing.Hold) error {
		err := v.take(ctx, p, d, h)
		charged = err == nil && h.Charge(d.Receipt()) > 0
		return err
	})
	if w.MaxUnits > 0 && !charged {
		if _, back := v.Book.Reserve(context.WithoutCancel(ctx), v.claim, -1); back != nil && err == nil {
			err = back
		}
	}
	return err
}

// ceiling ends the round of a watch whose units are used up.
func (v *visit) ceiling(ctx context.Context, p *Page, err error) error {
	if err != nil {
		return err
	}
	v.stop = true
	if err := v.Book.Pause(ctx, v.claim.Watch.ID, ReasonMaxUnits); err != nil {
		return err
	}
	return v.skipHost(ctx, p.Host, ReasonMaxUnits)
}

func (v *visit) cause() policy.Cause {
	w := v.claim.Watch
	return policy.Cause{Kind: policy.CauseWatch, ID: w.ID, Account: w.Account, Request: w.Request}
}

// within keeps redirects on the site; a start page may lead to another of the site's names. Other pages
// may not lead to what is visited by itself, nor to what no link would be followed to.
func (v *visit) within(p *Page) func(policy.Target) bool {
	if p.Kind == Start {
		return v.scope.related
	}
	return func(t policy.Target) bool {
		other := v.known[hashOf(t)]
		return v.scope.holds(t) && (other == nil || other == p) && !isHome(t) && !v.scope.shuns(t)
	}
}

// alias is the hint of a page that only leads to another one of the site, which is visited by itself.
const alias = "alias"

func isHome(t policy.Target) bool { return t.PathQuery() == "/" }

// led is a page that redirects to where it is not followed. Nothing is there any more when that is the
// home page or a start page, which is what many sites answer with in place of a 404.
func (v *visit) led(ctx context.Context, p *Page, to policy.Target) error {
	other := v.known[hashOf(to)]
	switch {
	case p.Kind == Feed || p.Kind == Sitemap:
		return v.unlisted(ctx, p, "redirect_off_topic")
	case v.scope.holds(to) && isHome(to), other != nil && other.Kind == Start:
		return v.missing(ctx, p)
	case other != nil:
		f := Finding{Page: *p}
		f.Page.Hint = alias
		return v.unchanged(ctx, p, f)
	case v.scope.holds(to):
		return v.skipPage(ctx, p, "redirect_off_topic")
	}
	return v.skipPage(ctx, p, "redirect_off_site")
}

// take compares the page with the visit before, inside the hand-over: the change is sealed and recorded
// here, or the charge is taken back.
func (v *visit) take(ctx context.Context, p *Page, d *reader.Document, h billing.Hold) error {
	f := Finding{Page: *p}
	if d.Receipt().Outcome() == reader.Unchanged {
		if fresh := d.Validators(); fresh != (gate.Validators{}) {
			f.Page.Validators = fresh
		}
		return v.unchanged(ctx, p, f)
	}
	old, err := stateOf(p)
	if err != nil {
		return err
	}
	if v.double(p, d.Page().FinalURL) {
		d.Forgo()
		return v.unchanged(ctx, p, f)
	}
	if slices.Contains(d.Page().Warnings, "soft_404") {
		d.Forgo()
		return v.missing(ctx, p)
	}
	trace := d.Trace()
	if !d.Verdict().NoFollow {
		f.Learned = v.learn(p, d.Page().FinalURL, trace)
	}
	report, state := v.detector().Visit(old, trace.Blocks)
	f.Page.Validators, f.Page.Body = d.Validators(), d.BodyDigest()
	if f.Page.State, err = state.MarshalBinary(); err != nil {
		return err
	}
	v.leftOut(p, &f)
	if report.Kind == change.Changed {
		f.Page.Hint = v.mark(p)
	}
	if report.Kind == change.Unchanged {
		d.Forgo()
		return v.unchanged(ctx, p, f)
	}
	if f.Change, err = v.seal(p, d, h, report); err != nil {
		return err
	}
	return v.found(ctx, p, f, report.Kind)
}

func (v *visit) unchanged(ctx context.Context, p *Page, f Finding) error {
	return v.found(ctx, p, f, change.Unchanged)
}

func (v *visit) found(ctx context.Context, p *Page, f Finding, kind change.Kind) error {
	if markOf(f.Page.Hint) == markFailed {
		f.Page.Hint = unmarked(f.Page.Hint)
	}
	v.claim.Tally.count(kind)
	if err := v.record(ctx, p, f, kind); err != nil {
		return err
	}
	v.tell(p, string(kind), "")
	return nil
}

// double is true for a page that redirects to another one that is watched by itself.
func (v *visit) double(p *Page, final string) bool {
	t, err := policy.ParseTarget(final)
	if err != nil {
		return false
	}
	other := v.known[hashOf(t)]
	return other != nil && other != p && p.Kind != Start
}

func (v *visit) detector() *change.Detector {
	return change.NewDetector(change.Options{
		Key: v.claim.FingerprintKey, ExcerptChars: v.Profile.Answer.ExcerptChars, Misses: missesToGone,
	})
}

func stateOf(p *Page) (change.State, error) {
	var s change.State
	if err := s.UnmarshalBinary(p.State); err != nil {
		return s, fmt.Errorf("the state of a page: %w", err)
	}
	return s, nil
}

// missing is a page that answered 404 or 410.
func (v *visit) missing(ctx context.Context, p *Page) error {
	old, err := stateOf(p)
	if err != nil {
		return err
	}
	f := Finding{Page: *p}
	report, state := v.detector().Missing(old)
	if f.Page.State, err = state.MarshalBinary(); err != nil {
		return err
	}
	if !state.Seen {
		f.Page.State = nil
	}
	if report.Kind != change.Gone {
		v.claim.Tally.Skipped++
		v.tell(p, "skipped", "not_found")
		f.Again = state.Seen && int(state.Missed) < missesToGone || p.CheckedAt.IsZero()
		return v.record(ctx, p, f, change.Unchanged)
	}
	if f.Change, err = v.sealChange(p, v.describe(p, report, p.URL, "")); err != nil {
		return err
	}
	return v.found(ctx, p, f, change.Gone)
}

func (v *visit) describe(p *Page, r change.Report, final, title string) Change {
	c := Change{
		Round: v.claim.Round, URL: p.URL, Kind: r.Kind, DetectedAt: v.Clock.Now().UTC(), Title: title, Ignored: r.Ignored, Flickers: r.Flickers,
		Blocks: Blocks{r.Added, r.Removed, r.Changed}, Passages: r.Passages, Source: final,
	}
	if c.Passages == nil {
		c.Passages = []change.Passage{}
	}
	if len(r.Passages) > 0 {
		c.Source = reader.TextFragment(final, r.Passages[0].Excerpt)
	}
	return c
}

// seal makes the change of a page that was read, with the page as far as it was asked for.
func (v *visit) seal(p *Page, d *reader.Document, h billing.Hold, r change.Report) (*Sealed, error) {
	page := d.Page()
	c := v.describe(p, r, page.FinalURL, page.Title)
	if !v.claim.Watch.Options.NoPage {
		answer := reader.Answer{Page: page, RequestID: v.claim.Watch.Request, Charge: reader.Charge{Units: h.Charge(d.Receipt())}}
		if answer.Charge.Units > 0 {
			answer.Charge.Receipt = h.Receipt
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return nil, fmt.Errorf("encode a page: %w", err)
		}
		c.Page = text
	}
	return v.sealChange(p, c)
}

func (v *visit) sealChange(p *Page, c Change) (*Sealed, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a change: %w", err)
	}
	s := &Sealed{Item: billing.NewID("chg"), Host: p.Host, Kind: c.Kind, DetectedAt: c.DetectedAt}
	s.Envelope, err = v.claim.Recipient.Seal(seal.Context{Account: v.claim.Watch.Account, Job: v.claim.Watch.ID, Item: s.Item}, plain)
	return s, err
}
