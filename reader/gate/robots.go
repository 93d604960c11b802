package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/refusal"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/gate/internal/fetch"
)

const (
	// MaxRobotsHops is the most redirects of one request for robots.txt (RFC 9309 section 2.3.1.2).
	MaxRobotsHops = 5
	// MaxRobots is how much of a robots.txt is read (RFC 9309 section 2.5), after decompression.
	MaxRobots = signals.MaxRobots
)

// robots is what the authority of t says: by a valid copy, else by asking.
func (r *reading) robots(ctx context.Context, t policy.Target) (signals.Robots, error) {
	const tries = 5 // a copy may lapse, or another reader's request fail, while this one waits
	for range tries {
		s, valid, err := r.held(ctx, t)
		if err != nil || valid {
			return s, err
		}
		if err := r.refresh(ctx, t, nil); err != nil {
			return signals.Robots{}, err
		}
	}
	return signals.Robots{}, busy(0)
}

// held is what a stored copy says, and whether it may still be used.
func (r *reading) held(ctx context.Context, t policy.Target) (signals.Robots, bool, error) {
	c, found, err := r.cfg.Robots.Robots(ctx, t.Authority())
	if err != nil {
		return signals.Robots{}, false, fmt.Errorf("gate: the stored robots.txt: %w", err)
	}
	if !found || !r.valid(c) {
		return signals.Robots{}, false, nil
	}
	return r.said(c), true, nil
}

// valid: no copy is a permission after its time, nor after 24 hours, nor, at the start of a crawl under
// a profile that then asks anew, when it was fetched before. An unreachable robots.txt closes until its
// time has passed.
func (r *reading) valid(c RobotsCopy) bool {
	now := r.cfg.Clock.Now()
	if !now.Before(c.ExpiresAt) || now.Before(c.FetchedAt) {
		return false
	}
	if c.State == RobotsUnreachable {
		return true
	}
	if r.fresh() && c.FetchedAt.Before(r.began) || r.refetches() && c.FetchedAt.Before(r.ask.RobotsSince) {
		return false
	}
	return now.Sub(c.FetchedAt) < r.ask.Profile.RobotsLife(nil)
}

// fresh: a lone read is a crawl of its own.
func (r *reading) fresh() bool {
	return r.ask.FreshRobots || r.ask.Cause.Kind == policy.CauseRead && r.refetches()
}

// refetches is true under a profile that asks for robots.txt at the start of each crawl.
func (r *reading) refetches() bool {
	return slices.Contains(r.ask.Profile.Robots.RefetchOn, policy.CrawlStart)
}

func (r *reading) said(c RobotsCopy) signals.Robots {
	s := signals.Robots{State: c.State, URL: c.URL, Status: c.Status, Why: c.Why}
	if c.State == RobotsFound {
		s.File = r.files.parsed(c)
	}
	return s
}

// refresh asks for robots.txt, or waits for another reader who is at it. A turn in hand is spent on the
// request, or given back before waiting: the other one may be waiting for it.
func (r *reading) refresh(ctx context.Context, t policy.Target, turn Turn) error {
	if turn != nil {
		r.turn = turn
	}
	f, leads := r.flights.join(t.Authority())
	if !leads {
		r.giveBack(ctx)
		return r.await(ctx, f)
	}
	defer r.flights.land(t.Authority(), f)
	// Another reader may have landed between the look and the join.
	_, valid, err := r.held(ctx, t)
	if err != nil || valid {
		if turn != nil {
			r.giveBack(ctx)
		}
		return err
	}
	c, err := r.askRobots(ctx, t)
	if turn != nil {
		r.giveBack(ctx) // nothing was sent with it
	}
	if errors.Is(err, errLanded) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.cfg.Robots.PutRobots(context.WithoutCancel(ctx), c); err != nil {
		return fmt.Errorf("gate: storing robots.txt: %w", err)
	}
	return nil
}

// await waits for another reader's request for the same robots.txt.
func (r *reading) await(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return nil
	case <-r.cfg.Clock.After(r.until.Sub(r.cfg.Clock.Now())):
		return busy(0)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return busy(0)
		}
		return fmt.Errorf("gate: waiting for robots.txt: %w", context.Cause(ctx))
	}
}

// errLanded: while a turn was waited for, another process stored what was to be asked.
var errLanded = errors.New("gate: robots.txt has been asked for")

// askRobots requests robots.txt and follows its redirects, to other hosts too; the answer binds the
// authority of t. An error means that nothing was learnt about the site.
func (r *reading) askRobots(ctx context.Context, t policy.Target) (RobotsCopy, error) {
	old, _, err := r.cfg.Robots.Robots(ctx, t.Authority())
	if err != nil {
		return RobotsCopy{}, fmt.Errorf("gate: the stored robots.txt: %w", err)
	}
	c := RobotsCopy{Authority: t.Authority(), URL: t.Robots().String()}
	to := t.Robots()
	for hops := range MaxRobotsHops + 1 {
		answer, err := r.control(ctx, to, old, hops)
		switch {
		case err == nil:
		case answer != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && ofSite(err):
			return c, r.closed(t, "timeout")
		case fatal(ctx, err, hops):
			return c, err
		default:
			return r.unreachable(c, answer, whyNot(err)), nil
		}
		if !isRedirect(answer.Status) {
			return r.answered(c, old, to, answer, hops), nil
		}
		location := answer.Header.Get("Location")
		if to, err = to.Resolve(location); err != nil || location == "" {
			return r.unreachable(c, answer, "redirect to an address that is not read"), nil
		}
	}
	// RFC 9309 section 2.3.1.2: beyond five redirects the file counts as unavailable.
	c.State, c.FetchedAt = RobotsAbsent, r.cfg.Clock.Now()
	c.ExpiresAt = c.FetchedAt.Add(r.life(nil))
	return c, nil
}

// closed refuses t for this read alone: its time was over before robots.txt came, which is no fact about
// the site that other readers, with more time, should be told.
func (r *reading) closed(t policy.Target, why string) error {
	robots := signals.Robots{State: signals.RobotsUnreachable, URL: t.Robots().String(), Why: why}
	return refusalFault(policy.Judge(policy.Case{
		Stage: policy.Fetch, Profile: r.ask.Profile, Cause: r.ask.Cause, Target: t, Standing: policy.StandingGood,
		Now: r.cfg.Clock.Now(), Signals: signals.Set{Robots: robots},
	}))
}

// control makes one request at stage Control: robots.txt does not apply to it, everything else does.
func (r *reading) control(ctx context.Context, t policy.Target, old RobotsCopy, hops int) (*fetch.Response, error) {
	c, err := r.account(ctx, policy.Control, t)
	if err != nil {
		return nil, err
	}
	if err := refusalFault(policy.Judge(c)); err != nil {
		return nil, err
	}
	c.Signals.Robots = r.said(old) // a Crawl-delay that was read before holds for this request too
	turn, err := r.take(ctx, c)
	if err != nil {
		return nil, err
	}
	_, v, err := r.again(ctx, c)
	if err == nil {
		err = refusalFault(v)
	}
	if _, landed, _ := r.held(ctx, t); err == nil && hops == 0 && landed {
		err = errLanded
	}
	if err != nil {
		return nil, endUnused(ctx, turn, err)
	}
	o := fetch.Options{Accept: "text/plain, application/json;q=0.9, */*;q=0.1", MaxBody: MaxRobots, Truncate: true}
	if hops == 0 && old.State == RobotsFound {
		o.ETag, o.LastModified = old.ETag, old.LastModified
	}
	return r.send(ctx, turn, v, o)
}

// fatal tells a failure of the read from one of the site. Only the latter is a fact about robots.txt.
func fatal(ctx context.Context, err error, hops int) bool {
	if ctx.Err() != nil || errors.Is(err, netguard.ErrExit) {
		return true
	}
	switch fault.Of(err) {
	case fault.TargetTimeout, fault.TargetUnreachable, fault.TooLarge, fault.UnsupportedContent:
		return false
	case fault.AddressNotAllowed, fault.BlockedBySitePolicy:
		return hops == 0 // where a redirect leads is the site's doing
	}
	return true
}

func whyNot(err error) string {
	switch fault.Of(err) {
	case fault.TargetTimeout:
		return "timeout"
	case fault.AddressNotAllowed:
		return "redirect to an address that is not public"
	case fault.BlockedBySitePolicy:
		return "redirect to a host that is not to be read"
	case fault.TooLarge, fault.UnsupportedContent:
		return "unreadable answer"
	}
	return "no connection"
}

// unreachable closes the authority for a while (RFC 9309 section 2.3.1.4).
func (r *reading) unreachable(c RobotsCopy, answer *fetch.Response, why string) RobotsCopy {
	c.State, c.Why, c.FetchedAt = RobotsUnreachable, why, r.cfg.Clock.Now()
	wait := r.cfg.RobotsRetry
	if answer != nil {
		c.Status = answer.Status
		wait = max(wait, retryAfter(answer.Status, answer.Header, c.FetchedAt))
	}
	c.ExpiresAt = c.FetchedAt.Add(min(wait, policy.LongestRobots))
	return c
}

// answered reads a final answer: found, absent, or unreachable.
func (r *reading) answered(c, old RobotsCopy, from policy.Target, answer *fetch.Response, hops int) RobotsCopy {
	s := answer.Status
	switch {
	case s == http.StatusNotModified && hops == 0 && old.State == RobotsFound && old.ETag+old.LastModified != "":
		c.State, c.Status, c.Body, c.ETag, c.LastModified = RobotsFound, old.Status, old.Body, old.ETag, old.LastModified
	case policy.RobotsState(s) == RobotsUnreachable:
		return r.unreachable(c, answer, "status "+strconv.Itoa(s))
	case r.isChallenge(c.URL, from, answer):
		return r.unreachable(c, answer, "challenge")
	case policy.RobotsState(s) == RobotsAbsent:
		c.State, c.Status = RobotsAbsent, s
	default:
		c.State, c.Status, c.Body = RobotsFound, s, wholeLines(answer)
	}
	if v := answer.Header; hops == 0 && c.State == RobotsFound && v.Get("ETag")+v.Get("Last-Modified") != "" {
		c.ETag, c.LastModified = v.Get("ETag"), v.Get("Last-Modified")
	}
	c.FetchedAt = answer.WrittenAt
	c.ExpiresAt = c.FetchedAt.Add(r.life(answer.Header))
	return c
}

// wholeLines drops a last line that the bound cut: half a rule is another rule.
func wholeLines(answer *fetch.Response) []byte {
	if !answer.Truncated {
		return answer.Body
	}
	return answer.Body[:bytes.LastIndexAny(answer.Body, "\r\n")+1]
}

// isChallenge: a site that answers with a challenge cannot be asked.
func (r *reading) isChallenge(asked string, from policy.Target, answer *fetch.Response) bool {
	a := refusal.Answer{URL: asked, FinalURL: from.String(), Status: answer.Status, Header: answer.Header, Body: answer.Body}
	a.MediaType = mediaType(answer.Header, answer.Body)
	if isHTML(a.MediaType) {
		a.Tree, _ = r.tree(answer.Body) // over the bounds it is looked at without a tree
	}
	f := refusal.Recognise(a)
	return f.Class == refusal.TargetRefused && f.Reason == refusal.Challenge
}

// life is how long an answer may be used; long enough to be of use at all.
func (r *reading) life(h http.Header) time.Duration {
	return max(r.ask.Profile.RobotsLife(h), r.cfg.RobotsRetry)
}
