package conformance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/handlers"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/internal/webhook"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

// try is one POST that a receiver saw.
type try struct {
	at        time.Time // by the moved clock
	id, stamp string
	signed    []string // its signatures
	body      string
}

// by is true when a signature is that of a secret, reckoned as Standard Webhooks says.
func (y try) by(signature, secret string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", y.id, y.stamp, y.body)
	return err == nil && signature == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// hooks is an engine with the API before it and a customer's receiver behind it, all on one moved clock.
type hooks struct {
	*replicas
	api    *live // its calls only
	sender *webhook.Sender
	hook   *httptest.Server
	answer atomic.Int64 // the receiver's status
	tries  []try
}

func newHooks(t *testing.T, database string) *hooks {
	t.Helper()
	h := &hooks{replicas: newReplicas(t, "webreaderapi", database, 1)}
	h.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	h.answer.Store(http.StatusServiceUnavailable)
	h.hook = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.tries = append(h.tries, try{h.clock.Now(), r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), strings.Fields(r.Header.Get("webhook-signature")), string(body)})
		w.WriteHeader(int(h.answer.Load()))
	}))
	t.Cleanup(h.hook.Close)
	settings, err := netguard.FromEnv(h.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	dialer, err := netguard.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if h.sender, err = webhook.NewSender(webhook.Config{Dialer: dialer, UserAgent: "test", Now: h.clock.Now}); err != nil {
		t.Fatal(err)
	}
	all, err := policy.Load(profiles.Files)
	if err != nil {
		t.Fatal(err)
	}
	server, err := handlers.New(handlers.DefaultConfig(), handlers.Rooms{
		Accounts: h.store, Usage: h.store, Idempotency: h.store, Jobs: h.desk, Watches: h.store, Profile: all.Get("webreaderapi"), Ready: h.store.Ping,
		Now: h.clock.Now, Log: slog.New(slog.DiscardHandler), Metrics: telemetry.NewMetrics(),
	})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(server.Handler())
	t.Cleanup(api.Close)
	h.api = &live{site: &site{Web: h.Web, t: t}, base: api.URL, key: h.secret.Reveal()}
	return h
}

// ended is a batch of one page that has ended, and tells its receiver of it.
func (h *hooks) ended() jobs.Job {
	h.t.Helper()
	j, err := h.desk.Batch(h.t.Context(), jobs.BatchOrder{URLs: []string{"http://a.test/1"},
		Order: jobs.Order{Principal: h.principal, ID: billing.NewID("job"), Request: "req_1", WebhookURL: h.hook.URL}})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.finish(j)[0]
}

// log is a job's delivery of its end, as the API shows it.
func (h *hooks) log(j jobs.Job) told {
	h.t.Helper()
	_, text := h.api.call("GET", "/jobs/"+j.ID+"/deliveries", "")
	list := slices.DeleteFunc(decode[struct{ Deliveries []told }](h.t, text).Deliveries, func(d told) bool { return d.Event == webhook.PageCompleted })
	if len(list) != 1 || list[0].Event != webhook.JobCompleted {
		h.t.Fatalf("deliveries %s, want one of the job's end", text)
	}
	return list[0]
}

// send tries what is due at this moment, as workers do.
func (h *hooks) send() {
	h.t.Helper()
	due, err := h.store.DueDeliveries(h.t.Context(), 0, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, id := range due {
		if _, err := h.store.Deliver(h.t.Context(), h.sender, id); err != nil {
			h.t.Fatal(err)
		}
	}
}

// rotate replaces the secret by the API.
func (h *hooks) rotate() (secret string) {
	h.t.Helper()
	_, text := h.api.call("POST", "/account/webhook-secret", "")
	return decode[struct {
		Secret string `json:"webhook_secret"`
	}](h.t, text).Secret
}

// about are the tries of one delivery.
func (h *hooks) about(id string) []try {
	return slices.DeleteFunc(slices.Clone(h.tries), func(y try) bool { return y.id != id })
}

// An event that nobody takes is sent for a day, rarer and rarer, under one id and with one body, each time with the
// time and a signature of its own; the delivery log shows each try. A day after the event it is given up. While a
// replaced secret is valid, both sign.
func TestAWebhookThatNobodyTakes(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		h := newHooks(t, database)
		account, err := h.store.Account(t.Context(), h.principal.Account)
		if err != nil {
			t.Fatal(err)
		}
		secrets := []string{account.WebhookSecret}
		j := h.ended()
		first := h.log(j)
		for d := first; d.State == "waiting"; d = h.log(j) {
			if early := d.NextAt.Add(-time.Millisecond); early.After(h.clock.Now()) {
				h.clock.AdvanceTo(early)
				h.send()
			}
			if n := len(h.about(first.ID)); n != d.Attempts {
				t.Fatalf("%d tries, the log says %+v", n, d)
			}
			h.clock.AdvanceTo(d.NextAt)
			h.send()
			seen := h.about(first.ID)
			if now := h.log(j); len(seen) != d.Attempts+1 || now.Attempts != len(seen) || now.Status != 503 || !strings.Contains(now.Problem, "503") {
				t.Fatalf("%d tries, the log says %+v", len(seen), now)
			}
			last := seen[len(seen)-1]
			if last.stamp != strconv.FormatInt(h.clock.Now().Unix(), 10) || last.body != seen[0].body {
				t.Errorf("try %d at %v: timestamp %s, body %s", len(seen), h.clock.Now(), last.stamp, last.body)
			}
			if len(last.signed) != len(secrets) {
				t.Fatalf("try %d has %d signatures, want %d", len(seen), len(last.signed), len(secrets))
			}
			for i, secret := range secrets {
				if !last.by(last.signed[i], secret) {
					t.Errorf("try %d: signature %d is not that of its secret", len(seen), i)
				}
			}
			if len(seen) == 7 {
				secrets = []string{h.rotate(), secrets[0]}
			}
		}
		tries := h.about(first.ID)
		gaps := []time.Duration{}
		for i := 1; i < len(tries); i++ {
			gaps = append(gaps, tries[i].at.Sub(tries[i-1].at))
		}
		if n := len(gaps); n < 8 || gaps[0] != 5*time.Second || !slices.IsSorted(gaps[:n-1]) || gaps[n-2] < time.Hour {
			t.Errorf("the waits were %v", gaps)
		}
		if last := h.log(j); last.State != "given_up" || !tries[len(tries)-1].at.Equal(last.CreatedAt.Add(24*time.Hour)) {
			t.Errorf("the last try came at %v, the log says %+v", tries[len(tries)-1].at, last)
		}
		h.clock.Advance(48 * time.Hour)
		before := len(h.tries)
		h.send()
		if len(h.tries) != before {
			t.Error("it was sent again after it had been given up")
		}
		// The replaced secret is over by now, and what is taken at once is sent once.
		h.answer.Store(http.StatusNoContent)
		j = h.ended()
		h.send()
		h.send()
		d := h.log(j)
		if seen := h.about(d.ID); d.State != "delivered" || d.Attempts != 1 || len(seen) != 1 || len(seen[0].signed) != 1 || !seen[0].by(seen[0].signed[0], secrets[0]) {
			t.Errorf("after the replaced secret's end: %+v, the log says %+v", seen, d)
		}
	})
}
