package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/store"
)

// accountCommands are the commands that work on the database: a field and a struct each.
type accountCommands struct {
	Accounts accountsCmd `cmd:"" help:"Create, list, suspend, resume, credit and close accounts."`
	Keys     keysCmd     `cmd:"" help:"Create, list and revoke API keys."`
	Usage    usageCmd    `cmd:"" help:"Show what an account has read and been charged."`
	Optout   optoutCmd   `cmd:"" help:"Keep away from a site, or go slower, at its operator's request."`
	Forget   forgetCmd   `cmd:"" help:"Remove everything held about a domain, at its operator's request."`
	Audit    auditCmd    `cmd:"" help:"Look up requests to a site in the fetch log, for its operator's report."`
	Migrate  migrateCmd  `cmd:"" help:"Bring the database's schema up to date."`
}

type accountsCmd struct {
	Create  accountsCreateCmd  `cmd:"" help:"Create an account."`
	List    accountsListCmd    `cmd:"" help:"List accounts, oldest first."`
	Suspend accountsSuspendCmd `cmd:"" help:"Suspend an account: its keys are refused everywhere within seconds."`
	Resume  accountsResumeCmd  `cmd:"" help:"Let a suspended account go on."`
	Credit  accountsCreditCmd  `cmd:"" help:"Give units back to an account."`
	Close   accountsCloseCmd   `cmd:"" help:"Close an account for good."`
}

// withStore opens the database of the settings for do. It may run beside a server.
func withStore(a *app, mustExist bool, do func(ctx context.Context, s *store.Store) error) error {
	s, err := openStoreWith(a.ctx, a.setting, store.Options{MustExist: mustExist})
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // what was written is committed
	return do(a.ctx, s)
}

// table prints rows in columns.
func table(w io.Writer, head string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// day is a moment as the tables show it; "-" for none.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

type accountsCreateCmd struct {
	databaseFlags
	Name string `arg:"" help:"Name of the account."`
	Plan string `help:"Plan of the account (default: the default plan)." placeholder:"PLAN"`
}

// Help is shown by --help.
func (accountsCreateCmd) Help() string {
	return "Prints the account's id.\n\nExample:\n\n  webreader accounts create \"City of Utrecht\""
}

// Run creates the account.
func (c *accountsCreateCmd) Run(a *app) error {
	return withStore(a, false, func(ctx context.Context, s *store.Store) error {
		account, err := s.CreateAccount(ctx, c.Name, c.Plan)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Out, account.ID)
		return err
	})
}

type accountsListCmd struct {
	databaseFlags
}

// Help is shown by --help.
func (accountsListCmd) Help() string { return "Example:\n\n  webreader accounts list" }

// Run lists all accounts.
func (c *accountsListCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		var rows [][]string
		for after := ""; ; {
			list, err := s.ListAccounts(ctx, after, 500)
			if err != nil {
				return err
			}
			for _, account := range list {
				rows = append(rows, accountRow(account))
			}
			if len(list) == 0 {
				return table(a.Out, "ID\tNAME\tSTATUS\tPLAN\tCAP\tCREATED\tREASON", rows)
			}
			after = list[len(list)-1].ID
		}
	})
}

func accountRow(a billing.Account) []string {
	limit := "-"
	if a.SpendingCap != nil {
		limit = fmt.Sprint(*a.SpendingCap)
	}
	return []string{a.ID, a.Name, string(a.Status), a.Plan, limit, day(a.CreatedAt), a.Reason}
}

// accountArg names the account a command is about.
type accountArg struct {
	databaseFlags
	Account string `arg:"" name:"account" help:"Name or id of the account."`
}

// change does something to the account and says so.
func (c *accountArg) change(a *app, done string, do func(ctx context.Context, s *store.Store, id string) error) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		account, err := s.Account(ctx, c.Account)
		if err != nil {
			return err
		}
		if err := do(ctx, s, account.ID); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s %s (%s)\n", account.Name, done, account.ID)
		return err
	})
}

type accountsSuspendCmd struct {
	accountArg
	Reason string `help:"Why, for the list of accounts." placeholder:"TEXT"`
}

// Help is shown by --help.
func (accountsSuspendCmd) Help() string {
	return "Example:\n\n  webreader accounts suspend shop --reason \"reads a site against its terms\""
}

// Run suspends the account.
func (c *accountsSuspendCmd) Run(a *app) error {
	return c.change(a, "suspended", func(ctx context.Context, s *store.Store, id string) error {
		return s.Suspend(ctx, id, c.Reason)
	})
}

type accountsResumeCmd struct {
	accountArg
}

// Help is shown by --help.
func (accountsResumeCmd) Help() string { return "Example:\n\n  webreader accounts resume shop" }

// Run lets the account go on.
func (c *accountsResumeCmd) Run(a *app) error {
	return c.change(a, "resumed", func(ctx context.Context, s *store.Store, id string) error { return s.Resume(ctx, id) })
}

type accountsCloseCmd struct {
	accountArg
	Yes bool `help:"Confirm: closing cannot be undone."`
}

// Help is shown by --help.
func (accountsCloseCmd) Help() string {
	return "The account's keys are revoked; its name, webhook and results are erased; its subscription ends; the ledger stays.\n\n" +
		"Example:\n\n  webreader accounts close shop --yes"
}

// Run closes the account.
func (c *accountsCloseCmd) Run(a *app) error {
	if !c.Yes {
		return usage("closing an account cannot be undone: add --yes to do it")
	}
	return c.change(a, "closed", func(ctx context.Context, s *store.Store, id string) error { return s.CloseAccount(ctx, id) })
}
