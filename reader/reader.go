// Package reader reads one URL: one Document and its Receipt out. It asks the gate, extracts the
// main content and writes Markdown; a document lives inside one function call and is handed over or
// sealed there.
package reader

import (
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Options are the read options of the contract, the same at every door.
type Options struct {
	Formats          []string `json:"formats,omitempty"` // markdown, text, html, links, images
	OnlyMainContent  *bool    `json:"only_main_content,omitempty"`
	IncludeSelectors []string `json:"include_selectors,omitempty"`
	ExcludeSelectors []string `json:"exclude_selectors,omitempty"`
	Links            string   `json:"links,omitempty"`  // inline, references, none
	Images           string   `json:"images,omitempty"` // inline, alt, none
	MaxTokens        int      `json:"max_tokens,omitempty"`
	Country          string   `json:"country,omitempty"`
	Language         string   `json:"language,omitempty"`
	Render           string   `json:"render,omitempty"` // never, auto, always
	TimeoutMS        int      `json:"timeout_ms,omitempty"`
	IfFingerprint    string   `json:"if_fingerprint,omitempty"`
}

// Request is one URL to read.
type Request struct {
	Profile        *policy.Profile
	Cause          policy.Cause
	Target         policy.Target
	Options        Options
	FingerprintKey []byte // per account; a fixed key on the command line
	// What jobs and watches add:
	Validators  gate.Validators
	Turn        gate.Turn
	FreshRobots bool
	Within      func(policy.Target) bool
}

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

// Document is a page that was read. It has no field others can reach, no encoder, and shows
// "[document]" to loggers and printers; its only exits are Page, inside a hand-over, and SealTo.
type Document struct {
	page    Page
	receipt Receipt
	verdict policy.Verdict
}

// Receipt proves the read; the zero Receipt for a nil Document.
func (d *Document) Receipt() Receipt {
	if d == nil {
		return Receipt{}
	}
	return d.receipt
}
