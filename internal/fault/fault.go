// Package fault has the kinds of failure that a caller can act on. A kind says who can mend it; its
// code is the `code` of the API's problem documents. It knows no other package of the house.
package fault

import (
	"errors"
	"time"
)

// Kind is one code of the contract. The zero Kind is Internal: shown as nothing, logged as everything.
type Kind uint8

// The kinds, one for each code.
const (
	Internal Kind = iota
	InvalidRequest
	Unauthorized
	AccountSuspended
	PaymentRequired
	NotFound
	IdempotencyConflict
	RateLimited
	BlockedBySitePolicy
	TargetRefused
	TargetNotFound
	TargetError
	TargetUnreachable
	TargetTimeout
	HostBusy
	Overloaded
	AddressNotAllowed
	UnsupportedContent
	TooLarge
	NoContent
	kinds
)

var codes = [kinds]string{
	"internal", "invalid_request", "unauthorized", "account_suspended", "payment_required", "not_found",
	"idempotency_conflict", "rate_limited", "blocked_by_site_policy", "target_refused", "target_not_found",
	"target_error", "target_unreachable", "target_timeout", "host_busy", "overloaded", "address_not_allowed",
	"unsupported_content", "too_large", "no_content",
}

// String is the code of k.
func (k Kind) String() string {
	if k >= kinds {
		return codes[Internal]
	}
	return codes[k]
}

// Kinds are all kinds, Internal first.
func Kinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// Error is a failure of a known kind.
type Error struct {
	Kind Kind
	// Reason narrows the kind (`robots_disallow`, `challenge`, `server_error` …); may be empty.
	Reason string
	// Detail is a sentence for the caller that says what to do. It never holds page text or a secret.
	Detail string
	// TargetStatus is the HTTP status of the site's answer, or 0.
	TargetStatus int
	// RetryAfter is how long to wait before trying again; 0 when unknown or useless.
	RetryAfter time.Duration
	// Fields are the request's fields at fault, for InvalidRequest.
	Fields []Field
	// Err is logged and never shown. It never holds body text. For a refusal it is a *policy.Refusal.
	Err error
}

// Field names a field of a request and what is wrong with it.
type Field struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

func (e *Error) Error() string {
	s := e.Kind.String()
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an error of kind with the detail shown to the caller.
func New(kind Kind, detail string) *Error { return &Error{Kind: kind, Detail: detail} }

// Of is the kind of err: Internal when err is not, and does not wrap, an Error.
func Of(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// As is err's Error, or one of kind Internal that wraps it.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Err: err}
}

// Retryable is true for kinds where the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, TargetUnreachable, TargetTimeout, HostBusy, Overloaded, Internal:
		return true
	case TargetError:
		return e.Reason == "server_error"
	}
	return false
}
