// Package billing holds the price of a read before it is made, and settles it only when the page was
// delivered. Only Ledger.Settle debits.
package billing

import (
	"context"
	"time"

	"github.com/webreaderapi/webreader/reader"
)

// Order is one read that somebody pays for.
type Order struct {
	Account   string // account id
	Key       string // API key id
	Operation string // op_… or a job item's id; at most one debit each
	Job       string // job id, "" for a single read
	Kind      string // read, batch, crawl, watch
	// Units is the most the read may cost; 0 is 1.
	Units int
	// Longest is the longest the read and its hand-over may take; 0 is DefaultLongest. The hold
	// outlives it.
	Longest time.Duration
	Request reader.Request
}

// DefaultLongest is the longest read of an order that names none.
const DefaultLongest = 2 * time.Minute

// SettleTime is how long a hold outlives the longest read: the time left to settle it.
const SettleTime = 30 * time.Second

// Price is the most the read may cost.
func (o Order) Price() int { return max(o.Units, 1) }

// LongestRead is the longest the read and its hand-over may take.
func (o Order) LongestRead() time.Duration {
	if o.Longest <= 0 {
		return DefaultLongest
	}
	return o.Longest
}

// HoldFor is how long the order's hold lasts.
func (o Order) HoldFor() time.Duration { return o.LongestRead() + SettleTime }

// Hold is a reservation of the price of an order.
type Hold struct {
	ID        string // the read's id
	Receipt   string // rcp_…, minted with the hold
	Account   string
	Key       string
	Operation string
	Job       string
	Kind      string
	Units     int // reserved; 0 when the operation was charged before
	Expires   time.Time
}

// Charge is what a read with receipt r will cost under h: what the customer's answer says.
func (h Hold) Charge(r reader.Receipt) int {
	if r.Outcome() != reader.Delivered {
		return 0
	}
	return min(h.Units, r.Units())
}

// HandOver gives the document to its customer. It returns nil only when the customer has it: written
// and flushed, or sealed.
type HandOver func(ctx context.Context, d *reader.Document, h Hold) error

// Ledger keeps holds, reads and debits.
type Ledger interface {
	// Hold reserves the order's price; a fault PaymentRequired when a cap would be crossed,
	// AccountSuspended when the account is.
	Hold(ctx context.Context, o Order) (Hold, error)
	// Settle ends a hold with a delivered read: read row, debit and outbox row in one transaction. It
	// is refused with ErrHoldEnded after the hold's end, and then nothing is charged.
	Settle(ctx context.Context, h Hold, r reader.Receipt) error
	// Void ends a hold without a debit and records why. A hold that ended already is no error: the
	// read is recorded all the same.
	Void(ctx context.Context, h Hold, outcome reader.Outcome, cause error) error
}
