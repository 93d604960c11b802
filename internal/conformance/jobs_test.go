package conformance

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// live is the real binary as a server over a web, with a customer's key.
type live struct {
	*site
	base, admin, dir, key string
	database              string
	cmd                   *exec.Cmd
	log                   *logText
}

// quick is a bot without a gap, for tests in which the pace does not matter.
const quick = `version: 1
name: quick
identity: {product_token: QuickBot, version: "1.0", info_url: "https://site.example/bot", contact: bot@site.example}
pace: {min_gap: 0s}
`

// logText is what the server wrote so far.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newLive starts a server on a database, as a profile.
func newLive(t *testing.T, profile, database string, settings ...string) *live {
	t.Helper()
	s := &live{site: newSite(t, profile, settings...), dir: t.TempDir(), log: new(logText)}
	if strings.HasPrefix(database, "sqlite:") {
		database = "sqlite:" + filepath.Join(s.dir, "data", "webreader.db")
	}
	s.base, s.admin, s.database = "http://"+freeAddr(t), freeAddr(t), database
	temp := filepath.Join(s.dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "TMPDIR="+temp, "WEBREADER_DATABASE_URL="+database, "WEBREADER_ADDR="+strings.TrimPrefix(s.base, "http://"), "WEBREADER_ADMIN_ADDR="+s.admin)
	s.start()
	t.Cleanup(s.stop)
	s.key = strings.TrimSpace(s.run("keys", "create", "--account", "default").Stdout)
	if !strings.HasPrefix(s.key, "wr_") {
		t.Fatalf("no key: %s", s.log)
	}
	return s
}

// quickLive is a server without a gap between requests.
func quickLive(t *testing.T, database string, settings ...string) *live {
	t.Helper()
	file := filepath.Join(t.TempDir(), "quick.yaml")
	if err := os.WriteFile(file, []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	return newLive(t, file, database, settings...)
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *live) start() {
	s.t.Helper()
	s.cmd = exec.Command(webreader(s.t), "serve")
	s.cmd.Env, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.env, s.dir, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	limit := time.Now().Add(20 * time.Second)
	for {
		answer, err := http.Get(s.base + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(limit) {
			s.t.Fatalf("the server does not answer: %v\n%s", err, s.log)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// stop asks the server to stop and waits for it.
func (s *live) stop() { s.end(syscall.SIGTERM) }

func (s *live) end(signal os.Signal) {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	_ = s.cmd.Wait()
}

// call makes one API call and answers status and body.
func (s *live) call(method, path, body string, headers ...string) (int, []byte) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
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
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, text
}

// job is a job as the API shows it.
type job struct {
	ID, Status, Reason string
	Total, Units       int64
	Counts             map[string]int64
}

// result is one result of a job.
type result struct {
	Seq    int64
	URL    string
	Cursor string
	Page   *struct {
		Title, Markdown string
		FinalURL        string `json:"final_url"`
		Charge          struct{ Units int }
	}
	Error *struct{ Code, Reason string }
}

func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// order makes a job and waits for its end.
func (s *live) order(path, body string) job {
	s.t.Helper()
	status, text := s.call("POST", path, body)
	if status != http.StatusAccepted {
		s.t.Fatalf("%s answered %d: %s", path, status, text)
	}
	return s.await(decode[job](s.t, text).ID)
}

func (s *live) await(id string) job {
	s.t.Helper()
	limit := time.Now().Add(50 * time.Second)
	for {
		_, text := s.call("GET", "/jobs/"+id, "")
		j := decode[job](s.t, text)
		if j.Status != "running" {
			return j
		}
		if time.Now().After(limit) {
			s.t.Fatalf("still running: %s\n%s", text, s.log)
		}
		<-time.After(30 * time.Millisecond)
	}
}

// collect reads a job's results to their end, acknowledging all.
func (s *live) collect(id string) []result {
	s.t.Helper()
	var all []result
	cursor := ""
	for {
		status, text := s.call("GET", "/jobs/"+id+"/results?limit=7&wait=5"+cursor, "")
		if status != http.StatusOK {
			s.t.Fatalf("results answered %d: %s", status, text)
		}
		page := decode[struct {
			Results    []result
			NextCursor string `json:"next_cursor"`
			Done       bool
		}](s.t, text)
		all = append(all, page.Results...)
		if page.Done && len(page.Results) == 0 {
			return all
		}
		cursor = "&cursor=" + page.NextCursor
	}
}

func (s *live) units() int64 {
	s.t.Helper()
	_, text := s.call("GET", "/usage", "")
	return decode[struct{ Units int64 }](s.t, text).Units
}

// W03. A hundred are read; of a hundred and one nothing is.
func hundredAddresses(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database)
		s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		urls := make([]string, 101)
		for i := range urls {
			urls[i] = fmt.Sprintf("%q", fmt.Sprintf("http://h%d.test/p%d", i%5, i))
		}
		status, text := s.call("POST", "/batch", `{"urls":[`+strings.Join(urls, ",")+`]}`)
		problem := decode[struct {
			Code   string
			Errors []struct{ Name string }
		}](t, text)
		if status != http.StatusBadRequest || problem.Code != "invalid_request" || len(problem.Errors) != 1 || problem.Errors[0].Name != "urls" {
			t.Errorf("101 URLs: %d %s", status, text)
		}
		if n := len(s.Requests()); n != 0 {
			t.Errorf("%d requests for a refused list", n)
		}
		j := s.order("/batch", `{"urls":[`+strings.Join(urls[:100], ",")+`]}`)
		if j.Status != "completed" || j.Counts["delivered"] != 100 || j.Units != 100 || s.units() != 100 {
			t.Errorf("100 URLs: %+v", j)
		}
		if n := len(s.Pages()); n != 100 {
			t.Errorf("%d pages were requested", n)
		}
	})
}

// trapSite is a site with an index of packed sitemaps, traps, duplicates and parts that are shut.
func trapSite(s *live, host string, pages int) {
	link := func(paths ...string) string {
		var b strings.Builder
		for _, p := range paths {
			fmt.Fprintf(&b, `<a href="%s">x</a> `, p)
		}
		return b.String()
	}
	s.Robots(host, "User-agent: *\nDisallow: /shut/\nSitemap: http://"+host+"/index.xml\nSitemap: http://elsewhere.test/sitemap.xml\n")
	s.Handle(host, "/index.xml", origintest.Body("application/xml", "<sitemapindex><sitemap><loc>http://"+host+"/pages.xml.gz</loc></sitemap><sitemap><loc>http://elsewhere.test/s.xml</loc></sitemap></sitemapindex>"))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "<urlset>")
	for i := range pages {
		fmt.Fprintf(z, "<url><loc>http://%s/p/%d?utm_source=sitemap</loc></url>", host, i)
	}
	fmt.Fprint(z, "<url><loc>http://elsewhere.test/p</loc></url><url><loc>http://"+host+"/shut/listed</loc></url></urlset>")
	_ = z.Close()
	s.Handle(host, "/pages.xml.gz", origintest.Body("application/gzip", packed.String()))
	for i := range pages {
		s.Page(host, fmt.Sprintf("/p/%d", i), origintest.Article(fmt.Sprint("P", i))+link(fmt.Sprintf("/p/%d#top", (i+1)%pages), fmt.Sprintf("/p/%d?fbclid=%d", i, i), "/"))
	}
	s.Page(host, "/", origintest.Article("Home")+link("/p/1", "/Doc", "/doc", "/old", "/away", "/shut/a", "http://elsewhere.test/", "/print", "/p/2?sid=77", "//"+host+"/p/3", "/trap/a/")+
		`<a rel="nofollow" href="/unwanted">x</a>`)
	s.Page(host, "/Doc", origintest.Article("Doc"))
	s.Page(host, "/doc", origintest.Article("doc"))
	s.Redirect(host, "/old", http.StatusMovedPermanently, "/p/4")
	s.Redirect(host, "/away", http.StatusFound, "http://elsewhere.test/there")
	s.Page(host, "/print", `<link rel="canonical" href="/p/5">`+origintest.Article("P5"))
	s.HandleFunc(host, "/trap/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, origintest.Article(r.URL.Path)+link(r.URL.Path+"a/"))
	})
}

// W04. Every page once, nothing shut, nothing elsewhere, traps end.
func crawlStaysHome(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const pages = 60
		s := quickLive(t, database)
		trapSite(s, "shop.test", pages)
		j := s.order("/crawl", `{"url":"http://shop.test/","max_pages":400}`)
		results := s.collect(j.ID)
		got := map[string]int{}
		charged := int64(0)
		for _, r := range results {
			if r.Page != nil {
				got[r.Page.FinalURL]++
				charged += int64(r.Page.Charge.Units)
			}
		}
		for i := range pages {
			if n := got[fmt.Sprintf("http://shop.test/p/%d", i)]; n != 1 {
				t.Errorf("/p/%d was delivered %d times", i, n)
			}
		}
		for _, path := range []string{"/", "/Doc", "/doc"} {
			if got["http://shop.test"+path] != 1 {
				t.Errorf("%s was delivered %d times", path, got["http://shop.test"+path])
			}
		}
		traps := 0
		for url := range got {
			if strings.Contains(url, "/trap/") {
				traps++
			}
		}
		if traps > 10 || len(got) != pages+3+traps {
			t.Errorf("%d pages, %d of them in the trap: %v", len(got), traps, got)
		}
		if j.Status != "completed" || j.Reason != "link_limits" || charged != j.Units || j.Units != j.Counts["delivered"] || s.units() != j.Units || j.Counts["pending"] != 0 {
			t.Errorf("job %+v, charged %d, used %d", j, charged, s.units())
		}
		for _, r := range s.Requests() {
			if r.Host != "shop.test" || strings.HasPrefix(r.Path, "/shut/") || r.Path == "/unwanted" {
				t.Errorf("requested %s", r.URL())
			}
		}
		reported := false
		for _, r := range results {
			reported = reported || r.Error != nil && r.Error.Reason == "off_domain_redirect" && r.URL == "http://shop.test/away"
		}
		if !reported {
			t.Error("the redirect elsewhere was not reported")
		}
	})
}

// forms are the shapes in which a text may lie in a file.
func forms(canary string) [][]byte {
	wide := utf16.Encode([]rune(canary))
	var little, big []byte
	for _, c := range wide {
		little = append(little, byte(c), byte(c>>8))
		big = append(big, byte(c>>8), byte(c))
	}
	return [][]byte{[]byte(canary), little, big, []byte(hex.EncodeToString([]byte(canary))), []byte(base64.StdEncoding.EncodeToString([]byte(canary)))[:len(canary)]}
}

// tables answers the tables of a PostgreSQL database that hold a canary in any form.
func (s *live) tables(canary string) (found []string) {
	s.t.Helper()
	if !strings.HasPrefix(s.database, "postgres") {
		return nil
	}
	db, err := sql.Open("pgx", s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	names, err := db.Query("SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = names.Close() }()
	looked := 0
	for names.Next() {
		var name, text string
		if err := names.Scan(&name); err != nil {
			s.t.Fatal(err)
		}
		// Bytes are hexadecimal in the text of a row.
		if err := db.QueryRow("SELECT COALESCE(string_agg(t::text, ' '), '') FROM " + name + " t").Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		looked += len(text)
		for _, form := range forms(canary) {
			if strings.Contains(text, string(form)) || strings.Contains(text, hex.EncodeToString(form)) {
				found = append(found, "table "+name)
			}
		}
	}
	if err := names.Err(); err != nil || looked == 0 {
		s.t.Fatalf("nothing was looked at: %v", err)
	}
	return found
}

// holds answers the files below dir, and the tables, that hold a canary in any form.
func (s *live) holds(canary string) []string {
	s.t.Helper()
	found := s.tables(canary)
	_ = filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, form := range forms(canary) {
			if bytes.Contains(text, form) {
				found = append(found, path)
			}
		}
		return err
	})
	if strings.Contains(s.log.String(), canary) {
		found = append(found, "the log")
	}
	for _, path := range []string{"/metrics", "/debug/pprof/goroutine?debug=2"} {
		if answer, err := http.Get("http://" + s.admin + path); err == nil {
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if bytes.Contains(text, []byte(canary)) {
				found = append(found, path)
			}
		}
	}
	return found
}

// canaryPage says its canary wherever a page can say something.
func canaryPage(canary string) string {
	return `<html><head><title>Title ` + canary + `</title><meta name="description" content="About ` + canary + `"><meta name="author" content="` + canary + `"></head><body>` +
		strings.ReplaceAll(origintest.Article("A "+canary), "</article>", `<p>`+canary+` stands here.</p><a href="/next" title="`+canary+`">link `+canary+`</a><img src="/i.png" alt="`+canary+`"></article>`) + `</body></html>`
}

// W06. Before delivery the page is only there sealed; after it nowhere.
func noCopy(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const canary = "Quetzalcanary7391"
		s := quickLive(t, database)
		s.Page("a.test", "/1", canaryPage(canary))
		s.Page("a.test", "/2", canaryPage(canary))
		s.Page("b.test", "/", canaryPage(canary)+anchors("/2"))
		s.Page("b.test", "/2", `<link rel="canonical" href="/3">`+canaryPage(canary)) // a page that is given up for another
		s.Page("b.test", "/3", canaryPage(canary))
		crawl := s.order("/crawl", `{"url":"http://b.test/","formats":["markdown","html"]}`)
		j := s.order("/batch", `{"urls":["http://a.test/1","http://a.test/2","http://a.test/none"],"formats":["markdown","text","html","links","images"]}`)
		if found := s.holds(canary); len(found) != 0 {
			t.Errorf("before delivery the page is readable in %v", found)
		}
		results := s.collect(j.ID)
		if len(results) != 3 || !strings.Contains(results[0].Page.Markdown, canary) {
			t.Fatalf("results %+v", results)
		}
		if results := s.collect(crawl.ID); len(results) < 2 || !strings.Contains(results[0].Page.Markdown, canary) {
			t.Fatalf("results %+v", results)
		}
		if found := s.holds(canary); len(found) != 0 {
			t.Errorf("after delivery the page is readable in %v", found)
		}
		s.stop()
		if found := s.holds(canary); len(found) != 0 {
			t.Errorf("after the end the page is readable in %v", found)
		}
	})
}

// N03. What is stored opens for the key that made the job, and for nothing else.
func sealedToTheKey(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const canary = "Sealedcanary8842"
		s := quickLive(t, database)
		s.Page("a.test", "/1", canaryPage(canary))
		j := s.order("/batch", `{"urls":["http://a.test/1"]}`)
		if found := s.holds(canary); len(found) != 0 {
			t.Errorf("the stored page is readable in %v", found)
		}
		own := s.key
		s.key = strings.TrimSpace(s.run("keys", "create", "--account", "default").Stdout)
		if status, text := s.call("GET", "/jobs/"+j.ID+"/results", ""); status != http.StatusBadRequest || bytes.Contains(text, []byte(canary)) {
			t.Errorf("another key of the account: %d %s", status, text)
		}
		s.key = strings.TrimSpace(s.run("keys", "create", "--account", "other", "--create-account").Stdout)
		for _, path := range []string{"", "/results", "/events", "/deliveries"} {
			if status, _ := s.call("GET", "/jobs/"+j.ID+path, ""); status != http.StatusNotFound {
				t.Errorf("another account at %q: %d", path, status)
			}
		}
		s.key = own
		if results := s.collect(j.ID); len(results) != 1 || !strings.Contains(results[0].Page.Markdown, canary) {
			t.Errorf("the key that made it got %+v", results)
		}
	})
}

// N09. The same request again: one charge, one job.
func repeatedOnce(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database)
		s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		for range 3 {
			if status, text := s.call("POST", "/read", `{"url":"http://a.test/1"}`, "Idempotency-Key", "one"); status != http.StatusOK {
				t.Errorf("read: %d %s", status, text)
			}
		}
		if n := s.units(); n != 1 {
			t.Errorf("three equal reads cost %d units", n)
		}
		ids := map[string]bool{}
		for range 3 {
			_, text := s.call("POST", "/batch", `{"urls":["http://a.test/2","http://a.test/3"]}`, "Idempotency-Key", "two")
			j := decode[job](t, text)
			ids[j.ID] = true
			s.await(j.ID)
		}
		if n := s.units(); len(ids) != 1 || n != 3 || s.Count("a.test", "/2") != 1 {
			t.Errorf("three equal batches made %d jobs, %d units, %d requests", len(ids), n, s.Count("a.test", "/2"))
		}
		if status, _ := s.call("POST", "/batch", `{"urls":["http://a.test/4"]}`, "Idempotency-Key", "two"); status != http.StatusConflict {
			t.Errorf("another batch under the key: %d", status)
		}
	})
}
