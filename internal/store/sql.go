package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// querier is a transaction, or the database where none is needed.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// The database's clock in milliseconds.
const (
	sqliteNow   = "CAST(unixepoch('subsec') * 1000 AS BIGINT)"
	postgresNow = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
)

// nowSQL is the one expression for now: the database's clock, so that replicas agree; a test's own
// clock where one was given.
func (s *Store) nowSQL() string {
	switch {
	case s.fixed != nil:
		return strconv.FormatInt(s.fixed.Now().UnixMilli(), 10)
	case s.postgres:
		return postgresNow
	}
	return sqliteNow
}

// now is nowSQL's value.
func (s *Store) now(ctx context.Context, q querier) (int64, error) {
	if s.fixed != nil {
		return s.fixed.Now().UnixMilli(), nil
	}
	var now int64
	err := q.QueryRowContext(ctx, "SELECT "+s.nowSQL()).Scan(&now)
	return now, err
}

// retries is how often a transaction is begun anew after a deadlock with another replica.
const retries = 8

// tx runs do in one transaction. It is begun anew when PostgreSQL broke it up to end a deadlock, so
// do must set what it answers from the start each time. On SQLite it is written with what others write
// at the same time.
func (s *Store) tx(ctx context.Context, do func(tx *sql.Tx) error) error {
	if !s.postgres {
		return s.commits.run(ctx, do)
	}
	for try := 1; ; try++ {
		err := s.tryTx(ctx, do)
		if err == nil || try == retries || !deadlocked(err) || ctx.Err() != nil {
			return err
		}
	}
}

// alone runs a single statement, which needs no transaction of its own.
func (s *Store) alone(ctx context.Context, do func(q querier) error) error {
	if s.postgres {
		return do(s.db)
	}
	return s.commits.run(ctx, func(tx *sql.Tx) error { return do(tx) })
}

// exec runs a single statement whose result nobody asks for.
func (s *Store) exec(ctx context.Context, text string, a ...any) error {
	return s.alone(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, text, a...)
		return err
	})
}

func (s *Store) tryTx(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func deadlocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// unique is true for an error of a unique index, on either database.
func unique(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "23505"
	}
	return err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed")
}

// forUpdate locks the rows of a SELECT on PostgreSQL. SQLite has one writer at a time anyway.
func (s *Store) forUpdate() string {
	if s.postgres {
		return " FOR UPDATE"
	}
	return ""
}

// args collects bound arguments and writes their places: $1, $2 …
type args []any

// place is the place of one more argument.
func (a *args) place(v any) string {
	*a = append(*a, v)
	return "$" + strconv.Itoa(len(*a))
}

// list is "$1, $2, $3" for one more run of arguments.
func (a *args) list(values ...any) string {
	places := make([]string, len(values))
	for i, v := range values {
		places[i] = a.place(v)
	}
	return strings.Join(places, ", ")
}

// table is the rows of items: "VALUES ($1, $2), ($3, $4)". PostgreSQL gets an array for each column instead,
// so that the statement, which it prepares by its text, is one for any number of rows.
func table[T any](s *Store, a *args, items []T, values func(T) []any) string {
	if s.postgres {
		list := make([][]any, len(items))
		for i, item := range items {
			list[i] = values(item)
		}
		return "SELECT * FROM unnest(" + a.arrays(list) + ")"
	}
	var b strings.Builder
	open := "VALUES ("
	for _, item := range items {
		b.WriteString(open)
		b.WriteString(a.list(values(item)...))
		b.WriteByte(')')
		open = ", ("
	}
	return b.String()
}

// arrays is an array for each column of rows, of text, whole numbers or bytes by the first row.
func (a *args) arrays(rows [][]any) string {
	places := make([]string, len(rows[0]))
	for c, first := range rows[0] {
		switch reflect.TypeOf(first).Kind() {
		case reflect.String:
			places[c] = a.place(array(rows, c, reflect.Value.String)) + "::TEXT[]"
		case reflect.Slice:
			places[c] = a.place(array(rows, c, reflect.Value.Bytes)) + "::BYTEA[]"
		default:
			places[c] = a.place(array(rows, c, reflect.Value.Int)) + "::BIGINT[]"
		}
	}
	return strings.Join(places, ", ")
}

func array[T any](rows [][]any, c int, value func(reflect.Value) T) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = value(reflect.ValueOf(row[c]))
	}
	return list
}

// in is "IN ($1, $2)", or the same for an array.
func (s *Store) in(a *args, names []string) string {
	if s.postgres {
		return "= ANY(" + a.place(names) + ")"
	}
	return "IN (" + a.list(anys(names)...) + ")"
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// query runs a query and gives each row to scan.
func query(ctx context.Context, q querier, text string, a []any, scan func(row *sql.Rows) error) (err error) {
	found, err := q.QueryContext(ctx, text, a...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		if err := scan(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// names runs a query of one text column.
func names(ctx context.Context, q querier, text string, a ...any) (list []string, err error) {
	err = query(ctx, q, text, a, func(row *sql.Rows) error {
		var name string
		err := row.Scan(&name)
		list = append(list, name)
		return err
	})
	return list, err
}

// affected is how many rows a statement changed.
func affected(ctx context.Context, q querier, text string, a ...any) (int64, error) {
	result, err := q.ExecContext(ctx, text, a...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// millis is t as it is stored; the zero time is null.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// timeOf is a stored time.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// timeOrZero is a stored time that may be null.
func timeOrZero(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return timeOf(ms.Int64)
}

// cut is text as a column takes it: valid, without NUL, and no longer than limit characters.
func cut(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= limit {
		return text
	}
	characters := []rune(text)
	return string(characters[:min(len(characters), limit)])
}
