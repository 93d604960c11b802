package policy_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/policy"
)

func TestParseTarget_Normalises(t *testing.T) {
	for raw, want := range map[string]string{
		"HTTPS://SITE.Example/A?B#c":            "https://site.example/A?B",
		"http://site.example":                   "http://site.example/",
		"http://site.example?a=b":               "http://site.example/?a=b",
		"http://site.example:80/":               "http://site.example/",
		"https://site.example:443/":             "https://site.example/",
		"https://site.example:/":                "https://site.example/",
		"http://site.example:443/":              "http://site.example:443/",
		"http://site.example:08080/":            "http://site.example:8080/",
		"https://site.example./x":               "https://site.example/x",
		"https://bücher.example/ü":              "https://xn--bcher-kva.example/%C3%BC",
		"https://BÜCHER.example/":               "https://xn--bcher-kva.example/",
		"https://straße.example/":               "https://xn--strae-oqa.example/",
		"https://önkormányzat.hu/pályázat?év=1": "https://xn--nkormnyzat-w4a0w.hu/p%C3%A1ly%C3%A1zat?%C3%A9v=1",
		"https://site。example/":                 "https://site.example/",
		"https://a/%2F%26?x=%2f%zz":             "https://a/%2F%26?x=%2f%zz",
		"https://a/100%/x":                      "https://a/100%25/x",
		`https://a/{b}|"c"?{d}`:                 "https://a/%7Bb%7D%7C%22c%22?%7Bd%7D",
		"https://a/a/../b/./c":                  "https://a/a/../b/./c",
		"https://a//b//c":                       "https://a//b//c",
		"https://a/?":                           "https://a/?",
		"https://a/[x]!$&'()*+,;=:@~-._":        "https://a/[x]!$&'()*+,;=:@~-._",
		"https://192.0.2.1/":                    "https://192.0.2.1/",
		"https://１９２.0.2.1/":                    "https://192.0.2.1/",
		"http://[2001:DB8:0:0::1]:8080/":        "http://[2001:db8::1]:8080/",
		"http://[::ffff:192.0.2.1]/":            "http://[::ffff:192.0.2.1]/",
		"https://my_site.example/":              "https://my_site.example/",
		"https://r3---sn-abc.example/":          "https://r3---sn-abc.example/",
		"https://1.example/":                    "https://1.example/",
		"https://0xabc.example/":                "https://0xabc.example/",
		"https://a/b?c=http://d/e?f":            "https://a/b?c=http://d/e?f",
		"https://a/b@c:d":                       "https://a/b@c:d",
	} {
		got, err := policy.ParseTarget(raw)
		if err != nil || got.String() != want {
			t.Errorf("%s: %q (%v), want %q", raw, got, err, want)
		}
	}
}

func TestParseTarget_Refuses(t *testing.T) {
	for _, raw := range []string{
		"", " ", "site.example", "site.example/a", "//site.example", "/a", "localhost:8080", "site.example:8080/a",
		"ftp://site.example/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "http:/site.example",
		"http:site.example", "https:///a", "https://", "http://?a", "http://#a", "http://:80/", "ws://a.example/",
		"https://user@site.example/", "https://user:pw@site.example/", "https://@site.example/", "https://a@b@site.example/",
		"https://site.example\\@other.example/", "https://site.example/a\\b", "https://site.example/a b",
		" https://site.example/", "https://site.example/\n", "https://site.example/\x00", "https://site.example/\u00a0",
		"https://site.example/\u2028", "https://site.example/\u202e", "https://site.example/\u0085", "https://site exa.mple/",
		"https://site.example:0/", "https://site.example:65536/", "https://site.example:-1/", "https://site.example:8o/",
		"https://site.example:+80/", "https://site.example:080080/",
		"http://127.0.0.1../",
		"http://[::1/", "http://::1/", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
		"http://[127.0.0.1]/", "http://[site.example]/", "http://[]/", "http://[::1]]/", "http://[::1",
		"https://a..b/", "https://.a/", "https://..", "https://a.b../", "https://ex%61mple.com/", "https://a,b/", "https://a*b/",
		"https://a!b/", "https://a<b/", "https://℀.example/", "https://xn--zz--.example/", "https://\xff.example/",
		"https://" + strings.Repeat("a", 64) + ".example/", "https://" + strings.Repeat("a.", 127) + "example/",
		"https://site.example/" + strings.Repeat("a", policy.MaxURL),
	} {
		if got, err := policy.ParseTarget(raw); err == nil {
			t.Errorf("%q became %q", raw, got)
		} else if !got.IsZero() || got.String() != "" || got.URL() != nil {
			t.Errorf("%q: an error with a target", raw)
		}
	}
}

// Odd spellings of addresses are no addresses, and no public names either: the guard refuses to dial them,
// with a code of its own.
func TestParseTarget_LeavesOddAddressesToTheGuard(t *testing.T) {
	for raw, host := range map[string]string{
		"http://127.1/": "127.1", "http://0X7F000001/": "0x7f000001", "http://2130706433/": "2130706433", "http://0177.0.0.1/": "0177.0.0.1",
		"http://①②⑦.1/": "127.1", "http://1.2.3.4.5/": "1.2.3.4.5", "http://1.2.3.256/": "1.2.3.256", "http://a.0x1/": "a.0x1",
	} {
		got, err := policy.ParseTarget(raw)
		if err != nil || got.Host() != host {
			t.Errorf("%s: host %q, %v; want %q", raw, got.Host(), err, host)
		}
		if _, literal := got.Addr(); literal {
			t.Errorf("%s counts as an address", raw)
		}
	}
}

func TestParseTarget_ErrorSaysWhatToDoAndKeepsSecrets(t *testing.T) {
	for raw, want := range map[string]string{
		"site.example/a":                      "https://site.example/page",
		"ftp://site.example/":                 "only http and https",
		"http:/site.example":                  "lacks //",
		"https://u:geheim@site.example/?t=1":  "leave it out",
		"https://site.example/a b?tok=geheim": "%20",
		"https://site.example:x/?tok=geheim":  "65535",
	} {
		_, err := policy.ParseTarget(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want a sentence with %q", raw, err, want)
		}
	}
}

// What is sent is what was judged: net/http writes exactly PathQuery.
func TestTarget_IsSentAsJudged(t *testing.T) {
	for _, raw := range []string{
		"https://a/x%2Fy%zz/{q}?p=%&r={s}", "https://a//x", "https://a/?", "https://a/%E4%BD%A0?%zz", "https://a/*", "https://a/a:b",
		"https://a/ü\xff?\xfe", "https://a/%", "https://a/%4", "https://a/[a]{b}%2f",
	} {
		to, err := policy.ParseTarget(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := to.URL().RequestURI(); got != to.PathQuery() {
			t.Errorf("%q: sent as %q, judged as %q", raw, got, to.PathQuery())
		}
		if got := to.URL().String(); got != to.String() {
			t.Errorf("%q: URL %q, String %q", raw, got, to)
		}
	}
}

func TestTarget_Resolve(t *testing.T) {
	const base = "https://site.example/a/b/c?q=1"
	for ref, want := range map[string]string{
		"":                      "https://site.example/a/b/c?q=1",
		"#x":                    "https://site.example/a/b/c?q=1",
		"?z":                    "https://site.example/a/b/c?z",
		"d":                     "https://site.example/a/b/d",
		"./d":                   "https://site.example/a/b/d",
		"../d":                  "https://site.example/a/d",
		"../../../../d":         "https://site.example/d",
		"..":                    "https://site.example/a/",
		".":                     "https://site.example/a/b/",
		"%2e%2E/d":              "https://site.example/a/d",
		"/d/../e":               "https://site.example/e",
		"d?x=../y":              "https://site.example/a/b/d?x=../y",
		"//other.example/x":     "https://other.example/x",
		"//other.example":       "https://other.example/",
		"http://other.example":  "http://other.example/",
		"HTTP://OTHER.example/": "http://other.example/",
		"  /d e\n/f\t":          "https://site.example/d%20e/f",
		"a:b/c":                 "",
		"./a:b":                 "https://site.example/a/b/a:b",
		"/x%2Fy":                "https://site.example/x%2Fy",
		"g;x=1/../y":            "https://site.example/a/b/y",
		"javascript:void(0)":    "",
		"mailto:a@b.example":    "",
		"java\nscript:x":        "",
		"https:d":               "",
		"\\\\other.example\\x":  "",
		"//user@other.example/": "",
	} {
		got, err := target(t, base).Resolve(ref)
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q (%v), want %q", ref, got, err, want)
		}
	}
	if got, err := target(t, "https://site.example").Resolve("x"); err != nil || got.String() != "https://site.example/x" {
		t.Errorf("below a bare host: %q, %v", got, err)
	}
	if _, err := (policy.Target{}).Resolve("/x"); err == nil {
		t.Error("the zero Target has links")
	}
}

func TestTarget_Names(t *testing.T) {
	for _, c := range []struct {
		raw, domain string
		public      bool
	}{
		{"https://www.gemeente.nl/", "gemeente.nl", true},
		{"https://a.b.example.co.uk/", "example.co.uk", true},
		{"https://co.uk/", "co.uk", true},
		{"https://me.github.io/", "me.github.io", true},
		{"https://www.site.test/", "site.test", true},
		{"https://site.test/", "site.test", true},
		{"https://a.b.c.unknowntld/", "c.unknowntld", true},
		{"http://localhost/", "localhost", false},
		{"http://LOCALHOST./", "localhost", false},
		{"http://a.localhost/", "a.localhost", false},
		{"http://intranet/", "intranet", false},
		{"http://printer.local/", "printer.local", false},
		{"http://db.corp.internal/", "corp.internal", false},
		{"http://router.home.arpa/", "router.home.arpa", false},
		{"http://127.0.0.1/", "127.0.0.1", true},
		{"http://[::1]/", "::1", true},
		{"http://mylocal/", "mylocal", false},
		{"http://my.notlocal/", "my.notlocal", true},
	} {
		to := target(t, c.raw)
		if to.RegistrableDomain() != c.domain || to.PublicName() != c.public {
			t.Errorf("%s: domain %q, public %v; want %q, %v", c.raw, to.RegistrableDomain(), to.PublicName(), c.domain, c.public)
		}
	}
}

func TestTarget_Robots(t *testing.T) {
	for raw, want := range map[string]string{
		"https://www.site.test/a":      "https://www.site.test/robots.txt",
		"https://site.test:443/a?b":    "https://site.test/robots.txt",
		"HTTPS://SITE.Test/A":          "https://site.test/robots.txt",
		"http://site.test:8080/a":      "http://site.test:8080/robots.txt",
		"http://site.test:443/a":       "http://site.test:443/robots.txt",
		"https://[2001:db8::1]:8443/a": "https://[2001:db8::1]:8443/robots.txt",
	} {
		if got := target(t, raw).Robots().String(); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	if !(policy.Target{}).Robots().IsZero() {
		t.Error("the zero Target has a robots.txt")
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{
		"https://site.example/a?b#c", "http://[::1]:80/", "http://0x7f.1/", "https://ü.example/%zz", "https://a@b/", "https://a/\\",
		"https://xn--bcher-kva.example", "HTTP://A:00080?x", "https://a。b/", "https://site.example/%2e%2e/x",
	} {
		f.Add(s, "../x y?z#f")
	}
	f.Fuzz(func(t *testing.T, raw, ref string) {
		to, err := policy.ParseTarget(raw)
		if err != nil {
			return
		}
		again, err := policy.ParseTarget(to.String())
		if err != nil || again != to {
			t.Fatalf("%q is not stable: %q, %q, %v", raw, to, again, err)
		}
		u, err := url.Parse(to.String())
		if err == nil && (u.Hostname() != to.Host() || u.User != nil || u.Scheme != to.Scheme()) {
			t.Fatalf("%q: net/url reads host %q, scheme %q", to, u.Hostname(), u.Scheme)
		}
		if got := to.URL().RequestURI(); got != to.PathQuery() {
			t.Fatalf("%q: sent as %q, judged as %q", raw, got, to.PathQuery())
		}
		if _, err := http.NewRequest(http.MethodGet, to.String(), nil); err != nil && !strings.Contains(err.Error(), "invalid URL escape") {
			t.Fatalf("%q cannot be requested: %v", to, err)
		}
		if next, err := to.Resolve(ref); err == nil {
			if back, err := policy.ParseTarget(next.String()); err != nil || back != next {
				t.Fatalf("%q + %q = %q, read again %q, %v", to, ref, next, back, err)
			}
		}
	})
}
