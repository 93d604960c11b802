package reader

import "github.com/webreaderapi/webreader/policy"

// Decision is a verdict as the API and the command line show it: the ground that decided, and what the
// site said besides.
type Decision struct {
	Allowed   bool              `json:"allowed"`
	By        policy.Source     `json:"by"`
	Reason    string            `json:"reason,omitempty"`
	RobotsURL string            `json:"robots_url,omitempty"`
	Group     string            `json:"group,omitempty"`
	Line      int               `json:"line,omitempty"`
	Rule      string            `json:"rule,omitempty"`
	Header    string            `json:"header,omitempty"`
	Signals   map[string]string `json:"signals,omitempty"`
	Hops      []string          `json:"hops,omitempty"` // the targets on the way, the one asked for first
}

// DecisionOf shows v. The zero Verdict is a refusal by the house.
func DecisionOf(v policy.Verdict) Decision {
	d := Decision{Allowed: v.Allowed(), By: policy.ByHouse, Signals: v.Signals}
	if len(v.Grounds) == 0 {
		return d
	}
	g := v.Grounds[0]
	d.By, d.RobotsURL, d.Group, d.Line, d.Rule, d.Header = g.Source, g.RobotsURL, g.Group, g.Line, g.Rule, g.Header
	if !d.Allowed {
		d.Reason = g.Reason
	}
	return d
}
