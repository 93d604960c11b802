package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// receiver is a customer's program that gets webhooks: what came, by event id.
type receiver struct {
	mu     sync.Mutex
	ids    map[string]int
	kinds  []string
	answer http.HandlerFunc
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.ids[req.Header.Get("webhook-id")]++
	_, kind, _ := strings.Cut(string(text), `"type":"`)
	kind, _, _ = strings.Cut(kind, `"`)
	r.kinds = append(r.kinds, kind)
	r.mu.Unlock()
	r.answer(w, req)
}

// told is a delivery as its customer sees it.
type told struct {
	ID, Event, State, Problem string
	Attempts, Status          int
	CreatedAt                 time.Time `json:"created_at"`
	NextAt                    time.Time `json:"next_at"`
}

// tried waits until each delivery of a job was tried, and answers the one of its end.
func (s *live) tried(id string) told {
	s.t.Helper()
	for limit := time.Now().Add(40 * time.Second); ; <-time.After(50 * time.Millisecond) {
		_, text := s.call("GET", "/jobs/"+id+"/deliveries", "")
		list := decode[struct{ Deliveries []told }](s.t, text).Deliveries
		var ends []told
		for _, d := range list {
			if d.Event == "job.completed" && d.Attempts > 0 {
				ends = append(ends, d)
			}
		}
		if len(ends) == 1 {
			return ends[0]
		}
		if len(ends) > 1 || time.Now().After(limit) {
			s.t.Fatalf("deliveries %s", text)
		}
	}
}

// Receivers that do badly hold up no job and no other receiver. What may pass is tried again, later and later,
// under the same id; a redirect is not followed, an address that is not public not reached.
func TestBadReceivers(t *testing.T) {
	s := quickLive(t, "sqlite:")
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	elsewhere := &receiver{ids: map[string]int{}, answer: func(http.ResponseWriter, *http.Request) {}}
	other := httptest.NewServer(elsewhere)
	t.Cleanup(other.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	broken := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		url     string
		state   string
		problem string // a part of it
		status  int
	}{
		"good":    {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, state: "delivered", status: 204},
		"failing": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, state: "waiting", problem: "answered 500", status: 500},
		"redirect": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, state: "waiting", problem: "redirect", status: 307},
		"slow": {answer: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}, state: "waiting", problem: "in time"},
		"huge": {answer: func(w http.ResponseWriter, _ *http.Request) {
			block := make([]byte, 1<<16)
			for range 1 << 12 { // 256 MB, if it were read
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, state: "delivered", status: 200},
		"closed":      {url: closed.URL, state: "waiting", problem: "could not be reached"},
		"broken TLS":  {url: broken.URL, state: "waiting", problem: "could not be reached"},
		"private":     {url: "https://10.0.0.1/hook", state: "given_up", problem: "not public"},
		"wants none":  {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, state: "given_up", problem: "410", status: 410},
		"asks for it": {answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "600"); w.WriteHeader(503) }, state: "waiting", problem: "503", status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{ids: map[string]int{}, answer: c.answer}
			url := c.url
			if url == "" {
				at := httptest.NewServer(r)
				t.Cleanup(at.Close)
				url = at.URL + "/hook"
			}
			status, text := s.call("POST", "/batch", fmt.Sprintf(`{"urls":["http://%s.test/"],"webhook_url":%q}`, strings.ReplaceAll(name, " ", "-"), url))
			if status != http.StatusAccepted {
				t.Fatalf("%d %s", status, text)
			}
			d := s.tried(decode[job](t, text).ID)
			if d.State != c.state || d.Status != c.status || !strings.Contains(d.Problem, c.problem) || (c.problem == "") != (d.Problem == "") {
				t.Errorf("delivery %+v", d)
			}
			least := 4 * time.Second
			if name == "asks for it" {
				least = 590 * time.Second
			}
			if c.state == "waiting" && d.NextAt.Sub(d.CreatedAt) < least {
				t.Errorf("it is tried again %v after the event, want %v", d.NextAt.Sub(d.CreatedAt), least)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			ends := 0
			for _, kind := range r.kinds {
				if kind == "job.completed" {
					ends++
				}
			}
			if c.url == "" && (r.ids[d.ID] != d.Attempts || ends != d.Attempts) {
				t.Errorf("the end was told %d times, under its id %d times, for %d tries: %q", ends, r.ids[d.ID], d.Attempts, r.kinds)
			}
		})
	}
	t.Cleanup(func() {
		elsewhere.mu.Lock()
		defer elsewhere.mu.Unlock()
		if len(elsewhere.kinds) > 0 {
			t.Errorf("redirects were followed: %q", elsewhere.kinds)
		}
	})
}
