package handlers

import (
	"context"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
)

// CreateCrawl is POST /crawl.
func (a api) CreateCrawl(ctx context.Context, r openapi.CreateCrawlRequestObject) (openapi.CreateCrawlResponseObject, error) {
	w := wish{door: "POST /crawl", body: r.Body, key: r.Params.IdempotencyKey, hook: r.Body.WebhookUrl, units: r.Body.MaxUnits}
	return a.order(ctx, w, func(o jobs.Order) (jobs.Job, error) {
		return a.jobs.Crawl(ctx, jobs.CrawlOrder{Order: o, URL: r.Body.Url, Rules: rulesOf(r.Body), MaxPages: r.Body.MaxPages})
	})
}

func rulesOf(b *openapi.CrawlRequest) jobs.Rules {
	rules := jobs.Rules{
		Include: orElse(b.Include, nil), Exclude: orElse(b.Exclude, nil), Sitemap: jobs.SitemapInclude,
		Subdomains: orElse(b.Subdomains, false), MaxDepth: orElse(b.MaxDepth, -1),
	}
	if b.Sitemap != nil {
		rules.Sitemap = string(*b.Sitemap)
	}
	return rules
}
