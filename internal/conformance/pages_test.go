package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// visit opens a page as anybody, without a key.
func (s *server) visit(path string) (int, string) {
	s.t.Helper()
	answer, err := http.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// W13: no list while there are no ranges; then the list, with its date.
func addressesWhenSettled(t *testing.T) {
	s := newServer(t, "webreaderapi")
	if status, _ := s.visit("/bot/ips.json"); status != http.StatusNotFound {
		t.Errorf("/bot/ips.json: status %d while no addresses are fixed", status)
	}
	if _, page := s.visit("/bot?lang=en"); !strings.Contains(page, "There is no list of IP addresses") {
		t.Error("/bot does not say that there is no list")
	}
	s = newServer(t, "webreaderapi", "WEBREADER_BOT_IPS=2026-11-05=192.0.2.0/24,2001:db8:1::/48")
	status, text := s.visit("/bot/ips.json")
	var list struct {
		CreationTime string
		Prefixes     []map[string]string
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	if list.CreationTime != "2026-11-05T00:00:00Z" || len(list.Prefixes) != 2 || list.Prefixes[0]["ipv4Prefix"] != "192.0.2.0/24" || list.Prefixes[1]["ipv6Prefix"] != "2001:db8:1::/48" {
		t.Errorf("%s", text)
	}
	if _, page := s.visit("/bot?lang=en"); !strings.Contains(page, "/bot/ips.json") || strings.Contains(page, "There is no list of IP addresses") {
		t.Error("/bot does not lead to the list")
	}
}

// N04: the page shows what a site sees, and another profile makes another page.
func botPageShowsTheProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.yaml")
	text := "version: 1\nname: other\n" +
		"identity: { product_token: OtherBot, version: \"2.5\", info_url: https://other.example/bot, contact: me@other.example }\n" +
		"robots: { max_age: 3h, on_4xx: closed }\npace: { min_gap: 7s }\nsignals: { tdm: refuse }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, file)
	s.Robots("a.test", "User-agent: OtherBot\nDisallow: /no\n")
	s.Page("a.test", "/", origintest.Article("Waterkering"))
	s.mustRead("http://a.test/")
	agent := s.To("a.test")[0].Header.Get("User-Agent")
	_, page := s.visit("/bot?lang=en")
	for _, want := range []string{
		agent, "OtherBot/2.5 (&#43;https://other.example/bot)", "me@other.example", "7 s", "at most 3 h",
		"answers 4xx counts as closed", "TDM reservation", "User-agent: OtherBot\nDisallow: /",
	} {
		if !strings.Contains(page, strings.ReplaceAll(want, "(+", "(&#43;")) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if _, page := newServer(t, "webreaderapi").visit("/bot?lang=en"); strings.Contains(page, "OtherBot") || strings.Contains(page, "counts as closed.") || strings.Contains(page, "TDM") {
		t.Error("the page of another profile says the same")
	}
}

// N07: anybody can ask about an address and sees the line that decides; the page itself stays alone.
func siteOperatorCanCheck(t *testing.T) {
	s := newServer(t, "webreaderapi")
	s.Robots("a.test", "User-agent: *\nDisallow: /intern/\n")
	var d struct {
		Allowed  bool
		Decision decision
	}
	status, text := s.visit("/bot/check?url=" + url.QueryEscape("http://a.test/intern/list?x=1"))
	if err := json.Unmarshal([]byte(text), &d); err != nil || status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	if d.Allowed || d.Decision.Line != 2 || d.Decision.Rule != "Disallow: /intern/" {
		t.Errorf("%s", text)
	}
	if _, text := s.visit("/bot/check?url=" + url.QueryEscape("http://a.test/open")); !strings.Contains(text, `"allowed":true`) {
		t.Errorf("%s", text)
	}
	s.saw("a.test", "GET /robots.txt")
}
