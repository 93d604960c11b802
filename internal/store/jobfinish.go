package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/reader"
)

// finishing is a batch of finished items under way.
type finishing struct {
	now   int64
	began time.Time // by this machine's clock, just before now
	items []*jobs.Finish
	mine  map[*jobs.Finish]bool // still this claim's own, of a job that still runs
	rows  map[string]*jobRow
	wake  map[string]bool // jobs with news
}

// jobRow is what a finish must know of a job, and what it changes of it.
type jobRow struct {
	account, key, webhook            string
	running                          bool // the job runs
	deadline, nextSeq, nextPlace     int64
	maxQueued                        int64
	delta                            jobDelta
	stop                             string
	maxPages, maxUnits, maxRequests  int64
	delivered, units, requests, open int64
	limits                           int64 // times that its limits left something out
	waits                            bool  // URLs of it wait
}

// jobDelta is what a batch adds to a job's row.
type jobDelta struct {
	counts                                                       map[string]int64
	total, running, units, requests, sitemaps, limits, undelived int64
	scopeHost                                                    string
}

// FinishItem writes what became of an item, together with others that ended at the same time. See
// jobs.Store.
func (s *Store) FinishItem(ctx context.Context, f jobs.Finish) error {
	for len(f.Found) > maxWeight {
		part := jobs.Finish{Item: f.Item, Fate: jobs.GoesOn, Found: f.Found[:maxWeight]}
		part.Item.Turn = nil
		if err := s.finishes.do(ctx, &part); err != nil {
			return fmt.Errorf("queue a part of what a URL found: %w", err)
		}
		f.Found = f.Found[maxWeight:]
	}
	if err := s.finishes.do(ctx, &f); err != nil {
		return fmt.Errorf("finish a URL: %w", err)
	}
	return nil
}

// flushFinishes writes a batch in one transaction. It locks hosts first, then jobs, then usage.
func (s *Store) flushFinishes(ctx context.Context, items []*jobs.Finish) error {
	var f *finishing
	err := s.tx(ctx, func(tx *sql.Tx) (err error) {
		f = &finishing{items: copies(items), mine: map[*jobs.Finish]bool{}, rows: map[string]*jobRow{}, wake: map[string]bool{}}
		slices.SortFunc(f.items, func(a, b *jobs.Finish) int { return strings.Compare(a.Item.Pace, b.Item.Pace) })
		return s.finish(ctx, tx, f)
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		if t, ok := item.Item.Turn.(*jobTurn); ok {
			t.take(true)
			s.endings.drop(t)
			s.queues.end(t.held)
		}
	}
	for _, item := range f.items {
		if f.mine[item] && item.Fate == jobs.Ended && item.Kept != nil {
			item.Kept()
		}
	}
	for id := range f.wake {
		s.resultNews.tell(id)
	}
	s.jobNews.tell()
	return nil
}

// copies are items that a transaction may change, and the next try finds as they were.
func copies(items []*jobs.Finish) []*jobs.Finish {
	list := make([]*jobs.Finish, len(items))
	for i, item := range items {
		c := *item
		c.Found = slices.Clip(c.Found)
		list[i] = &c
	}
	return list
}

func (s *Store) finish(ctx context.Context, tx *sql.Tx, f *finishing) (err error) {
	f.began = s.clock.Now()
	if f.now, err = s.now(ctx, tx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context, *sql.Tx, *finishing) error
	}{
		{"lock hosts", s.lockFinishHosts}, {"lock jobs", s.lockFinishJobs}, {"find claims", s.findClaims}, {"look for other names", s.resolveAliases},
		{"keep results", s.keepResults}, {"queue links", s.queueLinks}, {"end URLs", s.endItems}, {"bring pages back", s.bringBack},
		{"open hosts", s.openHosts}, {"settle", s.settleItems}, {"count", s.countJobs}, {"end jobs", s.endJobs},
	} {
		if err := step.do(ctx, tx, f); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// lockFinishHosts locks the hosts that are opened, and those that links lead to.
func (s *Store) lockFinishHosts(ctx context.Context, tx *sql.Tx, f *finishing) error {
	if !s.postgres {
		return nil
	}
	var keys []string
	for _, item := range f.items {
		keys = append(keys, item.Item.Pace)
		if t, ok := item.Item.Turn.(*jobTurn); ok {
			for _, h := range t.held {
				keys = append(keys, h.key.Name)
			}
		}
		for _, found := range item.Found {
			keys = append(keys, found.Pace)
		}
	}
	slices.Sort(keys)
	return s.lockHosts(ctx, tx, slices.Compact(keys))
}

func (s *Store) lockFinishJobs(ctx context.Context, tx *sql.Tx, f *finishing) error {
	var ids []string
	for _, item := range f.items {
		ids = append(ids, item.Item.Job)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var a args
	return query(ctx, tx, `SELECT id, account, api_key, webhook_url, status, deadline_at, next_seq, next_place, max_queued, max_pages, max_units,
		max_requests, delivered, units, requests FROM jobs WHERE id `+s.in(&a, ids)+` ORDER BY id`+s.forUpdate(), a, func(row *sql.Rows) error {
		var id, status string
		j := &jobRow{delta: jobDelta{counts: map[string]int64{}}}
		err := row.Scan(&id, &j.account, &j.key, &j.webhook, &status, &j.deadline, &j.nextSeq, &j.nextPlace, &j.maxQueued,
			&j.maxPages, &j.maxUnits, &j.maxRequests, &j.delivered, &j.units, &j.requests)
		j.running = status == jobs.Running
		f.rows[id] = j
		return err
	})
}

// findClaims says which items are still this process's own. What another claim has taken over since, or
// a job that ended, gets nothing written but the end of its hold.
func (s *Store) findClaims(ctx context.Context, tx *sql.Tx, f *finishing) error {
	var a args
	pairs := table(s, &a, f.items, func(i *jobs.Finish) []any { return []any{i.Item.Job, i.Item.Place} })
	type claim struct {
		job   string
		place int64
	}
	live := map[claim]int64{}
	// Not by the index of what is being read: that would be gone through once for each.
	err := query(ctx, tx, "WITH c (job, place) AS ("+pairs+`) SELECT c.job, c.place,
		(SELECT CASE WHEN f.state = 1 THEN f.claims END FROM frontier f WHERE f.job = c.job AND f.place = c.place) FROM c`, a, func(row *sql.Rows) error {
		var c claim
		var n sql.NullInt64
		err := row.Scan(&c.job, &c.place, &n)
		live[c] = n.Int64
		return err
	})
	for _, item := range f.items {
		j := f.rows[item.Item.Job]
		if j != nil && j.running && live[claim{item.Item.Job, item.Item.Place}] == item.Item.Claim {
			f.mine[item] = true
			f.wake[item.Item.Job] = true
			unhold(item, f.now)
		}
	}
	return err
}

// unhold lets an item wait again whose hold has lapsed: nothing is delivered that cannot be charged.
func unhold(item *jobs.Finish, now int64) {
	if item.Receipt.Outcome() != reader.Delivered || item.Hold.Expires.UnixMilli() > now {
		return
	}
	item.Fate, item.Counter, item.Receipt = jobs.Again, "", reader.Receipt{}
	item.Sealed, item.Found, item.Aliases, item.Own = nil, nil, nil, nil
}

// resolveAliases makes an item a duplicate whose page was delivered under another of its names, or waits
// under the name that it calls its own. The names of the others are kept, so that they are not read again.
func (s *Store) resolveAliases(ctx context.Context, tx *sql.Tx, f *finishing) error {
	for _, item := range f.items {
		if !f.mine[item] || item.Fate != jobs.Ended || !isPage(item) {
			continue
		}
		for _, form := range item.Aliases {
			if err := s.resolveAlias(ctx, tx, f, item, form); err != nil {
				return err
			}
		}
		if item.Own != nil && isPage(item) {
			if err := s.preferOwn(ctx, tx, f, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPage is true for an item that gave a page.
func isPage(item *jobs.Finish) bool {
	return item.Counter == string(reader.Delivered) || item.Counter == string(reader.Unchanged)
}

// named is a row that has a form.
type named struct {
	place, state int64
	pace         string
}

func findForm(ctx context.Context, tx *sql.Tx, job string, form jobs.Form) (n named, err error) {
	err = query(ctx, tx, "SELECT place, state, pace_key FROM frontier WHERE job = $1 AND form = $2", args{job, form[:]}, func(row *sql.Rows) error {
		return row.Scan(&n.place, &n.state, &n.pace)
	})
	return n, err
}

// resolveAlias is for the address that a page was found at in the end, by a redirect.
func (s *Store) resolveAlias(ctx context.Context, tx *sql.Tx, f *finishing, item *jobs.Finish, form jobs.Form) error {
	j := f.rows[item.Item.Job]
	n, err := findForm(ctx, tx, item.Item.Job, form)
	switch {
	case err != nil || n.place == item.Item.Place:
		return err
	case n.place == 0:
		j.nextPlace++
		return keepAlias(ctx, tx, f.now, item, j.nextPlace-1, form)
	case n.state == stateWaits:
		// It waits under the other name: this read is the page's.
		if _, err := tx.ExecContext(ctx, "UPDATE frontier SET state = $1 WHERE job = $2 AND place = $3", stateDelivered, item.Item.Job, n.place); err != nil {
			return err
		}
		j.delta.counts[jobs.Duplicate]++
		return s.lessPending(ctx, tx, item.Item.Job, map[string]int64{n.pace: 1})
	case n.state == stateRead, n.state == stateDelivered:
		duplicate(item)
	}
	return nil
}

// preferOwn is for the address that a page calls its own: the page is delivered under that one, once it
// was or will be read there. An own address that was read and gave nothing does not count; one that will be
// read and give nothing brings the page back.
func (s *Store) preferOwn(ctx context.Context, tx *sql.Tx, f *finishing, item *jobs.Finish) error {
	n, err := findForm(ctx, tx, item.Item.Job, item.Own.Form)
	switch {
	case err != nil || n.place == item.Item.Place || n.place != 0 && n.state == stateDone:
		return err
	case n.place == 0:
		item.Found = append(item.Found, *item.Own)
	}
	duplicate(item)
	if n.state == stateDelivered {
		return nil
	}
	j := f.rows[item.Item.Job]
	j.nextPlace++
	return keepAlias(ctx, tx, f.now, item, j.nextPlace-1, item.Own.Form.Called())
}

// keepAlias keeps another name of an item, which nothing is read for. Its depth is the item's place.
func keepAlias(ctx context.Context, tx *sql.Tx, now int64, item *jobs.Finish, place int64, form jobs.Form) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO frontier (job, place, kind, url, raw, twins, host, pace_key, form, depth, state, not_before)
		VALUES ($1, $2, $3, '', '', '', '', '', $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
		item.Item.Job, place, int64(jobs.Alias), form[:], item.Item.Place, stateDelivered, now)
	return err
}

// bringBack lets a page wait again that was given up for an address which it calls its own and which gave
// nothing. Of several that call the same address theirs, the first comes back: they say they are one page.
func (s *Store) bringBack(ctx context.Context, tx *sql.Tx, f *finishing) error {
	for _, item := range f.items {
		if !f.mine[item] || item.Form == (jobs.Form{}) || item.Fate != jobs.Ended || isPage(item) || item.Counter == jobs.Duplicate {
			continue
		}
		job, form, back := item.Item.Job, item.Form.Called(), map[jobHost]int64{}
		err := query(ctx, tx, `UPDATE frontier SET state = $1, not_before = $2 WHERE job = $3 AND state = $4
			AND place = (SELECT a.depth FROM frontier a WHERE a.job = $3 AND a.form = $5) RETURNING pace_key`,
			args{stateWaits, f.now, job, stateDone, form[:]}, func(row *sql.Rows) error {
				at := jobHost{job: job}
				err := row.Scan(&at.host)
				back[at]++
				return err
			})
		if err != nil {
			return err
		}
		if len(back) == 0 {
			continue
		}
		for _, n := range back {
			f.rows[job].delta.counts[jobs.Duplicate] -= n
		}
		if err := s.addPending(ctx, tx, f.now, f.now, back); err != nil {
			return err
		}
	}
	return nil
}

// KnowsPage says whether the job has, or will have, a page of that form. See jobs.Store.
func (s *Store) KnowsPage(ctx context.Context, job string, form jobs.Form) (known bool, err error) {
	err = s.ro.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM frontier WHERE job = $1 AND form = $2 AND state <> $3)", job, form[:], stateDone).Scan(&known)
	return known, err
}

// duplicate takes an item's page back: another item has it.
func duplicate(item *jobs.Finish) {
	item.Counter, item.Sealed, item.Receipt = jobs.Duplicate, nil, reader.Receipt{}
}

// settleItems ends the holds: charged is only what is this claim's own and delivered.
func (s *Store) settleItems(ctx context.Context, tx *sql.Tx, f *finishing) error {
	var ends []*ending
	of := map[*ending]*jobs.Finish{}
	for _, item := range f.items {
		if !item.Held {
			continue
		}
		e := endingOf(item, f.mine[item])
		of[e] = item
		ends = append(ends, e)
	}
	if len(ends) == 0 {
		return nil
	}
	if err := s.lockPayers(ctx, tx, f.now, ends, nil); err != nil {
		return err
	}
	if err := s.end(ctx, tx, f.now, ends); err != nil {
		return err
	}
	for _, e := range ends {
		if e.settles && !e.ended {
			f.rows[of[e].Item.Job].delta.units += int64(e.units)
		}
	}
	return nil
}

func endingOf(item *jobs.Finish, mine bool) *ending {
	switch {
	case mine && item.Receipt.Outcome() == reader.Delivered:
		return newSettlement(item.Hold, item.Receipt)
	case mine && item.Counter == string(reader.Unchanged), mine && item.Counter == jobs.Duplicate:
		return &ending{hold: item.Hold, outcome: reader.Unchanged, host: item.Item.Host}
	}
	e := newVoid(item.Hold, outcomeOf(item), item.Cause)
	e.host = item.Item.Host
	if !mine {
		e.outcome, e.reason = reader.Failed, "superseded"
	}
	return e
}

func outcomeOf(item *jobs.Finish) reader.Outcome {
	switch o := reader.Outcome(item.Counter); o {
	case reader.Blocked, reader.Refused:
		return o
	}
	return reader.Failed
}

// keepResults gives results their numbers.
func (s *Store) keepResults(ctx context.Context, tx *sql.Tx, f *finishing) error {
	type result struct {
		job, key string
		seq      int64
		jobs.Sealed
	}
	var all []result
	for _, item := range f.items {
		if !f.mine[item] {
			continue
		}
		j := f.rows[item.Item.Job]
		for _, sealed := range item.Sealed {
			all = append(all, result{item.Item.Job, j.key, j.nextSeq, sealed})
			j.nextSeq++
			j.delta.undelived += int64(len(sealed.Envelope))
		}
	}
	for part := range slices.Chunk(all, 100) {
		var a args
		values := table(s, &a, part, func(r result) []any {
			return []any{r.job, r.seq, r.Item, r.key, cut(r.Host, 255), number01(r.Failure), []byte(r.Envelope)}
		})
		if _, err := tx.ExecContext(ctx, "INSERT INTO results (job, seq, item, api_key, host, failure, envelope) "+values, a...); err != nil {
			return err
		}
	}
	return nil
}

func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// queueLinks puts what was found into the frontiers, as far as the jobs may queue.
func (s *Store) queueLinks(ctx context.Context, tx *sql.Tx, f *finishing) error {
	files, err := s.sitemapFiles(ctx, tx, f)
	if err != nil {
		return fmt.Errorf("count sitemaps: %w", err)
	}
	var list []queued
	for _, item := range f.items {
		if !f.mine[item] {
			continue
		}
		j := f.rows[item.Item.Job]
		for _, found := range item.Found {
			if found.Kind == jobs.Sitemap {
				files[item.Item.Job]++
			}
			if found.Kind == jobs.Sitemap && files[item.Item.Job] > mostSitemaps || j.nextPlace > j.maxQueued {
				j.delta.limits++
				continue
			}
			list = append(list, queued{item.Item.Job, j.nextPlace, found})
			j.nextPlace++
		}
	}
	total, err := s.queueFound(ctx, tx, f.now, f.now, list)
	for job, n := range total {
		f.rows[job].delta.total += n
	}
	return err
}

// mostSitemaps is how many sitemap files a job asks for.
const mostSitemaps = 50

// sitemapFiles counts the sitemap files of jobs that found more of them.
func (s *Store) sitemapFiles(ctx context.Context, tx *sql.Tx, f *finishing) (map[string]int, error) {
	files := map[string]int{}
	for _, item := range f.items {
		if f.mine[item] && slices.ContainsFunc(item.Found, func(found jobs.Found) bool { return found.Kind == jobs.Sitemap }) {
			files[item.Item.Job] = 0
		}
	}
	if len(files) == 0 {
		return files, nil
	}
	var a args
	err := query(ctx, tx, "SELECT job, COUNT(*) FROM frontier WHERE job "+s.in(&a, sortedNames(files))+" AND kind = "+a.place(int64(jobs.Sitemap))+
		" GROUP BY job", a, func(row *sql.Rows) error {
		var job string
		var n int
		err := row.Scan(&job, &n)
		files[job] = n
		return err
	})
	return files, err
}

// endItems ends items, or lets them wait again.
func (s *Store) endItems(ctx context.Context, tx *sql.Tx, f *finishing) error {
	type fate struct {
		job                       string
		place, state, failed, not int64
	}
	var fates []fate
	for _, item := range f.items {
		if !f.mine[item] || item.Fate == jobs.GoesOn {
			continue
		}
		j := f.rows[item.Item.Job]
		j.delta.running--
		j.delta.requests += int64(item.Requests)
		j.delta.limits += int64(item.Limits)
		if item.ScopeHost != "" {
			j.delta.scopeHost = item.ScopeHost
		}
		if item.Stop != "" {
			j.stop = item.Stop
		}
		if item.Fate == jobs.Again {
			fates = append(fates, fate{item.Item.Job, item.Item.Place, 0, int64(number01(item.Failed)), f.now + item.Retry.Milliseconds()})
			continue
		}
		state := int64(stateDone)
		if isPage(item) {
			state = stateDelivered
		}
		fates = append(fates, fate{item.Item.Job, item.Item.Place, state, 0, f.now})
		if counts(item.Item.Kind) {
			j.delta.counts[item.Counter]++
			j.delta.counts[jobs.Duplicate] += int64(len(item.Item.Twins))
		}
		if item.Item.Kind == jobs.Sitemap {
			j.delta.sitemaps++
		}
	}
	if len(fates) == 0 {
		return nil
	}
	var a args
	values := table(s, &a, fates, func(x fate) []any { return []any{x.job, x.place, x.state, x.failed, x.not} })
	_, err := tx.ExecContext(ctx, "WITH c (job, place, state, failed, at) AS ("+values+`) UPDATE frontier
		SET state = c.state, attempts = attempts + c.failed, not_before = c.at FROM c WHERE frontier.job = c.job AND frontier.place = c.place`, a...)
	if err != nil {
		return err
	}
	return s.markServed(ctx, tx, f)
}

// markServed says when a host served a job last, how many URLs of the job wait for it still, and how many of
// its answers in a row asked for a longer wait.
func (s *Store) markServed(ctx context.Context, tx *sql.Tx, f *finishing) error {
	type served struct{ ended, failing int64 }
	rows := map[jobHost]served{}
	var order []jobHost
	for _, item := range f.items {
		if !f.mine[item] || item.Fate == jobs.GoesOn {
			continue
		}
		key := jobHost{item.Item.Job, item.Item.Pace}
		row, known := rows[key]
		if !known {
			order = append(order, key)
		}
		row.ended += int64(number01(item.Fate == jobs.Ended))
		row.failing = int64(item.Failing)
		rows[key] = row
	}
	a := args{f.now}
	values := table(s, &a, order, func(key jobHost) []any { return []any{key.job, key.host, rows[key].ended, rows[key].failing} })
	_, err := tx.ExecContext(ctx, "WITH c (job, host, n, failing) AS ("+values+`) UPDATE job_hosts SET served_at = $1, failing = c.failing,
		pending = CASE WHEN job_hosts.pending > c.n THEN job_hosts.pending - c.n ELSE 0 END
		FROM c WHERE job_hosts.job = c.job AND job_hosts.pace_key = c.host`, a...)
	return err
}

func sortedNames[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// lessPending takes ended URLs off their hosts' counts.
func (s *Store) lessPending(ctx context.Context, tx *sql.Tx, job string, less map[string]int64) error {
	for part := range slices.Chunk(sortedNames(less), 200) {
		var a args
		with := "WITH c (name, n) AS (" + table(s, &a, part, func(key string) []any { return []any{key, less[key]} }) + ") "
		if _, err := tx.ExecContext(ctx, with+`UPDATE hosts SET delay_ms = CASE WHEN hosts.pending <= c.n THEN 0 ELSE delay_ms END,
			pending = CASE WHEN hosts.pending > c.n THEN hosts.pending - c.n ELSE 0 END FROM c WHERE hosts.host = c.name`, a...); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, with+`UPDATE job_hosts SET pending = CASE WHEN job_hosts.pending > c.n THEN job_hosts.pending - c.n ELSE 0 END
			FROM c WHERE job_hosts.pace_key = c.name AND job_hosts.job = `+a.place(job), a...); err != nil {
			return err
		}
	}
	return nil
}

// opening is how a host's row is opened, and how many URLs have ended that waited for it.
type opening struct{ lease, at, gap, delay, paused, ended int64 }

// openHosts ends the turns: a row opens a gap after the moment its request was written, not before the
// end of a pause. Jobs come again when the gap that they were asked for has passed. The longer gap that a
// host's URLs were asked for is forgotten with the last of them.
func (s *Store) openHosts(ctx context.Context, tx *sql.Tx, f *finishing) error {
	open := map[string]opening{}
	for _, item := range f.items {
		if t, ok := item.Item.Turn.(*jobTurn); ok {
			s.addOpenings(open, f, item, t)
		}
		if f.mine[item] && item.Fate == jobs.Ended {
			o := open[item.Item.Pace]
			o.ended++
			open[item.Item.Pace] = o
		}
	}
	if len(open) == 0 {
		return nil
	}
	var a args
	now := "CAST(" + a.place(f.now) + " AS BIGINT)"
	values := table(s, &a, sortedNames(open), func(host string) []any {
		o := open[host]
		return []any{host, o.lease, o.at, o.gap, o.delay, o.paused, o.ended}
	})
	const kept = "CASE WHEN c.n > 0 AND pending <= c.n THEN 0 ELSE delay_ms END"
	_, err := tx.ExecContext(ctx, `WITH c (host, lease, at, gap, delay, paused, n) AS (`+values+`) UPDATE hosts SET
		pending = CASE WHEN pending > c.n THEN pending - c.n ELSE 0 END,
		leased = CASE WHEN hosts.lease = c.lease THEN 0 ELSE leased END,
		written_at = CASE WHEN c.at > written_at THEN c.at ELSE written_at END,
		ready_at = CASE WHEN hosts.lease <> c.lease OR c.lease = 0 THEN ready_at WHEN c.at = 0 THEN `+now+` ELSE c.at + c.gap END,
		delay_ms = CASE WHEN c.delay > `+kept+` THEN c.delay ELSE `+kept+` END,
		paused_until = CASE WHEN c.paused > paused_until THEN c.paused ELSE paused_until END,
		jobs_at = CASE WHEN c.lease = 0 THEN jobs_at WHEN hosts.lease <> c.lease AND leased = 0 AND ready_at > c.at + c.gap THEN ready_at WHEN c.at = 0 THEN `+now+` WHEN c.delay > `+kept+` THEN c.at + c.delay
			WHEN c.gap > `+kept+` THEN c.at + c.gap ELSE c.at + `+kept+` END
		FROM c WHERE hosts.host = c.host`, a...)
	return err
}

// addOpenings adds what an item's turn opens. Of two turns at one host the later lease counts.
func (s *Store) addOpenings(open map[string]opening, f *finishing, item *jobs.Finish, t *jobTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.held {
		o := opening{lease: h.lease, gap: h.key.Gap.Milliseconds()}
		if !t.written.IsZero() {
			o.at = f.now - s.agoAt(f.began, t.written)
		}
		if h.key.Name == item.Item.Pace {
			o.delay = t.need.Milliseconds()
			if item.Pause > 0 {
				o.paused = f.now + item.Pause.Milliseconds()
			}
		}
		before := open[h.key.Name]
		o.delay, o.paused, o.at = max(o.delay, before.delay), max(o.paused, before.paused), max(o.at, before.at)
		o.lease = max(o.lease, before.lease)
		open[h.key.Name] = o
	}
}

// countJobs writes the jobs' new counts.
func (s *Store) countJobs(ctx context.Context, tx *sql.Tx, f *finishing) error {
	var running []string
	for _, id := range sortedNames(f.rows) {
		if f.rows[id].running {
			running = append(running, id)
		}
	}
	if len(running) == 0 {
		return nil
	}
	var a args
	values := table(s, &a, running, func(id string) []any {
		j := f.rows[id]
		d := j.delta
		return []any{id, d.counts[string(reader.Delivered)], d.counts[string(reader.Blocked)], d.counts[string(reader.Refused)],
			d.counts[string(reader.Failed)], d.counts[string(reader.Unchanged)], d.counts[jobs.Duplicate], d.counts[jobs.Skipped],
			d.total, d.running, d.units, d.requests, d.sitemaps, d.limits, d.undelived, j.nextSeq, j.nextPlace, d.scopeHost}
	})
	return query(ctx, tx, `WITH c (id, delivered, blocked, refused, failed, unchanged, duplicate, skipped, total, running, units, requests, sitemaps, limits,
		undelivered, seq, place, scope) AS (`+values+`) UPDATE jobs SET delivered = jobs.delivered + c.delivered,
		blocked = jobs.blocked + c.blocked, refused = jobs.refused + c.refused, failed = jobs.failed + c.failed,
		unchanged = jobs.unchanged + c.unchanged, duplicate = jobs.duplicate + c.duplicate, skipped = jobs.skipped + c.skipped, total = jobs.total + c.total,
		running = CASE WHEN jobs.running + c.running > 0 THEN jobs.running + c.running ELSE 0 END,
		units = jobs.units + c.units, requests = jobs.requests + c.requests, sitemaps = jobs.sitemaps + c.sitemaps,
		limits_hit = jobs.limits_hit + c.limits, undelivered = jobs.undelivered + c.undelivered, next_seq = c.seq,
		next_place = CASE WHEN jobs.next_place < c.place THEN c.place ELSE jobs.next_place END,
		scope_host = CASE WHEN c.scope = '' THEN jobs.scope_host ELSE c.scope END FROM c WHERE jobs.id = c.id
		RETURNING jobs.id, jobs.running, jobs.delivered, jobs.units, jobs.requests, jobs.limits_hit,
		CASE WHEN EXISTS (SELECT 1 FROM frontier f WHERE f.job = jobs.id AND f.state = 0) THEN 1 ELSE 0 END`, a, func(row *sql.Rows) error {
		var id string
		var open, delivered, units, requests, limits, waits int64
		err := row.Scan(&id, &open, &delivered, &units, &requests, &limits, &waits)
		j := f.rows[id]
		j.open, j.delivered, j.units, j.requests, j.limits, j.waits = open, delivered, units, requests, limits, waits == 1
		return err
	})
}

// endJobs ends jobs that have nothing left to read, or may read nothing more.
func (s *Store) endJobs(ctx context.Context, tx *sql.Tx, f *finishing) error {
	for _, id := range sortedNames(f.rows) {
		j := f.rows[id]
		if !j.running {
			continue
		}
		if status, reason, over := j.isOver(); over {
			if err := s.endJob(ctx, tx, f.now, id, status, reason); err != nil {
				return err
			}
		}
	}
	return s.tellPages(ctx, tx, f)
}

// isOver says whether the job has ended, and how.
func (j *jobRow) isOver() (status, reason string, over bool) {
	if j.stop != "" {
		return jobs.Failed, j.stop, true
	}
	if j.open > 0 {
		return "", "", false
	}
	switch {
	case !j.waits && j.limits > 0:
		return jobs.Completed, jobs.ReasonLinkLimits, true
	case !j.waits:
		return jobs.Completed, "", true
	case j.delivered >= j.maxPages:
		return jobs.Completed, jobs.ReasonMaxPages, true
	case j.units >= j.maxUnits:
		return jobs.Completed, jobs.ReasonMaxUnits, true
	case j.requests >= j.maxRequests:
		return jobs.Completed, jobs.ReasonMaxRequests, true
	}
	return "", "", false
}
