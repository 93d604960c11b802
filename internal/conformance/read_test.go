package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
)

// W00. Robots, page, redirect and refused requests carry the same name; the group of the token counts.
func oneIdentity(t *testing.T) {
	const token = "WebReaderAPI-bot"
	for settings, want := range map[string]string{
		"": token + "/1.0",
		"WEBREADER_PUBLIC_URL=https://reader.test": token + "/1.0 (+https://reader.test/bot)",
	} {
		s := newSite(t, "webreaderapi", settings)
		s.Robots("a.test", "User-agent: "+token+"\nDisallow: /mine/\n\nUser-agent: *\nDisallow: /\n")
		s.Page("a.test", "/page", origintest.Article("A"))
		s.Redirect("a.test", "/old", http.StatusMovedPermanently, "/page")
		s.Handle("a.test", "/no", origintest.Status(http.StatusForbidden))
		s.wasRead(s.read("http://a.test/old"))
		s.wasNot(s.read("http://a.test/mine/x"), "blocked_by_site_policy", "robots_disallow")
		s.wasNot(s.read("http://a.test/no"), "target_refused", "forbidden")
		everyAgent(s, want)
	}
}

// identityOf proves S01 and B01.
func identityOf(t *testing.T, profile, token, info string) {
	t.Parallel() // the pace of these bots is waited for, in real time
	s := newSite(t, profile)
	s.Robots("a.test", "User-agent: "+token+"\nAllow: /\n\nUser-agent: *\nDisallow: /\n")
	s.Page("a.test", "/page", origintest.Article("A"))
	s.Robots("b.test", "User-agent: "+token+"\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
	s.wasRead(s.read("http://a.test/page"))
	s.wasNot(s.read("http://b.test/page"), "blocked_by_site_policy", "robots_disallow")
	everyAgent(s, token+"/1.0 (+"+info+")")
}

func everyAgent(s *site, want string) {
	s.t.Helper()
	if len(s.Requests()) < 3 {
		s.t.Errorf("only %d requests came: %v", len(s.Requests()), s.URLs())
	}
	for _, r := range s.Requests() {
		if got := r.Header.Values("User-Agent"); len(got) != 1 || got[0] != want {
			s.t.Errorf("%s came as %q, want %q", r.URL(), got, want)
		}
	}
}

// W01, on the command line: commands that do not read a site send nothing, a read goes nowhere but where
// it was sent, and links of the page are not followed.
func onlyWhenAsked(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Page("a.test", "/", origintest.Article("A")+`<p><a href="/b">b</a> <a href="http://c.test/">c</a>`)
	for _, args := range [][]string{{"version"}, {"profile", "check", "webreaderapi"}, {"--help"}, {"read", "--help"}} {
		if a := s.run(args...); a.Exit != 0 {
			t.Errorf("%v ends with %d: %s", args, a.Exit, oneLine(a.Stderr))
		}
	}
	if urls := s.URLs(); len(urls) != 0 {
		t.Errorf("requests that nobody asked for: %v", urls)
	}
	s.wasRead(s.read("http://a.test/"))
	if urls := strings.Join(s.URLs(), " "); urls != "http://a.test/robots.txt http://a.test/" {
		t.Errorf("a read of one page sent %s", urls)
	}
	everyRequestHasACause(t)
}

// everyRequestHasACause reads the fetch log beside the origin's: robots.txt, redirects and refusals too.
func everyRequestHasACause(t *testing.T) {
	e := newEngine(t, "webreaderapi")
	e.Redirect("a.test", "/old", http.StatusFound, "http://b.test/new")
	e.Page("b.test", "/new", origintest.Article("B"))
	e.Handle("c.test", "/no", origintest.Status(http.StatusForbidden))
	e.get(policy.CauseRead, "http://a.test/old")
	e.get(policy.CauseRead, "http://c.test/no")
	seen, rows := e.Requests(), e.log.rows
	if len(seen) != 6 || len(rows) != len(seen) {
		t.Fatalf("the origin saw %d requests, the log has %d rows, want 6: %v", len(seen), len(rows), e.URLs())
	}
	for i, r := range rows {
		if r.Cause.ID != "job_1" || r.Cause.Request != "req_1" || r.Cause.Account != "acc_1" || r.Cause.Kind == "" {
			t.Errorf("%s was sent for %+v", r.URL, r.Cause)
		}
		if r.URL != seen[i].URL() || r.UserAgent != seen[i].Header.Get("User-Agent") {
			t.Errorf("the log has %s by %q, the origin saw %s by %q", r.URL, r.UserAgent, seen[i].URL(), seen[i].Header.Get("User-Agent"))
		}
	}
}

// W02. Whatever the page asks a browser to load.
func onePageOneRequest(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Page("a.test", "/a?b=1&c=%2F", `<!doctype html><html lang=en><head><title>A</title>
<link rel=icon href=/favicon.ico><link rel=stylesheet href=/s.css><link rel=preload href=/p.woff2 as=font><link rel=prefetch href=/next>
<link rel=alternate type="application/rss+xml" href=/feed><link rel=manifest href=/m.json><link rel=canonical href=/canonical>
<meta property=og:image content=/og.png><script src=/x.js></script><script>fetch('/api')</script></head>
<body><img src=/i.png srcset="/i2.png 2x"><iframe src=/frame></iframe><video src=/v.mp4 poster=/poster.jpg></video><object data=/o.svg></object>`+
		origintest.Article("A"))
	s.Handle("a.test", "/a", origintest.Body("text/html", origintest.Article("A")))
	s.wasRead(s.read("http://a.test/a?b=1&c=%2F#part"))
	s.saw("a.test", "GET /robots.txt", "GET /a?b=1&c=%2F")
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests in all: %v", n, s.URLs())
	}
}

// W05. What people came for is there, in Markdown's forms; what surrounds it is not.
func mainContentAsMarkdown(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Page("a.test", "/guide/tea", `<!doctype html><html lang=en><head><title>How to brew tea – Kettle House</title></head><body>
<header><nav><a href=/>Home</a> <a href=/shop>Shop our navigation</a></nav></header>
<main><article><h1>How to brew tea</h1>
<p>Good tea needs fresh water, a warm pot and a little patience; everything else is a matter of taste, of which there are many.</p>
<h2>What you need</h2><ul><li>fresh water</li><li>a pot that <strong>holds heat</strong></li></ul>
<p>Read about <a href="../pots">pots</a> before you buy one, since the wrong one cools the water long before the leaves have opened.</p>
<table><thead><tr><th>Tea</th><th>Minutes</th></tr></thead><tbody><tr><td>Green</td><td>2</td></tr><tr><td>Black</td><td>4</td></tr></tbody></table>
<pre><code class="language-sh">kettle --boil</code></pre>
<p style="display:none">A hidden sentence for machines.</p></article></main>
<footer>All rights reserved by the footer.</footer></body></html>`)
	a := s.read("http://a.test/guide/tea")
	s.wasRead(a)
	for _, want := range []string{"Good tea needs fresh water", "## What you need", "- fresh water", "**holds heat**", "[pots](http://a.test/pots)", "| Black | 4 |", "kettle --boil"} {
		if !strings.Contains(squeeze(a.Markdown), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, a.Markdown)
		}
	}
	for _, surplus := range []string{"navigation", "footer", "hidden sentence", "<p", "<td"} {
		if strings.Contains(a.Markdown, surplus) {
			t.Errorf("the Markdown has %q:\n%s", surplus, a.Markdown)
		}
	}
	if a.Title != "How to brew tea" {
		t.Errorf("title is %q", a.Title)
	}
	if a.Charge == nil || a.Charge.Units != 1 {
		t.Errorf("charge is %+v, want 1 unit", a.Charge)
	}
}

// squeeze makes runs of blanks in a line one: tables may be padded.
func squeeze(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

// W10. One page request, the site's own status, no charge.
func refusalEndsIt(t *testing.T) {
	s := newSite(t, "webreaderapi")
	for path, c := range map[string]struct {
		handler http.Handler
		reason  string
		status  int
	}{
		"/forbidden":     {origintest.Status(http.StatusForbidden), "forbidden", 403},
		"/not-so-fast":   {origintest.Status(http.StatusTooManyRequests, "Retry-After", "1"), "rate_limited", 429},
		"/challenge":     {origintest.Challenge(), "challenge", 403},
		"/login":         {origintest.Login(), "login", 200},
		"/unauthorized":  {origintest.Status(http.StatusUnauthorized, "WWW-Authenticate", "Basic"), "login", 401},
		"/paywall":       {origintest.Paywall(), "paywall", 200},
		"/pay":           {origintest.Status(http.StatusPaymentRequired), "payment_required", 402},
		"/legal-reasons": {origintest.Status(http.StatusUnavailableForLegalReasons), "legal", 451},
	} {
		host := strings.Trim(path, "/") + ".test"
		s.Handle(host, path, c.handler)
		a := s.read("http://" + host + path)
		s.wasNot(a, "target_refused", c.reason)
		if a.TargetStatus != c.status {
			t.Errorf("%s: target_status %d, want %d", path, a.TargetStatus, c.status)
		}
		s.saw(host, "GET /robots.txt", "GET "+path)
	}
}

// W11. A site that tries to get a cookie, a password, a form or a second try out of us gets none.
func noDisguise(t *testing.T) {
	s := newSite(t, "webreaderapi")
	s.Handle("a.test", "/robots.txt", origintest.Body("text/plain", "User-agent: *\nAllow: /\n", "Set-Cookie", "robots=1; Path=/"))
	s.Handle("a.test", "/cookie", origintest.Status(http.StatusFound, "Location", "/page", "Set-Cookie", "session=1; Path=/"))
	s.Page("a.test", "/page", origintest.Article("A"))
	s.Handle("a.test", "/basic", origintest.Status(http.StatusUnauthorized, "WWW-Authenticate", `Basic realm="x"`))
	s.Handle("a.test", "/forbidden", origintest.Status(http.StatusForbidden, "Set-Cookie", "again=1", "Retry-After", "0"))
	s.Handle("a.test", "/busy", origintest.Status(http.StatusServiceUnavailable, "Retry-After", "0"))
	s.Handle("a.test", "/reset", origintest.Reset())
	s.Handle("a.test", "/challenge", origintest.StatusBody(http.StatusForbidden,
		`<title>Just a moment...</title><form id=challenge-form action=/answer method=post><input name=r value=1></form><meta http-equiv=refresh content="0;/challenge?again">`,
		"Cf-Mitigated", "challenge"))
	s.wasRead(s.read("http://a.test/cookie"))
	for _, path := range []string{"/basic", "/forbidden", "/busy", "/reset", "/challenge"} {
		if a := s.read("http://a.test" + path); a.Exit == 0 || a.Code == "" {
			t.Errorf("%s: exit %d, code %q: want a problem", path, a.Exit, a.Code)
		}
		if n := s.Count("a.test", path); n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	agent := s.Requests()[0].Header.Get("User-Agent")
	for _, r := range s.Requests() {
		if r.Method != http.MethodGet || r.BodySize != 0 || r.Header.Get("User-Agent") != agent || agent == "" {
			t.Errorf("%s %s as %q with %d bytes", r.Method, r.URL(), r.Header.Get("User-Agent"), r.BodySize)
		}
		for _, name := range []string{"Cookie", "Authorization", "Referer", "Proxy-Authorization", "X-Forwarded-For"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s carries %s: %s", r.URL(), name, v)
			}
		}
	}
	if n := s.Count("a.test", "/answer"); n != 0 {
		t.Error("the challenge was answered")
	}
}
