package main

import (
	"bufio"
	"bytes"
	"context"
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
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/store"
)

// tortured is how hard `make torture` tries compared with the ordinary tests: 10 times.
func tortured() int {
	if os.Getenv("WEBREADER_TORTURE") != "" {
		return 10
	}
	return 1
}

// fastProfile is the house's bot without its gap, so that thousands of requests fit into a test.
func fastProfile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fast.yaml")
	text := "version: 1\nname: fast\nidentity: { product_token: FastBot, version: \"1.0\" }\npace: { min_gap: 0s, in_flight: 1 }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// mixedSite has a page of each kind on many hosts and answers what a read of it is charged.
func mixedSite(web *origintest.Web) (addresses []string) {
	kinds := map[string]http.Handler{
		"page": origintest.Body("text/html", origintest.Article("A title")), "gone": origintest.Status(410),
		"no": origintest.Status(403), "wall": origintest.Challenge(), "broken": origintest.Status(500), "video": origintest.Body("video/mp4", "x"),
		"reset": origintest.Reset(), "page2": origintest.Encoded("br", "text/html", origintest.Article("Another title")),
	}
	for kind, h := range kinds {
		web.Handle("*", "/"+kind, h)
	}
	for host := range 60 {
		for kind := range kinds {
			addresses = append(addresses, fmt.Sprintf("http://h%d-%s.test/%s", host, kind, kind))
		}
	}
	return addresses
}

// Thousands of mixed requests leave goroutines, descriptors and memory as they were.
func TestTortureMixedRequestsAreFlat(t *testing.T) { onEachDatabase(t, mixedRequestsAreFlat) }

func mixedRequestsAreFlat(t *testing.T, database string) {
	s := newServed(t, "WEBREADER_PROFILE="+fastProfile(t), "WEBREADER_LOG_LEVEL=error", "WEBREADER_DATABASE_URL="+database)
	addresses := mixedSite(s.web)
	round := func(n int) {
		var workers sync.WaitGroup
		var next atomic.Int64
		for range 16 {
			workers.Go(func() {
				for i := next.Add(1); i <= int64(n); i = next.Add(1) {
					s.mixed(addresses, int(i))
				}
			})
		}
		workers.Wait()
	}
	round(500)
	before := usageOf(s)
	began := time.Now()
	n := 1000 * tortured()
	round(n)
	took := time.Since(began)
	after := usageOf(s)
	t.Logf("%d requests in %s (%.0f/s): before %+v, after %+v", n, took.Round(time.Millisecond), float64(n)/took.Seconds(), before, after)
	if after.goroutines > before.goroutines+20 || after.files > before.files+20 || after.heap > before.heap+16<<20 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// mixed makes the i-th request of a mix: reads of every kind, questions, and requests that are wrong.
func (s *served) mixed(addresses []string, i int) {
	address := url.QueryEscape(addresses[rand.IntN(len(addresses))])
	path := []string{"/read?url=" + address, "/read?url=" + address, "/policy?url=" + address, "/read?url=nonsense", "/usage?limit=5", "/nothing", "/docs"}[i%7]
	req, err := http.NewRequestWithContext(s.Context(), "GET", s.url+path, nil)
	if err != nil {
		s.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	answer, err := s.client.Transport.RoundTrip(req)
	if err != nil {
		s.Error(err)
		return
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode == http.StatusInternalServerError {
		s.Errorf("%s: status 500", path)
	}
}

type resources struct {
	goroutines, files int
	heap              uint64
}

func usageOf(s *served) resources {
	s.client.CloseIdleConnections()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		s.Log("descriptors are not counted here: ", err)
	}
	return resources{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// Clients that send a byte now and then hold nothing that others need.
func TestTortureDrippingClients(t *testing.T) { onEachDatabase(t, drippingClients) }

func drippingClients(t *testing.T, database string) {
	s := newServed(t, "WEBREADER_PROFILE="+fastProfile(t), "WEBREADER_DATABASE_URL="+database)
	s.web.Page("a.test", "/", origintest.Article("A title"))
	done := make(chan struct{})
	var dripping sync.WaitGroup
	for i := range 300 {
		conn, err := net.Dial("tcp", s.public.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		start := "POST /read HTTP/1.1\r\nHost: a\r\nX-Slow: "
		if i%2 == 0 {
			start = "POST /read HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + s.key + "\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n{"
		}
		dripping.Go(func() {
			defer conn.Close()
			drip(conn, start, done)
		})
	}
	began := time.Now()
	for range 20 {
		if got := s.read("http://a.test/"); got.status != 200 {
			t.Errorf("a bystander got %d %s", got.status, got.text)
		}
	}
	took := time.Since(began)
	t.Logf("20 reads beside 300 dripping clients took %s", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("20 reads beside dripping clients took %s", took)
	}
	close(done)
	dripping.Wait()
}

func drip(conn net.Conn, start string, done <-chan struct{}) {
	if _, err := io.WriteString(conn, start); err != nil {
		return
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if _, err := conn.Write([]byte("a")); err != nil {
				return
			}
		}
	}
}

// Killed at any moment, the server never charges more than was answered, and starts again by itself.
func TestTortureKilledWhileReading(t *testing.T) {
	onEachDatabase(t, killedWhileReading)
}

func killedWhileReading(t *testing.T, database string) {
	web := origintest.New(t)
	web.Handle("*", "/page", origintest.Body("text/html", origintest.Article("A title")))
	web.Handle("*", "/no", origintest.Status(403))
	web.Handle("*", "/gone", origintest.Status(404))
	env := append(os.Environ(), "WEBREADER_ADDR=127.0.0.1:0", "WEBREADER_ADMIN_ADDR=127.0.0.1:0", "WEBREADER_LOG_FORMAT=json",
		"WEBREADER_DATABASE_URL="+database, "WEBREADER_PROFILE="+fastProfile(t))
	for name, value := range web.Env() {
		env = append(env, name+"="+value)
	}
	key := firstKey(t, database)
	const reads = 102
	answered, killed := 0, 0
	for done := 0; done < reads; {
		p := startProcess(t, env)
		n, delivered := p.readUntilKilled(key, done, min(reads-done, 3+rand.IntN(15)))
		done, answered, killed = done+n, answered+delivered, killed+1
	}
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	account, err := s.Account(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	totals, err := s.Totals(t.Context(), account.ID, billing.Month(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reads, %d kills: %d answers delivered, %d units charged", reads, killed, answered, totals.Units)
	if totals.Units > int64(answered) || totals.Units < int64(answered-killed) || answered == 0 {
		t.Errorf("%d answers delivered, %d units charged, %d kills", answered, totals.Units, killed)
	}
}

func firstKey(t *testing.T, database string) string {
	t.Helper()
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	account, err := s.CreateAccount(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.CreateKey(t.Context(), account.ID, "test", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

// process is a server of its own, to be killed.
type process struct {
	*testing.T
	cmd *exec.Cmd
	url string
}

// startProcess starts the real program and waits until it serves.
func startProcess(t *testing.T, env []string) *process {
	t.Helper()
	p := &process{T: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), "webreader", "serve")}
	p.cmd.Env = env
	errors, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewScanner(errors)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			p.url = "http://" + line.Address
			break
		}
	}
	if p.url == "" {
		t.Fatalf("it does not serve: %s", lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, errors) }()
	return p
}

// readUntilKilled makes up to n reads, kills the process in the middle of the last one, and says how
// many were tried and how many whole pages came.
func (p *process) readUntilKilled(key string, first, n int) (tried, delivered int) {
	p.Helper()
	for i := range n {
		kind := []string{"page", "page", "no", "gone"}[rand.IntN(4)]
		address := fmt.Sprintf("%s/read?url=%s", p.url, url.QueryEscape(fmt.Sprintf("http://h%d.test/%s", first+i, kind)))
		if i == n-1 {
			timer := time.AfterFunc(time.Duration(rand.IntN(12_000))*time.Microsecond, func() { _ = p.cmd.Process.Signal(syscall.SIGKILL) })
			defer timer.Stop()
		}
		if wholePage(p.T, address, key) {
			delivered++
		}
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return n, delivered
}

// wholePage is true when a complete page came.
func wholePage(t *testing.T, address, key string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Close = true
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	length, _ := strconv.Atoi(answer.Header.Get("Content-Length"))
	return err == nil && answer.StatusCode == http.StatusOK && len(text) == length && bytes.Contains(text, []byte(`"units":1`)) && strings.HasSuffix(string(text), "}")
}
