package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. Only one process at a time does so: PostgreSQL has a session
// lock for it, SQLite gets a lock on the database's folder.
func (s *Store) migrate(ctx context.Context, rawURL string) error {
	if !s.postgres {
		release, err := lockFolder(folderOf(rawURL))
		if err != nil {
			return fmt.Errorf("migrate: wait for the other process: %w", err)
		}
		defer release()
	}
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// folderOf is the folder a SQLite database lies in, "" for one in memory.
func folderOf(rawURL string) string {
	path := strings.TrimPrefix(rawURL, "sqlite:")
	if path == memory {
		return ""
	}
	return filepath.Dir(filepath.Clean(strings.TrimPrefix(path, "//")))
}

func (s *Store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	var rivers []*goose.Migration
	for number, version := range riverMigrations {
		run := func(ctx context.Context, tx *sql.Tx) error { return s.migrateRiver(ctx, tx, version) }
		rivers = append(rivers, goose.NewGoMigration(number, &goose.GoFunc{RunTx: run}, nil))
	}
	own := goose.WithGoMigrations(rivers...)
	if !s.postgres {
		return goose.NewProvider(goose.DialectSQLite3, s.db, files, own)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, s.db, files, own, goose.WithSessionLocker(locker))
}

// Version is the schema's version and the newest this program knows.
func (s *Store) Version(ctx context.Context) (current, newest int64, err error) {
	provider, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	return provider.GetVersions(ctx)
}

func (s *Store) checkVersion(ctx context.Context) error {
	current, newest, err := s.Version(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current < newest {
		return fmt.Errorf("the schema is at version %d, this program needs %d: run webreader migrate", current, newest)
	}
	return nil
}
