package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/reader/gate"
)

// jobTurn is a turn that came with a claimed item. Its end is written with the item's finish, one
// transaction for many; or at once when somebody here waits for one of its keys, as the same read does
// after a redirect.
type jobTurn struct {
	s        *Store
	held     []heldKey
	from     time.Time // no request is written before
	deadline time.Time

	mu       sync.Mutex
	kept     time.Duration // the gap that was kept before it
	need     time.Duration // the longest gap that was asked for
	ended    bool
	written  time.Time
	released bool
}

var _ gate.Turn = (*jobTurn)(nil)

// Deadline is when the lease ends by itself.
func (t *jobTurn) Deadline() time.Time { return t.deadline }

// From is when the turn begins: it came somewhat early, so that its holder is ready then.
func (t *jobTurn) From() time.Time { return t.from }

// Keeps says whether the turn came after a pause of gap. The store remembers what was asked for, so that
// the job's next turns at the host do.
func (t *jobTurn) Keeps(gap time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.need = max(t.need, gap)
	return gap <= t.kept
}

// End gives the turn back. The row opens when the item is finished, or sooner if it is waited for.
func (t *jobTurn) End(_ context.Context, written time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return errors.New("end a turn: it has ended already")
	}
	t.ended, t.written = true, written
	return nil
}

// take marks the turn as released; false when it was already or is still in use.
func (t *jobTurn) take(force bool) (written time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.released || !t.ended && !force {
		return time.Time{}, false
	}
	t.released = true
	return t.written, true
}

// endings are the turns of this process whose end is not written yet, by key.
type endings struct {
	mu    sync.Mutex
	byKey map[string]*jobTurn
}

func (e *endings) add(t *jobTurn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byKey == nil {
		e.byKey = map[string]*jobTurn{}
	}
	for _, h := range t.held {
		e.byKey[h.key.Name] = t
	}
}

func (e *endings) drop(t *jobTurn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range t.held {
		if e.byKey[h.key.Name] == t {
			delete(e.byKey, h.key.Name)
		}
	}
}

func (e *endings) of(key string) *jobTurn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byKey[key]
}

// releaseEnded writes the end of turns at keys that have ended in this process, for who waits for them.
func (s *Store) releaseEnded(ctx context.Context, keys []gate.Key) error {
	for _, key := range keys {
		t := s.endings.of(key.Name)
		if t == nil {
			continue
		}
		written, ok := t.take(false)
		if !ok {
			continue
		}
		s.endings.drop(t)
		err := s.tx(ctx, func(tx *sql.Tx) error {
			for _, h := range t.held {
				if err := s.release(ctx, tx, h, written); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
