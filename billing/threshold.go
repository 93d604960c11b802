package billing

import (
	"context"
	"time"
)

// Threshold is a share of what an account may be charged in a month, once it is used.
type Threshold struct {
	Account string
	Month   string // 2026-11
	Percent int64  // 80 or 100
	Event   string // the id of the event that tells it, the same at every try
	Ceiling int64
	Charged int64
	At      time.Time
	Tries   int
}

// Thresholds keeps which ones were crossed and told.
type Thresholds interface {
	// Cross writes down what was crossed since: each share once a month, and anew of a ceiling that was
	// raised; the higher one alone when both were crossed.
	Cross(ctx context.Context) error
	// ClaimThresholds takes what is to be told for as long as ClaimTime.
	ClaimThresholds(ctx context.Context, limit int) ([]Threshold, error)
	ThresholdDone(ctx context.Context, event string) error
	ThresholdAgain(ctx context.Context, event string, after time.Duration) error
	Account(ctx context.Context, idOrName string) (Account, error)
}

// Teller tells an account's webhook of a threshold. It answers when to try again; 0 is not at all.
type Teller interface {
	Tell(ctx context.Context, a Account, t Threshold) (again time.Duration)
}

// TellThresholds finds what was crossed and tells it.
func TellThresholds(ctx context.Context, ts Thresholds, teller Teller) error {
	if err := ts.Cross(ctx); err != nil {
		return err
	}
	list, err := ts.ClaimThresholds(ctx, 20)
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := tell(ctx, ts, teller, t); err != nil {
			return err
		}
	}
	return nil
}

func tell(ctx context.Context, ts Thresholds, teller Teller, t Threshold) error {
	account, err := ts.Account(ctx, t.Account)
	if err != nil {
		return err
	}
	if account.WebhookURL != "" && account.Status == Active {
		if again := teller.Tell(ctx, account, t); again > 0 {
			return ts.ThresholdAgain(ctx, t.Event, again)
		}
	}
	return ts.ThresholdDone(ctx, t.Event)
}
