// Package gate applies policy to the world: it gathers what a site says (robots.txt, signals,
// opt-outs), asks policy.Judge, waits for the host's turn, judges again, fetches, and judges what
// came back. Nobody reaches a site but through Get.
package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/gate/internal/fetch"
)

// Config is what a Gate is made of. The first six are needed; zero limits take their defaults.
type Config struct {
	Clock     Clock
	Dialer    *netguard.Dialer
	Turns     Turns
	Robots    RobotsStore
	OptOuts   OptOuts
	Standings Standings
	Log       FetchLog

	RootCAs *x509.CertPool // nil is the system's

	Timeout          time.Duration // default 30 s: a read as a whole when it sets no end of its own
	TLSTimeout       time.Duration // default 5 s
	FirstByteTimeout time.Duration // default 10 s
	MaxBody          int64         // default 20 MB, after decompression
	MaxHTML          int           // default 8 MB
	MaxTags          int           // default 200,000
	Parses           int           // pages parsed at the same time; default the number of cores
	// RobotsRetry is how long an unreachable robots.txt is not asked for again; default 30 s. A longer
	// Retry-After of the site counts instead.
	RobotsRetry time.Duration
}

// DefaultTimeout is how long a read may take when neither it nor Config says otherwise.
const DefaultTimeout = 30 * time.Second

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxHTML <= 0 {
		c.MaxHTML = 8_000_000
	}
	if c.MaxTags <= 0 {
		c.MaxTags = 200_000
	}
	if c.Parses <= 0 {
		c.Parses = runtime.GOMAXPROCS(0)
	}
	if c.RobotsRetry <= 0 {
		c.RobotsRetry = 30 * time.Second
	}
	return c
}

func (c Config) validate() error {
	for name, missing := range map[string]bool{
		"Clock": c.Clock == nil, "Dialer": c.Dialer == nil, "Turns": c.Turns == nil, "Robots": c.Robots == nil,
		"OptOuts": c.OptOuts == nil, "Standings": c.Standings == nil, "Log": c.Log == nil,
	} {
		if missing {
			return fmt.Errorf("gate: Config.%s is not set", name)
		}
	}
	return nil
}

// Gate is the only way to a site. It is safe for use by many goroutines.
type Gate struct {
	cfg     Config
	fetcher *fetch.Fetcher
	flights flights
	files   files

	tdmFiles tdmFiles
	parsing  chan struct{} // as many tokens as pages may be parsed at once
}

// New makes a Gate.
func New(c Config) (*Gate, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	f, err := fetch.New(fetch.Config{
		Now: c.Clock.Now, Dialer: c.Dialer, RootCAs: c.RootCAs, Timeout: c.Timeout,
		TLSTimeout: c.TLSTimeout, FirstByteTimeout: c.FirstByteTimeout, MaxBody: c.MaxBody,
	})
	if err != nil {
		return nil, err
	}
	return &Gate{cfg: c, fetcher: f, parsing: make(chan struct{}, c.Parses)}, nil
}

// Decide answers the verdict for a without requesting the page. It may request robots.txt. A refusal is
// a verdict, not an error; an error means that no verdict could be reached.
func (g *Gate) Decide(ctx context.Context, a Ask) (policy.Verdict, error) {
	r, ctx, end, err := g.begin(ctx, a)
	if err != nil {
		return policy.Verdict{}, err
	}
	defer end()
	_, v, err := r.judge(ctx, a.Target)
	return v, err
}

// Get reads one page. A refusing verdict comes with a *fault.Error whose Err is a *policy.Refusal.
// Beside other errors the verdict is that of the last request, which was allowed.
func (g *Gate) Get(ctx context.Context, a Ask) (Page, policy.Verdict, error) {
	r, ctx, end, err := g.begin(ctx, a)
	if err != nil {
		return Page{}, policy.Verdict{}, err
	}
	defer end()
	hop, err := r.follow(ctx)
	if err != nil {
		return r.broken(hop, err)
	}
	return r.use(ctx, hop)
}

// reading is one read under way: all its hops, robots.txt included.
type reading struct {
	*Gate
	ask   Ask
	began time.Time
	until time.Time
	turn  Turn            // the caller's, not spent yet
	wrote map[string]Turn // the turns of this read's last requests, by pace key: those after are its own hops
}

// HasExit is true when requests can leave from a country; "" is the default exit.
func (g *Gate) HasExit(country string) bool { return g.cfg.Dialer.HasExit(strings.ToLower(country)) }

// NoExit is the fault of an ask for a country that requests cannot leave from.
func NoExit() error {
	return &fault.Error{
		Kind: fault.InvalidRequest, Fields: []fault.Field{{Name: "country", Detail: "no exit is available in this country"}},
		Detail: "No exit is available in the country asked for. Leave country out, or ask for one that the operator offers.",
	}
}

// begin checks the ask and sets the end of the read, by the gate's clock and by the context.
func (g *Gate) begin(ctx context.Context, a Ask) (*reading, context.Context, func(), error) {
	r := &reading{Gate: g, ask: a, began: g.cfg.Clock.Now(), turn: a.Turn}
	fail := func(err error) (*reading, context.Context, func(), error) {
		r.giveBack(ctx)
		return nil, nil, nil, err
	}
	if a.Profile == nil || a.Target.IsZero() {
		return fail(errors.New("gate: an ask without profile or target"))
	}
	if !g.cfg.Dialer.HasExit(a.Country) {
		return fail(NoExit())
	}
	if !isLanguage(a.Language) {
		return fail(&fault.Error{
			Kind: fault.InvalidRequest, Fields: []fault.Field{{Name: "language", Detail: "not a list of language tags"}},
			Detail: "The language is not a list of language tags: write it like nl or nl,en;q=0.8.",
		})
	}
	if r.until = a.Until; r.until.IsZero() {
		r.until = r.began.Add(g.cfg.Timeout + a.Patience)
	}
	if deadline, ok := ctx.Deadline(); ok { // in real time, whatever the injected clock shows
		if by := r.began.Add(time.Until(deadline)); by.Before(r.until) {
			r.until = by
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.until.Sub(r.began))
	return r, ctx, func() { r.giveBack(ctx); cancel() }, nil
}

// giveBack ends the caller's turn if nothing spent it.
func (r *reading) giveBack(ctx context.Context) {
	if r.turn == nil {
		return
	}
	_ = endTurn(ctx, r.turn, time.Time{}) // it lapses by itself otherwise
	r.turn = nil
}

// isLanguage is true for what Accept-Language may hold, and for nothing.
func isLanguage(s string) bool {
	if len(s) > 200 {
		return false
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && c != '-' && c != ',' && c != ';' && c != '=' && c != '.' && c != '*' && c != ' ' {
			return false
		}
	}
	return true
}

// account gathers what concerns the account and the site operator's wishes; both at most a second old.
func (r *reading) account(ctx context.Context, stage policy.Stage, t policy.Target) (policy.Case, error) {
	c := policy.Case{Stage: stage, Profile: r.ask.Profile, Cause: r.ask.Cause, Target: t, Country: r.ask.Country}
	var err error
	if c.Standing, err = r.standing(ctx); err != nil {
		return c, fmt.Errorf("gate: the account's standing: %w", err)
	}
	if c.OptOut, err = r.cfg.OptOuts.OptOut(ctx, t); err != nil {
		return c, fmt.Errorf("gate: opt-outs: %w", err)
	}
	c.Now = r.cfg.Clock.Now()
	return c, nil
}

// standing: a question about policy needs no account, /bot/check has none.
func (r *reading) standing(ctx context.Context) (policy.Standing, error) {
	if r.ask.Cause.Kind == policy.CausePolicy && r.ask.Cause.Account == "" {
		return policy.StandingGood, nil
	}
	return r.cfg.Standings.Standing(ctx, r.ask.Cause.Account)
}

// judge gathers the facts about t and judges whether it may be fetched, asking for robots.txt if no
// valid copy is held. What refuses without robots.txt refuses before it is asked for.
func (r *reading) judge(ctx context.Context, t policy.Target) (policy.Case, policy.Verdict, error) {
	c, err := r.account(ctx, policy.Fetch, t)
	if err != nil {
		return c, policy.Verdict{}, err
	}
	c.Signals.Robots = signals.Robots{State: signals.RobotsAbsent, URL: t.Robots().String()}
	if v := policy.Judge(c); refusedByUs(v) {
		return c, v, nil
	}
	if c.Signals.Robots, err = r.robots(ctx, t); err != nil {
		if refusal, ok := errors.AsType[*policy.Refusal](err); ok {
			return c, refusal.Verdict, nil
		}
		return c, policy.Verdict{}, err
	}
	c, v, err := r.again(ctx, c)
	if err != nil || !v.Allowed() || r.ask.Profile.Signals.TDMFile != policy.FetchFile {
		return c, v, err
	}
	if c.Signals.TDMFile, err = r.tdm(ctx, t); err != nil {
		return c, policy.Verdict{}, err
	}
	return r.again(ctx, c)
}

// again judges c with fresh facts about the account and the operator's wishes.
func (r *reading) again(ctx context.Context, c policy.Case) (policy.Case, policy.Verdict, error) {
	now, err := r.account(ctx, c.Stage, c.Target)
	if err != nil {
		return c, policy.Verdict{}, err
	}
	now.Signals = c.Signals
	return now, policy.Judge(now), nil
}

// refusedByUs is true when the account, an opt-out or the house itself decided.
func refusedByUs(v policy.Verdict) bool {
	if v.Allowed() || len(v.Grounds) == 0 {
		return !v.Allowed()
	}
	switch v.Grounds[0].Source {
	case policy.ByAccount, policy.ByOptOut, policy.ByHouse:
		return true
	}
	return false
}
