package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
)

// accountAnswer is an account as its owner sees it.
type accountAnswer struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Status        billing.Status `json:"status"`
	Plan          string         `json:"plan"`
	SpendingCap   *int64         `json:"spending_cap"`
	WebhookURL    *string        `json:"webhook_url"`
	WebhookSecret string         `json:"webhook_secret,omitempty"`
}

func newAccount(a billing.Account) accountAnswer {
	answer := accountAnswer{ID: a.ID, Name: a.Name, Status: a.Status, Plan: a.Plan, SpendingCap: a.SpendingCap, WebhookSecret: a.WebhookSecret}
	if a.WebhookURL != "" {
		answer.WebhookURL = &a.WebhookURL
	}
	return answer
}

// VisitGetAccountResponse writes the account.
func (a accountAnswer) VisitGetAccountResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, a)
}

// VisitChangeAccountResponse writes the account.
func (a accountAnswer) VisitChangeAccountResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, a)
}

// VisitRotateWebhookSecretResponse writes the account.
func (a accountAnswer) VisitRotateWebhookSecretResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, a)
}

// GetAccount is GET /account.
func (a api) GetAccount(ctx context.Context, _ openapi.GetAccountRequestObject) (openapi.GetAccountResponseObject, error) {
	account, err := a.accounts.Account(ctx, callOf(ctx).principal.Account)
	if err != nil {
		return nil, err
	}
	return newAccount(account), nil
}

// ChangeAccount is PATCH /account.
func (a api) ChangeAccount(ctx context.Context, r openapi.ChangeAccountRequestObject) (openapi.ChangeAccountResponseObject, error) {
	change, err := changeOf(r.Body)
	if err != nil {
		return nil, err
	}
	account, err := a.accounts.ChangeAccount(ctx, callOf(ctx).principal.Account, change)
	if err != nil {
		return nil, err
	}
	return newAccount(account), nil
}

func changeOf(body *openapi.AccountChange) (billing.Change, error) {
	change := billing.Change{Name: body.Name}
	if body.SpendingCap.IsSpecified() {
		limit := new(*int64)
		if n, err := body.SpendingCap.Get(); err == nil {
			*limit = &n
		}
		change.SpendingCap = limit
	}
	if body.WebhookUrl.IsSpecified() {
		address, _ := body.WebhookUrl.Get() // null is "", which takes it away
		if err := checkWebhookURL(address); err != nil {
			return change, badField("webhook_url", err)
		}
		change.WebhookURL = &address
	}
	return change, nil
}

// checkWebhookURL says early what can never be delivered to. Whether the address may be dialled is
// checked at each delivery.
func checkWebhookURL(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("webhook_url must be an absolute https URL, such as https://hooks.example/webreader")
	}
	if u.User != nil || u.Fragment != "" {
		return errors.New("webhook_url must have no user name, password or fragment")
	}
	return nil
}

// RotateWebhookSecret is POST /account/webhook-secret.
func (a api) RotateWebhookSecret(ctx context.Context, r openapi.RotateWebhookSecretRequestObject) (openapi.RotateWebhookSecretResponseObject, error) {
	var account billing.Account
	err := a.once(ctx, "POST /account/webhook-secret", nil, r.Params.IdempotencyKey, func(op billing.Operation) (object string, err error) {
		id := callOf(ctx).principal.Account
		if op.Object != "" {
			account, err = a.accounts.Account(ctx, id)
			return op.Object, err
		}
		account, err = a.accounts.RotateWebhookSecret(ctx, id)
		return id, err
	})
	if err != nil {
		return nil, err
	}
	return newAccount(account), nil
}

// keyAnswer is a key as it is shown later, with how much is lost with it.
type keyAnswer struct {
	openapi.Key
}

func shownKey(k billing.Key) keyAnswer {
	answer := keyAnswer{newKey(k)}
	answer.UndeliveredResults = &k.Sealed
	return answer
}

func newKey(k billing.Key) openapi.Key {
	answer := openapi.Key{Id: k.ID, Name: k.Name, LastFour: k.Last4, CreatedAt: k.CreatedAt.UTC()}
	if !k.LastUsed.IsZero() {
		t := k.LastUsed.UTC()
		answer.LastUsedAt = &t
	}
	if !k.EndsAt.IsZero() {
		t := k.EndsAt.UTC()
		answer.ExpiresAt = &t
	}
	if !k.RevokedAt.IsZero() {
		t := k.RevokedAt.UTC()
		answer.RevokedAt = &t
	}
	return answer
}

// VisitRevokeKeyResponse writes the key.
func (k keyAnswer) VisitRevokeKeyResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, k.Key)
}

type keyList struct {
	Keys []keyAnswer `json:"keys"`
}

// VisitListKeysResponse writes the keys.
func (l keyList) VisitListKeysResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListKeys is GET /keys.
func (a api) ListKeys(ctx context.Context, _ openapi.ListKeysRequestObject) (openapi.ListKeysResponseObject, error) {
	keys, err := a.accounts.ListKeys(ctx, callOf(ctx).principal.Account)
	if err != nil {
		return nil, err
	}
	list := keyList{Keys: make([]keyAnswer, len(keys))}
	for i, k := range keys {
		list.Keys[i] = shownKey(k)
	}
	return list, nil
}

// newKeyAnswer is a key with its secret: the one answer that holds it.
type newKeyAnswer struct {
	openapi.Key
	Secret string `json:"secret"`
}

// VisitCreateKeyResponse writes the key and its secret.
func (k newKeyAnswer) VisitCreateKeyResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusCreated, k)
}

// CreateKey is POST /keys.
func (a api) CreateKey(ctx context.Context, r openapi.CreateKeyRequestObject) (openapi.CreateKeyResponseObject, error) {
	var answer newKeyAnswer
	err := a.once(ctx, "POST /keys", r.Body, r.Params.IdempotencyKey, func(op billing.Operation) (string, error) {
		if op.Object != "" {
			return op.Object, fault.New(fault.IdempotencyConflict, "This request made the key "+op.Object+" before. Its secret was shown then and is not kept; make another key with a new Idempotency-Key.")
		}
		key, secret, err := a.makeKey(ctx, r.Body)
		if err != nil {
			return "", err
		}
		answer = newKeyAnswer{newKey(key), secret.Reveal()}
		return key.ID, nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (a api) makeKey(ctx context.Context, body *openapi.KeyRequest) (billing.Key, billing.Secret, error) {
	account, now := callOf(ctx).principal.Account, a.now()
	if body.Replaces == nil {
		if body.ReplacesUntil != nil {
			return billing.Key{}, billing.Secret{}, invalid([]fault.Field{{Name: "replaces_until", Detail: "needs replaces, the id of the key to end"}})
		}
		name := "unnamed"
		if body.Name != nil {
			name = *body.Name
		}
		ends, err := later("expires_at", body.ExpiresAt, now)
		if err != nil {
			return billing.Key{}, billing.Secret{}, err
		}
		return a.accounts.CreateKey(ctx, account, name, ends)
	}
	if body.Name != nil || body.ExpiresAt != nil {
		return billing.Key{}, billing.Secret{}, invalid([]fault.Field{{Name: "replaces", Detail: "cannot be combined with name or expires_at: the new key takes over the name"}})
	}
	ends, err := later("replaces_until", body.ReplacesUntil, now)
	if err != nil {
		return billing.Key{}, billing.Secret{}, err
	}
	if ends.IsZero() {
		ends = now.Add(rotationTime)
	}
	return a.accounts.RotateKey(ctx, account, *body.Replaces, ends)
}

// RevokeKey is DELETE /keys/{id}.
func (a api) RevokeKey(ctx context.Context, r openapi.RevokeKeyRequestObject) (openapi.RevokeKeyResponseObject, error) {
	revoked, err := a.accounts.RevokeKey(ctx, callOf(ctx).principal.Account, r.Id, r.Params.Force != nil && *r.Params.Force)
	if err != nil {
		return nil, err
	}
	return shownKey(revoked), nil
}
