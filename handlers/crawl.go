package handlers

import (
	"context"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// CreateCrawl is POST /crawl.
func (a api) CreateCrawl(ctx context.Context, r openapi.CreateCrawlRequestObject) (openapi.CreateCrawlResponseObject, error) {
	var o reader.Options
	if err := recode(r.Body, &o); err != nil {
		return nil, err
	}
	if !a.hasExit(o.Country) {
		return nil, gate.NoExit()
	}
	hook, err := a.webhookURL(r.Body.WebhookUrl)
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)
	j, err := a.makeJob(ctx, "POST /crawl", r.Body, r.Params.IdempotencyKey, func(id string) (jobs.Job, error) {
		return a.jobs.Crawl(ctx, jobs.CrawlOrder{
			Principal: c.principal, ID: id, Request: c.id, URL: r.Body.Url, Options: o, Rules: rulesOf(r.Body),
			MaxPages: r.Body.MaxPages, MaxUnits: r.Body.MaxUnits, WebhookURL: hook,
		})
	})
	if err != nil {
		return nil, err
	}
	if stream := a.streamOf(ctx, j); stream != nil {
		return stream, nil
	}
	return jobMade{newJob(j)}, nil
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
