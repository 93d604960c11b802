package main

import (
	"context"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/store"
)

const (
	envResultTTL    = "WEBREADER_RESULT_TTL"
	envDatabase     = "WEBREADER_DATABASE_URL"
	defaultDatabase = "sqlite:data/webreader.db"
)

// databaseFlags are the settings of every command that works on the database. The address may hold a
// password, so it can be set in the environment as well and is never printed.
type databaseFlags struct {
	Database string `name:"database-url" setting:"WEBREADER_DATABASE_URL" help:"Database: sqlite:FILE or postgres://… (default sqlite:data/webreader.db)." placeholder:"URL" group:"Settings"`
	Plans    string `name:"plans" setting:"WEBREADER_PLANS" help:"File of plans, in place of the built-in ones." placeholder:"FILE" group:"Settings"`
}

// openStore opens the database of the settings and brings it up to date. A site's turn is leased for
// longer than a read may take.
func openStore(ctx context.Context, setting func(string) string) (*store.Store, error) {
	timeout, err := durationSetting(setting, envTimeout, defaultTimeout)
	if err != nil {
		return nil, err
	}
	ttl, err := durationSetting(setting, envResultTTL, store.DefaultResultTTL)
	if err != nil {
		return nil, err
	}
	return openStoreWith(ctx, setting, store.Options{Lease: leaseFor(timeout), ResultTTL: ttl, PublicURL: setting(envPublicURL)})
}

// leaseMargin is how much longer a turn is leased than a read may take, at most.
const leaseMargin = 15 * time.Second

// leaseFor is how long a turn is leased: longer than a read may take, and not much longer, since what a
// process that died held is free after it.
func leaseFor(timeout time.Duration) time.Duration {
	return timeout + min(leaseMargin, time.Second+timeout/2)
}

// openStoreWith does so with options.
func openStoreWith(ctx context.Context, setting func(string) string, o store.Options) (*store.Store, error) {
	address := strings.TrimSpace(setting(envDatabase))
	if address == "" {
		address = defaultDatabase
	}
	plans, err := loadPlans(setting)
	if err != nil {
		return nil, err
	}
	o.Plans = plans
	s, err := store.Open(ctx, address, o)
	if err != nil {
		return nil, usage("%s: %s", envDatabase, err)
	}
	return s, nil
}
