package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// server is a site and the binary that serves it, with a customer's key. Its operator works on the
// database beside it.
type server struct {
	*site
	base, key string
}

// newServer starts `webreader serve` under a profile; it is stopped at the test's end. Settings are
// NAME=value.
func newServer(t *testing.T, profile string, settings ...string) *server {
	t.Helper()
	address, admin := freeAddress(t), freeAddress(t)
	s := &server{base: "http://" + address, site: newSite(t, profile,
		"WEBREADER_ADDR="+address, "WEBREADER_ADMIN_ADDR="+admin,
		"WEBREADER_DATABASE_URL=sqlite:"+filepath.Join(t.TempDir(), "webreader.db"))}
	s.key = strings.TrimSpace(s.operate("keys", "create", "--account", "customer", "--create-account"))
	cmd := exec.Command(webreader(t), "serve")
	cmd.Env, cmd.Dir = append(s.env, settings...), t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.within(30*time.Second, "the server is ready", func() bool {
		answer, err := http.Get(s.base + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return s
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// within fails the test unless it comes true in time.
func (s *server) within(d time.Duration, what string, itIs func() bool) {
	s.t.Helper()
	for began := time.Now(); !itIs(); <-time.After(20 * time.Millisecond) {
		if time.Since(began) > d {
			s.t.Fatalf("after %v it is not true that %s", d, what)
		}
	}
}

// operate runs an operator's command, which must work, and answers what it printed.
func (s *server) operate(args ...string) string {
	s.t.Helper()
	a := s.run(args...)
	if a.Exit != 0 {
		s.t.Fatalf("webreader %s: exit %d: %s", strings.Join(args, " "), a.Exit, a.Stderr)
	}
	return a.Stdout
}

// call asks the API as the customer and decodes the answer.
func (s *server) call(into any, path string, header ...string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		s.t.Fatalf("%s: %v: %s", path, err, body)
	}
	return res.StatusCode
}

// reads asks for one page; a.Exit is the status of the answer.
func (s *server) reads(page string, header ...string) (a answer) {
	s.t.Helper()
	a.Exit = s.call(&a, "/read?url="+url.QueryEscape(page), header...)
	return a
}

// mustRead fails the test unless the page is read.
func (s *server) mustRead(page string, header ...string) answer {
	s.t.Helper()
	a := s.reads(page, header...)
	if a.Exit != http.StatusOK || a.Markdown == "" {
		s.t.Fatalf("%s: status %d, code %q, %s: want a page", page, a.Exit, a.Code, a.Detail)
	}
	return a
}

// stopped is true when the read was refused at the site's own request, and cost nothing.
func stopped(a answer) bool {
	return a.Exit == http.StatusUnprocessableEntity && a.Code == "blocked_by_site_policy" && a.Reason == "site_opt_out" &&
		a.Charge != nil && a.Charge.Units == 0
}

// W15: what a site saw is found by host and minute, and by a line of its log; no page text is in it.
func reportsCanBeChecked(t *testing.T) {
	s := newServer(t, "webreaderapi")
	s.Page("a.test", "/report", origintest.Article("Waterkering"))
	s.mustRead("http://a.test/report?id=7")
	now := time.Now().UTC()
	line := fmt.Sprintf(`127.0.0.1 - - [%s] "GET /report?id=7 HTTP/1.1" 200 512 "-" "-"`, now.Format("02/Jan/2006:15:04:05 -0700"))
	for _, args := range [][]string{
		{"audit", "--json", "--host", "a.test", "--at", now.Format("2006-01-02 15:04")},
		{"audit", "--json", "--host", "a.test", "--line", line},
	} {
		out := s.operate(args...)
		for _, want := range []string{`"url":"http://a.test/report?id=7"`, `"status":200`, `"user_agent":"WebReaderAPI-bot/1.0`, `"account":"acc_`, `"request_id":"req_`, `"egress":`} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %s is not in %s", args, want, out)
			}
		}
		if strings.Contains(out, "Waterkering") {
			t.Errorf("the log holds text of the page: %s", out)
		}
	}
	if a := s.run("audit", "--host", "a.test", "--at", now.Add(-10*time.Minute).Format(time.RFC3339)); a.Exit != 1 {
		t.Errorf("ten minutes before: exit %d, %s", a.Exit, a.Stdout)
	}
}

// W16: after a suspension the account's key is refused and the site sees nothing more of it.
func suspensionHolds(t *testing.T) {
	s := newServer(t, "webreaderapi")
	s.Page("a.test", "/", origintest.Article("Waterkering"))
	s.mustRead("http://a.test/")
	s.operate("accounts", "suspend", "customer", "--reason", "against the rules of use")
	s.within(5*time.Second, "the key is refused", func() bool {
		a := s.reads("http://a.test/")
		return a.Exit == http.StatusForbidden && a.Code == "account_suspended"
	})
	s.Reset()
	for range 3 {
		s.reads("http://a.test/")
	}
	s.saw("a.test")
	s.operate("accounts", "resume", "customer")
	s.within(5*time.Second, "the key works again", func() bool { return s.reads("http://a.test/").Exit == http.StatusOK })
}

// S15: a stop holds within five seconds, for sub-domains too, while robots.txt allows everything.
func stopIsCarriedOut(t *testing.T) {
	t.Parallel()
	s := newServer(t, "subsidieupdate")
	for _, host := range []string{"a.test", "www.a.test", "b.test"} {
		s.Page(host, "/", origintest.Article("Waterkering"))
		s.mustRead("http://" + host + "/")
	}
	s.operate("optout", "add", "--domain", "a.test", "--by", "beheer@a.test")
	s.within(5*time.Second, "a.test is left alone", func() bool { return stopped(s.reads("http://a.test/")) })
	s.Reset()
	if a := s.reads("http://www.a.test/"); !stopped(a) {
		t.Errorf("the sub-domain: status %d, code %q, reason %q", a.Exit, a.Code, a.Reason)
	}
	s.saw("a.test")
	s.saw("www.a.test")
	s.mustRead("http://b.test/")
}

// S16: one can ask for a part to be left alone, and for slower visits.
func partAndPaceCanBeAskedFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, "subsidieupdate")
	const slow = 4 * time.Second
	for _, page := range []string{"a.test/archief/1", "a.test/nieuws", "b.test/1", "b.test/2"} {
		host, path, _ := strings.Cut(page, "/")
		s.Page(host, "/"+path, origintest.Article("Waterkering"))
	}
	s.operate("optout", "add", "--domain", "b.test", "--delay", slow.String())
	s.operate("optout", "add", "--domain", "a.test", "--path", "/archief/")
	s.within(5*time.Second, "the part is left alone", func() bool { return stopped(s.reads("http://a.test/archief/1")) })
	s.Reset()
	s.reads("http://a.test/archief/1")
	s.saw("a.test")
	s.mustRead("http://a.test/nieuws")
	s.mustRead("http://b.test/1")
	s.mustRead("http://b.test/2")
	if gaps := s.gaps("b.test"); len(gaps) != 2 || gaps[0] < slow-transit || gaps[1] < slow-transit {
		t.Errorf("gaps of %v, want at least %v", gaps, slow)
	}
}

// transit is how much later than the next one a request may arrive, after it was written, on a busy machine.
const transit = 200 * time.Millisecond

// gaps are the times between the requests that host saw.
func (s *server) gaps(host string) []time.Duration {
	var gaps []time.Duration
	seen := s.To(host)
	for i := 1; i < len(seen); i++ {
		gaps = append(gaps, seen[i].At.Sub(seen[i-1].At))
	}
	return gaps
}

// N09: the same request with the same Idempotency-Key is one charge, and so is its receipt.
func chargedOnce(t *testing.T) {
	s := newServer(t, "webreaderapi")
	s.Page("a.test", "/", origintest.Article("Waterkering"))
	first := s.mustRead("http://a.test/", "Idempotency-Key", "order-7")
	again := s.mustRead("http://a.test/", "Idempotency-Key", "order-7")
	if first.Charge.Units != 1 || again.Charge.Units != 0 {
		t.Errorf("charged %d and %d units", first.Charge.Units, again.Charge.Units)
	}
	s.mustRead("http://a.test/", "Idempotency-Key", "order-8")
	var usage struct {
		Units    int
		Receipts []struct {
			ID    string
			Units int
		}
	}
	if status := s.call(&usage, "/usage"); status != http.StatusOK || usage.Units != 2 || len(usage.Receipts) != 2 {
		t.Fatalf("status %d, usage %+v; want 2 units with 2 receipts", status, usage)
	}
	if oldest := usage.Receipts[1]; oldest.ID != first.Charge.Receipt || oldest.Units != 1 {
		t.Errorf("receipt %+v, the answer said %+v", oldest, first.Charge)
	}
}
