package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

// rotationTime is how long a replaced key still works when nothing else was asked for.
const rotationTime = 24 * time.Hour

// once runs make under the caller's Idempotency-Key. make gets the operation, whose Object is what an
// earlier run with the key made, and names what it made.
func (s *Server) once(ctx context.Context, door string, body any, key *string, make func(billing.Operation) (object string, err error)) error {
	account := callOf(ctx).principal.Account
	if key == nil {
		_, err := make(billing.NewOperation(account))
		return err
	}
	request, err := json.Marshal(struct {
		Door    string
		Request any
	}{door, body})
	if err != nil {
		return fmt.Errorf("canonical request: %w", err)
	}
	op, err := s.idem.Begin(ctx, billing.Attempt{Account: account, Key: *key, Request: request})
	if err != nil {
		return err
	}
	object, err := make(op)
	s.endOperation(ctx, op, false, object)
	return err
}

// later is at, which must lie in the future; the zero time for nil.
func later(field string, at *time.Time, now time.Time) (time.Time, error) {
	if at == nil {
		return time.Time{}, nil
	}
	if !at.After(now) {
		return time.Time{}, invalid([]fault.Field{{Name: field, Detail: "must lie in the future"}})
	}
	return at.UTC(), nil
}
