package signals

import (
	"cmp"
	"slices"
	"strings"
)

// File is a parsed robots.txt. It is not changed after Parse and may be shared.
type File struct {
	Groups []Group
	// Records are the lines of other kinds that are read, in order: Crawl-delay, Content-Signal …
	Records []Record
	// Sitemaps and Licences are the values of the records of that name, which stand for the whole file.
	Sitemaps, Licences []string
	// Warnings say what could not be read, at most 100 of them.
	Warnings []Warning
	// Truncated is true when only the first 512,000 bytes were read.
	Truncated bool

	byAgent map[string][]member // lower-case product token or "*" → groups that name it, in order
	byKey   map[string][]int    // key → indexes of Records
	bytes   int                 // length of the text, which the strings of f keep
}

// Size is about how many bytes of memory f takes, for caches: a hostile file takes up to 15 MB.
func (f *File) Size() int {
	n := len(f.Records)*200 + (len(f.Sitemaps)+len(f.Licences))*16 + len(f.Warnings)*80 + f.bytes
	for i := range f.Groups {
		n += 100 + len(f.Groups[i].Agents)*50
		for j := range f.Groups[i].Rules {
			n += 160 + 16*len(f.Groups[i].Rules[j].match.pieces)
		}
	}
	return n
}

// Group is a run of user-agent lines and the rules after them.
type Group struct {
	Agents []Agent
	Rules  []Rule
	ranked []ranked // Rules by what decides first: most octets, then allow, then line
}

// ranked is a rule and the octets that its pattern starts with, kept close together: most rules are
// passed over by these alone.
type ranked struct {
	head string
	rule int32
}

// Agent is one user-agent line.
type Agent struct {
	Name string // product token as written, or "*"; without what follows the token
	Line int
}

// Rule is one allow or disallow line.
type Rule struct {
	Allow bool
	Value string // as written
	Line  int
	Text  string // the line without its comment, cut at 200 bytes
	match pattern
}

// Record is a line of another kind.
type Record struct {
	Key   string // lower case
	Value string
	Line  int
	Text  string
	// group is the index of the group the line stands in, -1 above all groups; from and to are those of
	// its user-agent lines that the line belongs to.
	group, from, to int
	said            scoped // of Content-Signal and Content-Usage
}

// Warning is a line that could not be read, and why.
type Warning struct {
	Line int
	Text string
}

// Why says what kind of reason a Decision has.
type Why uint8

// The reasons of a Decision.
const (
	NoGroup    Why = iota // no group names the token and there is none for "*": everything is allowed
	NoRule                // no rule of the group matches: allowed
	ByRule                // Rule decided
	RobotsFile            // robots.txt itself is always allowed
)

// Decision is what a robots.txt says about one path, and which line says so.
type Decision struct {
	Allowed   bool
	Why       Why
	Rule      Rule   // when Why is ByRule
	Group     string // the user-agent value of the group that counts: a token or "*"; "" for NoGroup
	GroupLine int
}

// Decide says whether the client with the product token may fetch pathQuery: the path of a URL and
// its query, from the first "/" (RFC 9309 section 2.2.2). Token is compared whole and without case.
func (f *File) Decide(token, pathQuery string) Decision {
	path := normalPath(pathQuery)
	if path == "/robots.txt" {
		return Decision{Allowed: true, Why: RobotsFile}
	}
	groups := f.groupsOf(token)
	if len(groups) == 0 {
		return Decision{Allowed: true}
	}
	d := Decision{Allowed: true, Why: NoRule}
	var best *Rule
	at := groups[0]
	for i, m := range groups {
		if i > 0 && m.group == groups[i-1].group {
			continue
		}
		r := f.Groups[m.group].first(path)
		if r != nil && (best == nil || r.before(best)) {
			best, at = r, m
		}
	}
	if best != nil {
		d.Allowed, d.Why, d.Rule = best.Allow, ByRule, *best
	}
	agent := f.Groups[at.group].Agents[at.agent]
	d.Group, d.GroupLine = agent.Name, agent.Line
	return d
}

// member is a group that names a token, and a user-agent line of it that does: the first of each run.
type member struct{ group, agent int }

// groupsOf are the groups whose rules count for token: all that name it, else all for "*" (section
// 2.2.1).
func (f *File) groupsOf(token string) []member {
	if g := f.byAgent[lower(token)]; len(g) > 0 {
		return g
	}
	return f.byAgent["*"]
}

// first is the rule of g that decides about path, or nil.
func (g *Group) first(path string) *Rule {
	for i := range g.ranked {
		r := &g.ranked[i]
		if strings.HasPrefix(path, r.head) && g.Rules[r.rule].match.matches(path) {
			return &g.Rules[r.rule]
		}
	}
	return nil
}

// before is true when r wins over o: more octets, then allow, then the earlier line.
func (r *Rule) before(o *Rule) bool {
	switch {
	case r.match.octets != o.match.octets:
		return r.match.octets > o.match.octets
	case r.Allow != o.Allow:
		return r.Allow
	}
	return r.Line < o.Line
}

// recordsOf are the records named key that count for token, and those above all groups, which are the
// site's default. A record belongs to the run of user-agent lines above it, or, after a rule, to all
// of its group: never to those below it.
func (f *File) recordsOf(token, key string) (own, site []*Record) {
	groups := f.groupsOf(token)
	for _, i := range f.byKey[key] {
		r := &f.Records[i]
		if r.group < 0 {
			site = append(site, r)
		} else if _, ok := r.in(groups); ok {
			own = append(own, r)
		}
	}
	return own, site
}

// groupOf is how the group of r is named for token; "" above all groups.
func (f *File) groupOf(r *Record, token string) string {
	m, ok := r.in(f.groupsOf(token))
	if !ok {
		return ""
	}
	return f.Groups[m.group].Agents[m.agent].Name
}

// in is the member of groups that r belongs to.
func (r *Record) in(groups []member) (member, bool) {
	i, _ := slices.BinarySearchFunc(groups, member{r.group, r.from}, func(a, b member) int {
		return cmp.Or(a.group-b.group, a.agent-b.agent)
	})
	if i == len(groups) || groups[i].group != r.group || groups[i].agent >= r.to {
		return member{}, false
	}
	return groups[i], true
}
