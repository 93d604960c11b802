// Package reader reads one URL: one Document and its Receipt out. It asks the gate, extracts the
// main content and writes Markdown; a document lives inside one function call and is handed over or
// sealed there.
package reader

import (
	"context"
	"crypto/hmac"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// DefaultTimeout is how long a read may take as a whole.
const DefaultTimeout = 30 * time.Second

// Warnings of the gate that mean something here.
const (
	warnSoft404         = "soft_404"
	warnNeedsJavaScript = "needs_javascript"
)

// Gate is the only way to a site: *gate.Gate.
type Gate interface {
	Get(ctx context.Context, a gate.Ask) (gate.Page, policy.Verdict, error)
}

// Config says how a Reader works. The zero Config takes the defaults.
type Config struct {
	Timeout  time.Duration // of a read as a whole: WEBREADER_TIMEOUT
	Parallel int           // pages worked on at the same time; the number of processors by default
}

// Reader reads pages. It is safe for use by many goroutines.
type Reader struct {
	gate    Gate
	timeout time.Duration
	slots   chan struct{}
}

// New is a reader behind a gate.
func New(g Gate, c Config) *Reader {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Parallel <= 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	return &Reader{gate: g, timeout: c.Timeout, slots: make(chan struct{}, c.Parallel)}
}

// Request is one URL to read.
type Request struct {
	Profile        *policy.Profile
	Cause          policy.Cause
	Target         policy.Target
	Options        Options
	FingerprintKey []byte // per account; a fixed key on the command line
	NoTokens       bool   // leaves Page.Tokens at 0 where nobody looks at it: the first count takes 0.1 s
	// What jobs and watches add:
	Validators  gate.Validators
	Turn        gate.Turn
	FreshRobots bool
	RobotsSince time.Time
	Within      func(policy.Target) bool
	// Follow fills Document.Trail.
	Follow bool
	// Trace asks for the page's blocks, links and feeds, and for its body's digest. A page without text is
	// then a document too, at no charge: it may have links.
	Trace bool
	// KnownBody is Document.BodyDigest of a visit before: an equal body ends a traced read there, unchanged.
	KnownBody []byte
	// Patience is how long turns may be waited for, beside the read's own time; 0 is within it.
	Patience time.Duration
}

// Read reads one page. Its error is a *fault.Error: of the gate's when the page may not be or could
// not be read, InvalidRequest for options that cannot be used, NoContent for a page without text,
// TargetTimeout when the time was up. Nothing but a Document without error is ever charged.
func (r *Reader) Read(ctx context.Context, req Request) (*Document, error) {
	o, err := req.Options.plan()
	if err != nil {
		return nil, err
	}
	o.noTokens, o.noFingerprint = req.NoTokens, len(req.FingerprintKey) == 0
	limit := r.timeout
	if o.timeout > 0 {
		limit = min(limit, o.timeout)
	}
	within, cancel := context.WithTimeout(ctx, limit+req.Patience)
	defer cancel()
	d, err := r.read(within, req, o)
	if err != nil {
		return nil, timely(ctx, err)
	}
	return d, nil
}

// timely makes a fault of the end of the read's own time. The end of the caller's stays what it is.
func timely(ctx context.Context, err error) error {
	var known *fault.Error
	if errors.As(err, &known) || ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault.Error{Kind: fault.TargetTimeout, Detail: "The page was not there and read within the time. Try again, or allow more time with timeout_ms.", Err: err}
	}
	return err
}

func (r *Reader) read(ctx context.Context, req Request, o plan) (*Document, error) {
	page, verdict, err := r.gate.Get(ctx, gate.Ask{
		Profile: req.Profile, Cause: req.Cause, Target: req.Target, Language: o.Language, Country: strings.ToLower(o.Country),
		Validators: req.Validators, Turn: req.Turn, FreshRobots: req.FreshRobots, RobotsSince: req.RobotsSince, Within: req.Within, Patience: req.Patience,
	})
	if err != nil {
		return nil, decided(err, verdict)
	}
	d, err := r.make(ctx, req, page, verdict, o)
	return d, decided(err, verdict)
}

// decided puts the verdict that had allowed a request into the fault that it ended with.
func decided(err error, v policy.Verdict) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(v.Grounds) == 0 {
		return err
	}
	if _, known := DecisionIn(f.Err); known {
		return err
	}
	told := *f
	told.Err = &Decided{Verdict: v, Err: f.Err}
	return &told
}

// make turns an answer into a document.
func (r *Reader) make(ctx context.Context, req Request, page gate.Page, verdict policy.Verdict, o plan) (*Document, error) {
	d := &Document{page: pageOf(req, page, verdict), verdict: verdict, validators: page.Validators}
	d.receipt = Receipt{outcome: Delivered, units: 1, host: page.Target.Host(), at: page.FetchedAt}
	if req.Follow {
		d.trail = trailOf(req, page)
	}
	if page.NotModified {
		d.unchanged(o.IfFingerprint)
		return d, nil
	}
	if req.Trace {
		d.body = bodyDigest(req.FingerprintKey, page.Body)
	}
	if len(req.KnownBody) > 0 && hmac.Equal(req.KnownBody, d.body) {
		d.unchanged(o.IfFingerprint)
		return d, nil
	}
	if err := r.turn(ctx); err != nil {
		return nil, err
	}
	defer func() { <-r.slots }()
	if err := d.fill(ctx, req, page, o); err != nil {
		return nil, trailed(err, d.trail)
	}
	return d, nil
}

// turn waits until the page may be worked on. A place is taken only where it answers nil.
func (r *Reader) turn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pageOf is what is known of a page before its content.
func pageOf(req Request, p gate.Page, v policy.Verdict) Page {
	out := Page{
		URL: req.Target.String(), FinalURL: p.Target.String(), ContentType: p.MediaType, TargetStatus: p.Status,
		FetchedAt: p.FetchedAt.UTC(), Decision: DecisionOf(v), Warnings: append([]string{}, p.Warnings...),
	}
	for _, hop := range p.Hops {
		out.Decision.Hops = append(out.Decision.Hops, hop.String())
	}
	return out
}

// fill puts the content into d.
func (d *Document) fill(ctx context.Context, req Request, p gate.Page, o plan) error {
	c, err := compose(ctx, p, o)
	if err != nil {
		return err
	}
	out := &d.page
	out.describe(c)
	if c.empty() && !req.Trace {
		return empty(p, o)
	}
	out.Fingerprint = fingerprint(req.FingerprintKey, c.meta.Title, c.text)
	if sameFingerprint(out.Fingerprint, o.IfFingerprint) {
		d.unchanged(out.Fingerprint)
		return nil
	}
	if req.Trace {
		d.trace = traceOf(p, c)
	}
	out.write(c, o)
	if slices.Contains(out.Warnings, warnSoft404) || c.written.Markdown == "" {
		d.receipt.units = 0
	}
	return nil
}

// describe fills in what the page says about itself.
func (p *Page) describe(c content) {
	m := c.meta
	p.CanonicalURL, p.Title, p.Byline, p.SiteName, p.Language = m.Canonical, m.Title, m.Byline, m.SiteName, m.Language
	p.PublishedAt, p.ModifiedAt, p.HiddenRemoved = m.PublishedAt, m.ModifiedAt, c.hidden
}

// write fills in the content, in the formats asked for.
func (p *Page) write(c content, o plan) {
	p.Tokens, p.Truncated, p.Excerpt = c.written.Tokens, c.written.Truncated, excerpt(c)
	if o.wants(FormatMarkdown) {
		p.Markdown = c.written.Markdown
	}
	if o.wants(FormatText) {
		p.Text = c.text
	}
	if o.wants(FormatHTML) {
		p.HTML = c.html
	}
	if o.wants(FormatLinks) {
		p.Links = once(c.written.Links, func(l markdown.Link) string { return l.URL })
	}
	if o.wants(FormatImages) {
		p.Images = once(c.written.Images, func(i markdown.Image) string { return i.URL })
	}
}

// once keeps the first of all with the same address.
func once[T any](all []T, address func(T) string) []T {
	seen := make(map[string]bool, len(all))
	kept := make([]T, 0, len(all))
	for _, one := range all {
		if a := address(one); !seen[a] {
			seen[a] = true
			kept = append(kept, one)
		}
	}
	return kept
}

// longExcerpt is the most characters of an excerpt.
const longExcerpt = 280

// excerpt is the page's own description, or the beginning of its text, cut at a word.
func excerpt(c content) string {
	text := strings.Join(strings.Fields(c.meta.Description), " ")
	if text == "" {
		text = strings.Join(strings.Fields(c.text[:min(len(c.text), 8*longExcerpt)]), " ")
	}
	runes := []rune(strings.ToValidUTF8(text, ""))
	if len(runes) <= longExcerpt {
		return string(runes)
	}
	cut := string(runes[:longExcerpt])
	if i := strings.LastIndexByte(cut, ' '); i > longExcerpt/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// unchanged makes d say only that the page is what the caller has already.
func (d *Document) unchanged(known string) {
	d.page.Unchanged, d.page.Fingerprint = true, known
	d.receipt.outcome, d.receipt.units = Unchanged, 0
}
