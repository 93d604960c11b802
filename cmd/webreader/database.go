package main

import (
	"context"
	"strings"

	"github.com/webreaderapi/webreader/internal/store"
)

const (
	envDatabase     = "WEBREADER_DATABASE_URL"
	defaultDatabase = "sqlite:data/webreader.db"
)

// databaseFlags are the settings of every command that works on the database. The address may hold a
// password, so it can be set in the environment as well and is never printed.
type databaseFlags struct {
	Database string `name:"database-url" setting:"WEBREADER_DATABASE_URL" help:"Database: sqlite:FILE or postgres://… (default sqlite:data/webreader.db)." placeholder:"URL" group:"Settings"`
}

// openStore opens the database of the settings and brings it up to date.
func openStore(ctx context.Context, setting func(string) string) (*store.Store, error) {
	return openStoreWith(ctx, setting, store.Options{})
}

// openStoreWith does so with options.
func openStoreWith(ctx context.Context, setting func(string) string, o store.Options) (*store.Store, error) {
	address := strings.TrimSpace(setting(envDatabase))
	if address == "" {
		address = defaultDatabase
	}
	return store.Open(ctx, address, o)
}
