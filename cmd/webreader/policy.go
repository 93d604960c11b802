package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

type policyCmd struct {
	URL    string `arg:"" help:"Address of the page."`
	Robots string `help:"Decide offline by this robots.txt; - is standard input." placeholder:"FILE"`
	Token  string `help:"With --robots: decide for this product token instead of the profile's." placeholder:"TOKEN"`
	JSON   bool   `help:"Print the decision as JSON."`

	engineFlags
}

// Help is shown by --help.
func (policyCmd) Help() string {
	return `The page itself is never requested. Ends with 0 when it may be read, with 3 when not.

Examples:

  webreader policy https://example.com/news
  webreader policy https://example.com/news --robots draft.txt --token ExampleBot`
}

// Run prints the decision.
func (c policyCmd) Run(a *app) error {
	target, err := policy.ParseTarget(c.URL)
	if err != nil {
		return a.report(badURL(err), c.JSON, "")
	}
	profile, err := loadProfile(a.setting)
	if err != nil {
		return err
	}
	v, err := c.decide(a, target, profile)
	if err != nil {
		return a.report(err, c.JSON, "")
	}
	d := reader.DecisionOf(v)
	if err := c.print(a.Out, d); err != nil {
		return err
	}
	if !d.Allowed {
		return &reportedError{fault.New(fault.BlockedBySitePolicy, d.Reason)}
	}
	return nil
}

func (c policyCmd) decide(a *app, t policy.Target, p *policy.Profile) (policy.Verdict, error) {
	cause := policy.Cause{Kind: policy.CausePolicy, ID: billing.NewID("req"), Account: localAccount}
	if c.Robots != "" {
		return c.offline(a, t, p, cause)
	}
	if c.Token != "" {
		return policy.Verdict{}, usage("--token needs --robots FILE: a site is only ever asked under the profile's own name")
	}
	e, err := newEngine(a.setting, memoryRooms())
	if err != nil {
		return policy.Verdict{}, err
	}
	return e.gate.Decide(a.ctx, gate.Ask{Profile: p, Cause: cause, Target: t})
}

// mostDraft is the most of a robots.txt that is read, as of a site's own.
const mostDraft = 512_000

var tokenForm = regexp.MustCompile(`^[A-Za-z_-]*$`)

// offline judges by a file, as if it were the site's robots.txt. No group can name a token that is none, so
// that the groups for "*" count.
func (c policyCmd) offline(a *app, t policy.Target, p *policy.Profile, cause policy.Cause) (policy.Verdict, error) {
	if !tokenForm.MatchString(c.Token) {
		_, _ = fmt.Fprintf(a.Err, "webreader: warning: %q is no product token, which has letters, - and _ only (RFC 9309): the group for * counts\n", c.Token)
	}
	in, err := a.open(c.Robots)
	if err != nil {
		return policy.Verdict{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, mostDraft))
	if err != nil {
		return policy.Verdict{}, usage("cannot read %s: %s", c.Robots, err)
	}
	return policy.Judge(policy.Case{
		Stage: policy.Fetch, Profile: p, Cause: cause, Target: t, Standing: policy.StandingGood, Now: time.Now(), Token: c.Token,
		Signals: signals.Set{Robots: signals.Robots{State: signals.RobotsFound, URL: t.Robots().String(), Status: 200, File: signals.Parse(text)}},
	}), nil
}

// open is a file, or standard input for "-".
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("%s", err)
	}
	return f, nil
}

func (c policyCmd) print(w io.Writer, d reader.Decision) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(d)
	}
	_, err := fmt.Fprintln(w, decisionLine(d))
	return err
}

func badURL(err error) error {
	return &fault.Error{Kind: fault.InvalidRequest, Detail: err.Error(), Fields: []fault.Field{{Name: "url", Detail: err.Error()}}}
}
