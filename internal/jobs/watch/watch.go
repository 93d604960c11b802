// Package watch visits the pages of sites in rounds and tells what changed on them. It keeps of a page
// what makes the next visit cheap (its validators, a keyed digest, keyed fingerprints) and never the page.
package watch

import (
	"encoding/json"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Status says whether a watch has rounds.
type Status string

// The statuses of a watch.
const (
	Active Status = "active"
	Paused Status = "paused"
)

// Why a watch pauses itself: its ceiling is reached, or too many changes wait for its customer.
const (
	ReasonMaxUnits    = "max_units"
	ReasonUndelivered = "undelivered"
)

// Watch is a customer's wish to know what changes on some sites.
type Watch struct {
	ID         string
	Account    string
	Key        string // the API key it was made with
	Name       string
	Status     Status
	Reason     string // why it is paused, when nobody paused it
	Options    Options
	Schedule   Schedule
	MaxPages   int   // pages per site and round; 0 is as many as the profile lets
	MaxUnits   int64 // charged at most, over all rounds; 0 is no ceiling
	Units      int64 // charged or about to be
	WebhookURL string
	Request    string // id of the API request that made it
	Sites      int
	NextRound  time.Time // zero when none is planned
	CreatedAt  time.Time
}

// Options are the read options of a watch's pages.
type Options struct {
	Read   reader.Options `json:"read"`
	NoPage bool           `json:"no_page,omitempty"` // formats: []: a change comes without the page
}

// Schedule is when rounds begin: by the profile, or by cron.
type Schedule struct {
	Cron     string
	TimeZone string
}

// Site is one entry of a watch, with all its hosts.
type Site struct {
	Name      string   `json:"name,omitempty"`
	StartURLs []string `json:"start_urls"`
	Sitemap   bool     `json:"sitemap,omitempty"`
	Include   []string `json:"include,omitempty"`
	Exclude   []string `json:"exclude,omitempty"`
	Topics    []string `json:"topics,omitempty"`
}

// PageKind says what a page is to its site.
type PageKind int

// The kinds of pages. Start pages, feeds and sitemaps are listings.
const (
	Start PageKind = iota
	Linked
	Document
	Feed
	Sitemap
)

// Listing is true for pages that lead to others: a profile may fetch them less often.
func (k PageKind) Listing() bool { return k == Start || k == Feed || k == Sitemap }

// Page is what is kept of a page between two visits.
type Page struct {
	Hash       string // of its address, its name within the site
	URL        string
	Host       string
	Kind       PageKind
	Fed        bool   // a feed tells when it is new: it is fetched only then
	Wanted     bool   // a feed, sitemap or link says that it is new, or a round had no time for it
	Hint       string // what a feed, sitemap or link said of it last; of a feed, what it stands for
	Validators gate.Validators
	Body       []byte // keyed digest of the body
	State      []byte // change.State; of a sitemap, what its word is worth
	CheckedAt  time.Time
	Round      string // the round it was visited in last
}

// Tally counts what a visit or a round came to.
type Tally struct {
	New, Changed, Back, Unchanged, Gone, Skipped int
	Requests                                     int
}

func (t *Tally) count(kind change.Kind) {
	switch kind {
	case change.New:
		t.New++
	case change.Changed:
		t.Changed++
	case change.Back:
		t.Back++
	case change.Gone:
		t.Gone++
	default:
		t.Unchanged++
	}
}

// Claim is one site of a round, leased to who visits it.
type Claim struct {
	Watch          Watch
	Site           Site
	Number         int // of the site
	Round          string
	Lease          int64
	At             time.Time // when it was claimed
	Failed         int       // failures in a row, for the back-off
	Tally          Tally
	Recipient      seal.Recipient
	FingerprintKey []byte
}

// Finding is what one page came to: recorded in one transaction.
type Finding struct {
	Page    Page
	Change  *Sealed
	Learned []Page // pages that it led to, new or with another Hint
	Again   bool   // what a feed, sitemap or link said of it still waits to be looked at
}

// Sealed is a change that only the customer can read.
type Sealed struct {
	Item       string // bound into the envelope
	Host       string
	Kind       change.Kind
	DetectedAt time.Time
	Envelope   seal.Envelope
}

// Change is one change as the API shows it, but for its number, which only its place gives.
type Change struct {
	Seq        int64            `json:"seq"`
	Round      string           `json:"round"`
	URL        string           `json:"url"`
	Kind       change.Kind      `json:"kind"`
	DetectedAt time.Time        `json:"detected_at"`
	Title      string           `json:"title,omitempty"`
	Blocks     Blocks           `json:"blocks"`
	Ignored    int              `json:"ignored,omitempty"` // differences that were passed over
	Flickers   []change.Flicker `json:"flickers,omitempty"`
	Passages   []change.Passage `json:"passages"`
	Source     string           `json:"source"`
	Page       json.RawMessage  `json:"page,omitempty"`
}

// Blocks counts the blocks of a change.
type Blocks struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// Told is a change as a webhook tells it: no content.
type Told struct {
	Seq  int64       `json:"seq"`
	URL  string      `json:"url"`
	Kind change.Kind `json:"kind"`
}

// Round is one going over all sites of a watch.
type Round struct {
	ID                      string
	Status                  string // queued, running, completed
	DueAt                   time.Time
	StartedAt, FinishedAt   time.Time
	SitesDone, SitesSkipped int
	Pages                   Tally
	Skips                   []Skip
}

// Skip is a host that a round left alone, and why.
type Skip struct {
	Host   string `json:"host"`
	Reason string `json:"reason"`
}

// hashOf is the name of a page within its site: of its address without what only counts visitors.
func hashOf(t policy.Target) string { return digest16(keyOf(t)) }

// Starts are the start pages of a site that has been checked.
func Starts(s Site) []Page {
	var pages []Page
	seen := map[string]bool{}
	for _, raw := range s.StartURLs {
		t, err := policy.ParseTarget(raw)
		if err != nil || seen[hashOf(t)] {
			continue
		}
		seen[hashOf(t)] = true
		pages = append(pages, Page{Hash: hashOf(t), URL: t.String(), Host: t.Host(), Kind: Start})
	}
	return pages
}

// Stored is a change as it lies in the store: only its key's identity opens it.
type Stored struct {
	Seq      int64
	Item     string
	Key      string // the API key's id
	Envelope seal.Envelope
}

// Open opens a stored change of a watch.
func (s Stored) Open(id seal.Identity, w Watch) (Change, error) {
	var c Change
	plain, err := id.Open(seal.Context{Account: w.Account, Job: w.ID, Item: s.Item}, s.Envelope)
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(plain, &c)
	c.Seq = s.Seq
	return c, err
}

// Edit is what a customer may change of a watch. Nil leaves a field as it is.
type Edit struct {
	Name       *string
	Status     *Status
	Schedule   *Schedule
	MaxPages   *int
	MaxUnits   *int64
	WebhookURL *string
	Sites      []Site // another list begins anew
}

// Apply changes w.
func (e Edit) Apply(w *Watch) error {
	if e.Name != nil {
		w.Name = *e.Name
	}
	if e.Status != nil {
		w.Status, w.Reason = *e.Status, ""
	}
	if e.Schedule != nil {
		w.Schedule = *e.Schedule
	}
	if e.MaxPages != nil {
		w.MaxPages = *e.MaxPages
	}
	if e.WebhookURL != nil {
		w.WebhookURL = *e.WebhookURL
	}
	if e.MaxUnits == nil {
		return nil
	}
	if w.MaxUnits = *e.MaxUnits; w.MaxUnits > 0 && w.MaxUnits < w.Units {
		return &fault.Error{Kind: fault.InvalidRequest, Detail: "max_units is less than the watch has used. Give a higher ceiling.",
			Fields: []fault.Field{{Name: "max_units", Detail: "must be at least what the watch has used"}}}
	}
	return nil
}
