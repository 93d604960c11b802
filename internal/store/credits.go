package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
)

// creditTime is how long after it was sent a report can still be taken back: the payment service
// allows 24 hours.
const creditTime = int64(23 * time.Hour / time.Millisecond)

// Credit gives units back to an account, in the months they were used in. What was reported of them to
// the payment service is taken back there. InvalidRequest when the account has not used, or the
// payment service cannot give back, that much.
func (s *Store) Credit(ctx context.Context, account string, units int64, reason string) error {
	if units <= 0 {
		return badField("units", "write how many units to give back, 1 or more")
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE accounts SET name = name WHERE id = $1", account); err != nil {
			return fmt.Errorf("lock the account: %w", err)
		}
		var subscribed int
		err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM subscriptions WHERE account = $1 AND billed_until IS NULL", account).Scan(&subscribed)
		if err != nil {
			return err
		}
		if subscribed == 0 {
			return s.credit(ctx, tx, account, units, now, now, false, reason)
		}
		return s.creditReports(ctx, tx, account, units, now, reason)
	})
}

// creditReports takes units off the account's newest reports.
func (s *Store) creditReports(ctx context.Context, tx *sql.Tx, account string, units, now int64, reason string) error {
	type report struct {
		id            string
		units, minute int64
		sent          bool
	}
	var list []report
	err := query(ctx, tx, `SELECT id, units, minute, CASE WHEN state = 'arrived' THEN 1 ELSE 0 END FROM reports WHERE account = $1 AND
		(state = 'arrived' AND sent_at > $2 OR state = 'waiting' AND sent_at IS NULL) ORDER BY minute DESC`+s.forUpdate(), args{account, now - creditTime}, func(row *sql.Rows) error {
		var r report
		err := row.Scan(&r.id, &r.units, &r.minute, &r.sent)
		list = append(list, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("read reports: %w", err)
	}
	left := units
	for _, r := range list {
		n := min(left, r.units)
		if n == 0 {
			continue
		}
		change := "UPDATE reports SET units = units - $1 WHERE id = $2"
		a := args{n, r.id}
		if r.sent {
			change = "UPDATE reports SET state = 'cancelling', credited = $1, tries = 0, due_at = $3 WHERE id = $2"
			a = append(a, now)
		}
		if _, err := tx.ExecContext(ctx, change, a...); err != nil {
			return fmt.Errorf("take back a report: %w", err)
		}
		if err := s.credit(ctx, tx, account, n, r.minute, now, true, reason); err != nil {
			return err
		}
		left -= n
	}
	if left > 0 {
		return badField("units", fmt.Sprintf("only %d units were reported to Stripe in the last 23 hours, and it gives nothing older back; credit at most that many, and the rest as a credit note in Stripe's dashboard. What was used in the last quarter of an hour is not reported yet: wait for it", units-left))
	}
	return nil
}

// credit writes a credit and gives its units back to the month that at is in.
func (s *Store) credit(ctx context.Context, tx *sql.Tx, account string, units, at, now int64, billed bool, reason string) error {
	month, flag := monthOf(at), 0
	if billed {
		flag = 1
	}
	changed, err := affected(ctx, tx, "UPDATE usage_months SET charged = charged - $1 WHERE account = $2 AND month = $3 AND charged >= $1", units, account, month)
	if err != nil {
		return fmt.Errorf("give the units back: %w", err)
	}
	if changed == 0 {
		return badField("units", "the account was not charged that much in "+month)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO credits (id, account, units, month, billed, reason, counts_at, credited_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		billing.NewID("crd"), account, units, month, flag, cut(reason, 500), at, now)
	if err != nil {
		return fmt.Errorf("write the credit down: %w", err)
	}
	return nil
}

// Credited is how many units were given back to an account of what it used in a period.
func (s *Store) credited(ctx context.Context, account string, p billing.Period) (int64, error) {
	var n int64
	err := s.ro.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(units), 0) AS BIGINT) FROM credits
		WHERE account = $1 AND counts_at >= $2 AND counts_at < $3`, account, p.From.UnixMilli(), p.To.UnixMilli()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("sum credits: %w", err)
	}
	return n, nil
}

var _ billing.Thresholds = (*Store)(nil)

// Cross writes down which accounts have used 80 or 100 percent of what they may this month. See
// billing.Thresholds.
func (s *Store) Cross(ctx context.Context) error {
	now, err := s.now(ctx, s.ro)
	if err != nil {
		return err
	}
	month := monthOf(now)
	type crossing struct {
		account                   string
		percent, charged, ceiling int64
	}
	var list []crossing
	err = query(ctx, s.ro, `SELECT a.id, a.plan, a.spending_cap, m.charged,
		COALESCE((SELECT t.ceiling FROM thresholds t WHERE t.account = a.id AND t.month = m.month AND t.percent = 80), 0),
		COALESCE((SELECT t.ceiling FROM thresholds t WHERE t.account = a.id AND t.month = m.month AND t.percent = 100), 0)
		FROM usage_months m JOIN accounts a ON a.id = m.account WHERE m.month = $1 AND m.charged > 0 AND a.status = 'active'`, args{month}, func(row *sql.Rows) error {
		var account, planName string
		var limit sql.NullInt64
		var charged, told80, told100 int64 // of which ceiling
		if err := row.Scan(&account, &planName, &limit, &charged, &told80, &told100); err != nil {
			return err
		}
		plan, _ := s.plans.Plan(planName)
		ceiling := plan.Ceiling(pointer(limit))
		if ceiling.IsUnlimited() || ceiling <= 0 {
			return nil
		}
		c := crossing{account: account, charged: charged, ceiling: int64(ceiling)}
		switch {
		case charged >= c.ceiling && c.ceiling > told100:
			c.percent = 100
		case charged < c.ceiling && charged*100 >= c.ceiling*80 && c.ceiling > told80:
			c.percent = 80
		default:
			return nil
		}
		list = append(list, c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for thresholds: %w", err)
	}
	for _, c := range list {
		_, err := s.db.ExecContext(ctx, `INSERT INTO thresholds (account, month, percent, event, ceiling, charged, crossed_at, tries, due_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $7) ON CONFLICT (account, month, percent) DO UPDATE SET event = excluded.event,
			ceiling = excluded.ceiling, charged = excluded.charged, crossed_at = excluded.crossed_at, tries = 0, due_at = excluded.due_at, done_at = NULL
			WHERE thresholds.ceiling < excluded.ceiling`,
			c.account, month, c.percent, billing.NewID("evt"), c.ceiling, c.charged, now)
		if err != nil {
			return fmt.Errorf("write a threshold down: %w", err)
		}
	}
	return nil
}

// ClaimThresholds takes what customers are to be told. See billing.Thresholds.
func (s *Store) ClaimThresholds(ctx context.Context, limit int) ([]billing.Threshold, error) {
	now, err := s.now(ctx, s.ro)
	if err != nil {
		return nil, err
	}
	skip := ""
	if s.postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	var list []billing.Threshold
	err = query(ctx, s.db, `UPDATE thresholds SET tries = tries + 1, due_at = $1 WHERE (account, month, percent) IN (
		SELECT account, month, percent FROM thresholds WHERE done_at IS NULL AND due_at <= $2 ORDER BY due_at LIMIT $3`+skip+`)
		RETURNING account, month, percent, event, ceiling, charged, crossed_at, tries`,
		args{now + billing.ClaimTime.Milliseconds(), now, limit}, func(row *sql.Rows) error {
			var t billing.Threshold
			var at int64
			err := row.Scan(&t.Account, &t.Month, &t.Percent, &t.Event, &t.Ceiling, &t.Charged, &at, &t.Tries)
			t.At = timeOf(at)
			list = append(list, t)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("claim thresholds: %w", err)
	}
	return list, nil
}

// ThresholdDone ends the telling. See billing.Thresholds.
func (s *Store) ThresholdDone(ctx context.Context, event string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE thresholds SET done_at = "+s.nowSQL()+" WHERE event = $1", event)
	return err
}

// ThresholdAgain puts the telling off. See billing.Thresholds.
func (s *Store) ThresholdAgain(ctx context.Context, event string, after time.Duration) error {
	_, err := s.db.ExecContext(ctx, "UPDATE thresholds SET due_at = "+s.nowSQL()+" + $1 WHERE event = $2", after.Milliseconds(), event)
	return err
}
