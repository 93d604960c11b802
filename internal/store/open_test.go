package store

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/webreaderapi/webreader/billing"
)

func TestAWrongURLSaysWhatToWrite(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "sqlite:data/webreader.db",
		"mysql://db":               "postgres://",
		"sqlite:":                  "sqlite:data/webreader.db",
		"postgres://db:notaport/x": "postgres://",
		"postgres://me:hush@127.0.0.1:1/x?connect_timeout=2": "does the server run",
	} {
		s, err := Open(t.Context(), raw, Options{})
		if err == nil {
			noError(t, s.Close())
			t.Errorf("%q was opened", raw)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestADatabaseThatMustExistIsNotMade(t *testing.T) {
	raw := "sqlite:" + filepath.Join(t.TempDir(), "none", "test.db")
	if _, err := Open(t.Context(), raw, Options{MustExist: true}); err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Errorf("opened: %v", err)
	}
	open(t, raw, Options{})
	open(t, raw, Options{MustExist: true})
}

func TestAnOldSchemaIsNotUsed(t *testing.T) {
	raw := newSQLite(t)
	if _, err := Open(t.Context(), raw, Options{NoMigrate: true}); err == nil || !strings.Contains(err.Error(), "webreader migrate") {
		t.Errorf("opened: %v", err)
	}
	open(t, raw, Options{})
	s := open(t, raw, Options{NoMigrate: true})
	if current, newest, err := s.Version(t.Context()); err != nil || current != newest || current == 0 {
		t.Errorf("version %d of %d, %v", current, newest, err)
	}
}

func TestManyMayStartAtOnce(t *testing.T) {
	urls := map[string]string{"sqlite": newSQLite(t)}
	if postgresURL() != "" {
		name := "wr_store_" + billing.NewID("empty")
		noError(t, admin("CREATE DATABASE "+name))
		t.Cleanup(func() { noError(t, admin("DROP DATABASE "+name+" WITH (FORCE)")) })
		urls["postgres"] = inDatabase(name)
	}
	for kind, raw := range urls {
		t.Run(kind, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					s, err := Open(t.Context(), raw, Options{})
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestADatabaseInMemory(t *testing.T) {
	s := open(t, "sqlite::memory:", Options{})
	customer(t, s, "Anna")
	noError(t, s.Ping(t.Context()))
	if n := number(t, s, "SELECT COUNT(*) FROM accounts"); n != 1 {
		t.Errorf("%d accounts", n)
	}
}

func TestSQLiteIsSetUpToLoseAndLeaveNothing(t *testing.T) {
	s := open(t, newSQLite(t), Options{})
	for _, db := range []struct {
		name string
		s    querier
	}{{"writer", s.db}, {"reader", s.ro}} {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1", "temp_store": "2", "busy_timeout": "10000"} {
			var got string
			noError(t, db.s.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
			if got != want {
				t.Errorf("%s: %s is %s, want %s", db.name, pragma, got, want)
			}
		}
	}
	if _, err := s.ro.Exec("DELETE FROM accounts"); err == nil {
		t.Error("the reader may write")
	}
}
