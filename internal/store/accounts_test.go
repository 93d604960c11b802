package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
)

func TestAKeyOpensItsAccountOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		anna, key, secret := customer(t, s, "Anna")
		bea, _, other := customer(t, s, "Bea")
		p := must[billing.Principal](t)(s.Authenticate(t.Context(), secret.Reveal()))
		if p.Account != anna.ID || p.AccountName != "Anna" || p.Key != key.ID || p.Plan.Name != "local" || len(p.FingerprintKey) != 32 {
			t.Errorf("principal %+v", p)
		}
		q := must[billing.Principal](t)(s.Authenticate(t.Context(), other.Reveal()))
		if q.Account != bea.ID || bytes.Equal(p.FingerprintKey, q.FingerprintKey) {
			t.Errorf("principal %+v", q)
		}
		home := seal.Context{Account: anna.ID, Job: "job_1", Item: "1"}
		e := must[seal.Envelope](t)(p.Recipient.Seal(home, []byte("page")))
		identity := must[seal.Identity](t)(secret.Identity())
		if plain, err := identity.Open(home, e); err != nil || string(plain) != "page" {
			t.Errorf("opened %q, %v", plain, err)
		}
		if _, err := must[seal.Identity](t)(other.Identity()).Open(home, e); err == nil {
			t.Error("another key opened the envelope")
		}
		for _, raw := range []string{"", "wr_x", billing.NewSecret().Reveal(), key.ID} {
			_, err := s.Authenticate(t.Context(), raw)
			wantKind(t, err, fault.Unauthorized)
		}
	})
}

func TestTheSecretIsNotInTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		_, _, secret := customer(t, s, "Anna")
		n := number(t, s, `SELECT COUNT(*) FROM api_keys WHERE name || hash || prefix || last4 LIKE '%' || CAST($1 AS TEXT) || '%'`, secret.Reveal()[7:40])
		if n != 0 {
			t.Error("the secret is stored")
		}
		if n := number(t, s, "SELECT COUNT(*) FROM api_keys WHERE hash = $1 AND length(public_key) = 32", secret.Hash()); n != 1 {
			t.Errorf("%d rows with the hash", n)
		}
	})
}

func TestLastUseIsKeptToTheHour(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, secret := customer(t, s, "Anna")
		clock.advance(25 * time.Minute)
		for _, want := range []string{"12:00", "12:00", "13:00"} {
			must[billing.Principal](t)(s.Authenticate(t.Context(), secret.Reveal()))
			keys := must[[]billing.Key](t)(s.ListKeys(t.Context(), account.ID))
			if got := keys[0].LastUsed.Format("15:04"); got != want {
				t.Errorf("last used %s, want %s", got, want)
			}
			clock.advance(20 * time.Minute)
		}
	})
}

func TestARotatedKeyWorksUntilItsEnd(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, old, oldSecret := customer(t, s, "Anna")
		_, _, err := s.RotateKey(t.Context(), account.ID, old.ID, clock.Now())
		wantKind(t, err, fault.InvalidRequest)
		key, secret, err := s.RotateKey(t.Context(), account.ID, old.ID, clock.Now().Add(time.Hour))
		noError(t, err)
		if key.Name != old.Name || key.ID == old.ID {
			t.Errorf("new key %+v", key)
		}
		clock.advance(time.Hour - time.Millisecond)
		must[billing.Principal](t)(s.Authenticate(t.Context(), oldSecret.Reveal()))
		clock.advance(time.Millisecond)
		_, err = s.Authenticate(t.Context(), oldSecret.Reveal())
		wantKind(t, err, fault.Unauthorized)
		must[billing.Principal](t)(s.Authenticate(t.Context(), secret.Reveal()))
	})
}

func TestTheLastActiveKeyIsRevokedWithForceOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, first, firstSecret := customer(t, s, "Anna")
		other, _, _ := customer(t, s, "Bea")
		second, _, err := s.CreateKey(t.Context(), account.ID, "second", time.Time{})
		noError(t, err)
		_, err = s.RevokeKey(t.Context(), other.ID, first.ID, true)
		wantKind(t, err, fault.NotFound)
		revoked := must[billing.Key](t)(s.RevokeKey(t.Context(), account.ID, first.ID, false))
		if revoked.RevokedAt.IsZero() || revoked.Sealed != 0 {
			t.Errorf("revoked %+v", revoked)
		}
		_, err = s.Authenticate(t.Context(), firstSecret.Reveal())
		wantKind(t, err, fault.Unauthorized)
		_, err = s.RevokeKey(t.Context(), account.ID, first.ID, true)
		wantKind(t, err, fault.NotFound)
		_, err = s.RevokeKey(t.Context(), account.ID, second.ID, false)
		wantKind(t, err, fault.InvalidRequest)
		must[billing.Key](t)(s.RevokeKey(t.Context(), account.ID, second.ID, true))
	})
}

func TestTwoRevocationsAtOnceLeaveAKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, first, _ := customer(t, s, "Anna")
		second, _, err := s.CreateKey(t.Context(), account.ID, "second", time.Time{})
		noError(t, err)
		var wg sync.WaitGroup
		for _, id := range []string{first.ID, second.ID} {
			wg.Go(func() {
				if _, err := s.RevokeKey(t.Context(), account.ID, id, false); err != nil && fault.Of(err) != fault.InvalidRequest {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := number(t, s, "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL"); n != 1 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestASuspensionIsSeenWithinASecond(t *testing.T) {
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			rawURL, clock := make(t), newClock()
			server, operator := open(t, rawURL, Options{Clock: clock}), open(t, rawURL, Options{Clock: clock})
			account, _, secret := customer(t, operator, "Anna")
			standing := func() policy.Standing { return must[policy.Standing](t)(server.Standing(t.Context(), account.ID)) }
			if standing() != policy.StandingGood {
				t.Error("a new account is not in good standing")
			}
			noError(t, operator.Suspend(t.Context(), account.ID, "abuse"))
			_, err := server.Authenticate(t.Context(), secret.Reveal())
			wantKind(t, err, fault.AccountSuspended)
			clock.advance(time.Second)
			if standing() != policy.StandingSuspended {
				t.Error("a second later it still is")
			}
			noError(t, operator.Resume(t.Context(), account.ID))
			clock.advance(time.Second)
			if standing() != policy.StandingGood {
				t.Error("a resumed account is not in good standing")
			}
			noError(t, operator.CloseAccount(t.Context(), account.ID))
			clock.advance(time.Second)
			if standing() != policy.StandingSuspended {
				t.Error("a closed account may cause requests")
			}
			if got := must[policy.Standing](t)(server.Standing(t.Context(), "acc_nobody")); got != policy.StandingUnknown {
				t.Errorf("nobody's standing is %v", got)
			}
		})
	}
}

func TestAccountsAreFoundAndListed(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		var ids []string
		for i := range 5 {
			a := must[billing.Account](t)(s.CreateAccount(t.Context(), fmt.Sprint("customer ", i), ""))
			ids = append(ids, a.ID)
		}
		var got []string
		for after := ""; ; {
			list := must[[]billing.Account](t)(s.ListAccounts(t.Context(), after, 2))
			if len(list) == 0 {
				break
			}
			for _, a := range list {
				got = append(got, a.ID)
			}
			after = list[len(list)-1].ID
		}
		if len(got) != 5 {
			t.Errorf("listed %v", got)
		}
		for _, name := range []string{ids[3], "customer 3"} {
			if a := must[billing.Account](t)(s.Account(t.Context(), name)); a.ID != ids[3] || a.Status != billing.Active || !strings.HasPrefix(a.WebhookSecret, "whsec_") {
				t.Errorf("%s is %+v", name, a)
			}
		}
		_, err := s.Account(t.Context(), "nobody")
		wantKind(t, err, fault.NotFound)
		for _, bad := range []string{"", " ", "customer 1", "two\nlines", strings.Repeat("x", 201), "\xff"} {
			_, err := s.CreateAccount(t.Context(), bad, "")
			wantKind(t, err, fault.InvalidRequest)
		}
		_, err = s.CreateAccount(t.Context(), "new", "no such plan")
		wantKind(t, err, fault.InvalidRequest)
	})
}

func TestAClosedAccountLeavesItsLedgerOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, secret := customer(t, s, "Anna")
		url := "https://hook.example/"
		must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{WebhookURL: &url}))
		h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
		noError(t, s.Settle(t.Context(), h, delivered()))
		noError(t, s.CloseAccount(t.Context(), account.ID))
		got := must[billing.Account](t)(s.Account(t.Context(), account.ID))
		if got.Name != "" || got.WebhookURL != "" || got.WebhookSecret != "" || got.ClosedAt.IsZero() {
			t.Errorf("closed account %+v", got)
		}
		if n := number(t, s, "SELECT length(fingerprint_key) FROM accounts"); n != 0 {
			t.Error("the fingerprint key is there")
		}
		_, err := s.Authenticate(t.Context(), secret.Reveal())
		wantKind(t, err, fault.Unauthorized)
		wantKind(t, s.CloseAccount(t.Context(), account.ID), fault.NotFound)
		wantKind(t, s.Resume(t.Context(), account.ID), fault.NotFound)
		wantLedger(t, s, account, 1, 1)
		must[billing.Account](t)(s.CreateAccount(t.Context(), "Anna", "")) // the name is free again
	})
}

func TestACustomerChangesTheAccount(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, _, _ := customer(t, s, "Anna")
		limit, name := int64(50), "Anna B."
		c := &limit
		got := must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &c, Name: &name}))
		if got.Name != name || got.SpendingCap == nil || *got.SpendingCap != 50 {
			t.Errorf("changed to %+v", got)
		}
		var none *int64
		got = must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &none}))
		if got.SpendingCap != nil || got.Name != name {
			t.Errorf("changed to %+v", got)
		}
		negative := int64(-1)
		c = &negative
		_, err := s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &c})
		wantKind(t, err, fault.InvalidRequest)
		for _, bad := range []string{"ftp://x.example/", "https://", "https://user@x.example/", "x", "https://x.example/" + strings.Repeat("x", 2048)} {
			_, err := s.ChangeAccount(t.Context(), account.ID, billing.Change{WebhookURL: &bad})
			wantKind(t, err, fault.InvalidRequest)
		}
		rotated := must[billing.Account](t)(s.RotateWebhookSecret(t.Context(), account.ID))
		if rotated.WebhookSecret == account.WebhookSecret || len(rotated.WebhookSecret) != 50 {
			t.Errorf("webhook secret %s", rotated.WebhookSecret)
		}
	})
}

// A replaced webhook secret signs beside the new one for a day, and no longer.
func TestAReplacedWebhookSecretSignsForADay(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		first, _, _ := customer(t, s, "Anna")
		if got := first.SigningSecrets(); len(got) != 1 {
			t.Errorf("secrets of a new account: %v", got)
		}
		second := must[billing.Account](t)(s.RotateWebhookSecret(t.Context(), first.ID))
		noError(t, s.tx(t.Context(), func(tx *sql.Tx) error {
			return s.queueEvent(t.Context(), tx, clock.Now().UnixMilli(), first.ID, "job_x", "https://hook.example/", "job.completed", struct{}{})
		}))
		secrets := func() []string {
			t.Helper()
			ids := must[[]string](t)(s.DueDeliveries(t.Context(), 0, 9))
			if len(ids) != 1 {
				t.Fatalf("deliveries %v", ids)
			}
			d, _, err := s.due(t.Context(), ids[0])
			noError(t, err)
			return d.secrets
		}
		if got := secrets(); !slices.Equal(got, []string{second.WebhookSecret, first.WebhookSecret}) {
			t.Errorf("a delivery is signed by %v", got)
		}
		if got := second.SigningSecrets(); !slices.Equal(got, []string{second.WebhookSecret, first.WebhookSecret}) {
			t.Errorf("secrets after the change: %v", got)
		}
		clock.advance(billing.SecretGrace)
		later := must[billing.Account](t)(s.Account(t.Context(), first.ID))
		if got := later.SigningSecrets(); !slices.Equal(got, []string{second.WebhookSecret}) {
			t.Errorf("secrets a day later: %v", got)
		}
		if got := secrets(); len(got) != 1 {
			t.Errorf("a delivery is signed a day later by %v", got)
		}
	})
}
