package handlers

import (
	"context"
	"testing"

	"github.com/webreaderapi/webreader/internal/jobs"
)

// endingStore holds a job that ends, with one more result, just after its results were looked at.
type endingStore struct {
	jobs.Store
	job jobs.Job
}

func (s *endingStore) Job(context.Context, string, string) (jobs.Job, error) { return s.job, nil }

func (s *endingStore) Results(context.Context, string, int64, int, int) ([]jobs.Stored, error) {
	s.job.Status, s.job.LastSeq = jobs.Completed, 1
	return nil, nil
}

func TestResultsAreNotDoneWhileOneIsLeft(t *testing.T) {
	r := newRig(t)
	s := &endingStore{job: jobs.Job{ID: "job_00000000000000000000000001", Account: "acc_1", Key: "key_1", Kind: jobs.Batch, Status: jobs.Running, Total: 1}}
	r.server.jobs = jobs.NewDesk(s, testProfile())
	answer, text := r.do("GET", "/jobs/"+s.job.ID+"/results", "")
	if answer.StatusCode != 200 || text != `{"results":[],"next_cursor":"0","done":false}` {
		t.Errorf("the last result came after the look: %d %s", answer.StatusCode, text)
	}
	if _, text = r.do("GET", "/jobs/"+s.job.ID+"/results", ""); text != `{"results":[],"next_cursor":"0","done":true}` {
		t.Errorf("its results are erased: %s", text)
	}
}
