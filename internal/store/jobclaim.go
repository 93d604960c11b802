package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/reader/gate"
)

const (
	mostClaimed = 128
	// idleWait is how long a claim that found nothing lets its caller wait at most: another replica may
	// have made a job.
	idleWait = 250 * time.Millisecond
	// lookAgain is when a host is looked at again whose jobs may take nothing now: they are paused, at
	// their limit, or their URLs wait.
	lookAgain = 500
	// ahead is how long before its time, in milliseconds, a host is claimed: what goes before a request is done
	// by then.
	ahead = 50
)

// open is true for jobs that may take one more URL.
const openJob = `j.status = 'running' AND j.undelivered < j.max_bytes AND j.delivered + j.running < j.max_pages
	AND j.units + j.running < j.max_units AND j.requests + j.running < j.max_requests`

// claiming is one claim under way.
type claiming struct {
	pace   jobs.Pace
	now    int64
	asked  time.Time        // by this machine's clock, just after now
	starts map[string]int64 // when hosts are ready
	hosts  []string         // ready, in the order of their rank
	items  []jobs.Item
	total  *heldKey
	leases map[string]hostLease
	later  []later // hosts to be put off
}

func newClaiming(p jobs.Pace) *claiming {
	return &claiming{pace: p, starts: map[string]int64{}, leases: map[string]hostLease{}}
}

type later struct {
	host string
	at   int64
}

type hostLease struct{ lease, delay int64 }

// ClaimItems leases ready hosts and takes one URL for each, from the job that was served there least
// recently. See jobs.Store.
//
// Every transaction locks hosts first, then jobs, then usage. A claim skips hosts that are locked.
func (s *Store) ClaimItems(ctx context.Context, p jobs.Pace, limit int) ([]jobs.Item, time.Duration, error) {
	limit = min(limit, mostClaimed)
	if p.Total != "" {
		limit = min(limit, 1)
	}
	s.statistics.keep(ctx, s)
	began := s.clock.Now()
	var c *claiming
	err := s.tx(ctx, func(tx *sql.Tx) error {
		c = newClaiming(p)
		return s.claim(ctx, tx, c, limit)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("claim URLs: %w", err)
	}
	for i := range c.items {
		s.giveTurn(c, &c.items[i], began)
	}
	if len(c.hosts)+len(c.later) > 0 {
		return c.items, 0, nil
	}
	wait, err := s.nextReady(ctx)
	return nil, wait, err
}

func (s *Store) claim(ctx context.Context, tx *sql.Tx, c *claiming, limit int) (err error) {
	if c.now, err = s.now(ctx, tx); err != nil {
		return err
	}
	c.asked = s.clock.Now()
	if err := s.readyHosts(ctx, tx, c, limit); err != nil {
		return err
	}
	if len(c.hosts) == 0 {
		return s.putOff(ctx, tx, c.later)
	}
	if c.pace.Total != "" {
		if err := s.claimTotal(ctx, tx, c); err != nil || c.total == nil {
			return err
		}
	}
	if err := s.pickItems(ctx, tx, c); err != nil {
		return fmt.Errorf("pick URLs: %w", err)
	}
	if err := s.leaseHosts(ctx, tx, c); err != nil {
		return fmt.Errorf("lease hosts: %w", err)
	}
	// The jobs' rows come last: who finishes URLs of the same jobs waits for them.
	picked := c.items
	if err := s.admit(ctx, tx, c); err != nil {
		return fmt.Errorf("count running URLs: %w", err)
	}
	if err := s.markClaimed(ctx, tx, c); err != nil {
		return fmt.Errorf("mark URLs: %w", err)
	}
	if err := s.freeHosts(ctx, tx, c, picked); err != nil {
		return fmt.Errorf("free hosts: %w", err)
	}
	if len(c.items) == 0 && c.total != nil {
		return s.release(ctx, tx, *c.total, time.Time{})
	}
	return nil
}

// readyHosts are hosts with URLs that may be asked now or shortly. Those whose time has not come after all, because
// of other requests, a pause or a longer gap, are put off until then.
func (s *Store) readyHosts(ctx context.Context, tx *sql.Tx, c *claiming, limit int) error {
	lock := ""
	if s.postgres {
		lock = " FOR UPDATE SKIP LOCKED"
	}
	gap := c.pace.MinGap.Milliseconds()
	return query(ctx, tx, `SELECT host, leased, ready_at, paused_until, written_at, delay_ms FROM hosts
		WHERE pending > 0 AND jobs_at <= $1 ORDER BY jobs_at LIMIT $2`+lock, args{c.now + ahead, limit}, func(row *sql.Rows) error {
		var host string
		var leased, ready, paused, written, delay int64
		if err := row.Scan(&host, &leased, &ready, &paused, &written, &delay); err != nil {
			return err
		}
		if leased == 1 {
			ready = min(ready, c.now+recheck.Milliseconds())
		}
		at := max(ready, paused, written+max(delay, gap))
		if at > c.now+ahead || leased == 1 && at > c.now {
			c.later = append(c.later, later{host, at})
			return nil
		}
		c.hosts = append(c.hosts, host)
		c.starts[host] = at
		return nil
	})
}

// pickItems takes for each host the first URL that waits, of the job that was served there least recently and
// has one. Each subquery is one look into one index: joins would be left to PostgreSQL's statistics.
func (s *Store) pickItems(ctx context.Context, tx *sql.Tx, c *claiming) error {
	first := func(job, host string) string {
		return "(SELECT g.place FROM frontier g WHERE g.job = " + job + " AND g.pace_key = " + host +
			" AND g.state = 0 AND g.not_before <= $1 ORDER BY g.depth, g.place LIMIT 1)"
	}
	a := args{c.now}
	return query(ctx, tx, `WITH c AS MATERIALIZED (SELECT h.host, (SELECT jh.job FROM job_hosts jh WHERE jh.pace_key = h.host AND jh.pending > 0
			AND (SELECT CASE WHEN `+openJob+` THEN j.deadline_at END FROM jobs j WHERE j.id = jh.job) > $1
			AND `+first("jh.job", "jh.pace_key")+` IS NOT NULL ORDER BY jh.served_at, jh.job LIMIT 1) AS job
			FROM hosts h WHERE h.host `+s.in(&a, c.hosts)+`)
		SELECT f.job, f.place, f.kind, f.url, f.raw, f.twins, f.host, f.pace_key, f.depth, f.attempts, f.claims,
			(SELECT jh.failing FROM job_hosts jh WHERE jh.job = c.job AND jh.pace_key = c.host)
		FROM c JOIN frontier f ON f.job = c.job AND f.place = `+first("c.job", "c.host"), a, func(row *sql.Rows) error {
		var i jobs.Item
		var twins string
		err := row.Scan(&i.Job, &i.Place, &i.Kind, &i.URL, &i.Raw, &twins, &i.Host, &i.Pace, &i.Depth, &i.Attempts, &i.Claim, &i.Failing)
		i.Twins = twinsOf(twins)
		i.Claim++
		c.items = append(c.items, i)
		return err
	})
}

// admit locks the picked jobs and leaves out what goes beyond their limits: of a job's hosts, those that
// stand last.
func (s *Store) admit(ctx context.Context, tx *sql.Tx, c *claiming) error {
	picked := map[string]jobs.Item{}
	room := map[string]int64{}
	for _, i := range c.items {
		picked[i.Pace] = i
		room[i.Job] = 0
	}
	c.items = nil
	if len(room) == 0 {
		return nil
	}
	var a args
	err := query(ctx, tx, `SELECT j.id, j.max_pages - j.delivered - j.running, j.max_units - j.units - j.running, j.max_requests - j.requests - j.running
		FROM jobs j WHERE j.id `+s.in(&a, sortedNames(room))+` AND j.status = 'running' ORDER BY j.id`+s.forUpdate(), a, func(row *sql.Rows) error {
		var id string
		var pages, units, requests int64
		err := row.Scan(&id, &pages, &units, &requests)
		room[id] = min(pages, units, requests)
		return err
	})
	for _, host := range c.hosts {
		if i, ok := picked[host]; ok && room[i.Job] > 0 {
			room[i.Job]--
			c.items = append(c.items, i)
		}
	}
	return err
}

// claimTotal leases the row of the whole bot; without it nothing is claimed.
func (s *Store) claimTotal(ctx context.Context, tx *sql.Tx, c *claiming) error {
	lease, err := s.claimRow(ctx, tx, gate.Key{Name: c.pace.Total})
	if errors.Is(err, sql.ErrNoRows) {
		c.hosts, c.later = nil, nil
		return nil
	}
	c.total = &heldKey{gate.Key{Name: c.pace.Total}, lease}
	return err
}

// markClaimed makes the picked URLs this claim's own until its leases lapse, but for those that have come to
// their end since: another URL of their job led to the same page.
func (s *Store) markClaimed(ctx context.Context, tx *sql.Tx, c *claiming) error {
	if len(c.items) == 0 {
		return nil
	}
	type item struct {
		job   string
		place int64
	}
	mine := map[item]bool{}
	a := args{c.now + s.lease.Milliseconds()}
	pairs := table(s, &a, c.items, func(i jobs.Item) []any { return []any{i.Job, i.Place} })
	err := query(ctx, tx, `WITH c (job, place) AS (`+pairs+`) UPDATE frontier SET state = 1, claims = claims + 1, not_before = $1 FROM c
		WHERE frontier.job = c.job AND frontier.place = c.place AND frontier.state = 0 RETURNING frontier.job, frontier.place`, a, func(row *sql.Rows) error {
		var i item
		err := row.Scan(&i.job, &i.place)
		mine[i] = true
		return err
	})
	if err != nil {
		return err
	}
	c.items = slices.DeleteFunc(c.items, func(i jobs.Item) bool { return !mine[item{i.Job, i.Place}] })
	more := map[string]int64{}
	for _, i := range c.items {
		more[i.Job]++
	}
	if len(more) == 0 {
		return nil
	}
	var b args
	values := table(s, &b, sortedNames(more), func(id string) []any { return []any{id, more[id]} })
	_, err = tx.ExecContext(ctx, "WITH c (id, n) AS ("+values+") UPDATE jobs SET running = running + c.n FROM c WHERE jobs.id = c.id", b...)
	return err
}

// leaseHosts leases the hosts of the picked URLs and puts off those that had none.
func (s *Store) leaseHosts(ctx context.Context, tx *sql.Tx, c *claiming) error {
	taken := map[string]bool{}
	var leased []string
	for _, i := range c.items {
		taken[i.Pace] = true
		leased = append(leased, i.Pace)
	}
	for _, host := range c.hosts {
		if !taken[host] {
			c.later = append(c.later, later{host, c.now + lookAgain})
		}
	}
	if err := s.putOff(ctx, tx, c.later); err != nil {
		return err
	}
	if len(leased) == 0 {
		return nil
	}
	a := args{c.now + s.lease.Milliseconds(), c.now}
	return query(ctx, tx, `UPDATE hosts SET ready_at = $1, jobs_at = $1, leased = 1, lease = lease + 1, used_at = $2
		WHERE host `+s.in(&a, leased)+` RETURNING host, lease, delay_ms`, a, func(row *sql.Rows) error {
		var host string
		var l hostLease
		err := row.Scan(&host, &l.lease, &l.delay)
		c.leases[host] = l
		return err
	})
}

// freeHosts gives hosts back that were leased for URLs which are not claimed after all.
func (s *Store) freeHosts(ctx context.Context, tx *sql.Tx, c *claiming, picked []jobs.Item) error {
	var free []string
	for _, i := range picked {
		if !slices.ContainsFunc(c.items, func(mine jobs.Item) bool { return mine.Pace == i.Pace }) {
			free = append(free, i.Pace)
		}
	}
	if len(free) == 0 {
		return nil
	}
	a := args{c.now, c.now + lookAgain}
	_, err := tx.ExecContext(ctx, "UPDATE hosts SET ready_at = $1, jobs_at = $2, leased = 0 WHERE host "+s.in(&a, free), a...)
	return err
}

// putOff lets jobs come back to hosts later.
func (s *Store) putOff(ctx context.Context, tx *sql.Tx, list []later) error {
	if len(list) == 0 {
		return nil
	}
	var a args
	values := table(s, &a, list, func(l later) []any { return []any{l.host, l.at} })
	_, err := tx.ExecContext(ctx, "WITH c (name, at) AS ("+values+") UPDATE hosts SET jobs_at = c.at FROM c WHERE hosts.host = c.name", a...)
	return err
}

// giveTurn gives a claimed item the turn at its host.
func (s *Store) giveTurn(c *claiming, i *jobs.Item, began time.Time) {
	l := c.leases[i.Pace]
	kept := max(c.pace.MinGap, time.Duration(l.delay)*time.Millisecond)
	t := &jobTurn{s: s, from: c.asked.Add(span(c.starts[i.Pace] - c.now)), deadline: began.Add(s.lease), kept: kept, held: []heldKey{{gate.Key{Name: i.Pace, Gap: c.pace.MinGap}, l.lease}}}
	if c.total != nil {
		t.held = append(t.held, *c.total)
	}
	i.Turn, i.Until = t, t.deadline
	s.endings.add(t)
	s.queues.begin(t.held)
}

// nextReady is how long until the next host may have something to read.
func (s *Store) nextReady(ctx context.Context) (time.Duration, error) {
	var at sql.NullInt64
	var now int64
	err := s.ro.QueryRowContext(ctx, "SELECT MIN(jobs_at), "+s.nowSQL()+" FROM hosts WHERE pending > 0").Scan(&at, &now)
	if err != nil {
		return 0, fmt.Errorf("look for the next host: %w", err)
	}
	if !at.Valid {
		return idleWait, nil
	}
	idle := idleWait
	if s.fixed != nil {
		idle = time.Second // a test's clock is moved from one wait to the next
	}
	return max(5*time.Millisecond, min(span(at.Int64-ahead-now), idle)), nil
}
