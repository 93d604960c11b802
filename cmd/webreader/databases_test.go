package main

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/billing"
)

// onEachDatabase runs a test on an empty database of each kind: SQLite, and PostgreSQL where
// WEBREADER_TEST_POSTGRES names a server.
func onEachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "data", "webreader.db")) })
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); server != "" {
		t.Run("postgres", func(t *testing.T) { test(t, emptyPostgres(t, server)) })
	}
}

// emptyPostgres is the address of a new database on server.
func emptyPostgres(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower("wr_serve_" + billing.NewID("test"))
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	u.Path = "/" + name
	return u.String()
}
