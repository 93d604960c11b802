package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/origintest"
)

// collectable are the results of a job that a key opens, oldest first.
func (r *replicas) collectable(j jobs.Job, secret billing.Secret) []jobs.Result {
	r.t.Helper()
	identity, err := secret.Identity()
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := r.desk.Results(r.t.Context(), jobs.Query{Job: j, Identity: identity, Limit: 1000, Bytes: 1 << 30})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// stored is how many envelopes of a job there are, whoever they are for.
func (r *replicas) stored(j jobs.Job) int {
	r.t.Helper()
	list, err := r.store.Results(r.t.Context(), j.ID, 0, 1000, 1<<30)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(list)
}

func (r *replicas) sweep() {
	r.t.Helper()
	if err := r.store.SweepJobs(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// run moves the clock on by d: in small steps at first and at last, with a leap in between.
func (r *replicas) run(d time.Duration) {
	r.t.Helper()
	const small = 8 * time.Second
	until := r.clock.Now().Add(d)
	r.steps(r.clock.Now().Add(small))
	r.clock.AdvanceTo(until.Add(-small))
	r.steps(until)
}

// steps moves the clock from one thing to do to the next.
func (r *replicas) steps(until time.Time) {
	r.t.Helper()
	done, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	go func() {
		defer close(done)
		for r.clock.Now().Before(until) {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond): // in real time
			}
		}
	}()
	r.clock.Run(r.t, r.Web, 25*time.Millisecond, done)
}

func paths(host string, n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://%s/%d", host, i))
	}
	return urls
}

// Results are there until their customer has them: what is acknowledged is erased and nothing else, a job
// that is deleted leaves nothing, and what nobody collects is erased a day after the job's end.
func TestResultsAreErased(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "webreaderapi", database, 1)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		ended := r.finish(r.batch(paths("a.test", 3)...), r.batch(paths("b.test", 3)...), r.batch(paths("c.test", 3)...))
		acknowledged, deleted, left := ended[0], ended[1], ended[2]
		if err := r.desk.Acknowledge(t.Context(), acknowledged, 2); err != nil {
			t.Fatal(err)
		}
		if list := r.collectable(acknowledged, r.secret); len(list) != 1 || list[0].Seq != 3 || r.stored(acknowledged) != 1 {
			t.Errorf("two of three were acknowledged; left are %d", len(list))
		}
		if _, err := r.desk.Drop(t.Context(), deleted.Account, deleted.ID); err != nil {
			t.Fatal(err)
		}
		if n := r.stored(deleted); n != 0 {
			t.Errorf("a deleted job left %d results", n)
		}
		if want := left.FinishedAt.Add(24 * time.Hour); !left.ExpiresAt.Equal(want) {
			t.Errorf("results expire at %v, want a day after the end, %v", left.ExpiresAt, want)
		}
		r.clock.AdvanceTo(left.ExpiresAt.Add(-time.Minute))
		r.sweep()
		if n := r.stored(left); n != 3 {
			t.Errorf("%d results are left before the time is up", n)
		}
		r.clock.AdvanceTo(left.ExpiresAt)
		r.sweep()
		if a, b := r.stored(acknowledged), r.stored(left); a != 0 || b != 0 {
			t.Errorf("%d and %d results are left a day after the end", a, b)
		}
	})
}

// A key that is replaced opens what was sealed to it until its end date, and its running jobs go on; then they
// end, and what nobody can open any more is erased. Another key opens nothing of it.
func TestAReplacedKeyWorksUntilItsEnd(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "webreaderapi", database, 1)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		r.Robots("slow.test", "User-agent: *\nCrawl-delay: 3600\n")
		done := r.finish(r.batch(paths("a.test", 2)...))[0]
		slow := r.crawlOf("http://slow.test/", "http://slow.test/1", "http://slow.test/2", "http://slow.test/3")
		ends := r.clock.Now().Add(2 * time.Hour)
		_, second, err := r.store.RotateKey(t.Context(), r.principal.Account, r.principal.Key, ends)
		if err != nil {
			t.Fatal(err)
		}
		r.run(90 * time.Minute)
		if _, err := r.store.Authenticate(t.Context(), r.secret.Reveal()); err != nil {
			t.Errorf("the old key before its end: %v", err)
		}
		if n := len(r.collectable(done, r.secret)); n != 2 {
			t.Errorf("the old key opens %d results, want 2", n)
		}
		if identity, err := second.Identity(); err != nil {
			t.Fatal(err)
		} else if list, err := r.desk.Results(t.Context(), jobs.Query{Job: done, Identity: identity, Limit: 10, Bytes: 1 << 20}); err == nil {
			t.Errorf("the new key opens %d results of the old one", len(list))
		}
		if j := r.job(slow); j.Over() || j.Counts.Delivered == 0 {
			t.Errorf("the running job of the old key is %+v", j)
		}
		r.clock.AdvanceTo(ends)
		if _, err := r.store.Authenticate(t.Context(), r.secret.Reveal()); err == nil {
			t.Error("the old key works after its end")
		}
		r.sweep()
		if j := r.job(slow); j.Status != jobs.Failed || j.Reason != jobs.ReasonKeyEnded {
			t.Errorf("the running job of a key that ended is %+v", j)
		}
		if a, b := r.stored(done), r.stored(slow); a != 0 || b != 0 {
			t.Errorf("%d and %d results are left that nobody can open", a, b)
		}
		asked := len(r.Requests())
		r.run(3 * time.Hour)
		if n := len(r.Requests()) - asked; n != 0 {
			t.Errorf("%d requests for what nobody can open", n)
		}
	})
}

// A revoked key's results are erased at once, and their number is said; its jobs end. Jobs of other keys go on.
func TestARevokedKeysResultsAreErased(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		r := newReplicas(t, "webreaderapi", database, 1)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		r.Robots("slow.test", "User-agent: *\nCrawl-delay: 3600\n")
		done := r.finish(r.batch(paths("a.test", 2)...))[0]
		slow := r.crawlOf("http://slow.test/", "http://slow.test/1", "http://slow.test/2")
		r.run(90 * time.Minute)
		first := r.principal
		_, secret, err := r.store.CreateKey(t.Context(), first.Account, "second", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if r.principal, err = r.store.Authenticate(t.Context(), secret.Reveal()); err != nil {
			t.Fatal(err)
		}
		other := r.finish(r.batch(paths("b.test", 2)...))[0]
		said, err := r.store.Key(t.Context(), first.Key)
		if err != nil {
			t.Fatal(err)
		}
		revoked, err := r.store.RevokeKey(t.Context(), first.Account, first.Key, false)
		if err != nil || said.Sealed != 3 || revoked.Sealed != 3 {
			t.Errorf("said %d, erased %d, %v; want 3", said.Sealed, revoked.Sealed, err)
		}
		r.sweep()
		if a, b, c := r.stored(done), r.stored(slow), r.stored(other); a != 0 || b != 0 || c != 2 {
			t.Errorf("%d and %d results of the key are left, and %d of another, want 2", a, b, c)
		}
		if j := r.job(slow); j.Status != jobs.Failed || j.Reason != jobs.ReasonKeyRevoked {
			t.Errorf("the running job of a revoked key is %+v", j)
		}
		if n := len(r.collectable(other, secret)); n != 2 {
			t.Errorf("the other key opens %d results", n)
		}
	})
}

// The API says how many results wait for each key, and the answer to a revocation how many went with it. Those of
// another key stay.
func TestARevocationSaysWhatItErases(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		type key struct {
			ID      string
			Secret  string
			Waiting *int   `json:"undelivered_results"`
			Revoked string `json:"revoked_at"`
		}
		s := quickLive(t, database)
		s.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		list := func() (waiting []int) {
			_, text := s.call("GET", "/keys", "")
			for _, k := range decode[struct{ Keys []key }](t, text).Keys {
				if k.Waiting == nil {
					t.Fatalf("listed %s", text)
				}
				waiting = append(waiting, *k.Waiting)
			}
			return waiting
		}
		s.order("/batch", `{"urls":["http://a.test/1","http://a.test/2"]}`)
		_, text := s.call("GET", "/keys", "")
		first := decode[struct{ Keys []key }](t, text).Keys[0]
		_, text = s.call("POST", "/keys", `{"name":"second"}`)
		s.key = decode[key](t, text).Secret
		j := s.order("/batch", `{"urls":["http://b.test/1"]}`)
		if waiting := list(); !slices.Equal(waiting, []int{2, 1}) {
			t.Errorf("%v results wait for the keys, want two and one", waiting)
		}
		status, text := s.call("DELETE", "/keys/"+first.ID, "")
		if gone := decode[key](t, text); status != http.StatusOK || gone.Waiting == nil || *gone.Waiting != 2 || gone.Revoked == "" {
			t.Errorf("%d %s, want a revoked key and two results that went with it", status, text)
		}
		if waiting := list(); !slices.Equal(waiting, []int{0, 1}) {
			t.Errorf("then %v results wait", waiting)
		}
		if results := s.collect(j.ID); len(results) != 1 {
			t.Errorf("the other key collects %d results", len(results))
		}
	})
}

// A job whose results nobody collects pauses at the plan's limit of bytes: its site is asked for nothing more.
// It goes on once some are acknowledged, and loses nothing.
func TestAFullJobPauses(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		const pages = 20
		r := newReplicas(t, "webreaderapi", database, 2)
		r.Handle("*", "/", origintest.Body("text/html", origintest.Article("A")))
		r.principal.Plan.UndeliveredBytes = 12_000
		j := r.batch(paths("a.test", pages)...)
		r.run(10 * time.Minute)
		full := len(r.Requests())
		if full >= pages || full < 3 {
			t.Fatalf("%d requests were made for results that nobody collects", full)
		}
		r.run(time.Hour)
		r.sweep()
		if n := len(r.Requests()); n != full || r.job(j).Over() {
			t.Errorf("%d requests came while the job was full; it is %+v", n-full, r.job(j))
		}
		got := map[string]int{}
		for last := int64(0); len(got) < pages; {
			list := r.collectable(r.job(j), r.secret)
			if len(list) == 0 {
				t.Fatalf("the job does not go on: %+v", r.job(j))
			}
			for _, result := range list {
				got[result.URL]++
				last = result.Seq
			}
			if err := r.desk.Acknowledge(t.Context(), j, last); err != nil {
				t.Fatal(err)
			}
			r.steps(r.clock.Now().Add(8 * time.Second))
		}
		for url, n := range got {
			if n != 1 || r.Count("a.test", url[len("http://a.test"):]) != 1 {
				t.Errorf("%s came %d times", url, n)
			}
		}
		r.delivered(r.job(j), pages)
	})
}

func (r *replicas) job(j jobs.Job) jobs.Job {
	r.t.Helper()
	now, err := r.desk.Job(context.WithoutCancel(r.t.Context()), j.Account, j.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

// crawlOf is a crawl of a page that links to others.
func (r *replicas) crawlOf(start string, links ...string) jobs.Job {
	r.t.Helper()
	r.Page("slow.test", "/", origintest.Article("Start")+anchors(links...))
	return r.crawl(start)
}
