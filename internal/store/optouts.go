package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

var _ gate.OptOuts = (*Store)(nil)

// OptOutEntry is what a site operator asked for: to stop, or to go slower, at a domain with its
// sub-domains or at a part of it.
type OptOutEntry struct {
	ID         string
	Domain     string
	PathPrefix string        // "" is the whole site
	Delay      time.Duration // 0 is stop
	Reason     string
	AskedBy    string
	EnteredAt  time.Time
}

// Name is the entry as the list shows it: "site.example/path".
func (e OptOutEntry) Name() string { return e.Domain + e.PathPrefix }

// kind is "stop" or "delay": a site may ask for both, and a delay never takes a stop back.
func (e OptOutEntry) kind() string {
	if e.Delay > 0 {
		return "delay"
	}
	return "stop"
}

// AddOptOut enters what an operator asked for; an entry of the same kind for the same domain and path
// is replaced. It holds on every replica within a second.
func (s *Store) AddOptOut(ctx context.Context, e OptOutEntry) (OptOutEntry, error) {
	e, err := goodOptOut(e)
	if err != nil {
		return OptOutEntry{}, err
	}
	err = s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		e.ID, e.EnteredAt = billing.NewID("opt"), timeOf(now)
		if _, err := tx.ExecContext(ctx, "DELETE FROM opt_outs WHERE domain = $1 AND path_prefix = $2 AND kind = $3", e.Domain, e.PathPrefix, e.kind()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO opt_outs (id, domain, path_prefix, kind, delay_ms, reason, asked_by, entered_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.ID, e.Domain, e.PathPrefix, e.kind(), e.Delay.Milliseconds(), e.Reason, e.AskedBy, now)
		if err != nil {
			return err
		}
		return bump(ctx, tx, "opt_outs")
	})
	if err != nil {
		return OptOutEntry{}, fmt.Errorf("enter the opt-out: %w", err)
	}
	s.stops.forget()
	return e, nil
}

// bump tells replicas that a list they hold has changed.
func bump(ctx context.Context, tx *sql.Tx, list string) error {
	_, err := tx.ExecContext(ctx, "UPDATE revisions SET value = value + 1 WHERE name = $1", list)
	return err
}

func goodOptOut(e OptOutEntry) (OptOutEntry, error) {
	domain, err := Domain(e.Domain)
	if err != nil {
		return e, err
	}
	if e.PathPrefix != "" && (!strings.HasPrefix(e.PathPrefix, "/") || len(e.PathPrefix) > 2048) {
		return e, badField("path", "write a path that begins with / and has at most 2048 characters")
	}
	if e.PathPrefix == "/" {
		e.PathPrefix = ""
	}
	if e.Delay < 0 || e.Delay > 0 && e.Delay < time.Millisecond || e.Delay > 24*time.Hour {
		return e, badField("delay", "write a time between 1ms and 24h, or none to stop")
	}
	e.Domain, e.Reason, e.AskedBy = domain, cut(e.Reason, 500), cut(e.AskedBy, 200)
	return e, nil
}

// Domain is a domain as hosts are written here: lower case, A-labels, no trailing dot. A URL is
// refused, so that nobody believes its path counts.
func Domain(raw string) (string, error) {
	name := strings.TrimSuffix(strings.TrimSpace(raw), ".")
	if u, err := url.Parse("http://" + name); err != nil || name == "" || u.Host != name || u.Port() != "" {
		return "", fault.New(fault.InvalidRequest, fmt.Sprintf("%q is no domain: write it alone, as in site.example", cut(raw, 100)))
	}
	name = strings.Trim(name, "[]")
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		ascii = strings.ToLower(name) // an address, or a name with an underscore
	}
	if len(ascii) > 255 {
		return "", fault.New(fault.InvalidRequest, "A domain has at most 255 characters.")
	}
	return strings.ToLower(ascii), nil
}

// domainsOf are a host's own name and the domains above it, for looking up lists of domains.
func domainsOf(host string) []any {
	list := []any{host}
	for {
		_, above, ok := strings.Cut(host, ".")
		if !ok || above == "" {
			return list
		}
		list = append(list, above)
		host = above
	}
}

// RemoveOptOut takes entries back: by id, or by domain and path. It answers how many went.
func (s *Store) RemoveOptOut(ctx context.Context, idOrName string) (int64, error) {
	var removed int64
	err := s.tx(ctx, func(tx *sql.Tx) error {
		var err error
		removed, err = affected(ctx, tx, "DELETE FROM opt_outs WHERE id = $1 OR domain || path_prefix = $1", idOrName)
		if err != nil {
			return err
		}
		return bump(ctx, tx, "opt_outs")
	})
	if err != nil {
		return 0, fmt.Errorf("remove the opt-out: %w", err)
	}
	s.stops.forget()
	return removed, nil
}

// ListOptOuts are all entries, by domain and path.
func (s *Store) ListOptOuts(ctx context.Context) ([]OptOutEntry, error) {
	var list []OptOutEntry
	err := query(ctx, s.ro, `SELECT id, domain, path_prefix, delay_ms, reason, asked_by, entered_at FROM opt_outs
		ORDER BY domain, path_prefix`, nil, func(row *sql.Rows) error {
		var e OptOutEntry
		var delay, entered int64
		err := row.Scan(&e.ID, &e.Domain, &e.PathPrefix, &delay, &e.Reason, &e.AskedBy, &entered)
		e.Delay, e.EnteredAt = time.Duration(delay)*time.Millisecond, timeOf(entered)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the opt-outs: %w", err)
	}
	return list, nil
}

// optOutCache holds the list. Once a second it asks whether the list has changed.
type optOutCache struct {
	mu       sync.Mutex
	byDomain map[string][]OptOutEntry
	revision int64
	asked    time.Time
}

func (c *optOutCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDomain = nil
}

// OptOut is what site operators asked for about t; the answer is at most one second old.
func (s *Store) OptOut(ctx context.Context, t policy.Target) (policy.OptOut, error) {
	byDomain, err := s.optOuts(ctx)
	if err != nil {
		return policy.OptOut{}, fmt.Errorf("read the opt-outs: %w", err)
	}
	return match(byDomain, t), nil
}

func (s *Store) optOuts(ctx context.Context) (map[string][]OptOutEntry, error) {
	c := &s.stops
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.clock.Now()
	if c.byDomain != nil && isFresh(c.asked, now) {
		return c.byDomain, nil
	}
	var revision int64
	if err := s.ro.QueryRowContext(ctx, "SELECT value FROM revisions WHERE name = 'opt_outs'").Scan(&revision); err != nil {
		return nil, err
	}
	if c.byDomain == nil || revision != c.revision {
		list, err := s.ListOptOuts(ctx)
		if err != nil {
			return nil, err
		}
		c.byDomain = map[string][]OptOutEntry{}
		for _, e := range list {
			c.byDomain[e.Domain] = append(c.byDomain[e.Domain], e)
		}
	}
	c.revision, c.asked = revision, now
	return c.byDomain, nil
}

// match is what all entries for t together ask: a stop, and the longest delay.
func match(byDomain map[string][]OptOutEntry, t policy.Target) policy.OptOut {
	var asked policy.OptOut
	for _, domain := range domainsOf(t.Host()) {
		for _, e := range byDomain[domain.(string)] {
			if !covers(e.PathPrefix, t.URL()) {
				continue
			}
			asked.Delay = max(asked.Delay, e.Delay)
			if e.Delay == 0 && !asked.Stop {
				asked.Stop, asked.Entry, asked.Since = true, e.Name(), e.EnteredAt
			}
			if asked.Entry == "" {
				asked.Entry, asked.Since = e.Name(), e.EnteredAt
			}
		}
	}
	return asked
}

// covers is true when prefix covers u's path in any of the forms a server may read it in: as it
// stands, decoded, and with dot segments and double slashes resolved.
func covers(prefix string, u *url.URL) bool {
	if prefix == "" {
		return true
	}
	plain, err := url.PathUnescape(prefix)
	if err != nil {
		plain = prefix
	}
	raw := u.EscapedPath()
	if raw == "" {
		raw = "/"
	}
	if u.RawQuery != "" {
		raw += "?" + u.RawQuery
	}
	clean := path.Clean("/" + u.Path)
	for _, form := range []string{raw, u.Path, clean, clean + "/"} {
		if strings.HasPrefix(form, prefix) || strings.HasPrefix(form, plain) {
			return true
		}
	}
	return false
}
