package billing

import (
	"context"
	"time"

	"github.com/webreaderapi/webreader/internal/seal"
)

// Principal is who calls: the account behind an API key.
type Principal struct {
	Account     string // account id
	AccountName string
	Key         string // API key id
	Plan        Plan
	// Recipient is whom job results made with this key are sealed to.
	Recipient seal.Recipient
	// FingerprintKey keys the account's page fingerprints.
	FingerprintKey []byte
}

// Status says whether an account may be used.
type Status string

// The statuses of an account.
const (
	Active    Status = "active"
	Suspended Status = "suspended"
	Closed    Status = "closed"
)

// Account is a customer.
type Account struct {
	ID            string
	Name          string
	Status        Status
	Reason        string // why it is suspended
	Plan          string
	SpendingCap   *int64 // units a calendar month (UTC) at most; nil is none
	WebhookURL    string
	WebhookSecret string // whsec_…
	// OldWebhookSecret is the one before, while it signs too; else "".
	OldWebhookSecret string
	CreatedAt        time.Time
	SuspendedAt      time.Time
	ClosedAt         time.Time
}

// SigningSecrets are those that sign the account's webhooks, the newest first.
func (a Account) SigningSecrets() []string {
	if a.OldWebhookSecret == "" {
		return []string{a.WebhookSecret}
	}
	return []string{a.WebhookSecret, a.OldWebhookSecret}
}

// Key is an API key as it can be shown later: never the secret.
type Key struct {
	ID        string
	Account   string
	Name      string
	Prefix    string
	Last4     string
	CreatedAt time.Time
	LastUsed  time.Time // to the hour; zero when never
	EndsAt    time.Time // zero when open-ended
	RevokedAt time.Time
	Sealed    int // results and changes not yet collected, which only this key opens
}

// ActiveAt is true while the key opens the door.
func (k Key) ActiveAt(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.EndsAt.IsZero() || now.Before(k.EndsAt))
}

// Change is what a customer may change of an account. Nil leaves a field as it is.
type Change struct {
	Name        *string
	SpendingCap **int64 // pointer to nil takes the cap away
	WebhookURL  *string // pointer to "" takes it away
}

// SecretGrace is how long a replaced webhook secret signs beside the new one: the receiver has this time to
// change over.
const SecretGrace = 24 * time.Hour

// Accounts keeps accounts and their API keys. Faults: Unauthorized, AccountSuspended, NotFound,
// InvalidRequest (with the field).
type Accounts interface {
	// Authenticate is the account behind an API key. Unauthorized for what is no key, unknown, ended
	// or revoked; AccountSuspended for a good key of a suspended account.
	Authenticate(ctx context.Context, rawKey string) (Principal, error)

	// CreateAccount makes an account on a plan ("" is the default plan). Names are unique among
	// accounts that are not closed.
	CreateAccount(ctx context.Context, name, plan string) (Account, error)
	// Account is one account, by id or by name.
	Account(ctx context.Context, idOrName string) (Account, error)
	// ListAccounts is a page of accounts, oldest first; after is the last id of the page before.
	ListAccounts(ctx context.Context, after string, limit int) ([]Account, error)
	ChangeAccount(ctx context.Context, id string, c Change) (Account, error)
	// RotateWebhookSecret gives the account a new secret for its webhooks. The one before signs beside it for
	// SecretGrace.
	RotateWebhookSecret(ctx context.Context, id string) (Account, error)
	Suspend(ctx context.Context, id, reason string) error
	Resume(ctx context.Context, id string) error
	// CloseAccount ends an account: its keys are revoked and everything but the ledger is erased.
	CloseAccount(ctx context.Context, id string) error

	// CreateKey makes a key. The secret is in the answer and nowhere else.
	CreateKey(ctx context.Context, account, name string, ends time.Time) (Key, Secret, error)
	ListKeys(ctx context.Context, account string) ([]Key, error)
	// RotateKey makes a key with the old one's name; the old one ends at the time given.
	RotateKey(ctx context.Context, account, key string, oldEnds time.Time) (Key, Secret, error)
	// RevokeKey ends a key at once and erases what is sealed to it. InvalidRequest for the account's last
	// active key, unless forced.
	RevokeKey(ctx context.Context, account, key string, force bool) (Key, error)
}
