package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
)

var keyColumns = "id, account, name, prefix, last4, created_at, last_used_at, ends_at, revoked_at, " + sealedSQL()

func scanKey(row interface{ Scan(...any) error }) (billing.Key, error) {
	var k billing.Key
	var created int64
	var used, ends, revoked sql.NullInt64
	err := row.Scan(&k.ID, &k.Account, &k.Name, &k.Prefix, &k.Last4, &created, &used, &ends, &revoked, &k.Sealed)
	k.CreatedAt, k.LastUsed = timeOf(created), timeOrZero(used)
	k.EndsAt, k.RevokedAt = timeOrZero(ends), timeOrZero(revoked)
	return k, err
}

// coarse is how exactly the last use of a key is kept.
const coarse = int64(time.Hour / time.Millisecond)

// Authenticate is the account behind an API key. See billing.Accounts.
func (s *Store) Authenticate(ctx context.Context, rawKey string) (billing.Principal, error) {
	secret, ok := billing.ParseSecret(rawKey)
	if !ok {
		return billing.Principal{}, unauthorized("This is no API key: send the key as it was shown, 50 characters that begin with wr_.")
	}
	row, err := s.keyByHash(ctx, secret.Hash())
	if errors.Is(err, sql.ErrNoRows) {
		return billing.Principal{}, unauthorized("This API key is not known here.")
	}
	if err != nil {
		return billing.Principal{}, fmt.Errorf("look the key up: %w", err)
	}
	if err := row.refusal(); err != nil {
		return billing.Principal{}, err
	}
	if row.now-row.used >= coarse {
		if err := s.markUsed(ctx, row.principal.Key, row.now); err != nil {
			return billing.Principal{}, err
		}
	}
	return s.principal(row)
}

func unauthorized(detail string) error { return fault.New(fault.Unauthorized, detail) }

func suspended() error {
	return fault.New(fault.AccountSuspended, "This account is suspended. Write to the operator.")
}

// keyRow is a key with what its account says.
type keyRow struct {
	principal     billing.Principal
	public        []byte
	plan          string
	status        billing.Status
	now, used     int64
	ends, revoked sql.NullInt64
}

func (s *Store) keyByHash(ctx context.Context, hash string) (keyRow, error) {
	var r keyRow
	err := s.ro.QueryRowContext(ctx, `SELECT k.id, k.public_key, COALESCE(k.last_used_at, 0), k.ends_at, k.revoked_at,
		a.id, a.name, a.status, a.plan, a.fingerprint_key, `+s.nowSQL()+`
		FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = $1`, hash).Scan(
		&r.principal.Key, &r.public, &r.used, &r.ends, &r.revoked,
		&r.principal.Account, &r.principal.AccountName, &r.status, &r.plan, &r.principal.FingerprintKey, &r.now)
	return r, err
}

func (r keyRow) refusal() error {
	switch {
	case r.revoked.Valid:
		return unauthorized("This API key was revoked.")
	case r.ends.Valid && r.ends.Int64 <= r.now:
		return unauthorized("This API key has ended: it was replaced by another one.")
	case r.status == billing.Suspended:
		return suspended()
	case r.status != billing.Active:
		return unauthorized("The account of this API key is closed.")
	}
	return nil
}

func (s *Store) principal(r keyRow) (billing.Principal, error) {
	recipient, err := seal.NewRecipient(r.public)
	if err != nil {
		return billing.Principal{}, err
	}
	plan, ok := s.plans.Plan(r.plan)
	if !ok {
		return billing.Principal{}, fmt.Errorf("the account is on plan %q, which is not among the plans", r.plan)
	}
	r.principal.Recipient, r.principal.Plan = recipient, plan
	return r.principal, nil
}

// markUsed writes when a key was used, to the hour: no record of every call.
func (s *Store) markUsed(ctx context.Context, key string, now int64) error {
	hour := now / coarse * coarse
	_, err := s.db.ExecContext(ctx, `UPDATE api_keys SET last_used_at = $1
		WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)`, hour, key)
	if err != nil {
		return fmt.Errorf("mark the key as used: %w", err)
	}
	return nil
}

// CreateKey makes a key for an account that is not closed. See billing.Accounts.
func (s *Store) CreateKey(ctx context.Context, account, name string, ends time.Time) (billing.Key, billing.Secret, error) {
	name, err := goodName("name", name)
	if err != nil {
		return billing.Key{}, billing.Secret{}, err
	}
	var key billing.Key
	var secret billing.Secret
	err = s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		if !ends.IsZero() && ends.UnixMilli() <= now {
			return badField("ends_at", "write a time in the future")
		}
		key, secret, err = insertKey(ctx, tx, now, account, name, ends)
		return err
	})
	return key, secret, err
}

// insertKey stores a new key's hash and public key; the secret exists in the answer only.
func insertKey(ctx context.Context, tx *sql.Tx, now int64, account, name string, ends time.Time) (billing.Key, billing.Secret, error) {
	var status billing.Status
	err := tx.QueryRowContext(ctx, "SELECT status FROM accounts WHERE id = $1", account).Scan(&status)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && status == billing.Closed) {
		return billing.Key{}, billing.Secret{}, fault.New(fault.NotFound, fmt.Sprintf("There is no open account %q.", cut(account, 200)))
	}
	if err != nil {
		return billing.Key{}, billing.Secret{}, err
	}
	secret := billing.NewSecret()
	identity, err := secret.Identity()
	if err != nil {
		return billing.Key{}, billing.Secret{}, err
	}
	key := billing.Key{ID: billing.NewID("key"), Account: account, Name: name, Prefix: secret.Prefix(), Last4: secret.Last4(),
		CreatedAt: timeOf(now), EndsAt: ends}
	_, err = tx.ExecContext(ctx, `INSERT INTO api_keys (id, account, name, hash, public_key, prefix, last4, created_at, ends_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, key.ID, account, name, secret.Hash(), identity.Recipient().PublicKey(),
		key.Prefix, key.Last4, now, millis(ends))
	if err != nil {
		return billing.Key{}, billing.Secret{}, fmt.Errorf("store the key: %w", err)
	}
	return key, secret, nil
}

// ListKeys are an account's keys, oldest first, also those that ended.
func (s *Store) ListKeys(ctx context.Context, account string) ([]billing.Key, error) {
	return listKeys(ctx, s.ro, account)
}

// Key is one key by its id, whoever's it is: for the operator's commands.
func (s *Store) Key(ctx context.Context, id string) (billing.Key, error) {
	k, err := scanKey(s.ro.QueryRowContext(ctx, "SELECT "+keyColumns+" FROM api_keys WHERE id = $1", id))
	if errors.Is(err, sql.ErrNoRows) {
		return billing.Key{}, fault.New(fault.NotFound, fmt.Sprintf("There is no key %q.", cut(id, 60)))
	}
	return k, err
}

func listKeys(ctx context.Context, q querier, account string) ([]billing.Key, error) {
	var list []billing.Key
	err := query(ctx, q, "SELECT "+keyColumns+" FROM api_keys WHERE account = $1 ORDER BY created_at, id", args{account},
		func(row *sql.Rows) error {
			k, err := scanKey(row)
			list = append(list, k)
			return err
		})
	return list, err
}

// RotateKey replaces a key. See billing.Accounts.
func (s *Store) RotateKey(ctx context.Context, account, id string, oldEnds time.Time) (billing.Key, billing.Secret, error) {
	var key billing.Key
	var secret billing.Secret
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		old, _, err := activeKey(ctx, tx, now, account, id)
		if err != nil {
			return err
		}
		if oldEnds.IsZero() || oldEnds.UnixMilli() <= now {
			return badField("ends_at", "write when the old key ends, a time in the future")
		}
		if !old.EndsAt.IsZero() && old.EndsAt.Before(oldEnds) {
			oldEnds = old.EndsAt
		}
		if _, err := tx.ExecContext(ctx, "UPDATE api_keys SET ends_at = $1 WHERE id = $2", oldEnds.UnixMilli(), id); err != nil {
			return fmt.Errorf("end the old key: %w", err)
		}
		key, secret, err = insertKey(ctx, tx, now, account, old.Name, time.Time{})
		return err
	})
	return key, secret, err
}

// activeKey is a key of the account that works at now, and how many others do. The account's row
// stays locked, so that two revocations at once cannot each leave the other one's key as the last.
func activeKey(ctx context.Context, tx *sql.Tx, now int64, account, id string) (billing.Key, int, error) {
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET name = name WHERE id = $1", account); err != nil {
		return billing.Key{}, 0, fmt.Errorf("lock the account: %w", err)
	}
	keys, err := listKeys(ctx, tx, account)
	if err != nil {
		return billing.Key{}, 0, fmt.Errorf("read the keys: %w", err)
	}
	var found billing.Key
	others := 0
	for _, k := range keys {
		switch {
		case !k.ActiveAt(timeOf(now)):
		case k.ID == id:
			found = k
		default:
			others++
		}
	}
	if found.ID == "" {
		return billing.Key{}, 0, fault.New(fault.NotFound, fmt.Sprintf("The account has no active key %q.", cut(id, 60)))
	}
	return found, others, nil
}

// RevokeKey ends a key at once and erases what was sealed to it. See billing.Accounts.
func (s *Store) RevokeKey(ctx context.Context, account, id string, force bool) (billing.Key, error) {
	var revoked billing.Key
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		key, others, err := activeKey(ctx, tx, now, account, id)
		if err != nil {
			return err
		}
		if others == 0 && !force {
			return badField("force", "this is the account's last active key; send force to revoke it all the same")
		}
		if _, err := tx.ExecContext(ctx, "UPDATE api_keys SET revoked_at = $1 WHERE id = $2", now, id); err != nil {
			return fmt.Errorf("revoke the key: %w", err)
		}
		key.RevokedAt = timeOf(now)
		key.Sealed, err = eraseSealedTo(ctx, tx, id)
		revoked = key
		return err
	})
	if err != nil {
		return revoked, err
	}
	return revoked, s.cleanFiles(ctx)
}

// sealedTables are the tables with envelopes: each has a column api_key. A table of results is added
// here with its migration; a test compares the list with the schema.
var sealedTables = []string{"results", "watch_changes"}

// sealedSQL counts what is sealed to a row of api_keys.
func sealedSQL() string {
	var counts []string
	for _, table := range sealedTables {
		counts = append(counts, "(SELECT COUNT(*) FROM "+table+" WHERE api_key = api_keys.id)")
	}
	return strings.Join(counts, " + ")
}

func eraseSealedTo(ctx context.Context, tx *sql.Tx, key string) (int, error) {
	count := 0
	for _, table := range sealedTables {
		n, err := affected(ctx, tx, "DELETE FROM "+table+" WHERE api_key = $1", key)
		if err != nil {
			return 0, fmt.Errorf("erase what is sealed in %s: %w", table, err)
		}
		count += int(n)
	}
	return count, nil
}
