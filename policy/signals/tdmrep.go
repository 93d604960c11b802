package signals

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// TDM is a site's reservation of text and data mining (W3C TDMRep).
type TDM struct {
	State  TDMState
	Policy string // address of the site's conditions; may be empty
	Said   Said   // what decided State
}

// TDMState is what a site says about mining.
type TDMState string

// The states of a reservation.
const (
	TDMUnset    TDMState = "unset"
	TDMOpen     TDMState = "open"
	TDMReserved TDMState = "reserved"
)

// TDM is what the file, the header and the meta elements say, each superseding the one before it
// where it says something.
func (s Set) TDM(pathQuery string) TDM {
	t := TDM{State: TDMUnset}
	if s.TDMFile != nil {
		t.file(s.TDMFile, pathQuery)
	}
	for _, v := range fields(s.Header, "TDM-Reservation") {
		t.reserve(v, Said{From: FromHeader, Text: headerText("TDM-Reservation", v)})
	}
	for _, v := range fields(s.Header, "TDM-Policy") {
		t.Policy = clip(trim(v))
	}
	for _, m := range s.Meta {
		switch lower(trim(m.Name)) {
		case "tdm-reservation":
			t.reserve(m.Content, Said{From: FromMeta, Text: m.text()})
		case "tdm-policy":
			t.Policy = clip(trim(m.Content))
		}
	}
	return t
}

// reserve sets the state. Within one place the reservation wins over its opposite; values other
// than 0 and 1 say nothing.
func (t *TDM) reserve(value string, said Said) {
	said.Value = trim(value)
	switch {
	case said.Value == "1":
		t.State, t.Said = TDMReserved, said
	case said.Value == "0" && (t.State != TDMReserved || t.Said.From != said.From):
		t.State, t.Said = TDMOpen, said
	}
}

func (t *TDM) file(f *TDMFile, pathQuery string) {
	path := normalPath(pathQuery)
	for i := range f.rules {
		r := &f.rules[i]
		if r.location.matches(path) {
			t.reserve(r.reservation, Said{From: FromFile, Text: r.text})
			t.Policy = r.policy
			return
		}
	}
}

// TDMFile is a parsed /.well-known/tdmrep.json: rules of which the first that matches counts.
type TDMFile struct{ rules []tdmRule }

type tdmRule struct {
	location            pattern
	reservation, policy string
	text                string
}

const (
	maxTDMFile  = MaxRobots
	maxTDMRules = 10_000
)

// ParseTDM reads a tdmrep.json. A file that is not an array of objects says nothing and is an error;
// an entry of it that makes no sense is skipped.
func ParseTDM(body []byte) (*TDMFile, error) {
	if len(body) > maxTDMFile {
		return nil, fmt.Errorf("tdmrep.json has %d bytes: at most %d are read", len(body), maxTDMFile)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, errors.New("tdmrep.json is not a JSON array")
	}
	f := new(TDMFile)
	for _, raw := range entries[:min(len(entries), maxTDMRules)] {
		if r, ok := parseTDMRule(raw); ok {
			f.rules = append(f.rules, r)
		}
	}
	return f, nil
}

func parseTDMRule(raw json.RawMessage) (tdmRule, bool) {
	var e struct {
		Location    string          `json:"location"`
		Reservation json.RawMessage `json:"tdm-reservation"`
		Policy      json.RawMessage `json:"tdm-policy"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Location == "" {
		return tdmRule{}, false
	}
	value := strings.Trim(string(e.Reservation), `"`)
	var address string
	_ = json.Unmarshal(e.Policy, &address) // a policy that is no text is none; the reservation stands
	return tdmRule{location: compile(e.Location), reservation: value, policy: clip(address),
		text: clip("tdmrep.json: " + e.Location + " tdm-reservation=" + value)}, true
}
