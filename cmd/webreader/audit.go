package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/store"
)

type auditCmd struct {
	databaseFlags
	Host       string        `help:"Host that was asked." placeholder:"HOST"`
	SubDomains bool          `help:"Its sub-domains as well."`
	At         string        `help:"When, as in 2026-11-30T14:05:00Z or \"2026-11-30 14:05\" (UTC)." placeholder:"TIME"`
	Within     time.Duration `help:"How far around that time, or back from now without one (default 1m; 24h without --at)." placeholder:"DURATION"`
	Line       string        `help:"A line of the site's access log (common or combined format), or - to read it from stdin: gives the time and the path." placeholder:"LINE"`
	Limit      int           `help:"Most requests to show." default:"1000"`
	JSON       bool          `name:"json" help:"Print one JSON object a line."`
}

// Help is shown by --help.
func (auditCmd) Help() string {
	return "Says for each request: time, URL, status, user agent, where it left from, customer and request id. No page content\n" +
		"is kept. Exit 0 when a request was found, 1 when none was.\n\nExamples:\n\n" +
		"  webreader audit --host site.example --at 2026-11-30T14:05:00Z --within 2m\n" +
		"  grep suspicious access.log | head -1 | webreader audit --host site.example --line -"
}

// sighting is what a report says: when, and what was asked where it says so.
type sighting struct {
	host, path, agent string
	at                time.Time
}

// Run looks the requests up.
func (c *auditCmd) Run(a *app) error {
	seen, err := c.sighting(a.In)
	if err != nil {
		return err
	}
	q := c.query(seen)
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		found, err := s.Audit(ctx, q)
		if err != nil {
			return err
		}
		found = onPath(found, seen.path)
		if len(found) == 0 {
			return fmt.Errorf("no request of ours to %s between %s and %s%s is in the log; it was not us, or the log's retention has ended",
				q.Host, q.From.Format(time.RFC3339), q.To.Format(time.RFC3339), pathText(seen.path))
		}
		if err := c.print(a.Out, found); err != nil {
			return err
		}
		if seen.agent != "" && found[0].UserAgent != seen.agent {
			fmt.Fprintf(a.Err, "The line names the user agent %q; ours was %q: that request was somebody else's.\n", seen.agent, found[0].UserAgent)
		}
		if len(found) == c.Limit {
			fmt.Fprintf(a.Err, "There may be more: these are the first %d.\n", c.Limit)
		}
		return nil
	})
}

func pathText(path string) string {
	if path == "" {
		return ""
	}
	return " for " + path
}

// sighting is the report: from the flags, and from a log line where one is given.
func (c *auditCmd) sighting(in io.Reader) (sighting, error) {
	var seen sighting
	var err error
	if c.Line != "" {
		if seen, err = c.fromLine(in); err != nil {
			return seen, err
		}
	}
	if c.Host != "" {
		seen.host = c.Host
	}
	if seen.host == "" {
		return seen, usage("name the site: --host site.example")
	}
	if seen.host, err = store.Domain(seen.host); err != nil {
		return seen, err
	}
	if c.At != "" {
		seen.at, err = parseTime(c.At)
	}
	return seen, err
}

func (c *auditCmd) fromLine(in io.Reader) (sighting, error) {
	line := c.Line
	if line == "-" {
		read, err := bufio.NewReader(io.LimitReader(in, 64<<10)).ReadString('\n')
		if err != nil && err != io.EOF {
			return sighting{}, err
		}
		line = read
	}
	return parseLine(line)
}

func (c *auditCmd) query(seen sighting) store.AuditQuery {
	q := store.AuditQuery{Host: seen.host, SubDomains: c.SubDomains, Limit: c.Limit}
	within := c.Within
	if seen.at.IsZero() {
		if within <= 0 {
			within = 24 * time.Hour
		}
		q.To = time.Now().UTC()
		q.From = q.To.Add(-within)
		return q
	}
	if within <= 0 {
		within = time.Minute
	}
	// Log lines have whole seconds or minutes: what was within the last one counts.
	q.From, q.To = seen.at.Add(-within), seen.at.Add(within+time.Second-time.Millisecond)
	return q
}

var timeForms = []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "02/Jan/2006:15:04:05 -0700", "2006-01-02"}

// parseTime takes the usual forms; what names no zone is UTC.
func parseTime(text string) (time.Time, error) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, strings.Trim(text, "[] ")); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usage("%q is no time: write it like 2026-11-30T14:05:00Z or \"2026-11-30 14:05\"", text)
}

// logLine is a line of the common or combined format, perhaps with the virtual host in front.
var logLine = regexp.MustCompile(`^\s*(?:(\S+?)(?::\d+)?\s+)?\S+\s+\S+\s+\S+\s+\[([^\]]+)\]\s+"(?:[A-Z]+\s+)?([^"\s]*)[^"]*"(?:\s+\S+\s+\S+\s+"(?:[^"\\]|\\.)*"\s+"((?:[^"\\]|\\.)*)")?`)

func parseLine(line string) (sighting, error) {
	parts := logLine.FindStringSubmatch(strings.TrimSpace(line))
	if parts == nil {
		return sighting{}, usage("this is no line of the common or combined log format: give --host and --at instead")
	}
	at, err := parseTime(parts[2])
	if err != nil {
		return sighting{}, err
	}
	return sighting{host: parts[1], at: at, path: parts[3], agent: parts[4]}, nil
}

// onPath are the entries for the path; all of them when the report names none.
func onPath(list []store.LogEntry, path string) []store.LogEntry {
	if path == "" || path == "-" {
		return list
	}
	if u, err := url.Parse(path); err == nil && u.IsAbs() {
		path = u.RequestURI()
	}
	plain, _, _ := strings.Cut(path, "?")
	var found []store.LogEntry
	for _, e := range list {
		u, err := url.Parse(e.URL)
		if err == nil && (u.RequestURI() == path || e.Forgotten && u.EscapedPath() == plain) {
			found = append(found, e)
		}
	}
	return found
}

func (c *auditCmd) print(w io.Writer, list []store.LogEntry) error {
	if !c.JSON {
		for _, e := range list {
			fmt.Fprintf(w, "%s  %s  %s\n    as %s, from %s to %s, for account %s by %s %s (request %s), %s, %d bytes in %v\n",
				e.At.Format("2006-01-02T15:04:05.000Z"), statusText(e), e.URL, e.UserAgent, orDash(e.Egress), orDash(e.Remote),
				orDash(e.Cause.Account), e.Cause.Kind, orDash(e.Cause.ID), orDash(e.Cause.Request), e.Stage, e.Bytes, e.Duration)
		}
		return nil
	}
	enc := json.NewEncoder(w)
	for _, e := range list {
		if err := enc.Encode(auditJSON(e)); err != nil {
			return err
		}
	}
	return nil
}

func statusText(e store.LogEntry) string {
	if e.Status == 0 {
		return e.Outcome
	}
	return fmt.Sprint(e.Status)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func auditJSON(e store.LogEntry) any {
	return struct {
		At        time.Time `json:"at"`
		URL       string    `json:"url"`
		Host      string    `json:"host"`
		Status    int       `json:"status"`
		Outcome   string    `json:"outcome"`
		UserAgent string    `json:"user_agent"`
		Egress    string    `json:"egress"`
		Remote    string    `json:"remote"`
		Account   string    `json:"account"`
		Kind      string    `json:"kind"`
		Cause     string    `json:"cause"`
		Request   string    `json:"request_id"`
		Profile   string    `json:"profile"`
		Stage     string    `json:"stage"`
		Millis    int64     `json:"duration_ms"`
		Bytes     int64     `json:"bytes"`
		Forgotten bool      `json:"forgotten"`
	}{e.At, e.URL, e.Host, e.Status, e.Outcome, e.UserAgent, e.Egress, e.Remote, e.Cause.Account, string(e.Cause.Kind), e.Cause.ID,
		e.Cause.Request, e.Profile, e.Stage, e.Duration.Milliseconds(), e.Bytes, e.Forgotten}
}
