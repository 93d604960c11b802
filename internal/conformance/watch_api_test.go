package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/openapi/openapitest"
)

// send makes one call as a key's holder; every answer is held against the API's document.
func (s *server) send(key, method, path, media, body string, into any) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if media, idem, ok := strings.Cut(media, "\n"); ok {
		req.Header.Set("Content-Type", media)
		req.Header.Set("Idempotency-Key", idem)
	} else if media != "" {
		req.Header.Set("Content-Type", media)
	}
	client := http.Client{Transport: openapitest.Transport(s.t, http.DefaultTransport)}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && into != nil && len(text) > 0 {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
	return res.StatusCode
}

type watchShown struct {
	ID, Name, Reason, Code string
	Status                 any // a problem's is a number
	Sites                  int
	NextRoundAt            *time.Time `json:"next_round_at"`
	Errors                 []struct{ Name, Detail string }
}

// A watch over HTTP, from its sites to its changes, on the real server.
func TestAWatchOverHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, "webreaderapi")
	v := &town{host: "a.test", calls: []string{"/subsidie-1"}}
	s.Handle("a.test", "/", v)
	const media = "application/json"

	for body, field := range map[string]string{
		`{"sites":[{"start_urls":["http://a.test/"]}]}`:                                                              "schedule",
		`{"sites":[{"start_urls":["http://a.test/"]}],"schedule":{"cron":"soon"}}`:                                   "schedule.cron",
		`{"sites":[{"start_urls":["http://a.test/"]}],"schedule":{"profile":true,"cron":"0 6 * * *"}}`:               "schedule",
		`{"sites":[{"start_urls":["gopher://a.test/"]}],"schedule":{"cron":"0 6 * * *"}}`:                            "sites.0.start_urls.0",
		`{"sites":[{"start_urls":["http://a.test/"],"colour":"red"}],"schedule":{"cron":"0 6 * * *"}}`:               "sites.0.colour",
		`{"sites":[{"start_urls":["http://a.test/"]}],"schedule":{"cron":"0 6 * * *"},"webhook_url":"ftp://x.test"}`: "webhook_url",
	} {
		var w watchShown
		if status := s.send(s.key, "POST", "/watches", media, body, &w); status != 400 || w.Code != "invalid_request" || len(w.Errors) == 0 || !strings.HasPrefix(w.Errors[0].Name, field) {
			t.Errorf("%s: %d %+v, want the field %s", body, status, w, field)
		}
	}

	var made, again, byCSV watchShown
	body := `{"name":"Desk","sites":[{"start_urls":["http://a.test/subsidies"],"topics":["subsidie"]}],"schedule":{"cron":"0 6 * * 1","time_zone":"Europe/Amsterdam"},"max_pages_per_site":5,"formats":["markdown"]}`
	if status := s.send(s.key, "POST", "/watches", media+"\nonce", body, &made); status != 201 || made.Status != "active" || made.Sites != 1 || made.NextRoundAt == nil {
		t.Fatalf("%d %+v", status, made)
	}
	if s.send(s.key, "POST", "/watches", media+"\nonce", body, &again); again.ID != made.ID {
		t.Errorf("a repeat made %s beside %s", again.ID, made.ID)
	}
	if status := s.send(s.key, "POST", "/watches?cron=0+6+*+*+*&name=List", "text/csv", "name,start_url\nA,http://b.test/subsidies\nC,http://c.test/\n", &byCSV); status != 201 || byCSV.Sites != 2 || byCSV.Name != "List" {
		t.Errorf("by CSV: %d %+v", status, byCSV)
	}
	var bad watchShown
	if status := s.send(s.key, "POST", "/watches?cron=0+6+*+*+*", "text/csv", "name,start_url\nA,http://b.test/\nB,\n", &bad); status != 400 || len(bad.Errors) != 1 || bad.Errors[0].Name != "line 3, start_urls" {
		t.Errorf("a bad line: %d %+v", status, bad)
	}

	// Another account sees nothing of it.
	other := strings.TrimSpace(s.operate("keys", "create", "--account", "other", "--create-account"))
	for _, call := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/changes"}, {"GET", "/rounds"}, {"POST", "/rounds"}} {
		var p watchShown
		if status := s.send(other, call[0], "/watches/"+made.ID+call[1], "", "", &p); status != 404 || p.Code != "not_found" {
			t.Errorf("another account: %v is answered %d %s", call, status, p.Code)
		}
	}

	var round struct {
		ID, Status string
		Pages      struct{ New, Changed, Unchanged int }
	}
	if status := s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", &round); status != 202 || round.ID == "" {
		t.Fatalf("%d %+v", status, round)
	}
	s.endOfRound(made.ID, 1)
	var list struct {
		Changes []struct {
			Seq         int64
			URL, Kind   string
			Page        *struct{ Markdown string }
			Passages    []struct{ Excerpt string }
			DetectedAt  time.Time `json:"detected_at"`
			Source      string
			RoundOfThis string `json:"round"`
		}
		NextCursor string `json:"next_cursor"`
	}
	s.send(s.key, "GET", "/watches/"+made.ID+"/changes", "", "", &list)
	if len(list.Changes) != 2 || list.Changes[0].Kind != "new" || list.Changes[0].Page == nil || !strings.Contains(list.Changes[0].Page.Markdown, "regelingen") || list.NextCursor == "" {
		t.Errorf("changes %+v", list)
	}
	v.edit("/subsidie-1")
	s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", &round)
	s.endOfRound(made.ID, 2)
	cursor := list.NextCursor
	list.Changes = nil
	s.send(s.key, "GET", "/watches/"+made.ID+"/changes?cursor="+cursor, "", "", &list)
	if len(list.Changes) != 1 || list.Changes[0].Kind != "changed" || len(list.Changes[0].Passages) != 1 || !strings.Contains(list.Changes[0].Passages[0].Excerpt, "101 duizend") {
		t.Errorf("then %+v", list)
	}
	var usage struct{ Units int }
	if s.call(&usage, "/usage"); usage.Units != 3 {
		t.Errorf("%d units, want 3", usage.Units)
	}

	for body, want := range map[string]string{`{"status":"paused"}`: "paused", `{"status":"active","name":"Two"}`: "active"} {
		var w watchShown
		if status := s.send(s.key, "PATCH", "/watches/"+made.ID, media, body, &w); status != 200 || w.Status != want {
			t.Errorf("%s: %d %+v", body, status, w)
		}
	}
	if status := s.send(s.key, "DELETE", "/watches/"+made.ID, "", "", nil); status != 204 {
		t.Errorf("deleted with %d", status)
	}
	var left struct{ Watches []watchShown }
	if s.send(s.key, "GET", "/watches", "", "", &left); len(left.Watches) != 1 || left.Watches[0].ID != byCSV.ID {
		t.Errorf("left are %+v", left)
	}
}

// A country without an exit is refused when it is asked for, and no more rounds are begun by hand than the bot
// page promises.
func TestWatchesKeepPromisesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newServer(t, "subsidieupdate", "WEBREADER_PUBLIC_URL=https://reader.example/")
	s.Robots("a.test", "User-agent: *\nDisallow: /\n")
	for path, body := range map[string]string{
		"/watches": `{"sites":[{"start_urls":["http://a.test/subsidies"]}],"country":"se"}`,
		"/batch":   `{"urls":["http://a.test/subsidies"],"country":"SE"}`,
		"/crawl":   `{"url":"http://a.test/subsidies","country":"se"}`,
	} {
		var p watchShown
		if status := s.send(s.key, "POST", path, "application/json", body, &p); status != 400 || p.Code != "invalid_request" || len(p.Errors) != 1 || p.Errors[0].Name != "country" {
			t.Errorf("%s: %d %+v", path, status, p)
		}
	}
	var made watchShown
	if status := s.send(s.key, "POST", "/watches", "application/json", `{"sites":[{"start_urls":["http://a.test/subsidies"]}]}`, &made); status != 201 {
		t.Fatalf("%d %+v", status, made)
	}
	begun := 0
	for begun <= 10 { // two days' worth, should the night fall in between
		var answer watchShown
		status := s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", &answer)
		if status == 429 && answer.Code == "rate_limited" {
			break
		}
		if status != 202 {
			t.Fatalf("round %d: %d %+v", begun+1, status, answer)
		}
		begun++
		s.endOfRound(made.ID, begun)
	}
	if begun == 0 || begun > 10 {
		t.Errorf("%d rounds were begun in a day", begun)
	}
	if urls := s.URLs(); len(urls) != 1 || urls[0] != "http://a.test/robots.txt" {
		t.Errorf("asked for %q", urls)
	}
}

// The webhook of a watch links to its changes, and its deliveries can be looked at.
func TestTheWebhookOfAWatch(t *testing.T) {
	t.Parallel()
	s := newServer(t, "webreaderapi", "WEBREADER_PUBLIC_URL=https://reader.example/")
	s.Handle("a.test", "/", &town{host: "a.test", calls: []string{"/subsidie-1"}})
	bodies := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	}))
	defer hook.Close()
	var made watchShown
	s.send(s.key, "POST", "/watches", "application/json", `{"sites":[{"start_urls":["http://a.test/subsidies"]}],"schedule":{"cron":"0 6 1 1 *"},"webhook_url":"`+hook.URL+`"}`, &made)
	s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", nil)
	if body := <-bodies; !strings.Contains(body, `"link":"https://reader.example/watches/`+made.ID+`/changes"`) {
		t.Errorf("told %s", body)
	}
	var list struct {
		Deliveries []struct{ Event, URL, State string }
	}
	s.within(20*time.Second, "the delivery is noted", func() bool {
		s.send(s.key, "GET", "/watches/"+made.ID+"/deliveries", "", "", &list)
		return len(list.Deliveries) == 1 && list.Deliveries[0].State == "delivered"
	})
	if d := list.Deliveries[0]; d.Event != "watch.changed" || d.URL != hook.URL {
		t.Errorf("the delivery is %+v", d)
	}
	if status := s.send(s.key, "GET", "/watches/wat_none/deliveries", "", "", nil); status != 404 {
		t.Errorf("of no watch: %d", status)
	}
}

// endOfRound waits until the nth round of a watch is over.
func (s *server) endOfRound(id string, n int) {
	s.t.Helper()
	s.within(30*time.Second, fmt.Sprintf("round %d ends", n), func() bool {
		var list struct{ Rounds []struct{ Status string } }
		s.send(s.key, "GET", "/watches/"+id+"/rounds", "", "", &list)
		return len(list.Rounds) == n && list.Rounds[0].Status == "completed"
	})
}

// The command line: a round, a change, another round. Needs neither server nor key.
func TestAWatchOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t, "webreaderapi")
	v := &town{host: "a.test", calls: []string{"/subsidie-1"}}
	s.Handle("a.test", "/", v)
	file := t.TempDir() + "/sites.csv"
	writeFile(t, file, "name,start_url,topics\nA,http://a.test/subsidies,subsidie\n")
	first := s.run("watch", "--file", file, "--once")
	if first.Exit != 0 || first.Stdout != "new http://a.test/subsidies\nnew http://a.test/subsidie-1\n" || !strings.Contains(first.Stderr, "2 new") {
		t.Errorf("exit %d, %q, %s", first.Exit, first.Stdout, first.Stderr)
	}
	v.edit("/subsidie-1")
	s.Reset()
	second := s.run("watch", "--file", file, "--once", "--json")
	var change struct {
		Kind, URL string
		Passages  []struct{ Excerpt string }
	}
	if err := json.Unmarshal([]byte(second.Stdout), &change); err != nil || change.Kind != "changed" || change.URL != "http://a.test/subsidie-1" || len(change.Passages) != 1 {
		t.Errorf("exit %d, %q, %s, %v", second.Exit, second.Stdout, second.Stderr, err)
	}
	s.saw("a.test", "GET /subsidies", "GET /subsidie-1")
	writeFile(t, file, "name,start_url\nA,nowhere\n")
	if bad := s.run("watch", "--file", file, "--once"); bad.Exit != 2 || !strings.Contains(bad.Stderr, "line 2") || bytes.Count([]byte(bad.Stderr), []byte("\n")) != 1 {
		t.Errorf("a bad file: exit %d, %s", bad.Exit, bad.Stderr)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
