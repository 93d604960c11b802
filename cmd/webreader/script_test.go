package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/webreaderapi/webreader/internal/origintest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"webreader": main})
}

// TestScripts runs testdata/*.txtar against the real binary. Each script has a host of its own on a
// small web: $HOST, with the pages of site.
func TestScripts(t *testing.T) {
	web := origintest.New(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			host := hostOf(env.WorkDir)
			site(web, host)
			env.Setenv("HOST", host)
			for name, value := range web.Env() {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"saw":  func(ts *testscript.TestScript, neg bool, args []string) { saw(ts, web, neg, args) },
			"only": onlyLines,
		},
	})
}

// hostOf is a host name made of the script's own folder.
func hostOf(dir string) string {
	return strings.ToLower(strings.ReplaceAll(dir[strings.LastIndexAny(dir, "/\\")+1:], "_", "-")) + ".test"
}

// saw checks what the script's host was asked for, in order: saw 'GET /robots.txt' 'GET /page'.
func saw(ts *testscript.TestScript, web *origintest.Web, neg bool, want []string) {
	if neg {
		ts.Fatalf("usage: saw REQUEST…")
	}
	if got := web.Log(ts.Getenv("HOST")); !slices.Equal(got, want) {
		ts.Fatalf("%s saw %q, want %q", ts.Getenv("HOST"), got, want)
	}
}

// onlyLines checks how many lines a file has: only stderr 1.
func onlyLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: only FILE COUNT")
	}
	text := strings.TrimSuffix(ts.ReadFile(args[0]), "\n")
	lines := 0
	if text != "" {
		lines = strings.Count(text, "\n") + 1
	}
	if fmt.Sprint(lines) != args[1] {
		ts.Fatalf("%s has %d lines, want %s:\n%s", args[0], lines, args[1], text)
	}
}

const robotsTxt = `User-agent: *
Disallow: /private/
Allow: /
Content-Signal: search=yes, ai-train=no
`

// site is what every script's host serves.
func site(w *origintest.Web, host string) {
	w.Robots(host, robotsTxt)
	w.Page(host, "/mill", origintest.Article("The mill"))
	w.Page(host, "/private/mill", origintest.Article("Not for us"))
	w.Redirect(host, "/old", http.StatusMovedPermanently, "/mill")
	w.Redirect(host, "/into", http.StatusFound, "/private/mill")
	w.Redirect(host, "/loop", http.StatusFound, "/loop")
	w.Handle(host, "/challenge", origintest.Challenge())
	w.Handle(host, "/login", origintest.Login())
	w.Handle(host, "/paywall", origintest.Paywall())
	w.Handle(host, "/busy", origintest.Status(http.StatusTooManyRequests, "Retry-After", "120"))
	w.Handle(host, "/gone", origintest.Status(http.StatusGone))
	w.Handle(host, "/broken", origintest.Status(http.StatusInternalServerError))
	w.Handle(host, "/teapot", origintest.Status(http.StatusTeapot))
	w.Handle(host, "/reset", origintest.Reset())
	w.Handle(host, "/hang", origintest.Hang())
	w.Handle(host, "/tags", origintest.Tags(200_001))
	w.Handle(host, "/image", origintest.Body("image/png", "\x89PNG"))
	w.Handle(host, "/feed.json", origintest.Body("application/json", `{"a": 1}`))
	w.Handle(host, "/signal", origintest.Body("text/html; charset=utf-8", origintest.Article("Signal"), "Content-Signal", "ai-input=no"))
	w.Page(host, "/empty", "<!doctype html><title>Nothing</title><body></body>")
	w.Page(host, "/app", `<!doctype html><title>App</title><body><div id="root"></div><script src="/app.js"></script></body>`)
	w.Page(host, "/lost", "<!doctype html><title>Page not found</title><body><h1>Page not found</h1><p>Try the search, or go back to the front page of the museum.</p></body>")
}
