package gate_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/origintest"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

func TestAnswersThatAreNoPageEndTheReadAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.Handler
		kind   fault.Kind
		reason string
		status int
	}{
		"401": {origintest.Status(401), fault.TargetRefused, "login", 401}, "402": {origintest.Status(402), fault.TargetRefused, "payment_required", 402},
		"403": {origintest.Status(403), fault.TargetRefused, "forbidden", 403}, "406": {origintest.Status(406), fault.TargetRefused, "forbidden", 406},
		"999": {origintest.Status(999), fault.TargetRefused, "forbidden", 999}, "429": {origintest.Status(429), fault.TargetRefused, "rate_limited", 429},
		"451": {origintest.Status(451), fault.TargetRefused, "legal", 451}, "404": {origintest.Status(404), fault.TargetNotFound, "not_found", 404},
		"410": {origintest.Status(410), fault.TargetNotFound, "gone", 410}, "400": {origintest.Status(400), fault.TargetError, "client_error", 400},
		"418": {origintest.Status(418), fault.TargetError, "client_error", 418}, "500": {origintest.Status(500), fault.TargetError, "server_error", 500},
		"503": {origintest.Status(503), fault.TargetError, "server_error", 503}, "304 unasked": {origintest.Status(304), fault.TargetError, "client_error", 304},
		"300": {origintest.Status(300), fault.TargetError, "client_error", 300}, "challenge": {origintest.Challenge(), fault.TargetRefused, "challenge", 403},
		"login": {origintest.Login(), fault.TargetRefused, "login", 200}, "paywall": {origintest.Paywall(), fault.TargetRefused, "paywall", 200},
		"reset": {origintest.Reset(), fault.TargetUnreachable, "", 0}, "cut": {origintest.Truncated("text/html", "<p>x"), fault.TargetUnreachable, "", 0},
		"hang": {origintest.Hang(), fault.TargetTimeout, "", 0}, "bomb": {origintest.Bomb("br", "text/html", 16<<20), fault.TooLarge, "", 0},
		"many < and few tags": {origintest.StatusBody(404, strings.Repeat("< ", 300_000)), fault.TargetNotFound, "not_found", 404},
		"tags":                {origintest.Tags(200_001), fault.TooLarge, "", 0}, "long": {origintest.Large("text/html", 8_000_001), fault.TooLarge, "", 0},
		"pdf": {origintest.Body("application/pdf", "%PDF-1.7"), fault.UnsupportedContent, "", 0}, "image": {origintest.Body("image/svg+xml", "<svg/>"), fault.UnsupportedContent, "", 0},
		"sniffed": {origintest.Body("", "\x89PNG\r\n\x1a\n"), fault.UnsupportedContent, "", 0}, "odd type": {origintest.Body("text/x\"<b>", "x"), fault.UnsupportedContent, "", 0},
		"signal in header":      {origintest.Body("text/html", origintest.Article("x"), "Content-Signal", "search=yes, ai-input=no"), fault.BlockedBySitePolicy, "content_signal", 200},
		"signal of a PDF":       {origintest.Body("application/pdf", "%PDF", "Content-Signal", "ai-input=no"), fault.BlockedBySitePolicy, "content_signal", 200},
		"challenge that hangs":  {origintest.HangAfter("text/html", "<p>", "Cf-Mitigated", "challenge"), fault.TargetRefused, "challenge", 200},
		"signal that hangs":     {origintest.HangAfter("text/html", "<p>", "Content-Signal", "ai-input=no"), fault.BlockedBySitePolicy, "content_signal", 200},
		"signal of a bomb":      {origintest.HangAfter("text/html", strings.Repeat("x", 10_000_001), "Content-Signal", "ai-input=no"), fault.BlockedBySitePolicy, "content_signal", 200},
		"page that hangs":       {origintest.HangAfter("text/html", "<p>"), fault.TargetTimeout, "", 0},
		"127.1":                 {origintest.StatusBody(302, "", "Location", "http://127.1/"), fault.AddressNotAllowed, "", 0},
		"0x7f000001":            {origintest.StatusBody(302, "", "Location", "//0X7F000001/"), fault.AddressNotAllowed, "", 0},
		"decimal":               {origintest.StatusBody(302, "", "Location", "https://2130706433/"), fault.AddressNotAllowed, "", 0},
		"challenge as an image": {origintest.Body("image/png", "x", "Cf-Mitigated", "challenge"), fault.TargetRefused, "challenge", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "webreaderapi", func(c *gate.Config) {
				c.MaxBody = 10_000_000
				switch {
				case name == "hang":
					c.FirstByteTimeout = 300 * time.Millisecond
				case strings.HasSuffix(name, " hangs"):
					c.Timeout = 3 * time.Second
				}
			})
			w.web.Handle("a.test", "/x", c.answer)
			_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
			wantFault(t, err, c.kind, c.reason, c.status)
			if d := fault.As(err).Detail; d == "" || strings.Contains(d, "127.0.0.1") {
				t.Errorf("the detail is %q", d)
			}
			wantURLs(t, w.web.URLs(), "http://a.test/robots.txt", "http://a.test/x")
		})
	}
}

func TestTheDetailOfAnUnsupportedTypeNamesIt(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/x", origintest.Body("Application/PDF; a=b", "%PDF-1.7"))
	_, _, err := w.get(t, w.ask(t, "http://a.test/x"))
	if !strings.Contains(fault.As(err).Detail, "application/pdf") {
		t.Error(err)
	}
}

func TestTypesThatAreRead(t *testing.T) {
	for given, want := range map[string]string{
		"text/html": "text/html", "TEXT/HTML; Charset=UTF-8": "text/html", "application/xhtml+xml": "application/xhtml+xml", "text/plain": "text/plain",
		"text/markdown; charset=utf-8": "text/markdown", "application/json": "application/json", "application/ld+json": "application/ld+json",
		"application/xml": "application/xml", "text/xml": "text/xml", "application/atom+xml": "application/atom+xml", "": "text/html", "text/html;;": "text/html",
		"text/html, text/html": "text/html", "text/plain, text/html; charset=utf-8": "text/html", "text/html; charset=utf-8, text/html": "text/html",
	} {
		w := newWorld(t, "webreaderapi")
		w.web.Handle("a.test", "/x", origintest.Body(given, "<!doctype html><p>Some words"))
		p, _, err := w.get(t, w.ask(t, "http://a.test/x"))
		if err != nil || p.MediaType != want || (p.Tree != nil) != strings.Contains(want, "html") || len(p.Body) == 0 {
			t.Errorf("%q: %v, type %q, tree %v", given, err, p.MediaType, p.Tree != nil)
		}
	}
}

func TestAnEmptyPageIsTheReadersToJudge(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/x", origintest.Body("text/html", ""))
	w.web.Handle("a.test", "/y", origintest.Status(204, "Content-Type", "text/html"))
	for _, u := range []string{"http://a.test/x", "http://a.test/y"} {
		if p, _, err := w.get(t, w.ask(t, u)); err != nil || len(p.Body) != 0 {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestPackedSitemapsAreForSitemapsOnly(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/s.xml.gz", origintest.Body("application/x-gzip", "\x1f\x8b bytes"))
	w.web.Handle("a.test", "/t.xml.gz", origintest.Body("application/octet-stream", "\x1f\x8b bytes"))
	for _, u := range []string{"http://a.test/s.xml.gz", "http://a.test/t.xml.gz"} {
		_, _, err := w.get(t, w.ask(t, u))
		wantFault(t, err, fault.UnsupportedContent, "", 0)
		a := w.ask(t, u)
		a.Want = gate.WantSitemap
		if p, _, err := w.get(t, a); err != nil || string(p.Body) != "\x1f\x8b bytes" {
			t.Errorf("%s: %v %q", u, err, p.Body)
		}
	}
}

func TestTextComesAsUTF8(t *testing.T) {
	long := "Önkormányzati támogatások: a pályázat benyújtásának határideje, feltételei és mellékletei. Az őszi és téli időszakban működő szervezetek részére. "
	latin2, _ := charmap.ISO8859_2.NewEncoder().String(long)
	cyrillic := "Государственные субсидии для организаций, работающих в осенний и зимний период. Порядок подачи заявок и перечень документов. "
	win1251, _ := charmap.Windows1251.NewEncoder().String(strings.Repeat(cyrillic, 5))
	win1252, _ := charmap.Windows1252.NewEncoder().String("Café – “prix”: 10 €")
	utf16, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("<p>zażółć")
	for name, c := range map[string]struct{ mediaType, body, want, charset string }{
		"labelled utf-8": {"text/plain; charset=utf-8", "zażółć", "zażółć", "utf-8"}, "unlabelled utf-8": {"text/plain", "zażółć", "zażółć", "utf-8"},
		"utf-8 far down":  {"text/html", strings.Repeat("a", 3000) + "é", strings.Repeat("a", 3000) + "é", "utf-8"},
		"BOM over header": {"text/plain; charset=iso-8859-1", "\xef\xbb\xbfzażółć", "zażółć", "utf-8"}, "utf-16": {"text/html", utf16, "<p>zażółć", "utf-16le"},
		"header":          {"text/plain; charset=iso-8859-2", latin2, long, "iso-8859-2"},
		"meta":            {"text/html", "<meta charset=iso-8859-2>" + latin2, "<meta charset=iso-8859-2>" + long, "iso-8859-2"},
		"XML declaration": {"application/xml", `<?xml version="1.0" encoding='iso-8859-2'?><a>` + latin2 + "</a>", `<?xml version="1.0" encoding='iso-8859-2'?><a>` + long + "</a>", "iso-8859-2"},
		"windows-1252":    {"text/plain; charset=latin1", win1252, "Café – “prix”: 10 €", "windows-1252"},
		"guess":           {"text/plain", win1251, strings.Repeat(cyrillic, 5), "windows-1251"},
		"wrong label":     {"text/plain; charset=utf-8", "a\xffb", "a\uFFFDb", "utf-8"}, "unknown label": {"text/plain; charset=klingon", "é", "é", "utf-8"},
	} {
		w := newWorld(t, "webreaderapi")
		w.web.Handle("a.test", "/x", origintest.Body(c.mediaType, c.body))
		p, _, err := w.get(t, w.ask(t, "http://a.test/x"))
		if err != nil || string(p.Body) != c.want || p.Charset != c.charset {
			t.Errorf("%s: %v, %s, %.80q", name, err, p.Charset, p.Body)
		}
	}
}

func TestNotModifiedIsNoBody(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.HandleFunc("www.a.test", "/x", func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == `"7"` {
			rw.Header().Set("ETag", `"7"`)
			rw.WriteHeader(304)
		}
	})
	w.web.Redirect("a.test", "/x", 301, "http://www.a.test/x")
	a := w.ask(t, "http://a.test/x")
	a.Validators = gate.Validators{ETag: `"7"`}
	p, v, err := w.get(t, a)
	if err != nil || !p.NotModified || !v.Allowed() || p.Validators.ETag != `"7"` {
		t.Errorf("%v %+v", err, p)
	}
}

func TestNoindexIsTheProfilesChoice(t *testing.T) {
	for name, wantErr := range map[string]bool{"webreaderapi": false, "subvenio": true} {
		for _, answer := range []http.Handler{
			origintest.Body("text/html", `<meta name="ROBOTS" content="noindex, nofollow">`+origintest.Article("x")),
			origintest.Body("text/html", origintest.Article("x"), "X-Robots-Tag", "noindex, nofollow"),
		} {
			w := newWorld(t, name)
			w.web.Handle("a.test", "/x", answer)
			p, _, err := w.get(t, w.ask(t, "http://a.test/x"))
			if wantErr {
				wantFault(t, err, fault.BlockedBySitePolicy, "noindex", 200)
				continue
			}
			if err != nil || !p.NoIndex || !p.NoFollow {
				t.Errorf("%s: %v %+v", name, err, p)
			}
		}
	}
}

func TestASuspensionCutsABodyBeingRead(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.web.Handle("a.test", "/x", origintest.HangAfter("text/html", "<p>first"))
	w.web.Before(func(r origintest.Request) {
		if r.Path == "/x" {
			w.people.set(policy.StandingSuspended)
			go func() { w.clock.AwaitTimers(t, 2); w.clock.Advance(time.Second) }() // the polls of robots.txt and of the page
		}
	})
	_, _, err := w.Get(t.Context(), w.ask(t, "http://a.test/x"))
	if fault.Of(err) != fault.AccountSuspended {
		t.Error(err)
	}
	if rows := w.log.all(); rows[len(rows)-1].Outcome != "cut" {
		t.Errorf("%+v", rows)
	}
	w.web.Reset()
	_, _, err = w.Get(t.Context(), w.ask(t, "http://b.test/x"))
	if fault.Of(err) != fault.AccountSuspended || len(w.web.Requests()) != 0 {
		t.Errorf("a later read: %v, %v", err, w.web.URLs())
	}
}

func TestAnOptOutIsHeededBeforeAnyRequest(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	w.people.optOut("a.test", policy.OptOut{Stop: true, Entry: "a.test"})
	_, v, err := w.Get(t.Context(), w.ask(t, "http://a.test/x"))
	wantFault(t, err, fault.BlockedBySitePolicy, "site_opt_out", 0)
	if v.Grounds[0].Source != policy.ByOptOut || len(w.web.Requests()) != 0 {
		t.Errorf("%+v %v", v, w.web.URLs())
	}
}

func TestAWrongAskIsRefusedBeforeAnyRequest(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for field, change := range map[string]func(*gate.Ask){"country": func(a *gate.Ask) { a.Country = "nl" }, "language": func(a *gate.Ask) { a.Language = "nl\r\nCookie: x" }} {
		a := w.ask(t, "http://a.test/x")
		change(&a)
		_, _, err := w.Get(t.Context(), a)
		if e := fault.As(err); e.Kind != fault.InvalidRequest || len(e.Fields) != 1 || e.Fields[0].Name != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, change := range []func(*gate.Ask){func(a *gate.Ask) { a.Profile = nil }, func(a *gate.Ask) { a.Target = policy.Target{} }, func(a *gate.Ask) { a.Cause = policy.Cause{} }} {
		a := w.ask(t, "http://a.test/x")
		change(&a)
		if _, _, err := w.Get(t.Context(), a); fault.Of(err) != fault.Internal || err == nil {
			t.Errorf("%v", err)
		}
	}
	if len(w.web.Requests()) != 0 {
		t.Errorf("the origin saw %v", w.web.URLs())
	}
}

func TestPrivateAddressesAreNamedAsSuchAndNotAsRobots(t *testing.T) {
	w := newWorld(t, "webreaderapi")
	for _, u := range []string{"http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/", "https://192.168.1.1/", "http://metadata.internal/", "http://shop:8080/"} {
		_, _, err := w.Get(t.Context(), w.ask(t, u))
		wantFault(t, err, fault.AddressNotAllowed, "", 0)
		_, err = w.Decide(t.Context(), w.ask(t, u))
		wantFault(t, err, fault.AddressNotAllowed, "", 0)
	}
}
