package conformance

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// W17: whoever compares a request with the bot's page can tell ours from one that only bears our name.
// Ours has the user agent that the page shows, asks for robots.txt first, keeps to it, and is in our log.
func genuineByNameAndBehaviour(t *testing.T) {
	s := newServer(t, "webreaderapi")
	s.Robots("a.test", "User-agent: *\nDisallow: /private\n")
	s.Page("a.test", "/open", origintest.Article("Waterkering"))
	s.Page("a.test", "/private", origintest.Article("Waterkering"))
	s.mustRead("http://a.test/open")
	if a := s.reads("http://a.test/private"); a.Reason != "robots_disallow" {
		t.Errorf("a fenced page: %+v", a)
	}
	ours := s.To("a.test")
	if len(ours) != 2 || ours[0].Path != "/robots.txt" || ours[1].Path != "/open" {
		t.Fatalf("the site saw %v", s.Log("a.test"))
	}
	_, page := s.visit("/bot?lang=en")
	for _, r := range ours {
		if agent := r.Header.Get("User-Agent"); agent == "" || !strings.Contains(html.UnescapeString(page), agent+"</li>") {
			t.Errorf("%s came from %q, which is not what /bot shows", r.URL(), agent)
		}
	}
	impostor, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Addr()+"/private", nil)
	if err != nil {
		t.Fatal(err)
	}
	impostor.Host = "a.test"
	impostor.Header.Set("User-Agent", ours[0].Header.Get("User-Agent"))
	answer, err := http.DefaultClient.Do(impostor)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	found := s.operate("audit", "--host", "a.test", "--at", time.Now().UTC().Format(time.RFC3339), "--within", "5m")
	if !strings.Contains(found, "http://a.test/open") || strings.Contains(found, "/private") {
		t.Errorf("the log says: %s", found)
	}
}
