package main

import (
	"context"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/internal/store"
)

type optoutCmd struct {
	Add    optoutAddCmd    `cmd:"" help:"Enter an opt-out: no request starts there any more, on any replica, within seconds."`
	List   optoutListCmd   `cmd:"" help:"List the opt-outs."`
	Remove optoutRemoveCmd `cmd:"" help:"Take an opt-out back."`
}

type optoutAddCmd struct {
	databaseFlags
	Domain string        `required:"" help:"Domain, with all its sub-domains." placeholder:"DOMAIN"`
	Path   string        `help:"Only paths that begin with this (default: the whole site)." placeholder:"/PATH"`
	Delay  time.Duration `help:"Go slower instead of stopping: at least this long between two requests." placeholder:"DURATION"`
	Reason string        `help:"Why." placeholder:"TEXT"`
	By     string        `help:"Who asked." placeholder:"WHO"`
}

// Help is shown by --help.
func (optoutAddCmd) Help() string {
	return "Examples:\n\n  webreader optout add --domain site.example --by postmaster@site.example --reason \"mail of 30 November\"\n" +
		"  webreader optout add --domain site.example --path /archive/\n  webreader optout add --domain site.example --delay 10s"
}

// Run enters the opt-out.
func (c *optoutAddCmd) Run(a *app) error {
	return withStore(a, false, func(ctx context.Context, s *store.Store) error {
		entry, err := s.AddOptOut(ctx, store.OptOutEntry{Domain: c.Domain, PathPrefix: c.Path, Delay: c.Delay, Reason: c.Reason, AskedBy: c.By})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s: %s (%s)\n", entry.Name(), asks(entry), entry.ID)
		return err
	})
}

// asks is what an entry asks for, in words.
func asks(e store.OptOutEntry) string {
	if e.Delay > 0 {
		return "at least " + e.Delay.String() + " between requests"
	}
	return "stop"
}

type optoutListCmd struct {
	databaseFlags
}

// Help is shown by --help.
func (optoutListCmd) Help() string { return "Example:\n\n  webreader optout list" }

// Run lists the opt-outs.
func (c *optoutListCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		list, err := s.ListOptOuts(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range list {
			rows = append(rows, []string{e.ID, e.Name(), asks(e), day(e.EnteredAt), e.AskedBy, e.Reason})
		}
		return table(a.Out, "ID\tWHERE\tASKS\tSINCE\tBY\tREASON", rows)
	})
}

type optoutRemoveCmd struct {
	databaseFlags
	Entry string `arg:"" help:"Id of the opt-out, or its domain and path as the list shows them."`
}

// Help is shown by --help.
func (optoutRemoveCmd) Help() string {
	return "Example:\n\n  webreader optout remove site.example/archive/"
}

// Run takes the opt-out back.
func (c *optoutRemoveCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		removed, err := s.RemoveOptOut(ctx, c.Entry)
		if err != nil {
			return err
		}
		if removed == 0 {
			return fmt.Errorf("there is no opt-out %q: webreader optout list shows them", c.Entry)
		}
		_, err = fmt.Fprintf(a.Out, "removed %d\n", removed)
		return err
	})
}
