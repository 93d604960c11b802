package conformance

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs/change"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/internal/webhook"
)

const amsterdam = "Europe/Amsterdam"

// S02. Start pages, sitemaps and what is about grants; nothing else on the site, nothing elsewhere.
func onTheSubjectOnly(t *testing.T) {
	t.Parallel()
	t.Run("all towns", allTownsForADay)
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test", calls: []string{"/subsidie-sport"}}
	m.put(v)
	m.Robots("a.test", "Sitemap: http://a.test/kaart.xml\n")
	m.Handle("a.test", "/kaart.xml", origintest.Body("application/xml", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://a.test/subsidieregeling-cultuur</loc></url><url><loc>http://a.test/paspoort</loc></url>
<url><loc>http://b.test/subsidie</loc></url></urlset>`))
	m.follow(watch.Watch{}, watch.Site{StartURLs: []string{"http://a.test/subsidies"}, Sitemap: true})
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	seen := map[string]bool{}
	for _, r := range m.Requests() {
		seen[r.URL()] = true
	}
	want := []string{"http://a.test/kaart.xml", "http://a.test/robots.txt", "http://a.test/subsidie-sport", "http://a.test/subsidieregeling-cultuur", "http://a.test/subsidies"}
	if got := sorted(seen); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	if n := m.Count("a.test", "/kaart.xml"); n != 1 {
		t.Errorf("the sitemap was asked for %d times on one day", n)
	}
}

func sorted(set map[string]bool) []string {
	var all []string
	for s := range set {
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// S05. The first round reads; each later one asks once for each page, and ends there.
func unchangedCostsOneRequest(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0)) // a Monday
	v := &town{host: "een.test", calls: []string{"/subsidie-sport", "/subsidie-kunst"}, etag: true}
	w := &town{host: "twee.test", calls: []string{"/subsidie-groen", "/subsidie-feest"}}
	m.put(v)
	m.put(w)
	m.follow(watch.Watch{}, siteOf("http://een.test/subsidies"), siteOf("http://twee.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 8, 0))
	if got := kinds(m.collect()); len(got) != 6 {
		t.Errorf("first round: %v", got)
	}
	m.Reset()
	m.runUntil(day(amsterdam, 2026, 5, 4, 11, 0))
	for _, host := range []string{"een.test", "twee.test"} {
		if got := m.Log(host); len(got) != 3 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 3 {
			t.Errorf("second round: %s saw %q", host, got)
		}
	}
	for _, r := range m.To("een.test") {
		if r.Header.Get("If-None-Match") == "" {
			t.Errorf("%s was not conditional", r.Path)
		}
	}
	if got := kinds(m.collect()); len(got) != 0 {
		t.Errorf("second round: %v", got)
	}
	v.edit("/subsidie-sport")
	w.edit("/subsidie-feest")
	m.runUntil(day(amsterdam, 2026, 5, 4, 13, 0))
	if got := kinds(m.collect()); fmt.Sprint(got) != "map[changed http://een.test/subsidie-sport:1 changed http://twee.test/subsidie-feest:1]" {
		t.Errorf("third round: %v", got)
	}
	used, err := m.store.Totals(t.Context(), m.account.ID, m.month())
	if err != nil || used.Units != 8 {
		t.Errorf("charged %+v, %v; want a unit for each page new or changed", used, err)
	}
}

// S06. What a page offers a visitor to press, to fill in, to download and to log in to.
func nothingButPages(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	v := &town{host: "a.test", calls: []string{"/subsidie-sport"}, extra: `<form action="/subsidie-zoek" method=get><input name=q value=subsidie></form>
<form action="/subsidie-aanvraag" method=post><input name=naam></form>
<p><a href="/subsidies/zoeken?trefwoord=subsidie">Alle subsidies</a> <a href="/subsidies?search=subsidie">Subsidies</a> <a href="/subsidie.zip">Subsidies ingepakt</a>
<a href="/subsidie.pdf">Subsidieregeling als pdf</a> <a href="/subsidie.docx">Subsidieformulier</a> <a href="/download.aspx?file=subsidie.xlsx">Subsidietabel</a>
<a href="/subsidie-besloten">Subsidie voor leden</a> <a href="mailto:subsidie@a.test">Mail over subsidie</a></p>`}
	m.put(v)
	m.Handle("a.test", "/subsidie-besloten", origintest.Login())
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	seen := map[string]bool{}
	for _, r := range m.Requests() {
		seen[r.Path] = true
		if r.Method != http.MethodGet || r.BodySize > 0 || r.Header.Get("Cookie")+r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s with %d bytes", r.Method, r.URL(), r.BodySize)
		}
	}
	want := []string{"/robots.txt", "/subsidie-besloten", "/subsidie-sport", "/subsidies"}
	if got := sorted(seen); !slices.Equal(got, want) {
		t.Errorf("asked for %q, want %q", got, want)
	}
	if got := kinds(m.collect()); got["new http://a.test/subsidie-besloten"] != 0 || len(got) != 2 {
		t.Errorf("reported %v", got)
	}
}

// S10. By meta element and by header, under our name and all names.
func noindexNofollow(t *testing.T) {
	m := newMonitor(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0))
	page := func(meta, link string) string {
		return `<!doctype html><html lang=nl><head><title>Subsidie</title>` + meta + `</head><body>` + strings.TrimPrefix(origintest.Article("Subsidie"), "<!doctype html>") +
			`<p><a href="` + link + `">Subsidie daarachter</a></p></body></html>`
	}
	m.Page("a.test", "/subsidies", page("", "/subsidie-1")+`<a href="/subsidie-2">Subsidie 2</a> <a href="/subsidie-3">Subsidie 3</a> <a href="/subsidie-4">Subsidie 4</a>`)
	m.Page("a.test", "/subsidie-1", page(`<meta name=robots content="noindex">`, "/subsidie-11"))
	m.Handle("a.test", "/subsidie-2", origintest.Body("text/html", page("", "/subsidie-22"), "X-Robots-Tag", "SubsidieUpdate: noindex"))
	m.Page("a.test", "/subsidie-3", page(`<meta name=SubsidieUpdate content="nofollow">`, "/subsidie-33"))
	m.Handle("a.test", "/subsidie-4", origintest.Body("text/html", page("", "/subsidie-44"), "X-Robots-Tag", "nofollow"))
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 5, 6, 0))
	if got, want := kinds(m.collect()), "map[new http://a.test/subsidie-3:1 new http://a.test/subsidie-4:1 new http://a.test/subsidies:1]"; fmt.Sprint(got) != want {
		t.Errorf("reported %v, want %s", got, want)
	}
	for _, behind := range []string{"/subsidie-11", "/subsidie-22", "/subsidie-33", "/subsidie-44"} {
		if m.Count("a.test", behind) > 0 {
			t.Errorf("%s was asked for", behind)
		}
	}
	// A page that asks for it later is let go of.
	m.Page("a.test", "/subsidie-4", page(`<meta name=robots content="noindex">`, "/"))
	m.runUntil(day(amsterdam, 2026, 5, 6, 6, 0))
	for _, p := range m.pages() {
		kept := len(p.State)+len(p.Body)+len(p.Validators.ETag)+len(p.Validators.LastModified) > 0
		if want := p.URL == "http://a.test/subsidies" || p.URL == "http://a.test/subsidie-3"; kept != want {
			t.Errorf("%s: something is kept of it: %v", p.URL, kept)
		}
	}
	if got := kinds(m.collect()); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

// pages are what is kept of the first site.
func (m *monitor) pages() []watch.Page {
	m.t.Helper()
	all, err := m.store.WatchBook().Pages(m.t.Context(), &watch.Claim{Watch: m.watch})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// A change tells what of the page was passed over, and why.
func TestAChangeTellsWhatTakesTurnsBesideIt(t *testing.T) {
	t.Parallel()
	start := day(amsterdam, 2026, 5, 4, 6, 0)
	m := newMonitor(t, "subsidieupdate", start)
	put := func(turn, extra string) {
		m.Page("a.test", "/subsidies", `<!doctype html><html lang=nl><title>Subsidies</title><body><main><h1>Subsidies</h1><h2>Voorwaarden</h2><p>De gemeente helpt verenigingen met geld voor plannen die de buurt mooier maken.</p>
<div class="css-1f"><h3><a href="/uit">`+turn+`</a></h3></div><p>Het college besluit binnen acht weken en schrijft u een brief. `+extra+`</p></main></body></html>`)
	}
	put("Kom naar de molendag", "")
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(start.AddDate(0, 0, 1))
	m.collect()
	put("Leen een lastenfiets", "Nieuw is het zwaluwplafond.")
	m.runUntil(start.AddDate(0, 0, 3))
	changes := m.collect()
	if len(changes) != 1 || len(changes[0].Passages) != 1 || !strings.Contains(changes[0].Passages[0].Excerpt, "zwaluwplafond") {
		t.Fatalf("got %+v", changes)
	}
	if c := changes[0]; c.Ignored != 1 || len(c.Flickers) != 1 || c.Flickers[0].Why != "turns" || !slices.Contains(c.Flickers[0].Heading, "Voorwaarden") {
		t.Errorf("passed over: %d, %+v", c.Ignored, c.Flickers)
	}
}

// shortQuotes proves S12 and B09: a short quote of what is new, with its source; a webhook has neither.
func shortQuotes(t *testing.T, profile string, start time.Time) {
	m := newMonitor(t, profile, start)
	long := strings.Repeat("De gemeente helpt verenigingen met geld voor plannen die de buurt mooier maken. ", 40)
	put := func(extra string) {
		m.Page("a.test", "/subsidies", `<!doctype html><html lang=nl><title>Subsidies</title><body><main><h1>Subsidies</h1><h2>Voorwaarden</h2><p>`+long+extra+long+`</p></main></body></html>`)
	}
	put("")
	bodies := make(chan []byte, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer hook.Close()
	m.follow(watch.Watch{WebhookURL: hook.URL}, siteOf("http://a.test/subsidies"))
	m.runUntil(start.AddDate(0, 0, 1))
	first := m.collect()
	if len(first) != 1 || len(first[0].Passages) != 0 {
		t.Fatalf("at first: %+v", first)
	}
	put("Nieuw is het zwaluwplafond van zevenduizend euro. ")
	m.runUntil(start.AddDate(0, 0, 3))
	changes := m.collect()
	if len(changes) != 1 || len(changes[0].Passages) == 0 {
		t.Fatalf("then: %+v", changes)
	}
	c := changes[0]
	if !strings.Contains(c.Passages[0].Excerpt, "zwaluwplafond") || !slices.Contains(c.Passages[0].Heading, "Voorwaarden") {
		t.Errorf("passages %+v", c.Passages)
	}
	if !strings.HasPrefix(c.Source, "http://a.test/subsidies#:~:text=") {
		t.Errorf("source %q", c.Source)
	}
	for _, p := range c.Passages {
		if n := len([]rune(p.Excerpt)); n > 280 {
			t.Errorf("a quote of %d characters", n)
		}
	}
	m.deliver()
	close(bodies)
	events := 0
	for body := range bodies {
		events++
		var event webhook.Event
		if err := json.Unmarshal(body, &event); err != nil || event.Type != webhook.WatchChanged || !bytes.Contains(body, []byte("http://a.test/subsidies")) {
			t.Errorf("told %s, %v", body, err)
		}
		for _, word := range []string{"zwaluw", "zevenduizend", "verenigingen", "Subsidies", "Voorwaarden"} {
			if bytes.Contains(body, []byte(word)) {
				t.Errorf("the webhook holds %q: %s", word, body)
			}
		}
	}
	if events != 2 {
		t.Errorf("%d events, want one for each visit with a change", events)
	}
}

// deliver sends the events that wait.
func (m *monitor) deliver() {
	m.t.Helper()
	settings, err := netguard.FromEnv(m.Getenv)
	if err != nil {
		m.t.Fatal(err)
	}
	dialer, err := netguard.New(settings)
	if err != nil {
		m.t.Fatal(err)
	}
	sender, err := webhook.NewSender(webhook.Config{Dialer: dialer, UserAgent: "test", Now: m.clock.Now})
	if err != nil {
		m.t.Fatal(err)
	}
	for {
		due, err := m.store.DueDeliveries(m.t.Context(), 0, 100)
		if err != nil {
			m.t.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		for _, id := range due {
			if _, err := m.store.Deliver(m.t.Context(), sender, id); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// noPersonalData proves S13 and B12.
func noPersonalData(t *testing.T, profile string, start time.Time) {
	m := newMonitor(t, profile, start)
	put := func(extra string) {
		m.Page("a.test", "/subsidies", `<!doctype html><html lang=nl><title>Subsidies</title><body><main><h1>Subsidies</h1>
<p>De gemeente helpt verenigingen met geld voor plannen die de buurt mooier maken, en geeft uitleg aan wie dat wil.</p>`+extra+`</main></body></html>`)
	}
	put("")
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(start.AddDate(0, 0, 1))
	m.collect()
	secrets := []string{"j.jansen@a.test", "06-12345678", "+36 20 555 3008", "999976096", "9999.76.096", "812-345-6789", "0611223344", "NL91 ABNA 0417 1643 00"}
	var extra strings.Builder
	for i, s := range secrets {
		fmt.Fprintf(&extra, "<p>Contactpersoon nummer %s is bereikbaar op %s voor vragen over de aanvraag.</p>", string(rune('A'+i)), s)
	}
	put(extra.String())
	m.runUntil(start.AddDate(0, 0, 3))
	changes := m.collect()
	if len(changes) != 1 || len(changes[0].Passages) < 4 {
		t.Fatalf("changes %+v", changes)
	}
	quoted := ""
	for _, p := range changes[0].Passages {
		quoted += p.Excerpt + "\n"
	}
	if !strings.Contains(quoted, "voor vragen over de aanvraag") {
		t.Errorf("the quotes lost what is not personal:\n%s", quoted)
	}
	for _, s := range secrets {
		if strings.Contains(quoted, s) || strings.Contains(changes[0].Source, s) {
			t.Errorf("a quote holds %q:\n%s", s, quoted)
		}
	}
}

// S14. Rows of the domain and its sub-domains are gone, but for the wish itself and what a report needs.
func forgottenOnRequest(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "desk.db")
	m := newMonitorOn(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0), "sqlite:"+file)
	for _, host := range []string{"stad.test", "loket.stad.test", "dorp.test"} {
		m.put(&town{host: host, calls: []string{"/subsidie-1", "/subsidie-2"}})
	}
	m.follow(watch.Watch{}, siteOf("http://stad.test/subsidies"), siteOf("http://loket.stad.test/subsidies"), siteOf("http://dorp.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 8, 0))
	if _, err := m.store.Forget(t.Context(), "stad.test", "postmaster"); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{"tombstones": true, "opt_outs": true, "fetch_log": true}
	for table, n := range rowsWith(t, file, "stad.test") {
		if n > 0 && !allowed[table] {
			t.Errorf("%s still has %d rows that name the domain", table, n)
		}
	}
	if n := rowsWith(t, file, "dorp.test"); n["watch_pages"] != 3 {
		t.Errorf("of the other site, %v rows are left", n)
	}
	m.Reset()
	m.runUntil(day(amsterdam, 2026, 5, 5, 12, 0))
	if seen := append(m.Log("stad.test"), m.Log("loket.stad.test")...); len(seen) > 0 {
		t.Errorf("later it was asked for %q", seen)
	}
	if n := m.Count("dorp.test", "/subsidies"); n == 0 {
		t.Error("the other site is not watched any more")
	}
	if got := kinds(m.collect()); len(got) != 3 {
		t.Errorf("changes left: %v", got)
	}
}

// rowsWith counts, for each table, the rows that hold text anywhere.
func rowsWith(t *testing.T, file, text string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	found := map[string]int{}
	for _, table := range strings.Fields(one(t, db, "SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")) {
		columns := one(t, db, "SELECT group_concat('COALESCE(CAST(\"' || name || '\" AS TEXT), '''')', ' || ') FROM pragma_table_info('"+table+"')")
		var n int
		if err := db.QueryRow("SELECT count(*) FROM "+table+" WHERE instr("+columns+", $1) > 0", text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		found[table] = n
	}
	return found
}

func one(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var s string
	if err := db.QueryRow(query).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// N06. Which passages are new is told, without the page being kept, by fingerprints of one customer only.
func changesWithoutCopies(t *testing.T) {
	folder := t.TempDir()
	m := newMonitorOn(t, "subsidieupdate", day(amsterdam, 2026, 5, 4, 6, 0), "sqlite:"+filepath.Join(folder, "desk.db"))
	put := func(sum string) {
		m.Page("a.test", "/subsidies", `<!doctype html><html lang=nl><title>Kanariegeel</title><body><main><h1>Kanariekop</h1>
<p>De kanarieregeling helpt wie zingende vogels houdt en daar anderen plezier mee doet.</p><p>Het kanariebudget is `+sum+` euro voor dit jaar.</p></main></body></html>`)
	}
	put("1000")
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 8, 0))
	put("2000")
	m.runUntil(day(amsterdam, 2026, 5, 4, 13, 0))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(text), []byte("kanarie")) {
			t.Errorf("%s holds text of the page", filepath.Base(f))
		}
	}
	changes := m.collect()
	if len(changes) != 2 || changes[1].Kind != change.Changed || len(changes[1].Passages) != 1 || !strings.Contains(changes[1].Passages[0].Excerpt, "2000") {
		t.Errorf("changes %+v", changes)
	}
	// The same page under another customer's key leaves other fingerprints.
	mine := m.pages()[0].State
	m.customer()
	m.follow(watch.Watch{}, siteOf("http://a.test/subsidies"))
	m.runUntil(day(amsterdam, 2026, 5, 4, 15, 0))
	if theirs := m.pages()[0].State; len(theirs) == 0 || bytes.Contains(theirs, mine[8:24]) {
		t.Error("two customers' fingerprints can be compared")
	}
}
