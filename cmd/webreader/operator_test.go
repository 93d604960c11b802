package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/store"
)

func TestALogLineIsUnderstood(t *testing.T) {
	at := time.Date(2026, 11, 30, 13, 5, 9, 0, time.UTC)
	for line, want := range map[string]sighting{
		`203.0.113.9 - - [30/Nov/2026:14:05:09 +0100] "GET /a?q=1 HTTP/1.1" 200 512`:                           {path: "/a?q=1", at: at},
		`203.0.113.9 - frank [30/Nov/2026:13:05:09 +0000] "GET /a HTTP/2.0" 304 0 "-" "Bot/1.0 (+https://x)"`:  {path: "/a", at: at, agent: "Bot/1.0 (+https://x)"},
		`www.site.example:443 203.0.113.9 - - [30/Nov/2026:13:05:09 +0000] "GET /a HTTP/1.1" 200 5 "-" "a\"b"`: {host: "www.site.example", path: "/a", at: at, agent: `a\"b`},
		`2001:db8::1 - - [30/Nov/2026:13:05:09 +0000] "-" 408 0 "-" "-"`:                                       {path: "-", at: at, agent: "-"},
		`203.0.113.9 - - [30/Nov/2026:13:05:09 +0000] "GET http://site.example/a HTTP/1.1" 200 1`:              {path: "http://site.example/a", at: at},
	} {
		got, err := parseLine(line)
		if err != nil || got != want {
			t.Errorf("%s\n got %+v, %v\nwant %+v", line, got, err, want)
		}
	}
	for _, bad := range []string{"", "hello", `203.0.113.9 - - [soon] "GET / HTTP/1.1" 200 1`, strings.Repeat("a ", 10_000), strings.Repeat(`"`, 50_000)} {
		if _, err := parseLine(bad); err == nil {
			t.Errorf("%.40q was understood", bad)
		}
	}
}

// operate runs a command on the server's database, as an operator does beside it.
func (s *served) operate(in string, args ...string) (code int, stdout, stderr string) {
	s.Helper()
	var out, errs bytes.Buffer
	env := func(name string) string {
		if name == envDatabase {
			return "sqlite:" + filepath.Join(s.dir, "webreader.db")
		}
		return ""
	}
	code = run(s.Context(), args, env, stdio{In: strings.NewReader(in), Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

// W15: a site operator's report can be checked, until the site asks to be forgotten and after it.
func TestAReportIsCheckedAgainstTheLog(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/page", origintest.Article("Windmolens"))
	answer := s.read("http://a.test/page?session=secret77")
	if answer.status != 200 {
		t.Fatalf("status %d: %s", answer.status, answer.text)
	}
	now := time.Now().UTC()
	line := fmt.Sprintf("127.0.0.1 - - [%s] \"GET /page?session=secret77 HTTP/1.1\" 200 99 \"-\" \"Other/1.0\"\n", now.Format("02/Jan/2006:15:04:05 -0700"))
	for name, args := range map[string][]string{
		"by minute": {"audit", "--host", "a.test", "--at", now.Format("2006-01-02 15:04"), "--json"},
		"by line":   {"audit", "--host", "a.test", "--line", "-", "--json"},
		"recent":    {"audit", "--host", "A.Test.", "--json"},
	} {
		code, out, errs := s.operate(line, args...)
		var found struct {
			URL, Account, Kind, Egress string
			UserAgent                  string `json:"user_agent"`
			Request                    string `json:"request_id"`
			Status                     int
		}
		last := out[strings.LastIndex(strings.TrimRight(out, "\n"), "\n")+1:]
		if err := json.Unmarshal([]byte(last), &found); err != nil {
			t.Errorf("%s: %v: %s%s", name, err, out, errs)
			continue
		}
		if code != 0 || found.URL != "http://a.test/page?session=secret77" || found.Status != 200 || found.Kind != "read" || found.Request != answer.RequestID ||
			!strings.HasPrefix(found.Account, "acc_") || !strings.HasPrefix(found.UserAgent, "WebReaderAPI-bot/1.0") {
			t.Errorf("%s: exit %d, found %+v", name, code, found)
		}
		if name == "by line" && !strings.Contains(errs, "somebody else's") {
			t.Errorf("a line with another user agent: %s", errs)
		}
	}
	if code, _, _ := s.operate("", "audit", "--host", "a.test", "--at", now.Add(-time.Hour).Format(time.RFC3339)); code != 1 {
		t.Errorf("an hour before: exit %d", code)
	}
	if code, out, errs := s.operate("", "forget", "--domain", "a.test"); code != 0 {
		t.Fatalf("forget: exit %d: %s%s", code, out, errs)
	}
	if code, out, _ := s.operate(line, "audit", "--host", "a.test", "--line", "-"); code != 0 || strings.Contains(out, "secret77") || !strings.Contains(out, "http://a.test/page") {
		t.Errorf("after forgetting: exit %d: %s", code, out)
	}
}

// S15, W16: what an operator enters beside a running server holds within 5 seconds.
func TestAStopHoldsWithinFiveSeconds(t *testing.T) {
	s := newServed(t)
	for _, host := range []string{"a.test", "b.test"} {
		s.web.Page(host, "/", origintest.Article("Windmolens"))
		if got := s.read("http://" + host + "/"); got.status != 200 {
			t.Fatalf("status %d: %s", got.status, got.text)
		}
	}
	if code, _, errs := s.operate("", "optout", "add", "--domain", "a.test"); code != 0 {
		t.Fatal(errs)
	}
	entered := time.Now()
	var blocked reply
	for blocked = s.read("http://a.test/"); blocked.status == 200 && time.Since(entered) < 5*time.Second; blocked = s.read("http://a.test/") {
	}
	if blocked.status != 422 || blocked.Code != "blocked_by_site_policy" || blocked.Reason != "site_opt_out" {
		t.Errorf("after the opt-out: %d %s", blocked.status, blocked.text)
	}
	if got := s.read("http://b.test/"); got.status != 200 {
		t.Errorf("another site: %d %s", got.status, got.text)
	}
	if code, _, errs := s.operate("", "accounts", "suspend", "default"); code != 0 {
		t.Fatal(errs)
	}
	if got := s.read("http://b.test/"); got.status != 403 || got.Code != "account_suspended" {
		t.Errorf("after the suspension: %d %s", got.status, got.text)
	}
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

// killed is a server in a process of its own that is killed without warning.
type killed struct {
	t    *testing.T
	env  []string
	cmd  *exec.Cmd
	base string
}

func (k *killed) start() {
	k.t.Helper()
	k.cmd = exec.Command("webreader", "serve")
	k.cmd.Env = k.env
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		answer, err := http.Get(k.base + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == 200 {
				return
			}
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("the server does not start: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (k *killed) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

// read is true when a whole answer came that says it was charged.
func (k *killed) read(key, address string) bool {
	k.t.Helper()
	req, err := http.NewRequest("GET", k.base+"/read?url="+url.QueryEscape(address), nil)
	if err != nil {
		k.t.Error(err)
		return false
	}
	req.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	var page struct {
		Charge struct{ Units int }
	}
	return err == nil && answer.StatusCode == 200 && json.Unmarshal(body, &page) == nil && page.Charge.Units == 1
}

// 102 mixed reads with kill -9 at random moments: never more charges than answers, and fewer only by
// what was in the air at a kill.
func TestKillsNeverChargeWhatWasNotDelivered(t *testing.T) {
	onEachDatabase(t, killsAndCharges)
}

func killsAndCharges(t *testing.T, address string) {
	const rounds, readers, each = 6, 4, 17
	web := origintest.New(t)
	web.Page("*", "/", origintest.Article("Windmolens"))
	web.Handle("*", "/wall", origintest.StatusBody(403, "no"))
	web.Handle("*", "/gone", origintest.StatusBody(404, "no"))
	k := &killed{t: t, base: "http://" + freeAddress(t)}
	k.env = append(os.Environ(), "WEBREADER_ADDR="+strings.TrimPrefix(k.base, "http://"), "WEBREADER_ADMIN_ADDR="+freeAddress(t), "WEBREADER_DATABASE_URL="+address)
	for name, value := range web.Env() {
		k.env = append(k.env, name+"="+value)
	}
	s, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	account, err := s.CreateAccount(t.Context(), "killed", "")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.CreateKey(t.Context(), account.ID, "key", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	delivered := 0
	for round := range rounds {
		k.start()
		addresses := make(chan string, each)
		for n := range each {
			path := []string{"/", "/", "/wall", "/", "/gone", "/"}[(n+round)%6]
			addresses <- fmt.Sprintf("http://kill%d-%d.test%s", round, n, path)
		}
		close(addresses)
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				for address := range addresses {
					if k.read(secret.Reveal(), address) {
						mu.Lock()
						delivered++
						mu.Unlock()
					}
				}
			})
		}
		<-time.After(time.Duration(100+rand.IntN(1200)) * time.Millisecond)
		k.kill()
		wg.Wait()
	}
	totals, err := s.Totals(t.Context(), account.ID, billing.Month(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d delivered, %d charged", delivered, totals.Units)
	if totals.Units > int64(delivered) || totals.Units < int64(delivered-rounds*readers) || delivered == 0 {
		t.Errorf("%d answers were delivered and %d charged", delivered, totals.Units)
	}
}
