package main

import (
	"context"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/store"
)

type keysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Create a key and print it, once."`
	List   keysListCmd   `cmd:"" help:"List an account's keys."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key at once."`
}

type keysCreateCmd struct {
	databaseFlags
	Account       string `required:"" help:"Name or id of the account." placeholder:"ACCOUNT"`
	CreateAccount bool   `help:"Create the account when there is none of that name."`
	Name          string `help:"Name of the key." default:"key"`
	Plan          string `help:"Plan of an account that is created." placeholder:"PLAN"`
}

// Help is shown by --help.
func (keysCreateCmd) Help() string {
	return "The key stands alone on stdout. It is not stored: it cannot be shown again.\n\n" +
		"Example:\n\n  KEY=$(webreader keys create --account shop --create-account)"
}

// Run creates the key.
func (c *keysCreateCmd) Run(a *app) error {
	return withStore(a, !c.CreateAccount, func(ctx context.Context, s *store.Store) error {
		account, err := c.account(ctx, s)
		if err != nil {
			return err
		}
		key, secret, err := s.CreateKey(ctx, account.ID, c.Name, time.Time{})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.Out, secret.Reveal()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Err, "Key %s of account %s (%s). Keep it: it is not shown again.\n", key.ID, account.Name, account.ID)
		return err
	})
}

// account is the account of that name, made when it may be.
func (c *keysCreateCmd) account(ctx context.Context, s *store.Store) (billing.Account, error) {
	account, err := s.Account(ctx, c.Account)
	if fault.Of(err) != fault.NotFound || err == nil {
		return account, err
	}
	if !c.CreateAccount {
		return account, fmt.Errorf("%w Add --create-account to create it", err)
	}
	return s.CreateAccount(ctx, c.Account, c.Plan)
}

type keysListCmd struct {
	databaseFlags
	Account string `required:"" help:"Name or id of the account." placeholder:"ACCOUNT"`
}

// Help is shown by --help.
func (keysListCmd) Help() string { return "Example:\n\n  webreader keys list --account shop" }

// Run lists the keys.
func (c *keysListCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		account, err := s.Account(ctx, c.Account)
		if err != nil {
			return err
		}
		keys, err := s.ListKeys(ctx, account.ID)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, k := range keys {
			rows = append(rows, []string{k.ID, k.Name, k.Prefix + "…" + k.Last4, keyState(k), day(k.CreatedAt), day(k.LastUsed), day(k.EndsAt)})
		}
		return table(a.Out, "ID\tNAME\tKEY\tSTATE\tCREATED\tLAST USED\tENDS", rows)
	})
}

func keyState(k billing.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ActiveAt(time.Now()):
		return "ended"
	}
	return "active"
}

type keysRevokeCmd struct {
	databaseFlags
	Key   string `arg:"" help:"Id of the key, as the list shows it."`
	Force bool   `help:"Also the account's last active key, and one with results waiting."`
}

// Help is shown by --help.
func (keysRevokeCmd) Help() string {
	return "Results that were sealed to the key can be opened with nothing else: they are erased.\n\n" +
		"Example:\n\n  webreader keys revoke key_abc"
}

// Run revokes the key.
func (c *keysRevokeCmd) Run(a *app) error {
	return withStore(a, true, func(ctx context.Context, s *store.Store) error {
		key, err := s.Key(ctx, c.Key)
		if err != nil {
			return err
		}
		if key.Sealed > 0 && !c.Force {
			return fmt.Errorf("%d results wait that only this key opens; revoking it erases them: add --force to do it", key.Sealed)
		}
		revoked, err := s.RevokeKey(ctx, key.Account, key.ID, c.Force)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "revoked %s; %d waiting results that only it opened were erased\n", key.ID, revoked.Sealed)
		return err
	})
}
