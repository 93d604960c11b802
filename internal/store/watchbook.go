package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/internal/webhook"
	"github.com/webreaderapi/webreader/reader/gate"
)

var _ watch.Book = watchBook{}

// watchBook is the store as watches see it.
type watchBook struct{ *Store }

// WatchBook is the store as watches see it.
func (s *Store) WatchBook() watch.Book { return watchBook{s} }

// visitLease is how long a site of a round is left to who visits it; each page lengthens it.
const visitLease = 10 * time.Minute

// Due are active watches whose round is due. See watch.Book.
func (s watchBook) Due(ctx context.Context) ([]watch.Watch, error) {
	var list []watch.Watch
	err := query(ctx, s.ro, "SELECT "+watchColumns+` FROM watches WHERE status = 'active' AND round = '' AND next_round_at <= `+s.nowSQL()+
		` ORDER BY next_round_at LIMIT 100`, nil, func(row *sql.Rows) error {
		w, err := scanWatch(row)
		list = append(list, w)
		return err
	})
	return list, err
}

// Begun are the rounds of a watch made since then. See watch.Book.
func (s watchBook) Begun(ctx context.Context, id string, since time.Time) ([]time.Time, error) {
	var list []time.Time
	err := query(ctx, s.ro, "SELECT begun_at FROM watch_rounds WHERE watch = $1 AND begun_at >= $2", []any{id, since.UnixMilli()}, func(row *sql.Rows) error {
		var at int64
		err := row.Scan(&at)
		list = append(list, timeOf(at))
		return err
	})
	return list, err
}

// Begin makes a round of all sites of a watch. See watch.Book.
func (s watchBook) Begin(ctx context.Context, id string, due, next time.Time) (string, error) {
	var round string
	err := s.tx(ctx, func(tx *sql.Tx) error {
		round = billing.NewID("rnd")
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if full, err := s.fullOfChanges(ctx, tx, id); err != nil || full {
			round = ""
			return err
		}
		n, err := affected(ctx, tx, `UPDATE watches SET round = $1, next_round_at = $2 WHERE id = $3 AND status = 'active' AND round = ''`, round, millis(next), id)
		if err != nil || n == 0 {
			round = ""
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO watch_rounds (id, watch, due_at, begun_at) VALUES ($1, $2, $3, $4)`, round, id, due.UnixMilli(), now); err != nil {
			return err
		}
		n, err = affected(ctx, tx, `INSERT INTO watch_visits (round, number, watch, done, not_before, lease, failed, n_new, n_changed, n_back, n_same, n_gone, n_skipped, requests)
			SELECT $1, number, watch, 0, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM watch_sites WHERE watch = $3`, round, now, id)
		if err != nil || n > 0 {
			return err
		}
		return endRound(ctx, tx, round, id, now)
	})
	if err != nil {
		return "", fmt.Errorf("begin a round: %w", err)
	}
	return round, nil
}

// fullOfChanges pauses a watch whose customer lets more changes lie than the plan has room for.
func (s *Store) fullOfChanges(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	var bytes int64
	var plan string
	err := tx.QueryRowContext(ctx, `SELECT a.plan, (SELECT COALESCE(SUM(length(c.envelope)), 0) FROM watch_changes c WHERE c.watch = w.id)
		FROM watches w JOIN accounts a ON a.id = w.account WHERE w.id = $1`, id).Scan(&plan, &bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	p, ok := s.plans.Plan(plan)
	if !ok || billing.Limit(bytes) <= p.UndeliveredBytes {
		return false, nil
	}
	_, err = tx.ExecContext(ctx, "UPDATE watches SET status = 'paused', reason = $1 WHERE id = $2", watch.ReasonUndelivered, id)
	return true, err
}

func endRound(ctx context.Context, tx *sql.Tx, round, id string, now int64) error {
	if _, err := tx.ExecContext(ctx, "UPDATE watch_rounds SET finished_at = $1 WHERE id = $2 AND finished_at IS NULL", now, round); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE watches SET round = '' WHERE id = $1 AND round = $2", id, round)
	return err
}

// PutOff sets when the next round is due. See watch.Book.
func (s watchBook) PutOff(ctx context.Context, id string, next time.Time) error {
	_, err := s.db.ExecContext(ctx, "UPDATE watches SET next_round_at = $1 WHERE id = $2", millis(next), id)
	return err
}

// Claim leases a site that is to be visited now. See watch.Book.
func (s watchBook) Claim(ctx context.Context) (*watch.Claim, error) {
	for {
		var c *watch.Claim
		gone := false
		err := s.tx(ctx, func(tx *sql.Tx) error {
			var err error
			c, gone, err = s.tryClaimVisit(ctx, tx)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("claim a site: %w", err)
		}
		if !gone {
			return c, nil
		}
	}
}

// FreeVisits makes all visits of a watch's rounds be taken up at once: for the only process on a database,
// which knows that whoever had taken some is gone.
func (s *Store) FreeVisits(ctx context.Context, watch string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE watch_visits SET not_before = 0, lease = lease + 1 WHERE watch = $1 AND done = 0", watch)
	if err != nil {
		return fmt.Errorf("free the visits: %w", err)
	}
	return nil
}

// tryClaimVisit is nil when there is nothing; gone when it found a visit of a site that was forgotten,
// which is over then.
func (s watchBook) tryClaimVisit(ctx context.Context, tx *sql.Tx) (_ *watch.Claim, gone bool, _ error) {
	now, err := s.now(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	lock := ""
	if s.postgres {
		lock = " FOR UPDATE OF v SKIP LOCKED"
	}
	c := &watch.Claim{At: timeOf(now)}
	t := &c.Tally
	var id string
	err = tx.QueryRowContext(ctx, `SELECT v.round, v.number, v.watch, v.lease, v.failed, v.n_new, v.n_changed, v.n_back, v.n_same, v.n_gone, v.n_skipped, v.requests
		FROM watch_visits v JOIN watches w ON w.id = v.watch WHERE v.done = 0 AND v.not_before <= $1 AND w.status = 'active'
		ORDER BY v.not_before, v.number LIMIT 1`+lock, now).Scan(&c.Round, &c.Number, &id, &c.Lease, &c.Failed,
		&t.New, &t.Changed, &t.Back, &t.Unchanged, &t.Gone, &t.Skipped, &t.Requests)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c.Lease++
	if _, err := tx.ExecContext(ctx, "UPDATE watch_visits SET lease = $1, not_before = $2 WHERE round = $3 AND number = $4",
		c.Lease, now+visitLease.Milliseconds(), c.Round, c.Number); err != nil {
		return nil, false, err
	}
	return s.fill(ctx, tx, c, id, now)
}

// fill reads the watch, the site and the keys of a claim.
func (s watchBook) fill(ctx context.Context, tx *sql.Tx, c *watch.Claim, id string, now int64) (*watch.Claim, bool, error) {
	var err error
	if c.Watch, err = scanWatch(tx.QueryRowContext(ctx, "SELECT "+watchColumns+" FROM watches WHERE id = $1", id)); err != nil {
		return nil, false, err
	}
	c.Site, _, err = scanSite(tx.QueryRowContext(ctx, "SELECT number, name, sitemap, rules FROM watch_sites WHERE watch = $1 AND number = $2", id, c.Number))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, true, s.finish(ctx, tx, c, now)
	}
	if err != nil {
		return nil, false, err
	}
	err = query(ctx, tx, "SELECT url FROM watch_pages WHERE watch = $1 AND number = $2 AND kind = 0", []any{id, c.Number}, func(row *sql.Rows) error {
		var url string
		err := row.Scan(&url)
		c.Site.StartURLs = append(c.Site.StartURLs, url)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	var public []byte
	err = tx.QueryRowContext(ctx, `SELECT k.id, k.public_key, a.fingerprint_key FROM api_keys k JOIN accounts a ON a.id = k.account
		WHERE k.account = $1 AND k.revoked_at IS NULL AND (k.ends_at IS NULL OR k.ends_at > $2)
		ORDER BY CASE WHEN k.id = $3 THEN 0 ELSE 1 END, k.created_at DESC LIMIT 1`, c.Watch.Account, now, c.Watch.Key).Scan(&c.Watch.Key, &public, &c.FingerprintKey)
	if errors.Is(err, sql.ErrNoRows) {
		// Nobody could read what is found: the watch waits for a key.
		_, err := tx.ExecContext(ctx, "UPDATE watches SET status = 'paused', reason = 'no_key' WHERE id = $1", id)
		return nil, true, err
	}
	if err != nil {
		return nil, false, err
	}
	c.Recipient, err = seal.NewRecipient(public)
	return c, false, err
}

// Start answers when a round began its work. See watch.Book.
func (s watchBook) Start(ctx context.Context, c *watch.Claim) (at time.Time, first bool, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		n, err := affected(ctx, tx, "UPDATE watch_rounds SET started_at = $1 WHERE id = $2 AND started_at IS NULL", now, c.Round)
		if err != nil {
			return err
		}
		var started sql.NullInt64
		first = n > 0
		err = tx.QueryRowContext(ctx, "SELECT started_at FROM watch_rounds WHERE id = $1", c.Round).Scan(&started)
		at = timeOrZero(started)
		if errors.Is(err, sql.ErrNoRows) {
			return watch.ErrLost
		}
		return err
	})
	return at, first, err
}

// Others counts the rounds that visited a claim's site. See watch.Book.
func (s watchBook) Others(ctx context.Context, c *watch.Claim, since time.Time) (int, error) {
	var n int
	err := s.ro.QueryRowContext(ctx, `SELECT count(DISTINCT v.round) FROM watch_sites own JOIN watch_sites s ON s.host = own.host
		JOIN watch_visits v ON v.watch = s.watch AND v.number = s.number JOIN watch_rounds r ON r.id = v.round
		JOIN watch_rounds mine ON mine.id = $3
		WHERE own.watch = $1 AND own.number = $2 AND v.round <> $3 AND r.begun_at >= $4
		AND (v.requests > 0 OR v.done = 0 AND (r.begun_at < mine.begun_at OR r.begun_at = mine.begun_at AND r.id < mine.id))`,
		c.Watch.ID, c.Number, c.Round, since.UnixMilli()).Scan(&n)
	return n, err
}

// Pages are what is known of a claim's site. See watch.Book.
func (s watchBook) Pages(ctx context.Context, c *watch.Claim) ([]watch.Page, error) {
	var list []watch.Page
	err := query(ctx, s.ro, `SELECT hash, url, host, kind, fed, wanted, hint, etag, last_modified, body, state, checked_at, round
		FROM watch_pages WHERE watch = $1 AND number = $2 ORDER BY kind, url`, []any{c.Watch.ID, c.Number}, func(row *sql.Rows) error {
		var p watch.Page
		var fed, wanted, checked int64
		err := row.Scan(&p.Hash, &p.URL, &p.Host, &p.Kind, &fed, &wanted, &p.Hint, &p.Validators.ETag, &p.Validators.LastModified,
			&p.Body, &p.State, &checked, &p.Round)
		p.Fed, p.Wanted = fed == 1, wanted == 1
		if checked > 0 {
			p.CheckedAt = timeOf(checked)
		}
		list = append(list, p)
		return err
	})
	return list, err
}

// longETag is the longest validator that is kept: one that was cut would never match.
const (
	longETag     = 1024
	longModified = 200
)

func kept(v gate.Validators) gate.Validators {
	if len(v.ETag) > longETag {
		v.ETag = ""
	}
	if len(v.LastModified) > longModified {
		v.LastModified = ""
	}
	return v
}

// Record keeps what one page came to. See watch.Book.
func (s watchBook) Record(ctx context.Context, c *watch.Claim, f watch.Finding) (int64, error) {
	var seq int64
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.holdVisit(ctx, tx, c, now+visitLease.Milliseconds(), false); err != nil {
			return err
		}
		if err := updatePage(ctx, tx, c, f.Page); err != nil {
			return err
		}
		if err := s.insertLearned(ctx, tx, c, f.Learned); err != nil || f.Change == nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "UPDATE watches SET next_seq = next_seq + 1 WHERE id = $1 RETURNING next_seq - 1", c.Watch.ID).Scan(&seq); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO watch_changes (watch, seq, item, api_key, host, envelope, detected_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			c.Watch.ID, seq, f.Change.Item, c.Watch.Key, f.Change.Host, []byte(f.Change.Envelope), f.Change.DetectedAt.UnixMilli())
		return err
	})
	if errors.Is(err, watch.ErrLost) {
		return 0, watch.ErrLost
	}
	if err != nil {
		return 0, fmt.Errorf("record a page: %w", err)
	}
	return seq, nil
}

// holdVisit writes the visit's row if c still has it: when it may be taken up, and what it came to.
func (s watchBook) holdVisit(ctx context.Context, tx *sql.Tx, c *watch.Claim, notBefore int64, done bool) error {
	t := c.Tally
	n, err := affected(ctx, tx, `UPDATE watch_visits SET not_before = $1, done = $2, failed = $3, n_new = $4, n_changed = $5, n_back = $6, n_same = $7,
		n_gone = $8, n_skipped = $9, requests = $10 WHERE round = $11 AND number = $12 AND lease = $13 AND done = 0`,
		notBefore, bit(done), c.Failed, t.New, t.Changed, t.Back, t.Unchanged, t.Gone, t.Skipped, t.Requests, c.Round, c.Number, c.Lease)
	if err == nil && n == 0 {
		return watch.ErrLost
	}
	return err
}

// updatePage never makes a row: what was forgotten meanwhile stays forgotten.
func updatePage(ctx context.Context, tx *sql.Tx, c *watch.Claim, p watch.Page) error {
	v := kept(p.Validators)
	checked := int64(0)
	if !p.CheckedAt.IsZero() {
		checked = p.CheckedAt.UnixMilli()
	}
	n, err := affected(ctx, tx, `UPDATE watch_pages SET fed = $1, wanted = $2, hint = $3, etag = $4, last_modified = $5, body = $6, state = $7,
		checked_at = $8, round = $9 WHERE watch = $10 AND number = $11 AND hash = $12`, bit(p.Fed), bit(p.Wanted), p.Hint, v.ETag, v.LastModified,
		orEmpty(p.Body), orEmpty(p.State), checked, p.Round, c.Watch.ID, c.Number, p.Hash)
	if err == nil && n == 0 {
		return watch.ErrLost
	}
	return err
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// insertLearned keeps pages that a page led to, unless their host was forgotten since the claim.
func (s watchBook) insertLearned(ctx context.Context, tx *sql.Tx, c *watch.Claim, pages []watch.Page) error {
	forgotten := map[string]bool{}
	for _, p := range pages {
		gone, known := forgotten[p.Host]
		if !known {
			a := args{c.At.UnixMilli()}
			var n int
			err := tx.QueryRowContext(ctx, "SELECT count(*) FROM tombstones WHERE forgotten_at >= $1 AND domain IN ("+a.list(domainsOf(p.Host)...)+")", a...).Scan(&n)
			if err != nil {
				return err
			}
			gone = n > 0
			forgotten[p.Host] = gone
		}
		if gone {
			continue
		}
		if err := insertPage(ctx, tx, c.Watch.ID, c.Number, p); err != nil {
			return err
		}
	}
	return nil
}

// Paused is true for a watch that has no rounds now. See watch.Book.
func (s watchBook) Paused(ctx context.Context, c *watch.Claim) (bool, error) {
	var n int
	err := s.ro.QueryRowContext(ctx, "SELECT count(*) FROM watches WHERE id = $1 AND status = 'active'", c.Watch.ID).Scan(&n)
	return n == 0, err
}

// Skip notes that a round leaves a host alone. See watch.Book.
func (s watchBook) Skip(ctx context.Context, c *watch.Claim, skip watch.Skip) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO watch_skips (round, watch, host, reason) SELECT $1, id, $2, $3 FROM watches WHERE id = $4
		ON CONFLICT (round, host) DO UPDATE SET reason = excluded.reason`, c.Round, skip.Host, cut(skip.Reason, 80), c.Watch.ID)
	return err
}

// Postpone gives a claim back. See watch.Book.
func (s watchBook) Postpone(ctx context.Context, c *watch.Claim, until time.Time) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		wait := max(0, until.Sub(s.clock.Now()).Milliseconds())
		return s.holdVisit(ctx, tx, c, now+wait, false)
	})
}

// Finish ends a visit; the last one ends the round. See watch.Book.
func (s watchBook) Finish(ctx context.Context, c *watch.Claim) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return s.finish(ctx, tx, c, now)
	})
}

func (s watchBook) finish(ctx context.Context, tx *sql.Tx, c *watch.Claim, now int64) error {
	// The round's row is locked first, so that of two last visits one sees the other.
	var id string
	if err := tx.QueryRowContext(ctx, "SELECT watch FROM watch_rounds WHERE id = $1"+s.forUpdate(), c.Round).Scan(&id); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return watch.ErrLost
		}
		return err
	}
	if err := s.holdVisit(ctx, tx, c, now, true); err != nil {
		return err
	}
	var left int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM watch_visits WHERE round = $1 AND done = 0", c.Round).Scan(&left); err != nil || left > 0 {
		return err
	}
	return endRound(ctx, tx, c.Round, id, now)
}

// Reserve takes units off a watch's ceiling, or gives them back. See watch.Book.
func (s watchBook) Reserve(ctx context.Context, c *watch.Claim, n int64) (bool, error) {
	changed, err := affected(ctx, s.db, `UPDATE watches SET units = units + $1 WHERE id = $2 AND units + $1 >= 0 AND (max_units = 0 OR units + $1 <= max_units)`, n, c.Watch.ID)
	return changed > 0, err
}

// Pause pauses a watch by itself. See watch.Book.
func (s watchBook) Pause(ctx context.Context, id, reason string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE watches SET status = 'paused', reason = $1 WHERE id = $2 AND status = 'active'", cut(reason, 80), id)
	return err
}

// watchEvent is what is told of a site with changes: addresses and kinds, no content.
type watchEvent struct {
	Watch   string       `json:"watch"`
	Round   string       `json:"round"`
	Count   int          `json:"count"`
	Changes []watch.Told `json:"changes"`
	Link    string       `json:"link"`
}

// mostTold is how many changes an event lists; the others are behind its link.
const mostTold = 20

// Tell queues the event watch.changed. See watch.Book.
func (s watchBook) Tell(ctx context.Context, c *watch.Claim, changes []watch.Told) error {
	if c.Watch.WebhookURL == "" {
		return nil
	}
	event := watchEvent{Watch: c.Watch.ID, Round: c.Round, Count: len(changes), Changes: changes[:min(len(changes), mostTold)], Link: s.public + "/watches/" + c.Watch.ID + "/changes"}
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		return s.queueEvent(ctx, tx, now, c.Watch.Account, c.Watch.ID, c.Watch.WebhookURL, webhook.WatchChanged, event)
	})
}

// Next is when there may be work. See watch.Book.
func (s watchBook) Next(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.ro.QueryRowContext(ctx, `SELECT min(at) FROM (
		SELECT min(next_round_at) AS at FROM watches WHERE status = 'active' AND round = ''
		UNION ALL SELECT min(v.not_before) FROM watch_visits v JOIN watches w ON w.id = v.watch WHERE v.done = 0 AND w.status = 'active') AS x`).Scan(&at)
	return timeOrZero(at), err
}

// WatchRounds are a watch's rounds, newest first; before is the last id of the page before.
func (s *Store) WatchRounds(ctx context.Context, account, id, before string, limit int) ([]watch.Round, error) {
	if _, err := s.Watch(ctx, account, id); err != nil {
		return nil, err
	}
	var list []watch.Round
	err := query(ctx, s.ro, `SELECT r.id, r.due_at, r.started_at, r.finished_at,
		(SELECT count(DISTINCT p.host) FROM watch_pages p JOIN watch_visits v ON v.watch = p.watch AND v.number = p.number WHERE v.round = r.id AND v.done = 1
			AND p.kind = 0 AND NOT EXISTS (SELECT 1 FROM watch_skips k WHERE k.round = r.id AND k.host = p.host)),
		(SELECT count(*) FROM watch_skips k WHERE k.round = r.id),
		COALESCE(sum(v.n_new), 0), COALESCE(sum(v.n_changed), 0), COALESCE(sum(v.n_back), 0), COALESCE(sum(v.n_same), 0),
		COALESCE(sum(v.n_gone), 0), COALESCE(sum(v.n_skipped), 0), COALESCE(sum(v.requests), 0)
		FROM watch_rounds r LEFT JOIN watch_visits v ON v.round = r.id
		WHERE r.watch = $1 AND ($2 = '' OR (r.begun_at, r.id) < (SELECT b.begun_at, b.id FROM watch_rounds b WHERE b.id = $2))
		GROUP BY r.id, r.due_at, r.started_at, r.finished_at, r.begun_at ORDER BY r.begun_at DESC, r.id DESC LIMIT $3`,
		[]any{id, before, limit}, func(row *sql.Rows) error {
			var r watch.Round
			var due int64
			var started, finished sql.NullInt64
			t := &r.Pages
			err := row.Scan(&r.ID, &due, &started, &finished, &r.SitesDone, &r.SitesSkipped, &t.New, &t.Changed, &t.Back, &t.Unchanged, &t.Gone, &t.Skipped, &t.Requests)
			r.DueAt, r.StartedAt, r.FinishedAt = timeOf(due), timeOrZero(started), timeOrZero(finished)
			r.Status = statusOf(started.Valid, finished.Valid)
			list = append(list, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the rounds: %w", err)
	}
	for i := range list {
		if err := s.skips(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func statusOf(started, finished bool) string {
	switch {
	case finished:
		return "completed"
	case started:
		return "running"
	}
	return "queued"
}

func (s *Store) skips(ctx context.Context, r *watch.Round) error {
	return query(ctx, s.ro, "SELECT host, reason FROM watch_skips WHERE round = $1 ORDER BY host LIMIT 1000", []any{r.ID}, func(row *sql.Rows) error {
		var k watch.Skip
		err := row.Scan(&k.Host, &k.Reason)
		r.Skips = append(r.Skips, k)
		return err
	})
}
