package gate

import (
	"context"
	"net/http"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/dom"
)

// Ask is a wish to reach one URL.
type Ask struct {
	Profile  *policy.Profile
	Cause    policy.Cause
	Target   policy.Target
	Want     Want
	Language string // Accept-Language, as the customer gave it
	Country  string // ISO 3166-1 alpha-2 in lower case; "" is the default exit
	// Validators of an earlier visit make the request conditional.
	Validators Validators
	// Turn, when not nil, is a turn at the target's host that the caller holds already (a job's
	// frontier leases the host with the URL). The gate spends it on the first request it makes and
	// takes further turns itself; it always ends a turn it was given.
	Turn Turn
	// FreshRobots asks for robots.txt even when a valid copy is held: the start of a crawl (B03).
	FreshRobots bool
	// RobotsSince, when not zero, is when a crawl of many requests began: a robots.txt that was fetched
	// before is asked for anew, under a profile that does so at the start of a crawl.
	RobotsSince time.Time
	// Until is when the answer must be there, by the gate's clock; the zero time is Config.Timeout
	// and Patience from now. A deadline of the context counts as well: the earlier one holds.
	Until time.Time
	// Patience, when not zero, is how long turns are waited for, so that a request that waited long is not cut
	// off as soon as it is made.
	Patience time.Duration
	// Within, when not nil, says whether a redirect may lead there. A hop outside is not requested:
	// Get returns an *OffScope error.
	Within func(policy.Target) bool
}

// Want says what kind of answer is of use: the Accept header and the types that are read.
type Want uint8

// What can be wanted.
const (
	WantPage Want = iota
	WantSitemap
	WantFeed
)

// Validators are kept and sent back exactly as received (RFC 9110 section 8.8).
type Validators struct{ ETag, LastModified string }

// Page is an answer that passed the gate at stage Use: it may be read.
type Page struct {
	Target      policy.Target   // after redirects
	Hops        []policy.Target // the targets before it, the one asked for first
	Status      int
	Header      http.Header
	MediaType   string    // lower case, without parameters
	Body        []byte    // decoded; UTF-8 for text types
	Tree        *dom.Tree // of HTML and XHTML, else nil
	Charset     string    // how Body was encoded
	NotModified bool      // 304: no body
	Validators  Validators
	NoIndex     bool     // by meta robots or X-Robots-Tag, for our token
	NoFollow    bool     // links are not to be followed
	Warnings    []string // soft_404, needs_javascript, declared_not_free
	FetchedAt   time.Time
	WrittenAt   time.Time // when the last request was written
}

// Turns hands out turns at pace keys: one request in flight per key, and a gap between the moment that
// one came to the site and the next is written. It is shared by all readers, jobs and replicas.
type Turns interface {
	// Take waits for a turn at all keys. It returns a fault of kind HostBusy with RetryAfter, at once,
	// when the turn would come after until.
	Take(ctx context.Context, keys []Key, until time.Time) (Turn, error)
	// Pause closes a key until then, for everyone: a site's Retry-After.
	Pause(ctx context.Context, key string, until time.Time) error
}

// Key is one pace key: a host, a registrable domain, or "profile:NAME" for a total.
type Key struct {
	Name string
	// Gap is kept between the arrival of the request before, whoever made it, and this one's write.
	Gap time.Duration
	// After is the turn of this read's request before at the key, when the profile lets own hops go
	// free; nil otherwise. While nobody else had a turn at the key since, the request waits for a
	// pause, not for the gap.
	After Turn
}

// Turn is the right to make one request now. Its holder ends it exactly once.
type Turn interface {
	// Deadline is when the turn lapses by itself; the request must be over before.
	Deadline() time.Time
	// End gives the turn back. came is when the site had the request at the latest, zero when none was
	// written; the key opens at came + gap, or now when nothing was written.
	End(ctx context.Context, came time.Time) error
}

// RobotsCopy is a stored answer to a request for robots.txt.
type RobotsCopy struct {
	Authority    string // "https://site.example"
	URL          string // where it was asked
	State        RobotsState
	Status       int    // HTTP status of the last answer; 0 when there was none
	Why          string // why unreachable: "status 503", "timeout", "challenge" …; no text of the site
	ETag         string
	LastModified string
	Body         []byte // at most 512,000 bytes, only when State is RobotsFound
	FetchedAt    time.Time
	ExpiresAt    time.Time // never more than 24 h after FetchedAt
}

// RobotsState says what a request for robots.txt came to. The zero state is unreachable: closed.
type RobotsState = signals.RobotsState

// The states of RFC 9309 section 2.3.1.
const (
	RobotsUnreachable = signals.RobotsUnreachable
	RobotsFound       = signals.RobotsFound
	RobotsAbsent      = signals.RobotsAbsent
)

// RobotsStore keeps robots.txt answers, over restarts and replicas where a database is behind it.
type RobotsStore interface {
	Robots(ctx context.Context, authority string) (RobotsCopy, bool, error)
	PutRobots(ctx context.Context, c RobotsCopy) error
}

// OptOuts answers what site operators asked for. Answers are at most one second old.
type OptOuts interface {
	OptOut(ctx context.Context, t policy.Target) (policy.OptOut, error)
}

// Standings answers whether an account may cause requests. Answers are at most one second old.
type Standings interface {
	Standing(ctx context.Context, account string) (policy.Standing, error)
}

// FetchLog keeps one row per request sent (W15).
type FetchLog interface {
	Fetched(ctx context.Context, r FetchRow) error
}

// FetchRow is one request that was sent, or tried, and its answer. No page content.
type FetchRow struct {
	At        time.Time // when it was written
	URL       string
	Host      string
	Status    int    // 0 when there was no answer
	Outcome   string // "answered", "timeout", "connection", "cut" …
	UserAgent string
	Egress    string // address it left from, or exit's country
	Remote    string // address that was dialled
	Cause     policy.Cause
	Profile   string
	Stage     string // "control", "fetch"
	Duration  time.Duration
	Bytes     int64
}

// Clock is the injected clock. The gate, jobs, billing and the store read and wait by it only.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}
