package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

var _ billing.Idempotency = (*Store)(nil)

const idempotencyLife = int64(24 * time.Hour / time.Millisecond)

// Begin answers the operation of a request. See billing.Idempotency.
func (s *Store) Begin(ctx context.Context, a billing.Attempt) (billing.Operation, error) {
	var op billing.Operation
	request, life := hashOf(string(a.Request)), a.Life().Milliseconds()
	err := s.tx(ctx, func(tx *sql.Tx) error {
		now, err := s.now(ctx, tx)
		if err != nil {
			return err
		}
		op = billing.NewOperation(a.Account)
		op.KeyHash, op.Claim = hashOf(a.Key), billing.NewID("try")
		if _, err := tx.ExecContext(ctx, "DELETE FROM idempotency WHERE account = $1 AND key_hash = $2 AND expires_at <= $3",
			op.Account, op.KeyHash, now); err != nil {
			return err
		}
		first, err := affected(ctx, tx, `INSERT INTO idempotency (account, key_hash, request_hash, operation, object, deliveries,
			claim, running_until, expires_at) VALUES ($1, $2, $3, $4, '', 0, $5, $6, $7) ON CONFLICT (account, key_hash) DO NOTHING`,
			op.Account, op.KeyHash, request, op.ID, op.Claim, now+life, now+idempotencyLife)
		if err != nil || first == 1 {
			return err
		}
		return s.repeat(ctx, tx, now, now+life, request, &op)
	})
	if err != nil && fault.Of(err) == fault.Internal {
		return billing.Operation{}, fmt.Errorf("idempotency key: %w", err)
	}
	return op, err
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// repeat claims the row of an earlier request, or says why it cannot be repeated.
func (s *Store) repeat(ctx context.Context, tx *sql.Tx, now, until int64, request string, op *billing.Operation) error {
	var before, claim string
	var deliveries, running int64
	err := tx.QueryRowContext(ctx, `SELECT request_hash, operation, object, deliveries, claim, running_until FROM idempotency
		WHERE account = $1 AND key_hash = $2`+s.forUpdate(), op.Account, op.KeyHash).
		Scan(&before, &op.ID, &op.Object, &deliveries, &claim, &running)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return conflict("was erased this moment. Send the request again.")
	case err != nil:
		return err
	case before != request:
		return conflict("was used for another request. Use a new key for a new request.")
	case claim != "" && now < running:
		return conflict("belongs to a request that still runs. Wait for its answer, or try again later.")
	case deliveries > billing.FreeRepeats:
		return conflict(fmt.Sprintf("was repeated %d times after its page was delivered. Use a new key.", billing.FreeRepeats))
	}
	op.Repeat = deliveries > 0 || op.Object != ""
	_, err = tx.ExecContext(ctx, "UPDATE idempotency SET claim = $1, running_until = $2 WHERE account = $3 AND key_hash = $4",
		op.Claim, until, op.Account, op.KeyHash)
	return err
}

func conflict(why string) error {
	return fault.New(fault.IdempotencyConflict, "This Idempotency-Key "+why)
}

// End says that a request is over. See billing.Idempotency.
func (s *Store) End(ctx context.Context, op billing.Operation, delivered bool, object string) error {
	if op.KeyHash == "" {
		return nil
	}
	more := 0
	if delivered {
		more = 1
	}
	_, err := s.db.ExecContext(ctx, `UPDATE idempotency SET claim = '', deliveries = deliveries + $1,
		object = CASE WHEN object = '' THEN CAST($2 AS TEXT) ELSE object END
		WHERE account = $3 AND key_hash = $4 AND claim = $5`, more, object, op.Account, op.KeyHash, op.Claim)
	if err != nil {
		return fmt.Errorf("idempotency key: %w", err)
	}
	return nil
}

// SweepIdempotency forgets keys after 24 hours. It answers how many.
func (s *Store) SweepIdempotency(ctx context.Context) (int64, error) {
	return affected(ctx, s.db, `DELETE FROM idempotency WHERE expires_at <= `+s.nowSQL())
}
