package reader

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/dom"
	"github.com/webreaderapi/webreader/reader/gate"
)

// OffScope is in the chain of the error of a read whose page redirects out of Request.Within: where to.
// It was not requested.
type OffScope = gate.OffScope

// mostLinks is how many links of one page are followed or handed over at most.
const mostLinks = 5000

// Trail is what a crawl follows from a page: where it is, what it links to, what it calls itself.
type Trail struct {
	Final     policy.Target   // after redirects
	Hops      int             // redirects on the way there
	Links     []policy.Target // of the whole page; none where the page or the link says nofollow
	Canonical policy.Target   // zero when the page does not say
	More      bool            // there were more links than are followed
}

// Trail is what a crawl follows from the page; it is filled for requests with Follow.
func (d *Document) Trail() Trail { return d.trail }

// trailedError carries the trail of a page that gave no document.
type trailedError struct {
	trail Trail
	err   error
}

func (e *trailedError) Error() string {
	if e.err == nil {
		return "a page without a document"
	}
	return e.err.Error()
}

func (e *trailedError) Unwrap() error { return e.err }

// trailed puts a trail into the fault of a page that could be followed although it gave no document: one
// of links alone.
func trailed(err error, t Trail) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.NoContent || t.Final.IsZero() {
		return err
	}
	told := *f
	told.Err = &trailedError{trail: t, err: f.Err}
	return &told
}

// TrailIn is the trail that a read's error carries.
func TrailIn(err error) (Trail, bool) {
	if e, ok := errors.AsType[*trailedError](err); ok {
		return e.trail, true
	}
	return Trail{}, false
}

// Look fetches a page for its links only: nothing is made of its content.
func (r *Reader) Look(ctx context.Context, req Request) (Trail, error) {
	page, err := r.fetch(ctx, req, gate.WantPage)
	if err != nil {
		return Trail{}, err
	}
	return trailOf(req, page), nil
}

// Sitemaps are the addresses of sitemaps that the robots.txt of the target's authority lists.
func (r *Reader) Sitemaps(ctx context.Context, req Request) ([]string, error) {
	g, ok := r.gate.(interface {
		Sitemaps(ctx context.Context, a gate.Ask) ([]string, error)
	})
	if !ok {
		return nil, errors.New("reader: this gate lists no sitemaps")
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	list, err := g.Sitemaps(ctx, ask(req, gate.WantSitemap))
	return list, timely(ctx, err)
}

// SitemapFile fetches a sitemap, which may be packed, and answers where it was found.
func (r *Reader) SitemapFile(ctx context.Context, req Request) (body []byte, final policy.Target, err error) {
	page, err := r.fetch(ctx, req, gate.WantSitemap)
	return page.Body, page.Target, err
}

func (r *Reader) fetch(ctx context.Context, req Request, want gate.Want) (gate.Page, error) {
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	page, verdict, err := r.gate.Get(within, ask(req, want))
	if err != nil {
		return gate.Page{}, timely(ctx, decided(err, verdict))
	}
	return page, nil
}

func ask(req Request, want gate.Want) gate.Ask {
	return gate.Ask{
		Profile: req.Profile, Cause: req.Cause, Target: req.Target, Want: want, Language: req.Options.Language,
		Country: strings.ToLower(req.Options.Country), Turn: req.Turn, FreshRobots: req.FreshRobots, Within: req.Within,
	}
}

func trailOf(req Request, p gate.Page) Trail {
	t := Trail{Final: p.Target, Hops: len(p.Hops)}
	if p.Tree == nil {
		return t
	}
	base := baseOf(p.Tree, p.Target)
	if canonical := canonicalOf(p.Tree); canonical != "" {
		if c, err := base.Resolve(canonical); err == nil {
			t.Canonical = c
		}
	}
	obeys := req.Profile != nil && req.Profile.Signals.NoFollow == policy.Obey
	if p.NoFollow && obeys {
		return t
	}
	t.Links, t.More = linksOf(p.Tree, base, obeys)
	return t
}

func linksOf(t *dom.Tree, base policy.Target, obeys bool) (links []policy.Target, more bool) {
	seen := map[policy.Target]bool{}
	for n := dom.Root; int(n) < t.Len(); n++ {
		if tag := t.Tag(n); tag != atom.A && tag != atom.Area {
			continue
		}
		if obeys && hasWord(t.Attr(n, "rel"), "nofollow") {
			continue
		}
		to, ok := leadsTo(t, n, base)
		if !ok || seen[to] {
			continue
		}
		if len(links) == mostLinks {
			return links, true
		}
		seen[to] = true
		links = append(links, to)
	}
	return links, false
}

// leadsTo is the page to which the link n leads.
func leadsTo(t *dom.Tree, n dom.ID, base policy.Target) (to policy.Target, ok bool) {
	href, ok := t.LookupAttr(n, "href")
	if !ok || !leads(href) {
		return to, false
	}
	to, err := base.Resolve(href)
	return to, err == nil
}

// leads is false for links within the page and to what is no page.
func leads(href string) bool {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' {
		return false
	}
	scheme, _, ok := strings.Cut(href, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return true
	}
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

func canonicalOf(t *dom.Tree) string {
	for n := dom.Root; int(n) < t.Len(); n++ {
		if t.Tag(n) == atom.Link && hasWord(t.Attr(n, "rel"), "canonical") {
			if u, err := url.Parse(strings.TrimSpace(t.Attr(n, "href"))); err == nil {
				return u.String()
			}
		}
	}
	return ""
}
