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
	Request   reader.Request
}

// Hold is a reservation of the price of an order.
type Hold struct {
	ID        string // the read's id
	Receipt   string // rcp_…, minted with the hold
	Account   string
	Operation string
	Units     int // reserved; 0 when the operation was charged before
	Expires   time.Time
}

// HandOver gives the document to its customer. It returns nil only when the customer has it: written
// and flushed, or sealed.
type HandOver func(ctx context.Context, d *reader.Document, h Hold) error

// Ledger keeps holds, reads and debits.
type Ledger interface {
	// Hold reserves the order's price; a fault PaymentRequired when a cap would be crossed.
	Hold(ctx context.Context, o Order) (Hold, error)
	// Settle ends a hold with a delivered read: read row, debit and outbox row in one transaction. It
	// is refused after the hold's end.
	Settle(ctx context.Context, h Hold, r reader.Receipt) error
	// Void ends a hold without a debit and records why.
	Void(ctx context.Context, h Hold, outcome reader.Outcome, cause error) error
}
