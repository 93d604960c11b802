package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/openapi/openapitest"
)

// served is a server as `webreader serve` runs it, with its database, reading a small web.
type served struct {
	*testing.T
	*service
	web    *origintest.Web
	dir    string
	url    string
	key    string
	out    *syncBuffer
	client *http.Client
	stop   func()
}

// newServed starts a server in this process; settings are NAME=value.
func newServed(t *testing.T, settings ...string) *served {
	t.Helper()
	return serveOn(t, origintest.New(t), settings...)
}

// serveOn does so for a web that is there already.
func serveOn(t *testing.T, web *origintest.Web, settings ...string) *served {
	t.Helper()
	s := &served{T: t, web: web, dir: t.TempDir(), out: &syncBuffer{}}
	env := map[string]string{
		"WEBREADER_ADDR": "127.0.0.1:0", "WEBREADER_ADMIN_ADDR": "127.0.0.1:0", "WEBREADER_LOG_FORMAT": "json",
		"WEBREADER_DATABASE_URL": "sqlite:" + filepath.Join(s.dir, "webreader.db"),
	}
	for name, value := range s.web.Env() {
		env[name] = value
	}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	s.service, err = newService(&app{stdio: stdio{Out: s.out, Err: s.out}, ctx: ctx, setting: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.service.run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v", err)
		}
		s.service.close()
	})
	t.Cleanup(s.stop)
	s.url = "http://" + s.public.Addr().String()
	s.key = s.newKey("default")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: openapitest.Transport(t, transport)}
	return s
}

func (s *served) newKey(account string) string {
	s.Helper()
	a, err := s.store.Account(s.Context(), account)
	if err != nil {
		s.Fatal(err)
	}
	_, secret, err := s.store.CreateKey(s.Context(), a.ID, "test", time.Time{})
	if err != nil {
		s.Fatal(err)
	}
	return secret.Reveal()
}

// reply is an answer of the API, as JSON.
type reply struct {
	status int
	header http.Header
	text   string

	Markdown     string
	Code         string
	Reason       string
	Detail       string
	TargetStatus int    `json:"target_status"`
	RetryAfter   int    `json:"retry_after"`
	RequestID    string `json:"request_id"`
	Decision     *struct {
		Allowed bool
		By      string
		Rule    string
		Line    int
	}
	Charge *struct {
		Units   *int
		Receipt string
	}
	Fingerprint string
	Unchanged   bool
	Units       int64
	ByOutcome   map[string]int64 `json:"by_outcome"`
	Receipts    []struct{ ID string }
}

// call sends a request; header are names and values in turn.
func (s *served) call(method, path, body string, header ...string) reply {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := s.client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	r := reply{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if strings.Contains(answer.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(text, &r); err != nil {
			s.Fatalf("%s: %v", text, err)
		}
	}
	return r
}

// read asks for one page by GET.
func (s *served) read(address string, header ...string) reply {
	s.Helper()
	return s.call("GET", "/read?url="+url.QueryEscape(address), "", header...)
}

// charged is what the ledger holds for the account.
func (s *served) charged() int64 {
	s.Helper()
	return s.call("GET", "/usage", "").Units
}

type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestServeReadsAPage(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/p", origintest.Article("A title"))
	got := s.call("POST", "/read", `{"url":"http://a.test/p#part","formats":["markdown","links"]}`)
	if got.status != 200 || got.Markdown == "" || *got.Charge.Units != 1 || !strings.HasPrefix(got.Charge.Receipt, "rcp_") || !got.Decision.Allowed {
		t.Fatalf("%d %s", got.status, got.text)
	}
	plain := s.read("http://a.test/p", "Accept", "text/markdown")
	if plain.text != got.Markdown || plain.header.Get("WebReader-Units") != "1" || plain.header.Get("WebReader-Receipt") == "" ||
		plain.header.Get("WebReader-Tokens") == "" || !json.Valid([]byte(plain.header.Get("WebReader-Decision"))) {
		t.Errorf("%v %s", plain.header, plain.text)
	}
	usage := s.call("GET", "/usage", "")
	if usage.Units != 2 || len(usage.Receipts) != 2 || usage.ByOutcome["delivered"] != 2 || usage.Receipts[1].ID != got.Charge.Receipt {
		t.Errorf("%s", usage.text)
	}
	if log := s.web.Log("a.test"); strings.Join(log, ", ") != "GET /robots.txt, GET /p, GET /p" {
		t.Errorf("the site saw %v", log)
	}
}

// An unchanged page costs nothing, by either form of the answer.
func TestServeUnchanged(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/", origintest.Article("A title"))
	first := s.read("http://a.test/")
	again := s.call("POST", "/read", fmt.Sprintf(`{"url":"http://a.test/","if_fingerprint":%q}`, first.Fingerprint))
	if again.status != 200 || !again.Unchanged || again.Markdown != "" || *again.Charge.Units != 0 || again.Charge.Receipt != "" {
		t.Fatalf("%d %s", again.status, again.text)
	}
	plain := s.call("POST", "/read", fmt.Sprintf(`{"url":"http://a.test/","if_fingerprint":%q}`, first.Fingerprint), "Accept", "text/markdown")
	if plain.status != 200 || plain.text != "" || plain.header.Get("WebReader-Unchanged") != "true" || plain.header.Get("WebReader-Units") != "0" {
		t.Errorf("%d %v %q", plain.status, plain.header, plain.text)
	}
	if n := s.charged(); n != 1 {
		t.Errorf("charged %d", n)
	}
}

// Every way a read can fail, over HTTP: code, reason, the site's status, the decision, and nothing
// charged.
func TestServeErrors(t *testing.T) {
	s := newServed(t, "WEBREADER_TIMEOUT=2s")
	web := s.web
	web.Robots("deny.test", "User-agent: *\nDisallow: /no/\n")
	web.Robots("signal.test", "User-agent: *\nContent-Signal: ai-input=no\n")
	web.Handle("down.test", "/robots.txt", origintest.Status(503))
	for host, h := range map[string]http.Handler{
		"s401": origintest.Status(401), "s402": origintest.Status(402), "s403": origintest.Status(403), "s404": origintest.Status(404),
		"s410": origintest.Status(410), "s418": origintest.Status(418), "s429": origintest.Status(429, "Retry-After", "120"),
		"s451": origintest.Status(451), "s500": origintest.Status(500), "challenge": origintest.Challenge(), "login": origintest.Login(),
		"paywall": origintest.Paywall(), "video": origintest.Body("video/mp4", "x"), "empty": origintest.Body("text/html", "<title>t</title>"),
		"hang": origintest.Hang(), "reset": origintest.Reset(), "large": origintest.Declared("text/html", 100_000_000),
	} {
		web.Handle(host+".test", "/", h)
	}
	web.Redirect("loop.test", "/", 302, "http://loop.test/")
	cases := []struct {
		url, code, reason string
		http, target      int
		by                string
	}{
		{"http://deny.test/no/a", "blocked_by_site_policy", "robots_disallow", 422, 0, "robots"},
		{"http://signal.test/", "blocked_by_site_policy", "content_signal", 422, 0, "content_signal"},
		{"http://down.test/", "blocked_by_site_policy", "robots_unreachable", 422, 0, "robots"},
		{"http://s401.test/", "target_refused", "login", 422, 401, ""},
		{"http://s402.test/", "target_refused", "payment_required", 422, 402, ""},
		{"http://s403.test/", "target_refused", "forbidden", 422, 403, ""},
		{"http://s404.test/", "target_not_found", "not_found", 422, 404, ""},
		{"http://s410.test/", "target_not_found", "gone", 422, 410, ""},
		{"http://s418.test/", "target_error", "client_error", 422, 418, ""},
		{"http://s429.test/", "target_refused", "rate_limited", 422, 429, ""},
		{"http://s429.test/other", "host_busy", "", 503, 0, ""},
		{"http://s451.test/", "target_refused", "legal", 422, 451, ""},
		{"http://s500.test/", "target_error", "server_error", 502, 500, ""},
		{"http://challenge.test/", "target_refused", "challenge", 422, 0, ""},
		{"http://login.test/", "target_refused", "login", 422, 200, ""},
		{"http://paywall.test/", "target_refused", "paywall", 422, 200, ""},
		{"http://loop.test/", "target_error", "redirect_loop", 422, 0, ""},
		{"http://video.test/", "unsupported_content", "", 422, 0, ""},
		{"http://empty.test/", "no_content", "", 422, 0, ""},
		{"http://large.test/", "too_large", "", 422, 0, ""},
		{"http://reset.test/", "target_unreachable", "", 502, 0, ""},
		{"http://hang.test/", "target_timeout", "", 504, 0, ""},
		{"http://10.0.0.1/", "address_not_allowed", "", 422, 0, ""},
	}
	for _, c := range cases {
		got := s.read(c.url)
		t.Logf("%s: %s: %s", c.url, got.Code, got.Detail)
		if got.status != c.http || got.Code != c.code || got.Reason != c.reason || c.target != 0 && got.TargetStatus != c.target {
			t.Errorf("%s: %d %s", c.url, got.status, got.text)
			continue
		}
		if got.Charge == nil || got.Charge.Units == nil || *got.Charge.Units != 0 || got.RequestID != got.header.Get("X-Request-Id") {
			t.Errorf("%s: N01: %s", c.url, got.text)
		}
		if c.by != "" && (got.Decision == nil || got.Decision.Allowed || got.Decision.By != c.by) {
			t.Errorf("%s: decision: %s", c.url, got.text)
		}
		if retry := got.header.Get("Retry-After"); (c.code == "host_busy") != (retry != "") && c.code != "target_refused" {
			t.Errorf("%s: Retry-After %q", c.url, retry)
		}
	}
	if n := s.charged(); n != 0 {
		t.Errorf("charged %d units for refusals and errors", n)
	}
	if log := web.Log("deny.test"); strings.Join(log, ",") != "GET /robots.txt" {
		t.Errorf("the site saw %v", log)
	}
}

func TestServeAccountsAndMoney(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/", origintest.Article("A title"))
	if got := s.call("PATCH", "/account", `{"spending_cap":1}`); got.status != 200 {
		t.Fatal(got.text)
	}
	if got := s.read("http://a.test/"); got.status != 200 {
		t.Fatal(got.text)
	}
	s.web.Reset()
	if got := s.read("http://a.test/"); got.status != 402 || got.Code != "payment_required" || len(s.web.Requests()) != 0 {
		t.Errorf("%s; the site saw %v", got.text, s.web.URLs())
	}
	account, err := s.store.Account(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Suspend(t.Context(), account.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if got := s.read("http://a.test/"); got.status != 403 || got.Code != "account_suspended" {
		t.Errorf("%s", got.text)
	}
}

func TestServeKeys(t *testing.T) {
	s := newServed(t)
	var made struct {
		ID, Secret, Name string
		LastFour         string `json:"last_four"`
	}
	got := s.call("POST", "/keys", `{"name":"second"}`, "Idempotency-Key", "make")
	if err := json.Unmarshal([]byte(got.text), &made); err != nil || got.status != 201 || !strings.HasSuffix(made.Secret, made.LastFour) {
		t.Fatal(got.text)
	}
	if again := s.call("POST", "/keys", `{"name":"second"}`, "Idempotency-Key", "make"); again.Code != "idempotency_conflict" || !strings.Contains(again.Detail, made.ID) {
		t.Errorf("%s", again.text)
	}
	if list := s.call("GET", "/keys", ""); strings.Contains(list.text, made.Secret) || !strings.Contains(list.text, made.ID) {
		t.Errorf("%s", list.text)
	}
	first := s.key
	s.key = made.Secret
	rotated := s.call("POST", "/keys", fmt.Sprintf(`{"replaces":%q}`, made.ID))
	if rotated.status != 201 || s.call("GET", "/account", "").status != 200 {
		t.Fatalf("the replaced key stopped at once: %s", rotated.text)
	}
	s.key = first
	if got := s.call("DELETE", "/keys/"+made.ID, ""); got.status != 200 {
		t.Fatal(got.text)
	}
	s.key = made.Secret
	if got := s.call("GET", "/account", ""); got.Code != "unauthorized" {
		t.Errorf("a revoked key works: %s", got.text)
	}
	s.key = first
	if got := s.call("DELETE", "/keys/key_ofnobody", ""); got.Code != "not_found" {
		t.Errorf("%s", got.text)
	}
}

// A repeat is read anew and not charged, three times; then, or with another body, it is a conflict.
func TestServeIdempotencyKey(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/", origintest.Article("A title"))
	body := `{"url":"http://a.test/"}`
	for i := range 4 {
		got := s.call("POST", "/read", body, "Idempotency-Key", "k")
		if got.status != 200 || (*got.Charge.Units == 1) != (i == 0) {
			t.Fatalf("repeat %d: %s", i, got.text)
		}
	}
	if got := s.call("POST", "/read", body, "Idempotency-Key", "k"); got.Code != "idempotency_conflict" {
		t.Errorf("%s", got.text)
	}
	if got := s.call("POST", "/read", `{"url":"http://a.test/other"}`, "Idempotency-Key", "k"); got.Code != "idempotency_conflict" {
		t.Errorf("%s", got.text)
	}
	if n := s.charged(); n != 1 {
		t.Errorf("charged %d", n)
	}
}

// Whoever has the whole answer may ask what it cost, or repeat the request, in the same moment: the
// books know the answer by then.
func TestServeBooksAreWrittenBeforeTheNextAnswer(t *testing.T) {
	s := newServed(t, "WEBREADER_PROFILE="+fastProfile(t))
	s.web.Page("a.test", "/", origintest.Article("A title"))
	s.client.Transport = &http.Transport{} // without the check of each answer, which takes time
	for i := range 20 {
		key := fmt.Sprint("order ", i)
		if got := s.read("http://a.test/", "Idempotency-Key", key); got.status != 200 {
			t.Fatalf("read %d: %s", i, got.text)
		}
		if got := s.read("http://a.test/", "Idempotency-Key", key); got.status != 200 || *got.Charge.Units != 0 {
			t.Fatalf("repeat of read %d: %s", i, got.text)
		}
		s.read("http://a.test/")
		if n := s.charged(); n != int64(2*i+2) {
			t.Fatalf("after read %d: %d units charged, want %d", i, n, 2*i+2)
		}
	}
}

// W06: nothing of a page is left anywhere once it is answered.
func TestServeKeepsNoCopy(t *testing.T) { onEachDatabase(t, keepsNoCopy) }

func keepsNoCopy(t *testing.T, database string) {
	s := newServed(t, "WEBREADER_DATABASE_URL="+database)
	canary := "Zwaluwstaart7319"
	page := origintest.Article("Titel " + canary)
	page = strings.ReplaceAll(page, "</body>", `<p>Alinea `+canary+` <a href="/`+canary+`">`+canary+`</a></p></body>`)
	page = strings.Replace(page, "<head>", `<head><meta name="description" content="Kort: `+canary+`"><meta name="author" content="`+canary+`">`, 1)
	head := `<title>` + canary + `</title>`
	s.web.Page("a.test", "/", page)
	s.web.Handle("wall.test", "/", origintest.StatusBody(403, head))
	s.web.Handle("broken.test", "/", origintest.StatusBody(500, page))
	s.web.Handle("noindex.test", "/", origintest.Body("text/html", page, "X-Robots-Tag", "noindex"))
	s.web.Handle("login.test", "/", origintest.Body("text/html", head+`<form><input type="password"></form>`))
	s.web.Handle("empty.test", "/", origintest.Body("text/html", head))
	s.web.Page("lost.test", "/", "<!doctype html><title>Page not found</title><h1>Page not found</h1><p>Try "+canary+", or go back to the front page of the museum.</p>")
	found := 0
	for _, host := range []string{"a", "wall", "broken", "noindex", "login", "empty", "lost"} {
		address := "http://" + host + ".test/"
		got := s.call("POST", "/read", fmt.Sprintf(`{"url":%q,"formats":["markdown","html","text","links"]}`, address), "Idempotency-Key", address)
		if strings.Contains(got.text, canary) {
			found++
		}
		if got.status != 200 && strings.Contains(got.text, canary) {
			t.Errorf("an error holds the page's text: %s", got.text)
		}
		s.call("GET", "/policy?url="+url.QueryEscape(address), "")
	}
	if found != 3 { // a, lost and noindex, which the profile reads
		t.Fatalf("the canary is in %d answers", found)
	}
	metrics, err := http.Get("http://" + s.admin.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer metrics.Body.Close()
	text, err := io.ReadAll(metrics.Body)
	if err != nil || !bytes.Contains(text, []byte("webreader_requests_total")) {
		t.Fatalf("metrics: %v %.100s", err, text)
	}
	for _, where := range []string{string(text), s.out.String()} {
		if strings.Contains(where, canary) || strings.Contains(where, s.key) {
			t.Errorf("a log or metric holds the page's text or the key")
		}
	}
	noneInDatabase(t, database, canary, s.key)
	s.stop()
	noneInDatabase(t, database, canary, s.key)
}

// noneInDatabase looks for the texts in every file or row of a database.
func noneInDatabase(t *testing.T, database string, texts ...string) {
	t.Helper()
	if file, ok := strings.CutPrefix(database, "sqlite:"); ok {
		noCanary(t, filepath.Dir(file), texts...)
		return
	}
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := column(t, db, "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')")
	rows := 0
	for _, table := range tables {
		for _, row := range column(t, db, "SELECT t::text FROM "+table+" t") {
			rows++
			for _, text := range texts {
				if strings.Contains(row, text) || strings.Contains(row, hex.EncodeToString([]byte(text))) {
					t.Errorf("a row of %s holds %q", table, text)
				}
			}
		}
	}
	if rows < 10 {
		t.Fatalf("only %d rows were looked at, of %d tables", rows, len(tables))
	}
}

func column(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// noCanary looks for the texts in every file below dir, in UTF-8 and UTF-16.
func noCanary(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		for _, text := range texts {
			wide := strings.Join(strings.Split(text, ""), "\x00")
			if bytes.Contains(content, []byte(text)) || bytes.Contains(content, []byte(wide)) {
				t.Errorf("%s holds %q", filepath.Base(path), text)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// When the charge cannot be written after the page was handed over, the customer has the page whole
// and the house pays.
func TestServeSettlementFails(t *testing.T) {
	s := newServed(t)
	s.web.Page("a.test", "/", origintest.Article("A title"))
	s.web.Before(func(r origintest.Request) {
		if r.Path == "/" {
			s.prepare("break")
		}
	})
	if got := s.read("http://a.test/"); got.status != 200 || got.Markdown == "" || !strings.HasSuffix(got.text, "}") {
		t.Errorf("%d %s", got.status, got.text)
	}
	s.stop()
	if log := s.out.String(); !strings.Contains(log, "settle after the hand-over") {
		t.Errorf("log: %s", log)
	}
}

// A client that goes away before the page came is not charged, and the read ends.
func TestServeClientGone(t *testing.T) {
	s := newServed(t)
	came, open := make(chan struct{}), make(chan struct{})
	s.web.Handle("a.test", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(came)
		select {
		case <-open:
		case <-r.Context().Done():
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/read?url=http%3A%2F%2Fa.test%2F", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if answer, err := s.client.Do(req); err == nil {
			answer.Body.Close()
		}
	}()
	<-came
	cancel()
	<-ended
	defer close(open)
	s.stop() // waits for the read to end
	if log := s.out.String(); !strings.Contains(log, "client_gone") {
		t.Errorf("log: %s", log)
	}
}

// A stop lets a running read finish and answers it.
func TestServeStopsGracefully(t *testing.T) {
	s := newServed(t)
	came, open := make(chan struct{}), make(chan struct{})
	s.web.Before(func(r origintest.Request) {
		if r.Path == "/slow" {
			close(came)
			<-open
		}
	})
	s.web.Page("a.test", "/slow", origintest.Article("A title"))
	answered := make(chan reply, 1)
	go func() { answered <- s.read("http://a.test/slow") }()
	<-came
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.stop() }()
	close(open)
	if got := <-answered; got.status != 200 || *got.Charge.Units != 1 {
		t.Errorf("%d %s", got.status, got.text)
	}
	<-stopped
}

func TestServeRefusesTestSwitchesWithMoney(t *testing.T) {
	env := map[string]string{"WEBREADER_ALLOW_NETWORKS": "127.0.0.0/8", "WEBREADER_STRIPE_SECRET_KEY": "sk_live_x", "WEBREADER_DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	var problem bytes.Buffer
	if code := run(t.Context(), []string{"serve"}, func(name string) string { return env[name] }, stdio{Out: io.Discard, Err: &problem}); code != exitUsage || strings.Contains(problem.String(), "sk_live_x") {
		t.Errorf("exit %d: %s", code, problem.String())
	}
}

// Both addresses refuse a request that hides another one, and end its connection.
func TestServeRefusesHiddenRequests(t *testing.T) {
	s := newServed(t)
	for _, address := range []string{s.public.Addr().String(), s.admin.Addr().String()} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, err = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || strings.Count(string(text), "HTTP/1.1") != 1 {
			t.Errorf("%s: %v %s", address, err, text)
		}
	}
}

// Links to this server are part of billing, so it does not start without an address for them.
func TestServeBillingNeedsAPublicURL(t *testing.T) {
	env := map[string]string{"WEBREADER_STRIPE_SECRET_KEY": "sk_test_x", "WEBREADER_DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "a.db")}
	var problem bytes.Buffer
	code := run(t.Context(), []string{"serve"}, func(name string) string { return env[name] }, stdio{Out: io.Discard, Err: &problem})
	if code != exitUsage || !strings.HasPrefix(problem.String(), "webreader: WEBREADER_PUBLIC_URL:") || strings.Contains(problem.String(), "sk_test_x") {
		t.Errorf("exit %d: %s", code, problem.String())
	}
}

// The line that makes a key reaches the same database, and shows no password.
func TestServeNamesItsDatabase(t *testing.T) {
	for address, want := range map[string]string{
		"": "(in this folder)", "sqlite:data/webreader.db": "(in this folder)", "sqlite:/srv/reader.db": "--database-url sqlite:/srv/reader.db",
		"postgres://reader:secret@db.example/reader": "WEBREADER_DATABASE_URL",
	} {
		got := sameDatabase(func(string) string { return address })
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%q: %q", address, got)
		}
	}
}

// The first start says how to get a key, and puts none into a log.
func TestServeFirstStart(t *testing.T) {
	s := newServed(t)
	log := s.out.String()
	if !strings.Contains(log, "webreader keys create --account default") || strings.Contains(log, "wr_") {
		t.Errorf("log: %s", log)
	}
	for _, warning := range []string{"WEBREADER_ALLOW_NETWORKS", "WEBREADER_RESOLVE", "identity.contact", "WEBREADER_PUBLIC_URL"} {
		if !strings.Contains(log, warning) {
			t.Errorf("no warning about %s: %s", warning, log)
		}
	}
}
