package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

// promiseCommands are the commands about what site operators are promised.
type promiseCommands struct {
	Promises promisesCmd `cmd:"" help:"Print what site operators are promised, and which test proves it."`
}

type promisesCmd struct {
	Of       string `help:"Only the promises of the profile of this name." placeholder:"PROFILE"`
	Language string `help:"Language of the texts: nl, en or hu; English where there is no other." enum:"nl,en,hu" default:"en"`
	JSON     bool   `help:"Print JSON."`
}

// Help is shown by --help.
func (promisesCmd) Help() string {
	return "Rows that no test proves yet say so.\n\nExample:\n\n  webreader promises --of webreaderapi --language nl"
}

// promiseRow is a row as it is printed.
type promiseRow struct {
	ID       string   `json:"id"`
	Profiles []string `json:"profiles"`
	Test     string   `json:"test,omitempty"`
	Text     string   `json:"text"`
}

// Run prints the table.
func (c promisesCmd) Run(a *app) error {
	promises, err := policy.LoadPromises(profiles.Files)
	if err != nil {
		return err
	}
	rows := []promiseRow{}
	for _, p := range promises {
		if c.Of == "" || p.Of(c.Of) {
			rows = append(rows, promiseRow{p.ID, p.Profiles, p.Test(), p.Text(c.Language)})
		}
	}
	if len(rows) == 0 {
		return usage("no profile called %q has promises; see webreader promises", c.Of)
	}
	if c.JSON {
		return json.NewEncoder(a.Out).Encode(rows)
	}
	table := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		test := r.Test
		if test == "" {
			test = "not yet"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.ID, test, r.Text)
	}
	return table.Flush()
}
