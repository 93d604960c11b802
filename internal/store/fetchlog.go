package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

var _ gate.FetchLog = (*Store)(nil)

// logItem is one row for the fetch log.
type logItem struct{ row gate.FetchRow }

// Fetched writes a row: it is committed when Fetched returns.
func (s *Store) Fetched(ctx context.Context, r gate.FetchRow) error {
	if err := s.log.do(context.WithoutCancel(ctx), &logItem{r}); err != nil {
		return fmt.Errorf("fetch log: %w", err)
	}
	return nil
}

const logColumns = `id, at, host, url, status, outcome, user_agent, egress, remote, cause_kind, cause_id, account, request,
	profile, stage, duration_ms, bytes`

func (s *Store) flushLog(ctx context.Context, items []*logItem) error {
	var a args
	values := table(s, &a, items, func(i *logItem) []any {
		r := i.row
		return []any{billing.NewID("fetch"), r.At.UnixMilli(), cut(r.Host, 255), cut(r.URL, 8192), r.Status, cut(r.Outcome, 40),
			cut(r.UserAgent, 300), cut(r.Egress, 100), cut(r.Remote, 100), cut(string(r.Cause.Kind), 10), cut(r.Cause.ID, 60),
			cut(r.Cause.Account, 40), cut(r.Cause.Request, 60), cut(r.Profile, 60), cut(r.Stage, 10),
			r.Duration.Milliseconds(), r.Bytes}
	})
	return s.exec(ctx, "INSERT INTO fetch_log ("+logColumns+") "+values, a...)
}

// LogEntry is a row of the fetch log.
type LogEntry struct {
	gate.FetchRow
	Forgotten bool // the site asked to be forgotten: the URL has no query any more
}

// AuditQuery asks for requests to a host.
type AuditQuery struct {
	Host       string
	SubDomains bool      // those of the host's sub-domains as well
	From, To   time.Time // both ends included
	Limit      int
}

// Audit is what the fetch log says about a host in a span of time, oldest first (W15).
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]LogEntry, error) {
	a := args{q.Host, q.From.UnixMilli(), q.To.UnixMilli()}
	where := "host = $1"
	if q.SubDomains {
		where = "(host = $1 OR " + isUnder("host", a.place("."+q.Host)) + ")"
	}
	var list []LogEntry
	err := query(ctx, s.ro, "SELECT "+logColumns+", forgotten_at FROM fetch_log WHERE "+where+
		" AND at >= $2 AND at <= $3 ORDER BY at, id LIMIT "+a.place(q.Limit), a, func(row *sql.Rows) error {
		entry, err := scanLog(row)
		list = append(list, entry)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the fetch log: %w", err)
	}
	return list, nil
}

// isUnder is true in SQL where column ends with the suffix. LIKE would take its wildcards from the
// text.
func isUnder(column, suffix string) string {
	return "substr(" + column + ", length(" + column + ") - length(CAST(" + suffix + " AS TEXT)) + 1) = " + suffix
}

func scanLog(row *sql.Rows) (LogEntry, error) {
	var e LogEntry
	var id string
	var at, duration int64
	var kind string
	var forgotten sql.NullInt64
	err := row.Scan(&id, &at, &e.Host, &e.URL, &e.Status, &e.Outcome, &e.UserAgent, &e.Egress, &e.Remote, &kind, &e.Cause.ID,
		&e.Cause.Account, &e.Cause.Request, &e.Profile, &e.Stage, &duration, &e.Bytes, &forgotten)
	e.At, e.Duration = timeOf(at), time.Duration(duration)*time.Millisecond
	e.Cause.Kind = policy.CauseKind(kind)
	e.Forgotten = forgotten.Valid
	return e, err
}

// SweepFetchLog deletes rows older than retention, some thousand at a time. It answers how many.
func (s *Store) SweepFetchLog(ctx context.Context, retention time.Duration) (int64, error) {
	return affected(ctx, s.db, `DELETE FROM fetch_log WHERE id IN (SELECT f.id FROM fetch_log f
		WHERE f.at < `+s.nowSQL()+` - $1 ORDER BY f.at LIMIT 5000)`, retention.Milliseconds())
}
