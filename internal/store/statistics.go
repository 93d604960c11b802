package store

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
)

// statistics has PostgreSQL look at tables that grow fast. Its own daemon looks once a minute, if at all;
// until then a table counts as empty, any index as good as another, and a job's first minute goes by in
// reading whole tables. The zero value is ready.
type statistics struct{ asked atomic.Int64 }

// outgrown are tables that have become four times as large as they were when PostgreSQL last looked.
const outgrown = `SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind = 'r'
	AND c.oid IN ('hosts'::regclass, 'frontier'::regclass, 'job_hosts'::regclass, 'jobs'::regclass, 'holds'::regclass, 'reads'::regclass, 'debits'::regclass)
	AND pg_relation_size(c.oid) / 8192 > 4 * GREATEST(c.relpages, CASE WHEN c.reltuples < 0 THEN 2 ELSE 10 END)`

// keep looks whether there is such a table, once a second. What goes wrong is left: it costs speed alone, and
// the statement that the caller came for will tell of it if it lasts.
func (k *statistics) keep(ctx context.Context, s *Store) {
	now := s.clock.Now().UnixMilli()
	asked := k.asked.Load()
	if !s.postgres || now-asked < 1000 || !k.asked.CompareAndSwap(asked, now) {
		return
	}
	var tables []string
	err := query(ctx, s.db, outgrown, nil, func(row *sql.Rows) error {
		var table string
		err := row.Scan(&table)
		tables = append(tables, table)
		return err
	})
	if err == nil && len(tables) > 0 {
		_, _ = s.db.ExecContext(ctx, "ANALYZE (SKIP_LOCKED) "+strings.Join(tables, ", ")) // see above
	}
}
