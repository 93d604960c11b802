package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// scope decides which links of a site are followed.
type scope struct {
	profile          *policy.Profile
	hosts            map[string]bool
	include, exclude *policy.Topics // nil is none
	topics           *policy.Topics // the site's own, nil is none
}

func newScope(p *policy.Profile, s Site) (*scope, error) {
	sc := &scope{profile: p, hosts: map[string]bool{}}
	for _, raw := range s.StartURLs {
		if t, err := policy.ParseTarget(raw); err == nil {
			sc.hosts[t.Host()] = true
		}
	}
	var err error
	if sc.topics, err = topicsOf(s.Topics); err != nil {
		return nil, err
	}
	if sc.include, err = pathsOf(s.Include); err != nil {
		return nil, err
	}
	sc.exclude, err = pathsOf(s.Exclude)
	return sc, err
}

func pathsOf(globs []string) (*policy.Topics, error) {
	if len(globs) == 0 {
		return nil, nil
	}
	return policy.NewTopics(nil, globs)
}

// holds is true for the hosts of the site.
func (s *scope) holds(t policy.Target) bool { return s.hosts[t.Host()] }

// related is true for where a start page may redirect: the site often answers under another of its names.
func (s *scope) related(t policy.Target) bool {
	if s.holds(t) {
		return true
	}
	for host := range s.hosts {
		if own, err := policy.ParseTarget("http://" + host + "/"); err == nil && own.RegistrableDomain() == t.RegistrableDomain() {
			return true
		}
	}
	return false
}

// kindOf says what a link leads to, and whether it is followed: a page or a document on the subject,
// of the site, that no search form made. from is what the page is that the link stands on.
func (s *scope) kindOf(l reader.Outlink, from PageKind) (PageKind, bool) {
	t := l.Target
	if l.NoFollow && s.profile.Signals.NoFollow == policy.Obey || !s.holds(t) || s.shuns(t) {
		return 0, false
	}
	ext := extension(t)
	if ext != "" && !webExtensions[ext] {
		return Document, slices.Contains(s.profile.Scope.Documents, ext) && s.document(l, from)
	}
	return Linked, s.onTopic(t, l.Text)
}

// shuns is true for what is not asked for, whatever its subject.
func (s *scope) shuns(t policy.Target) bool {
	return len(t.String()) > longURL || searches(t) || s.exclude != nil && s.exclude.Match(t, "")
}

// document: what the content of a page on the subject links to belongs to it, whatever it is called. A
// listing's documents must be on the subject themselves.
func (s *scope) document(l reader.Outlink, from PageKind) bool {
	return from == Linked && l.Kept || s.onTopic(l.Target, l.Text)
}

// onTopic: the profile's subject is a promise, which the site's own topics and patterns can only narrow.
func (s *scope) onTopic(t policy.Target, text string) bool {
	return s.profile.Topics().Match(t, text) && s.topics.Match(t, text) && (s.include == nil || s.include.Match(t, ""))
}

// webExtensions are endings of addresses that lead to pages. Other short endings are files.
var webExtensions = map[string]bool{
	"html": true, "htm": true, "xhtml": true, "shtml": true, "php": true, "asp": true, "aspx": true, "jsp": true, "jspx": true,
	"do": true, "cfm": true, "cgi": true, "pl": true, "md": true, "action": true, "page": true, "phtml": true,
}

// extension is the ending of the file that t names, in its path or, for scripts that serve files, in its
// query; empty for others.
func extension(t policy.Target) string {
	if ext := ending(t.Path()); ext != "" && !webExtensions[ext] {
		return ext
	}
	u := t.URL()
	if query, err := url.ParseQuery(u.RawQuery); err == nil {
		for _, all := range query {
			for _, v := range all {
				if ext := ending(v); files[ext] {
					return ext
				}
			}
		}
	}
	return ending(t.Path())
}

// files are endings that mean a file even where they stand in a query.
var files = map[string]bool{
	"pdf": true, "doc": true, "docx": true, "xls": true, "xlsx": true, "ods": true, "odt": true, "odp": true, "ppt": true, "pptx": true,
	"rtf": true, "zip": true, "csv": true, "xml": true, "jpg": true, "jpeg": true, "png": true, "gif": true, "svg": true, "webp": true,
	"mp3": true, "mp4": true, "ics": true, "epub": true, "txt": true, "7z": true, "rar": true, "gz": true,
}

func ending(name string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(path.Base(name)), "."))
	if len(ext) < 2 || len(ext) > 5 || strings.Trim(ext, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || strings.Trim(ext, "0123456789") == "" {
		return ""
	}
	return ext
}

// searchFields are names of a search form's fields.
var searchFields = map[string]bool{
	"q": true, "s": true, "query": true, "search": true, "searchterm": true, "searchword": true, "search_api_fulltext": true,
	"keyword": true, "keywords": true, "zoek": true, "zoekterm": true, "zoeken": true, "trefwoord": true, "keres": true,
	"kereses": true, "kulcsszo": true, "text": true, "term": true, "zoekwoord": true, "fulltext": true,
}

// searches is true for what a site's search form makes.
func searches(t policy.Target) bool {
	for part := range strings.SplitSeq(strings.Trim(t.Path(), "/"), "/") {
		switch strings.ToLower(part) {
		case "search", "zoeken", "zoek", "kereses", "zoekresultaten", "search-results":
			return true
		}
	}
	u := t.URL()
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil && searchFields[strings.ToLower(plain)] {
			return true
		}
	}
	return false
}

// keyOf is what makes two addresses the same page: all but the parameters that count visitors.
func keyOf(t policy.Target) string {
	full := strings.TrimPrefix(t.String(), t.Scheme()) // a site is often linked to under both schemes
	base, query, ok := strings.Cut(full, "?")
	if !ok {
		return full
	}
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(strings.ToLower(part), "=")
		if part != "" && !strings.HasPrefix(name, "utm_") && name != "fbclid" && name != "gclid" {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return base
	}
	return base + "?" + strings.Join(kept, "&")
}

func digest16(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
