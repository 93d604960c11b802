package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// A crawl of ten thousand pages leaves room for a batch of three that another customer makes when the crawl is
// under way: at the crawl's own host the batch has every other turn, at other hosts it does not wait at all.
func TestALargeCrawlLeavesRoomForASmallBatch(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const pages = 10_000
		r := newReplicas(t, "webreaderapi", database, 2)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		var urls []string
		for _, path := range paths("large.test", pages) {
			urls = append(urls, strings.Replace(path, "large.test/", "large.test/page/", 1))
		}
		r.Handle("large.test", "/sitemap.xml", origintest.Body("application/xml", urlset(urls...)))
		large := r.crawl("http://large.test/", pages)
		for i := 0; r.job(large).Total < pages || len(r.To("large.test")) < 6; i++ {
			r.steps(r.clock.Now().Add(2 * time.Second))
			if i == 20 {
				t.Fatalf("the crawl is %+v after %q", r.job(large), r.Log("large.test"))
			}
		}
		account, err := r.store.CreateAccount(t.Context(), "another customer", "")
		if err != nil {
			t.Fatal(err)
		}
		_, secret, err := r.store.CreateKey(t.Context(), account.ID, "first", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if r.principal, err = r.store.Authenticate(t.Context(), secret.Reveal()); err != nil {
			t.Fatal(err)
		}
		r.Reset()
		same := []string{"http://large.test/small/1", "http://large.test/small/2", "http://large.test/small/3"}
		ended := r.finish(r.batch(same...), r.batch("http://one.test/", "http://two.test/", "http://three.test/"))
		r.delivered(ended[0], 3)
		r.delivered(ended[1], 3)
		if j := r.job(large); j.Over() || j.Counts.Pending < pages/2 {
			t.Errorf("the crawl is %+v: it was no competition", j)
		}
		last := 0
		for i, line := range r.Log("large.test") {
			if strings.Contains(line, "/small/") {
				last = i + 1
			}
		}
		// Two requests of the crawl may be on their way when the batch is made.
		if last > 2*len(same)+2 {
			t.Errorf("the third page of the batch was request %d: %q", last, r.Log("large.test"))
		}
		for i, url := range r.Pages() {
			if strings.HasPrefix(url, "http://three.test") && i > 2*len(same)+4 {
				t.Errorf("%s was request %d: %q", url, i, r.Pages())
			}
		}
	})
}
