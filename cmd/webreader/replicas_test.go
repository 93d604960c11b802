package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// replicas are three servers over one database and one web.
func replicas(t *testing.T, database string) []*served {
	t.Helper()
	web := origintest.New(t)
	var all []*served
	for range 3 {
		all = append(all, serveOn(t, web, "WEBREADER_DATABASE_URL="+database))
	}
	return all
}

// However many customers ask however many replicas, a host has one request at a time and its gap
// between two pages; its robots.txt is asked for once.
func TestReplicasKeepAHostsGap(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, database string) {
		const gap, late = 500 * time.Millisecond, 150 * time.Millisecond // the web may notice a request late
		all := replicas(t, database)
		web := all[0].web
		web.Page("*", "/", origintest.Article("Windmolens"))
		var asking sync.WaitGroup
		for i := range 24 {
			asking.Go(func() {
				if got := all[i%3].read(fmt.Sprintf("http://h%d.test/?n=%d", i%2, i)); got.status != 200 {
					t.Errorf("read %d: %s", i, got.text)
				}
			})
		}
		asking.Wait()
		for _, host := range []string{"h0.test", "h1.test"} {
			var pages []origintest.Request
			for _, r := range web.To(host) {
				if r.Path != "/robots.txt" {
					pages = append(pages, r)
				}
			}
			if n := web.Count(host, "/robots.txt"); n != 1 || len(pages) != 12 {
				t.Errorf("%s: %d pages and %d robots.txt were asked for", host, len(pages), n)
			}
			for i := 1; i < len(pages); i++ {
				if apart := pages[i].At.Sub(pages[i-1].At); apart < gap-late {
					t.Errorf("%s: pages %d and %d are %s apart", host, i-1, i, apart)
				}
			}
		}
		if most := web.MostInFlight(); most > 2 {
			t.Errorf("%d requests at once to two hosts", most)
		}
	})
}

// S15, W16: a stop holds on every replica within 5 seconds, also for a body that is being read.
func TestReplicasStopWithinFiveSeconds(t *testing.T) {
	stops := map[string]struct {
		command []string
		code    string
	}{
		"opt-out":    {[]string{"optout", "add", "--domain", "slow.test"}, "blocked_by_site_policy"},
		"suspension": {[]string{"accounts", "suspend", "default"}, "account_suspended"},
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(t *testing.T, database string) {
				t.Parallel()
				all := replicas(t, database)
				web := all[0].web
				web.Handle("slow.test", "/", origintest.HangAfter("text/html", "<title>Slow</title><p>It goes on"))
				web.Page("slow.test", "/next", origintest.Article("Windmolens"))
				reading := make(chan reply, len(all))
				for i, s := range all {
					s.web.Handle(fmt.Sprintf("part%d.slow.test", i), "/", origintest.HangAfter("text/html", "<title>Slow</title><p>It goes on"))
					go func() { reading <- s.read(fmt.Sprintf("http://part%d.slow.test/", i)) }()
				}
				for web.InFlight() < len(all) {
					<-time.After(5 * time.Millisecond)
				}
				if code, _, errs := all[0].operate("", append(slices.Clone(stop.command), "--database-url", database)...); code != 0 {
					t.Fatal(errs)
				}
				entered := time.Now()
				for range all {
					got := <-reading
					if took := time.Since(entered); got.Code != stop.code || took > 5*time.Second {
						t.Errorf("a body was read on for %s: %s", took, got.text)
					}
				}
				<-time.After(time.Until(entered.Add(5 * time.Second)))
				web.Reset()
				for _, s := range all {
					if got := s.read("http://slow.test/next"); got.Code != stop.code || got.Charge == nil || *got.Charge.Units != 0 {
						t.Errorf("after five seconds: %s", got.text)
					}
				}
				if asked := web.Requests(); len(asked) != 0 {
					t.Errorf("the site was asked: %v", web.URLs())
				}
			})
		})
	}
}

// W10, B06: the pause that a site asks for with Retry-After holds for everyone.
func TestReplicasKeepAPause(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, database string) {
		all := replicas(t, database)
		web := all[0].web
		for status, host := range map[int]string{http.StatusTooManyRequests: "many.test", http.StatusServiceUnavailable: "down.test"} {
			web.Handle(host, "/", origintest.Status(status, "Retry-After", "100"))
			web.Page(host, "/other", origintest.Article("Windmolens"))
			first := all[0].read("http://" + host + "/")
			if want := map[int]string{429: "target_refused", 503: "target_error"}[status]; first.Code != want || first.TargetStatus != status {
				t.Errorf("%d: %s", status, first.text)
			}
			asked := len(web.To(host))
			for _, s := range all {
				got := s.read("http://" + host + "/other")
				if got.status != 503 || got.Code != "host_busy" || got.RetryAfter < 90 || got.RetryAfter > 100 || got.header.Get("Retry-After") != fmt.Sprint(got.RetryAfter) {
					t.Errorf("%d: %s", status, got.text)
				}
			}
			if n := len(web.To(host)); n != asked {
				t.Errorf("%d: %d requests were sent in the pause: %s", status, n-asked, strings.Join(web.Log(host), ", "))
			}
		}
		if n := all[0].charged(); n != 0 {
			t.Errorf("charged %d", n)
		}
	})
}
