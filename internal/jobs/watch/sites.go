package watch

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
)

// Bounds of what a watch may hold.
const (
	MostSites  = 5000
	mostStarts = 20
	mostGlobs  = 50
	longGlob   = 500
	longName   = 200
	longURL    = 2048
	MostCSV    = 4 << 20 // bytes of a CSV file
	mostFaults = 20
)

// columns of a CSV file.
var columns = []string{"name", "start_url", "sitemap", "include", "exclude", "topics"}

// ParseCSV reads one site a line, under a header that names the columns. Where a cell holds several
// values, blanks or "|" part them. Its error names each line at fault.
func ParseCSV(text []byte) ([]Site, error) {
	if len(text) > MostCSV {
		return nil, badSites([]fault.Field{{Name: "body", Detail: fmt.Sprintf("the file has more than %d bytes", MostCSV)}})
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, badSites([]fault.Field{{Name: "body", Detail: "the file is not text in UTF-8: save it as CSV UTF-8"}})
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !bytes.Contains(text, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	comma, lines := commaOf(text), 0
	if m := separator.FindSubmatch(text); m != nil {
		text, comma, lines = text[len(m[0]):], rune(m[1][0]), 1
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace, r.Comma = -1, true, comma
	head, err := r.Read()
	if err != nil {
		return nil, badSites([]fault.Field{{Name: "line 1", Detail: "a header is missing: name,start_url,sitemap,include,exclude,topics"}})
	}
	at, bad := header(head)
	if bad != nil {
		return nil, badSites([]fault.Field{*bad})
	}
	return rowsOf(r, at, lines)
}

// separator is a first line by which spreadsheets tell each other what parts the cells.
var separator = regexp.MustCompile(`^(?i:sep)=([,;\t])\r?\n`)

// commaOf is what parts the cells: a comma, semicolon or tab, whichever the header has most of.
func commaOf(text []byte) rune {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	best := ','
	for _, c := range ";\t" {
		if bytes.Count(first, []byte(string(c))) > bytes.Count(first, []byte(string(best))) {
			best = c
		}
	}
	return best
}

func header(head []string) (map[string]int, *fault.Field) {
	at := map[string]int{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		known := false
		for _, c := range columns {
			known = known || c == name
		}
		if _, twice := at[name]; twice || !known {
			return nil, &fault.Field{Name: "line 1", Detail: fmt.Sprintf("the column %q is not known or stands there twice; the columns are name,start_url,sitemap,include,exclude,topics", short(name))}
		}
		at[name] = i
	}
	if _, ok := at["start_url"]; !ok {
		return nil, &fault.Field{Name: "line 1", Detail: "the column start_url is missing"}
	}
	return at, nil
}

// rowsOf reads the rows below the header; before counts the lines above it.
func rowsOf(r *csv.Reader, at map[string]int, before int) ([]Site, error) {
	var sites []Site
	var lines []string
	var faults []fault.Field
	for len(faults) < mostFaults {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 0
			var parse *csv.ParseError
			if errors.As(err, &parse) {
				line = parse.StartLine + before
			}
			faults = append(faults, fault.Field{Name: fmt.Sprintf("line %d", line), Detail: "it cannot be read as CSV: look at its quotes"})
			break
		}
		line, _ := r.FieldPos(0)
		name := fmt.Sprintf("line %d", line+before)
		if strings.TrimSpace(strings.Join(row, "")) == "" {
			continue
		}
		if len(row) > len(at) && strings.Join(row[len(at):], "") != "" {
			faults = append(faults, fault.Field{Name: name, Detail: "it has more cells than the header: put cells with a comma in quotes"})
			continue
		}
		site, bad := siteOf(row, at)
		if bad != "" {
			faults = append(faults, fault.Field{Name: name, Detail: bad})
			continue
		}
		sites, lines = append(sites, site), append(lines, name)
	}
	if len(faults) == 0 || len(sites) > 0 {
		faults = append(faults, faultsOf(sites, func(i int, field string) string { return lines[i] + ", " + field })...)
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b fault.Field) int { return lineOf(a.Name) - lineOf(b.Name) })
		return nil, badSites(faults[:min(len(faults), mostFaults)])
	}
	return sites, nil
}

// lineOf is the line that a fault names.
func lineOf(name string) int {
	n, _, _ := strings.Cut(strings.TrimPrefix(name, "line "), ",")
	line, _ := strconv.Atoi(n)
	return line
}

func siteOf(row []string, at map[string]int) (Site, string) {
	cell := func(name string) string {
		if i, ok := at[name]; ok && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	s := Site{
		Name: cell("name"), StartURLs: values(cell("start_url")), Include: values(cell("include")),
		Exclude: values(cell("exclude")), Topics: values(cell("topics")),
	}
	switch word := strings.ToLower(cell("sitemap")); word {
	case "true", "yes", "1", "ja", "igen":
		s.Sitemap = true
	case "", "false", "no", "0", "nee", "nem":
	default:
		return s, fmt.Sprintf("sitemap: %q is neither true nor false", short(word))
	}
	return s, ""
}

func values(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r == '|' || r == ' ' || r == '\t' || r == '\n' })
}

// Check is nil, or a fault that names each field at fault, as in sites.3.start_urls.0.
func Check(sites []Site) error {
	if faults := faultsOf(sites, func(i int, field string) string { return fmt.Sprintf("sites.%d.%s", i, field) }); len(faults) > 0 {
		return badSites(faults)
	}
	return nil
}

// faultsOf are the first faults of sites, in their order.
func faultsOf(sites []Site, name func(i int, field string) string) []fault.Field {
	var faults []fault.Field
	if len(sites) == 0 {
		faults = append(faults, fault.Field{Name: "sites", Detail: "at least one site is needed"})
	}
	if len(sites) > MostSites {
		faults = append(faults, fault.Field{Name: "sites", Detail: fmt.Sprintf("at most %d sites fit in one watch", MostSites)})
		sites = nil
	}
	seen := map[string]int{}
	for i, s := range sites {
		bad := s.faults()
		for _, p := range Starts(s) {
			if first, twice := seen[p.Hash]; twice && first != i {
				bad["start_urls"] = "a start page of another site stands here again: " + name(first, "start_urls")
			}
			seen[p.Hash] = i
		}
		for _, field := range slices.Sorted(maps.Keys(bad)) {
			if len(faults) < mostFaults {
				faults = append(faults, fault.Field{Name: name(i, field), Detail: bad[field]})
			}
		}
	}
	return faults
}

func badSites(faults []fault.Field) error {
	return &fault.Error{Kind: fault.InvalidRequest, Fields: faults,
		Detail: fmt.Sprintf("The sites cannot be watched: %s: %s.", faults[0].Name, faults[0].Detail)}
}

func (s Site) faults() map[string]string {
	bad := map[string]string{}
	if len(s.StartURLs) == 0 || len(s.StartURLs) > mostStarts {
		bad["start_urls"] = fmt.Sprintf("give 1 to %d addresses", mostStarts)
	}
	for i, raw := range s.StartURLs[:min(len(s.StartURLs), mostStarts)] {
		t, err := policy.ParseTarget(raw)
		if err != nil {
			bad[fmt.Sprintf("start_urls.%d", i)] = strings.TrimSuffix(err.Error(), ".")
		} else if len(t.String()) > longURL {
			bad[fmt.Sprintf("start_urls.%d", i)] = fmt.Sprintf("a watched address has at most %d bytes", longURL)
		}
	}
	if len([]rune(s.Name)) > longName {
		bad["name"] = fmt.Sprintf("a name has at most %d characters", longName)
	}
	globs(bad, "include", s.Include)
	globs(bad, "exclude", s.Exclude)
	if len(s.Topics) > mostGlobs {
		bad["topics"] = fmt.Sprintf("give at most %d", mostGlobs)
	} else if _, err := topicsOf(s.Topics); err != nil {
		bad["topics"] = err.Error()
	}
	return bad
}

func globs(bad map[string]string, name string, list []string) {
	if len(list) > mostGlobs {
		bad[name] = fmt.Sprintf("give at most %d", mostGlobs)
	}
	for i, g := range list {
		if !strings.HasPrefix(g, "/") || len(g) > longGlob {
			bad[fmt.Sprintf("%s.%d", name, i)] = fmt.Sprintf("a pattern begins with / and has at most %d bytes, as in /subsidies/**", longGlob)
		}
	}
}

// topicsOf are the topics of a site: words, which may be parts of longer ones, and path patterns.
func topicsOf(list []string) (*policy.Topics, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var words, paths []string
	for _, w := range list {
		switch {
		case len(w) > longGlob:
			return nil, fmt.Errorf("a topic has at most %d bytes", longGlob)
		case strings.HasPrefix(w, "/"):
			paths = append(paths, w)
		case strings.Contains(w, "*"):
			words = append(words, w)
		default:
			words = append(words, "*"+w+"*")
		}
	}
	return policy.NewTopics(words, paths)
}

func short(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 40)])
}
