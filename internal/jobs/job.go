// Package jobs reads many pages for a customer: batches and crawls. A job is rows in a store: what
// waits in the frontier, what came of it, sealed until it is collected. The Runner takes URLs from the
// frontier as fast as their hosts allow and reads each through the meter, like any other read.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// The kinds of jobs.
const (
	Batch = "batch"
	Crawl = "crawl"
)

// The statuses of a job. All but Running are final.
const (
	Running   = "running"
	Completed = "completed"
	Cancelled = "cancelled"
	Failed    = "failed"
)

// Why a job ended before all its URLs were read, or failed.
const (
	ReasonMaxPages    = "max_pages"
	ReasonMaxUnits    = "max_units"
	ReasonMaxRequests = "max_requests"
	ReasonLinkLimits  = "link_limits" // links beyond the bounds of depth, length or number were left out
	ReasonDeadline    = "deadline"
	ReasonHostDelay   = "host_delay" // a host wants longer waits than the job has time
	ReasonPayment     = "payment_required"
	ReasonSuspended   = "account_suspended"
	ReasonKeyRevoked  = "key_revoked"
	ReasonKeyEnded    = "key_ended" // nobody could open what it would deliver
	ReasonForgotten   = "site_forgotten"
)

// NoLimit stands for no limit.
const NoLimit = int64(1) << 53

// Job is a job as its customer sees it.
type Job struct {
	ID, Account, Key, Kind, Status, Reason string
	Total                                  int64
	Counts                                 Counts
	Units                                  int64
	CreatedAt, FinishedAt, ExpiresAt       time.Time
	RequestID                              string
	LastSeq                                int64 // of the results so far
}

// Over is true when the job has ended.
func (j Job) Over() bool { return j.Status != Running }

// Counts are a job's URLs by what became of them.
type Counts struct {
	Delivered, Blocked, Refused, Failed, Unchanged, Duplicate, Skipped, Pending int64
}

// Spec is a job to be made.
type Spec struct {
	ID, Account, Key, Kind, Request string
	Recipient                       seal.Recipient
	Options                         reader.Options
	Rules                           Rules  // of a crawl
	ScopeHost                       string // of a crawl
	WebhookURL                      string
	MaxUnits, MaxPages, MaxRequests int64
	MaxQueued, MaxBytes             int64
	Deadline                        time.Duration
	Items                           []Found
	// MostRunning and MostQueued are the account's limits over all its jobs.
	MostRunning, MostQueued billing.Limit
}

// Work is what stays the same for all items of a job.
type Work struct {
	Job, Account, Key, Kind, Request string
	Recipient                        seal.Recipient
	FingerprintKey                   []byte
	Options                          reader.Options
	Rules                            Rules
	ScopeHost                        string // may change once, when the start page redirects
	WebhookURL                       string
	MaxDepth                         int
	Deadline                         time.Time
}

// ItemKind says what an item of the frontier is.
type ItemKind int64

// The kinds of items.
const (
	Page    ItemKind = iota // a page to be delivered
	Start                   // the start page of a crawl
	Seed                    // asks a host's robots.txt for its sitemaps
	Sitemap                 // a sitemap file
	Alias                   // another name of a page: nothing is read for it
)

// Turn is a turn at an item's host: a gate.Turn.
type Turn interface {
	Deadline() time.Time
	End(ctx context.Context, written time.Time) error
}

// Item is one URL of a job that this process has claimed.
type Item struct {
	Job      string
	Place    int64
	Claim    int64 // fencing number
	Kind     ItemKind
	URL, Raw string
	Twins    []string // the same URL given again, as written
	Host     string
	Pace     string
	Depth    int
	Attempts int
	Failing  int // answers in a row, at this host for this job, that asked for a longer wait
	Turn     Turn
	// Until is when the claim lapses: by then the item must be finished.
	Until time.Time
}

// ID names the item; it is the operation that it is charged as.
func (i Item) ID() string { return fmt.Sprintf("%s.%d", i.Job, i.Place) }

// Written is the URL as the customer wrote it.
func (i Item) Written() string {
	if i.Raw != "" {
		return i.Raw
	}
	return i.URL
}

// Form is the hash of a URL's normal form: two URLs with one form are one page.
type Form [16]byte

// Called is the form under which a frontier keeps who calls the page of form f its own.
func (f Form) Called() Form { return hashForm("called " + string(f[:])) }

// Found is a URL for the frontier.
type Found struct {
	Kind      ItemKind
	URL, Raw  string
	Twins     []string
	Host      string
	Pace      string
	Form      Form
	Depth     int
	NotBefore time.Duration
}

// Fate is what becomes of a finished item.
type Fate uint8

// The fates.
const (
	Again  Fate = iota // it waits again
	Ended              // it has its result, or needs none
	GoesOn             // it has found so much that a part is queued before it ends
)

// Finish is an item that was read, or was not, with everything that is to be written of it in one
// transaction.
type Finish struct {
	Item Item
	Fate Fate
	// Counter says where an ended item counts: an outcome of a read, or Duplicate or Skipped.
	Counter string
	// Hold is the item's hold, if one was made; it is settled with Receipt when that is not zero, else
	// voided for Cause.
	Hold    billing.Hold
	Held    bool
	Receipt reader.Receipt
	Cause   error

	Sealed   []Sealed
	Found    []Found
	Aliases  []Form // where redirects led: a page that was delivered there makes this one a duplicate
	Own      *Found // the address that the page calls its own, where it is another one of the site
	Form     Form   // of the item's own address; zero but for pages of a crawl
	Requests int
	Limits   int // links that a bound kept out
	// Retry says how an item that waits again waits; Failed counts it as a failed read.
	Retry  time.Duration
	Failed bool
	// Pause closes the host for so long; Failing is the new count of answers in a row that asked for it.
	Pause   time.Duration
	Failing int
	// ScopeHost, when not empty, is the host that the crawl stays on from now.
	ScopeHost string
	// Stop, when not empty, ends the whole job as failed.
	Stop string
	// Final is the URL that the page had in the end, for the event.
	Final string
	// Kept, when given, is told once the item has ended and what it found is queued. It is not where
	// nothing was written, because another claim has taken the item over or its hold has lapsed.
	Kept func()
}

// The counters beside the outcomes of reads.
const (
	Duplicate = "duplicate"
	Skipped   = "skipped"
)

// Sealed is one result.
type Sealed struct {
	Item     string
	Host     string
	Failure  bool
	Envelope seal.Envelope
}

// Stored is a result as it is kept.
type Stored struct {
	Seq      int64
	Item     string
	Failure  bool
	Envelope seal.Envelope
}

// Delivery is a webhook delivery as its customer sees it.
type Delivery struct {
	ID, Event, URL, State, Problem string
	Attempts, Status               int64
	CreatedAt, NextAt, EndedAt     time.Time
}

// Pace is what a claim must know of the running profile.
type Pace struct {
	MinGap time.Duration
	Total  string // the pace key of the whole bot; "" where sites do not wait for each other
}

// PaceOf is the pace of a profile.
func PaceOf(p *policy.Profile) Pace { return Pace{MinGap: p.Pace.MinGap, Total: p.TotalKey()} }

// Store keeps jobs.
type Store interface {
	// CreateJob makes a job with its first items. A job of that id that is there already is answered as
	// it is. RateLimited when the account has too many jobs or URLs.
	CreateJob(ctx context.Context, s Spec) (Job, error)
	// Job is the account's job; NotFound otherwise.
	Job(ctx context.Context, account, id string) (Job, error)
	// ListJobs are the account's jobs, newest first; cursor is the one that the page before answered.
	ListJobs(ctx context.Context, account, cursor string, limit int) (list []Job, next string, err error)
	// DropJob ends a job that runs and erases its results and its queue.
	DropJob(ctx context.Context, account, id string) (Job, error)
	// Deliveries are a job's webhook deliveries, oldest first.
	Deliveries(ctx context.Context, account, id string) ([]Delivery, error)

	// Results are a job's results after seq, at most limit of them and about bytes of envelopes.
	Results(ctx context.Context, job string, after int64, limit, bytes int) ([]Stored, error)
	// Acknowledge erases a job's results up to seq.
	Acknowledge(ctx context.Context, job string, upTo int64) error
	// AwaitResults waits until the job has a result after seq or is over, or until d has passed.
	AwaitResults(ctx context.Context, job string, after int64, d time.Duration) error

	// ClaimItems takes at most limit URLs whose hosts are ready, each with its host's turn. Without any
	// it answers how long to wait before the next try.
	ClaimItems(ctx context.Context, p Pace, limit int) (items []Item, wait time.Duration, err error)
	// Work is a job's constants.
	Work(ctx context.Context, job string) (Work, error)
	// FinishItem writes what became of an item; it is nil as well for one that somebody else has
	// finished or whose job is over.
	FinishItem(ctx context.Context, f Finish) error
	// KnowsPage is true for a form of the job's that waits, is being read or gave a page.
	KnowsPage(ctx context.Context, job string, f Form) (bool, error)
	// JobsChanged is closed when something new may be claimed.
	JobsChanged() <-chan struct{}
}

// Line is what is sealed for one result: the URL as the customer wrote it with the page, or with what
// went wrong.
type Line struct {
	URL   string          `json:"url"`
	Page  json.RawMessage `json:"page,omitempty"`
	Fault *Failure        `json:"fault,omitempty"`
}

// Failure is a fault as it is kept in a result.
type Failure struct {
	Kind         uint8            `json:"kind"`
	Reason       string           `json:"reason,omitempty"`
	Detail       string           `json:"detail,omitempty"`
	TargetStatus int              `json:"target_status,omitempty"`
	RetryAfter   time.Duration    `json:"retry_after,omitempty"`
	Decision     *reader.Decision `json:"decision,omitempty"`
}
