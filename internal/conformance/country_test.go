package conformance

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// exit is a forward proxy that knows CONNECT only, and notes where it was sent to.
type exit struct {
	*httptest.Server
	mu sync.Mutex
	to []string
}

func newExit(t *testing.T) *exit {
	e := &exit{}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

// ServeHTTP connects the caller through.
func (e *exit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.to = append(e.to, r.Method+" "+r.Host)
	e.mu.Unlock()
	if r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	site, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(site, client); _ = site.Close() }()
	_, _ = io.Copy(client, site)
	_ = client.Close()
}

func (e *exit) seen() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.to...)
}

// W14. Every request of the read leaves by the country's exit, under the same name; never by another one.
func leavesFromTheCountry(t *testing.T) {
	dutch := newExit(t)
	down := httptest.NewServer(nil)
	down.Close()
	s := newSite(t, "webreaderapi", "WEBREADER_EGRESS=nl="+dutch.URL+",hu="+down.URL)
	s.Page("a.test", "/page", origintest.Article("A"))
	s.Page("b.test", "/page", origintest.Article("B"))
	readFrom := func(country, url string) answer {
		a := s.run("read", "--json", "--country", country, url)
		if err := jsonOf(a.Stdout, &a); err != nil {
			t.Fatalf("from %s: exit %d, %s%s", country, a.Exit, a.Stdout, a.Stderr)
		}
		return a
	}
	s.wasRead(s.read("http://b.test/page"))
	if to := dutch.seen(); len(to) > 0 {
		t.Errorf("a read without a country left by an exit: %q", to)
	}
	agent := s.Requests()[0].Header.Get("User-Agent")
	s.Reset()
	s.wasRead(readFrom("NL", "http://a.test/page"))
	s.saw("a.test", "GET /robots.txt", "GET /page")
	if to := dutch.seen(); len(to) != 2 || strings.Join(to, " ") != "CONNECT "+s.Addr()+" CONNECT "+s.Addr() {
		t.Errorf("the exit was sent to %q, want twice to the site's address", to)
	}
	for _, r := range s.Requests() {
		if got := r.Header.Get("User-Agent"); got != agent || agent == "" {
			t.Errorf("%s came as %q, without a country as %q", r.URL(), got, agent)
		}
		for _, name := range []string{"Via", "Forwarded", "X-Forwarded-For"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s carries %s", r.URL(), name)
			}
		}
	}
	s.Reset()
	for country, code := range map[string]string{"DE": "invalid_request", "HU": "target_unreachable"} {
		if a := readFrom(country, "http://a.test/page"); a.Code != code || a.Markdown != "" {
			t.Errorf("from %s: exit %d, code %q, want %q", country, a.Exit, a.Code, code)
		}
	}
	if urls := s.URLs(); len(urls) > 0 || len(dutch.seen()) != 2 {
		t.Errorf("for want of an exit, requests left from elsewhere: %q", urls)
	}
}

// A watch leaves by its country's exit with all it asks for, sitemaps included; where the exit is down, nothing
// leaves.
func TestAWatchFromACountry(t *testing.T) {
	t.Parallel()
	dutch := newExit(t)
	down := httptest.NewServer(nil)
	down.Close()
	s := newServer(t, "webreaderapi", "WEBREADER_EGRESS=nl="+dutch.URL+",hu="+down.URL)
	s.Handle("a.test", "/", &town{host: "a.test", calls: []string{"/subsidie-1"}})
	s.Robots("a.test", "Sitemap: http://a.test/map.xml\n")
	s.Handle("a.test", "/map.xml", origintest.Body("application/xml", `<urlset><url><loc>http://a.test/subsidie-2</loc></url></urlset>`))
	round := func(country string) (skipped []struct{ Host, Reason string }) {
		var made watchShown
		s.send(s.key, "POST", "/watches", "application/json", `{"sites":[{"start_urls":["http://a.test/subsidies"],"sitemap":true,"topics":["subsidie"]}],"schedule":{"cron":"0 6 1 1 *"},"country":"`+country+`"}`, &made)
		s.send(s.key, "POST", "/watches/"+made.ID+"/rounds", "", "", nil)
		s.endOfRound(made.ID, 1)
		var list struct {
			Rounds []struct {
				Skipped []struct{ Host, Reason string }
			}
		}
		s.send(s.key, "GET", "/watches/"+made.ID+"/rounds", "", "", &list)
		return list.Rounds[0].Skipped
	}
	if skipped := round("hu"); len(skipped) != 1 || skipped[0].Reason != "target_unreachable" {
		t.Errorf("with the exit down: %+v", skipped)
	}
	if urls := s.URLs(); len(urls) > 0 {
		t.Errorf("with the exit down, %q left from elsewhere", urls)
	}
	if skipped := round("NL"); len(skipped) != 0 {
		t.Errorf("skipped %+v", skipped)
	}
	if urls := s.URLs(); len(urls) != 5 || len(dutch.seen()) == 0 {
		t.Errorf("asked for %q by %q", urls, dutch.seen())
	}
	if n := len(dutch.seen()); n > 5 || n < 1 {
		t.Errorf("the exit was asked %d times", n)
	}
	dutch.Close()
	s.Reset()
	if round("nl"); len(s.URLs()) != 0 {
		t.Errorf("with the exit gone: %q", s.URLs())
	}
}

func jsonOf(text string, to any) error { return json.Unmarshal([]byte(text), to) }
