package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/seal"
)

// Results are a job's results after a number. See jobs.Store.
func (s *Store) Results(ctx context.Context, job string, after int64, limit, bytes int) ([]jobs.Stored, error) {
	// The sizes are looked at first, so that no more is read than is answered.
	last, n, size := after, 0, 0
	err := query(ctx, s.ro, "SELECT seq, length(envelope) FROM results WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3", args{job, after, limit},
		func(row *sql.Rows) error {
			var seq int64
			var length int
			if err := row.Scan(&seq, &length); err != nil {
				return err
			}
			if n > 0 && size+length > bytes {
				size = bytes // nothing after it
				return nil
			}
			last, n, size = seq, n+1, size+length
			return nil
		})
	if err != nil || n == 0 {
		return nil, err
	}
	var list []jobs.Stored
	err = query(ctx, s.ro, "SELECT seq, item, failure, envelope FROM results WHERE job = $1 AND seq > $2 AND seq <= $3 ORDER BY seq", args{job, after, last},
		func(row *sql.Rows) error {
			var r jobs.Stored
			var envelope []byte
			err := row.Scan(&r.Seq, &r.Item, &r.Failure, &envelope)
			r.Envelope = seal.Envelope(envelope)
			list = append(list, r)
			return err
		})
	return list, err
}

// Acknowledge erases what was delivered. See jobs.Store.
func (s *Store) Acknowledge(ctx context.Context, job string, upTo int64) error {
	erased := int64(0)
	err := s.tx(ctx, func(tx *sql.Tx) error {
		erased = 0
		if s.postgres {
			var id string
			if err := tx.QueryRowContext(ctx, "SELECT id FROM jobs WHERE id = $1 FOR UPDATE", job).Scan(&id); err != nil {
				return err
			}
		}
		err := query(ctx, tx, "DELETE FROM results WHERE job = $1 AND seq <= $2 RETURNING length(envelope)", args{job, upTo}, func(row *sql.Rows) error {
			var n int64
			err := row.Scan(&n)
			erased += n
			return err
		})
		if err != nil || erased == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE jobs SET undelivered = CASE WHEN undelivered > $2 THEN undelivered - $2 ELSE 0 END WHERE id = $1", job, erased)
		return err
	})
	if err != nil {
		return fmt.Errorf("erase results: %w", err)
	}
	if erased == 0 {
		return nil
	}
	s.jobNews.tell() // a job that was full may go on
	return s.cleanFiles(ctx)
}

// cleanEvery bounds how often files are cleaned of what was erased.
const cleanEvery = time.Second

// cleanFiles takes what was erased out of SQLite's write-ahead log as well. What lies there is sealed;
// this is the second lock. What is left out, because it was just done or a reader is at work, the next
// sweep does.
func (s *Store) cleanFiles(ctx context.Context) error {
	if s.postgres {
		return nil
	}
	s.unclean.Store(true)
	now := s.clock.Now().UnixMilli()
	if last := s.cleaned.Load(); now-last < cleanEvery.Milliseconds() || !s.cleaned.CompareAndSwap(last, now) {
		return nil
	}
	s.unclean.Store(false) // what is erased meanwhile says so again
	var busy, frames, written int
	err := s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &written)
	if err != nil || busy != 0 {
		s.unclean.Store(true)
	}
	return err
}

// cleanRest cleans files that an erasure left as they were.
func (s *Store) cleanRest(ctx context.Context) error {
	if !s.unclean.Load() {
		return nil
	}
	return s.cleanFiles(ctx)
}

// pollResults is how often results are looked for that another replica may have made.
const pollResults = 250 * time.Millisecond

// AwaitResults waits for results. See jobs.Store.
func (s *Store) AwaitResults(ctx context.Context, job string, after int64, d time.Duration) error {
	until := s.clock.Now().Add(d)
	for {
		told := s.resultNews.next(job)
		var there bool
		err := s.ro.QueryRowContext(ctx, `SELECT status <> 'running' OR EXISTS (SELECT 1 FROM results WHERE job = $1 AND seq > $2) FROM jobs WHERE id = $1`,
			job, after).Scan(&there)
		left := until.Sub(s.clock.Now())
		if err != nil || there || left <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
		case <-s.clock.After(min(left, pollResults)):
		}
	}
}
