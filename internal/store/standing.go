package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

var _ gate.Standings = (*Store)(nil)

// fresh is how old an answer from memory may be: a stop works on every replica within 5 seconds, and
// this is its first part.
const fresh = time.Second

// maxStandings is how many accounts are remembered at once.
const maxStandings = 10_000

type standingCache struct {
	mu    sync.Mutex
	known map[string]knownStanding
}

type knownStanding struct {
	standing policy.Standing
	asked    time.Time
}

// Standing says whether an account may cause requests; the answer is at most one second old. An
// account that is not there is unknown, which refuses.
func (s *Store) Standing(ctx context.Context, account string) (policy.Standing, error) {
	now := s.clock.Now()
	if standing, ok := s.standby.get(account, now); ok {
		return standing, nil
	}
	standing, err := s.readStanding(ctx, account)
	if err != nil {
		return policy.StandingUnknown, fmt.Errorf("read the account's standing: %w", err)
	}
	s.standby.put(account, standing, now)
	return standing, nil
}

func (s *Store) readStanding(ctx context.Context, account string) (policy.Standing, error) {
	var status billing.Status
	err := s.ro.QueryRowContext(ctx, "SELECT status FROM accounts WHERE id = $1", account).Scan(&status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return policy.StandingUnknown, nil
	case err != nil:
		return policy.StandingUnknown, err
	case status == billing.Active:
		return policy.StandingGood, nil
	}
	return policy.StandingSuspended, nil
}

func (c *standingCache) get(account string, now time.Time) (policy.Standing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known[account]
	return known.standing, ok && isFresh(known.asked, now)
}

func (c *standingCache) put(account string, standing policy.Standing, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxStandings {
		c.known = map[string]knownStanding{}
	}
	c.known[account] = knownStanding{standing, now}
}

// isFresh is true for what was asked less than a second before now. A clock set back is no excuse.
func isFresh(asked, now time.Time) bool {
	age := now.Sub(asked)
	return age >= 0 && age < fresh
}
