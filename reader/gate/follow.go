package gate

import (
	"context"
	"fmt"
	"net/http"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate/internal/fetch"
)

// MaxHops is the most redirects of one read.
const MaxHops = 10

// hop is one answered request: the case that allowed it, the verdict, the answer.
type hop struct {
	before   []policy.Target
	facts    policy.Case
	verdict  policy.Verdict
	response *fetch.Response
}

// OffScope is the error of a redirect that leads where Ask.Within does not reach. It was not requested.
type OffScope struct{ Target policy.Target }

func (o *OffScope) Error() string { return "gate: a redirect leads out of scope" }

// follow makes requests until an answer is no redirect. Each target is judged anew before it is
// requested: a redirect is an answer, not an instruction.
func (r *reading) follow(ctx context.Context) (hop, error) {
	var h hop
	t := r.ask.Target
	for {
		var err error
		if h.facts, h.verdict, h.response, err = r.page(ctx, t); err != nil {
			return h, err
		}
		if !isRedirect(h.response.Status) {
			return h, nil
		}
		h.before = append(h.before, t)
		if t, err = r.next(h); err != nil {
			return h, err
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// next is where the redirect of h leads.
func (r *reading) next(h hop) (policy.Target, error) {
	from, status := h.before[len(h.before)-1], h.response.Status
	to, err := from.Resolve(h.response.Header.Get("Location"))
	if err != nil || h.response.Header.Get("Location") == "" {
		return to, &fault.Error{
			Kind: fault.TargetError, Reason: "client_error", TargetStatus: status, Err: err,
			Detail: "The site redirects to an address that cannot be read. Check the URL in a browser and give its final address.",
		}
	}
	loop := len(h.before) > MaxHops
	for _, seen := range h.before {
		loop = loop || seen.String() == to.String()
	}
	if loop {
		return to, &fault.Error{
			Kind: fault.TargetError, Reason: "redirect_loop", TargetStatus: status,
			Detail: fmt.Sprintf("The site redirects in a circle or more than %d times. Give the final address of the page.", MaxHops),
		}
	}
	if r.ask.Within != nil && !r.ask.Within(to) {
		return to, &OffScope{Target: to}
	}
	return to, nil
}

// page makes one request for t: judge, wait for the turn, judge again, fetch. A turn covers one
// request. When robots.txt has lapsed in the meantime, the turn is spent on it and the page queues
// again.
func (r *reading) page(ctx context.Context, t policy.Target) (policy.Case, policy.Verdict, *fetch.Response, error) {
	for {
		c, v, err := r.judge(ctx, t)
		if err == nil {
			err = refusalFault(v)
		}
		if err != nil {
			return c, v, nil, err
		}
		turn, err := r.take(ctx, c)
		if err != nil {
			return c, v, nil, err
		}
		robots, valid, err := r.held(ctx, t)
		if err == nil && !valid {
			if err = r.refresh(ctx, t, turn); err == nil {
				continue
			}
			return c, v, nil, err
		}
		if err == nil {
			c.Signals.Robots = robots
			c, v, err = r.again(ctx, c)
		}
		if err == nil {
			err = refusalFault(v)
		}
		if err != nil {
			return c, v, nil, endUnused(ctx, turn, err)
		}
		response, err := r.send(ctx, turn, v, r.options(t))
		return c, v, response, err
	}
}

// options of a page request. Validators go where they came from, and to hosts of the same owner, since
// a site's pages often move between its bare name and www.
func (r *reading) options(t policy.Target) fetch.Options {
	o := fetch.Options{Accept: accepts[r.ask.Want], Language: r.ask.Language}
	if t.RegistrableDomain() == r.ask.Target.RegistrableDomain() {
		o.ETag, o.LastModified = r.ask.Validators.ETag, r.ask.Validators.LastModified
	}
	return o
}

var accepts = map[Want]string{
	WantPage:    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.7, application/xml;q=0.7, */*;q=0.1",
	WantSitemap: "application/xml, text/xml;q=0.9, text/plain;q=0.8, application/gzip;q=0.8, */*;q=0.1",
	WantFeed:    "application/atom+xml, application/rss+xml, application/feed+json;q=0.9, application/xml;q=0.8, text/xml;q=0.8, */*;q=0.1",
}

// refusalFault is the fault of a refusing verdict; nil when it allows.
func refusalFault(v policy.Verdict) error {
	if v.Allowed() {
		return nil
	}
	e := &fault.Error{Kind: fault.BlockedBySitePolicy, Err: &policy.Refusal{Verdict: v}}
	if len(v.Grounds) == 0 {
		e.Kind = fault.Internal
		return e
	}
	g := v.Grounds[0]
	e.Reason = g.Reason
	switch g.Source {
	case policy.ByAccount:
		e.Kind, e.Reason = fault.AccountSuspended, ""
		e.Detail = "The account may not cause requests. Ask the operator why it is suspended."
	case policy.ByHouse:
		e.Kind, e.Reason = fault.Internal, ""
	default:
		e.Detail = refusalDetail(g)
	}
	return e
}

// refusalDetail says in a sentence what decided and what to do. It quotes policy, never page text.
func refusalDetail(g policy.Ground) string {
	switch {
	case g.Reason == policy.ReasonUnreachable:
		return "The site's robots.txt could not be read, so the site is closed for now. Try again later."
	case g.Reason == policy.ReasonOptOut:
		return "The site's operator asked us not to read it. Ask the site for permission or another way to its content."
	case g.Line > 0:
		return fmt.Sprintf("Line %d of %s does not permit it. Ask the site's operator if you need this page.", g.Line, g.RobotsURL)
	case g.Header != "":
		return "A signal of the page or its answer does not permit it. Ask the site's operator if you need this page."
	}
	return "The site's policy does not permit it. Ask the site's operator if you need this page."
}
