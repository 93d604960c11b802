package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/webreaderapi/webreader/internal/jobs"
)

// jobLife is how long a job's own row is kept after its end.
const jobLife = 30 * 24 * 60 * 60 * 1000

// SweepJobs ends jobs whose time is up or whose key, account or queue is gone, clears the queues of
// those that ended, and erases results whose time has passed. It may run on every replica at any time.
func (s *Store) SweepJobs(ctx context.Context) error {
	return errors.Join(s.reviveLapsed(ctx), s.endLateJobs(ctx), s.clearEnded(ctx), s.expireResults(ctx), s.cleanRest(ctx))
}

// JobsToSweep says whether SweepJobs may find anything.
func (s *Store) JobsToSweep(ctx context.Context) (bool, error) {
	if s.unclean.Load() {
		return true, nil
	}
	var some bool
	err := s.ro.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM jobs WHERE status = 'running') OR EXISTS (SELECT 1 FROM jobs WHERE status <> 'running' AND swept = 0)
		OR EXISTS (`+s.expired()+`)`).Scan(&some)
	return some, err
}

// reviveLapsed lets URLs wait again whose reader died, and counts anew what is being read. A job's row is
// locked whenever the state of its URLs changes, so under the locks the count is true.
func (s *Store) reviveLapsed(ctx context.Context) error {
	revived := int64(0)
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		var ids []string
		err = query(ctx, tx, "SELECT id FROM jobs WHERE status = 'running' AND running > 0 ORDER BY id"+s.forUpdate(), nil, func(row *sql.Rows) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		if revived, err = affected(ctx, tx, "UPDATE frontier SET state = 0, not_before = $1 WHERE state = 1 AND not_before <= $1", now); err != nil {
			return err
		}
		for part := range slices.Chunk(ids, 500) {
			var a args
			if _, err := tx.ExecContext(ctx, `UPDATE jobs SET running = (SELECT COUNT(*) FROM frontier f WHERE f.state = 1 AND f.job = jobs.id)
				WHERE status = 'running' AND id `+s.in(&a, part), a...); err != nil {
				return err
			}
		}
		return nil
	})
	if revived > 0 {
		s.jobNews.tell()
	}
	return err
}

// endLateJobs ends running jobs that cannot go on.
func (s *Store) endLateJobs(ctx context.Context) error {
	type late struct{ id, status, reason string }
	now := s.nowSQL()
	var list []late
	err := query(ctx, s.ro, `SELECT j.id, CASE WHEN k.revoked_at IS NOT NULL THEN 'key_revoked' WHEN k.ends_at <= `+now+` THEN 'key_ended' WHEN a.status <> 'active' THEN 'account_suspended'
		WHEN j.deadline_at <= `+now+` THEN 'deadline'
		WHEN j.delivered >= j.max_pages THEN 'max_pages' WHEN j.units >= j.max_units THEN 'max_units' WHEN j.requests >= j.max_requests THEN 'max_requests'
		WHEN NOT EXISTS (SELECT 1 FROM frontier f WHERE f.job = j.id AND f.state = 0) THEN 'empty'
		ELSE 'host_delay' END
		FROM jobs j JOIN accounts a ON a.id = j.account LEFT JOIN api_keys k ON k.id = j.api_key
		WHERE j.status = 'running' AND (k.revoked_at IS NOT NULL OR k.ends_at <= `+now+` OR a.status <> 'active' OR j.deadline_at <= `+now+`
		OR j.running = 0 AND (j.delivered >= j.max_pages OR j.units >= j.max_units OR j.requests >= j.max_requests)
		OR j.running = 0 AND NOT EXISTS (SELECT 1 FROM frontier f WHERE f.job = j.id AND f.state = 0)
		OR j.running = 0 AND NOT EXISTS (SELECT 1 FROM job_hosts jh JOIN hosts h ON h.host = jh.pace_key WHERE jh.job = j.id AND jh.pending > 0
		AND h.paused_until <= j.deadline_at AND h.written_at + h.delay_ms <= j.deadline_at)) LIMIT 200`, nil, func(row *sql.Rows) error {
		var l late
		err := row.Scan(&l.id, &l.reason)
		list = append(list, l)
		return err
	})
	for _, l := range list {
		switch l.reason {
		case "empty":
			l.status, l.reason = jobs.Completed, ""
		case jobs.ReasonMaxPages, jobs.ReasonMaxUnits, jobs.ReasonMaxRequests:
			l.status = jobs.Completed
		default:
			l.status = jobs.Failed
		}
		err = errors.Join(err, s.endOne(ctx, l.id, l.status, l.reason))
	}
	return err
}

func (s *Store) endOne(ctx context.Context, id, status, reason string) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.endJob(ctx, tx, now, id, status, reason); err != nil || reason != jobs.ReasonKeyRevoked && reason != jobs.ReasonKeyEnded {
			return err
		}
		return eraseResults(ctx, tx, id)
	})
	if err == nil {
		s.resultNews.tell(id)
	}
	return err
}

// clearEnded clears the queues of ended jobs away, in small steps.
func (s *Store) clearEnded(ctx context.Context) error {
	var ids []string
	err := query(ctx, s.ro, "SELECT id FROM jobs WHERE status <> 'running' AND swept = 0 ORDER BY finished_at LIMIT 100", nil, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		if err != nil {
			return err
		}
		for done := false; !done && err == nil; {
			done, err = s.sweepJob(ctx, id)
		}
	}
	return err
}

// sweepJob takes a step of clearing an ended job's queue; done is true when nothing is left. A job that
// runs is left alone.
func (s *Store) sweepJob(ctx context.Context, id string) (done bool, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		done = true
		var status string
		if err := tx.QueryRowContext(ctx, "SELECT status FROM jobs WHERE id = $1", id).Scan(&status); err != nil || status == jobs.Running {
			return err
		}
		less := map[string]int64{}
		err := query(ctx, tx, "SELECT pace_key, pending FROM job_hosts WHERE job = $1 AND pending > 0 ORDER BY pace_key LIMIT 500", args{id}, func(row *sql.Rows) error {
			var key string
			var n int64
			err := row.Scan(&key, &n)
			less[key] = n
			return err
		})
		if err != nil {
			return err
		}
		if len(less) > 0 {
			done = false
			if err := s.lockHosts(ctx, tx, sortedNames(less)); err != nil {
				return err
			}
			return s.lessPending(ctx, tx, id, less)
		}
		n, err := affected(ctx, tx, "DELETE FROM frontier WHERE job = $1 AND place IN (SELECT f.place FROM frontier f WHERE f.job = $1 LIMIT 2000)", id)
		if err != nil || n > 0 {
			done = false
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM job_hosts WHERE job = $1", id); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE jobs SET swept = 1 WHERE id = $1", id)
		return err
	})
	if err != nil {
		return true, fmt.Errorf("clear a job's queue: %w", err)
	}
	return done, nil
}

// lockHosts locks hosts in the one order.
func (s *Store) lockHosts(ctx context.Context, tx *sql.Tx, keys []string) error {
	if !s.postgres {
		return nil
	}
	var a args
	_, err := tx.ExecContext(ctx, "SELECT host FROM hosts WHERE host "+s.in(&a, keys)+" ORDER BY host FOR UPDATE", a...)
	return err
}

// expireResults erases what nobody collected in time, and what nobody can open any more.
func (s *Store) expireResults(ctx context.Context) error {
	var ids []string
	err := query(ctx, s.ro, s.expired()+" LIMIT 200", nil, func(row *sql.Rows) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		err = errors.Join(err, s.tx(ctx, func(tx *sql.Tx) error { return eraseResults(ctx, tx, id) }))
	}
	if len(ids) > 0 {
		err = errors.Join(err, s.cleanFiles(ctx))
	}
	return err
}

// expired selects the jobs whose results nobody is to have any more: their time is over, or their key's.
func (s *Store) expired() string {
	return "SELECT j.id FROM jobs j LEFT JOIN api_keys k ON k.id = j.api_key WHERE j.undelivered > 0 AND (j.expires_at <= " + s.nowSQL() + " OR k.ends_at <= " + s.nowSQL() + ")"
}

// forgetJobs deletes what is left of jobs long after their end.
func (s *Store) forgetJobs(ctx context.Context) error {
	now := s.nowSQL()
	for _, text := range []string{
		"DELETE FROM deliveries WHERE state <> 0 AND created_at <= " + now + fmt.Sprintf(" - %d", jobLife),
		"DELETE FROM jobs WHERE swept = 1 AND undelivered = 0 AND finished_at <= " + now + fmt.Sprintf(" - %d", jobLife),
	} {
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
