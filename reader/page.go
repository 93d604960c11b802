package reader

import (
	"errors"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/markdown"
)

// Page is a page as the API shows it, but for what only a door knows: the URL as it was sent, the
// charge and the request's id. It has no String and no log form.
type Page struct {
	URL           string           `json:"url"`
	FinalURL      string           `json:"final_url"`
	CanonicalURL  string           `json:"canonical_url,omitempty"`
	Title         string           `json:"title,omitempty"`
	Byline        string           `json:"byline,omitempty"`
	SiteName      string           `json:"site_name,omitempty"`
	Language      string           `json:"language,omitempty"`
	Excerpt       string           `json:"excerpt,omitempty"`
	PublishedAt   string           `json:"published_at,omitempty"`
	ModifiedAt    string           `json:"modified_at,omitempty"`
	ContentType   string           `json:"content_type,omitempty"`
	Markdown      string           `json:"markdown,omitempty"`
	Text          string           `json:"text,omitempty"`
	HTML          string           `json:"html,omitempty"`
	Links         []markdown.Link  `json:"links,omitzero"`
	Images        []markdown.Image `json:"images,omitzero"`
	Fingerprint   string           `json:"fingerprint,omitempty"`
	Unchanged     bool             `json:"unchanged,omitempty"`
	Tokens        int              `json:"tokens"`
	Truncated     bool             `json:"truncated"`
	TargetStatus  int              `json:"target_status"`
	FetchedAt     time.Time        `json:"fetched_at"`
	Decision      Decision         `json:"decision"`
	Warnings      []string         `json:"warnings"`
	HiddenRemoved int              `json:"hidden_removed,omitempty"`
}

// Charge is what an answer cost, as the API shows it.
type Charge struct {
	Units   int    `json:"units"`
	Receipt string `json:"receipt,omitempty"`
}

// Answer is a Page with what its door knows of it: the whole page object of the API.
type Answer struct {
	Page
	Charge    Charge `json:"charge"`
	RequestID string `json:"request_id"`
}

// Decision is a verdict as the API shows it.
type Decision struct {
	Allowed   bool              `json:"allowed"`
	By        string            `json:"by"`
	Reason    string            `json:"reason,omitempty"`
	RobotsURL string            `json:"robots_url,omitempty"`
	Group     string            `json:"group,omitempty"`
	Line      int               `json:"line,omitempty"`
	Rule      string            `json:"rule,omitempty"`
	Header    string            `json:"header,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	Signals   map[string]string `json:"signals,omitempty"`
	Hops      []string          `json:"hops,omitempty"` // the addresses before the final one
}

// DecisionOf shows a verdict: its first ground decided.
func DecisionOf(v policy.Verdict) Decision {
	d := Decision{Allowed: v.Allowed(), By: string(policy.ByDefault), Signals: v.Signals}
	if len(v.Grounds) == 0 {
		if !d.Allowed {
			d.By = string(policy.ByHouse)
		}
		return d
	}
	g := v.Grounds[0]
	d.By, d.RobotsURL, d.Group, d.Line, d.Rule = string(g.Source), g.RobotsURL, g.Group, g.Line, g.Rule
	d.Header, d.Detail = g.Header, g.Detail
	if !d.Allowed {
		d.Reason = g.Reason
	}
	return d
}

// Decided is in the chain of a failed read's fault: the verdict that had allowed the request.
type Decided struct {
	Verdict policy.Verdict
	Err     error
}

func (d *Decided) Error() string {
	if d.Err == nil {
		return "allowed, then failed"
	}
	return d.Err.Error()
}

func (d *Decided) Unwrap() error { return d.Err }

// DecisionIn is the decision that a read's error carries: the one that refused it, or the one that had
// allowed what failed then.
func DecisionIn(err error) (Decision, bool) {
	if refusal, ok := errors.AsType[*policy.Refusal](err); ok {
		return DecisionOf(refusal.Verdict), true
	}
	if decided, ok := errors.AsType[*Decided](err); ok {
		return DecisionOf(decided.Verdict), true
	}
	return Decision{}, false
}
