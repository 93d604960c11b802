package conformance

import (
	"net/http"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// A crawl that is deleted asks for nothing more, charges nothing more and leaves nothing to collect.
func TestADeletedJobStops(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := newLive(t, "webreaderapi", database) // half a second between requests: there is time to delete it
		trapSite(s, "shop.test", 40)
		status, text := s.call("POST", "/crawl", `{"url":"http://shop.test/","max_pages":200}`)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		id := decode[job](t, text).ID
		for s.Count("shop.test", "/p/1") == 0 {
			<-time.After(20 * time.Millisecond)
		}
		_, text = s.call("DELETE", "/jobs/"+id, "")
		j := decode[job](t, text)
		if j.Status != "cancelled" || j.Counts["pending"] != 0 {
			t.Errorf("deleted as %+v", j)
		}
		<-time.After(time.Second) // what was under way may end
		seen, units := len(s.Requests()), s.units()
		<-time.After(2 * time.Second)
		if n := len(s.Requests()); n != seen {
			t.Errorf("%d requests came after the end", n-seen)
		}
		if after := s.await(id); s.units() != units || after.Units != j.Units || units != j.Units {
			t.Errorf("charged %d, then %d; the job says %+v", units, s.units(), after)
		}
		if results := s.collect(id); len(results) != 0 {
			t.Errorf("%d results are left", len(results))
		}
	})
}

// A batch under max_units stops at the ceiling, however many of its URLs are read at once.
func TestMaxUnitsIsACeiling(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database)
		s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		j := s.order("/batch", `{"urls":["http://a.test/1","http://b.test/1","http://c.test/1","http://d.test/1","http://e.test/1"],"max_units":2}`)
		if j.Units != 2 || j.Counts["delivered"] != 2 || j.Counts["skipped"] != 3 || j.Reason != "max_units" || s.units() != 2 {
			t.Errorf("ended as %+v", j)
		}
	})
}
