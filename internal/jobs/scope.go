package jobs

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
)

// What a crawl does with sitemaps.
const (
	SitemapInclude = "include"
	SitemapOnly    = "only"
	SitemapSkip    = "skip"
)

// Bounds of what a crawl follows.
const (
	mostDepth      = 30
	longestLink    = 2048
	mostParameters = 20
	mostRepeats    = 4 // of one segment in a path
	mostSitemaps   = 50
	mostGlobs      = 50
	longestGlob    = 500
)

// Rules are what a crawl was asked to stay within.
type Rules struct {
	Include    []string `json:"include,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
	Sitemap    string   `json:"sitemap,omitempty"`
	Subdomains bool     `json:"subdomains,omitempty"`
	MaxDepth   int      `json:"max_depth"`
}

// Validate is nil, or a fault InvalidRequest that names the field.
func (r Rules) Validate() error {
	for field, globs := range map[string][]string{"include": r.Include, "exclude": r.Exclude} {
		if len(globs) > mostGlobs {
			return badField(field, fmt.Sprintf("must hold at most %d patterns", mostGlobs))
		}
		for _, g := range globs {
			if _, err := compileGlob(g); err != nil {
				return badField(field, err.Error())
			}
		}
	}
	return nil
}

func badField(name, detail string) error {
	return &fault.Error{Kind: fault.InvalidRequest, Detail: name + " " + detail + ".", Fields: []fault.Field{{Name: name, Detail: detail}}}
}

// compileGlob makes an expression of a pattern for whole paths: "*" stands for anything within a
// segment, "**" for anything; "/a/**" is "/a" too. Expressions of this kind take linear time.
func compileGlob(glob string) (*regexp.Regexp, error) {
	if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "*") || len(glob) > longestGlob {
		return nil, fmt.Errorf("has a pattern that is no path; write it like /docs/** or /news/*, at most %d characters", longestGlob)
	}
	var b strings.Builder
	b.WriteString("^")
	rest, tail := glob, ""
	if head, ok := strings.CutSuffix(glob, "/**"); ok {
		rest, tail = head, "(/.*)?"
	}
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(.*/)?")
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString("[^/]*")
			rest = rest[1:]
		default:
			end := strings.IndexByte(rest, '*')
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	return regexp.Compile("(?s)" + b.String() + tail + "$")
}

// scope says which targets a crawl may request and which pages it delivers.
type scope struct {
	host, domain     string
	include, exclude []*regexp.Regexp
	maxDepth         int
}

func newScope(w Work) scope {
	s := scope{host: w.ScopeHost, maxDepth: mostDepth}
	if w.Rules.MaxDepth >= 0 {
		s.maxDepth = min(s.maxDepth, w.Rules.MaxDepth)
	}
	if w.Rules.Subdomains {
		s.domain = domainOf(w.ScopeHost)
	}
	s.include, s.exclude = compileGlobs(w.Rules.Include), compileGlobs(w.Rules.Exclude)
	return s
}

func compileGlobs(globs []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, g := range globs {
		if re, err := compileGlob(g); err == nil { // they were looked at when the job was made
			all = append(all, re)
		}
	}
	return all
}

func domainOf(host string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	t, err := policy.ParseTarget("http://" + host + "/")
	if err != nil {
		return host
	}
	return t.RegistrableDomain()
}

// onSite is true for targets of the site that is crawled.
func (s scope) onSite(t policy.Target) bool {
	return t.Host() == s.host || s.domain != "" && t.RegistrableDomain() == s.domain
}

// sameOwner is true for where a start page may lead by redirects.
func (s scope) sameOwner(t policy.Target) bool {
	return t.Host() == s.host || t.RegistrableDomain() == domainOf(s.host)
}

// wanted is true for paths that the crawl's patterns let through.
func (s scope) wanted(t policy.Target) bool {
	if matches(s.exclude, t) {
		return false
	}
	return len(s.include) == 0 || matches(s.include, t)
}

func matches(globs []*regexp.Regexp, t policy.Target) bool {
	plain, err := url.PathUnescape(t.Path())
	for _, g := range globs {
		if g.MatchString(t.Path()) || err == nil && g.MatchString(plain) {
			return true
		}
	}
	return false
}

// bounded is false for addresses that look like a trap: too long, too many parameters, a path that
// repeats itself.
func bounded(t policy.Target) bool {
	if len(t.String()) > longestLink {
		return false
	}
	path, query := splitQuery(t)
	if len(query) > mostParameters {
		return false
	}
	seen := map[string]int{}
	for segment := range strings.SplitSeq(path, "/") {
		if seen[segment]++; segment != "" && seen[segment] > mostRepeats {
			return false
		}
	}
	return true
}
