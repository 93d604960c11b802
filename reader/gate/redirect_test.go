package gate_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

func TestRedirectsAreJudgedHopByHop(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Redirect("a.test", "/x", 301, "/y")
	w.web.Redirect("a.test", "/y", 307, "//b.test/z?k=v#part")
	w.web.Redirect("b.test", "/z", 308, "http://c.test/end")
	w.web.Robots("c.test", "User-agent: *\nAllow: /\n")
	w.web.Page("c.test", "/end", origintest.Article("end"))
	p, v, err := w.get(t, w.ask(t, "https://a.test/x"))
	if err != nil {
		t.Fatal(err)
	}
	wantURLs(t, w.web.URLs(), "https://a.test/robots.txt", "https://a.test/x", "https://a.test/y",
		"https://b.test/robots.txt", "https://b.test/z?k=v", "http://c.test/robots.txt", "http://c.test/end")
	if p.Target.String() != "http://c.test/end" || len(p.Hops) != 3 || p.Hops[0].String() != "https://a.test/x" || v.Grounds[0].RobotsURL != "http://c.test/robots.txt" {
		t.Errorf("%v %v %+v", p.Target, p.Hops, v)
	}
}

func TestARedirectIsNotFollowedWhereItMayNotGo(t *testing.T) {
	for name, c := range map[string]struct {
		to     string
		kind   fault.Kind
		reason string
		status int
		seen   int // requests in all
	}{
		"disallowed path":      {"/private/1", fault.BlockedBySitePolicy, "robots_disallow", 0, 2},
		"disallowing host":     {"http://closed.test/", fault.BlockedBySitePolicy, "robots_disallow", 0, 3},
		"content signal":       {"http://signal.test/", fault.BlockedBySitePolicy, "content_signal", 0, 3},
		"host without robots":  {"http://down.test/", fault.BlockedBySitePolicy, "robots_unreachable", 0, 3},
		"opted-out host":       {"http://stop.test/", fault.BlockedBySitePolicy, "site_opt_out", 0, 2},
		"private address":      {"http://10.0.0.1/", fault.AddressNotAllowed, "", 0, 2},
		"metadata":             {"http://169.254.169.254/latest/meta-data/", fault.AddressNotAllowed, "", 0, 2},
		"mapped":               {"http://[::ffff:10.0.0.1]/", fault.AddressNotAllowed, "", 0, 2},
		"inner name":           {"http://intern:9000/", fault.AddressNotAllowed, "", 0, 2},
		"other scheme":         {"ftp://files.test/", fault.TargetError, "client_error", 302, 2},
		"script":               {"javascript:alert(1)", fault.TargetError, "client_error", 302, 2},
		"credentials":          {"http://user:pw@a.test/", fault.TargetError, "client_error", 302, 2},
		"nowhere":              {"", fault.TargetError, "client_error", 302, 2},
		"itself":               {"/x", fault.TargetError, "redirect_loop", 302, 2},
		"itself by a fragment": {"/x#again", fault.TargetError, "redirect_loop", 302, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "webreaderapi")
			w.web.Robots("a.test", "User-agent: *\nDisallow: /private/\n")
			w.web.Robots("closed.test", "User-agent: *\nDisallow: /\n")
			w.web.Robots("signal.test", "User-agent: *\nContent-Signal: ai-input=no\nAllow: /\n")
			w.web.Handle("down.test", "/robots.txt", origintest.Status(503))
			w.people.optOut("stop.test", policy.OptOut{Stop: true, Entry: "stop.test"})
			w.web.Handle("*", "/", origintest.Body("text/html", "<p>must not be seen"))
			w.web.Redirect("a.test", "/x", 302, c.to)
			_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
			wantFault(t, err, c.kind, c.reason, c.status)
			if urls := w.web.URLs(); len(urls) != c.seen {
				t.Errorf("the origin saw %v", urls)
			}
			if w.web.Count("a.test", "/x") != 1 {
				t.Error("the page was requested more than once")
			}
		})
	}
}

func TestAtMostTenRedirects(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for i := range 12 {
		w.web.Redirect("a.test", fmt.Sprintf("/%d", i), 302, fmt.Sprintf("/%d", i+1))
	}
	w.web.Page("a.test", "/12", origintest.Article("end"))
	if p, _, err := w.get(t, w.ask(t, "http://a.test/2")); err != nil || len(p.Hops) != gate.MaxHops {
		t.Errorf("ten redirects: %v, %d hops", err, len(p.Hops))
	}
	w.web.Reset()
	_, _, err := w.get(t, w.ask(t, "http://a.test/1"))
	wantFault(t, err, fault.TargetError, "redirect_loop", 302)
	if n := len(w.web.Pages()); n != gate.MaxHops+1 {
		t.Errorf("%d page requests", n)
	}
}

func TestARedirectOutOfScopeIsNotRequested(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Redirect("a.test", "/x", 302, "http://other.test/y")
	a := w.ask(t, "http://a.test/x")
	a.Within = func(t policy.Target) bool { return t.Host() == "a.test" }
	_, _, err := w.get(t, a)
	off, ok := errors.AsType[*gate.OffScope](err)
	if !ok || off.Target.String() != "http://other.test/y" {
		t.Errorf("%v", err)
	}
	wantURLs(t, w.web.URLs(), "http://a.test/robots.txt", "http://a.test/x")
}

func TestMetaRefreshIsNotFollowed(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/x", origintest.Body("text/html", `<meta http-equiv=refresh content="0;url=/y">`+origintest.Article("x"), "Refresh", "0; url=/z"))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
		t.Error(err)
	}
	wantURLs(t, w.web.Pages(), "http://a.test/x")
}

func TestEveryRequestOfAReadHasTheSameHeaders(t *testing.T) {
	w := newWorld(t, "subvenio")
	w.web.Handle("a.test", "/x", origintest.Status(http.StatusFound, "Location", "https://b.test/y", "Set-Cookie", "session=1; Path=/"))
	w.web.Handle("b.test", "/y", origintest.Status(http.StatusFound, "Location", "https://b.test/z", "Set-Cookie", "session=1; Path=/"))
	w.web.Page("b.test", "/z", origintest.Article("z"))
	if _, _, err := w.get(t, w.ask(t, "http://a.test/x")); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.web.Requests() {
		if r.Header.Get("User-Agent") != w.profile.UserAgent() || r.Method != http.MethodGet || len(r.Header) != 3 {
			t.Errorf("%s %s has the headers %v", r.Method, r.URL(), r.Header)
		}
	}
}
