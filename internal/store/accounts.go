package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

var _ billing.Accounts = (*Store)(nil)

func (s *Store) accountColumns() string {
	return "id, name, status, status_reason, plan, spending_cap, webhook_url, " + s.signingSecrets() + ", created_at, suspended_at, closed_at"
}

// signingSecrets are the secrets that sign an account's webhooks, with a blank between: the new one, and for a
// while the one before.
func (s *Store) signingSecrets() string {
	return "webhook_secret || CASE WHEN old_webhook_secret_until > " + s.nowSQL() + " THEN ' ' || old_webhook_secret ELSE '' END"
}

func scanAccount(row interface{ Scan(...any) error }) (billing.Account, error) {
	var a billing.Account
	var limit, suspendedAt, closedAt sql.NullInt64
	var created int64
	var secrets string
	err := row.Scan(&a.ID, &a.Name, &a.Status, &a.Reason, &a.Plan, &limit, &a.WebhookURL, &secrets,
		&created, &suspendedAt, &closedAt)
	a.WebhookSecret, a.OldWebhookSecret, _ = strings.Cut(secrets, " ")
	a.SpendingCap, a.CreatedAt = pointer(limit), timeOf(created)
	a.SuspendedAt, a.ClosedAt = timeOrZero(suspendedAt), timeOrZero(closedAt)
	return a, err
}

// CreateAccount makes an account. See billing.Accounts.
func (s *Store) CreateAccount(ctx context.Context, name, planName string) (billing.Account, error) {
	name, err := goodName("name", name)
	if err != nil {
		return billing.Account{}, err
	}
	plan, ok := s.plans.Plan(planName)
	if !ok {
		return billing.Account{}, badField("plan", fmt.Sprintf("there is no plan %q", cut(planName, 40)))
	}
	id := billing.NewID("acc")
	err = s.insertAccount(ctx, s.db, id, name, plan.Name)
	if unique(err) {
		return billing.Account{}, badField("name", fmt.Sprintf("there is an account %q already", name))
	}
	if err != nil {
		return billing.Account{}, fmt.Errorf("create the account: %w", err)
	}
	return s.Account(ctx, id)
}

// insertAccount writes an account with secrets of its own.
func (s *Store) insertAccount(ctx context.Context, q querier, id, name, plan string) error {
	fingerprints := make([]byte, 32)
	_, _ = rand.Read(fingerprints) // it never fails: it ends the program instead
	_, err := q.ExecContext(ctx, `INSERT INTO accounts (id, name, status, status_reason, plan, webhook_url, webhook_secret,
		fingerprint_key, created_at) VALUES ($1, $2, 'active', '', $3, '', $4, $5, `+s.nowSQL()+`)`,
		id, name, plan, newWebhookSecret(), fingerprints)
	return err
}

// newWebhookSecret is a secret as Standard Webhooks writes it: whsec_ and 32 random bytes in base64.
func newWebhookSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails: it ends the program instead
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// goodName is a name without blanks around it, or InvalidRequest.
func goodName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > 200 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", badField(field, "write 1 to 200 characters on one line")
	}
	return name, nil
}

func badField(name, detail string) error {
	return &fault.Error{Kind: fault.InvalidRequest, Detail: "The field " + name + " cannot be used: " + detail + ".",
		Fields: []fault.Field{{Name: name, Detail: detail}}}
}

// Account is one account, by id or by name. Closed accounts are found by id only.
func (s *Store) Account(ctx context.Context, idOrName string) (billing.Account, error) {
	a, err := scanAccount(s.ro.QueryRowContext(ctx, `SELECT `+s.accountColumns()+` FROM accounts
		WHERE id = $1 OR (name = $1 AND status <> 'closed') ORDER BY CASE WHEN id = $1 THEN 0 ELSE 1 END LIMIT 1`, idOrName))
	if errors.Is(err, sql.ErrNoRows) {
		return billing.Account{}, fault.New(fault.NotFound, fmt.Sprintf("There is no account %q.", cut(idOrName, 200)))
	}
	return a, err
}

// ListAccounts is a page of accounts, oldest first.
func (s *Store) ListAccounts(ctx context.Context, after string, limit int) ([]billing.Account, error) {
	var list []billing.Account
	err := query(ctx, s.ro, `SELECT `+s.accountColumns()+` FROM accounts WHERE $1 = '' OR (created_at, id) >
		(SELECT b.created_at, b.id FROM accounts b WHERE b.id = $1) ORDER BY created_at, id LIMIT $2`, args{after, limit},
		func(row *sql.Rows) error {
			a, err := scanAccount(row)
			list = append(list, a)
			return err
		})
	return list, err
}

// ChangeAccount changes what the customer may change.
func (s *Store) ChangeAccount(ctx context.Context, id string, c billing.Change) (billing.Account, error) {
	var a args
	var set []string
	if c.Name != nil {
		name, err := goodName("name", *c.Name)
		if err != nil {
			return billing.Account{}, err
		}
		set = append(set, "name = "+a.place(name))
	}
	if c.SpendingCap != nil {
		if limit := *c.SpendingCap; limit != nil && *limit < 0 {
			return billing.Account{}, badField("spending_cap", "write 0 or more units, or null for no cap")
		}
		set = append(set, "spending_cap = "+a.place(orNull(*c.SpendingCap)))
	}
	if c.WebhookURL != nil {
		if err := goodWebhookURL(*c.WebhookURL); err != nil {
			return billing.Account{}, err
		}
		set = append(set, "webhook_url = "+a.place(*c.WebhookURL))
	}
	if len(set) > 0 {
		if err := s.update(ctx, id, strings.Join(set, ", "), a); err != nil {
			return billing.Account{}, err
		}
	}
	return s.Account(ctx, id)
}

func orNull(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// goodWebhookURL checks the form only: whether the address may be dialled is asked when it is.
func goodWebhookURL(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || len(raw) > 2048 || u.Hostname() == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return badField("webhook_url", "write an https URL of at most 2048 characters, without a user name")
	}
	return nil
}

// update changes an account that is not closed.
func (s *Store) update(ctx context.Context, id, set string, a args) error {
	changed, err := affected(ctx, s.db, "UPDATE accounts SET "+set+" WHERE id = "+a.place(id)+" AND status <> 'closed'", a...)
	switch {
	case unique(err):
		return badField("name", "there is an account of that name already")
	case err != nil:
		return fmt.Errorf("change the account: %w", err)
	case changed == 0:
		return fault.New(fault.NotFound, fmt.Sprintf("There is no open account %q.", cut(id, 200)))
	}
	return nil
}

// RotateWebhookSecret gives the account a new secret. See billing.Accounts.
func (s *Store) RotateWebhookSecret(ctx context.Context, id string) (billing.Account, error) {
	var a args
	until := fmt.Sprintf("%s + %d", s.nowSQL(), billing.SecretGrace.Milliseconds())
	if err := s.update(ctx, id, "old_webhook_secret = webhook_secret, old_webhook_secret_until = "+until+", webhook_secret = "+a.place(newWebhookSecret()), a); err != nil {
		return billing.Account{}, err
	}
	return s.Account(ctx, id)
}

// Suspend stops an account: on every replica within a second, see Standing.
func (s *Store) Suspend(ctx context.Context, id, reason string) error {
	var a args
	set := "status = 'suspended', suspended_at = " + s.nowSQL() + ", status_reason = " + a.place(cut(reason, 500))
	return s.update(ctx, id, set, a)
}

// Resume lets a suspended account go on.
func (s *Store) Resume(ctx context.Context, id string) error {
	return s.update(ctx, id, "status = 'active', suspended_at = NULL, status_reason = ''", nil)
}

// eraseCheckouts forgets the sign-ups of an account. One that is not paid yet stays, without its name: when it is
// paid after all, its subscription must be ended.
func eraseCheckouts(ctx context.Context, tx *sql.Tx, account string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM checkouts WHERE account = $1 AND done_at IS NOT NULL", account); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE checkouts SET name = '' WHERE account = $1", account)
	return err
}

// CloseAccount ends an account for good: its keys are revoked; its name, webhook and keys for
// fingerprints are erased, and with them whatever was sealed or fingerprinted. The ledger stays.
func (s *Store) CloseAccount(ctx context.Context, id string) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		changed, err := affected(ctx, tx, `UPDATE accounts SET status = 'closed', closed_at = $1, name = '', status_reason = '',
			webhook_url = '', webhook_secret = '', old_webhook_secret = '', fingerprint_key = $2 WHERE id = $3 AND status <> 'closed'`, now, []byte{}, id)
		if err != nil {
			return fmt.Errorf("close the account: %w", err)
		}
		if changed == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("There is no open account %q.", cut(id, 200)))
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM idempotency WHERE account = $1", id); err != nil {
			return fmt.Errorf("erase idempotency keys: %w", err)
		}
		if err := s.endOthers(ctx, tx, now, now, id, ""); err != nil {
			return err
		}
		if err := eraseCheckouts(ctx, tx, id); err != nil {
			return fmt.Errorf("erase the sign-up: %w", err)
		}
		if err := eraseWatches(ctx, tx, id); err != nil {
			return fmt.Errorf("erase the watches: %w", err)
		}
		_, err = tx.ExecContext(ctx, `UPDATE api_keys SET revoked_at = $1, name = '' WHERE account = $2 AND revoked_at IS NULL`, now, id)
		if err != nil {
			return fmt.Errorf("revoke the keys: %w", err)
		}
		return nil
	})
}
