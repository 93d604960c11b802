package conformance

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// W08. Folders; our group alone where there is one; the group for all where there is none.
func robotsByFolderAndGroup(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	for i, c := range []struct {
		robots, path string
		read         bool
	}{
		{"User-agent: *\nDisallow: /shut/\n", "/shut/a", false},
		{"User-agent: *\nDisallow: /shut/\n", "/shutter", true},
		{"User-agent: *\nDisallow: /shut/\n", "/open/shut/", true},
		{"User-agent: *\nDisallow: /\n\nUser-agent: webreaderapi-BOT\nDisallow: /mine/\n", "/open", true},
		{"User-agent: *\nDisallow: /\n\nUser-agent: WebReaderAPI-bot\nDisallow: /mine/\n", "/mine/a", false},
		{"User-agent: WebReaderAPI-bot\nDisallow: /one/\n\nUser-agent: other\nDisallow: /\n\nUser-agent: WebReaderAPI-bot\nDisallow: /two/\n", "/two/a", false},
		{"User-agent: other\nUser-agent: WebReaderAPI-bot\nDisallow: /both/\n", "/both/a", false},
		{"User-agent: WebReaderAPI\nDisallow: /\n", "/a", true},
		{"User-agent: other\nDisallow: /\n", "/a", true},
		{"User-agent: WebReaderAPI-bot\n\nUser-agent: *\nDisallow: /\n", "/a", false},
		{"User-agent: WebReaderAPI-bot\nDisallow:\n\nUser-agent: *\nDisallow: /\n", "/a", true},
	} {
		host := fmt.Sprintf("site%d.test", i)
		s.Robots(host, c.robots)
		a := s.read("http://" + host + c.path)
		if c.read {
			s.wasRead(a)
			s.saw(host, "GET /robots.txt", "GET "+c.path)
		} else {
			s.wasNot(a, "blocked_by_site_policy", "robots_disallow")
			s.saw(host, "GET /robots.txt")
		}
	}
}

// W09. In the group for all, in our own, for a part of the site, and not when it is about something else.
func contentSignalStops(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	for i, c := range []struct {
		robots string
		read   bool
	}{
		{"User-agent: *\nContent-Signal: ai-input=no\nAllow: /\n", false},
		{"User-agent: *\nContent-Signal: search=yes, ai-input=no, ai-train=no\n", false},
		{"User-agent: WebReaderAPI-bot\nContent-Signal: ai-input=no\n\nUser-agent: *\nAllow: /\n", false},
		{"User-agent: *\nContent-Signal: /news/ ai-input=no\n", true},
		{"User-agent: *\nContent-Signal: ai-train=no\n", true},
		{"User-agent: *\nContent-Signal: ai-input=yes\n", true},
	} {
		host := fmt.Sprintf("site%d.test", i)
		s.Robots(host, c.robots)
		a := s.read("http://" + host + "/page")
		if c.read {
			s.wasRead(a)
			continue
		}
		s.wasNot(a, "blocked_by_site_policy", "content_signal")
		s.saw(host, "GET /robots.txt")
	}
}

// S09. Asked of the policy, which sends the same requests but the page's.
func longestRuleWins(t *testing.T) {
	s := newSite(t, "subsidieupdate")
	for i, c := range []struct {
		robots, path string
		rule         string
		exit         int
	}{
		{"Disallow: /a\nAllow: /a/b\n", "/a/b/c", "Allow: /a/b", 0},
		{"Allow: /a/b\nDisallow: /a\n", "/a/c", "Disallow: /a", 3},
		{"Allow: /a\nDisallow: /a\n", "/a", "Allow: /a", 0},
		{"Disallow: /*.pdf$\nAllow: /docs/\n", "/docs/x.pdf", "Disallow: /*.pdf$", 3},
		{"Disallow: /x\nAllow: /x/*/public/file\nDisallow: /x/y/public\n", "/x/y/public/file", "Allow: /x/*/public/file", 0},
	} {
		host := fmt.Sprintf("site%d.test", i)
		s.Robots(host, "User-agent: SubsidieUpdate\n"+c.robots)
		exit, d := s.ask("http://" + host + c.path)
		if exit != c.exit || d.Rule != c.rule || d.Allowed != (c.exit == 0) {
			t.Errorf("%q of %s: exit %d by %q, want %d by %q", c.path, oneLine(c.robots), exit, d.Rule, c.exit, c.rule)
		}
		s.saw(host, "GET /robots.txt")
	}
	s.Robots("read.test", "User-agent: *\nDisallow: /a\nAllow: /a/b\n")
	s.Page("read.test", "/a/b", origintest.Article("A"))
	s.wasRead(s.read("http://read.test/a/b"))
}

// S11. Missing and 4xx: nothing is forbidden. 5xx: not now, and no page is asked for.
func robotsStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t, "subsidieupdate")
	for _, status := range []int{400, 401, 403, 404, 410, 451, 500, 502, 503, 504, 599} {
		host := fmt.Sprintf("s%d.test", status)
		s.Handle(host, "/robots.txt", origintest.Status(status))
		exit, d := s.ask("http://" + host + "/page")
		open := status < http.StatusInternalServerError
		if open != (exit == 0) || open != d.Allowed {
			t.Errorf("robots.txt with status %d: exit %d, allowed %v", status, exit, d.Allowed)
		}
		s.saw(host, "GET /robots.txt")
	}
	s.Handle("down.test", "/robots.txt", origintest.Status(http.StatusServiceUnavailable))
	s.Page("down.test", "/page", origintest.Article("A"))
	s.wasNot(s.read("http://down.test/page"), "blocked_by_site_policy", "robots_unreachable")
	s.saw("down.test", "GET /robots.txt")
	s.Page("none.test", "/page", origintest.Article("A"))
	s.wasRead(s.read("http://none.test/page"))
}

// N01. Good or bad, an answer says what decided and what it cost.
func everyAnswerNamesItsGround(t *testing.T) {
	s := newSite(t, "webreaderapi")
	const robots = "# ours\nUser-agent: *\nDisallow: /shut/\nAllow: /shut/open\n"
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	s.Robots("rules.test", robots)
	s.Robots("signal.test", "User-agent: *\nAllow: /\nContent-Signal: ai-input=no\n")
	s.Handle("down.test", "/robots.txt", origintest.Status(http.StatusBadGateway))
	s.Handle("meta.test", "/page", origintest.Body("text/html", origintest.Article("A"), "X-Robots-Tag", "webreaderapi-bot: noindex"))
	s.Handle("rules.test", "/refused", origintest.Status(http.StatusForbidden))
	s.Handle("rules.test", "/gone", origintest.Status(http.StatusGone))

	for url, want := range map[string]decision{
		"http://rules.test/shut/open": {Allowed: true, By: "robots", RobotsURL: "http://rules.test/robots.txt", Group: "*", Line: 4, Rule: "Allow: /shut/open"},
		"http://rules.test/shut/a":    {By: "robots", RobotsURL: "http://rules.test/robots.txt", Group: "*", Line: 3, Rule: "Disallow: /shut/"},
		"http://signal.test/page":     {By: "content_signal", RobotsURL: "http://signal.test/robots.txt", Group: "*", Line: 3, Rule: "Content-Signal: ai-input=no"},
		"http://down.test/page":       {By: "robots", RobotsURL: "http://down.test/robots.txt"},
		"http://none.test/page":       {Allowed: true, By: "default", RobotsURL: "http://none.test/robots.txt"},
		"http://rules.test/refused":   {Allowed: true, By: "default", RobotsURL: "http://rules.test/robots.txt", Group: "*"},
		"http://rules.test/gone":      {Allowed: true, By: "default", RobotsURL: "http://rules.test/robots.txt", Group: "*"},
	} {
		a := s.read(url)
		if a.Decision == nil || *a.Decision != want {
			t.Errorf("%s: decision %+v, want %+v", url, a.Decision, want)
		}
		units := 0
		if a.Exit == 0 {
			units = 1
		}
		if a.Charge == nil || a.Charge.Units != units || (units == 1) != (a.Charge.Receipt != "") {
			t.Errorf("%s: exit %d, charge %+v, want %d units", url, a.Exit, a.Charge, units)
		}
	}
}

// N02. The policy gives a read's decision for the price of a robots.txt.
func decisionWithoutThePage(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
	for i, c := range []struct{ robots, path string }{
		{"User-agent: *\nDisallow: /shut\n", "/shut"},
		{"User-agent: *\nDisallow: /shut\nAllow: /shut/open\n", "/shut/open"},
		{"User-agent: *\nContent-Signal: ai-input=no\n", "/page"},
		{"", "/page"},
	} {
		host := fmt.Sprintf("site%d.test", i)
		s.Robots(host, c.robots)
		exit, d := s.ask("http://" + host + c.path)
		s.saw(host, "GET /robots.txt")
		a := s.read("http://" + host + c.path)
		if a.Decision == nil || *a.Decision != d || a.Exit != exit {
			t.Errorf("policy says %+v (exit %d), read says %+v (exit %d)", d, exit, a.Decision, a.Exit)
		}
	}
}
