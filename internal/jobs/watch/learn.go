package watch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// learn is what a page's links say: new pages of the site, documents whose link reads otherwise than
// when they were fetched, a feed that stands for the page.
func (v *visit) learn(p *Page, final string, trace reader.Trace) []Page {
	l := learning{visit: v, news: map[string]bool{}}
	if t, err := policy.ParseTarget(final); err == nil && p.Kind == Start && v.scope.related(t) {
		v.scope.hosts[t.Host()] = true // the site answers under this name
		if t.Host() != p.Host {
			l.former = p.Host
		}
		l.news[hashOf(t)] = true // it is this page
	}
	if p.Kind == Start && v.Profile.Scope.Feeds == policy.PreferFeeds {
		if feed := v.feedOf(trace.Feeds); !feed.IsZero() {
			l.add(feed, Page{Kind: Feed})
		}
	}
	for _, link := range trace.Links {
		kind, follow := v.scope.kindOf(link, p.Kind)
		if !follow {
			continue
		}
		fresh := Page{Kind: kind}
		if kind == Document {
			fresh.Hint = "link " + p.Hash + " " + digest16(link.Text)
		}
		l.add(link.Target, fresh)
	}
	return l.pages
}

// feedOf is the feed to follow: the first on the subject by its address, else the first, but for those of
// comments.
func (v *visit) feedOf(feeds []policy.Target) policy.Target {
	var best policy.Target
	for _, feed := range feeds {
		if !v.scope.holds(feed) || strings.Contains(strings.ToLower(feed.Path()), "comment") {
			continue
		}
		if v.scope.onTopic(feed, "") {
			return feed
		}
		if best.IsZero() {
			best = feed
		}
	}
	return best
}

// learning collects pages once each.
type learning struct {
	*visit
	pages  []Page
	news   map[string]bool
	former string // the site's name before, where it moves to another one
}

// inherit is a page with what is known of the one that it was under the site's former name: to move is no change.
func (l *learning) inherit(t policy.Target, p Page) Page {
	if l.former == "" {
		return p
	}
	if t, err := policy.ParseTarget(t.Scheme() + "://" + l.former + t.PathQuery()); err == nil {
		if old := l.known[hashOf(t)]; old != nil && old.Kind == p.Kind {
			p.State, p.Body = old.State, old.Body
		}
	}
	return p
}

// add takes a page in. A known one counts only where its Hint differs from the one it was fetched with.
func (l *learning) add(t policy.Target, p Page) {
	p.Hash, p.URL, p.Host = hashOf(t), t.String(), t.Host()
	if l.news[p.Hash] {
		return
	}
	l.news[p.Hash] = true
	old := l.known[p.Hash]
	switch {
	case old == nil:
		// Too much is left out, so that no site can fill the house.
		if len(l.visit.pages)+len(l.pages) < mostPages && (p.Kind != Sitemap || l.count(Sitemap) < mostSitemaps) {
			l.pages = append(l.pages, l.inherit(t, p))
		}
	case p.Hint == "" || p.Hint == unmarked(old.Hint) && p.Fed == old.Fed || old.Kind == Start || old.Kind == Feed:
	case old.Hint == "" || sourceOf(p.Hint) == sourceOf(old.Hint), p.Fed && !old.Fed:
		told := *old
		told.Wanted = told.Wanted || p.Hint != unmarked(old.Hint) && sourceOf(p.Hint) == sourceOf(old.Hint)
		told.Hint, told.Fed = p.Hint, old.Fed || p.Fed
		l.pages = append(l.pages, told)
	}
}

// sourceOf is who gave a hint: of two pages that link to a document, only the first one's words count.
func sourceOf(hint string) string {
	if i := strings.LastIndexByte(hint, ' '); i >= 0 {
		return hint[:i]
	}
	return ""
}

func (l *learning) count(kind PageKind) int {
	n := 0
	for _, p := range l.visit.pages {
		if p.Kind == kind {
			n++
		}
	}
	for _, p := range l.pages {
		if p.Kind == kind {
			n++
		}
	}
	return n
}

// ask is a request for a feed or sitemap: it goes through the gate like any other, and nobody pays.
func (v *visit) ask(p *Page, t policy.Target, want gate.Want) gate.Ask {
	return gate.Ask{
		Profile: v.Profile, Cause: v.cause(), Target: t, Want: want, Validators: p.Validators, RobotsSince: v.since,
		Within: v.beside, Country: strings.ToLower(v.claim.Watch.Options.Read.Country),
		Until: v.Clock.Now().Add(patience + v.Timeout), Patience: patience,
	}
}

// beside is true for where a feed or sitemap may redirect: not to a page, which many sites answer with in
// place of a 404.
func (v *visit) beside(t policy.Target) bool {
	other := v.known[hashOf(t)]
	return v.scope.related(t) && !isHome(t) && !v.scope.shuns(t) && (other == nil || other.Kind == Feed || other.Kind == Sitemap)
}

// listing gets a feed or sitemap and hands the answer to read, which fills in what it says.
func (v *visit) listing(ctx context.Context, p *Page, t policy.Target, want gate.Want, read func(gate.Page, *Finding) error) error {
	page, _, err := v.Gate.Get(ctx, v.ask(p, t, want))
	if err != nil {
		return err
	}
	f := Finding{Page: *p}
	if page.Validators != (gate.Validators{}) || !page.NotModified {
		f.Page.Validators = page.Validators
	}
	if err := read(page, &f); err != nil {
		return err
	}
	if err := v.record(ctx, p, f, change.Unchanged); err != nil {
		return err
	}
	v.tell(p, "listing", "")
	return nil
}

// What a feed's hint says of it: it stands for the listing that advertises it, or it has been found to leave
// calls out and does so no longer.
const (
	feedStands  = "stands"
	feedPartial = "partial"
)

// feed polls a feed. Its items are fetched when they are new; once it has one that a page of the site links to, it
// stands for the pages that advertise it.
func (v *visit) feed(ctx context.Context, p *Page, t policy.Target) error {
	return v.listing(ctx, p, t, gate.WantFeed, func(page gate.Page, f *Finding) error {
		if page.NotModified {
			return nil
		}
		items, err := readFeed(page.Body)
		if err != nil {
			return err
		}
		l := learning{visit: v, news: map[string]bool{}}
		for _, i := range items {
			to, err := page.Target.Resolve(i.url)
			if err != nil {
				continue
			}
			kind, follow := v.scope.kindOf(reader.Outlink{Target: to, Text: i.text, Kept: true}, Feed)
			if !follow {
				continue
			}
			if old := v.known[hashOf(to)]; old != nil && old.Kind == Linked && !old.Fed && f.Page.Hint == "" {
				f.Page.Hint = feedStands
			}
			l.add(to, Page{Kind: kind, Fed: true, Hint: "feed " + p.Hash + " " + i.version})
		}
		for _, start := range v.pages {
			if f.Page.Hint == feedStands && start.Kind == Start && !start.Fed && start.Host == p.Host {
				covered := *start
				covered.Fed = true
				l.pages = append(l.pages, covered)
			}
		}
		f.Learned = l.pages
		return nil
	})
}

// leftOut takes a listing off its feed when it leads to pages that the feed, polled before, did not tell of.
func (v *visit) leftOut(p *Page, f *Finding) {
	if p.Kind != Start || !p.Fed || !slices.ContainsFunc(f.Learned, func(l Page) bool { return l.Kind == Linked && v.known[l.Hash] == nil }) {
		return
	}
	f.Page.Fed = false
	for _, feed := range v.pages {
		if feed.Kind == Feed && feed.Host == p.Host {
			partial := *feed
			partial.Hint = feedPartial
			f.Learned = append(f.Learned, partial)
		}
	}
}

// sitemap reads a sitemap: new pages on the subject, and those it says were modified, go first; those it says
// were not are spared where its word is good.
func (v *visit) sitemap(ctx context.Context, p *Page, t policy.Target) error {
	return v.listing(ctx, p, t, gate.WantSitemap, func(page gate.Page, f *Finding) error {
		l := learning{visit: v, news: map[string]bool{}}
		var w word
		if page.NotModified {
			w, f.Learned = v.weigh(p, nil)
		} else {
			w, f.Learned = v.readMap(&l, p, page)
			w.heavy = len(page.Body) > lightMap && page.Validators == (gate.Validators{})
			f.Learned = append(f.Learned, l.pages...)
		}
		f.Page.State = w.state()
		v.heard[vouches(p)] = &w
		return nil
	})
}

// readMap takes in what a sitemap lists. What it lists no more, it says nothing about.
func (v *visit) readMap(l *learning, p *Page, page gate.Page) (word, []Page) {
	pages, files := readSitemap(page.Body)
	listed, now := map[policy.Target]Page{}, map[string]string{}
	var order []policy.Target
	for _, e := range pages {
		to, err := page.Target.Resolve(e.url)
		if err != nil {
			continue
		}
		if kind, follow := v.scope.kindOf(reader.Outlink{Target: to, Text: e.text}, Sitemap); follow {
			order, listed[to], now[hashOf(to)] = append(order, to), Page{Kind: kind, Hint: hintOf(p, e)}, hintOf(p, e)
		}
	}
	w, told := v.weigh(p, now)
	for _, to := range order {
		l.add(to, listed[to])
	}
	for _, e := range files {
		if to, err := page.Target.Resolve(e.url); err == nil && v.scope.holds(to) && len(to.String()) <= longURL {
			l.add(to, Page{Kind: Sitemap, Hint: hintOf(p, e)})
		}
	}
	for _, old := range v.pages {
		if sourceOf(old.Hint) == vouches(p) && now[old.Hash] == "" && !old.Kind.Listing() {
			free := *old
			free.Hint, free.Wanted = "", false
			l.pages = append(l.pages, free)
		}
	}
	return w, told
}

// findSitemaps asks robots.txt where the site's sitemaps are, once per visit and only while none is known.
// The copy is one that the start page's request was judged by.
func (v *visit) findSitemaps(ctx context.Context, p *Page) error {
	l := learning{visit: v, news: map[string]bool{}}
	if p.Kind != Start || !v.claim.Site.Sitemap || v.mapped || v.skipped[p.Host] || l.count(Sitemap) > 0 {
		return nil
	}
	v.mapped = true
	t, err := policy.ParseTarget(p.URL)
	if err != nil {
		return nil //nolint:nilerr // it was noted when the page was tried
	}
	named, err := v.Gate.Sitemaps(ctx, v.ask(&Page{}, t, gate.WantSitemap))
	if err != nil {
		return ctx.Err() // without them, the links will do; the next round asks again
	}
	for _, raw := range named {
		if to, err := t.Resolve(raw); err == nil && v.scope.holds(to) && len(to.String()) <= longURL {
			l.add(to, Page{Kind: Sitemap})
		}
	}
	if to, err := t.Resolve("/sitemap.xml"); err == nil && len(l.pages) == 0 {
		l.add(to, Page{Kind: Sitemap})
	}
	return v.adopt(ctx, p, l.pages)
}

// adopt takes pages in without a request.
func (v *visit) adopt(ctx context.Context, p *Page, learned []Page) error {
	if _, err := v.Book.Record(ctx, v.claim, Finding{Page: *p, Learned: learned}); err != nil {
		return err
	}
	v.adopted(learned)
	return nil
}

// unlisted is a feed or sitemap that cannot be read. A feed then stands for its pages no longer.
func (v *visit) unlisted(ctx context.Context, p *Page, reason string) error {
	if p.Kind != Feed {
		return v.skipPage(ctx, p, reason)
	}
	v.claim.Tally.Skipped++
	v.tell(p, "skipped", reason)
	f := Finding{Page: *p}
	for _, other := range v.pages {
		if other.Fed && other.Host == p.Host {
			free := *other
			free.Fed = false
			f.Learned = append(f.Learned, free)
		}
	}
	return v.record(ctx, p, f, change.Unchanged)
}

func isBusy(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == fault.HostBusy
}
