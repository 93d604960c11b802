// Package webhook delivers signed events to customers' URLs by Standard Webhooks, through the
// address guard: one POST, no redirects, its own deadline. An event carries ids, URLs, kinds, counts
// and links, never page content. It keeps no state: whoever queues the events decides by Result and
// Backoff when to try again.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/netguard"
)

// The types of events.
const (
	JobCompleted   = "job.completed"
	JobFailed      = "job.failed"
	PageCompleted  = "page.completed"
	WatchChanged   = "watch.changed"
	UsageThreshold = "usage.threshold"
)

const (
	deadline   = 15 * time.Second
	readAnswer = 4 << 10 // bytes of the answer that are read, and thrown away
	mostBody   = 256 << 10
	secretMark = "whsec_"
)

// Event is what is told. Its ID stays the same over all deliveries, so that a customer can drop
// doubles.
type Event struct {
	ID   string    `json:"id"`
	Type string    `json:"type"`
	At   time.Time `json:"timestamp"`
	Data any       `json:"data"`
}

// Body is the event as it is sent.
func (e Event) Body() ([]byte, error) {
	e.At = e.At.UTC()
	b, err := json.Marshal(e)
	if err == nil && len(b) > mostBody {
		err = fmt.Errorf("webhook: event of %d bytes, the most is %d", len(b), mostBody)
	}
	return b, err
}

// Dialer dials for a Sender: netguard's, which judges the address.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config of a Sender.
type Config struct {
	Dialer    Dialer
	UserAgent string
	Now       func() time.Time
	RootCAs   *x509.CertPool // nil is the system's
}

// Sender delivers events.
type Sender struct {
	client *http.Client
	agent  string
	now    func() time.Time
}

// NewSender makes a Sender. All fields but RootCAs are needed.
func NewSender(c Config) (*Sender, error) {
	if c.Dialer == nil || c.UserAgent == "" || c.Now == nil {
		return nil, errors.New("webhook: a Sender needs a dialer, a user agent and a clock")
	}
	return &Sender{
		client: &http.Client{
			Transport: &http.Transport{
				Proxy:                  nil,
				DialContext:            c.Dialer.DialContext,
				DisableKeepAlives:      true,
				TLSClientConfig:        &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    5 * time.Second,
				ResponseHeaderTimeout:  10 * time.Second,
				MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		agent: c.UserAgent,
		now:   c.Now,
	}, nil
}

// Result is how one delivery ended.
type Result struct {
	// Status is the customer's answer, 0 when there was none.
	Status int
	// Problem says in our words why it did not arrive; empty when it did.
	Problem string
	// Stop is true when no further try makes sense: the customer answered 410 Gone, or the address may
	// not be reached.
	Stop bool
	// RetryAfter is the customer's wish, 0 is none.
	RetryAfter time.Duration
}

// Delivered is true when the customer took the event with a 2xx.
func (r Result) Delivered() bool { return r.Problem == "" && r.Status >= 200 && r.Status < 300 }

// Send delivers one event once. secrets are the account's, the newest first; each makes a signature.
func (s *Sender) Send(ctx context.Context, target, id string, body []byte, secrets ...string) Result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return Result{Problem: "the URL cannot be used", Stop: true}
	}
	at := s.now()
	signature, err := Sign(id, at, body, secrets...)
	if err != nil {
		return Result{Problem: "the account has no usable webhook secret", Stop: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	resp, err := s.client.Do(req)
	if err != nil {
		return failed(ctx, err)
	}
	defer resp.Body.Close()
	// What the customer says is of no use; reading a little lets the connection end in peace.
	_, _ = io.CopyN(io.Discard, resp.Body, readAnswer)
	return answered(resp)
}

func answered(resp *http.Response) Result {
	r := Result{Status: resp.StatusCode}
	switch {
	case r.Status >= 200 && r.Status < 300:
	case r.Status == http.StatusGone:
		r.Problem, r.Stop = "the receiver answered 410: it wants no more events", true
	case r.Status >= 300 && r.Status < 400:
		r.Problem = "the receiver answered with a redirect, which is not followed"
	default:
		r.Problem = "the receiver answered " + strconv.Itoa(r.Status)
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 && n <= 86_400 {
		r.RetryAfter = time.Duration(n) * time.Second
	}
	return r
}

func failed(ctx context.Context, err error) Result {
	late, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, netguard.ErrNotAllowed):
		return Result{Problem: "the address is not public", Stop: true}
	case ctx.Err() != nil || ok && late.Timeout():
		return Result{Problem: "the receiver did not answer in time"}
	default:
		return Result{Problem: "the receiver could not be reached"}
	}
}

// Sign is the webhook-signature of a delivery: a version and a signature for each secret.
func Sign(id string, at time.Time, body []byte, secrets ...string) (string, error) {
	var signatures []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretMark))
		if err != nil || len(key) < 16 {
			return "", errors.New("webhook: a secret is whsec_ and at least 16 bytes in base64")
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(signatures) == 0 {
		return "", errors.New("webhook: no secret to sign with")
	}
	return strings.Join(signatures, " "), nil
}

// steps are the waits between two tries; the last one repeats until Ends.
var steps = [...]time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour}

// Ends is how long after the event its delivery is given up.
const Ends = 24 * time.Hour

// Backoff is how long to wait after the given number of failed tries (1 and up), and false when the
// event is given up because it is age old.
func Backoff(failed int, age time.Duration, r Result) (time.Duration, bool) {
	if r.Stop || age >= Ends {
		return 0, false
	}
	wait := max(steps[min(max(failed, 1), len(steps))-1], r.RetryAfter)
	if left := Ends - age; wait > left {
		wait = left
	}
	return wait, true
}

// CheckURL says whether events may be sent to raw: https, or http where plain is true for its host.
// The address behind the name is judged when it is dialled.
func CheckURL(raw string, plain func(host string) bool) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || len(raw) > 2048:
		return errors.New("not a URL; write it like https://example.com/webreader-events")
	case u.User != nil:
		return errors.New("a webhook URL cannot hold a user name or password; use the signature to know that we sent it")
	case u.Fragment != "":
		return errors.New("a webhook URL cannot have a fragment (#…)")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && plain != nil && plain(u.Hostname()):
		return nil
	}
	return errors.New("a webhook URL begins with https://")
}
