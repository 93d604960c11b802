package policy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/dom"
)

type profileVector struct {
	ID, Profile, Kind, Note string
	Input                   struct {
		Robots   string `json:"robots_txt"`
		Requests []timed
		Date     string
		From, To string
		TimeZone string
		Status   int
		Failed   int     `json:"failed_attempts"`
		Base     float64 `json:"base_s"`
		Factor   float64
		After    string `json:"retry_after"`
		Now      *time.Time
		Window   [2]string
		At       time.Time
		Last     *time.Time
		HTML     string
		Headers  map[string]string
	}
	Expect struct {
		UserAgent string `json:"user_agent"`
		Token     string
		MinDelay  float64 `json:"min_delay_s"`
		Line      int
		Permitted bool
		Rounds    int
		Retry     bool
		MinWait   float64 `json:"min_wait_s"`
		MayRun    bool    `json:"may_run"`
		Fetch     bool
		Keep      bool
		Follow    bool
	}
}

// elsewhere are kinds of vectors about code of other rooms: the gate sends validators, watches compare.
var elsewhere = map[string]string{"change": "internal/jobs", "conditional": "reader/gate"}

func TestProfiles_Vectors(t *testing.T) {
	checks := map[string]func(profileVector, *testing.T, *policy.Profile){
		"identity": profileVector.identity, "delay": profileVector.delay, "timeline": profileVector.timeline,
		"rounds": profileVector.rounds, "backoff": profileVector.backoff, "window": profileVector.window,
		"listing": profileVector.listing, "keep-follow": profileVector.keepFollow,
	}
	for _, v := range readVectors[profileVector](t, "profiles.json") {
		if elsewhere[v.Kind] != "" {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			check := checks[v.Kind]
			if check == nil {
				t.Fatalf("kind %q is not known to the test", v.Kind)
			}
			check(v, t, profileOf(t, v.Profile))
			if t.Failed() {
				t.Log(v.Note)
			}
		})
	}
}

func (v profileVector) identity(t *testing.T, p *policy.Profile) {
	if p.UserAgent() != v.Expect.UserAgent || v.Expect.Token != "" && p.Token() != v.Expect.Token {
		t.Errorf("user agent %q, token %q", p.UserAgent(), p.Token())
	}
}

func (v profileVector) delay(t *testing.T, p *policy.Profile) {
	g := p.Gap(policy.Cause{Kind: policy.CauseCrawl}, found(v.Input.Robots), policy.OptOut{})
	if g.Gap.Seconds() != v.Expect.MinDelay || g.Line != v.Expect.Line {
		t.Errorf("gap %s by line %d, want %g s by line %d", g.Gap, g.Line, v.Expect.MinDelay, v.Expect.Line)
	}
}

// timed is one request of a timeline.
type timed struct {
	Host       string
	Start, End float64
}

func (r *timed) UnmarshalJSON(b []byte) error {
	var raw struct {
		Host  string
		Start float64 `json:"start_s"`
		End   float64 `json:"end_s"`
	}
	err := json.Unmarshal(b, &raw)
	*r = timed(raw)
	return err
}

func (v profileVector) timeline(t *testing.T, p *policy.Profile) {
	err := lawful(t, p, found(v.Input.Robots), v.Input.Requests)
	if (err == nil) != v.Expect.Permitted {
		t.Errorf("permitted %v (%v), want %v", err == nil, err, v.Expect.Permitted)
	}
}

// lawful is nil when the requests keep the gaps and the numbers under way that the profile's pace keys
// demand.
func lawful(t *testing.T, p *policy.Profile, r signals.Robots, requests []timed) error {
	gap := p.Gap(policy.Cause{Kind: policy.CauseCrawl}, r, policy.OptOut{}).Gap.Seconds()
	for i, b := range requests {
		for _, a := range requests[:i] {
			same := p.PaceKey(target(t, "https://"+a.Host+"/")) == p.PaceKey(target(t, "https://"+b.Host+"/"))
			overlap := b.Start < a.End && a.Start < b.End
			switch {
			case same && b.Start-a.Start < gap:
				return fmt.Errorf("%g s after the one before", b.Start-a.Start)
			case overlap && (same || p.TotalKey() != ""):
				return fmt.Errorf("two under way at %g s", b.Start)
			}
		}
	}
	return nil
}

func (v profileVector) rounds(t *testing.T, p *policy.Profile) {
	loc, err := time.LoadLocation(v.Input.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	day, err := time.ParseInLocation("2006-01-02", v.Input.Date, loc)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Schedule.RoundsOn(day)); n != v.Expect.Rounds {
		t.Errorf("%d rounds, want %d", n, v.Expect.Rounds)
	}
}

func (v profileVector) backoff(t *testing.T, p *policy.Profile) {
	if p.Pace.Backoff.Base.Seconds() != v.Input.Base || p.Pace.Backoff.Factor != v.Input.Factor {
		t.Errorf("the profile backs off by %+v", p.Pace.Backoff)
	}
	at := now
	if v.Input.Now != nil {
		at = *v.Input.Now
	}
	wait, again := p.Again(v.Input.Status, v.Input.Failed, policy.ParseRetryAfter(v.Input.After, at))
	if again != v.Expect.Retry || wait.Seconds() < v.Expect.MinWait {
		t.Errorf("again %v after %s, want %v after %g s", again, wait, v.Expect.Retry, v.Expect.MinWait)
	}
}

func (v profileVector) window(t *testing.T, p *policy.Profile) {
	w := p.Schedule.Window
	if got := fmt.Sprintf("%s-%s %s", v.Input.Window[0], v.Input.Window[1], v.Input.TimeZone); got != w.String() {
		t.Errorf("the profile's window is %s", w)
	}
	if w.Open(v.Input.At) != v.Expect.MayRun {
		t.Errorf("open %v at %s", !v.Expect.MayRun, v.Input.At)
	}
}

func (v profileVector) listing(t *testing.T, p *policy.Profile) {
	var last time.Time
	if v.Input.Last != nil {
		last = *v.Input.Last
	}
	if p.Schedule.ListingDue(last, *v.Input.Now) != v.Expect.Fetch {
		t.Errorf("due %v", !v.Expect.Fetch)
	}
}

func (v profileVector) keepFollow(t *testing.T, p *policy.Profile) {
	c := fetchCase(t, "https://site.test/a", "")
	c.Stage, c.Profile, c.Signals.Header = policy.Use, p, http.Header{}
	for name, value := range v.Input.Headers {
		c.Signals.Header.Set(name, value)
	}
	c.Signals.Meta, c.Signals.Links = signals.Elements(dom.Parse([]byte(v.Input.HTML), dom.Limits{}))
	got := policy.Judge(c)
	if got.Allowed() != v.Expect.Keep || got.NoFollow == v.Expect.Follow {
		t.Errorf("kept %v, followed %v; want %v, %v", got.Allowed(), !got.NoFollow, v.Expect.Keep, v.Expect.Follow)
	}
}
