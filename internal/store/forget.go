package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
)

// Forgotten is what went at a site operator's request, table by table.
type Forgotten struct {
	Domain string
	Tables []ForgottenRows
}

// ForgottenRows is what happened to a table's rows.
type ForgottenRows struct {
	Table string
	What  string // in plain words
	Rows  int64
}

// forgetting is what forgetting a domain does to one table.
type forgetting struct {
	table, what string
	column      string // the one that names the host
	set         string // what its rows are changed to, with {now} and {find}; empty deletes them
	kept        string // why the rows stay as they are; empty for all others
}

// forgettings are all tables that can name a site. A test compares the list with the schema: a table
// with a column for a host, a URL, a domain or an authority must be here.
var forgettings = []forgetting{
	{table: "robots", column: "host", what: "robots.txt copies deleted"},
	{table: "hosts", column: "host", what: "pace rows deleted"},
	{table: "reads", column: "url_host", what: "reads and receipts: the host was blanked, the charge stays",
		set: "url_host = ''"},
	{table: "fetch_log", column: "host", what: "fetch log rows cut down to host, time, path, status, outcome, user agent, egress, " +
		"customer and request id, which are kept until the log's retention ends, so that a report can still be checked",
		set: "forgotten_at = {now}, remote = '', bytes = 0, duration_ms = 0, " +
			"url = CASE WHEN {find}(url, '?') > 0 THEN substr(url, 1, {find}(url, '?') - 1) ELSE url END"},
	{table: "frontier", column: "host", what: "queued URLs of jobs deleted"},
	{table: "results", column: "host", what: "sealed results of jobs deleted"},
	{table: "jobs", column: "scope_host", what: "crawls of the site ended",
		set: "reason = CASE WHEN status = 'running' THEN 'site_forgotten' ELSE reason END, " +
			"finished_at = CASE WHEN status = 'running' THEN {now} ELSE finished_at END, " +
			"expires_at = CASE WHEN status = 'running' THEN {now} ELSE expires_at END, " +
			"status = CASE WHEN status = 'running' THEN 'failed' ELSE status END, scope_host = ''"},
	{table: "deliveries", column: "url", kept: "a customer's own address, which the customer gave; events about the site are deleted"},
	{table: "watch_pages", column: "host", what: "watched pages with their fingerprints deleted"},
	{table: "watch_sites", column: "host", what: "watched sites deleted"},
	{table: "watch_changes", column: "host", what: "sealed changes deleted"},
	{table: "watch_skips", column: "host", what: "notes of rounds deleted"},
	{table: "watches", column: "webhook_url", kept: "a customer's own address, which the customer gave"},
	{table: "accounts", column: "webhook_url", kept: "a customer's own address, which the customer gave"},
	{table: "opt_outs", column: "domain", kept: "what keeps us away"},
	{table: "tombstones", column: "domain", kept: "what keeps it forgotten"},
}

// Forget removes everything held about a domain and its sub-domains, and leaves a tombstone, so that
// nothing learnt before comes back.
func (s *Store) Forget(ctx context.Context, rawDomain, askedBy string) (Forgotten, error) {
	domain, err := Domain(rawDomain)
	if err != nil {
		return Forgotten{}, err
	}
	if domain == "" {
		return Forgotten{}, fault.New(fault.InvalidRequest, "Name the domain to forget.")
	}
	var f Forgotten
	err = s.tx(ctx, func(tx *sql.Tx) error {
		f = Forgotten{Domain: domain}
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO tombstones (domain, asked_by, forgotten_at) VALUES ($1, $2, $3)
			ON CONFLICT (domain) DO UPDATE SET asked_by = excluded.asked_by, forgotten_at = excluded.forgotten_at`,
			domain, cut(askedBy, 200), now); err != nil {
			return err
		}
		for _, each := range forgettings {
			if each.kept != "" {
				continue
			}
			n, err := s.forgetIn(ctx, tx, each, domain, now)
			if err != nil {
				return fmt.Errorf("%s: %w", each.table, err)
			}
			f.Tables = append(f.Tables, ForgottenRows{each.table, each.what, n})
		}
		n, err := forgetEvents(ctx, tx, domain)
		f.Tables = append(f.Tables, ForgottenRows{"deliveries", "webhook events that name pages of the site deleted", n})
		return err
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget a domain: %w", err)
	}
	if err := s.purge(ctx); err != nil {
		return f, fmt.Errorf("the domain is forgotten, but its old rows may still lie in the database's files: %w", err)
	}
	return f, nil
}

// purge takes what was deleted out of the database's files as well: SQLite's write-ahead log is
// written back and cut off, PostgreSQL's dead rows are vacuumed.
func (s *Store) purge(ctx context.Context) error {
	if !s.postgres {
		var busy, frames, written int
		err := s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &written)
		if err == nil && busy != 0 {
			err = errors.New("a long read keeps the write-ahead log: forget it again later")
		}
		return err
	}
	for _, each := range forgettings {
		if each.kept == "" || each.table == "deliveries" {
			if _, err := s.db.ExecContext(ctx, "VACUUM "+each.table); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetEvents deletes webhook events, sent or not, that name an address of the domain.
func forgetEvents(ctx context.Context, tx *sql.Tx, domain string) (int64, error) {
	var ids []string
	err := query(ctx, tx, "SELECT id, body FROM deliveries", nil, func(row *sql.Rows) error {
		var id, body string
		err := row.Scan(&id, &body)
		if namesSite(body, domain) {
			ids = append(ids, id)
		}
		return err
	})
	for _, id := range ids {
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM deliveries WHERE id = $1", id)
		}
	}
	return int64(len(ids)), err
}

// namesSite is true when a text of the JSON body is an address of the domain or under it.
func namesSite(body, domain string) bool {
	d := json.NewDecoder(strings.NewReader(body))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		text, ok := token.(string)
		if !ok || !strings.Contains(text, "://") {
			continue
		}
		if t, err := policy.ParseTarget(text); err == nil && (t.Host() == domain || strings.HasSuffix(t.Host(), "."+domain)) {
			return true
		}
	}
}

// forgetIn does one table. Rows are of the domain when their host is it, or ends with a dot and it.
func (s *Store) forgetIn(ctx context.Context, tx *sql.Tx, f forgetting, domain string, now int64) (int64, error) {
	var a args
	text := "DELETE FROM " + f.table
	if f.set != "" {
		find := "instr"
		if s.postgres {
			find = "strpos"
		}
		text = "UPDATE " + f.table + " SET " + strings.NewReplacer("{find}", find, "{now}", strconv.FormatInt(now, 10)).Replace(f.set)
	}
	return affected(ctx, tx, text+" WHERE "+f.column+" = "+a.place(domain)+" OR "+isUnder(f.column, a.place("."+domain)), a...)
}
