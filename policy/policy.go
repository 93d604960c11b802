// Package policy decides whether a request may be made. It is a pure function from a Case to a
// Verdict: no I/O, no clock, no goroutine. Whoever wants to reach a site asks the gate; the gate
// gathers a Case and asks Judge; only Judge makes a Permit; only a Permit opens the fetcher.
package policy

import (
	"time"

	"github.com/webreaderapi/webreader/policy/signals"
)

// Stage says what a request is for. The zero Stage is refused.
type Stage uint8

const (
	// Control is a request for robots.txt: it waits its turn like any other, robots.txt does not
	// apply to it.
	Control Stage = iota + 1
	// Fetch is a request for a page, sitemap, feed or document, before it is made.
	Fetch
	// Use is the question, after the answer came, whether it may be used.
	Use
)

// CauseKind says which door asked.
type CauseKind string

// The doors of the house.
const (
	CauseRead   CauseKind = "read"
	CauseBatch  CauseKind = "batch"
	CauseCrawl  CauseKind = "crawl"
	CauseWatch  CauseKind = "watch"
	CausePolicy CauseKind = "policy"
)

// Cause is why a request is made: W01. A Case without one is refused.
type Cause struct {
	Kind    CauseKind
	ID      string // request, job or watch id
	Account string // account id; "local" on the command line
	Request string // id of the API request that began it
}

// Crawls is true for causes that visit many pages of a site, to which Crawl-delay applies.
func (c Cause) Crawls() bool { return c.Kind == CauseCrawl || c.Kind == CauseWatch }

// Standing says whether the account may cause requests. The zero Standing is unknown and refuses.
type Standing uint8

// The standings of an account.
const (
	StandingUnknown Standing = iota
	StandingGood
	StandingSuspended
)

// OptOut is what a site operator asked us for, about the target. Its zero value asks nothing.
type OptOut struct {
	Stop  bool          // no request at all
	Entry string        // the entry that decided, as the operator's list shows it: "site.example/path"
	Since time.Time     // when it was entered
	Delay time.Duration // a gap that was asked for; 0 is none
}

// Case is everything a judgement needs.
type Case struct {
	Stage    Stage
	Profile  *Profile
	Cause    Cause
	Target   Target
	Signals  signals.Set // at Fetch: robots.txt; at Use: headers and meta as well
	OptOut   OptOut
	Standing Standing
	Country  string // exit asked for, "" is the default one
	Now      time.Time
	// Token, when given, asks as if for another product token, offline. Such a case gets no permit.
	Token string
}

// Outcome is the answer. The zero Outcome refuses.
type Outcome uint8

// The outcomes.
const (
	Refuse Outcome = iota
	Allow
)

// Source names what decided: the contract's `decision.by`.
type Source string

// The sources of a decision.
const (
	ByRobots        Source = "robots"
	ByContentSignal Source = "content_signal"
	ByContentUsage  Source = "content_usage"
	ByTDM           Source = "tdm"
	ByNoAI          Source = "noai"
	ByPageRobots    Source = "page_robots"
	ByOptOut        Source = "opt_out"
	ByAccount       Source = "account"
	ByHouse         Source = "house"
	ByDefault       Source = "default"
)

// Ground is one reason for an outcome: where it stands and what it says.
type Ground struct {
	Source Source
	Reason string // on refusal the contract's reason: robots_disallow, content_signal, noindex …
	// RobotsURL, Group, Line and Rule point into a robots.txt: line 12, "Disallow: /intern/", in the
	// group for "*". Line is 0 when no line decided.
	RobotsURL string
	Group     string
	Line      int
	Rule      string
	// Detail says more in words of ours: "status 503", "the address asks for it with ..".
	Detail string
	// Header is the response header or meta element that decided, as it stands, cut at 200 bytes.
	Header string
}

// Verdict is a judgement with its grounds. The zero Verdict refuses.
type Verdict struct {
	Outcome Outcome
	Grounds []Ground // the first one decided; never empty in a verdict of Judge
	// Signals are what the site says about use, whatever became of it: the keys of Content-Signal as
	// they are ("ai-train": "no"), those of Content-Usage as "usage:train-ai", and "tdm", "tdm_policy",
	// "index", "follow", "noai", "nosnippet", "licence". What it does not speak about is absent.
	Signals map[string]string
	// NoIndex is true when the page asks not to be kept. NoFollow is true when its links are not to be
	// followed: it asks for it and the profile obeys.
	NoIndex, NoFollow bool
	Target            Target
	permit            Permit
}

// Allowed is true when the outcome is Allow.
func (v Verdict) Allowed() bool { return v.Outcome == Allow }

// Permit is the permit of an allowing verdict at stage Control or Fetch; else the zero Permit.
func (v Verdict) Permit() Permit { return v.permit }

// PermitLife is how long a Permit opens the fetcher.
const PermitLife = 3 * time.Second

// Permit opens the fetcher for one GET of one target. Only Judge makes one; the zero Permit opens nothing.
type Permit struct {
	target  Target
	profile *Profile
	cause   Cause
	stage   Stage
	country string
	expires time.Time
}

// Target is what may be fetched; zero for the zero Permit.
func (p Permit) Target() Target { return p.target }

// Profile is the identity to fetch with.
func (p Permit) Profile() *Profile { return p.profile }

// Cause is why.
func (p Permit) Cause() Cause { return p.cause }

// Stage is Control or Fetch.
func (p Permit) Stage() Stage { return p.stage }

// Country is the exit asked for; "" is the default one.
func (p Permit) Country() string { return p.country }

// ValidAt is true while the permit opens the fetcher.
func (p Permit) ValidAt(now time.Time) bool { return !p.target.IsZero() && now.Before(p.expires) }

// Refusal is a refusing verdict as an error. It is the Err of the fault that the gate returns.
type Refusal struct{ Verdict Verdict }

func (r *Refusal) Error() string {
	if len(r.Verdict.Grounds) == 0 {
		return "refused"
	}
	return "refused: " + r.Verdict.Grounds[0].Reason
}
