package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

var _ billing.Customers = (*Store)(nil)

// BeginCheckout writes a checkout down. See billing.Customers.
func (s *Store) BeginCheckout(ctx context.Context, c billing.Checkout) error {
	upgrade := 0
	if c.Upgrade {
		upgrade = 1
	}
	written, err := affected(ctx, s.db, `INSERT INTO checkouts (id, cookie_hash, account, name, plan, upgrade, api_key, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7) ON CONFLICT (id) DO UPDATE SET cookie_hash = excluded.cookie_hash
		WHERE checkouts.account = excluded.account AND checkouts.name = excluded.name AND checkouts.plan = excluded.plan AND checkouts.done_at IS NULL
		AND (checkouts.upgrade = 1 OR checkouts.cookie_hash = excluded.cookie_hash)`,
		c.Session, c.Cookie, c.Account, cut(c.Name, 200), c.Plan, upgrade, c.Expires.UnixMilli())
	if err != nil {
		return fmt.Errorf("write the checkout down: %w", err)
	}
	if written == 0 {
		return conflict("was used for another sign-up, or for one that is finished. Use a new key for a new one.")
	}
	return nil
}

const checkoutColumns = "id, cookie_hash, account, name, plan, upgrade, api_key, done_at, expires_at"

func scanCheckout(row *sql.Row) (billing.Checkout, string, error) {
	var c billing.Checkout
	var upgrade, expires int64
	var key string
	var done sql.NullInt64
	err := row.Scan(&c.Session, &c.Cookie, &c.Account, &c.Name, &c.Plan, &upgrade, &key, &done, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return c, "", fault.New(fault.NotFound, "There is no such sign-up.")
	}
	c.Upgrade, c.Done, c.Expires, c.KeyShown = upgrade == 1, done.Valid, timeOf(expires), key != ""
	return c, key, err
}

// Checkout is a sign-up by its session. See billing.Customers.
func (s *Store) Checkout(ctx context.Context, session string) (billing.Checkout, error) {
	c, _, err := scanCheckout(s.ro.QueryRowContext(ctx, "SELECT "+checkoutColumns+" FROM checkouts WHERE id = $1", session))
	return c, err
}

// lockCheckout reads a sign-up and keeps others from changing it until tx ends.
func lockCheckout(ctx context.Context, tx *sql.Tx, session string) (billing.Checkout, string, error) {
	return scanCheckout(tx.QueryRowContext(ctx, "UPDATE checkouts SET plan = plan WHERE id = $1 RETURNING "+checkoutColumns, session))
}

// Subscribe links a finished checkout's subscription. See billing.Customers.
func (s *Store) Subscribe(ctx context.Context, session string, sub billing.Subscription) (billing.Account, error) {
	var id string
	err := s.tx(ctx, func(tx *sql.Tx) error {
		c, _, err := lockCheckout(ctx, tx, session)
		if err != nil {
			return err
		}
		if id = c.Account; c.Done {
			return nil
		}
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if id == "" {
			if id, err = s.newCustomer(ctx, tx, c); err != nil {
				return err
			}
		}
		if err := s.link(ctx, tx, now, id, c.Plan, sub); err != nil {
			return err
		}
		// What happened to the subscription before it was linked was nobody's: look at it once more.
		look := billing.PaymentEvent{ID: billing.NewID("evt"), Kind: billing.LookEvent, Subscription: sub.ID}
		if err := s.insertEvent(ctx, tx, look, now, now); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE checkouts SET account = $1, done_at = $2 WHERE id = $3", id, now, session)
		return err
	})
	if err != nil {
		return billing.Account{}, fmt.Errorf("link the subscription: %w", err)
	}
	return s.Account(ctx, id)
}

// newCustomer makes the account of a sign-up. A name that is taken is told apart by its id's end.
func (s *Store) newCustomer(ctx context.Context, tx *sql.Tx, c billing.Checkout) (string, error) {
	name := c.Name
	if name == "" {
		name = "customer"
	}
	var taken int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM accounts WHERE name = $1 AND status <> 'closed'", name).Scan(&taken)
	if err != nil {
		return "", err
	}
	id := billing.NewID("acc")
	if taken > 0 || c.Name == "" {
		name = cut(name, 180) + " " + id[len(id)-8:]
	}
	return id, s.insertAccount(ctx, tx, id, name, c.Plan)
}

// link makes sub the one subscription of an account, from the next whole minute on.
func (s *Store) link(ctx context.Context, tx *sql.Tx, now int64, account, planName string, sub billing.Subscription) error {
	from := now/minute*minute + minute
	if err := s.endOthers(ctx, tx, now, from, account, sub.ID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO subscriptions (id, account, customer, plan, state, seen_at, billed_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`, sub.ID, account, sub.Customer, planName, string(billing.Paying), now, from)
	if err != nil {
		return fmt.Errorf("write the subscription down: %w", err)
	}
	var a args
	set := "pay_by = NULL, plan = " + a.place(planName)
	if plan, ok := s.plans.Plan(planName); ok && plan.SpendingCap != nil {
		set += ", spending_cap = COALESCE(spending_cap, " + a.place(*plan.SpendingCap) + ")"
	}
	changed, err := affected(ctx, tx, "UPDATE accounts SET "+set+" WHERE id = "+a.place(account)+" AND status <> 'closed'", a...)
	if err == nil && changed == 0 { // closed while its owner paid: the subscription must not stay
		return s.endOthers(ctx, tx, now, now, account, "")
	}
	return err
}

// endOthers ends the account's running subscriptions but one, here and by events at the payment service.
func (s *Store) endOthers(ctx context.Context, tx *sql.Tx, now, until int64, account, but string) error {
	var ended []string
	err := query(ctx, tx, `UPDATE subscriptions SET billed_until = CASE WHEN billed_from > $1 THEN billed_from ELSE $1 END, state = 'ended'
		WHERE account = $2 AND id <> $3 AND billed_until IS NULL RETURNING id`, args{until, account, but}, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		ended = append(ended, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("end other subscriptions: %w", err)
	}
	for _, id := range ended {
		e := billing.PaymentEvent{ID: billing.NewID("evt"), Kind: billing.CancelEvent, Subscription: id}
		if err := s.insertEvent(ctx, tx, e, now, now+lastReports); err != nil {
			return err
		}
	}
	return nil
}

// lastReports is how long a subscription that ends here goes on at the payment service, so that its last
// use is reported before the last invoice.
const lastReports = slot + slotRest + 3*minute

// SignUpKey makes or replaces a sign-up's key. See billing.Customers.
func (s *Store) SignUpKey(ctx context.Context, session string) (billing.Key, billing.Secret, error) {
	var key billing.Key
	var secret billing.Secret
	err := s.tx(ctx, func(tx *sql.Tx) error {
		c, shown, err := lockCheckout(ctx, tx, session)
		if err != nil {
			return err
		}
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		gone := fault.New(fault.NotFound, "The key was shown before and is not kept. Make another one with POST /keys, or ask the operator for one.")
		if c.Account == "" || c.Upgrade || c.Expires.UnixMilli() <= now {
			return gone
		}
		if shown != "" {
			replaced, err := affected(ctx, tx, `UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND last_used_at IS NULL AND revoked_at IS NULL
				AND EXISTS (SELECT 1 FROM checkouts WHERE id = $3 AND shown_at > $4)`, now, shown, session, now-billing.KeyTime.Milliseconds())
			if err != nil {
				return fmt.Errorf("replace the key: %w", err)
			}
			if replaced == 0 {
				return gone
			}
		}
		if key, secret, err = insertKey(ctx, tx, now, c.Account, "first", time.Time{}); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE checkouts SET api_key = $1, shown_at = COALESCE(shown_at, $2) WHERE id = $3", key.ID, now, session)
		return err
	})
	return key, secret, err
}

// Customer is the account's customer at the payment service. See billing.Customers.
func (s *Store) Customer(ctx context.Context, account string) (string, error) {
	var customer string
	err := s.ro.QueryRowContext(ctx, `SELECT customer FROM subscriptions WHERE account = $1 ORDER BY billed_from DESC, id LIMIT 1`, account).Scan(&customer)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return customer, err
}

// Subscriptions are a customer's that still run. See billing.Customers.
func (s *Store) Subscriptions(ctx context.Context, customer string) ([]string, error) {
	var list []string
	err := query(ctx, s.ro, "SELECT id FROM subscriptions WHERE customer = $1 AND billed_until IS NULL ORDER BY id", args{customer}, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		list = append(list, id)
		return err
	})
	return list, err
}

// Apply writes down how a subscription stands. See billing.Customers.
func (s *Store) Apply(ctx context.Context, sub billing.Subscription, asked time.Time) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		var account, planName string
		var until sql.NullInt64
		err = tx.QueryRowContext(ctx, `UPDATE subscriptions SET state = $1, seen_at = $2 WHERE id = $3 AND seen_at <= $2
			RETURNING account, plan, billed_until`, string(sub.State), asked.UnixMilli(), sub.ID).Scan(&account, &planName, &until)
		if errors.Is(err, sql.ErrNoRows) || err == nil && until.Valid {
			return nil // not ours, seen later already, or replaced by another one
		}
		if err != nil {
			return fmt.Errorf("write the subscription down: %w", err)
		}
		if plan, ok := s.plans.ByPrice(sub.Price); ok {
			planName = plan.Name
		}
		return s.follow(ctx, tx, now, sub, account, planName)
	})
}

// follow makes the account follow its subscription.
func (s *Store) follow(ctx context.Context, tx *sql.Tx, now int64, sub billing.Subscription, account, planName string) error {
	var a args
	var set string
	switch sub.State {
	case billing.Paying:
		set = "pay_by = NULL, plan = " + a.place(planName)
	case billing.Owing:
		set = "pay_by = COALESCE(pay_by, " + a.place(now+billing.GraceTime.Milliseconds()) + ")"
	case billing.Unpaid:
		set = "pay_by = CASE WHEN pay_by < " + a.place(now) + " THEN pay_by ELSE $1 END"
	case billing.Ended:
		if _, err := tx.ExecContext(ctx, `UPDATE subscriptions SET billed_until = CASE WHEN billed_from > $1 THEN billed_from ELSE $1 END WHERE id = $2`, now, sub.ID); err != nil {
			return fmt.Errorf("end the subscription: %w", err)
		}
		set = "pay_by = " + a.place(now)
		if plan, ok := s.plans.Fallback(); ok {
			a = nil
			set = "pay_by = NULL, plan = " + a.place(plan.Name)
		}
	default:
		return nil
	}
	_, err := tx.ExecContext(ctx, "UPDATE accounts SET "+set+" WHERE id = "+a.place(account)+" AND status <> 'closed'", a...)
	if err != nil {
		return fmt.Errorf("change the account: %w", err)
	}
	return nil
}

// TakeEvent keeps an event. See billing.Customers.
func (s *Store) TakeEvent(ctx context.Context, e billing.PaymentEvent) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return s.insertEvent(ctx, tx, e, now, now)
	})
}

// insertEvent keeps an event that is new, to be dealt with from due on.
func (s *Store) insertEvent(ctx context.Context, tx *sql.Tx, e billing.PaymentEvent, now, due int64) error {
	kept, err := affected(ctx, tx, `INSERT INTO payment_events (id, kind, session, subscription, customer, rejected, problem, tries, received_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9) ON CONFLICT (id) DO NOTHING`,
		e.ID, cut(e.Kind, 100), cut(e.Session, 200), cut(e.Subscription, 100), cut(e.Customer, 100),
		cut(strings.Join(e.Rejected, " "), 10000), cut(e.Problem, 300), now, due)
	if err != nil {
		return fmt.Errorf("keep the event: %w", err)
	}
	if kept == 0 {
		return nil
	}
	return s.enqueue(ctx, tx, paymentJob{e.ID}, span(due-now))
}

// Event is an event that is to be dealt with. See billing.Customers.
func (s *Store) Event(ctx context.Context, id string) (e billing.PaymentEvent, wait time.Duration, err error) {
	var rejected string
	var left int64
	err = s.ro.QueryRowContext(ctx, `SELECT id, kind, session, subscription, customer, rejected, problem, due_at - `+s.nowSQL()+`
		FROM payment_events WHERE id = $1 AND done_at IS NULL`, id).Scan(&e.ID, &e.Kind, &e.Session, &e.Subscription, &e.Customer, &rejected, &e.Problem, &left)
	if errors.Is(err, sql.ErrNoRows) {
		return billing.PaymentEvent{}, 0, nil
	}
	e.Rejected = strings.Fields(rejected)
	return e, max(span(left), 0), err
}

// DueEvents are events that have been due for so long, the oldest first.
func (s *Store) DueEvents(ctx context.Context, since time.Duration, limit int) ([]string, error) {
	return names(ctx, s.ro, "SELECT id FROM payment_events WHERE done_at IS NULL AND due_at <= "+s.nowSQL()+" - $1 ORDER BY due_at, id LIMIT $2", since.Milliseconds(), limit)
}

// EventDone ends an event. See billing.Customers.
func (s *Store) EventDone(ctx context.Context, id string) error {
	return s.exec(ctx, "UPDATE payment_events SET done_at = "+s.nowSQL()+" WHERE id = $1", id)
}

// EventAgain puts an event off, the longer the oftener. See billing.Customers.
func (s *Store) EventAgain(ctx context.Context, id, problem string) (wait time.Duration, err error) {
	err = s.alone(ctx, func(q querier) error {
		var left int64
		err := q.QueryRowContext(ctx, "UPDATE payment_events SET problem = $1, tries = tries + 1, due_at = "+s.nowSQL()+
			" + CASE WHEN tries < 7 THEN 5000 * (tries + 1) * (tries + 1) ELSE 600000 END WHERE id = $2 RETURNING due_at - "+s.nowSQL(), cut(problem, 300), id).Scan(&left)
		wait = span(left)
		return err
	})
	return wait, err
}

// eventsKept is how long an event is remembered after it was dealt with: longer than the payment
// service repeats one.
const eventsKept = int64(30 * 24 * time.Hour / time.Millisecond)

// SweepPayments forgets sign-ups and events that have had their time. It answers how many.
func (s *Store) SweepPayments(ctx context.Context) (int64, error) {
	now, err := s.now(ctx, s.ro)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, text := range []string{
		"DELETE FROM checkouts WHERE id IN (SELECT c.id FROM checkouts c WHERE c.expires_at <= $1 LIMIT 1000)",
		"DELETE FROM payment_events WHERE id IN (SELECT e.id FROM payment_events e WHERE e.done_at <= $1 - " + fmt.Sprint(eventsKept) + " LIMIT 1000)",
	} {
		n, err := affected(ctx, s.db, text, now)
		if err != nil {
			return total, fmt.Errorf("sweep payments: %w", err)
		}
		total += n
	}
	return total, nil
}
