package conformance

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/origintest"
)

// hooked is a customer's receiver of webhooks: it answers the first only when its sender is gone.
func hooked(t *testing.T) (url string, ids chan string) {
	ids = make(chan string, 10)
	var came atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("Webhook-Id")
		if came.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the sender is gone
			<-r.Context().Done()
		}
	}))
	t.Cleanup(hook.Close)
	return hook.URL, ids
}

// A server that only answers leaves the rest to workers. When one is killed in the middle of a delivery, and
// while it leads, another delivers at once what comes after, does the chores, and sends that event once more when
// the time it had is over.
func TestWhatAKilledWorkerHadBegunIsDoneByAnother(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, database string) {
		s := quickLive(t, database, "WEBREADER_NO_WORKERS=true")
		s.Handle("*", "/", origintest.Status(http.StatusForbidden)) // one event a job: that of its end
		hook, ids := hooked(t)
		batch := func(host string) {
			if status, text := s.call("POST", "/batch", `{"urls":["http://`+host+`/"],"webhook_url":"`+hook+`"}`); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, text)
			}
		}
		next := func() string {
			select {
			case id := <-ids:
				return id
			case <-time.After(60 * time.Second):
				t.Fatalf("no webhook came\n%s", s.log)
				return ""
			}
		}
		batch("a.test")
		first := s.worker()
		begun := next()
		_ = first.Process.Kill()
		_ = first.Wait()
		killed, last := time.Now(), s.newest()
		s.worker()
		batch("b.test")
		if id := next(); id == begun {
			t.Errorf("%s was sent again at once", id)
		}
		within(t, "a chore is done", func() bool {
			return s.count("river_job WHERE kind = 'chore' AND state = 'completed' AND id > $1", last) > 0
		})
		t.Logf("another goes on %s after the kill", time.Since(killed).Round(time.Millisecond))
		s.aMinutePasses()
		if id := next(); id != begun {
			t.Errorf("%s came again, want %s", id, begun)
		}
		within(t, "both are delivered", func() bool { return s.count("deliveries WHERE state = 1") == 2 })
		if len(ids) > 0 {
			t.Errorf("%s came once too often", <-ids)
		}
	})
}

func within(t *testing.T, what string, itIs func() bool) {
	t.Helper()
	for limit := time.Now().Add(60 * time.Second); !itIs(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// count is a number of rows in the server's database.
func (s *live) count(text string, a ...any) (n int) {
	s.t.Helper()
	db, _ := s.beside()
	defer db.Close()
	if err := db.QueryRow("SELECT COUNT(*) FROM "+text, a...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// newest is the number of the newest job.
func (s *live) newest() (id int) {
	s.t.Helper()
	db, _ := s.beside()
	defer db.Close()
	if err := db.QueryRow("SELECT MAX(id) FROM river_job").Scan(&id); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// aMinutePasses for what the dead hold: their jobs and the lead.
func (s *live) aMinutePasses() {
	s.t.Helper()
	db, minuteBefore := s.beside()
	defer db.Close()
	for _, text := range []string{
		"UPDATE river_job SET attempted_at = " + minuteBefore("attempted_at") + " WHERE state = 'running'",
		"UPDATE river_leader SET expires_at = " + minuteBefore("expires_at"),
	} {
		if _, err := db.Exec(text); err != nil {
			s.t.Fatal(err)
		}
	}
}

// beside opens the server's database.
func (s *live) beside() (db *sql.DB, minuteBefore func(column string) string) {
	s.t.Helper()
	kind, address := "pgx", ""
	for _, setting := range s.env {
		if value, ok := strings.CutPrefix(setting, "WEBREADER_DATABASE_URL="); ok {
			address = value
		}
	}
	minuteBefore = func(column string) string { return column + " - interval '1 minute'" }
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		kind, address = "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)"
		minuteBefore = func(column string) string {
			return "strftime('%Y-%m-%d %H:%M:%f', " + column + ", '-1 minute')"
		}
	}
	db, err := sql.Open(kind, address)
	if err != nil {
		s.t.Fatal(err)
	}
	return db, minuteBefore
}
