package signals

import (
	"net/http"
	"strings"
)

// Said is one statement of a site: a value and where it stands.
type Said struct {
	Value string
	From  From
	Line  int    // of robots.txt; else 0
	Group string // the group of robots.txt, as it names us: a token or "*"; "" above all groups
	Text  string // the line, header or element as it stands, cut at 200 bytes
}

// From says where a statement stands.
type From uint8

// The places of statements.
const (
	FromNowhere From = iota
	FromRobots
	FromHeader
	FromMeta
	FromFile // tdmrep.json
)

// scoped is a statement of robots.txt about some paths: those that match, or all when path is empty.
type scoped struct {
	path  pattern
	pairs []pair
}

type pair struct{ key, value string }

// parseScoped reads "[/path] statement", the path being a pattern as in rules.
func parseScoped(value string, parse func(string) []pair) scoped {
	var s scoped
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "*") {
		end := strings.IndexFunc(value, isBlank)
		if end < 0 {
			return s
		}
		s.path, value = compile(value[:end]), trim(value[end:])
	}
	s.pairs = parse(value)
	return s
}

func (s *scoped) covers(path string) bool { return s.path.empty() || s.path.matches(path) }

// strictest merges statements about keys: the longest path decides, and of equally long ones the
// stricter value, which order puts first.
type strictest struct {
	order  func(key, a, b string) bool // a is stricter than b
	said   map[string]Said
	octets map[string]int
}

func newStrictest(order func(key, a, b string) bool) *strictest {
	return &strictest{order: order, said: map[string]Said{}, octets: map[string]int{}}
}

func (m *strictest) add(key string, s Said, octets int) {
	old, known := m.said[key]
	if known && (octets < m.octets[key] || octets == m.octets[key] && !m.order(key, s.Value, old.Value)) {
		return
	}
	m.said[key], m.octets[key] = s, octets
}

// robots adds what f says for token about path. A line above all groups is the default for keys that
// no line of the groups speaks about.
func (m *strictest) robots(f *File, token, pathQuery, key string) {
	if f == nil || len(f.byKey[key]) == 0 {
		return
	}
	path := normalPath(pathQuery)
	own, site := f.recordsOf(token, key)
	m.records(f, own, token, path)
	byDefault := newStrictest(m.order)
	byDefault.records(f, site, token, path)
	for k, s := range byDefault.said {
		if _, known := m.said[k]; !known {
			m.said[k] = s
		}
	}
}

func (m *strictest) records(f *File, records []*Record, token, path string) {
	for _, r := range records {
		if !r.said.covers(path) {
			continue
		}
		for _, p := range r.said.pairs {
			m.add(p.key, Said{Value: p.value, From: FromRobots, Line: r.Line, Group: f.groupOf(r, token), Text: r.Text},
				r.said.path.octets)
		}
	}
}

// header adds a statement of a response header, which is about the page itself: it stands beside
// whatever robots.txt says, and the stricter of the two counts.
func (m *strictest) header(name, value string, pairs []pair) {
	for _, p := range pairs {
		s := Said{Value: p.value, From: FromHeader, Text: headerText(name, value)}
		if old, known := m.said[p.key]; !known || m.order(p.key, p.value, old.Value) {
			m.said[p.key] = s
		}
	}
}

func headerText(name, value string) string { return clip(name + ": " + value) }

// maxFields bounds how many fields of one name are read.
const maxFields = 50

func fields(h http.Header, name string) []string {
	v := h.Values(name)
	return v[:min(len(v), maxFields)]
}
