package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader/gate"
)

var _ gate.Turns = (*Store)(nil)

// claimTime is how long one try to lease rows may take.
const claimTime = 10 * time.Second

// endTime is how long giving a turn back may take. Where it fails, the lease's end gives it back.
const endTime = 5 * time.Second

// recheck is how often the first in line asks again whether another replica has given a turn back
// before its lease's end.
const recheck = 40 * time.Millisecond

// errNotReady ends a transaction that found one of its keys taken.
var errNotReady = errors.New("not ready")

// Take waits for a turn at all keys. The database's row of a key is leased for everyone; in front of
// it this process keeps a queue for each key, so that only the first in line asks the database.
func (s *Store) Take(ctx context.Context, keys []gate.Key, until time.Time) (gate.Turn, error) {
	if len(keys) == 0 {
		return nil, errors.New("take a turn: no keys")
	}
	if err := s.releaseEnded(ctx, keys); err != nil {
		return nil, fmt.Errorf("end a job's turn: %w", err)
	}
	w := &wait{s: s, until: until, keys: inLine(keys)}
	defer w.leave(0)
	for {
		if err := w.enter(ctx); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := w.claim(ctx)
		if t != nil || err != nil {
			return t, err
		}
	}
}

// inLine is keys in the order they are waited for: the site's own first, a total over sites last, so
// that who waits for a slow site is not in line for the total.
func inLine(keys []gate.Key) []gate.Key {
	sorted := slices.Clone(keys)
	slices.SortStableFunc(sorted, func(a, b gate.Key) int {
		if x, y := isTotal(a.Name), isTotal(b.Name); x != y {
			if y {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return slices.CompactFunc(sorted, func(a, b gate.Key) bool { return a.Name == b.Name })
}

func isTotal(name string) bool { return strings.HasPrefix(name, "profile:") }

// wait is one caller's way to a turn.
type wait struct {
	s      *Store
	until  time.Time
	keys   []gate.Key
	places []*place // in the queues entered so far
}

// enter waits for the head of each key's queue in this process, and, but for the last key, until its
// row is ready. Nobody stands in the line of a total for a site that is not ready.
func (w *wait) enter(ctx context.Context) error {
	for len(w.places) < len(w.keys) {
		if n := len(w.places); n > 0 {
			if err := w.awaitRow(ctx, w.keys[n-1]); err != nil {
				return err
			}
		}
		if err := w.queue(ctx, w.keys[len(w.places)]); err != nil {
			return err
		}
	}
	return nil
}

// queue joins key's line and waits for its head. It says at once that the line is too long.
func (w *wait) queue(ctx context.Context, key gate.Key) error {
	p := w.s.queues.join(key.Name)
	w.places = append(w.places, p)
	for {
		ahead := w.s.queues.ahead(p)
		if ahead == 0 {
			return nil
		}
		least := time.Duration(ahead) * key.Gap
		if w.s.clock.Now().Add(least).After(w.until) {
			return busy(least + key.Gap)
		}
		if err := w.pause(ctx, p.moves, w.until.Sub(w.s.clock.Now()), least+key.Gap); err != nil {
			return err
		}
	}
}

// pause waits for signal, for d, or for the end of patience: the fault then says to try after later.
func (w *wait) pause(ctx context.Context, signal <-chan struct{}, d, later time.Duration) error {
	patience := w.until.Sub(w.s.clock.Now())
	if patience <= 0 {
		return busy(later)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-signal:
	case <-w.s.clock.After(min(d, patience)):
	}
	return nil
}

func busy(after time.Duration) error {
	return &fault.Error{Kind: fault.HostBusy, RetryAfter: max(after, time.Second).Round(time.Millisecond),
		Detail: "The site's pace leaves no room for this request within its time. Try again after the time given in Retry-After."}
}

// readiness is what a key's row says about the next start.
type readiness struct {
	wait   time.Duration // 0 is now
	leased bool          // another request is in flight: it may end before wait is over
	firm   time.Duration // no start before, whatever ends
}

// awaitRow waits until key's row is ready, without claiming it.
func (w *wait) awaitRow(ctx context.Context, key gate.Key) error {
	for {
		ended := w.s.queues.ended(key.Name)
		r, err := w.s.readiness(ctx, w.s.ro, key)
		if err != nil {
			return fmt.Errorf("read a host's row: %w", err)
		}
		if r.wait <= 0 {
			return nil
		}
		if err := w.sit(ctx, key, r, ended); err != nil {
			return err
		}
	}
}

// sit waits as long as r makes sense of, or says at once that patience will end before. Where the
// turn in flight is this process's own, its end is told; another replica's is asked for.
func (w *wait) sit(ctx context.Context, key gate.Key, r readiness, ended <-chan struct{}) error {
	if w.s.clock.Now().Add(r.firm).After(w.until) {
		return busy(r.firm)
	}
	d, later := r.wait, r.wait
	if r.leased {
		later = max(r.firm, key.Gap)
		if !w.s.queues.active(key.Name) {
			d = max(r.firm, min(r.wait, recheck))
		}
	}
	return w.pause(ctx, ended, d, later)
}

// claim leases all rows in one transaction. It waits for the last key's row; where one before it is
// not ready any more, it leaves the lines behind that one and answers nil.
func (w *wait) claim(ctx context.Context) (gate.Turn, error) {
	last := len(w.keys) - 1
	for {
		ended := w.s.queues.ended(w.keys[last].Name)
		t, missed, r, err := w.s.tryClaim(ctx, w.keys)
		switch {
		case err != nil:
			return nil, fmt.Errorf("claim a turn: %w", err)
		case t != nil && ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), t.End(ctx, time.Time{}))
		case t != nil:
			return t, nil
		case missed != w.keys[last]:
			w.leave(slices.Index(w.keys, missed) + 1)
			return nil, nil
		}
		if err := w.sit(ctx, missed, r, ended); err != nil {
			return nil, err
		}
	}
}

// leave gives the places from the nth on to the next in line.
func (w *wait) leave(n int) {
	for _, p := range w.places[n:] {
		w.s.queues.leave(p)
	}
	w.places = w.places[:n]
}

// tryClaim leases all keys' rows, or none: then it answers the key that is not ready and for how long.
// It is not broken off with ctx: what was leased then would stay so until the lease's end.
func (s *Store) tryClaim(ctx context.Context, keys []gate.Key) (*turn, gate.Key, readiness, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	t := &turn{s: s, deadline: s.clock.Now().Add(s.lease)}
	var missed gate.Key
	var r readiness
	err := s.atOnce(ctx, len(keys), func(q querier) error {
		t.held = t.held[:0]
		for _, key := range byName(keys) {
			lease, err := s.claimRow(ctx, q, key)
			if errors.Is(err, sql.ErrNoRows) {
				missed = key
				if r, err = s.readiness(ctx, q, key); err == nil {
					err = errNotReady
				}
			}
			if err != nil {
				return err
			}
			t.held = append(t.held, heldKey{key, lease})
		}
		return nil
	})
	if errors.Is(err, errNotReady) {
		return nil, missed, r, nil
	}
	if err != nil {
		return nil, missed, r, err
	}
	s.queues.begin(t.held)
	return t, missed, r, nil
}

// byName is the one order in which every replica locks rows.
func byName(keys []gate.Key) []gate.Key {
	return slices.SortedFunc(slices.Values(keys), func(a, b gate.Key) int { return strings.Compare(a.Name, b.Name) })
}

// atOnce runs do in a transaction; a single row needs none.
func (s *Store) atOnce(ctx context.Context, rows int, do func(querier) error) error {
	if rows == 1 {
		return s.alone(ctx, do)
	}
	return s.tx(ctx, func(tx *sql.Tx) error { return do(tx) })
}

// leaseAfter is the fencing number of the turn that key's request follows; 0 when it follows none. While
// the row has that number, nobody else had a turn since.
func leaseAfter(key gate.Key) int64 {
	var held []heldKey
	switch t := key.After.(type) {
	case *turn:
		held = t.held
	case *jobTurn:
		held = t.held
	}
	for _, h := range held {
		if h.key.Name == key.Name {
			return h.lease
		}
	}
	return 0
}

// claimRow leases a row when it is ready. The gap is kept to the write of the request before,
// whatever gap its maker kept; a request that follows one of the same read goes free of it. It is sql.ErrNoRows when the row is not ready. A gap longer than the
// lease counts as the lease: whoever dies may have written its request.
func (s *Store) claimRow(ctx context.Context, q querier, key gate.Key) (lease int64, err error) {
	now := s.nowSQL()
	ready := "(hosts.ready_at <= " + now + " AND hosts.written_at + $3 <= " + now + " OR hosts.lease = $4 AND hosts.leased = 0)"
	err = q.QueryRowContext(ctx, `INSERT INTO hosts (host, ready_at, leased, lease, written_at, paused_until, used_at)
		VALUES ($1, `+now+` + $2, 1, 1, 0, 0, `+now+`)
		ON CONFLICT (host) DO UPDATE SET ready_at = `+now+` + $2, leased = 1, lease = hosts.lease + 1, used_at = `+now+`
		WHERE `+ready+` AND hosts.paused_until <= `+now+` RETURNING lease`,
		key.Name, max(s.lease.Milliseconds(), key.Gap.Milliseconds()), key.Gap.Milliseconds(), leaseAfter(key)).Scan(&lease)
	return lease, err
}

// readiness says how long a key's row keeps a request from starting.
func (s *Store) readiness(ctx context.Context, q querier, key gate.Key) (readiness, error) {
	var ready, written, paused, now, lease int64
	var leased int
	err := q.QueryRowContext(ctx, "SELECT ready_at, leased, lease, written_at, paused_until, "+s.nowSQL()+" FROM hosts WHERE host = $1",
		key.Name).Scan(&ready, &leased, &lease, &written, &paused, &now)
	if errors.Is(err, sql.ErrNoRows) {
		return readiness{}, nil
	}
	if err != nil {
		return readiness{}, err
	}
	inFlight := leased == 1 && ready > now
	own := leased == 0 && lease == leaseAfter(key)
	firm := paused
	if !own {
		firm = max(firm, written+key.Gap.Milliseconds())
	}
	start := max(firm, ready)
	if own {
		start = firm
	}
	if !inFlight {
		firm = start
	}
	return readiness{wait: span(start - now), leased: inFlight, firm: span(firm - now)}, nil
}

// span is a stored span of time.
func span(ms int64) time.Duration { return time.Duration(max(ms, 0)) * time.Millisecond }

// Pause closes a key until then, for everyone. It never shortens a pause.
func (s *Store) Pause(ctx context.Context, key string, until time.Time) error {
	left := until.Sub(s.clock.Now()).Milliseconds()
	if left <= 0 {
		return nil
	}
	now := s.nowSQL()
	err := s.exec(ctx, `INSERT INTO hosts (host, ready_at, leased, lease, written_at, paused_until, used_at)
		VALUES ($1, `+now+` + $2, 0, 0, 0, `+now+` + $2, `+now+`)
		ON CONFLICT (host) DO UPDATE SET used_at = `+now+`,
		ready_at = CASE WHEN hosts.ready_at < `+now+` + $2 THEN `+now+` + $2 ELSE hosts.ready_at END,
		paused_until = CASE WHEN hosts.paused_until < `+now+` + $2 THEN `+now+` + $2 ELSE hosts.paused_until END`, key, left)
	if err != nil {
		return fmt.Errorf("pause a host: %w", err)
	}
	return nil
}

// heldKey is a leased row with its fencing number.
type heldKey struct {
	key   gate.Key
	lease int64
}

// turn is a lease of one or more rows.
type turn struct {
	s        *Store
	held     []heldKey
	deadline time.Time
	over     atomic.Bool
}

// Deadline is when the lease ends by itself, by this machine's clock, counted from before it began.
func (t *turn) Deadline() time.Time { return t.deadline }

// End gives the turn back; a row that another holder has leased since is left alone. The key opens a
// gap after written, which is when the site had the request, by the database's clock: how long ago that was is
// measured here.
func (t *turn) End(ctx context.Context, written time.Time) error {
	if t.over.Swap(true) {
		return errors.New("end a turn: it has ended already")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	defer t.s.queues.end(t.held)
	err := t.s.atOnce(ctx, len(t.held), func(q querier) error {
		for _, h := range t.held {
			if err := t.s.release(ctx, q, h, written); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end a turn: %w", err)
	}
	return nil
}

// release opens one row: at the write and the gap, or at once when nothing was written; never before
// the end of a pause.
func (s *Store) release(ctx context.Context, q querier, h heldKey, written time.Time) error {
	now := s.nowSQL()
	if written.IsZero() {
		_, err := q.ExecContext(ctx, `UPDATE hosts SET leased = 0,
			ready_at = CASE WHEN paused_until > `+now+` THEN paused_until ELSE `+now+` END
			WHERE host = $1 AND lease = $2`, h.key.Name, h.lease)
		return err
	}
	at := now + " - CAST($3 AS BIGINT)"
	_, err := q.ExecContext(ctx, `UPDATE hosts SET leased = 0, written_at = `+at+`,
		ready_at = CASE WHEN paused_until > `+at+` + CAST($4 AS BIGINT) THEN paused_until ELSE `+at+` + CAST($4 AS BIGINT) END
		WHERE host = $1 AND lease = $2`, h.key.Name, h.lease, s.ago(written), h.key.Gap.Milliseconds())
	return err
}

// ago is how long before now, in the database's milliseconds, a request was written; rather too
// short by a millisecond than too long. It is negative within the millisecond that now was cut to.
func (s *Store) ago(written time.Time) int64 { return s.agoAt(s.clock.Now(), written) }

// agoAt is ago as of a moment of this machine's clock.
func (s *Store) agoAt(now, written time.Time) int64 {
	if s.fixed != nil {
		return now.UnixMilli() - written.Add(time.Millisecond-1).UnixMilli()
	}
	return now.Sub(written).Milliseconds() - 1
}

// SweepHosts deletes rows that nobody needs: no request, pause or queued URL for a day.
func (s *Store) SweepHosts(ctx context.Context) (int64, error) {
	return affected(ctx, s.db, `DELETE FROM hosts WHERE host IN (SELECT h.host FROM hosts h WHERE h.pending = 0
		AND h.used_at < `+s.nowSQL()+` - 86400000 AND h.ready_at <= `+s.nowSQL()+` LIMIT 5000)`)
}
