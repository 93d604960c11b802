package billing

import (
	"context"
	"time"
)

// FreeRepeats is how often a delivered read may be asked for again with the same Idempotency-Key.
const FreeRepeats = 3

// Attempt is one request that came with an Idempotency-Key.
type Attempt struct {
	Account string
	Key     string // the header's text; only its hash is kept
	Request []byte // what makes two requests the same: method, path and canonical body; only its hash is kept
	// Longest is the longest the request may run; 0 is DefaultLongest. An attempt that did not end
	// by then, after a crash, does not stand in the way of a repeat.
	Longest time.Duration
}

// Life is when an attempt that never ended counts as dead.
func (a Attempt) Life() time.Duration { return Order{Longest: a.Longest}.HoldFor() }

// Operation is what a request, or a request repeated with its Idempotency-Key, is charged as.
type Operation struct {
	ID string // op_…
	// Object is the id of what the first request made (a job, a watch), "" when it made nothing yet.
	// A repeat answers that object and starts nothing.
	Object string
	// Repeat is true when an earlier request with the key was delivered or made the object.
	Repeat bool

	Account, KeyHash string // the row in the store; empty when there was no key
	Claim            string
}

// NewOperation is the operation of a request without an Idempotency-Key.
func NewOperation(account string) Operation { return Operation{ID: NewID("op"), Account: account} }

// Idempotency remembers Idempotency-Keys for 24 hours. No answer is kept.
type Idempotency interface {
	// Begin answers the operation of a. IdempotencyConflict while the first request still runs, for
	// another request under the same key, and after FreeRepeats repeats of a delivered read.
	Begin(ctx context.Context, a Attempt) (Operation, error)
	// End says that the request is over: delivered is true when the customer has the page, object
	// names what was made. Every Begin without an error is followed by End; where a crash prevents
	// it, the key is free again after the longest read.
	End(ctx context.Context, op Operation, delivered bool, object string) error
}
