package store

import (
	"testing"

	"github.com/webreaderapi/webreader/internal/jobs"
)

// Results of a job that is over and swept go with its key, and a sweep is ordered for them.
func TestASweepIsOrderedWhenAKeyEnds(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
		account, key, secret := customer(t, s, "Anna")
		job := must[jobs.Job](t)(s.CreateJob(t.Context(), newJob(account, key, secret, page("a.example", "/1"))))
		do := func(text, id string) {
			t.Helper()
			if _, err := s.db.ExecContext(t.Context(), text, id); err != nil {
				t.Fatal(err)
			}
		}
		do("UPDATE jobs SET status = 'completed', swept = 1, undelivered = 10, expires_at = "+s.nowSQL()+" + 1000000 WHERE id = $1", job.ID)
		if must[bool](t)(s.JobsToSweep(t.Context())) {
			t.Error("there is something to sweep although nothing has ended")
		}
		do("UPDATE api_keys SET ends_at = "+s.nowSQL()+" WHERE id = $1", key.ID)
		if !must[bool](t)(s.JobsToSweep(t.Context())) {
			t.Error("nothing is swept after the key's end")
		}
	})
}
