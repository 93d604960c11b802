package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

var _ billing.Ledger = (*Store)(nil)

// holding is a reservation that is asked for.
type holding struct {
	order   billing.Order
	hold    billing.Hold
	refused error // a fault: why not
}

// ending is a hold that comes to its end: with a delivered read, or without.
type ending struct {
	hold    billing.Hold
	outcome reader.Outcome
	reason  string
	host    string
	units   int  // what the read earned; 0 for every outcome but delivered
	settles bool // the caller wants to charge
	ended   bool // it did, and the hold was not there any more
}

// ledgerItem is one of the two.
type ledgerItem struct {
	holding *holding
	ending  *ending
}

// Hold reserves an order's price. See billing.Ledger.
func (s *Store) Hold(ctx context.Context, o billing.Order) (billing.Hold, error) {
	h := newHolding(o)
	if err := s.ledger.do(ctx, &ledgerItem{holding: h}); err != nil {
		return billing.Hold{}, fmt.Errorf("hold: %w", err)
	}
	return h.hold, h.refused
}

// Settle charges a delivered read. See billing.Ledger.
func (s *Store) Settle(ctx context.Context, h billing.Hold, r reader.Receipt) error {
	if r.Outcome() != reader.Delivered {
		return fmt.Errorf("settle: a read that ended as %q is not charged", r.Outcome())
	}
	e := newSettlement(h, r)
	if err := s.ledger.do(ctx, &ledgerItem{ending: e}); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if e.ended {
		return billing.ErrHoldEnded
	}
	return nil
}

// Void ends a hold without a debit. See billing.Ledger.
func (s *Store) Void(ctx context.Context, h billing.Hold, outcome reader.Outcome, cause error) error {
	if err := s.ledger.do(ctx, &ledgerItem{ending: newVoid(h, outcome, cause)}); err != nil {
		return fmt.Errorf("void: %w", err)
	}
	return nil
}

func newHolding(o billing.Order) *holding {
	return &holding{order: o, hold: billing.Hold{
		ID: billing.NewID("read"), Receipt: billing.NewID("rcp"), Account: o.Account, Key: o.Key,
		Operation: o.Operation, Job: o.Job, Kind: o.Kind, Units: o.Price(),
	}}
}

func newSettlement(h billing.Hold, r reader.Receipt) *ending {
	return &ending{hold: h, outcome: reader.Delivered, host: r.Host(), units: h.Charge(r), settles: true}
}

// newVoid records cause by its code and reason only: an error's text may say too much.
func newVoid(h billing.Hold, outcome reader.Outcome, cause error) *ending {
	e := &ending{hold: h, outcome: outcome}
	if cause != nil {
		f := fault.As(cause)
		e.reason = strings.TrimSuffix(f.Kind.String()+"/"+f.Reason, "/")
	}
	return e
}

// flushLedger writes a batch of holds, settlements and voids in one transaction.
func (s *Store) flushLedger(ctx context.Context, items []*ledgerItem) error {
	var holdings []*holding
	var endings []*ending
	for _, item := range items {
		if item.holding != nil {
			holdings = append(holdings, item.holding)
		} else {
			endings = append(endings, item.ending)
		}
	}
	s.statistics.keep(ctx, s)
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.lockPayers(ctx, tx, now, endings, holdings); err != nil {
			return fmt.Errorf("lock the usage: %w", err)
		}
		if err := s.end(ctx, tx, now, endings); err != nil {
			return err
		}
		return s.hold(ctx, tx, now, holdings)
	})
}

// lockPayers locks, in one order, the usage of every account that tx is about to change. Without it
// two replicas, each ending holds of one account and holding for another, would wait for each other.
// It comes first in a transaction that calls both end and hold.
func (s *Store) lockPayers(ctx context.Context, tx *sql.Tx, now int64, endings []*ending, holdings []*holding) error {
	if !s.postgres {
		return nil
	}
	accounts := map[string]bool{}
	for _, e := range endings {
		accounts[e.hold.Account] = true
	}
	for _, h := range holdings {
		accounts[h.order.Account] = true
	}
	a := args{monthOf(now - lastMonth)}
	_, err := tx.ExecContext(ctx, "SELECT account FROM usage_months WHERE month >= $1 AND account "+s.in(&a, sortedNames(accounts))+
		" ORDER BY account, month FOR UPDATE", a...)
	return err
}

// lastMonth is long enough to reach the month before, from which a hold may come.
const lastMonth = int64(31 * 24 * time.Hour / time.Millisecond)

// account and month: one row of usage_months.
type accountMonth struct{ account, month string }

// usage is a row of usage_months, or a change to it.
type usage struct{ held, charged int64 }

// end ends holds in tx: the read rows, the debits of those that settle in time, and their outbox
// rows. Jobs call it in the transaction that finishes their items.
func (s *Store) end(ctx context.Context, tx *sql.Tx, now int64, endings []*ending) error {
	if len(endings) == 0 {
		return nil
	}
	found, err := s.takeHolds(ctx, tx, endings)
	if err != nil {
		return fmt.Errorf("take holds: %w", err)
	}
	changes := map[accountMonth]usage{}
	var debits []*ending
	for _, e := range endings {
		h, ok := found[e.hold.ID]
		if ok {
			change := changes[accountMonth{h.account, h.month}]
			change.held -= h.units
			changes[accountMonth{h.account, h.month}] = change
		}
		e.ended = e.settles && (!ok || h.expires <= now)
		if e.settles && !e.ended && e.units > 0 {
			debits = append(debits, e)
		}
	}
	if err := s.insertReads(ctx, tx, now, endings, found); err != nil {
		return fmt.Errorf("write reads: %w", err)
	}
	charged, err := s.insertDebits(ctx, tx, now, debits, found)
	if err != nil {
		return fmt.Errorf("write debits: %w", err)
	}
	for _, e := range charged {
		key := accountMonth{e.hold.Account, found[e.hold.ID].month}
		change := changes[key]
		change.charged += int64(e.units)
		changes[key] = change
	}
	return s.changeUsage(ctx, tx, changes)
}

// heldRow is what a hold's row says.
type heldRow struct {
	account, month         string
	units, heldAt, expires int64
}

func (s *Store) takeHolds(ctx context.Context, tx *sql.Tx, endings []*ending) (map[string]heldRow, error) {
	ids := make([]string, len(endings))
	for i, e := range endings {
		ids[i] = e.hold.ID
	}
	var a args
	found := map[string]heldRow{}
	err := query(ctx, tx, "DELETE FROM holds WHERE id "+s.in(&a, ids)+" RETURNING id, account, month, units, held_at, expires_at", a, func(row *sql.Rows) error {
		var id string
		var h heldRow
		err := row.Scan(&id, &h.account, &h.month, &h.units, &h.heldAt, &h.expires)
		found[id] = h
		return err
	})
	return found, err
}

// insertReads writes one row for each read. A second end of the same read changes nothing.
func (s *Store) insertReads(ctx context.Context, tx *sql.Tx, now int64, endings []*ending, found map[string]heldRow) error {
	var a args
	values := table(s, &a, endings, func(e *ending) []any {
		reason, started := e.reason, now
		if e.ended {
			reason = "hold_ended"
		}
		if h, ok := found[e.hold.ID]; ok {
			started = h.heldAt
		}
		return []any{e.hold.ID, e.hold.Account, e.hold.Key, e.hold.Operation, e.hold.Job, e.hold.Kind,
			string(e.outcome), cut(reason, 80), cut(e.host, 255), started, inMonth(now, found[e.hold.ID].month)}
	})
	_, err := tx.ExecContext(ctx, `INSERT INTO reads (id, account, api_key, operation, job, kind, outcome, reason,
		url_host, started_at, ended_at) `+values+` ON CONFLICT (id) DO NOTHING`, a...)
	return err
}

// insertDebits charges what was not charged before and answers what it charged. The second
// delivered read of an operation is free: its debit's primary key is taken.
func (s *Store) insertDebits(ctx context.Context, tx *sql.Tx, now int64, debits []*ending, found map[string]heldRow) ([]*ending, error) {
	if len(debits) == 0 {
		return nil, nil
	}
	byRead := map[string]*ending{}
	for _, e := range debits {
		byRead[e.hold.ID] = e
	}
	var a args
	values := table(s, &a, debits, func(e *ending) []any {
		h := found[e.hold.ID]
		return []any{e.hold.Account, e.hold.Operation, e.hold.ID, e.hold.Receipt, e.units, h.month, inMonth(now, h.month)}
	})
	var charged []*ending
	err := query(ctx, tx, `INSERT INTO debits (account, operation, read_id, receipt, amount, month, debited_at) `+
		values+` ON CONFLICT (account, operation) DO NOTHING RETURNING read_id`, a, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		charged = append(charged, byRead[id])
		return err
	})
	if err != nil || len(charged) == 0 {
		return nil, err
	}
	var out args
	values = table(s, &out, charged, func(e *ending) []any {
		return []any{e.hold.ID, e.hold.Account, e.units, inMonth(now, found[e.hold.ID].month)}
	})
	_, err = tx.ExecContext(ctx, "INSERT INTO outbox (read_id, account, units, debited_at) "+values, out...)
	return charged, err
}

// inMonth is now, or the end of the month when that is over: what was held in a month is that month's, in its
// cap, its receipts and its reports alike.
func inMonth(now int64, month string) int64 {
	begun, err := time.Parse("2006-01", month)
	if err != nil { // no hold, no month
		return now
	}
	return min(now, billing.Month(begun).To.UnixMilli()-1)
}

// changeUsage adds changes to usage_months, row by row in one order, so that replicas do not wait for
// each other in a circle.
func (s *Store) changeUsage(ctx context.Context, tx *sql.Tx, changes map[accountMonth]usage) error {
	for _, key := range sortedKeys(changes) {
		if changes[key] == (usage{}) {
			delete(changes, key)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	keys := sortedKeys(changes)
	if s.postgres {
		if _, err := s.lockUsage(ctx, tx, keys); err != nil {
			return fmt.Errorf("lock the usage: %w", err)
		}
	}
	var a args
	values := table(s, &a, keys, func(key accountMonth) []any {
		return []any{key.account, key.month, changes[key].held, changes[key].charged}
	})
	_, err := tx.ExecContext(ctx, `WITH c (account, month, held, charged) AS (`+values+`)
		UPDATE usage_months SET held = usage_months.held + c.held, charged = usage_months.charged + c.charged
		FROM c WHERE usage_months.account = c.account AND usage_months.month = c.month`, a...)
	if err != nil {
		return fmt.Errorf("change the usage: %w", err)
	}
	return nil
}

func sortedKeys(m map[accountMonth]usage) []accountMonth {
	keys := make([]accountMonth, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b accountMonth) int {
		if c := strings.Compare(a.account, b.account); c != 0 {
			return c
		}
		return strings.Compare(a.month, b.month)
	})
	return keys
}

// lockUsage reads rows of usage_months and keeps others from changing them until tx ends.
func (s *Store) lockUsage(ctx context.Context, tx *sql.Tx, keys []accountMonth) (map[accountMonth]usage, error) {
	var a args
	pairs := table(s, &a, keys, func(k accountMonth) []any { return []any{k.account, k.month} })
	found := map[accountMonth]usage{}
	err := query(ctx, tx, "SELECT account, month, held, charged FROM usage_months WHERE (account, month) IN ("+
		pairs+") ORDER BY account, month"+s.forUpdate(), a, func(row *sql.Rows) error {
		var key accountMonth
		var u usage
		err := row.Scan(&key.account, &key.month, &u.held, &u.charged)
		found[key] = u
		return err
	})
	return found, err
}

// hold reserves in tx what the accounts' plans and caps allow, one after the other; a refused one
// gets its fault. Jobs call it in the transaction that claims their items.
func (s *Store) hold(ctx context.Context, tx *sql.Tx, now int64, holdings []*holding) error {
	if len(holdings) == 0 {
		return nil
	}
	accounts, err := s.payers(ctx, tx, holdings)
	if err != nil {
		return fmt.Errorf("read accounts: %w", err)
	}
	paid, err := s.charged(ctx, tx, holdings)
	if err != nil {
		return fmt.Errorf("read debits: %w", err)
	}
	month := monthOf(now)
	room, err := s.room(ctx, tx, now, month, holdings, accounts)
	if err != nil {
		return err
	}
	changes := map[accountMonth]usage{}
	var granted []*holding
	for _, h := range holdings {
		h.refused = grant(h, accounts[h.order.Account], paid, room, now)
		if h.refused == nil {
			granted = append(granted, h)
			key := accountMonth{h.order.Account, month}
			changes[key] = usage{held: changes[key].held + int64(h.hold.Units)}
		}
	}
	if err := s.insertHolds(ctx, tx, now, month, granted); err != nil {
		return fmt.Errorf("write holds: %w", err)
	}
	return s.changeUsage(ctx, tx, changes)
}

func monthOf(now int64) string { return timeOf(now).Format("2006-01") }

// payer is what an account's row says about paying.
type payer struct {
	status  billing.Status
	ceiling billing.Limit
	plan    string
	payBy   sql.NullInt64 // when an unpaid bill stops it
}

func (s *Store) payers(ctx context.Context, tx *sql.Tx, holdings []*holding) (map[string]payer, error) {
	accounts := map[string]bool{}
	for _, h := range holdings {
		accounts[h.order.Account] = true
	}
	var a args
	found := map[string]payer{}
	err := query(ctx, tx, "SELECT id, status, plan, spending_cap, pay_by FROM accounts WHERE id "+s.in(&a, sortedNames(accounts)),
		a, func(row *sql.Rows) error {
			var id string
			var p payer
			var limit sql.NullInt64
			if err := row.Scan(&id, &p.status, &p.plan, &limit, &p.payBy); err != nil {
				return err
			}
			plan, _ := s.plans.Plan(p.plan) // a plan that is gone allows nothing
			p.ceiling = plan.Ceiling(pointer(limit))
			found[id] = p
			return nil
		})
	return found, err
}

func pointer(n sql.NullInt64) *int64 {
	if !n.Valid {
		return nil
	}
	return &n.Int64
}

type accountOperation struct{ account, operation string }

// charged are the operations that have their debit already.
func (s *Store) charged(ctx context.Context, tx *sql.Tx, holdings []*holding) (map[accountOperation]bool, error) {
	var a args
	pairs := table(s, &a, holdings, func(h *holding) []any { return []any{h.order.Account, h.order.Operation} })
	found := map[accountOperation]bool{}
	err := query(ctx, tx, "SELECT account, operation FROM debits WHERE (account, operation) IN ("+pairs+")", a,
		func(row *sql.Rows) error {
			var key accountOperation
			err := row.Scan(&key.account, &key.operation)
			found[key] = true
			return err
		})
	return found, err
}

// room is how many more units each account may hold. The rows stay locked,
// so no other replica gives the same room away.
func (s *Store) room(ctx context.Context, tx *sql.Tx, now int64, month string, holdings []*holding, accounts map[string]payer) (map[string]billing.Limit, error) {
	wanted := map[accountMonth]usage{}
	for _, h := range holdings {
		key := accountMonth{h.order.Account, month}
		wanted[key] = usage{held: wanted[key].held + int64(h.order.Price())}
	}
	keys := sortedKeys(wanted)
	var a args
	values := table(s, &a, keys, func(k accountMonth) []any { return []any{k.account, k.month, 0, 0} })
	if _, err := tx.ExecContext(ctx, "INSERT INTO usage_months (account, month, held, charged) "+values+
		" ON CONFLICT (account, month) DO NOTHING", a...); err != nil {
		return nil, fmt.Errorf("begin a month: %w", err)
	}
	used, err := s.lockUsage(ctx, tx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the usage: %w", err)
	}
	room := map[string]billing.Limit{}
	for _, key := range keys {
		left := leftOf(accounts[key.account].ceiling, used[key])
		if !left.IsUnlimited() && left < billing.Limit(wanted[key].held) {
			freed, err := s.freeLapsed(ctx, tx, now, key)
			if err != nil {
				return nil, fmt.Errorf("free lapsed holds: %w", err)
			}
			left += billing.Limit(freed)
		}
		room[key.account] = left // below zero where a cap was lowered under what is used
	}
	return room, nil
}

// leftOf is what remains of a ceiling; below zero where it was lowered under what is used.
func leftOf(ceiling billing.Limit, u usage) billing.Limit {
	if ceiling.IsUnlimited() {
		return billing.Unlimited
	}
	return ceiling - billing.Limit(u.held+u.charged)
}

// freeLapsed ends an account's lapsed holds and answers how many units of the month they freed.
func (s *Store) freeLapsed(ctx context.Context, tx *sql.Tx, now int64, key accountMonth) (int64, error) {
	changes, err := s.deleteLapsed(ctx, tx, "account = $1 AND expires_at <= $2", args{key.account, now})
	if err != nil {
		return 0, err
	}
	return -changes[key].held, s.changeUsage(ctx, tx, changes)
}

func (s *Store) deleteLapsed(ctx context.Context, tx *sql.Tx, where string, a args) (map[accountMonth]usage, error) {
	changes := map[accountMonth]usage{}
	err := query(ctx, tx, "DELETE FROM holds WHERE "+where+" RETURNING account, month, units", a, func(row *sql.Rows) error {
		var key accountMonth
		var units int64
		err := row.Scan(&key.account, &key.month, &units)
		changes[key] = usage{held: changes[key].held - units}
		return err
	})
	return changes, err
}

// grant is nil when h may be held. It takes the units from room.
func grant(h *holding, p payer, paid map[accountOperation]bool, room map[string]billing.Limit, now int64) error {
	switch p.status {
	case billing.Active:
	case billing.Suspended:
		return suspended()
	default:
		return fault.New(fault.Unauthorized, "This account does not exist any more.")
	}
	h.hold.Units = h.order.Price()
	if paid[accountOperation{h.order.Account, h.order.Operation}] {
		h.hold.Units = 0
	}
	if p.payBy.Valid && p.payBy.Int64 <= now {
		return fault.New(fault.PaymentRequired, "The last invoice of this account is not paid. Pay it, or change the card, at the page that POST /billing/portal answers.")
	}
	left := room[h.order.Account]
	if left < billing.Limit(h.hold.Units) {
		return fault.New(fault.PaymentRequired,
			"The account's allowance or spending cap for this month is used up. Raise the cap, change the plan, or wait for the next month.")
	}
	if !left.IsUnlimited() {
		room[h.order.Account] = left - billing.Limit(h.hold.Units)
	}
	h.hold.Expires = timeOf(now).Add(h.order.HoldFor())
	return nil
}

func (s *Store) insertHolds(ctx context.Context, tx *sql.Tx, now int64, month string, holdings []*holding) error {
	if len(holdings) == 0 {
		return nil
	}
	var a args
	values := table(s, &a, holdings, func(h *holding) []any {
		return []any{h.hold.ID, h.hold.Receipt, h.hold.Account, h.hold.Key, h.hold.Operation, h.hold.Job, h.hold.Kind,
			h.hold.Units, month, now, h.hold.Expires.UnixMilli()}
	})
	_, err := tx.ExecContext(ctx, `INSERT INTO holds (id, receipt, account, api_key, operation, job, kind, units, month,
		held_at, expires_at) `+values, a...)
	return err
}

// SweepHolds ends lapsed holds: of reads that a crash cut off. It answers how many.
func (s *Store) SweepHolds(ctx context.Context) (int64, error) {
	var ended int64
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		changes, err := s.deleteLapsed(ctx, tx,
			"id IN (SELECT h.id FROM holds h WHERE h.expires_at <= $1 ORDER BY h.expires_at LIMIT 1000)", args{now})
		if err != nil {
			return err
		}
		ended = 0
		for _, change := range changes {
			ended -= change.held
		}
		return s.changeUsage(ctx, tx, changes)
	})
	return ended, err
}
