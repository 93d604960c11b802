package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/billing/meter"
	"github.com/stripe/stripe-go/v76/billing/meterevent"
	"github.com/stripe/stripe-go/v76/billing/metereventadjustment"
	"github.com/stripe/stripe-go/v76/billing/metereventsummary"
	portal "github.com/stripe/stripe-go/v76/billingportal/session"
	checkout "github.com/stripe/stripe-go/v76/checkout/session"
	"github.com/stripe/stripe-go/v76/subscription"
	"github.com/stripe/stripe-go/v76/webhook"
)

// StripeConfig is how Stripe is reached. Without a key billing is off; metering is not.
type StripeConfig struct {
	Key            string
	WebhookSecrets []string // the newest first; two while one is being replaced
	APIBase        string
	Price          string // of the plan that Checkout sells
	MeterEvent     string // the meter's event name
}

const stripeAPI = "https://api.stripe.com"

// StripeFromEnv is the config of WEBREADER_STRIPE_SECRET_KEY, …_WEBHOOK_SECRET, …_API_BASE, …_PRICE
// and …_METER_EVENT.
func StripeFromEnv(getenv func(string) string) (StripeConfig, error) {
	c := StripeConfig{
		Key: strings.TrimSpace(getenv("WEBREADER_STRIPE_SECRET_KEY")), APIBase: strings.TrimRight(getenv("WEBREADER_STRIPE_API_BASE"), "/"),
		Price: getenv("WEBREADER_STRIPE_PRICE"), MeterEvent: getenv("WEBREADER_STRIPE_METER_EVENT"),
		WebhookSecrets: strings.FieldsFunc(getenv("WEBREADER_STRIPE_WEBHOOK_SECRET"), func(r rune) bool { return r == ',' || r == ' ' }),
	}
	if c.APIBase == "" {
		c.APIBase = stripeAPI
	}
	return c, c.Validate()
}

// On is true when customers pay.
func (c StripeConfig) On() bool { return c.Key != "" }

// Live is true for a key that moves real money: every key that does not say it is a test's.
func (c StripeConfig) Live() bool {
	return c.On() && !strings.HasPrefix(c.Key, "sk_test_") && !strings.HasPrefix(c.Key, "rk_test_")
}

// Validate is an error that names the variable, what is wrong and an example; never its secret value.
func (c StripeConfig) Validate() error {
	if !c.On() {
		return nil
	}
	if !strings.HasPrefix(c.Key, "sk_") && !strings.HasPrefix(c.Key, "rk_") {
		return errors.New("WEBREADER_STRIPE_SECRET_KEY: this is no secret key: they begin with sk_ or rk_, such as sk_test_…")
	}
	for _, secret := range c.WebhookSecrets {
		if !strings.HasPrefix(secret, "whsec_") {
			return errors.New("WEBREADER_STRIPE_WEBHOOK_SECRET: this is no endpoint's secret: they begin with whsec_")
		}
	}
	for name, v := range map[string]string{"WEBREADER_STRIPE_PRICE": c.Price, "WEBREADER_STRIPE_METER_EVENT": c.MeterEvent, "WEBREADER_STRIPE_WEBHOOK_SECRET": strings.Join(c.WebhookSecrets, "")} {
		if v == "" {
			return fmt.Errorf("%s: needed together with WEBREADER_STRIPE_SECRET_KEY; %s", name, map[string]string{
				"WEBREADER_STRIPE_PRICE":          "write the metered price's id, such as price_1PgafmB7WZ01zgkW",
				"WEBREADER_STRIPE_METER_EVENT":    "write the meter's event name, such as pages_read",
				"WEBREADER_STRIPE_WEBHOOK_SECRET": "write the webhook endpoint's secret, such as whsec_…",
			}[name])
		}
	}
	if !strings.HasPrefix(c.Price, "price_") {
		return fmt.Errorf("WEBREADER_STRIPE_PRICE: %q is no price's id: they begin with price_", c.Price)
	}
	u, err := url.Parse(c.APIBase)
	local := err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return errors.New("WEBREADER_STRIPE_API_BASE: write an https address (http only for this machine), such as " + stripeAPI)
	}
	if c.Live() && c.APIBase != stripeAPI {
		return errors.New("WEBREADER_STRIPE_API_BASE: a live key is sent to " + stripeAPI + " only: unset it, or use a test key")
	}
	return nil
}

// Stripe is the payment service: Payments and Reporter. It is the one place that knows Stripe's
// library, so that a later major is a change here only.
type Stripe struct {
	config  StripeConfig
	backend stripe.Backend

	mu      sync.Mutex
	meterID string
}

var (
	_ Payments = (*Stripe)(nil)
	_ Reporter = (*Stripe)(nil)
)

// stripeTime is how long one call may take.
const stripeTime = 20 * time.Second

// NewStripe is Stripe by a valid config that is on.
func NewStripe(c StripeConfig) (*Stripe, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !c.On() {
		return nil, errors.New("billing is off: WEBREADER_STRIPE_SECRET_KEY is not set")
	}
	return &Stripe{config: c, backend: stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL:               stripe.String(c.APIBase),
		HTTPClient:        &http.Client{Timeout: stripeTime},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull}, // its lines quote requests
		MaxNetworkRetries: stripe.Int64(0),                                // who calls knows when a repetition is safe
		EnableTelemetry:   stripe.Bool(false),
	})}, nil
}

// stripeError is err as ours, without the texts of request and answer.
func stripeError(doing string, err error) error {
	if err == nil {
		return nil
	}
	var answer *stripe.Error
	if !errors.As(err, &answer) {
		return &PaymentError{Doing: doing, Err: err}
	}
	if answer.HTTPStatusCode == http.StatusNotFound || answer.Code == stripe.ErrorCodeResourceMissing && answer.Param == "id" {
		return fmt.Errorf("%s: %w", doing, ErrNoSuchThing)
	}
	code := string(answer.Code)
	if code == "" {
		code = string(answer.Type)
	}
	return &PaymentError{Doing: doing, Status: answer.HTTPStatusCode, Code: code}
}

// Checkout makes a Checkout page for a subscription.
func (s *Stripe) Checkout(ctx context.Context, o CheckoutOrder) (CheckoutPage, error) {
	params := &stripe.CheckoutSessionParams{
		Params:     stripe.Params{Context: ctx},
		Mode:       stripe.String(string(stripe.CheckoutSessionModeSubscription)),
		SuccessURL: stripe.String(o.SuccessURL), CancelURL: stripe.String(o.CancelURL),
		LineItems: []*stripe.CheckoutSessionLineItemParams{{Price: stripe.String(o.Plan.StripePrice)}},
		SubscriptionData: &stripe.CheckoutSessionSubscriptionDataParams{
			Metadata: map[string]string{"plan": o.Plan.Name},
			// Periods are calendar months, as allowances and caps are.
			BillingCycleAnchor: stripe.Int64(o.Anchor.Unix()), ProrationBehavior: stripe.String("none"),
		},
		PaymentMethodCollection: stripe.String(string(stripe.CheckoutSessionPaymentMethodCollectionAlways)),
	}
	if !o.Plan.CardNeeded {
		params.PaymentMethodCollection = stripe.String(string(stripe.CheckoutSessionPaymentMethodCollectionIfRequired))
	}
	if o.Customer != "" {
		params.Customer = stripe.String(o.Customer)
	}
	if o.Reference != "" {
		params.ClientReferenceID = stripe.String(o.Reference)
	}
	if o.Repeat != "" {
		params.SetIdempotencyKey(o.Repeat)
	}
	c, err := checkout.Client{B: s.backend, Key: s.config.Key}.New(params)
	if otherOrder(err) {
		return CheckoutPage{}, ErrOther
	}
	if err != nil {
		return CheckoutPage{}, stripeError("make a checkout page", err)
	}
	return CheckoutPage{Session: c.ID, URL: c.URL, Expires: time.Unix(c.ExpiresAt, 0)}, nil
}

// otherOrder is true for the refusal of an idempotency key that named another request, or one that still runs.
func otherOrder(err error) bool {
	var answer *stripe.Error
	return errors.As(err, &answer) && (answer.Type == stripe.ErrorTypeIdempotency || answer.HTTPStatusCode == http.StatusConflict)
}

// Completed asks Stripe about a checkout.
func (s *Stripe) Completed(ctx context.Context, session string) (Subscription, error) {
	params := &stripe.CheckoutSessionParams{Params: stripe.Params{Context: ctx}}
	params.AddExpand("subscription")
	c, err := checkout.Client{B: s.backend, Key: s.config.Key}.Get(session, params)
	if err != nil {
		return Subscription{}, stripeError("look a checkout up", err)
	}
	failed := c.Subscription != nil && stateOf(c.Subscription) == Ended
	if c.Status == stripe.CheckoutSessionStatusExpired || c.PaymentStatus == stripe.CheckoutSessionPaymentStatusUnpaid && failed {
		return Subscription{}, ErrExpired
	}
	paid := c.PaymentStatus == stripe.CheckoutSessionPaymentStatusPaid || c.PaymentStatus == stripe.CheckoutSessionPaymentStatusNoPaymentRequired
	if c.Status != stripe.CheckoutSessionStatusComplete || !paid || c.Subscription == nil || c.Customer == nil {
		return Subscription{}, ErrUnfinished
	}
	sub := subscriptionOf(c.Subscription)
	sub.Customer = c.Customer.ID
	return sub, nil
}

// Subscription asks Stripe about a subscription.
func (s *Stripe) Subscription(ctx context.Context, id string) (Subscription, error) {
	sub, err := subscription.Client{B: s.backend, Key: s.config.Key}.Get(id, &stripe.SubscriptionParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return Subscription{}, stripeError("look a subscription up", err)
	}
	return subscriptionOf(sub), nil
}

func subscriptionOf(sub *stripe.Subscription) Subscription {
	s := Subscription{ID: sub.ID, State: stateOf(sub)}
	if sub.Customer != nil {
		s.Customer = sub.Customer.ID
	}
	if sub.Items != nil && len(sub.Items.Data) > 0 && sub.Items.Data[0].Price != nil {
		s.Price = sub.Items.Data[0].Price.ID
	}
	return s
}

func stateOf(sub *stripe.Subscription) SubscriptionState {
	switch sub.Status {
	case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing:
		return Paying
	case stripe.SubscriptionStatusPastDue:
		return Owing
	case stripe.SubscriptionStatusIncomplete:
		return Unbegun
	case stripe.SubscriptionStatusCanceled, stripe.SubscriptionStatusIncompleteExpired:
		return Ended
	}
	return Unpaid // unpaid, paused, and what later versions may add: nothing is read on credit
}

// CancelSubscription ends a subscription; what was used is invoiced.
func (s *Stripe) CancelSubscription(ctx context.Context, id string) error {
	_, err := subscription.Client{B: s.backend, Key: s.config.Key}.Cancel(id, &stripe.SubscriptionCancelParams{
		Params: stripe.Params{Context: ctx}, InvoiceNow: stripe.Bool(true)})
	if err = stripeError("end a subscription", err); errors.Is(err, ErrNoSuchThing) {
		return nil
	}
	return err
}

// Portal makes a page of Stripe's customer portal.
func (s *Stripe) Portal(ctx context.Context, customer, returnURL string) (string, error) {
	p, err := portal.Client{B: s.backend, Key: s.config.Key}.New(&stripe.BillingPortalSessionParams{
		Params: stripe.Params{Context: ctx}, Customer: stripe.String(customer), ReturnURL: stripe.String(returnURL)})
	if err != nil {
		return "", stripeError("make a portal page", err)
	}
	return p.URL, nil
}

// Report sends a meter event.
func (s *Stripe) Report(ctx context.Context, r UsageReport) error {
	_, err := meterevent.Client{B: s.backend, Key: s.config.Key}.New(&stripe.BillingMeterEventParams{
		Params: stripe.Params{Context: ctx}, EventName: stripe.String(s.config.MeterEvent), Identifier: stripe.String(r.ID),
		Timestamp: stripe.Int64(r.Minute.Unix()),
		Payload:   map[string]string{"stripe_customer_id": r.Customer, "value": strconv.FormatInt(r.Units, 10)},
	})
	if alreadyThere(err) {
		return ErrDuplicate
	}
	return stripeError("report usage", err)
}

// alreadyThere is true for the refusal of a second event, or cancellation, with one identifier. Stripe
// has no code for it.
func alreadyThere(err error) bool {
	var answer *stripe.Error
	return errors.As(err, &answer) && answer.HTTPStatusCode == http.StatusBadRequest &&
		(strings.Contains(answer.Msg, "already exists with identifier") || strings.Contains(answer.Msg, "already been cancel"))
}

// Cancel takes a meter event back.
func (s *Stripe) Cancel(ctx context.Context, r UsageReport) error {
	_, err := metereventadjustment.Client{B: s.backend, Key: s.config.Key}.New(&stripe.BillingMeterEventAdjustmentParams{
		Params: stripe.Params{Context: ctx}, EventName: stripe.String(s.config.MeterEvent), Type: stripe.String("cancel"),
		Cancel: &stripe.BillingMeterEventAdjustmentCancelParams{Identifier: stripe.String(r.ID)},
	})
	if alreadyThere(err) {
		return ErrDuplicate
	}
	return stripeError("take a report back", err)
}

// Held adds up the meter's event summaries.
func (s *Stripe) Held(ctx context.Context, customer string, p Period) (sum int64, err error) {
	each, err := s.summaries(ctx, customer, p, nil)
	for _, n := range each {
		sum += n
	}
	return sum, err
}

// HeldEach are the meter's event summaries by hour or day.
func (s *Stripe) HeldEach(ctx context.Context, customer string, p Period, w Window) (map[time.Time]int64, error) {
	word := "hour"
	if w == Day {
		word = "day"
	}
	return s.summaries(ctx, customer, p, &word)
}

func (s *Stripe) summaries(ctx context.Context, customer string, p Period, window *string) (map[time.Time]int64, error) {
	id, err := s.meter(ctx)
	if err != nil {
		return nil, err
	}
	return s.SummariesOf(ctx, id, customer, p, window)
}

// SummariesOf are the event summaries of the meter id by their beginnings; one for all of p without a window.
func (s *Stripe) SummariesOf(ctx context.Context, id, customer string, p Period, window *string) (map[time.Time]int64, error) {
	list := metereventsummary.Client{B: s.backend, Key: s.config.Key}.List(&stripe.BillingMeterEventSummaryListParams{
		ListParams: stripe.ListParams{Context: ctx, Limit: stripe.Int64(100)}, ID: stripe.String(id), Customer: stripe.String(customer),
		StartTime: stripe.Int64(p.From.Unix()), EndTime: stripe.Int64(p.To.Unix()), ValueGroupingWindow: window,
	})
	sums := map[time.Time]int64{}
	for list.Next() {
		one := list.BillingMeterEventSummary()
		sums[time.Unix(one.StartTime, 0).UTC()] += int64(one.AggregatedValue)
	}
	if err := list.Err(); err != nil {
		return nil, stripeError("read what was reported", err)
	}
	return sums, nil
}

// meter is the id of the meter whose events are sent. It is looked up once.
func (s *Stripe) meter(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.meterID != "" {
		return s.meterID, nil
	}
	list := meter.Client{B: s.backend, Key: s.config.Key}.List(&stripe.BillingMeterListParams{
		ListParams: stripe.ListParams{Context: ctx, Limit: stripe.Int64(100)}, Status: stripe.String("active")})
	for list.Next() {
		if m := list.BillingMeter(); m.EventName == s.config.MeterEvent {
			s.meterID = m.ID
			return m.ID, nil
		}
	}
	if err := list.Err(); err != nil {
		return "", stripeError("look the meter up", err)
	}
	return "", fmt.Errorf("WEBREADER_STRIPE_METER_EVENT: Stripe has no active meter for events of the name %q: make one, or correct the name", s.config.MeterEvent)
}

// Event checks and reads a webhook. Only fields that are the same in all versions of Stripe's API are
// read, and no object is believed: an event says what to ask about.
func (s *Stripe) Event(body []byte, signature string) (PaymentEvent, error) {
	valid := false
	for _, secret := range s.config.WebhookSecrets {
		valid = valid || webhook.ValidatePayload(body, signature, secret) == nil
	}
	if !valid {
		return PaymentEvent{}, ErrForged
	}
	var e struct {
		ID, Type string
		Data     json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || e.Type == "" || len(e.ID) > 100 || strings.HasPrefix(e.Type, "house.") {
		return PaymentEvent{}, errors.New("the event cannot be read")
	}
	event := PaymentEvent{ID: e.ID, Kind: e.Type}
	if !acted(e.Type) {
		return event, nil // whatever it looks like
	}
	var data struct {
		Object  stripeObject
		Reason  stripeReason
		Summary string `json:"developer_message_summary"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return PaymentEvent{}, errors.New("what the event is about cannot be read")
	}
	event.Problem, event.Rejected = data.Summary, data.Reason.identifiers()
	event.of(data.Object)
	return event, nil
}

// of takes the ids out of what an event is about.
func (e *PaymentEvent) of(o stripeObject) {
	e.Customer, e.Subscription = string(o.Customer), string(o.Subscription)
	if e.Subscription == "" {
		e.Subscription = string(o.Parent.Details.Subscription)
	}
	switch o.Object {
	case "checkout.session":
		e.Session = o.ID
	case "subscription":
		e.Subscription = o.ID
	case "customer":
		e.Customer = o.ID
	}
}

type stripeObject struct {
	ID, Object             string
	Customer, Subscription stripeID
	Parent                 struct { // of an invoice, since the API of 2025
		Details struct{ Subscription stripeID } `json:"subscription_details"`
	}
}

// stripeID is an id, given as such or as the object that has it.
type stripeID string

// UnmarshalJSON takes both forms, and null.
func (id *stripeID) UnmarshalJSON(text []byte) error {
	var whole struct{ ID string }
	if json.Unmarshal(text, (*string)(id)) == nil {
		return nil
	}
	err := json.Unmarshal(text, &whole)
	*id = stripeID(whole.ID)
	return err
}

// stripeReason says which meter events were not taken.
type stripeReason struct {
	Types []struct {
		Samples []struct {
			Request struct{ Identifier string }
		} `json:"sample_errors"`
	} `json:"error_types"`
}

func (r stripeReason) identifiers() []string {
	var list []string
	for _, t := range r.Types {
		for _, sample := range t.Samples {
			if id := sample.Request.Identifier; id != "" && len(id) <= 100 && len(list) < 100 {
				list = append(list, id)
			}
		}
	}
	return list
}
