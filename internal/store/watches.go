package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
)

const watchColumns = `id, account, api_key, name, status, reason, options, cron, zone, max_pages, max_units, units, webhook_url, request,
	(SELECT count(*) FROM watch_sites s WHERE s.watch = watches.id), next_round_at, created_at`

func scanWatch(row interface{ Scan(...any) error }) (watch.Watch, error) {
	var w watch.Watch
	var options string
	var next sql.NullInt64
	var created int64
	err := row.Scan(&w.ID, &w.Account, &w.Key, &w.Name, &w.Status, &w.Reason, &options, &w.Schedule.Cron, &w.Schedule.TimeZone,
		&w.MaxPages, &w.MaxUnits, &w.Units, &w.WebhookURL, &w.Request, &w.Sites, &next, &created)
	if err != nil {
		return w, err
	}
	w.NextRound, w.CreatedAt = timeOrZero(next), timeOf(created)
	return w, json.Unmarshal([]byte(options), &w.Options)
}

// siteRules are what a watch's site is read by, as they are stored.
type siteRules struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Topics  []string `json:"topics,omitempty"`
}

func tooManyWatches(most billing.Limit) error {
	return fault.New(fault.RateLimited, fmt.Sprintf("The plan has room for %s watches. Delete one, or ask for a larger plan.", most))
}

// CreateWatch keeps a new watch with its sites; most is how many its account may have. Sites have been
// checked. The store gives the id and the time.
func (s *Store) CreateWatch(ctx context.Context, w watch.Watch, sites []watch.Site, most billing.Limit) (watch.Watch, error) {
	options, err := json.Marshal(w.Options)
	if err != nil {
		return w, fmt.Errorf("encode the options: %w", err)
	}
	w.ID, w.Status, w.Sites = billing.NewID("wat"), watch.Active, len(sites)
	err = s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		var there int64
		// The account's row is locked, so that two requests do not both find the last place free.
		if err := tx.QueryRowContext(ctx, "SELECT created_at FROM accounts WHERE id = $1"+s.forUpdate(), w.Account).Scan(&there); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM watches WHERE account = $1", w.Account).Scan(&there); err != nil {
			return err
		}
		if there >= int64(most) {
			return tooManyWatches(most)
		}
		w.CreatedAt = timeOf(now)
		_, err = tx.ExecContext(ctx, `INSERT INTO watches (id, account, api_key, name, status, reason, options, cron, zone, max_pages, max_units,
			units, webhook_url, request, next_seq, next_round_at, round, created_at)
			VALUES ($1, $2, $3, $4, $5, '', $6, $7, $8, $9, $10, 0, $11, $12, 1, $13, '', $14)`,
			w.ID, w.Account, w.Key, cut(w.Name, 200), w.Status, string(options), w.Schedule.Cron, w.Schedule.TimeZone, w.MaxPages, w.MaxUnits,
			w.WebhookURL, w.Request, millis(w.NextRound), now)
		if err != nil {
			return err
		}
		return insertSites(ctx, tx, w.ID, sites)
	})
	if err != nil {
		return w, fmt.Errorf("make the watch: %w", err)
	}
	return w, nil
}

func insertSites(ctx context.Context, tx *sql.Tx, id string, sites []watch.Site) error {
	for number, site := range sites {
		if starts := watch.Starts(site); len(starts) > 0 {
			if err := insertSite(ctx, tx, id, number, site, starts); err != nil {
				return err
			}
		}
	}
	return nil
}

func insertSite(ctx context.Context, tx *sql.Tx, id string, number int, site watch.Site, starts []watch.Page) error {
	rules, err := json.Marshal(siteRules{site.Include, site.Exclude, site.Topics})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO watch_sites (watch, number, host, name, sitemap, rules) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, number, starts[0].Host, cut(site.Name, 200), bit(site.Sitemap), string(rules))
	if err != nil {
		return err
	}
	for _, p := range starts {
		if err := insertPage(ctx, tx, id, number, p); err != nil {
			return err
		}
	}
	return nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func insertPage(ctx context.Context, tx *sql.Tx, id string, site int, p watch.Page) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO watch_pages (watch, number, hash, url, host, kind, fed, wanted, hint, etag, last_modified, body, state, checked_at, round)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', '', $10, $11, 0, '')
		ON CONFLICT (watch, number, hash) DO UPDATE SET fed = excluded.fed, wanted = excluded.wanted, hint = excluded.hint`,
		id, site, p.Hash, p.URL, p.Host, p.Kind, bit(p.Fed), bit(p.Wanted), p.Hint, orEmpty(p.Body), orEmpty(p.State))
	return err
}

// Watch is a watch of the account.
func (s *Store) Watch(ctx context.Context, account, id string) (watch.Watch, error) {
	w, err := scanWatch(s.ro.QueryRowContext(ctx, "SELECT "+watchColumns+" FROM watches WHERE id = $1 AND account = $2", id, account))
	if errors.Is(err, sql.ErrNoRows) {
		return w, noWatch()
	}
	if err != nil {
		return w, fmt.Errorf("read the watch: %w", err)
	}
	return w, nil
}

func noWatch() error {
	return fault.New(fault.NotFound, "There is no such watch. GET /watches lists those of the account.")
}

// Watches is a page of an account's watches, newest first; after is the last id of the page before.
func (s *Store) Watches(ctx context.Context, account, after string, limit int) ([]watch.Watch, error) {
	var list []watch.Watch
	err := query(ctx, s.ro, "SELECT "+watchColumns+` FROM watches WHERE account = $1 AND ($2 = '' OR (created_at, id) <
		(SELECT w.created_at, w.id FROM watches w WHERE w.id = $2 AND w.account = $1)) ORDER BY created_at DESC, id DESC LIMIT $3`,
		[]any{account, after, limit}, func(row *sql.Rows) error {
			w, err := scanWatch(row)
			list = append(list, w)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list the watches: %w", err)
	}
	return list, nil
}

// WatchSites are the sites of a watch.
func (s *Store) WatchSites(ctx context.Context, id string) ([]watch.Site, error) {
	var sites []watch.Site
	at := map[int]int{}
	err := query(ctx, s.ro, "SELECT number, name, sitemap, rules FROM watch_sites WHERE watch = $1 ORDER BY number", []any{id}, func(row *sql.Rows) error {
		site, number, err := scanSite(row)
		at[number] = len(sites)
		sites = append(sites, site)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the sites: %w", err)
	}
	err = query(ctx, s.ro, "SELECT number, url FROM watch_pages WHERE watch = $1 AND kind = 0 ORDER BY number, url", []any{id}, func(row *sql.Rows) error {
		var number int
		var url string
		err := row.Scan(&number, &url)
		if i, ok := at[number]; ok {
			sites[i].StartURLs = append(sites[i].StartURLs, url)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the start pages: %w", err)
	}
	return sites, nil
}

func scanSite(row interface{ Scan(...any) error }) (site watch.Site, number int, err error) {
	var rules string
	var sitemap int64
	if err := row.Scan(&number, &site.Name, &sitemap, &rules); err != nil {
		return site, 0, err
	}
	var r siteRules
	err = json.Unmarshal([]byte(rules), &r)
	site.Sitemap, site.Include, site.Exclude, site.Topics = sitemap == 1, r.Include, r.Exclude, r.Topics
	return site, number, err
}

// ChangeWatch changes a watch; key is the API key it is changed with: what is found from then on is sealed
// to it. plan gives the next round of the watch as changed.
func (s *Store) ChangeWatch(ctx context.Context, account, id, key string, e watch.Edit, next func(watch.Watch) time.Time) (watch.Watch, error) {
	var w watch.Watch
	err := s.tx(ctx, func(tx *sql.Tx) error {
		var err error
		w, err = scanWatch(tx.QueryRowContext(ctx, "SELECT "+watchColumns+" FROM watches WHERE id = $1 AND account = $2"+s.forUpdate(), id, account))
		if errors.Is(err, sql.ErrNoRows) {
			return noWatch()
		}
		if err != nil {
			return err
		}
		if err := e.Apply(&w); err != nil {
			return err
		}
		w.Key, w.NextRound = key, next(w)
		_, err = tx.ExecContext(ctx, `UPDATE watches SET name = $1, status = $2, reason = $3, cron = $4, zone = $5, max_pages = $6, max_units = $7,
			webhook_url = $8, next_round_at = $9, api_key = $10 WHERE id = $11`, cut(w.Name, 200), w.Status, w.Reason, w.Schedule.Cron, w.Schedule.TimeZone,
			w.MaxPages, w.MaxUnits, w.WebhookURL, millis(w.NextRound), key, id)
		if err != nil || e.Sites == nil {
			return err
		}
		w.Sites = len(e.Sites)
		return replaceSites(ctx, tx, id, e.Sites)
	})
	if err != nil {
		return w, fmt.Errorf("change the watch: %w", err)
	}
	return w, nil
}

// replaceSites puts another list of sites in the place of a watch's. What is known of a site stays where its
// first start page is that of a former one.
func replaceSites(ctx context.Context, tx *sql.Tx, id string, sites []watch.Site) error {
	numbers, next := map[string]int{}, 0
	err := query(ctx, tx, "SELECT number, hash FROM watch_pages WHERE watch = $1 AND kind = 0", []any{id}, func(row *sql.Rows) error {
		var number int
		var hash string
		err := row.Scan(&number, &hash)
		numbers[hash] = number
		next = max(next, number+1)
		return err
	})
	if err != nil {
		return err
	}
	kept := map[int]bool{}
	for _, site := range sites {
		starts := watch.Starts(site)
		if len(starts) == 0 {
			continue
		}
		number, known := numbers[starts[0].Hash]
		if !known || kept[number] {
			number = next
			next++
		}
		kept[number] = true
		if err := putSite(ctx, tx, id, number, site, starts); err != nil {
			return err
		}
	}
	return dropSites(ctx, tx, id, numbers, kept)
}

// putSite writes a site and its start pages; former start pages are no longer visited as such.
func putSite(ctx context.Context, tx *sql.Tx, id string, number int, site watch.Site, starts []watch.Page) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM watch_sites WHERE watch = $1 AND number = $2", id, number); err != nil {
		return err
	}
	if err := insertSite(ctx, tx, id, number, site, starts); err != nil {
		return err
	}
	a := args{id, number}
	hashes := make([]any, len(starts))
	for i, p := range starts {
		hashes[i] = p.Hash
	}
	list := a.list(hashes...)
	// A feed or sitemap that becomes a start page has no body, and no state of a page either.
	if _, err := tx.ExecContext(ctx, "UPDATE watch_pages SET state = CASE WHEN kind > 2 THEN body ELSE state END, kind = 0 WHERE watch = $1 AND number = $2 AND hash IN ("+list+")", a...); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM watch_pages WHERE watch = $1 AND number = $2 AND kind = 0 AND hash NOT IN ("+list+")", a...)
	return err
}

func dropSites(ctx context.Context, tx *sql.Tx, id string, numbers map[string]int, kept map[int]bool) error {
	for _, number := range numbers {
		if kept[number] {
			continue
		}
		for _, table := range []string{"watch_pages", "watch_sites"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE watch = $1 AND number = $2", id, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchTables hold what belongs to a watch, by the column that names it.
var watchTables = [][2]string{{"watch_changes", "watch"}, {"watch_skips", "watch"}, {"watch_visits", "watch"}, {"watch_rounds", "watch"},
	{"watch_pages", "watch"}, {"watch_sites", "watch"}, {"watches", "id"}}

// DeleteWatch erases a watch with all it knows.
func (s *Store) DeleteWatch(ctx context.Context, account, id string) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		n, err := affected(ctx, tx, "UPDATE watches SET status = 'paused' WHERE id = $1 AND account = $2", id, account)
		if err != nil {
			return err
		}
		if n == 0 {
			return noWatch()
		}
		for _, t := range watchTables {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+t[0]+" WHERE "+t[1]+" = $1", id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete the watch: %w", err)
	}
	return s.wipe(ctx)
}

// wipe takes what was deleted out of SQLite's write-ahead log. PostgreSQL's vacuum does so by itself.
func (s *Store) wipe(ctx context.Context) error {
	if s.postgres {
		return nil
	}
	_, err := s.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// eraseWatches erases the watches of an account that is closed.
func eraseWatches(ctx context.Context, tx *sql.Tx, account string) error {
	for _, t := range watchTables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+t[0]+" WHERE "+t[1]+" IN (SELECT id FROM watches WHERE account = $1)", account); err != nil {
			return err
		}
	}
	return nil
}

// Changes are changes of a watch after a number, which acknowledges those up to it: they are erased. A
// negative number acknowledges nothing. An answer has at most limit changes and about bytes bytes.
func (s *Store) Changes(ctx context.Context, account, id string, after int64, limit, bytes int) ([]watch.Stored, error) {
	if _, err := s.Watch(ctx, account, id); err != nil {
		return nil, err
	}
	if after > 0 {
		n, err := affected(ctx, s.db, "DELETE FROM watch_changes WHERE watch = $1 AND seq <= $2", id, after)
		if err == nil && n > 0 {
			err = s.wipe(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("erase what was acknowledged: %w", err)
		}
	}
	var list []watch.Stored
	size := 0
	err := query(ctx, s.ro, `SELECT seq, item, api_key, envelope FROM watch_changes WHERE watch = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
		[]any{id, max(after, 0), limit}, func(row *sql.Rows) error {
			if size > bytes {
				return nil
			}
			var c watch.Stored
			var envelope []byte
			err := row.Scan(&c.Seq, &c.Item, &c.Key, &envelope)
			c.Envelope = envelope
			if size += len(envelope); len(list) == 0 || size <= bytes {
				list = append(list, c)
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the changes: %w", err)
	}
	return list, nil
}

// SweepWatches erases changes older than age and rounds older than that.
func (s *Store) SweepWatches(ctx context.Context, age time.Duration) (int64, error) {
	limit := s.nowSQL() + fmt.Sprintf(" - %d", age.Milliseconds())
	var total int64
	for _, text := range []string{
		`DELETE FROM watch_changes WHERE detected_at < ` + limit,
		`DELETE FROM watch_visits WHERE round IN (SELECT id FROM watch_rounds WHERE finished_at < ` + limit + `)`,
		`DELETE FROM watch_skips WHERE round IN (SELECT id FROM watch_rounds WHERE finished_at < ` + limit + `)`,
		`DELETE FROM watch_rounds WHERE finished_at < ` + limit,
	} {
		n, err := affected(ctx, s.db, text)
		if err != nil {
			return total, fmt.Errorf("sweep the watches: %w", err)
		}
		total += n
	}
	return total, nil
}
