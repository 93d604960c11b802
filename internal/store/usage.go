package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

var _ billing.Usage = (*Store)(nil)

// Totals are an account's reads in a period, and what is left of this month. See billing.Usage.
func (s *Store) Totals(ctx context.Context, account string, p billing.Period) (billing.Totals, error) {
	t := billing.Totals{Period: p, ByOutcome: map[reader.Outcome]int64{}}
	err := query(ctx, s.ro, `SELECT outcome, COUNT(*) FROM reads
		WHERE account = $1 AND ended_at >= $2 AND ended_at < $3 GROUP BY outcome`,
		args{account, p.From.UnixMilli(), p.To.UnixMilli()}, func(row *sql.Rows) error {
			var outcome reader.Outcome
			var n int64
			err := row.Scan(&outcome, &n)
			t.ByOutcome[outcome] = n
			return err
		})
	if err != nil {
		return t, fmt.Errorf("count reads: %w", err)
	}
	t.Pages = t.ByOutcome[reader.Delivered]
	err = s.ro.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM debits
		WHERE account = $1 AND debited_at >= $2 AND debited_at < $3`, account, p.From.UnixMilli(), p.To.UnixMilli()).Scan(&t.Units)
	if err != nil {
		return t, fmt.Errorf("sum debits: %w", err)
	}
	if t.Credited, err = s.credited(ctx, account, p); err != nil {
		return t, err
	}
	return t, s.allowance(ctx, account, &t)
}

// allowance fills in what the plan includes and what is left of it this month.
func (s *Store) allowance(ctx context.Context, account string, t *billing.Totals) error {
	now, err := s.now(ctx, s.ro)
	if err != nil {
		return err
	}
	var planName string
	var limit sql.NullInt64
	var used usage
	err = s.ro.QueryRowContext(ctx, `SELECT a.plan, a.spending_cap, COALESCE(m.held, 0), COALESCE(m.charged, 0)
		FROM accounts a LEFT JOIN usage_months m ON m.account = a.id AND m.month = $1 WHERE a.id = $2`,
		monthOf(now), account).Scan(&planName, &limit, &used.held, &used.charged)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, fmt.Sprintf("There is no account %q.", cut(account, 200)))
	}
	if err != nil {
		return fmt.Errorf("read the allowance: %w", err)
	}
	plan, _ := s.plans.Plan(planName)
	t.Held, t.Included = used.held, plan.Included
	t.Left = max(0, leftOf(plan.Ceiling(pointer(limit)), used))
	t.AllowanceLeft = min(t.Left, max(0, leftOf(plan.Included, used)))
	return nil
}

// Receipts are an account's charges, newest first. See billing.Usage.
func (s *Store) Receipts(ctx context.Context, account string, p billing.Period, cursor string, limit int) ([]billing.Receipt, string, error) {
	before, id, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	var list []billing.Receipt
	a := args{account, p.From.UnixMilli(), p.To.UnixMilli()}
	after := ""
	if cursor != "" {
		after = " AND (d.debited_at, d.receipt) < (" + a.list(before, id) + ")"
	}
	err = query(ctx, s.ro, `SELECT d.receipt, d.debited_at, d.amount, r.url_host, r.kind, r.job, r.api_key
		FROM debits d JOIN reads r ON r.id = d.read_id WHERE d.account = $1 AND d.debited_at >= $2 AND d.debited_at < $3`+after+`
		ORDER BY d.debited_at DESC, d.receipt DESC LIMIT `+a.place(limit+1), a, func(row *sql.Rows) error {
		var r billing.Receipt
		var at int64
		err := row.Scan(&r.ID, &at, &r.Units, &r.URLHost, &r.Kind, &r.Job, &r.Key)
		r.At = timeOf(at)
		list = append(list, r)
		return err
	})
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	list = list[:limit]
	last := list[limit-1]
	return list, fmt.Sprintf("%d_%s", last.At.UnixMilli(), last.ID), nil
}

// parseCursor takes a cursor apart: the time and the receipt it stands behind.
func parseCursor(cursor string) (before int64, id string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	at, id, ok := strings.Cut(cursor, "_")
	before, err = strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || !billing.ValidID("rcp", id) {
		return 0, "", badField("cursor", "send next_cursor of the page before as it was")
	}
	return before, id, nil
}

// Groups are a period's charges by day, kind or key. See billing.Usage.
func (s *Store) Groups(ctx context.Context, account string, p billing.Period, by billing.By) ([]billing.Group, error) {
	name, ok := map[billing.By]string{
		billing.ByDay: "CAST(d.debited_at / 86400000 AS TEXT)", billing.ByKind: "r.kind", billing.ByKey: "r.api_key",
	}[by]
	if !ok {
		return nil, badField("group_by", "write day, kind or key")
	}
	var list []billing.Group
	err := query(ctx, s.ro, `SELECT `+name+`, CAST(SUM(d.amount) AS BIGINT), COUNT(*) FROM debits d JOIN reads r ON r.id = d.read_id
		WHERE d.account = $1 AND d.debited_at >= $2 AND d.debited_at < $3 GROUP BY 1 ORDER BY 1`,
		args{account, p.From.UnixMilli(), p.To.UnixMilli()}, func(row *sql.Rows) error {
			var g billing.Group
			err := row.Scan(&g.Name, &g.Units, &g.Pages)
			if day, notDay := strconv.ParseInt(g.Name, 10, 64); by == billing.ByDay && notDay == nil {
				g.Name = timeOf(day * 86400000).Format("2006-01-02")
			}
			list = append(list, g)
			return err
		})
	return list, err
}
