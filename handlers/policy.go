package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// policyAnswer is the answer of /policy and /bot/check.
type policyAnswer struct {
	URL       string          `json:"url"`
	Allowed   bool            `json:"allowed"`
	Decision  reader.Decision `json:"decision"`
	Charge    reader.Charge   `json:"charge"`
	RequestID string          `json:"request_id"`
}

// VisitDecidePolicyResponse writes the decision.
func (a policyAnswer) VisitDecidePolicyResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, a)
}

// DecidePolicy is GET /policy.
func (a api) DecidePolicy(ctx context.Context, r openapi.DecidePolicyRequestObject) (openapi.DecidePolicyResponseObject, error) {
	country := ""
	if r.Params.Country != nil {
		country = strings.ToLower(*r.Params.Country)
	}
	answer, err := a.decide(ctx, r.Params.Url, country)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// decide asks the gate what it would do with raw. A refusal is an answer, not an error.
func (s *Server) decide(ctx context.Context, raw, country string) (policyAnswer, error) {
	call := callOf(ctx)
	target, err := policy.ParseTarget(raw)
	if err != nil {
		return policyAnswer{}, badField("url", err)
	}
	call.aim(target)
	end, err := s.beginRead(ctx)
	if err != nil {
		return policyAnswer{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	verdict, err := s.decider.Decide(ctx, gate.Ask{
		Profile: s.profile, Target: target, Country: country,
		Cause: policy.Cause{Kind: policy.CausePolicy, ID: call.id, Account: call.principal.Account, Request: call.id},
	})
	var refusal *policy.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return policyAnswer{}, err
	}
	if refusal != nil {
		verdict = refusal.Verdict
	}
	return policyAnswer{URL: raw, Allowed: verdict.Allowed(), Decision: reader.DecisionOf(verdict), RequestID: call.id}, nil
}
