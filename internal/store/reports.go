package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
)

var _ billing.Outbox = (*Store)(nil)

// Reports are made of debits by slots of time. A slot is left alone until settling is surely over, so
// that it seldom needs a second report.
const (
	slot     = int64(10 * time.Minute / time.Millisecond)
	minute   = int64(time.Minute / time.Millisecond)
	slotRest = int64(2 * time.Minute / time.Millisecond)
)

// summedAfter is how long the payment service may take to add up what arrived.
const summedAfter = int64(10 * time.Minute / time.Millisecond)

// Now is the store's clock. See billing.Outbox.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.now(ctx, s.ro)
	return timeOf(now), err
}

// billable is the condition under which an outbox row o is reported by the subscription s.
const billable = "s.account = o.account AND o.debited_at >= s.billed_from AND (s.billed_until IS NULL OR o.debited_at < s.billed_until)"

// gathering is one report to be: what of which subscription, and of which slot.
type gathering struct {
	account, customer string
	slot, from, until int64
}

// Gather puts debits into reports. See billing.Outbox.
func (s *Store) Gather(ctx context.Context) (int, error) {
	now, err := s.now(ctx, s.ro)
	if err != nil {
		return 0, err
	}
	end := (now - slotRest) / slot * slot
	var list []gathering
	err = query(ctx, s.ro, `SELECT DISTINCT s.account, s.customer, o.debited_at / `+fmt.Sprint(slot)+`, s.billed_from, COALESCE(s.billed_until, $1)
		FROM subscriptions s JOIN outbox o ON `+billable+` WHERE o.batch IS NULL AND o.debited_at < $1
		ORDER BY 1, 3 LIMIT 500`, args{end}, func(row *sql.Rows) error {
		var g gathering
		err := row.Scan(&g.account, &g.customer, &g.slot, &g.from, &g.until)
		list = append(list, g)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for debits to report: %w", err)
	}
	for i, g := range list {
		if err := s.tx(ctx, func(tx *sql.Tx) error { return s.gather(ctx, tx, g) }); err != nil {
			return i, fmt.Errorf("gather debits: %w", err)
		}
	}
	return len(list), nil
}

// gather makes one report of the slot's debits that are in none. The account's row is locked, so two
// replicas cannot make it twice.
func (s *Store) gather(ctx context.Context, tx *sql.Tx, g gathering) error {
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET name = name WHERE id = $1", g.account); err != nil {
		return err
	}
	id := billing.NewID("rep")
	from, until := max(g.from, g.slot*slot), min(g.until, (g.slot+1)*slot)
	changed, err := affected(ctx, tx, `UPDATE outbox SET batch = $1 WHERE account = $2 AND batch IS NULL
		AND debited_at >= $3 AND debited_at < $4`, id, g.account, from, until)
	if err != nil || changed == 0 {
		return err
	}
	var units int64
	err = tx.QueryRowContext(ctx, "SELECT CAST(SUM(units) AS BIGINT) FROM outbox WHERE batch = $1", id).Scan(&units)
	if err != nil {
		return err
	}
	now, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	return s.insertReport(ctx, tx, billing.UsageReport{ID: id, Account: g.account, Customer: g.customer, Units: units}, from/minute*minute, now)
}

// insertReport writes a report, dated to the first minute from the given one on that the customer has
// no report for.
func (s *Store) insertReport(ctx context.Context, tx *sql.Tx, r billing.UsageReport, from, now int64) error {
	taken := map[int64]bool{}
	month := billing.Month(timeOf(from))
	err := query(ctx, tx, "SELECT minute FROM reports WHERE customer = $1 AND minute >= $2 AND minute < $3", args{r.Customer, month.From.UnixMilli(), month.To.UnixMilli()}, func(row *sql.Rows) error {
		var at int64
		err := row.Scan(&at)
		taken[at] = true
		return err
	})
	if err != nil {
		return err
	}
	at := freeMinute(taken, from)
	_, err = tx.ExecContext(ctx, `INSERT INTO reports (id, account, customer, units, minute, state, due_at)
		VALUES ($1, $2, $3, $4, $5, 'waiting', $6)`, r.ID, r.Account, r.Customer, r.Units, at, now)
	return err
}

// freeMinute is the first minute from the given one on that is not taken. At the month's end it turns back: what
// was used in a month is billed in that month.
func freeMinute(taken map[int64]bool, from int64) int64 {
	end, at := billing.Month(timeOf(from)).To.UnixMilli(), from
	for taken[at] && at < end {
		at += minute
	}
	if at < end {
		return at
	}
	for at = from; taken[at]; {
		at -= minute
	}
	return at
}

// Claim takes reports that are due. See billing.Outbox.
func (s *Store) Claim(ctx context.Context, limit int) ([]billing.UsageReport, error) {
	var list []billing.UsageReport
	err := s.tx(ctx, func(tx *sql.Tx) error {
		list = nil
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		skip := ""
		if s.postgres {
			skip = " FOR UPDATE SKIP LOCKED"
		}
		var ids args
		err = query(ctx, tx, `SELECT id, account, customer, units, minute, state, tries, sent_at FROM reports
			WHERE state IN ('waiting', 'cancelling', 'given_up') AND due_at <= $1 ORDER BY due_at, id LIMIT $2`+skip, args{now, limit}, func(row *sql.Rows) error {
			var r billing.UsageReport
			var at int64
			var state string
			var sent sql.NullInt64
			err := row.Scan(&r.ID, &r.Account, &r.Customer, &r.Units, &at, &state, &r.Tries, &sent)
			r.Minute, r.Cancels, r.FirstSent = timeOf(at), state == "cancelling", timeOrZero(sent)
			list, ids = append(list, r), append(ids, r.ID)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		a := args{now, now + billing.ClaimTime.Milliseconds()}
		_, err = tx.ExecContext(ctx, `UPDATE reports SET tries = tries + 1, sent_at = COALESCE(sent_at, $1), due_at = $2
			WHERE id IN (`+a.list(ids...)+`)`, a...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim reports: %w", err)
	}
	return list, nil
}

// Arrived marks a report and its outbox rows. See billing.Outbox.
func (s *Store) Arrived(ctx context.Context, id string) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE reports SET state = 'arrived', arrived_at = $1, problem = '' WHERE id = $2 AND state IN ('waiting', 'given_up')", now, id); err != nil {
			return fmt.Errorf("mark the report: %w", err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE outbox SET reported_at = $1 WHERE batch = $2", now, id); err != nil {
			return fmt.Errorf("mark the outbox: %w", err)
		}
		return nil
	})
}

// Again puts a report off. See billing.Outbox.
func (s *Store) Again(ctx context.Context, id, problem string, after time.Duration, notBefore time.Time) error {
	_, err := s.db.ExecContext(ctx, `UPDATE reports SET due_at = `+s.nowSQL()+` + $1, problem = $2, sent_at = COALESCE($3, sent_at)
		WHERE id = $4 AND state IN ('waiting', 'cancelling', 'given_up')`, after.Milliseconds(), cut(problem, 300), millis(notBefore), id)
	return err
}

// GiveUp leaves a report for the operator. See billing.Outbox.
func (s *Store) GiveUp(ctx context.Context, id, problem string, again time.Duration) error {
	due := "9223372036854775807" // never
	if again > 0 {
		due = fmt.Sprintf("%s + %d", s.nowSQL(), again.Milliseconds())
	}
	_, err := s.db.ExecContext(ctx, `UPDATE reports SET state = 'given_up', problem = $1, due_at = `+due+` WHERE id = $2 AND state IN ('waiting', 'arrived', 'given_up')`,
		cut(problem, 300), id)
	return err
}

// TakenBack marks a cancelled report and reports anew what was not credited. See billing.Outbox.
func (s *Store) TakenBack(ctx context.Context, id string) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		r := billing.UsageReport{ID: billing.NewID("rep")}
		var at, credited int64
		err := tx.QueryRowContext(ctx, `UPDATE reports SET state = 'cancelled', arrived_at = `+s.nowSQL()+`, problem = '' WHERE id = $1 AND state = 'cancelling'
			RETURNING account, customer, units, credited, minute`, id).Scan(&r.Account, &r.Customer, &r.Units, &credited, &at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Units -= credited; r.Units == 0 {
			return nil
		}
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return s.insertReport(ctx, tx, r, at, now)
	})
}

// StillThere gives up a cancellation. See billing.Outbox.
func (s *Store) StillThere(ctx context.Context, id, problem string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE reports SET state = 'arrived', credited = 0, problem = $1 WHERE id = $2 AND state = 'cancelling'",
		cut(problem, 300), id)
	return err
}

// ledgers are books by customer and month, in the order they came up.
type ledgers struct {
	byKey map[bookKey]*billing.Book
	list  []*billing.Book
}

type bookKey struct{ account, customer, month string }

func (l *ledgers) book(account, customer string, at int64) *billing.Book {
	key := bookKey{account, customer, monthOf(at)}
	if l.byKey[key] == nil {
		l.byKey[key] = &billing.Book{Account: account, Customer: customer, Month: billing.Month(timeOf(at))}
		l.list = append(l.list, l.byKey[key])
	}
	return l.byKey[key]
}

// entries are sums that go into the books: rows of account, customer, a moment of the day or hour they are of, kind,
// units and credited units, between $1 and $2. $3 is the moment from which on what arrived is new.
type entries struct {
	text string
	add  func(b *billing.Book, at int64, kind string, units, credited int64)
}

var bookEntries = []entries{
	{`SELECT s.account, s.customer, MIN(o.debited_at), '', CAST(SUM(o.amount) AS BIGINT), 0 FROM debits o JOIN subscriptions s ON ` + billable + `
		WHERE o.debited_at >= $1 AND o.debited_at < $2 AND CAST($3 AS BIGINT) > 0 GROUP BY s.account, s.customer, o.debited_at / 86400000`,
		func(b *billing.Book, _ int64, _ string, n, _ int64) { b.Receipts += n }},
	{`SELECT s.account, s.customer, MIN(o.debited_at), CASE WHEN o.batch IS NULL THEN 'loose' ELSE 'batched' END, CAST(SUM(o.units) AS BIGINT), 0
		FROM outbox o JOIN subscriptions s ON ` + billable + ` WHERE o.debited_at >= $1 AND o.debited_at < $2 AND CAST($3 AS BIGINT) > 0
		GROUP BY s.account, s.customer, o.debited_at / 86400000, 4`, addOutbox},
	{`SELECT account, customer, MIN(minute), CASE WHEN state IN ('arrived', 'cancelled') AND arrived_at > $3 THEN 'new ' || state
		WHEN state = 'waiting' AND sent_at IS NULL THEN 'unsent' ELSE state END, CAST(SUM(units) AS BIGINT), CAST(SUM(credited) AS BIGINT)
		FROM reports WHERE minute >= $1 AND minute < $2 GROUP BY account, customer, minute / 3600000, 4`, addReports},
	{`SELECT c.account, COALESCE((SELECT s.customer FROM subscriptions s WHERE s.account = c.account ORDER BY s.billed_from DESC LIMIT 1), ''),
		MIN(c.counts_at), '', CAST(SUM(c.units) AS BIGINT), 0 FROM credits c
		WHERE c.billed = 1 AND c.counts_at >= $1 AND c.counts_at < $2 AND CAST($3 AS BIGINT) > 0 GROUP BY 1, 2, c.counts_at / 86400000`,
		func(b *billing.Book, _ int64, _ string, n, _ int64) { b.Debited -= n; b.Receipts -= n }},
}

// Books are the customers' months. See billing.Outbox.
func (s *Store) Books(ctx context.Context, p billing.Period) ([]billing.Book, error) {
	tx, err := s.ro.BeginTx(ctx, &sql.TxOptions{Isolation: s.snapshot(), ReadOnly: s.postgres})
	if err != nil {
		return nil, fmt.Errorf("read the books: %w", err)
	}
	defer tx.Rollback()
	now, err := s.now(ctx, tx)
	if err != nil {
		return nil, err
	}
	l := &ledgers{byKey: map[bookKey]*billing.Book{}}
	if err := l.open(ctx, tx, p, now); err != nil {
		return nil, fmt.Errorf("read the subscriptions: %w", err)
	}
	for _, e := range bookEntries {
		if err := l.enter(ctx, tx, e, args{p.From.UnixMilli(), p.To.UnixMilli(), now - summedAfter}); err != nil {
			return nil, fmt.Errorf("read the books: %w", err)
		}
	}
	list := make([]billing.Book, len(l.list))
	for i, b := range l.list {
		list[i] = *b
	}
	return list, nil
}

// open begins a book for each month of each subscription: also a month without any use is compared, as
// the payment service may have some.
func (l *ledgers) open(ctx context.Context, tx *sql.Tx, p billing.Period, now int64) error {
	from, to := p.From.UnixMilli(), p.To.UnixMilli()
	return query(ctx, tx, `SELECT account, customer, billed_from, COALESCE(billed_until, $1) FROM subscriptions
		WHERE billed_from < $2 AND COALESCE(billed_until, $1) >= $3 ORDER BY account, billed_from`, args{now, to, from}, func(row *sql.Rows) error {
		var account, customer string
		var first, last int64
		err := row.Scan(&account, &customer, &first, &last)
		for m := billing.Month(timeOf(max(first, from))); m.From.UnixMilli() <= min(last, to-1); m = billing.Month(m.To) {
			l.book(account, customer, m.From.UnixMilli())
		}
		return err
	})
}

func (l *ledgers) enter(ctx context.Context, tx *sql.Tx, e entries, a args) error {
	return query(ctx, tx, e.text, a, func(row *sql.Rows) error {
		var account, customer, kind string
		var at, n, credited int64
		err := row.Scan(&account, &customer, &at, &kind, &n, &credited)
		if err == nil {
			e.add(l.book(account, customer, at), at, kind, n, credited)
		}
		return err
	})
}

func (s *Store) snapshot() sql.IsolationLevel {
	if s.postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func addOutbox(b *billing.Book, _ int64, kind string, n, _ int64) {
	b.Debited += n
	if kind == "loose" {
		b.Waiting += n
	}
}

func addReports(b *billing.Book, at int64, kind string, n, credited int64) {
	var sent billing.Sent
	switch kind {
	case "unsent":
		b.Waiting += n
	case "waiting", "new arrived":
		sent.UnderWay = n
	case "cancelling":
		sent.UnderWay, sent.Slack = n-credited, credited
	case "new cancelled":
		sent.Slack = n
	case "arrived":
		sent.Arrived = n
	case "given_up":
		b.GivenUp += n
	}
	b.Add(timeOf(at), sent)
}

// ReportIDs are the identifiers of a customer's reports, oldest first.
func (s *Store) ReportIDs(ctx context.Context, customer string) ([]string, error) {
	var list []string
	err := query(ctx, s.ro, "SELECT id FROM reports WHERE customer = $1 ORDER BY minute", args{customer}, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		list = append(list, id)
		return err
	})
	return list, err
}
