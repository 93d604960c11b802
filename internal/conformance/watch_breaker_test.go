package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// newRounds is a watched town of three calls, for rounds of working days.
func newRounds(t *testing.T) (*monitor, *atlas) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	a := m.atlas("a.test", 3)
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	a.round(0)
	return m, a
}

// Validators go back as they came, however odd, or not at all; an answer that nobody asked for is no change.
func TestOddValidators(t *testing.T) {
	for name, tag := range map[string]string{
		"weak": `W/"a"`, "bare": `abc`, "blanks": `"a b"`, "quotes in it": `"a"b"`, "commas": `"a","b"`, "star": `*`, "empty": `""`,
		"no letters": "\"\xe9\xff\"", "long": `"` + strings.Repeat("x", 900) + `"`, "too long": `"` + strings.Repeat("x", 3000) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			m, a := newRounds(t)
			sent := ""
			text := 0
			m.HandleFunc("a.test", "/subsidie-1", func(w http.ResponseWriter, r *http.Request) {
				sent = r.Header.Get("If-None-Match")
				w.Header().Set("ETag", tag)
				w.Header().Set("Last-Modified", "gisteren, om vijf uur")
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<!doctype html><title>x</title><main><h1>Subsidie</h1>%s<p>Het budget is %d euro.</p></main>", strings.Repeat("<p>De gemeente helpt wie iets voor de buurt doet.</p>", 5), text)
			})
			a.round(1)
			a.expect(2, "map[]")
			if want := tag; sent != want && (sent != "" || len(tag) < 1024) {
				t.Errorf("sent %q, want %q", sent, want)
			}
			text++
			a.expect(3, changed("/subsidie-1"))
		})
	}
	t.Run("not modified, unasked", func(t *testing.T) {
		m, a := newRounds(t)
		m.Handle("a.test", "/subsidie-1", origintest.Status(http.StatusNotModified))
		a.expect(1, "map[]")
		a.expect(2, "map[]")
		m.Handle("a.test", "/subsidie-1", a.town)
		a.change("/subsidie-1")
		a.expect(3, changed("/subsidie-1"))
	})
}

// A page that is gone and says so by a page of its own, by the home page, or by another's text.
func TestPagesThatAreGoneInOtherWords(t *testing.T) {
	sorry := `<!doctype html><html lang=nl><title>Pagina niet gevonden</title><main><h1>Pagina niet gevonden</h1><p>De pagina die u zoekt bestaat niet meer of is verplaatst.</p></main>`
	for name, answer := range map[string]http.Handler{
		"with 200":     origintest.Body("text/html", sorry),
		"to the home":  origintest.Status(http.StatusFound, "Location", "/"),
		"to the start": origintest.Status(http.StatusMovedPermanently, "Location", "/subsidies"),
		"410":          origintest.Status(http.StatusGone),
		"404, a page":  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); fmt.Fprint(w, sorry) }),
	} {
		t.Run(name, func(t *testing.T) {
			m, a := newRounds(t)
			m.Handle("a.test", "/subsidie-1", answer)
			a.expect(1, "map[]")
			a.expect(2, "map[gone http://a.test/subsidie-1:1]")
			a.expect(3, "map[]")
			m.Handle("a.test", "/subsidie-1", a.town)
			a.expect(4, "map[back http://a.test/subsidie-1:1]")
			for _, r := range m.Requests() {
				if r.Path == "/" {
					t.Error("the home page was asked for")
				}
			}
		})
	}
}

// A site that moves to another of its names goes on being watched; one that leads elsewhere is left.
func TestASiteThatMoves(t *testing.T) {
	for to, follows := range map[string]bool{"www.a.test": true, "elders.test": false} {
		t.Run(to, func(t *testing.T) {
			m, a := newRounds(t)
			b := &town{host: to, calls: a.calls, texts: a.texts}
			m.put(b)
			m.HandleFunc("a.test", "/", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://"+to+r.URL.Path, http.StatusMovedPermanently)
			})
			for _, p := range append([]string{"/subsidies"}, a.calls...) {
				m.HandleFunc("a.test", p, func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, "http://"+to+r.URL.Path, http.StatusMovedPermanently)
				})
			}
			for n := 1; n < 5; n++ {
				if _, got := a.round(n); got != "map[]" {
					t.Errorf("the move alone was reported as %s", got)
				}
			}
			b.edit("/subsidie-1")
			want := "map[]"
			if follows {
				want = "map[changed http://" + to + "/subsidie-1:1]"
			}
			if _, got := a.round(5); got != want {
				t.Errorf("after a change: reported %s, want %s", got, want)
			}
			if n := len(m.To(to)); (n > 0) != follows {
				t.Errorf("%s saw %q", to, m.Log(to))
			}
		})
	}
}

// robots.txt holds from its next copy on, which is a day away at most, within a round too.
func TestRobotsChangesWithinADay(t *testing.T) {
	m, a := newRounds(t)
	m.Robots("a.test", "User-agent: SubsidieUpdate\nDisallow: /subsidie-1\n")
	for n := 1; n < 5; n++ {
		a.round(n)
	}
	a.round(5)
	if n := m.Count("a.test", "/robots.txt"); n != 1 {
		t.Fatalf("the next morning robots.txt was asked for %d times", n)
	}
	log := m.Log("a.test")
	if i := slices.Index(log, "GET /robots.txt"); slices.Contains(log[i:], "GET /subsidie-1") {
		t.Errorf("after it: %q", log)
	}
	a.change("/subsidie-1")
	log, got := a.round(6)
	if got != "map[]" || slices.Contains(log, "GET /subsidie-1") {
		t.Errorf("the closed page: reported %s, asked for %q", got, log)
	}
	m.Robots("a.test", "")
	for n := 7; n < 10; n++ {
		a.round(n)
	}
	if _, got := a.round(10); got != changed("/subsidie-1") {
		t.Errorf("opened again: reported %s", got)
	}
}

// under moves the clock into a round until the host has seen n requests.
func (m *monitor) under(at time.Time, n int) {
	m.t.Helper()
	m.Reset()
	m.clock.AdvanceTo(at)
	for len(m.Requests()) < n {
		if err := m.runner.Step(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
		m.settle()
		m.tick()
	}
}

func (m *monitor) edited(e watch.Edit) {
	m.t.Helper()
	_, err := m.store.ChangeWatch(context.WithoutCancel(m.t.Context()), m.account.ID, m.watch.ID, m.key.ID, e, func(w watch.Watch) time.Time {
		return w.Schedule.Next(m.profile, m.clock.Now(), nil)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// A watch that is paused in a round stands still, and goes on with it when it is resumed.
func TestAWatchIsPausedInARound(t *testing.T) {
	m, a := newRounds(t)
	m.under(day(amsterdam, 2026, 5, 4, 10, 0), 1)
	paused, active := watch.Paused, watch.Active
	m.edited(watch.Edit{Status: &paused})
	seen := len(m.Requests())
	m.runUntil(day(amsterdam, 2026, 5, 4, 18, 0))
	if n := len(m.Requests()); n > seen+1 {
		t.Errorf("%d requests after it was paused", n-seen)
	}
	a.change("/subsidie-2")
	m.edited(watch.Edit{Status: &active})
	m.runUntil(day(amsterdam, 2026, 5, 5, 9, 0))
	if got := fmt.Sprint(kinds(m.collect())); got != changed("/subsidie-2") {
		t.Errorf("after it was resumed: reported %s", got)
	}
	for _, r := range m.rounds() {
		if r.Status != "completed" {
			t.Errorf("round %+v", r)
		}
	}
}

// Sites that are changed in a round: a former one is asked for nothing more, the others are visited.
func TestSitesAreChangedInARound(t *testing.T) {
	m, _ := newRounds(t)
	m.atlas("b.test", 2)
	m.under(day(amsterdam, 2026, 5, 4, 10, 0), 1)
	m.edited(watch.Edit{Sites: []watch.Site{siteOf("http://b.test/subsidies")}})
	seen := len(m.To("a.test"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 18, 0))
	if n := len(m.To("a.test")); n > seen+1 {
		t.Errorf("the former site was asked for %d pages more", n-seen)
	}
	if got := fmt.Sprint(kinds(m.collect())); got != "map[new http://b.test/subsidie-0:1 new http://b.test/subsidie-1:1 new http://b.test/subsidies:1]" {
		t.Errorf("reported %s", got)
	}
	for _, r := range m.rounds() {
		if r.Status != "completed" {
			t.Errorf("round %+v", r)
		}
	}
}
