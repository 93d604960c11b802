package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
)

type healthy struct {
	Status string `json:"status"`
}

// VisitGetLivenessResponse says ok.
func (h healthy) VisitGetLivenessResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, h)
}

// VisitGetReadinessResponse says ok.
func (h healthy) VisitGetReadinessResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, h)
}

// GetLiveness is GET /healthz.
func (a api) GetLiveness(context.Context, openapi.GetLivenessRequestObject) (openapi.GetLivenessResponseObject, error) {
	return healthy{"ok"}, nil
}

// GetReadiness is GET /readyz.
func (a api) GetReadiness(ctx context.Context, _ openapi.GetReadinessRequestObject) (openapi.GetReadinessResponseObject, error) {
	if a.draining.Load() {
		return nil, &fault.Error{Kind: fault.Overloaded, Reason: "stopping", Detail: "This process is stopping. Ask another one.", RetryAfter: time.Second}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		a.log.Error("database does not answer", "error", err.Error())
		return nil, &fault.Error{Kind: fault.Overloaded, Reason: "database", Detail: "The database does not answer. Try again in a moment.", RetryAfter: 5 * time.Second}
	}
	return healthy{"ok"}, nil
}
