package billing

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
)

// Desk is where customers sign up, pay and leave: the payment service's pages are made and its
// events are dealt with here.
type Desk struct {
	payments  Payments
	customers Customers
	outbox    Outbox
	plans     *Plans
	log       *slog.Logger
	problems  func()
}

// NewDesk is a desk. problems, which may be nil, is called for each event an operator must look at.
func NewDesk(p Payments, c Customers, o Outbox, plans *Plans, log *slog.Logger, problems func()) *Desk {
	if problems == nil {
		problems = func() {}
	}
	return &Desk{p, c, o, plans, log, problems}
}

// Plans are the plans that can be bought, the usual one first.
func (d *Desk) Plans() []Plan { return d.plans.ForSale() }

// SignUp is what somebody who signs up, or an account that upgrades, asks for.
type SignUp struct {
	Plan    string // "" is the usual one
	Name    string // of a new account
	Account string // the account that upgrades, "" for a new one
	Cookie  string // of the browser, if it has one already
	Base    string // our public address
	// Again is the Idempotency-Key, "" without one. It names a sign-up of the account or, for a new one, of
	// the browser with the cookie: without either, nobody's sign-up is repeated.
	Again string
}

// checkoutKept is how long a sign-up is remembered. The payment service's page lasts 24 hours, and it repeats
// events for three days more.
const checkoutKept = 5 * 24 * time.Hour

// Begin makes a checkout page. Whoever comes back from it is known by the cookie.
func (d *Desk) Begin(ctx context.Context, s SignUp) (page, cookie string, err error) {
	plan, ok := d.plans.Sold(s.Plan)
	if !ok {
		return "", "", &fault.Error{Kind: fault.InvalidRequest, Detail: "This plan is not for sale here.",
			Fields: []fault.Field{{Name: "plan", Detail: "is not a plan that can be bought"}}}
	}
	now, err := d.customers.Now(ctx)
	if err != nil {
		return "", "", err
	}
	order := CheckoutOrder{
		Plan: plan, Reference: s.Account, Anchor: Month(now).To,
		SuccessURL: s.Base + "/billing/success?session_id={CHECKOUT_SESSION_ID}", CancelURL: s.Base + "/signup",
	}
	if s.Account != "" {
		if order.Customer, err = d.customers.Customer(ctx, s.Account); err != nil {
			return "", "", err
		}
	}
	if cookie = s.Cookie; !ValidID("browser", cookie) {
		cookie = NewID("browser")
	}
	order.Repeat = s.repeat(cookie)
	made, err := d.payments.Checkout(ctx, order)
	if errors.Is(err, ErrOther) {
		return "", "", &fault.Error{Kind: fault.IdempotencyConflict, Detail: "This Idempotency-Key was used for another checkout, or for one that is being made. Use a new key for a new one.", Err: err}
	}
	if err != nil {
		return "", "", shown(err)
	}
	c := Checkout{Session: made.Session, Cookie: hashCookie(cookie), Account: s.Account, Name: s.Name, Plan: plan.Name,
		Upgrade: s.Account != "", Expires: now.Add(checkoutKept)}
	return made.URL, cookie, d.customers.BeginCheckout(ctx, c)
}

// repeat names the sign-up among all there are; "" when it is never repeated.
func (s SignUp) repeat(cookie string) string {
	if s.Again == "" {
		return ""
	}
	whose := s.Account
	if whose == "" {
		whose = cookie
	}
	return hashCookie("checkout " + whose + " " + s.Again)
}

func hashCookie(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

// shown is a failure of the payment service as its customer sees it.
func shown(err error) error {
	var p *PaymentError
	if errors.As(err, &p) && !p.Final() {
		return &fault.Error{Kind: fault.Overloaded, Detail: "The payment service does not answer as it should. Try again in a minute; nothing was charged.",
			RetryAfter: time.Minute, Err: err}
	}
	return err
}

// Welcome is what the last page of a sign-up shows.
type Welcome struct {
	Account  Account
	Upgraded bool
	Secret   Secret // the key; not set for an upgrade, or when it was shown before
	Shown    bool   // the key was shown before and can be no more
}

// Finish ends a sign-up in the browser that began it. NotFound for everyone else, whatever session they
// name; ErrUnfinished while the payment is not through, ErrExpired when it will not be.
func (d *Desk) Finish(ctx context.Context, session, cookie string) (Welcome, error) {
	none := fault.New(fault.NotFound, "This page opens only in the browser in which the sign-up began, for five days.")
	if len(session) > 200 || !ValidID("browser", cookie) {
		return Welcome{}, none
	}
	c, err := d.customers.Checkout(ctx, session)
	if fault.Of(err) == fault.NotFound && err != nil {
		return Welcome{}, none
	}
	if err != nil {
		return Welcome{}, err
	}
	now, err := d.customers.Now(ctx)
	if err != nil {
		return Welcome{}, err
	}
	if subtle.ConstantTimeCompare([]byte(c.Cookie), []byte(hashCookie(cookie))) != 1 || !c.Expires.After(now) {
		return Welcome{}, none
	}
	account, err := d.complete(ctx, session)
	if err != nil {
		return Welcome{}, shown(err)
	}
	if account.Status == Closed {
		return Welcome{}, fault.New(fault.NotFound, "The account of this sign-up is closed.")
	}
	if c.Upgrade {
		return Welcome{Account: account, Upgraded: true}, nil
	}
	_, secret, err := d.customers.SignUpKey(ctx, session)
	if err != nil && fault.Of(err) == fault.NotFound {
		return Welcome{Account: account, Shown: true}, nil
	}
	return Welcome{Account: account, Secret: secret}, err
}

// complete asks the payment service about a checkout and links its subscription, once.
func (d *Desk) complete(ctx context.Context, session string) (Account, error) {
	sub, err := d.payments.Completed(ctx, session)
	if err != nil {
		return Account{}, err
	}
	return d.customers.Subscribe(ctx, session, sub)
}

// Portal makes the page where an account's owner changes the card, sees invoices and cancels.
func (d *Desk) Portal(ctx context.Context, account, base string) (string, error) {
	customer, err := d.customers.Customer(ctx, account)
	if err != nil {
		return "", err
	}
	if customer == "" {
		return "", fault.New(fault.NotFound, "This account has no subscription. Begin one with POST /billing/checkout.")
	}
	page, err := d.payments.Portal(ctx, customer, base+"/signup")
	if errors.Is(err, ErrNoSuchThing) {
		return "", fault.New(fault.NotFound, "This account's customer was deleted. Begin a new subscription with POST /billing/checkout.")
	}
	return page, shown(err)
}

// Receive takes an event of the payment service: it is checked, kept once, and dealt with later.
func (d *Desk) Receive(ctx context.Context, body []byte, signature string) error {
	e, err := d.payments.Event(body, signature)
	if err != nil {
		return &fault.Error{Kind: fault.InvalidRequest, Detail: "This event is not signed with this endpoint's secret, is older than five minutes, or cannot be read.", Err: err}
	}
	return d.customers.TakeEvent(ctx, e)
}

// Deal deals with an event that was received, if it is due, and answers after which time it is to be dealt
// with again: 0 is never. It may be done twice.
func (d *Desk) Deal(ctx context.Context, id string) (again time.Duration, err error) {
	e, wait, err := d.customers.Event(ctx, id)
	if err != nil || wait > 0 || e.ID == "" {
		return wait, err
	}
	err = d.deal(ctx, e)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err == nil:
		return 0, d.customers.EventDone(ctx, e.ID)
	}
	d.log.Warn("a payment event could not be dealt with; it is tried again", "event", e.ID, "kind", e.Kind, "error", err.Error())
	return d.customers.EventAgain(ctx, e.ID, err.Error())
}

// What events of the payment service ask for.
const (
	actBought = iota + 1
	actFollow
	actRefused
)

var eventActs = map[string]int{
	"checkout.session.completed": actBought, "checkout.session.async_payment_succeeded": actBought,
	"customer.subscription.created": actFollow, "customer.subscription.updated": actFollow, "customer.subscription.deleted": actFollow,
	"customer.subscription.paused": actFollow, "customer.subscription.resumed": actFollow,
	"invoice.payment_failed": actFollow, "invoice.paid": actFollow, "invoice.payment_succeeded": actFollow, "customer.deleted": actFollow,
	"v1.billing.meter.error_report_triggered": actRefused, "v1.billing.meter.no_meter_found": actRefused,
}

// acted is true for a kind of event that something is done about.
func acted(kind string) bool { return eventActs[kind] > 0 }

// deal does what an event asks for. No event is believed: it says only what to ask the payment service
// about, so that forgeries, doubles and disorder change nothing.
func (d *Desk) deal(ctx context.Context, e PaymentEvent) error {
	switch e.Kind {
	case CancelEvent:
		return d.payments.CancelSubscription(ctx, e.Subscription)
	case LookEvent:
		return d.follow(ctx, e)
	}
	switch eventActs[e.Kind] {
	case actBought:
		return d.bought(ctx, e)
	case actFollow:
		return d.follow(ctx, e)
	case actRefused:
		return d.refused(ctx, e)
	}
	return nil // acknowledged; not ours to act on
}

// bought links a checkout's subscription also when its customer never came back.
func (d *Desk) bought(ctx context.Context, e PaymentEvent) error {
	_, err := d.customers.Checkout(ctx, e.Session)
	if err != nil && fault.Of(err) == fault.NotFound {
		return nil // somebody else's: one account of the payment service may serve several
	}
	if err != nil {
		return err
	}
	_, err = d.complete(ctx, e.Session)
	if errors.Is(err, ErrUnfinished) || errors.Is(err, ErrExpired) {
		return nil // another event comes if it ever is
	}
	return err
}

// follow asks how the subscriptions that an event is about stand.
func (d *Desk) follow(ctx context.Context, e PaymentEvent) error {
	ids := []string{e.Subscription}
	if e.Subscription == "" {
		var err error
		if ids, err = d.customers.Subscriptions(ctx, e.Customer); err != nil {
			return err
		}
	}
	for _, id := range ids {
		asked, err := d.customers.Now(ctx)
		if err != nil {
			return err
		}
		sub, err := d.payments.Subscription(ctx, id)
		if errors.Is(err, ErrNoSuchThing) {
			sub, err = Subscription{ID: id, State: Ended}, nil
		}
		if err != nil {
			return err
		}
		if err := d.customers.Apply(ctx, sub, asked); err != nil {
			return fmt.Errorf("apply: %w", err)
		}
	}
	return nil
}

// refused marks reports that the payment service took and then did not count.
func (d *Desk) refused(ctx context.Context, e PaymentEvent) error {
	d.problems()
	d.log.Error("the payment service did not count some usage; see webreader billing reconcile", "event", e.ID, "kind", e.Kind, "problem", e.Problem, "reports", len(e.Rejected))
	for _, id := range e.Rejected {
		if err := d.outbox.GiveUp(ctx, id, "not counted by the payment service", givenUpFor); err != nil {
			return err
		}
	}
	return nil
}
