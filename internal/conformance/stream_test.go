package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// event is one Server-Sent Event.
type event struct{ id, kind, data string }

// stream opens a stream and gives its events, comments left out.
func (s *live) stream(method, path, body string, headers ...string) (events <-chan event, closed func()) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Accept", "text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("X-Accel-Buffering") != "no" {
		text, _ := io.ReadAll(answer.Body)
		s.t.Fatalf("%s: %d %v %s", path, answer.StatusCode, answer.Header, text)
	}
	out := make(chan event, 1000)
	go func() {
		defer close(out)
		var e event
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				if e.kind != "" {
					out <- e
				}
				e = event{}
			}
		}
	}()
	return out, func() { _ = answer.Body.Close() }
}

// A stream whose server stops ends with where to resume; another server goes on from there.
func TestAStreamIsResumedAfterARestart(t *testing.T) {
	s := quickLive(t, "sqlite:")
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	defer free()
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	s.HandleFunc("slow.test", "/last", func(w http.ResponseWriter, r *http.Request) {
		<-release
		origintest.Body("text/html", origintest.Article("Last")).ServeHTTP(w, r)
	})
	events, closed := s.stream("POST", "/batch", `{"urls":["http://a.test/1","http://b.test/2","http://c.test/none","http://slow.test/last"]}`)
	defer closed()
	first := []event{<-events, <-events, <-events}
	for i, e := range first {
		if e.id != fmt.Sprint(i+1) || e.kind != "page" {
			t.Fatalf("event %+v", e)
		}
	}
	id := strings.TrimSuffix(s.jobs(t)[0].ID, "\n")
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.end(syscall.SIGTERM) }()
	e := <-events
	var at struct{ Cursor string }
	if err := json.Unmarshal([]byte(e.data), &at); err != nil || e.kind != "resume" || at.Cursor != "3" {
		t.Fatalf("the stream ended with %+v", e)
	}
	free()
	select {
	case <-stopped:
	case <-time.After(32 * time.Second):
		t.Fatal("the server did not stop in time")
	}
	s.start()
	events, closed = s.stream("GET", "/jobs/"+id+"/events", "", "Last-Event-ID", at.Cursor)
	defer closed()
	if e := <-events; e.kind != "page" || e.id != "4" || !strings.Contains(e.data, "slow.test/last") {
		t.Errorf("event %+v", e)
	}
	if e := <-events; e.kind != "done" || !strings.Contains(e.data, `"delivered":4`) {
		t.Errorf("event %+v", e)
	}
	_, text := s.call("GET", "/jobs/"+id+"/results", "")
	if n := len(decode[struct{ Results []result }](t, text).Results); n != 1 {
		t.Errorf("%d results are left, want the one that was not acknowledged", n)
	}
}

func (s *live) jobs(t *testing.T) []job {
	t.Helper()
	_, text := s.call("GET", "/jobs", "")
	return decode[struct{ Jobs []job }](t, text).Jobs
}

// Webhooks tell of pages and of the end, signed, without a word of the pages; the log shows each.
func TestWebhooksTellOfAJob(t *testing.T) {
	const canary = "Hookcanary5512"
	s := quickLive(t, "sqlite:")
	s.Page("a.test", "/1", canaryPage(canary))
	var mu sync.Mutex
	var bodies, signatures []string
	tries := 0
	receiver := freeAddr(t)
	hook := &http.Server{Addr: receiver, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			w.WriteHeader(http.StatusGone) // this one is given up
		}
		bodies, signatures = append(bodies, string(text)), append(signatures, r.Header.Get("webhook-signature"))
	})}
	go func() { _ = hook.ListenAndServe() }()
	t.Cleanup(func() { _ = hook.Close() })
	j := s.order("/batch", `{"urls":["http://a.test/1"],"webhook_url":"http://`+receiver+`/hook"}`)
	type delivery struct {
		Event, State string
		Attempts     int
	}
	var list []delivery
	for limit := time.Now().Add(15 * time.Second); ; <-time.After(50 * time.Millisecond) {
		_, text := s.call("GET", "/jobs/"+j.ID+"/deliveries", "")
		list = decode[struct{ Deliveries []delivery }](t, text).Deliveries
		over := len(list) == 2
		for _, d := range list {
			over = over && d.State != "waiting"
		}
		if over || time.Now().After(limit) {
			break
		}
	}
	states := map[string]int{}
	for _, d := range list {
		states[d.State]++
	}
	if len(list) != 2 || states["delivered"] != 1 || states["given_up"] != 1 {
		t.Errorf("deliveries %+v", list)
	}
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(bodies, "\n")
	if len(bodies) != 2 || !strings.Contains(all, "job.completed") || !strings.Contains(all, "page.completed") || strings.Contains(all, canary) {
		t.Errorf("told %s", all)
	}
	for _, signature := range signatures {
		if !strings.HasPrefix(signature, "v1,") {
			t.Errorf("signature %q", signature)
		}
	}
	if status, text := s.call("POST", "/batch", `{"urls":["http://a.test/1"],"webhook_url":"http://192.0.2.1/x"}`); status != http.StatusBadRequest {
		t.Errorf("a plain webhook to a network that is not allowed: %d %s", status, text)
	}
}
