package conformance

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/internal/origintest"
)

var manyPages = flag.Int("pages", 500, "pages of the site whose crawl must stay small")

// TestALargeCrawlStaysSmall reads a site by its sitemap, as a stream. The server holds less than 200 MB at any time.
func TestALargeCrawlStaysSmall(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database)
		s.Handle("*", "/robots.txt", origintest.Body("text/plain", "Sitemap: /sitemap.xml\n"))
		list := "<urlset>"
		for i := range *manyPages {
			list += fmt.Sprintf("<url><loc>/p%d</loc></url>", i)
		}
		s.Handle("*", "/sitemap.xml", origintest.Body("application/xml", list+"</urlset>"))
		page := strings.Replace(origintest.Article("A"), "</article>", strings.Repeat("<p>A sentence that has some words, so that this is a page of two kilobytes.</p>", 20)+"</article>", 1)
		s.Handle("*", "/", origintest.Body("text/html", page))
		r, err := http.NewRequest("POST", s.base+"/crawl", strings.NewReader(fmt.Sprintf(`{"url":"http://big.test/","max_pages":%d,"sitemap":"only"}`, *manyPages)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Accept": {"application/x-ndjson"}}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		pages := 0
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "A sentence that has some words") {
				pages++
			}
		}
		if lines.Err() != nil || pages != *manyPages {
			t.Errorf("%d pages came, want %d; %v", pages, *manyPages, lines.Err())
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, most, _ := strings.Cut(string(status), "VmHWM:")
		var kilobytes int
		if _, err := fmt.Sscanf(most, "%d kB", &kilobytes); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d pages; the server held %d MB at most", pages, kilobytes>>10)
		if kilobytes > 200<<10 {
			t.Errorf("the server held %d MB", kilobytes>>10)
		}
	})
}
