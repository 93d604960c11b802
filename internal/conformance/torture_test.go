package conformance

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// tortureRounds is how often a process is killed: 5 times, or as often as WEBREADER_TORTURE says.
func tortureRounds() int {
	if n, err := strconv.Atoi(os.Getenv("WEBREADER_TORTURE")); err == nil && n > 0 {
		return n
	}
	return 5
}

// tortureBot keeps a gap that can be measured.
const (
	tortureGap = 40 * time.Millisecond
	tortureBot = "version: 1\nname: tortured\nidentity: {product_token: TorturedBot, version: \"1.0\", info_url: \"https://site.example/bot\", contact: bot@site.example}\npace: {min_gap: 40ms, own_hops: counted}\n"
)

// witness watches each host: requests under way at once, and requests that come too soon.
type witness struct {
	mu       sync.Mutex
	busy     map[string]int
	last     map[string]time.Time
	overlaps []string
	early    []string
}

// slack is what a loaded machine may add between writing a request and its arrival, on the earlier one.
const slack = 15 * time.Millisecond

func (w *witness) page(next http.Handler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		now := time.Now()
		w.mu.Lock()
		if w.busy[host]++; w.busy[host] > 1 {
			w.overlaps = append(w.overlaps, r.Host+r.URL.Path)
		}
		if gap := now.Sub(w.last[host]); gap < tortureGap-slack {
			w.early = append(w.early, fmt.Sprintf("%s%s after %v", r.Host, r.URL.Path, gap))
		}
		w.last[host] = now
		w.mu.Unlock()
		<-time.After(time.Duration(rand.IntN(30)) * time.Millisecond)
		next.ServeHTTP(rw, r)
		w.mu.Lock()
		w.busy[host]--
		w.mu.Unlock()
	}
}

// TestTortureJobs kills processes at random moments of batches and crawls: no URL is lost, none is
// charged twice, nothing is delivered uncharged, and no host is asked too soon or twice at once.
func TestTortureJobs(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		file := t.TempDir() + "/tortured.yaml"
		if err := os.WriteFile(file, []byte(tortureBot), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newLive(t, file, database, "WEBREADER_TIMEOUT=2s")
		w := &witness{busy: map[string]int{}, last: map[string]time.Time{}}
		s.Handle("*", "/", w.page(origintest.Body("text/html", origintest.Article("A"))))
		site := origintest.Article("S")
		for i := range 15 {
			site += fmt.Sprintf(`<a href="/s/%d">x</a> `, i)
		}
		s.Handle("*", "/robots.txt", w.page(origintest.Status(http.StatusNotFound)))
		s.Handle("*", "/sitemap.xml", w.page(origintest.Status(http.StatusNotFound)))
		s.Handle("*", "/site", w.page(origintest.Body("text/html", site)))
		killed := []*exec.Cmd{s.cmd}
		if strings.HasPrefix(database, "postgres") {
			killed = append(killed, s.worker(), s.worker())
		}
		total := int64(0)
		for round := range tortureRounds() {
			total += s.tortureRound(round, killed)
		}
		if n := s.units(); n != total {
			t.Errorf("%d pages were delivered, %d charged", total, n)
		}
		if len(w.overlaps) > 0 || len(w.early) > 0 {
			t.Errorf("%d overlaps %v, %d early %v", len(w.overlaps), w.overlaps, len(w.early), w.early)
		}
	})
}

// worker starts a process that only works.
func (s *live) worker() *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(webreader(s.t), "work")
	cmd.Env, cmd.Dir = s.env, s.dir
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// tortureRound makes jobs, kills a process in the middle, starts it again and looks at what came. It
// answers how many pages were delivered.
func (s *live) tortureRound(round int, processes []*exec.Cmd) int64 {
	s.t.Helper()
	want := map[string]bool{}
	var urls []string
	for i := range 40 {
		url := fmt.Sprintf("http://h%d.test/r%d/%d", i%8, round, i)
		urls, want[url] = append(urls, strconv.Quote(url)), true
	}
	crawled := fmt.Sprintf("http://site%d.test", round)
	want[crawled+"/site"] = true
	for i := range 15 {
		want[fmt.Sprintf("%s/s/%d", crawled, i)] = true
	}
	_, text := s.call("POST", "/batch", `{"urls":[`+strings.Join(urls, ",")+`]}`)
	batch := decode[job](s.t, text)
	_, text = s.call("POST", "/crawl", `{"url":"`+crawled+`/site"}`)
	crawl := decode[job](s.t, text)
	<-time.After(time.Duration(rand.IntN(900)) * time.Millisecond)
	victim := rand.IntN(len(processes))
	_ = processes[victim].Process.Signal(syscall.SIGKILL)
	_ = processes[victim].Wait()
	if victim == 0 {
		s.start()
		processes[0] = s.cmd
	} else {
		processes[victim] = s.worker()
	}
	delivered := int64(0)
	got := map[string]int{}
	for _, id := range []string{batch.ID, crawl.ID} {
		j := s.await(id)
		if j.Status != "completed" || j.Units != j.Counts["delivered"] {
			s.t.Errorf("round %d: job ended as %+v", round, j)
		}
		delivered += j.Counts["delivered"]
		for _, r := range s.collect(id) {
			got[r.URL]++
			if r.Page == nil || r.Page.Charge.Units != 1 {
				s.t.Errorf("round %d: %s came as %+v", round, r.URL, r)
			}
		}
	}
	for url := range want {
		if got[url] != 1 {
			s.t.Errorf("round %d: %s came %d times", round, url, got[url])
		}
	}
	if len(got) != len(want) {
		s.t.Errorf("round %d: %d URLs came, want %d", round, len(got), len(want))
	}
	return delivered
}
