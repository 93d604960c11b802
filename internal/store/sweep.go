package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Swept is how many rows a sweep took away, by what they were.
type Swept struct {
	Holds, Idempotency, Robots, Hosts, FetchLog, Payments int64
}

// Sweep takes away what has had its time: lapsed holds, Idempotency-Keys after 24 hours, robots.txt
// copies and pace rows that nobody needs, what is left of jobs long after their end, and fetch log rows
// older than retention. It works in small
// steps and may be run at any time, on every replica.
func (s *Store) Sweep(ctx context.Context, retention time.Duration) (Swept, error) {
	var swept Swept
	err := errors.Join(
		step("holds", &swept.Holds, func() (int64, error) { return s.SweepHolds(ctx) }),
		step("idempotency keys", &swept.Idempotency, func() (int64, error) { return s.SweepIdempotency(ctx) }),
		step("robots.txt copies", &swept.Robots, func() (int64, error) { return s.SweepRobots(ctx) }),
		step("pace rows", &swept.Hosts, func() (int64, error) { return s.SweepHosts(ctx) }),
		step("sign-ups and payment events", &swept.Payments, func() (int64, error) { return s.SweepPayments(ctx) }),
		s.forgetJobs(ctx),
		step("fetch log", &swept.FetchLog, func() (int64, error) { return s.SweepFetchLog(ctx, retention) }),
	)
	return swept, err
}

// step sweeps until nothing is left.
func step(what string, total *int64, sweep func() (int64, error)) error {
	for {
		n, err := sweep()
		if err != nil {
			return fmt.Errorf("sweep the %s: %w", what, err)
		}
		*total += n
		if n == 0 {
			return nil
		}
	}
}
