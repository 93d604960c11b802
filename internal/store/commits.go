package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// commits makes one transaction of many callers' on SQLite, which writes one at a time: the disk is
// synced once for all that came while the last one was written. Each caller's part is all or nothing for
// itself, and is answered when it is on the disk. The zero value, given a database, is ready.
type commits struct {
	db      *sql.DB
	mu      sync.Mutex
	busy    bool // somebody leads
	waiting []*part
}

// part is one caller's share of a transaction. The caller who is first in line leads: it writes what
// waits, and hands on to the next.
type part struct {
	ctx      context.Context
	do       func(tx *sql.Tx) error
	err      error
	panicked any
	leads    bool
	wake     chan struct{} // written, or to lead
}

// mostParts is how many callers share a transaction at most.
const mostParts = 200

// run runs do in a transaction. do may be run more than once, and must set what it answers from the
// start each time.
func (c *commits) run(ctx context.Context, do func(tx *sql.Tx) error) error {
	p := &part{ctx: ctx, do: do, wake: make(chan struct{}, 1)}
	c.mu.Lock()
	first := !c.busy
	p.leads, c.busy = first, true
	c.waiting = append(c.waiting, p)
	c.mu.Unlock()
	if !first {
		select {
		case <-p.wake:
		case <-ctx.Done():
			if c.leave(p) {
				return ctx.Err()
			}
			<-p.wake // too late: its part is being written, or it is to lead
		}
	}
	if p.leads {
		c.lead()
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.err
}

// leave takes p out of the line; false when it is not in it any more.
func (c *commits) leave(p *part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, p)
	if i < 0 || p.leads {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// lead writes what waits, its own part among it, and makes the next in line the leader.
func (c *commits) lead() {
	c.mu.Lock()
	n := min(len(c.waiting), mostParts)
	round := slices.Clone(c.waiting[:n])
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.mu.Unlock()
	for left := round; len(left) > 0; {
		left = c.write(left)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range round {
		if !p.leads {
			p.wake <- struct{}{}
		}
	}
	if c.busy = len(c.waiting) > 0; c.busy {
		c.waiting[0].leads = true
		c.waiting[0].wake <- struct{}{}
	}
}

// write writes parts in one transaction. It answers those that are to be written again: all others,
// when one of them failed in a way that ended the transaction for everyone.
func (c *commits) write(parts []*part) (again []*part) {
	tx, err := c.db.BeginTx(context.Background(), nil)
	if err != nil {
		fail(parts, fmt.Errorf("begin: %w", err))
		return nil
	}
	for i, p := range parts {
		if p.err = c.part(tx, i, p); p.err == nil {
			continue
		}
		if len(parts) == 1 {
			p.err = errors.Join(p.err, ignoreDone(tx.Rollback()))
			return nil
		}
		if _, err := tx.ExecContext(context.Background(), "ROLLBACK TO "+savepoint(i)); err != nil {
			_ = tx.Rollback() // SQLite has done so
			return slices.Delete(slices.Clone(parts), i, i+1)
		}
	}
	if err := tx.Commit(); err != nil {
		_ = tx.Rollback()
		for _, p := range parts {
			p.err = errors.Join(p.err, fmt.Errorf("commit: %w", err))
		}
	}
	return nil
}

// part runs one part behind a savepoint of its own. A panic is its caller's, who need not be the leader.
func (c *commits) part(tx *sql.Tx, i int, p *part) (err error) {
	if _, err := tx.ExecContext(context.Background(), "SAVEPOINT "+savepoint(i)); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if p.panicked = recover(); p.panicked != nil {
			err = errors.New("it panicked")
		}
	}()
	return p.do(tx)
}

func savepoint(i int) string { return "part" + strconv.Itoa(i) }

func fail(parts []*part, err error) {
	for _, p := range parts {
		p.err = err
	}
}
