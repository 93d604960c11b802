package main

import (
	"context"
	"fmt"

	"github.com/webreaderapi/webreader/internal/store"
)

type forgetCmd struct {
	databaseFlags
	Domain string `required:"" help:"Domain to forget, with all its sub-domains." placeholder:"DOMAIN"`
	By     string `help:"Who asked." placeholder:"WHO"`
}

// Help is shown by --help.
func (forgetCmd) Help() string {
	return "Prints what went. It does not keep us away from the site: webreader optout add does.\n\n" +
		"Example:\n\n  webreader forget --domain site.example --by postmaster@site.example"
}

// Run forgets the domain.
func (c *forgetCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		gone, err := s.Forget(ctx, c.Domain, c.By)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s and its sub-domains are forgotten. A tombstone stays, so that nothing learnt before comes back.\n", gone.Domain)
		for _, t := range gone.Tables {
			fmt.Fprintf(a.Out, "%6d  %s (%s)\n", t.Rows, t.What, t.Table)
		}
		return nil
	})
}
