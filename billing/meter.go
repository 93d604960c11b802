package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// ErrHoldEnded is what Settle returns when the hold is not there any more. The house pays.
var ErrHoldEnded = errors.New("the hold has ended")

// Reader reads one page: *reader.Reader.
type Reader interface {
	Read(ctx context.Context, r reader.Request) (*reader.Document, error)
}

// Meter is the one way to a read: it holds the price, reads, hands over, and settles or voids.
type Meter struct {
	reader Reader
	ledger Ledger
}

// New is a meter over a reader and a ledger.
func New(r Reader, l Ledger) *Meter { return &Meter{reader: r, ledger: l} }

// SettleError says that the page was handed over but the debit could not be written: the customer
// has the page, nothing was charged, and the response must not be touched any more.
type SettleError struct{ Err error }

func (e *SettleError) Error() string { return fmt.Sprintf("settle after the hand-over: %v", e.Err) }
func (e *SettleError) Unwrap() error { return e.Err }

// Read makes one read for o and gives its document to give. An error before give ran is the read's
// own (a fault); an error of give comes back as it is; a *SettleError comes after a hand-over that
// worked. Nothing is charged unless give returned nil, also when one of them panics.
func (m *Meter) Read(ctx context.Context, o Order, give HandOver) error {
	hold, err := m.ledger.Hold(ctx, o)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // a panic is on its way up: the hold ends with it, not by its time
			_ = m.void(ctx, hold, reader.Failed, fault.New(fault.Internal, ""))
		}
	}()
	receipt, err := m.deliver(ctx, o, hold, give)
	returned = true
	if err != nil {
		if unvoided := m.void(ctx, hold, OutcomeOf(err), err); unvoided != nil {
			return errors.Join(err, unvoided)
		}
		return err
	}
	if receipt.Outcome() != reader.Delivered {
		return m.void(ctx, hold, receipt.Outcome(), nil)
	}
	settling, done := afterwards(ctx)
	defer done()
	if err := m.ledger.Settle(settling, hold, receipt); err != nil {
		return &SettleError{err}
	}
	return nil
}

// deliver reads and hands over within the time the hold was made for.
func (m *Meter) deliver(ctx context.Context, o Order, hold Hold, give HandOver) (reader.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, o.LongestRead())
	defer cancel()
	d, err := m.reader.Read(ctx, o.Request)
	if err != nil {
		return reader.Receipt{}, err
	}
	if err := give(ctx, d, hold); err != nil {
		return reader.Receipt{}, err
	}
	return d.Receipt(), nil
}

// void ends the hold; a failure to do so is logged by the caller and heals by the hold's end.
func (m *Meter) void(ctx context.Context, h Hold, outcome reader.Outcome, cause error) error {
	ctx, done := afterwards(ctx)
	defer done()
	if err := m.ledger.Void(ctx, h, outcome, cause); err != nil {
		return fmt.Errorf("void a hold: %w", err)
	}
	return nil
}

// afterwards is a context for what must be written although the request is over.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), SettleTime/3)
}

// OutcomeOf is how the reads table calls a read that ended with err.
func OutcomeOf(err error) reader.Outcome {
	switch fault.Of(err) {
	case fault.BlockedBySitePolicy, fault.AddressNotAllowed, fault.AccountSuspended:
		return reader.Blocked
	case fault.TargetRefused:
		return reader.Refused
	}
	return reader.Failed
}
