package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// sqliteDriver is SQLite with arguments written as for PostgreSQL. To SQLite "$1" is a name, and names
// are looked up one by one: a statement of a thousand arguments takes half a million comparisons. "?1"
// is a number, and "?" the next one.
const sqliteDriver = "sqlite-numbered"

func init() { sql.Register(sqliteDriver, numbered{&sqlite.Driver{}}) }

type numbered struct{ driver.Driver }

// Open opens a connection.
func (d numbered) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return numberedConn{c.(sqliteConn)}, nil
}

// sqliteConn is what database/sql makes use of in a connection of SQLite's.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type numberedConn struct{ sqliteConn }

// Prepare prepares a statement.
func (c numberedConn) Prepare(text string) (driver.Stmt, error) {
	return c.sqliteConn.Prepare(numbers(text))
}

// PrepareContext prepares a statement.
func (c numberedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	return c.sqliteConn.PrepareContext(ctx, numbers(text))
}

// ExecContext runs a statement.
func (c numberedConn) ExecContext(ctx context.Context, text string, a []driver.NamedValue) (driver.Result, error) {
	return c.sqliteConn.ExecContext(ctx, numbers(text), a)
}

// QueryContext runs a query.
func (c numberedConn) QueryContext(ctx context.Context, text string, a []driver.NamedValue) (driver.Rows, error) {
	return c.sqliteConn.QueryContext(ctx, numbers(text), a)
}

// numbers is a statement with numbers for arguments: "?" for the next one, "?1" for one that came before.
// The next one has no name at all, which is best.
func numbers(text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	out := make([]byte, 0, len(text))
	highest := 0
	for i := 0; i < len(text); i++ {
		end := i + 1
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
		if text[i] != '$' || end == i+1 {
			out = append(out, text[i])
			continue
		}
		out = append(out, '?')
		if n, err := strconv.Atoi(text[i+1 : end]); err != nil || n != highest+1 {
			out = append(out, text[i+1:end]...)
			highest = max(highest, n)
		} else {
			highest = n
		}
		i = end - 1
	}
	return string(out)
}
