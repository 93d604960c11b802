package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/seal"
)

var _ jobs.Store = (*Store)(nil)

// jobColumns are what a jobs.Job is made of, in the order of scanJob.
const jobColumns = `id, account, api_key, kind, status, reason, total, delivered, blocked, refused, failed, unchanged, duplicate, skipped,
	units, created_at, finished_at, expires_at, request, next_seq - 1`

func scanJob(row interface{ Scan(...any) error }) (jobs.Job, error) {
	var j jobs.Job
	var created int64
	var finished, expires sql.NullInt64
	c := &j.Counts
	err := row.Scan(&j.ID, &j.Account, &j.Key, &j.Kind, &j.Status, &j.Reason, &j.Total, &c.Delivered, &c.Blocked, &c.Refused, &c.Failed,
		&c.Unchanged, &c.Duplicate, &c.Skipped, &j.Units, &created, &finished, &expires, &j.RequestID, &j.LastSeq)
	j.CreatedAt, j.FinishedAt, j.ExpiresAt = timeOf(created), timeOrZero(finished), timeOrZero(expires)
	c.Pending = max(0, j.Total-c.Delivered-c.Blocked-c.Refused-c.Failed-c.Unchanged-c.Duplicate-c.Skipped)
	return j, err
}

// CreateJob makes a job with its first items. See jobs.Store.
func (s *Store) CreateJob(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	var j jobs.Job
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if j, err = findJob(ctx, tx, spec.Account, spec.ID); err == nil || !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		queued, err := s.roomForJob(ctx, tx, spec)
		if err != nil {
			return err
		}
		if err := insertJob(ctx, tx, now, spec); err != nil {
			return err
		}
		// A customer's URLs stand in line one after the other, so that a long list leaves room for others.
		if err := s.queueFirst(ctx, tx, now, rankOf(now, queued), spec); err != nil {
			return err
		}
		j, err = findJob(ctx, tx, spec.Account, spec.ID)
		return err
	})
	if err != nil {
		return j, fmt.Errorf("make a job: %w", err)
	}
	s.jobNews.tell()
	return j, nil
}

// queueFirst puts a new job's own URLs into its frontier.
func (s *Store) queueFirst(ctx context.Context, tx *sql.Tx, now, rank int64, spec jobs.Spec) error {
	var list []queued
	for i, found := range spec.Items {
		list = append(list, queued{spec.ID, int64(i) + 1, found})
	}
	total, err := s.queueFound(ctx, tx, now, rank, list)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE jobs SET total = $1, next_place = $2 WHERE id = $3", total[spec.ID], len(list)+1, spec.ID)
	return err
}

func findJob(ctx context.Context, q querier, account, id string) (jobs.Job, error) {
	return scanJob(q.QueryRowContext(ctx, "SELECT "+jobColumns+" FROM jobs WHERE id = $1 AND account = $2", id, account))
}

// roomForJob is an error when the account has as many jobs or URLs under way as its plan allows. It
// answers how many URLs wait. The account's row is locked, so that two requests do not take one place.
func (s *Store) roomForJob(ctx context.Context, tx *sql.Tx, spec jobs.Spec) (queued int64, err error) {
	var id string
	if err := tx.QueryRowContext(ctx, "SELECT id FROM accounts WHERE id = $1"+s.forUpdate(), spec.Account).Scan(&id); err != nil {
		return 0, fmt.Errorf("lock the account: %w", err)
	}
	var running int64
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(total - delivered - blocked - refused - failed - unchanged - duplicate - skipped), 0)
		AS BIGINT) FROM jobs WHERE account = $1 AND status = 'running'`, spec.Account).Scan(&running, &queued)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count running jobs: %w", err)
	case !spec.MostRunning.IsUnlimited() && running >= int64(spec.MostRunning):
		return 0, &fault.Error{Kind: fault.RateLimited, RetryAfter: 30 * time.Second, Detail: fmt.Sprintf(
			"The account has %d jobs running, which is all its plan allows. Wait until one ends, or cancel one.", running)}
	case !spec.MostQueued.IsUnlimited() && queued+int64(len(spec.Items)) > int64(spec.MostQueued):
		return 0, &fault.Error{Kind: fault.RateLimited, RetryAfter: 30 * time.Second, Detail: fmt.Sprintf(
			"The account has %d URLs waiting, and its plan allows %d. Wait until some are read, or cancel a job.", queued, spec.MostQueued)}
	}
	return queued, nil
}

func insertJob(ctx context.Context, tx *sql.Tx, now int64, spec jobs.Spec) error {
	options, err := json.Marshal(spec.Options)
	if err != nil {
		return err
	}
	scope, err := json.Marshal(spec.Rules)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO jobs (id, account, api_key, public_key, request, kind, status, reason, options, scope, scope_host,
		webhook_url, max_units, max_pages, max_requests, max_queued, max_bytes, created_at, deadline_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'running', '', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		spec.ID, spec.Account, spec.Key, spec.Recipient.PublicKey(), spec.Request, spec.Kind, string(options), string(scope), spec.ScopeHost,
		spec.WebhookURL, spec.MaxUnits, spec.MaxPages, spec.MaxRequests, spec.MaxQueued, spec.MaxBytes, now, now+spec.Deadline.Milliseconds())
	return err
}

// Ranks put hosts that were not served yet before all others, and those of a customer with many behind
// those of one with few.
const (
	rankAhead = 24 * 60 * 60 * 1000 // ms before now at which the first one stands
	rankStep  = 20                  // ms that each further one stands behind
)

func rankOf(now, ahead int64) int64 { return now - rankAhead + min(ahead*rankStep, rankAhead) }

// queued is a URL on its way into a job's frontier.
type queued struct {
	job   string
	place int64
	jobs.Found
}

// jobHost names a row of job_hosts.
type jobHost struct{ job, host string }

// queueFound puts URLs into their jobs' frontiers; those whose form is there already are left out. Hosts
// that had nothing to wait for get their rank. It answers how many URLs each job got that count as its own.
func (s *Store) queueFound(ctx context.Context, tx *sql.Tx, now, rank int64, found []queued) (total map[string]int64, err error) {
	added := map[jobHost]int64{}
	total = map[string]int64{}
	for part := range slices.Chunk(found, 60) { // SQLite looks names of places up one by one
		if err := s.insertFound(ctx, tx, now, part, added, total); err != nil {
			return nil, fmt.Errorf("queue URLs: %w", err)
		}
	}
	if len(added) > 0 {
		if err := s.addPending(ctx, tx, now, rank, added); err != nil {
			return nil, fmt.Errorf("count queued URLs: %w", err)
		}
	}
	return total, nil
}

// The states of a URL in a frontier.
const (
	stateWaits = iota
	stateRead
	stateDone
	stateDelivered
)

// insertFound inserts one statement's worth of URLs. It counts those that wait by job and pace key, and
// those that count as URLs of their job by job.
func (s *Store) insertFound(ctx context.Context, tx *sql.Tx, now int64, found []queued, added map[jobHost]int64, total map[string]int64) error {
	var a args
	var failed error
	values := table(s, &a, found, func(f queued) []any {
		twins, err := json.Marshal(f.Twins)
		failed = errors.Join(failed, err)
		if len(f.Twins) == 0 {
			twins = nil
		}
		state := stateWaits
		if f.Kind == jobs.Alias {
			state = stateDelivered
		}
		return []any{f.job, f.place, int64(f.Kind), f.URL, f.Raw, string(twins), cut(f.Host, 255), f.Pace, f.Form[:], f.Depth, state,
			now + f.NotBefore.Milliseconds()}
	})
	if failed != nil {
		return failed
	}
	return query(ctx, tx, `INSERT INTO frontier (job, place, kind, url, raw, twins, host, pace_key, form, depth, state, not_before) `+
		values+` ON CONFLICT DO NOTHING RETURNING job, pace_key, state, kind, twins`, a, func(row *sql.Rows) error {
		var at jobHost
		var twins string
		var state, kind int64
		if err := row.Scan(&at.job, &at.host, &state, &kind, &twins); err != nil || state != stateWaits {
			return err
		}
		added[at]++
		if counts(jobs.ItemKind(kind)) {
			total[at.job] += 1 + int64(len(twinsOf(twins)))
		}
		return nil
	})
}

// counts is true for items that are URLs of their own to the customer: sitemaps are not.
func counts(k jobs.ItemKind) bool { return k == jobs.Page || k == jobs.Start }

func twinsOf(text string) []string {
	if text == "" {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil
	}
	return list
}

// addPending counts waiting URLs at their hosts, in one order. A host that had none gets its rank, but for
// one whose gap runs: it comes after that.
func (s *Store) addPending(ctx context.Context, tx *sql.Tx, now, rank int64, added map[jobHost]int64) error {
	byHost := map[string]int64{}
	for at, n := range added {
		byHost[at.host] += n
	}
	for part := range slices.Chunk(sortedNames(byHost), 200) {
		var a args
		values := table(s, &a, part, func(host string) []any {
			rank += rankStep
			return []any{host, int64(0), 0, 0, int64(0), int64(0), byHost[host], min(rank, now), now}
		})
		_, err := tx.ExecContext(ctx, `INSERT INTO hosts (host, ready_at, leased, lease, written_at, paused_until, pending, jobs_at, used_at) `+values+`
			ON CONFLICT (host) DO UPDATE SET pending = hosts.pending + excluded.pending,
			jobs_at = CASE WHEN hosts.pending = 0 AND hosts.jobs_at <= excluded.used_at THEN excluded.jobs_at ELSE hosts.jobs_at END`, a...)
		if err != nil {
			return err
		}
	}
	order := slices.SortedFunc(maps.Keys(added), func(a, b jobHost) int {
		return cmp.Or(strings.Compare(a.job, b.job), strings.Compare(a.host, b.host))
	})
	for part := range slices.Chunk(order, 200) {
		var a args
		values := table(s, &a, part, func(at jobHost) []any { return []any{at.job, at.host, added[at], 0} })
		_, err := tx.ExecContext(ctx, `INSERT INTO job_hosts (job, pace_key, pending, served_at) `+values+`
			ON CONFLICT (job, pace_key) DO UPDATE SET pending = job_hosts.pending + excluded.pending`, a...)
		if err != nil {
			return err
		}
	}
	return nil
}

func noJob() error {
	return fault.New(fault.NotFound, "There is no such job. Check the id, and that the key belongs to the account that made it.")
}

// Job is the account's job. See jobs.Store.
func (s *Store) Job(ctx context.Context, account, id string) (jobs.Job, error) {
	j, err := findJob(ctx, s.ro, account, id)
	if errors.Is(err, sql.ErrNoRows) {
		return j, noJob()
	}
	return j, err
}

// ListJobs are the account's jobs, newest first. See jobs.Store.
func (s *Store) ListJobs(ctx context.Context, account, cursor string, limit int) ([]jobs.Job, string, error) {
	a := args{account}
	after := ""
	if cursor != "" {
		at, id, ok := strings.Cut(cursor, "_")
		var ms int64
		if _, err := fmt.Sscan(at, &ms); err != nil || !ok || !billing.ValidID("job", id) {
			return nil, "", badField("cursor", "send next_cursor of the page before as it was")
		}
		after = " AND (created_at, id) < (" + a.list(ms, id) + ")"
	}
	var list []jobs.Job
	err := query(ctx, s.ro, "SELECT "+jobColumns+" FROM jobs WHERE account = $1"+after+" ORDER BY created_at DESC, id DESC LIMIT "+a.place(limit+1), a,
		func(row *sql.Rows) error {
			j, err := scanJob(row)
			list = append(list, j)
			return err
		})
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	list = list[:limit]
	last := list[limit-1]
	return list, fmt.Sprintf("%d_%s", last.CreatedAt.UnixMilli(), last.ID), nil
}

// DropJob ends a job and erases what it holds. See jobs.Store.
func (s *Store) DropJob(ctx context.Context, account, id string) (jobs.Job, error) {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		var status string
		err = tx.QueryRowContext(ctx, "SELECT status FROM jobs WHERE id = $1 AND account = $2"+s.forUpdate(), id, account).Scan(&status)
		if errors.Is(err, sql.ErrNoRows) {
			return noJob()
		}
		if err != nil {
			return err
		}
		if status == jobs.Running {
			if err := s.endJob(ctx, tx, now, id, jobs.Cancelled, ""); err != nil {
				return err
			}
		}
		return eraseResults(ctx, tx, id)
	})
	if err != nil {
		return jobs.Job{}, err
	}
	s.resultNews.tell(id)
	if _, err := s.sweepJob(ctx, id); err != nil {
		return jobs.Job{}, err
	}
	if err := s.cleanFiles(ctx); err != nil {
		return jobs.Job{}, err
	}
	return s.Job(ctx, account, id)
}

func eraseResults(ctx context.Context, tx *sql.Tx, job string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM results WHERE job = $1", job); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE jobs SET undelivered = 0 WHERE id = $1", job)
	return err
}

// endJob ends a running job in tx: what waits is skipped, its results expire from now on. Its event is
// queued. The job's row is locked already.
func (s *Store) endJob(ctx context.Context, tx *sql.Tx, now int64, id, status, reason string) error {
	j, err := scanJob(tx.QueryRowContext(ctx, `UPDATE jobs SET status = $1, reason = $2, finished_at = $3, expires_at = $3 + CAST($4 AS BIGINT), running = 0,
		skipped = total - delivered - blocked - refused - failed - unchanged - duplicate WHERE id = $5 AND status = 'running'
		RETURNING `+jobColumns, status, reason, now, s.resultTTL.Milliseconds(), id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end a job: %w", err)
	}
	return s.tellJobEnded(ctx, tx, now, j)
}

// Work is a job's constants. See jobs.Store.
func (s *Store) Work(ctx context.Context, id string) (jobs.Work, error) {
	w := jobs.Work{Job: id}
	var public []byte
	var options, scope string
	var deadline int64
	err := s.ro.QueryRowContext(ctx, `SELECT j.account, j.api_key, j.public_key, j.kind, j.request, j.options, j.scope, j.scope_host, j.webhook_url,
		j.deadline_at, a.fingerprint_key FROM jobs j JOIN accounts a ON a.id = j.account WHERE j.id = $1`, id).
		Scan(&w.Account, &w.Key, &public, &w.Kind, &w.Request, &options, &scope, &w.ScopeHost, &w.WebhookURL, &deadline, &w.FingerprintKey)
	if err != nil {
		return w, fmt.Errorf("read a job: %w", err)
	}
	w.Deadline = timeOf(deadline)
	if w.Recipient, err = seal.NewRecipient(public); err != nil {
		return w, err
	}
	if err := json.Unmarshal([]byte(options), &w.Options); err != nil {
		return w, fmt.Errorf("a job's options: %w", err)
	}
	if err := json.Unmarshal([]byte(scope), &w.Rules); err != nil {
		return w, fmt.Errorf("a job's scope: %w", err)
	}
	return w, nil
}
