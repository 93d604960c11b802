package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/reader"
)

type usageCmd struct {
	databaseFlags
	Account string `required:"" help:"Name or id of the account." placeholder:"ACCOUNT"`
	Month   string `help:"Calendar month, UTC (default: this month)." placeholder:"YYYY-MM"`
	By      string `help:"Also the charges by day, kind or key." placeholder:"day|kind|key"`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Help is shown by --help.
func (usageCmd) Help() string {
	return "Example:\n\n  webreader usage --account shop --month 2026-11 --by day"
}

// Run shows the usage.
func (c *usageCmd) Run(a *app) error {
	month := time.Now()
	if c.Month != "" {
		var err error
		if month, err = time.Parse("2006-01", c.Month); err != nil {
			return usage("--month: %q is no month: write it like 2026-11", c.Month)
		}
	}
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		account, err := s.Account(ctx, c.Account)
		if err != nil {
			return err
		}
		totals, err := s.Totals(ctx, account.ID, billing.Month(month))
		if err != nil {
			return err
		}
		var groups []billing.Group
		if c.By != "" {
			if groups, err = s.Groups(ctx, account.ID, totals.Period, billing.By(c.By)); err != nil {
				return err
			}
		}
		if c.JSON {
			return usageJSON(a, account, totals, groups)
		}
		return usageText(a, account, totals, c.By, groups)
	})
}

func usageText(a *app, account billing.Account, t billing.Totals, by string, groups []billing.Group) error {
	fmt.Fprintf(a.Out, "%s (%s), %s\n", account.Name, account.ID, t.Period.From.Format("January 2006"))
	fmt.Fprintf(a.Out, "units charged  %d\npages          %d\n", t.Units, t.Pages)
	if t.Credited > 0 {
		fmt.Fprintf(a.Out, "credited       %d\n", t.Credited)
	}
	for _, outcome := range []reader.Outcome{reader.Unchanged, reader.Blocked, reader.Refused, reader.Failed} {
		fmt.Fprintf(a.Out, "%-14s %d\n", outcome, t.ByOutcome[outcome])
	}
	fmt.Fprintf(a.Out, "included       %s\nleft           %s\nup to the cap  %s\n", t.Included, t.AllowanceLeft, t.Left)
	if by == "" {
		return nil
	}
	var rows [][]string
	for _, g := range groups {
		rows = append(rows, []string{g.Name, fmt.Sprint(g.Units), fmt.Sprint(g.Pages)})
	}
	fmt.Fprintln(a.Out)
	return table(a.Out, by+"\tunits\tpages", rows)
}

func usageJSON(a *app, account billing.Account, t billing.Totals, groups []billing.Group) error {
	type group struct {
		Name  string `json:"name"`
		Units int64  `json:"units"`
		Pages int64  `json:"pages"`
	}
	out := struct {
		Account   string                   `json:"account"`
		Name      string                   `json:"name"`
		From      time.Time                `json:"from"`
		To        time.Time                `json:"to"`
		Units     int64                    `json:"units"`
		Credited  int64                    `json:"credited,omitempty"`
		Pages     int64                    `json:"pages"`
		ByOutcome map[reader.Outcome]int64 `json:"by_outcome"`
		Groups    []group                  `json:"groups,omitempty"`
	}{account.ID, account.Name, t.Period.From, t.Period.To, t.Units, t.Credited, t.Pages, t.ByOutcome, nil}
	for _, g := range groups {
		out.Groups = append(out.Groups, group(g))
	}
	return json.NewEncoder(a.Out).Encode(out)
}
