package main

import (
	"context"
	"fmt"

	"github.com/webreaderapi/webreader/internal/store"
)

type migrateCmd struct {
	databaseFlags
}

// Help is shown by --help.
func (migrateCmd) Help() string {
	return "Every command does this by itself; run it alone to do it before a new version starts. Only one process at a\n" +
		"time changes the schema, others wait.\n\nExample:\n\n  webreader migrate --database-url postgres://db.example/webreader"
}

// Run migrates.
func (c *migrateCmd) Run(a *app) error {
	return withStore(a, false, func(ctx context.Context, s *store.Store) error {
		current, newest, err := s.Version(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "schema version %d, newest %d\n", current, newest)
		return err
	})
}
