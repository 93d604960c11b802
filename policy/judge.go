package policy

import (
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/policy/signals"
)

// The reasons of refusals that no site gives.
const (
	ReasonNoProfile       = "no_profile"
	ReasonNoCause         = "no_cause"
	ReasonNoTarget        = "no_target"
	ReasonNoStage         = "no_stage"
	ReasonUnknownStanding = "account_unknown"
	ReasonSuspended       = "account_suspended"
)

// The reasons of refusals that a site gives: the contract's reasons of blocked_by_site_policy.
const (
	ReasonOptOut        = "site_opt_out"
	ReasonUnreachable   = "robots_unreachable"
	ReasonDisallow      = "robots_disallow"
	ReasonCrawlDelay    = "crawl_delay"
	ReasonContentSignal = "content_signal"
	ReasonContentUsage  = "content_usage"
	ReasonTDM           = "tdm_reservation"
	ReasonNoAI          = "noai"
	ReasonNoIndex       = "noindex"
)

// Judge decides a case. It is the only place that makes a Permit. Where statements disagree the
// stricter one counts: every check that refuses adds its ground, and one ground is enough.
func Judge(c Case) Verdict {
	j := judgement{Case: c, verdict: Verdict{Target: c.Target}}
	if !j.complete() || !j.account() || !j.optOut() {
		return j.refuse()
	}
	if c.Stage == Control {
		j.allowed = Ground{Source: ByDefault, Detail: "robots.txt may always be asked for"}
		return j.allow()
	}
	j.robots()
	j.contentSignals()
	j.contentUsage()
	j.tdm()
	j.page()
	j.licences()
	if len(j.verdict.Grounds) > 0 {
		return j.refuse()
	}
	return j.allow()
}

// judgement is a case under way. Grounds of the verdict are refusing ones; allowed is the ground if
// none comes up.
type judgement struct {
	Case
	verdict Verdict
	allowed Ground
}

func (j *judgement) ground(g Ground) bool {
	j.verdict.Grounds = append(j.verdict.Grounds, g)
	return false
}

func (j *judgement) refuse() Verdict {
	j.verdict.Outcome = Refuse
	return j.verdict
}

func (j *judgement) allow() Verdict {
	v := j.verdict
	v.Outcome, v.Grounds = Allow, []Ground{j.allowed}
	if j.Stage != Use && j.Token == "" {
		v.permit = Permit{
			target: j.Target, profile: j.Profile, cause: j.Cause, stage: j.Stage, country: j.Country,
			expires: j.Now.Add(PermitLife),
		}
	}
	return v
}

// complete is the rule that nobody reaches a site without saying who, where, why and for what.
func (j *judgement) complete() bool {
	switch {
	case j.Profile == nil || j.Profile.Identity.Token == "":
		return j.ground(Ground{Source: ByHouse, Reason: ReasonNoProfile})
	case j.Target.IsZero():
		return j.ground(Ground{Source: ByHouse, Reason: ReasonNoTarget})
	case !j.Cause.complete():
		return j.ground(Ground{Source: ByHouse, Reason: ReasonNoCause})
	case j.Stage < Control || j.Stage > Use:
		return j.ground(Ground{Source: ByHouse, Reason: ReasonNoStage})
	}
	return true
}

func (c Cause) complete() bool {
	switch c.Kind {
	case CauseRead, CauseBatch, CauseCrawl, CauseWatch, CausePolicy:
		return c.ID != ""
	}
	return false
}

func (j *judgement) account() bool {
	switch j.Standing {
	case StandingGood:
		return true
	case StandingSuspended:
		return j.ground(Ground{Source: ByAccount, Reason: ReasonSuspended})
	}
	return j.ground(Ground{Source: ByAccount, Reason: ReasonUnknownStanding})
}

func (j *judgement) optOut() bool {
	if !j.OptOut.Stop {
		return true
	}
	g := Ground{Source: ByOptOut, Reason: ReasonOptOut, Rule: j.OptOut.Entry}
	if !j.OptOut.Since.IsZero() {
		g.Detail = "since " + j.OptOut.Since.UTC().Format("2006-01-02")
	}
	return j.ground(g)
}

func (j *judgement) token() string {
	if j.Token != "" {
		return j.Token
	}
	return j.Profile.Identity.Token
}

// robots applies RFC 9309 section 2.3.1: found, unavailable, unreachable.
func (j *judgement) robots() {
	r := j.Signals.Robots
	switch {
	case r.State == signals.RobotsFound && r.File != nil:
		j.rules(r)
	case r.State == signals.RobotsAbsent:
		j.absent(r)
	default:
		j.ground(Ground{Source: ByRobots, Reason: ReasonUnreachable, RobotsURL: r.URL, Detail: r.Why})
	}
}

func (j *judgement) absent(r signals.Robots) {
	g := Ground{Source: ByDefault, RobotsURL: r.URL, Detail: "there is no robots.txt"}
	closed := j.Profile.Robots.On4xx == Closed
	if r.Status == 401 || r.Status == 403 {
		g.Detail = "robots.txt is not shown to us"
		closed = closed || j.Profile.Robots.AuthErrors == AuthDisallows
	}
	if closed {
		g.Source, g.Reason = ByRobots, ReasonDisallow
		j.ground(g)
		return
	}
	j.allowed = g
}

// rules compares the path as it is requested, and as a server may read it once "." and ".." are
// resolved: a rule cannot be walked around.
func (j *judgement) rules(r signals.Robots) {
	d := r.File.Decide(j.token(), j.Target.PathQuery())
	detail := ""
	if plain := removeDots(j.Target.path); d.Allowed && plain != j.Target.path {
		if p := r.File.Decide(j.token(), plain+j.Target.query); !p.Allowed {
			d, detail = p, "the path means "+plain[:min(len(plain), 200)]
		}
	}
	g := Ground{Source: ByDefault, RobotsURL: r.URL, Group: d.Group, Detail: detail}
	switch d.Why {
	case signals.ByRule:
		g.Source, g.Line, g.Rule = ByRobots, d.Rule.Line, d.Rule.Text
	case signals.RobotsFile:
		g.Detail = "robots.txt may always be read"
	case signals.NoGroup:
		g.Detail = "no group of robots.txt is for us"
	case signals.NoRule:
		g.Detail = "no rule of the group matches"
	}
	if !d.Allowed {
		g.Reason = ReasonDisallow
		j.ground(g)
		return
	}
	j.allowed = g
	if j.Stage == Fetch && d.Why != signals.RobotsFile {
		j.crawlDelay(r)
	}
}

// crawlDelay refuses a host whose delay is over the cap of a profile that then leaves it.
func (j *judgement) crawlDelay(r signals.Robots) {
	gap := j.Profile.Gap(j.Cause, r, j.OptOut)
	if gap.Skip {
		j.ground(Ground{Source: ByRobots, Reason: ReasonCrawlDelay, RobotsURL: r.URL, Group: gap.Group,
			Line: gap.Line, Rule: gap.Text})
	}
}

// said is the ground for a statement of the site.
func (j *judgement) said(source Source, reason string, s signals.Said) {
	g := Ground{Source: source, Reason: reason}
	if s.From == signals.FromRobots {
		g.RobotsURL, g.Group, g.Line, g.Rule = j.Signals.Robots.URL, s.Group, s.Line, s.Text
	} else {
		g.Header = s.Text
	}
	j.ground(g)
}

func (j *judgement) report(key, value string) {
	if j.verdict.Signals == nil {
		j.verdict.Signals = map[string]string{}
	}
	j.verdict.Signals[key] = value
}

func (j *judgement) contentSignals() {
	said := j.Signals.ContentSignals(j.token(), j.Target.PathQuery())
	rules := &j.Profile.Signals
	for _, p := range []struct{ key, rule string }{
		{"ai-input", rules.ContentSignal.AIInput},
		{"ai-train", rules.ContentSignal.AITrain},
		{"search", rules.ContentSignal.Search},
	} {
		s, ok := said[p.key]
		if !ok {
			continue
		}
		j.report(p.key, s.Value)
		if s.Value == "no" && p.rule == RefuseWord {
			j.said(ByContentSignal, ReasonContentSignal, s)
		}
	}
	if s, ok := said["use"]; ok {
		j.report("use", s.Value)
		level := slices.Index(signals.UseLevels, rules.ContentUse)
		if rules.EnforceUse && slices.Index(signals.UseLevels, s.Value) < level {
			j.said(ByContentSignal, ReasonContentSignal, s)
		}
	}
}

func (j *judgement) contentUsage() {
	said := j.Signals.ContentUsage(j.token(), j.Target.PathQuery())
	for _, label := range []string{"search", "train-ai"} {
		s, ok := said[label]
		if !ok {
			continue
		}
		j.report("usage:"+label, s.Value)
		if s.Value == "n" && slices.Contains(j.Profile.Signals.UsagePurposes, label) {
			j.said(ByContentUsage, ReasonContentUsage, s)
		}
	}
}

func (j *judgement) tdm() {
	t := j.Signals.TDM(j.Target.PathQuery())
	if t.Policy != "" {
		j.report("tdm_policy", t.Policy)
	}
	if t.State == signals.TDMUnset {
		return
	}
	j.report("tdm", string(t.State))
	if t.State == signals.TDMReserved && j.Profile.Signals.TDM == RefuseWord {
		j.said(ByTDM, ReasonTDM, t.Said)
	}
}

// page judges what the page says about itself: X-Robots-Tag and meta robots.
func (j *judgement) page() {
	p := j.Signals.PageRobots(j.token(), j.Now)
	rules := &j.Profile.Signals
	for _, s := range []struct {
		said   signals.Said
		key    string
		value  string
		source Source
		reason string
		rule   string
	}{
		{p.NoAI, "noai", "yes", ByNoAI, ReasonNoAI, rules.NoAI},
		{p.NoIndex, "index", "no", ByPageRobots, ReasonNoIndex, rules.NoIndex},
		{p.NoFollow, "follow", "no", ByPageRobots, "", ""},
		{p.NoSnippet, "nosnippet", "yes", ByPageRobots, "", ""},
	} {
		if s.said.From == signals.FromNowhere {
			continue
		}
		j.report(s.key, s.value)
		if s.rule == RefuseWord || s.rule == Discard {
			j.said(s.source, s.reason, s.said)
		}
	}
	j.verdict.NoIndex = p.NoIndex.From != signals.FromNowhere
	j.verdict.NoFollow = p.NoFollow.From != signals.FromNowhere && rules.NoFollow == Obey
}

func (j *judgement) licences() {
	if l := j.Signals.Licences(j.Target.String()); len(l) > 0 {
		j.report("licence", strings.Join(l, " "))
	}
}
