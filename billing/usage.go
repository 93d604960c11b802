package billing

import (
	"context"
	"time"

	"github.com/webreaderapi/webreader/reader"
)

// Period is a span of time: From is in it, To is not.
type Period struct{ From, To time.Time }

// Month is the calendar month (UTC) that t is in: the period of allowances and caps.
func Month(t time.Time) Period {
	t = t.UTC()
	from := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Period{from, from.AddDate(0, 1, 0)}
}

// Totals are an account's reads in a period.
type Totals struct {
	Period    Period
	Units     int64 // charged: the sum of the receipts
	Credited  int64 // given back of it by the operator
	Pages     int64 // delivered
	ByOutcome map[reader.Outcome]int64
	Held      int64 // units reserved by reads that run now
	Included  Limit // the plan's allowance a month
	Left      Limit // what may still be charged this month: allowance, price plan and cap considered
	// AllowanceLeft is what may still be read this month without a charge: of the allowance, within the cap.
	AllowanceLeft Limit
}

// Receipt is one charge.
type Receipt struct {
	ID      string
	At      time.Time
	URLHost string // blank after the site asked to be forgotten
	Units   int64
	Kind    string // read, batch, crawl, watch
	Job     string
	Key     string // API key id
}

// Group is a part of a period's charges: a day, a kind or a key.
type Group struct {
	Name  string
	Units int64
	Pages int64
}

// By says how to group.
type By string

// The groups.
const (
	ByDay  By = "day"
	ByKind By = "kind"
	ByKey  By = "key"
)

// Usage answers what was read and charged.
type Usage interface {
	Totals(ctx context.Context, account string, p Period) (Totals, error)
	// Receipts are an account's charges, newest first. next is "" at the end, else the cursor to go
	// on with.
	Receipts(ctx context.Context, account string, p Period, cursor string, limit int) (list []Receipt, next string, err error)
	Groups(ctx context.Context, account string, p Period, by By) ([]Group, error)
}
