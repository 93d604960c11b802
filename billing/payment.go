package billing

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CheckoutOrder is what a new or an existing customer subscribes to.
type CheckoutOrder struct {
	Plan       Plan
	Customer   string    // the payment service's customer; "" makes one
	Reference  string    // our account's id when an account upgrades, else ""
	Anchor     time.Time // when the first full billing period begins
	SuccessURL string    // {CHECKOUT_SESSION_ID} in it becomes the session's id
	CancelURL  string
	// Repeat is the same for orders that are repetitions of one: the payment service answers the first
	// one's page. "" is never repeated.
	Repeat string
}

// CheckoutPage is a page of the payment service that a customer is sent to.
type CheckoutPage struct {
	Session string
	URL     string
	Expires time.Time
}

// SubscriptionState is what a subscription allows.
type SubscriptionState string

// The states of a subscription.
const (
	Paying  SubscriptionState = "paying"  // in good standing, or on trial
	Owing   SubscriptionState = "owing"   // a payment failed and is tried again
	Unpaid  SubscriptionState = "unpaid"  // the payment service has given up
	Ended   SubscriptionState = "ended"   // cancelled, or never begun
	Unbegun SubscriptionState = "unbegun" // the first payment is not through yet
)

// Subscription is what the payment service holds of one.
type Subscription struct {
	ID       string
	Customer string
	Price    string
	State    SubscriptionState
}

// Payments is the payment service as far as signing up and paying go.
type Payments interface {
	Checkout(ctx context.Context, o CheckoutOrder) (CheckoutPage, error)
	// Completed is the subscription that a finished checkout made. ErrUnfinished while it is not
	// finished, ErrExpired when it never will be, ErrNoSuchThing for a session that is not there.
	Completed(ctx context.Context, session string) (Subscription, error)
	// Subscription is its state now. ErrNoSuchThing when it is not there.
	Subscription(ctx context.Context, id string) (Subscription, error)
	// CancelSubscription ends one at once. One that has ended or is gone is no error.
	CancelSubscription(ctx context.Context, id string) error
	// Portal is where a customer changes the card, sees invoices and cancels.
	Portal(ctx context.Context, customer, returnURL string) (url string, err error)
	// Event checks a webhook's signature and age and reads it.
	Event(body []byte, signature string) (PaymentEvent, error)
}

// What Payments and Reporter answer besides a PaymentError.
var (
	ErrNoSuchThing = errors.New("the payment service does not know it")
	ErrUnfinished  = errors.New("the checkout is not finished")
	ErrExpired     = errors.New("the checkout has ended without a payment")
	ErrForged      = errors.New("the signature is wrong or too old")
	ErrOther       = errors.New("the payment service knows this order's Repeat from another order, or works on it")
	ErrDuplicate   = errors.New("the payment service has a report with this identifier")
)

// PaymentError is a call to the payment service that failed. It holds no text of a request.
type PaymentError struct {
	Doing string
	// Status is the HTTP status, 0 when no answer came: then nobody knows whether the call was done.
	Status int
	Code   string // the payment service's own word
	Err    error
}

func (e *PaymentError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: no answer from the payment service: %v", e.Doing, e.Err)
	}
	return fmt.Sprintf("%s: the payment service answered %d %s", e.Doing, e.Status, e.Code)
}

func (e *PaymentError) Unwrap() error { return e.Err }

// Final is true when the same call would fail again.
func (e *PaymentError) Final() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != 401 && e.Status != 403 && e.Status != 408 && e.Status != 409 && e.Status != 429
}

// final is true for an error that a repetition cannot mend.
func final(err error) bool {
	var p *PaymentError
	return errors.As(err, &p) && p.Final() || errors.Is(err, ErrNoSuchThing)
}

// PaymentEvent is something that happened at the payment service: ids only.
type PaymentEvent struct {
	ID           string
	Kind         string // the payment service's own word, or one of ours that begins with house.
	Session      string // of a checkout
	Subscription string
	Customer     string
	// Rejected are the identifiers of reports that were not taken, where the event is about that.
	Rejected []string
	Problem  string // in the payment service's words, cut
}

// LookEvent is an event of our own: look how the subscription it names stands.
const LookEvent = "house.look"

// CancelEvent is an event of our own: end the subscription it names at the payment service.
const CancelEvent = "house.cancel"

// UsageReport is a batch of units of one customer. ID is its identifier at the payment service, Minute is the
// whole minute that the units are dated: no two reports of a customer share one, so that what the
// payment service holds for that minute tells whether the report arrived.
type UsageReport struct {
	ID        string
	Account   string
	Customer  string
	Units     int64
	Minute    time.Time
	Cancels   bool      // the report was made and is to be taken back
	FirstSent time.Time // zero when it was never sent
	Tries     int
}

// Reporter tells the payment service what was used.
type Reporter interface {
	// Report sends units once per r.ID: ErrDuplicate when they arrived before.
	Report(ctx context.Context, r UsageReport) error
	// Cancel takes a report back, within 24 hours. ErrDuplicate when it was taken back before.
	Cancel(ctx context.Context, r UsageReport) error
	// Held is how many units the payment service has for a customer between two whole minutes.
	Held(ctx context.Context, customer string, p Period) (int64, error)
	// HeldEach is the same by the hours or days that begin in p, both of whose ends are such ends; those
	// without units may be left out.
	HeldEach(ctx context.Context, customer string, p Period, w Window) (map[time.Time]int64, error)
}

// Window is a span in which the payment service adds up.
type Window time.Duration

// The windows.
const (
	Hour = Window(time.Hour)
	Day  = Window(24 * time.Hour)
)

// of is the beginning of the window that t is in.
func (w Window) of(t time.Time) time.Time { return t.UTC().Truncate(time.Duration(w)) }

// Outbox is what waits to be reported, as the store keeps it. Every step is one transaction.
type Outbox interface {
	// Gather puts debits of subscribed accounts, of slots of time that are over, into reports.
	Gather(ctx context.Context) (made int, err error)
	// Claim takes reports that are due for as long as ClaimTime, and writes down that they are sent.
	Claim(ctx context.Context, limit int) ([]UsageReport, error)
	// Arrived says that the payment service has the report.
	Arrived(ctx context.Context, id string) error
	// Again has the report sent anew after a while. notBefore moves the time it was first sent, where
	// it is known that nothing sent before then arrived; zero leaves it.
	Again(ctx context.Context, id, problem string, after time.Duration, notBefore time.Time) error
	// GiveUp leaves a report that cannot arrive for the operator: it shows in every reconciliation.
	// It is due once more after a while; 0 is never.
	GiveUp(ctx context.Context, id, problem string, again time.Duration) error
	// TakenBack says that the payment service cancelled the report; what was not credited of it is
	// reported anew.
	TakenBack(ctx context.Context, id string) error
	// StillThere says that the report could not be taken back.
	StillThere(ctx context.Context, id, problem string) error
	// Books are the ledger and the reports, by customer and month, of the time p.
	Books(ctx context.Context, p Period) ([]Book, error)
	Now(ctx context.Context) (time.Time, error)
}

// ClaimTime is how long a claimed report is nobody else's.
const ClaimTime = 2 * time.Minute

// Book is one customer's month: what was debited while subscribed, and what became of it.
type Book struct {
	Account, Customer string
	Month             Period
	Debited           int64 // less what was credited
	Waiting           int64 // not sent yet
	UnderWay          int64 // sent, or arrived so lately that the payment service may not have added it up
	Slack             int64 // taken back so lately that the payment service may still count it
	Arrived           int64
	GivenUp           int64
	Receipts          int64 // the sum of the receipts, less credits

	Hours map[time.Time]Sent // of the reports, those with any
}

// Add enters what was sent for a moment.
func (b *Book) Add(at time.Time, s Sent) {
	b.Arrived, b.UnderWay, b.Slack = b.Arrived+s.Arrived, b.UnderWay+s.UnderWay, b.Slack+s.Slack
	if b.Hours == nil {
		b.Hours = map[time.Time]Sent{}
	}
	b.Hours[Hour.of(at)] = b.Hours[Hour.of(at)].plus(s)
}

// Sent is what the payment service was told for a span of time: see Book.
type Sent struct{ Arrived, UnderWay, Slack int64 }

func (s Sent) plus(more Sent) Sent {
	return Sent{s.Arrived + more.Arrived, s.UnderWay + more.UnderWay, s.Slack + more.Slack}
}

// Checkout is a sign-up or an upgrade under way. The cookie of the browser that began it is kept as
// its hash.
type Checkout struct {
	Session  string
	Cookie   string // hash
	Account  string // "" until it is made
	Name     string // of the account that is to be made
	Plan     string
	Upgrade  bool
	Done     bool
	Expires  time.Time
	KeyShown bool
}

// GraceTime is how long an account may go on after a payment failed.
const GraceTime = 7 * 24 * time.Hour

// KeyTime is how long a reload of the sign-up's last page replaces a key that was never used.
const KeyTime = time.Hour

// Customers keeps who pays, and by which subscription.
type Customers interface {
	// BeginCheckout writes a checkout down. One that is there already, as it was asked for again with an
	// Idempotency-Key, stays; IdempotencyConflict when that was another one, or is finished.
	BeginCheckout(ctx context.Context, c Checkout) error
	// Checkout is one by its session; NotFound when there is none.
	Checkout(ctx context.Context, session string) (Checkout, error)
	// Subscribe links the subscription of a finished checkout: it makes the account, or upgrades it,
	// once; a repetition answers the same account. Subscriptions that the account had are ended here and,
	// by an event of our own, at the payment service.
	Subscribe(ctx context.Context, session string, sub Subscription) (Account, error)
	// SignUpKey makes the first key of the account that a checkout made. While it was never used and
	// KeyTime is not over, it is replaced; after that NotFound.
	SignUpKey(ctx context.Context, session string) (Key, Secret, error)
	// Customer is the payment service's id of the account's customer, "" when it has none.
	Customer(ctx context.Context, account string) (string, error)
	// Subscriptions are those of a customer that still run.
	Subscriptions(ctx context.Context, customer string) ([]string, error)
	// Apply writes down a subscription as the payment service showed it after asked; what was asked
	// later is not overwritten. One that is not linked to an account changes nothing.
	Apply(ctx context.Context, sub Subscription, asked time.Time) error

	// TakeEvent keeps an event and queues it to be dealt with, once by its id.
	TakeEvent(ctx context.Context, e PaymentEvent) error
	// Event is an event that is to be dealt with after a while, 0 is now. One that is over is none: its ID
	// is empty.
	Event(ctx context.Context, id string) (e PaymentEvent, wait time.Duration, err error)
	EventDone(ctx context.Context, id string) error
	// EventAgain puts an event off and answers for how long.
	EventAgain(ctx context.Context, id, problem string) (wait time.Duration, err error)
	Now(ctx context.Context) (time.Time, error)
}
