package handlers

import (
	"context"
	"net/url"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// CreateBatch is POST /batch.
func (a api) CreateBatch(ctx context.Context, r openapi.CreateBatchRequestObject) (openapi.CreateBatchResponseObject, error) {
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
	j, err := a.makeJob(ctx, "POST /batch", r.Body, r.Params.IdempotencyKey, func(id string) (jobs.Job, error) {
		return a.jobs.Batch(ctx, jobs.BatchOrder{
			Principal: c.principal, ID: id, Request: c.id, URLs: r.Body.Urls, Options: o, MaxUnits: r.Body.MaxUnits, WebhookURL: hook,
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

// webhookURL is where a job's events go, checked: https, or http where the operator allows the network.
func (s *Server) webhookURL(raw *string) (string, error) {
	if raw == nil {
		return "", nil
	}
	u, err := url.Parse(*raw)
	plain := err == nil && u.Scheme == "http" && s.plainHook != nil && s.plainHook(u.Hostname())
	if err := checkWebhookURL(*raw); err != nil || u.Scheme != "https" && !plain {
		return "", invalid([]fault.Field{{Name: "webhook_url", Detail: "must be an absolute https URL without user name, password or fragment"}})
	}
	return *raw, nil
}
