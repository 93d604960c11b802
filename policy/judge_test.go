package policy_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/dom"
)

// A case is a txtar archive: its comment has "key: value" lines (url, stage, cause, robots for a state
// without file, opt-out, standing), its files are profile.yaml, robots.txt, headers, page.html, and
// verdict: "allow" or "refuse", then a line for each thing that must hold.
func TestJudge_Cases(t *testing.T) {
	files, err := filepath.Glob("testdata/judge/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := splitArchive(string(text))
			c := readCase(t, a)
			want := strings.TrimSpace(a["verdict"])
			if got := describe(policy.Judge(c)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// splitArchive is the files of a txtar archive by name; its comment is the one named "".
func splitArchive(text string) map[string]string {
	files, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		if inner, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(inner, " --") {
			name = strings.TrimSuffix(inner, " --")
			continue
		}
		files[name] += line
	}
	return files
}

func readCase(t *testing.T, a map[string]string) policy.Case {
	c := fetchCase(t, "https://site.test/", "")
	if text := a["profile.yaml"]; text != "" {
		p, err := builtIn(t).Parse("profile.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Profile = p
	}
	if text := a["robots.txt"]; text != "" {
		c.Signals.Robots = found(text)
	}
	if text := a["headers"]; text != "" {
		c.Stage, c.Signals.Header = policy.Use, readHeader(text)
	}
	if text := a["page.html"]; text != "" {
		c.Stage = policy.Use
		c.Signals.Meta, c.Signals.Links = signals.Elements(dom.Parse([]byte(text), dom.Limits{}))
	}
	for line := range strings.Lines(a[""]) {
		if key, value, ok := strings.Cut(line, ": "); ok {
			setCase(t, &c, key, strings.TrimSpace(value))
		}
	}
	return c
}

func setCase(t *testing.T, c *policy.Case, key, value string) {
	switch key {
	case "url":
		c.Target = target(t, value)
	case "stage":
		c.Stage = map[string]policy.Stage{"control": policy.Control, "fetch": policy.Fetch, "use": policy.Use}[value]
	case "cause":
		c.Cause.Kind = policy.CauseKind(value)
	case "profile":
		c.Profile = profileOf(t, value)
	case "token":
		c.Token = value
	case "opt-out":
		c.OptOut = policy.OptOut{Stop: true, Entry: value, Since: now.Add(-24 * time.Hour)}
	case "standing":
		c.Standing = map[string]policy.Standing{"suspended": policy.StandingSuspended, "unknown": policy.StandingUnknown}[value]
	case "robots":
		c.Signals.Robots = robotsState(t, value)
	default:
		t.Fatalf("the case has an unknown key %q", key)
	}
}

// robotsState reads "status 503" or a reason of its own.
func robotsState(t *testing.T, value string) signals.Robots {
	r := signals.Robots{URL: "https://site.test/robots.txt", Why: value}
	if _, err := fmt.Sscanf(value, "status %d", &r.Status); err == nil {
		r.State = policy.RobotsState(r.Status)
	}
	return r
}

func readHeader(text string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Add(name, strings.TrimSpace(value))
		}
	}
	return h
}

func describe(v policy.Verdict) string {
	lines := []string{"refuse"}
	if v.Allowed() {
		lines = []string{"allow"}
	}
	if v.Permit().ValidAt(now) {
		lines[0] += " with a permit"
	}
	for _, g := range v.Grounds {
		lines = append(lines, ground(g))
	}
	for _, key := range slices.Sorted(mapKeys(v.Signals)) {
		lines = append(lines, key+"="+v.Signals[key])
	}
	if v.NoFollow {
		lines = append(lines, "links are not followed")
	}
	return strings.Join(lines, "\n")
}

func ground(g policy.Ground) string {
	s := string(g.Source)
	for _, p := range []string{g.Reason, g.Rule, g.Header, g.Detail} {
		if p != "" {
			s += " | " + p
		}
	}
	if g.Group != "" {
		s += fmt.Sprintf(" | line %d for %s", g.Line, g.Group)
	} else if g.Line > 0 {
		s += fmt.Sprintf(" | line %d", g.Line)
	}
	return s
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Whatever the case, there is a verdict with a ground; a permit only for a complete case at Control or
// Fetch that nothing speaks against; and a refusing one has none.
func TestJudge_AlwaysNamesItsGround(t *testing.T) {
	profiles := []*policy.Profile{nil, new(policy.Profile), profileOf(t, "webreaderapi"), profileOf(t, "subsidieupdate"), profileOf(t, "subvenio")}
	robots := []signals.Robots{
		{}, {State: signals.RobotsFound}, {State: signals.RobotsAbsent, Status: 404}, {State: signals.RobotsAbsent, Status: 403},
		{Why: "status 503", Status: 503}, found(""), found("User-agent: *\nDisallow: /\n"), found("User-agent: *\nAllow: /\n"),
		found("Content-Signal: ai-input=no\n"), found("User-agent: *\nContent-Usage: train-ai=n\nCrawl-delay: 100\n"), {State: 9},
	}
	headers := []http.Header{nil, {}, {"X-Robots-Tag": {"noindex, noai"}}, {"Content-Signal": {"ai-input=no"}}, {"Tdm-Reservation": {"1"}}}
	targets := []policy.Target{{}, target(t, "https://site.test/a"), target(t, "https://site.test/robots.txt")}
	kinds := []policy.CauseKind{"", "read", "batch", "crawl", "watch", "policy", "other"}
	rapid.Check(t, func(t *rapid.T) {
		c := policy.Case{
			Stage:    policy.Stage(rapid.IntRange(0, 4).Draw(t, "stage")),
			Profile:  rapid.SampledFrom(profiles).Draw(t, "profile"),
			Cause:    policy.Cause{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), ID: rapid.SampledFrom([]string{"", "req_1"}).Draw(t, "id")},
			Target:   rapid.SampledFrom(targets).Draw(t, "target"),
			Signals:  signals.Set{Robots: rapid.SampledFrom(robots).Draw(t, "robots"), Header: rapid.SampledFrom(headers).Draw(t, "header")},
			OptOut:   policy.OptOut{Stop: rapid.Bool().Draw(t, "stop")},
			Standing: policy.Standing(rapid.IntRange(0, 3).Draw(t, "standing")),
			Token:    rapid.SampledFrom([]string{"", "OtherBot"}).Draw(t, "token"),
			Now:      now,
		}
		v := policy.Judge(c)
		if len(v.Grounds) == 0 || v.Grounds[0].Source == "" {
			t.Fatalf("no ground: %+v", v)
		}
		if !v.Allowed() && v.Grounds[0].Reason == "" {
			t.Fatalf("a refusal without reason: %+v", v)
		}
		mayHave := v.Allowed() && (c.Stage == policy.Control || c.Stage == policy.Fetch) && c.Token == ""
		if v.Permit().ValidAt(now) != mayHave {
			t.Fatalf("permit %v, want %v", v.Permit().ValidAt(now), mayHave)
		}
		complete := c.Profile != nil && c.Profile.Token() != "" && !c.Target.IsZero() && c.Cause.Kind != "" && c.Cause.Kind != "other" &&
			c.Cause.ID != "" && c.Standing == policy.StandingGood && !c.OptOut.Stop && c.Stage >= policy.Control && c.Stage <= policy.Use
		if !complete && v.Allowed() {
			t.Fatalf("an incomplete case is allowed: %+v", c)
		}
		open := c.Signals.Robots.State == signals.RobotsAbsent || c.Signals.Robots.File != nil
		if complete && c.Stage != policy.Control && !open && v.Allowed() {
			t.Fatal("an unreachable robots.txt is a permission")
		}
	})
}

func TestJudge_PermitIsForThisRequestAndThreeSeconds(t *testing.T) {
	c := fetchCase(t, "https://site.test/a", "")
	c.Country = "nl"
	p := policy.Judge(c).Permit()
	if p.Target() != c.Target || p.Profile() != c.Profile || p.Cause() != c.Cause || p.Stage() != policy.Fetch || p.Country() != "nl" {
		t.Errorf("the permit is for something else: %+v", p)
	}
	if !p.ValidAt(now.Add(policy.PermitLife-1)) || p.ValidAt(now.Add(policy.PermitLife)) {
		t.Error("the permit does not end after its life")
	}
	if (policy.Permit{}).ValidAt(time.Time{}) || policy.Judge(policy.Case{}).Allowed() {
		t.Error("a zero value opens something")
	}
}

func TestGap_TheLongestCounts(t *testing.T) {
	const robots = "User-agent: *\nCrawl-delay: 10\nUser-agent: SubsidieUpdate\nCrawl-delay: 120\n"
	crawl, read := policy.Cause{Kind: policy.CauseCrawl}, policy.Cause{Kind: policy.CauseRead}
	for _, c := range []struct {
		profile string
		cause   policy.Cause
		asked   time.Duration
		want    time.Duration
		line    int
	}{
		{"webreaderapi", read, 0, 500 * time.Millisecond, 0},
		{"webreaderapi", crawl, 0, 10 * time.Second, 2},
		{"webreaderapi", read, 3 * time.Second, 3 * time.Second, 0},
		{"webreaderapi", crawl, 20 * time.Second, 20 * time.Second, 2},
		{"subsidieupdate", read, 0, 30 * time.Second, 4},
		{"subsidieupdate", crawl, 40 * time.Second, 40 * time.Second, 4},
		{"subvenio", read, 0, 10 * time.Second, 2},
	} {
		g := profileOf(t, c.profile).Gap(c.cause, found(robots), policy.OptOut{Delay: c.asked})
		if g.Gap != c.want || g.Line != c.line || g.Skip {
			t.Errorf("%+v: %+v", c, g)
		}
	}
}

func TestProfiles_AreWhatTheyPromise(t *testing.T) {
	w, su, sv := profileOf(t, "webreaderapi"), profileOf(t, "subsidieupdate"), profileOf(t, "subvenio")
	if w.UserAgent() != "WebReaderAPI-bot/1.0" || w.Token() != "WebReaderAPI-bot" || w.Identity.Contact != "" {
		t.Errorf("W00: %s, %+v", w.UserAgent(), w.Identity)
	}
	if su.UserAgent() != "SubsidieUpdate/1.0 (+https://www.subsidieupdate.nl/bot)" || sv.UserAgent() != "SubvenioBot/1.0 (+https://subvenio.hu/bot)" {
		t.Errorf("S01, B01: %s, %s", su.UserAgent(), sv.UserAgent())
	}
	if w.Pace.MinGap != 500*time.Millisecond || w.Pace.InFlight != 1 || w.Pace.OwnHops != policy.HopsFree || w.TotalKey() != "" {
		t.Errorf("webreaderapi: %+v", w.Pace)
	}
	if su.Pace.MinGap != 2*time.Second || su.Pace.OwnHops != policy.HopsCounted || su.Robots.CrawlDelay.Cap != 30*time.Second || su.Pace.Per != policy.PerHost {
		t.Errorf("S04, S08: %+v, %+v", su.Pace, su.Robots)
	}
	if sv.Pace.MinGap != 5*time.Second || sv.Pace.OwnHops != policy.HopsCounted || sv.TotalKey() != "profile:subvenio" || sv.Robots.RefetchOn[0] != policy.CrawlStart {
		t.Errorf("B03, B04: %+v, %+v", sv.Pace, sv.Robots)
	}
	for _, p := range []*policy.Profile{w, su, sv} {
		if p.Robots.MaxAge != 24*time.Hour || p.Signals.ContentSignal.AIInput != policy.RefuseWord || p.Answer.ExcerptChars != 280 {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
	plain, err := builtIn(t).Parse("x.yaml", []byte("name: plain\nidentity: { product_token: PlainBot }\n"))
	if err != nil || plain.Pace.MinGap != 0 || plain.Pace.InFlight != 1 {
		t.Errorf("the house floor sets a gap: %+v, %v", plain.Pace, err)
	}
}

func TestRobotsLife_IsNeverOverADay(t *testing.T) {
	for _, c := range []struct {
		profile, header string
		want            time.Duration
	}{
		{"webreaderapi", "", 24 * time.Hour},
		{"webreaderapi", "max-age=600", 10 * time.Minute},
		{"webreaderapi", "public, Max-Age=\"600\", stale-while-revalidate=9", 10 * time.Minute},
		{"webreaderapi", "max-age=1", 5 * time.Minute},
		{"webreaderapi", "no-store", 5 * time.Minute},
		{"webreaderapi", "no-cache, max-age=600", 5 * time.Minute},
		{"webreaderapi", "max-age=99999999", 24 * time.Hour},
		{"webreaderapi", "max-age=-1", 24 * time.Hour},
		{"webreaderapi", "max-age=99999999999999999999", 24 * time.Hour},
		{"subsidieupdate", "max-age=600", 24 * time.Hour},
		{"subsidieupdate", "no-cache", 24 * time.Hour},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set("Cache-Control", c.header)
		}
		if got := profileOf(t, c.profile).RobotsLife(h); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.profile, c.header, got, c.want)
		}
	}
	p := profileOf(t, "webreaderapi")
	const noon, ten = "Mon, 30 Nov 2026 12:00:00 GMT", "Mon, 30 Nov 2026 12:10:00 GMT"
	for _, c := range []struct {
		h    http.Header
		want time.Duration
	}{
		{http.Header{"Date": {noon}, "Expires": {ten}}, 10 * time.Minute}, {http.Header{"Date": {ten}, "Expires": {noon}}, 5 * time.Minute},
		{http.Header{"Expires": {ten}}, 24 * time.Hour}, {http.Header{"Date": {noon}, "Expires": {"0"}}, 24 * time.Hour},
		{http.Header{"Date": {noon}, "Expires": {ten}, "Cache-Control": {"public", "max-age=1200"}}, 20 * time.Minute},
	} {
		if got := p.RobotsLife(c.h); got != c.want {
			t.Errorf("%v: %s, want %s", c.h, got, c.want)
		}
	}
	p.Robots.MaxAge = 48 * time.Hour
	if p.RobotsLife(nil) != 24*time.Hour {
		t.Error("a profile can keep a copy for more than a day")
	}
}

func TestRobotsState_ByStatus(t *testing.T) {
	for status, want := range map[int]signals.RobotsState{
		0: signals.RobotsUnreachable, 100: signals.RobotsUnreachable, 200: signals.RobotsFound, 204: signals.RobotsFound,
		300: signals.RobotsUnreachable, 304: signals.RobotsUnreachable, 400: signals.RobotsAbsent, 401: signals.RobotsAbsent, 403: signals.RobotsAbsent,
		404: signals.RobotsAbsent, 410: signals.RobotsAbsent, 418: signals.RobotsAbsent, 429: signals.RobotsUnreachable,
		451: signals.RobotsAbsent, 500: signals.RobotsUnreachable, 503: signals.RobotsUnreachable, 599: signals.RobotsUnreachable,
		999: signals.RobotsUnreachable,
	} {
		if got := policy.RobotsState(status); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
	su, sv := profileOf(t, "subsidieupdate"), profileOf(t, "subvenio")
	for _, status := range []int{0, 429, 500} {
		if !su.SkipsRound(status) || sv.SkipsRound(status) {
			t.Errorf("%d: skipped %v, %v", status, su.SkipsRound(status), sv.SkipsRound(status))
		}
	}
	if su.SkipsRound(404) || su.SkipsRound(200) {
		t.Error("a host without robots.txt is skipped")
	}
}
