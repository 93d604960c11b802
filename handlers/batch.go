package handlers

import (
	"context"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
)

// CreateBatch is POST /batch.
func (a api) CreateBatch(ctx context.Context, r openapi.CreateBatchRequestObject) (openapi.CreateBatchResponseObject, error) {
	w := wish{door: "POST /batch", body: r.Body, key: r.Params.IdempotencyKey, hook: r.Body.WebhookUrl, units: r.Body.MaxUnits}
	return a.order(ctx, w, func(o jobs.Order) (jobs.Job, error) {
		return a.jobs.Batch(ctx, jobs.BatchOrder{Order: o, URLs: r.Body.Urls})
	})
}
