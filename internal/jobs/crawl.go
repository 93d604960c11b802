package jobs

import (
	"context"
	"errors"
	"strings"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// follow takes from a page what the crawl goes on with.
func (t *task) follow(trail reader.Trail) {
	final := trail.Final
	if final.IsZero() {
		final = t.target
	}
	if t.item.Kind == Start {
		t.settleScope(final)
		t.startOver()
	}
	t.finish.Requests = 1 + trail.Hops
	t.aliases(final, trail.Canonical)
	if t.work.Rules.Sitemap == SitemapOnly {
		return
	}
	if trail.More {
		t.finish.Limits++
	}
	t.queue(trail.Links, t.item.Depth+1)
}

// settleScope makes the host that the start page led to the crawl's own.
func (t *task) settleScope(final policy.Target) {
	if final.Host() == t.scope.host || !t.scope.sameOwner(final) {
		return
	}
	t.finish.ScopeHost = final.Host()
	t.work.ScopeHost = final.Host()
	t.scope = newScope(t.work)
}

// startOver queues the search for sitemaps, once the crawl knows its host.
func (t *task) startOver() {
	if t.work.Rules.Sitemap == SitemapSkip {
		return
	}
	at := t.target
	if t.finish.ScopeHost != "" {
		if home, err := policy.ParseTarget(t.target.Scheme() + "://" + t.finish.ScopeHost + "/"); err == nil {
			at = home
		}
	}
	home, err := at.Resolve("/")
	if err != nil {
		return
	}
	t.finish.Found = append(t.finish.Found, t.found(Seed, home, 1, "seed "))
}

// aliases are the other names of the page: where it was found in the end, and what it calls itself. A
// page that calls itself the home page is not believed: many templates do so on every page.
func (t *task) aliases(final, canonical policy.Target) {
	own := FormOf(t.target)
	found := FormOf(final)
	if found != own {
		t.finish.Aliases = append(t.finish.Aliases, found)
	}
	if canonical.IsZero() || !t.scope.onSite(canonical) || canonical.Path() == "/" && final.Path() != "/" {
		return
	}
	canonical = clean(canonical)
	form := FormOf(canonical)
	if form != own && form != found && t.item.Kind != Start && t.scope.wanted(canonical) && bounded(canonical) {
		f := t.found(Page, canonical, t.item.Depth, "")
		t.finish.Own = &f
	}
}

// queue takes links into the frontier that the crawl wants and has not seen.
func (t *task) queue(links []policy.Target, depth int) {
	taken := map[Form]bool{FormOf(t.target): true}
	for _, link := range links {
		if !t.scope.onSite(link) {
			continue
		}
		link = clean(link)
		if !t.scope.wanted(link) {
			continue
		}
		form := FormOf(link)
		if taken[form] || t.seen.has(t.work.Job, form) {
			continue
		}
		if depth > t.scope.maxDepth || !bounded(link) {
			if depth > mostDepth || !bounded(link) {
				t.finish.Limits++
			}
			continue
		}
		taken[form] = true
		t.finish.Found = append(t.finish.Found, t.found(Page, link, depth, ""))
	}
}

// found is a frontier entry. A mark keeps sitemaps apart from pages of the same address.
func (t *task) found(kind ItemKind, to policy.Target, depth int, mark string) Found {
	form := FormOf(to)
	if mark != "" {
		form = hashForm(mark + to.String())
	}
	return Found{Kind: kind, URL: to.String(), Host: to.Host(), Pace: t.c.Profile.PaceKey(to), Form: form, Depth: depth}
}

// seed asks robots.txt for sitemaps, and adds the usual place.
func (t *task) seed(ctx context.Context) error {
	listed, err := t.c.Reader.Sitemaps(ctx, t.request(ctx))
	if err != nil {
		return err
	}
	if t.work.Rules.Sitemap == SitemapOnly {
		t.scopeOf(listed)
	}
	t.sitemapFiles(append(listed, "/sitemap.xml"), 1)
	return nil
}

// scopeOf makes another host of the owner the crawl's own when all sitemaps of robots.txt lie there, as
// where a site has moved to www. No start page is read that would say so.
func (t *task) scopeOf(listed []string) {
	var there policy.Target
	for _, address := range listed {
		to, err := t.target.Resolve(strings.TrimSpace(address))
		if err != nil || !t.scope.sameOwner(to) {
			continue
		}
		if t.scope.onSite(to) {
			return
		}
		there = to
	}
	if !there.IsZero() {
		t.settleScope(there)
	}
}

// sitemapFiles queues sitemap files of the site itself, as many as are read at most. Depth 1 is listed in
// robots.txt, depth 2 by an index, depth 3 by an index of an index.
func (t *task) sitemapFiles(addresses []string, depth int) {
	for _, address := range addresses {
		to, err := t.target.Resolve(strings.TrimSpace(address))
		if err != nil || !t.scope.onSite(to) {
			continue
		}
		if len(t.finish.Found) >= mostSitemaps {
			t.finish.Limits++
			return
		}
		t.finish.Found = append(t.finish.Found, t.found(Sitemap, to, depth, "sitemap "))
	}
}

// sitemap reads a sitemap file and queues what it lists.
func (t *task) sitemap(ctx context.Context) error {
	request := t.request(ctx)
	if t.work.Rules.Sitemap == SitemapOnly {
		request.Within = t.scope.sameOwner
	}
	body, final, err := t.c.Reader.SitemapFile(ctx, request)
	if _, off := errors.AsType[*reader.OffScope](err); off {
		t.finish.Requests = 1
		return nil
	}
	if err != nil {
		return err
	}
	t.finish.Requests = 1
	if t.work.Rules.Sitemap == SitemapOnly {
		t.settleScope(final)
	}
	s := readSitemap(body)
	if t.item.Depth <= 2 {
		t.sitemapFiles(s.files, t.item.Depth+1)
	} else if len(s.files) > 0 {
		t.finish.Limits++
	}
	var pages []policy.Target
	for _, address := range s.pages {
		if to, err := final.Resolve(address); err == nil {
			pages = append(pages, to)
		}
	}
	depth := 1
	if t.work.Rules.Sitemap == SitemapOnly {
		depth = 0 // no links are followed: max_depth does not count
	}
	t.queue(pages, depth)
	return nil
}
