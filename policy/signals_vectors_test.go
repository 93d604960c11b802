package policy_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
	"github.com/webreaderapi/webreader/reader/dom"
)

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*o = oneOrMore{s}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(o))
}

type signalVector struct {
	ID, Kind, Token, URL, HTML, Note string
	Robots                           *string              `json:"robots_txt"`
	Headers                          map[string]oneOrMore `json:"headers"`
	TDMRep                           json.RawMessage      `json:"tdmrep_json"`
	Config                           struct {
		Purposes      []string
		EnforceUse    bool     `json:"enforce_use"`
		ContentUse    string   `json:"content_use"`
		UsagePurposes []string `json:"usage_purposes"`
		TDM, NoAI     string
	}
	Expect struct {
		Verdict, Code, By string
		Line              int
		Signals, Usage    map[string]string
		TDM               string
		TDMPolicy         string `json:"tdm_policy"`
		Index, Follow     *bool
		NoAI, NoSnippet   bool
		RSL               []string
	}
}

// profile is webreaderapi with the vector's settings.
func (v signalVector) profile(t *testing.T) *policy.Profile {
	p := profileOf(t, "webreaderapi")
	p.Identity.Token = v.Token
	c := v.Config
	if c.Purposes != nil {
		word := map[bool]string{true: policy.RefuseWord, false: policy.Report}
		p.Signals.ContentSignal.AIInput = word[slices.Contains(c.Purposes, "ai-input")]
		p.Signals.ContentSignal.AITrain = word[slices.Contains(c.Purposes, "ai-train")]
		p.Signals.ContentSignal.Search = word[slices.Contains(c.Purposes, "search")]
	}
	p.Signals.EnforceUse, p.Signals.UsagePurposes = c.EnforceUse, c.UsagePurposes
	if c.ContentUse != "" {
		p.Signals.ContentUse = c.ContentUse
	}
	if c.TDM == "block" {
		p.Signals.TDM = policy.RefuseWord
	}
	if c.NoAI == "block" {
		p.Signals.NoAI = policy.RefuseWord
	}
	return p
}

func (v signalVector) set() signals.Set {
	s := signals.Set{Robots: signals.Robots{State: signals.RobotsAbsent, Status: 404}, Header: http.Header{}}
	if v.Robots != nil {
		s.Robots = found(*v.Robots)
	}
	for name, values := range v.Headers {
		for _, value := range values {
			s.Header.Add(name, value)
		}
	}
	if v.HTML != "" {
		s.Meta, s.Links = signals.Elements(dom.Parse([]byte(v.HTML), dom.Limits{}))
	}
	if v.TDMRep != nil {
		text := []byte(v.TDMRep)
		var broken string
		if json.Unmarshal(text, &broken) == nil {
			text = []byte(broken)
		}
		s.TDMFile, _ = signals.ParseTDM(text)
	}
	return s
}

var bySource = map[string]policy.Source{
	"robots": policy.ByRobots, "content-signal": policy.ByContentSignal, "content-usage": policy.ByContentUsage,
	"tdm": policy.ByTDM, "noai": policy.ByNoAI,
}

func TestSignals_Vectors(t *testing.T) {
	all := append(readVectors[signalVector](t, "signals.json"), readVectors[signalVector](t, "house-signals.json")...)
	for _, v := range all {
		t.Run(v.ID, func(t *testing.T) {
			c := fetchCase(t, v.URL, "")
			c.Stage, c.Profile, c.Signals = policy.Use, v.profile(t), v.set()
			got := policy.Judge(c)
			v.check(t, got)
			if t.Failed() {
				t.Log(v.Note)
			}
		})
	}
}

func (v signalVector) check(t *testing.T, got policy.Verdict) {
	if want := v.Expect.Verdict == "allow"; got.Allowed() != want {
		t.Fatalf("allowed %v, want %v; grounds %+v", got.Allowed(), want, got.Grounds)
	}
	if g := got.Grounds[0]; v.Expect.By != "" && (g.Source != bySource[v.Expect.By] || g.Line != v.Expect.Line) {
		t.Errorf("decided by %s line %d, want %s line %d", g.Source, g.Line, v.Expect.By, v.Expect.Line)
	}
	switch v.Kind {
	case "content-signal":
		v.same(t, got, v.Expect.Signals, "", "ai-input", "ai-train", "search", "use")
	case "content-usage":
		v.same(t, got, v.Expect.Usage, "usage:", "train-ai", "search")
	case "tdm":
		v.same(t, got, map[string]string{"tdm": orUnset(v.Expect.TDM), "tdm_policy": v.Expect.TDMPolicy}, "", "tdm", "tdm_policy")
	case "page-robots":
		v.page(t, got)
	case "licence":
		if have := strings.Fields(got.Signals["licence"]); !slices.Equal(have, v.Expect.RSL) {
			t.Errorf("licences %q, want %q", have, v.Expect.RSL)
		}
	default:
		t.Fatalf("kind %q is not known to the test", v.Kind)
	}
}

func orUnset(tdm string) string {
	if tdm == "unset" {
		return ""
	}
	return tdm
}

func (v signalVector) same(t *testing.T, got policy.Verdict, want map[string]string, prefix string, keys ...string) {
	if want == nil {
		return
	}
	have := map[string]string{}
	for _, k := range keys {
		if s := got.Signals[prefix+k]; s != "" {
			have[k] = s
		}
	}
	maps.DeleteFunc(want, func(_, s string) bool { return s == "" })
	if !maps.Equal(have, want) {
		t.Errorf("signals %v, want %v", have, want)
	}
}

func (v signalVector) page(t *testing.T, got policy.Verdict) {
	if v.Expect.Index != nil && got.NoIndex == *v.Expect.Index {
		t.Errorf("noindex %v", got.NoIndex)
	}
	if v.Expect.Follow != nil && got.NoFollow == *v.Expect.Follow {
		t.Errorf("nofollow %v", got.NoFollow)
	}
	if v.Expect.NoSnippet != (got.Signals["nosnippet"] != "") {
		t.Errorf("nosnippet %q", got.Signals["nosnippet"])
	}
	if v.Expect.NoAI && got.Signals["noai"] == "" {
		t.Error("noai is not told")
	}
}
