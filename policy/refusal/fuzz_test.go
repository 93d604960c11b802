package refusal_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/policy/refusal"
	"github.com/webreaderapi/webreader/reader/dom"
)

var reasons = map[refusal.Class][]string{
	refusal.OK: {""},
	refusal.TargetRefused: {
		refusal.Forbidden, refusal.RateLimited, refusal.Challenge, refusal.Login, refusal.Paywall, refusal.PaymentRequired,
		refusal.Consent, refusal.Legal, refusal.BlockedPage,
	},
	refusal.TargetError: {refusal.NotFound, refusal.Gone, refusal.ClientError, refusal.ServerError},
}

func FuzzRecognise(f *testing.F) {
	for _, file := range []string{"testdata/responses.json", "testdata/house.json"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(raw, &vectors); err != nil {
			f.Fatal(err)
		}
		for _, v := range vectors {
			f.Add(v.Status, v.FinalURL, v.HTML)
		}
	}
	f.Fuzz(func(t *testing.T, status int, final, page string) {
		a := refusal.Answer{URL: "https://site.test/page", FinalURL: final, Status: status, MediaType: "text/html", Header: http.Header{}}
		a.Tree = dom.Parse([]byte(page), dom.Limits{})
		got := refusal.Recognise(a)
		if !slices.Contains(reasons[got.Class], got.Reason) {
			t.Fatalf("class %q with reason %q", got.Class, got.Reason)
		}
		if got.Class != refusal.OK && len(got.Warnings) > 0 {
			t.Fatalf("warnings %q with class %q", got.Warnings, got.Class)
		}
		if got.Class == refusal.OK && (status < 200 || status > 299) {
			t.Fatalf("status %d was read as a page", status)
		}
		a.MediaType, a.Header = "application/json", http.Header{}
		if status == http.StatusOK && refusal.Recognise(a).Class != refusal.OK {
			t.Fatal("an answer that is no page was looked into")
		}
	})
}

// Pages made to be slow: many and nested names, fields, scripts, selectors. Each has some megabytes.
func TestHostilePagesTakeLinearTime(t *testing.T) {
	deep := func(open string) string { return strings.Repeat(open, 400) }
	pages := map[string]string{
		"boxes":     deep(`<div class="cookie modal">`) + strings.Repeat(`<div class="cookie" hidden>x</div>`, 60_000),
		"buttons":   deep(`<div role="button">`) + "<h1>cookie</h1><script>" + strings.Repeat("x", 4<<20) + "</script>",
		"passwords": deep(`<div class="overlay">`) + strings.Repeat(`<input type="password">`, 90_000),
		"gates":     strings.Repeat(`<div class="paywall">`, 400) + strings.Repeat(`<a href="#"></a>`, 90_000),
		"scripts":   strings.Repeat(`<script>dd gokuProps _cf_chl_opt</script>`, 60_000),
		"names":     strings.Repeat("<script>"+strings.Repeat("_cf_chl_opt", 100_000)+"</script>", 3),
		"paid": `<script type="application/ld+json">{"isAccessibleForFree":false,"cssSelector":"` + strings.Repeat(".a .a", 30) + `"}</script>` +
			deep(`<div class="a">`) + strings.Repeat(`<p class="a b c d">x`, 60_000),
		"data":    strings.Repeat(`<script type="application/ld+json">`+strings.Repeat(`{"a":`, 9000)+`{"isAccessibleForFree":false}`+strings.Repeat("}", 9000)+`</script>`, 20),
		"classes": `<p class="` + strings.Repeat("cookie ", 500_000) + `">x`,
	}
	for name, page := range pages {
		tree := dom.Parse([]byte(page), dom.Limits{})
		began := time.Now()
		refusal.Recognise(refusal.Answer{URL: "https://site.test/", Status: 200, Header: http.Header{}, MediaType: "text/html", Tree: tree})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(page), took)
		} else {
			t.Logf("%s: %d bytes, %v", name, len(page), took)
		}
	}
}

func BenchmarkRecognise(b *testing.B) {
	page := "<html><head><title>T</title></head><body><main><article><h1>T</h1>" +
		strings.Repeat(`<p class="a b">Some words of an ordinary paragraph with <a href="/x">a link</a> in it.</p>`, 1100) + "</article></main></body></html>"
	tree := dom.Parse([]byte(page), dom.Limits{})
	a := refusal.Answer{URL: "https://site.test/", Status: 200, Header: http.Header{}, MediaType: "text/html", Tree: tree}
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		refusal.Recognise(a)
	}
}
