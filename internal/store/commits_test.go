package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// together runs parts in one transaction: the first leads and waits until the others are in line.
func together(t *testing.T, s *Store, parts ...func(tx *sql.Tx) error) []error {
	t.Helper()
	inLine := func() int { s.commits.mu.Lock(); defer s.commits.mu.Unlock(); return len(s.commits.waiting) }
	all := make([]error, len(parts))
	leads, begin := make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		_ = s.tx(t.Context(), func(*sql.Tx) error { close(leads); <-begin; return nil })
	})
	<-leads
	for i, do := range parts {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					all[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			all[i] = s.tx(t.Context(), do)
		})
		for inLine() <= i {
			runtime.Gosched()
		}
	}
	close(begin)
	running.Wait()
	return all
}

func mark(name string) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO marks VALUES ($1)", name); return err }
}

func TestPartsOfOneTransactionFailAlone(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{})
	must[sql.Result](t)(s.db.Exec("CREATE TABLE marks (name TEXT UNIQUE)"))
	bad := errors.New("no")
	all := together(t, s, mark("a"),
		func(tx *sql.Tx) error { return errors.Join(mark("undone")(tx), bad) },
		mark("b"), mark("a"),
		func(tx *sql.Tx) error { _ = mark("panics")(tx); panic("oops") },
		mark("c"))
	for i, want := range []bool{true, false, true, false, false, true} {
		if (all[i] == nil) != want {
			t.Errorf("part %d: %v", i, all[i])
		}
	}
	if !errors.Is(all[1], bad) || all[4].Error() != "panic: oops" {
		t.Errorf("errors %v", all)
	}
	if n := number(t, s, "SELECT COUNT(*) FROM marks WHERE name IN ('a', 'b', 'c')"); n != 3 || number(t, s, "SELECT COUNT(*) FROM marks") != 3 {
		t.Errorf("%d marks", n)
	}
}

// A part that ends the transaction for all, as a statement does that is broken off, costs the others
// nothing: they are run again.
func TestPartsAreRunAgainWhenOneEndsTheTransaction(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{})
	must[sql.Result](t)(s.db.Exec("CREATE TABLE marks (name TEXT UNIQUE)"))
	runs := 0
	all := together(t, s, func(tx *sql.Tx) error { runs++; return mark("a")(tx) },
		func(tx *sql.Tx) error { _, err := tx.Exec("ROLLBACK"); return errors.Join(err, errors.New("all gone")) },
		mark("b"))
	if all[0] != nil || all[1] == nil || all[2] != nil || runs != 2 {
		t.Errorf("ended as %v after %d runs", all, runs)
	}
	if n := number(t, s, "SELECT COUNT(*) FROM marks"); n != 2 {
		t.Errorf("%d marks", n)
	}
}

func TestWhoWaitsForATransactionMayLeave(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db"), Options{})
	ctx, stop := context.WithCancel(t.Context())
	err := s.tx(t.Context(), func(*sql.Tx) error {
		stop()
		return s.commits.run(ctx, func(*sql.Tx) error { t.Error("it was run"); return nil })
	})
	if err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("answered %v", err)
	}
	noError(t, s.tx(t.Context(), func(*sql.Tx) error { return nil }))
}

func TestArgumentsAreNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT $1, '$', $2 WHERE a = $":          "SELECT ?, '$', ? WHERE a = $",
		"$3, $1, $2, $3, $4, $5, $4, $7, $8, $12": "?3, ?1, ?2, ?3, ?, ?, ?4, ?7, ?, ?12",
		"SELECT 1": "SELECT 1",
	} {
		if got := numbers(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	s := open(t, "sqlite::memory:", Options{})
	var got string
	noError(t, s.db.QueryRow("SELECT $3 || $1 || $2 || $3 || $4 || $1", "a", "b", "c", "d").Scan(&got))
	if got != "cabcda" {
		t.Error(got)
	}
}
