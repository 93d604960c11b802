package reader

import "time"

// Receipt proves a read: only Read mints one. The zero Receipt proves nothing.
type Receipt struct {
	outcome Outcome
	units   int
	host    string
	at      time.Time
}

// Outcome is how a read ended, as the reads table keeps it.
type Outcome string

// The outcomes of a read. Only Delivered is ever charged.
const (
	Delivered Outcome = "delivered"
	Unchanged Outcome = "unchanged"
	Blocked   Outcome = "blocked"
	Refused   Outcome = "refused"
	Failed    Outcome = "failed"
)

// Outcome is "" for the zero Receipt.
func (r Receipt) Outcome() Outcome { return r.outcome }

// Units is the price: 1 for a page delivered with content, 0 for a soft 404 or an unchanged page.
func (r Receipt) Units() int { return r.units }

// Host is the host that was read.
func (r Receipt) Host() string { return r.host }

// At is when the page was fetched.
func (r Receipt) At() time.Time { return r.at }
