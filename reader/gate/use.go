package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/refusal"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/dom"
)

// use judges what came back. Only an answer that passes becomes a Page.
func (r *reading) use(ctx context.Context, h hop) (Page, policy.Verdict, error) {
	p := Page{
		Target: h.facts.Target, Hops: h.before, Status: h.response.Status, Header: h.response.Header, WrittenAt: h.response.WrittenAt,
		FetchedAt: r.cfg.Clock.Now(), Validators: Validators{ETag: h.response.Header.Get("ETag"), LastModified: h.response.Header.Get("Last-Modified")},
	}
	if p.Status == http.StatusNotModified && r.ask.Validators != (Validators{}) {
		p.NotModified = true
		return r.pass(ctx, h, p)
	}
	p.MediaType, p.Body = mediaType(p.Header, h.response.Body), h.response.Body
	err := r.open(ctx, &p)
	// What the answer is comes before how it is made: a refusal may come in any size and type.
	found := refusal.Recognise(refusal.Answer{
		URL: r.ask.Target.String(), FinalURL: p.Target.String(), Status: p.Status, Header: p.Header,
		MediaType: p.MediaType, Tree: p.Tree, Body: p.Body,
	})
	if refused := r.recognised(found, h); refused != nil {
		return Page{}, h.verdict, refused
	}
	p.Warnings = found.Warnings
	if err != nil {
		// The headers may hold a signal, which is the truer reason.
		p.Body, p.Tree = nil, nil
		if _, v, refused := r.pass(ctx, h, p); refused != nil {
			return Page{}, v, refused
		}
		return Page{}, h.verdict, err
	}
	return r.pass(ctx, h, p)
}

// broken is what a read comes to whose last answer did not come in full: a refusal or a signal in its
// headers is a truer reason than the failure, and a retry would not change it.
func (r *reading) broken(h hop, err error) (Page, policy.Verdict, error) {
	if h.response == nil || h.response.Status/100 != 2 || !ofSite(err) {
		return Page{}, h.verdict, err
	}
	found := refusal.Recognise(refusal.Answer{
		URL: r.ask.Target.String(), FinalURL: h.facts.Target.String(), Status: h.response.Status, Header: h.response.Header,
	})
	if refused := r.recognised(found, h); refused != nil {
		return Page{}, h.verdict, refused
	}
	c := h.facts
	c.Stage, c.Signals.Header = policy.Use, h.response.Header
	if v := policy.Judge(c); !v.Allowed() {
		return Page{}, v, refusedAt(refusalFault(v), h.response.Status)
	}
	return Page{}, h.verdict, err
}

// ofSite is true for failures of the site, as opposed to a cancelled read or a suspended account.
func ofSite(err error) bool {
	switch fault.Of(err) {
	case fault.TargetTimeout, fault.TargetUnreachable, fault.TooLarge, fault.UnsupportedContent:
		return true
	}
	return false
}

// refusedAt adds the status of the answer that brought the refusal.
func refusedAt(err error, status int) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		e.TargetStatus = status
	}
	return err
}

// open makes text and tree of the body.
func (r *reading) open(ctx context.Context, p *Page) error {
	if !r.readable(p.MediaType, p.Target) {
		p.Body = nil
		return unsupported(p.MediaType)
	}
	if isArchive(p.MediaType) {
		return nil
	}
	html := isHTML(p.MediaType)
	if html && len(p.Body) > r.cfg.MaxHTML {
		p.Body = nil
		return tooLarge(fmt.Sprintf("HTML is read up to %d bytes", r.cfg.MaxHTML))
	}
	select {
	case r.parsing <- struct{}{}:
	case <-ctx.Done():
		return &fault.Error{Kind: fault.Overloaded, Err: ctx.Err(), Detail: "The page came, but there was no time left to read it. Try again with a longer timeout."}
	}
	defer func() { <-r.parsing }()
	p.Body, p.Charset = toUTF8(p.Body, p.Header.Get("Content-Type"), p.MediaType)
	if !html {
		return nil
	}
	var err error
	if p.Tree, err = r.tree(p.Body); err != nil {
		p.Body = nil
	}
	return err
}

// tree counts tags before it builds anything. There are no more of them than "<"s, which are counted
// faster: most pages are spared the tokenizer's pass.
func (r *reading) tree(page []byte) (*dom.Tree, error) {
	if bytes.Count(page, []byte("<")) > r.cfg.MaxTags {
		if _, err := dom.CountTags(page, r.cfg.MaxTags); err != nil {
			return nil, tooLarge(fmt.Sprintf("HTML is read up to %d tags", r.cfg.MaxTags))
		}
	}
	return dom.Parse(page, dom.Limits{}), nil
}

// pass judges at stage Use: headers and meta elements beside robots.txt.
func (r *reading) pass(ctx context.Context, h hop, p Page) (Page, policy.Verdict, error) {
	c := h.facts
	c.Stage, c.Signals.Header = policy.Use, p.Header
	if p.Tree != nil {
		c.Signals.Meta, c.Signals.Links = signals.Elements(p.Tree)
	}
	c, v, err := r.again(ctx, c)
	if err == nil {
		err = refusalFault(v)
	}
	if err != nil {
		return Page{}, v, refusedAt(err, p.Status)
	}
	robots := c.Signals.PageRobots(c.Profile.Token(), c.Now)
	p.NoIndex, p.NoFollow = robots.NoIndex.From != signals.FromNowhere, robots.NoFollow.From != signals.FromNowhere
	return p, v, nil
}

// recognised is the fault of an answer that is no page; nil for a page.
func (r *reading) recognised(f refusal.Finding, h hop) error {
	if f.Class == refusal.OK {
		return nil
	}
	status := h.response.Status
	e := &fault.Error{
		Kind: fault.TargetError, Reason: f.Reason, TargetStatus: status,
		RetryAfter: retryAfter(status, h.response.Header, r.cfg.Clock.Now()),
	}
	switch {
	case f.Class == refusal.TargetRefused:
		e.Kind, e.Detail = fault.TargetRefused, refusedDetails[f.Reason]
	case f.Reason == refusal.NotFound || f.Reason == refusal.Gone:
		e.Kind, e.Detail = fault.TargetNotFound, fmt.Sprintf("The site has no page at this address (status %d). Check the URL.", status)
	case f.Reason == refusal.ServerError:
		e.Detail = fmt.Sprintf("The site answered with an error of its own (status %d). Try again later.", status)
	default:
		e.Reason, e.Detail = refusal.ClientError, fmt.Sprintf("The site does not accept the request (status %d). Check the URL in a browser.", status)
	}
	return e
}

var refusedDetails = map[string]string{
	refusal.Forbidden:       "The site refuses to serve the page to us, and we do not try in disguise. Ask the site's operator for access.",
	refusal.RateLimited:     "The site asks us to send fewer requests. Try again after the time it gave.",
	refusal.Challenge:       "The site answers with a check for browsers, which we do not solve. Ask the site's operator for access.",
	refusal.Login:           "The page is behind a log-in, and we never log in. Give the address of a public page.",
	refusal.Paywall:         "The page is behind a paywall, which we do not get round. Ask the publisher for access.",
	refusal.PaymentRequired: "The site wants payment for the page, which we do not make. Ask the publisher for access.",
	refusal.Consent:         "The site shows a consent question instead of the page, and we do not answer it for anyone. Give another address.",
	refusal.Legal:           "The site does not serve the page for legal reasons.",
	refusal.BlockedPage:     "The site answers with a denial instead of the page. Ask the site's operator for access.",
}

func tooLarge(what string) error {
	return &fault.Error{Kind: fault.TooLarge, Detail: "The page is too large to be read: " + what + "."}
}

func unsupported(mediaType string) error {
	if mediaType == "" {
		mediaType = "unknown"
	}
	return &fault.Error{
		Kind:   fault.UnsupportedContent,
		Detail: fmt.Sprintf("The type %s is not read; HTML, plain text, Markdown, JSON and XML are. Give the address of a page.", mediaType),
	}
}
