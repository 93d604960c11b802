package webhook

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/netguard"
)

var secret = secretMark + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef01234567"))

func sender(t *testing.T, d Dialer) *Sender {
	t.Helper()
	s, err := NewSender(Config{Dialer: d, UserAgent: "webreader-webhooks", Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loopback(t *testing.T) *netguard.Dialer {
	t.Helper()
	d, err := netguard.New(netguard.Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestADeliveryIsOneSignedPost(t *testing.T) {
	var got *http.Request
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer receiver.Close()
	event := Event{ID: "evt_1", Type: JobCompleted, At: time.Unix(1_700_000_000, 0), Data: map[string]string{"id": "job_1"}}
	sent, err := event.Body()
	if err != nil {
		t.Fatal(err)
	}
	r := sender(t, loopback(t)).Send(t.Context(), receiver.URL+"/hook", event.ID, sent, secret)
	if !r.Delivered() {
		t.Fatalf("result %+v", r)
	}
	if string(body) != `{"id":"evt_1","type":"job.completed","timestamp":"2023-11-14T22:13:20Z","data":{"id":"job_1"}}` {
		t.Errorf("body %s", body)
	}
	want, err := Sign("evt_1", time.Unix(1_700_000_000, 0), body, secret)
	if err != nil || got.Header.Get("webhook-signature") != want || got.Header.Get("webhook-id") != "evt_1" || got.Header.Get("webhook-timestamp") != "1700000000" {
		t.Errorf("headers %v, want signature %s (%v)", got.Header, want, err)
	}
}

// The values are the published example of the Standard Webhooks libraries.
func TestStandardWebhooks_TheSignatureIsHMACOverIDTimestampAndBody(t *testing.T) {
	got, err := Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil || got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestARotatedSecretSignsBesideTheNewOne(t *testing.T) {
	got, err := Sign("a", time.Unix(1, 0), nil, secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil || len(strings.Split(got, " ")) != 2 {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "whsec_", "whsec_!!", "whsec_c2hvcnQ="} {
		if _, err := Sign("a", time.Unix(1, 0), nil, bad); err == nil {
			t.Errorf("secret %q was taken", bad)
		}
	}
}

func TestAnswersAreJudged(t *testing.T) {
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/busy":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/big":
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}))
	defer receiver.Close()
	s := sender(t, loopback(t))
	cases := map[string]Result{
		"/ok":    {Status: 200},
		"/big":   {Status: 200},
		"/gone":  {Status: 410, Problem: "the receiver answered 410: it wants no more events", Stop: true},
		"/moved": {Status: 302, Problem: "the receiver answered with a redirect, which is not followed"},
		"/busy":  {Status: 503, Problem: "the receiver answered 503", RetryAfter: 2 * time.Minute},
	}
	for path, want := range cases {
		if got := s.Send(t.Context(), receiver.URL+path, "evt", []byte("{}"), secret); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	if asked != len(cases) {
		t.Errorf("%d requests for %d deliveries", asked, len(cases))
	}
}

func TestAddressesInsideAreNotReached(t *testing.T) {
	asked := false
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer receiver.Close()
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{receiver.URL, "http://169.254.169.254/", "http://[::ffff:127.0.0.1]/", "http://localhost/"} {
		r := sender(t, guard).Send(t.Context(), target, "evt", []byte("{}"), secret)
		if !r.Stop || r.Delivered() || r.Problem != "the address is not public" {
			t.Errorf("%s: %+v", target, r)
		}
	}
	if asked {
		t.Error("the guarded address was reached")
	}
}

func TestAReceiverThatIsDownIsTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := "http://" + l.Addr().String()
	_ = l.Close()
	r := sender(t, loopback(t)).Send(t.Context(), target, "evt", []byte("{}"), secret)
	if r.Stop || r.Delivered() || r.Problem != "the receiver could not be reached" {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := sender(t, loopback(t)).Send(ctx, target, "evt", []byte("{}"), secret); r.Problem != "the receiver did not answer in time" {
		t.Errorf("%+v", r)
	}
}

func TestBackoffGrowsAndEndsAfterADay(t *testing.T) {
	age, last, tries := time.Duration(0), time.Duration(0), 1
	for {
		wait, more := Backoff(tries, age, Result{})
		if !more {
			break
		}
		if wait < last && age+wait != Ends {
			t.Errorf("try %d waits %v after %v", tries, wait, last)
		}
		age, last = age+wait, wait
		tries++
	}
	if age != Ends || tries < 8 {
		t.Errorf("given up after %v and %d tries", age, tries)
	}
	if _, more := Backoff(1, 0, Result{Stop: true}); more {
		t.Error("tried again after a stop")
	}
	if wait, _ := Backoff(1, 0, Result{RetryAfter: time.Hour}); wait != time.Hour {
		t.Errorf("Retry-After not kept: %v", wait)
	}
}

func TestWebhookURLs(t *testing.T) {
	inside := func(host string) bool { return host == "127.0.0.1" }
	for raw, ok := range map[string]bool{
		"https://example.com/x": true, "http://127.0.0.1:9/x": true, "http://example.com/": false, "ftp://example.com/": false,
		"https://u:p@example.com/": false, "https:///x": false, "": false, "https://example.com/#a": false,
	} {
		if err := CheckURL(raw, inside); (err == nil) != ok {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
