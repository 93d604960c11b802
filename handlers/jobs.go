package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/reader/gate"
)

// mostResultBytes is how much of results an answer holds.
const mostResultBytes = 8_000_000

// jobAnswer is a job as its customer sees it.
type jobAnswer struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Status     string     `json:"status"`
	Reason     string     `json:"reason,omitempty"`
	Total      int64      `json:"total"`
	Counts     jobCounts  `json:"counts"`
	Units      int64      `json:"units"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	RequestID  string     `json:"request_id"`
}

type jobCounts struct {
	Delivered int64 `json:"delivered"`
	Blocked   int64 `json:"blocked"`
	Refused   int64 `json:"refused"`
	Failed    int64 `json:"failed"`
	Unchanged int64 `json:"unchanged"`
	Duplicate int64 `json:"duplicate"`
	Skipped   int64 `json:"skipped"`
	Pending   int64 `json:"pending"`
}

func newJob(j jobs.Job) jobAnswer {
	return jobAnswer{
		ID: j.ID, Kind: j.Kind, Status: j.Status, Reason: j.Reason, Total: j.Total, Counts: jobCounts(j.Counts), Units: j.Units,
		CreatedAt: j.CreatedAt, FinishedAt: timeOrNil(j.FinishedAt), ExpiresAt: timeOrNil(j.ExpiresAt), RequestID: j.RequestID,
	}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// VisitGetJobResponse writes the job.
func (j jobAnswer) VisitGetJobResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, j)
}

// VisitDeleteJobResponse writes the job.
func (j jobAnswer) VisitDeleteJobResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, j)
}

// jobMade is a job that was just made.
type jobMade struct{ jobAnswer }

// VisitCreateBatchResponse writes the job.
func (j jobMade) VisitCreateBatchResponse(w http.ResponseWriter) error { return j.visit(w) }

// VisitCreateCrawlResponse writes the job.
func (j jobMade) VisitCreateCrawlResponse(w http.ResponseWriter) error { return j.visit(w) }

func (j jobMade) visit(w http.ResponseWriter) error {
	w.Header().Set("Location", "/jobs/"+j.ID)
	return sendJSON(w, http.StatusAccepted, j.jobAnswer)
}

// GetJob is GET /jobs/{id}.
func (a api) GetJob(ctx context.Context, r openapi.GetJobRequestObject) (openapi.GetJobResponseObject, error) {
	j, err := a.jobs.Job(ctx, callOf(ctx).principal.Account, r.Id)
	return newJob(j), err
}

// DeleteJob is DELETE /jobs/{id}.
func (a api) DeleteJob(ctx context.Context, r openapi.DeleteJobRequestObject) (openapi.DeleteJobResponseObject, error) {
	j, err := a.jobs.Drop(ctx, callOf(ctx).principal.Account, r.Id)
	return newJob(j), err
}

// jobList is a page of jobs.
type jobList struct {
	Jobs       []jobAnswer `json:"jobs"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// VisitListJobsResponse writes the list.
func (l jobList) VisitListJobsResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListJobs is GET /jobs.
func (a api) ListJobs(ctx context.Context, r openapi.ListJobsRequestObject) (openapi.ListJobsResponseObject, error) {
	list, next, err := a.jobs.List(ctx, callOf(ctx).principal.Account, orElse(r.Params.Cursor, ""), orElse(r.Params.Limit, 100))
	answer := jobList{Jobs: []jobAnswer{}, NextCursor: next}
	for _, j := range list {
		answer.Jobs = append(answer.Jobs, newJob(j))
	}
	return answer, err
}

func orElse[T any](v *T, unset T) T {
	if v == nil {
		return unset
	}
	return *v
}

// resultLine is one result as the API shows it.
type resultLine struct {
	Seq    int64           `json:"seq"`
	URL    string          `json:"url"`
	Cursor string          `json:"cursor,omitempty"`
	Page   json.RawMessage `json:"page,omitempty"`
	Error  *Problem        `json:"error,omitempty"`
}

func newLine(r jobs.Result, job jobs.Job, base string) resultLine {
	line := resultLine{Seq: r.Seq, URL: r.URL, Page: r.Page}
	if r.Fault != nil {
		p := ProblemOf(r.Fault, base, job.RequestID)
		p.Decision = r.Closed
		line.Error = &p
	}
	return line
}

// resultList is an answer with results.
type resultList struct {
	Results    []resultLine `json:"results"`
	NextCursor string       `json:"next_cursor"`
	Done       bool         `json:"done"`
}

// VisitGetJobResultsResponse writes the results.
func (l resultList) VisitGetJobResultsResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// GetJobResults is GET /jobs/{id}/results.
func (a api) GetJobResults(ctx context.Context, r openapi.GetJobResultsRequestObject) (openapi.GetJobResultsResponseObject, error) {
	q, err := a.queryOf(ctx, r.Id, orElse(r.Params.Cursor, ""))
	if err != nil {
		return nil, err
	}
	q.Limit = orElse(r.Params.Limit, 100)
	if patience := time.Duration(orElse(r.Params.Wait, 0)) * time.Second; patience > 0 && q.Job.LastSeq <= q.After && !q.Job.Over() {
		waiting, stop := a.untilDrained(ctx)
		defer stop()
		if err := a.jobs.Await(waiting, q.Job, q.After, patience); err != nil && waiting.Err() == nil {
			return nil, err
		}
	}
	// The job is read before its results: when it was over then, there are no more than these.
	if q.Job, err = a.jobs.Job(ctx, q.Job.Account, q.Job.ID); err != nil {
		return nil, err
	}
	list, err := a.jobs.Results(ctx, q)
	if err != nil {
		return nil, err
	}
	return listOf(list, q, callOf(ctx).base), nil
}

func listOf(list []jobs.Result, q jobs.Query, base string) resultList {
	answer := resultList{Results: []resultLine{}}
	last := q.After
	for _, r := range list {
		answer.Results = append(answer.Results, newLine(r, q.Job, base))
		last = r.Seq
	}
	answer.NextCursor = jobs.Result{Seq: last}.Cursor()
	answer.Done = q.Job.Over() && (last >= q.Job.LastSeq || len(list) == 0)
	return answer
}

// queryOf is a question for results by the key that asks. A cursor acknowledges what it stands behind.
func (s *Server) queryOf(ctx context.Context, id, cursor string) (jobs.Query, error) {
	c := callOf(ctx)
	job, err := s.jobs.Job(ctx, c.principal.Account, id)
	if err != nil {
		return jobs.Query{}, err
	}
	if job.Key != c.principal.Key {
		return jobs.Query{}, fault.New(fault.InvalidRequest, "The results are sealed to the key "+job.Key+
			", which made the job. Ask with that key; another one cannot open them.")
	}
	after, err := jobs.ParseCursor(cursor)
	if err != nil {
		return jobs.Query{}, err
	}
	if after > job.LastSeq {
		return jobs.Query{}, invalid([]fault.Field{{Name: "cursor", Detail: "lies beyond the job's last result; send next_cursor as it was"}})
	}
	identity, err := c.identity()
	if err != nil {
		return jobs.Query{}, err
	}
	if err := s.jobs.Acknowledge(ctx, job, after); err != nil {
		return jobs.Query{}, err
	}
	return jobs.Query{Job: job, Identity: identity, After: after, Limit: 100, Bytes: mostResultBytes}, nil
}

// deliveryAnswer is a webhook delivery as its customer sees it.
type deliveryAnswer struct {
	ID        string     `json:"id"`
	Event     string     `json:"event"`
	URL       string     `json:"url"`
	State     string     `json:"state"`
	Attempts  int64      `json:"attempts"`
	Status    int64      `json:"status,omitempty"`
	Problem   string     `json:"problem,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	NextAt    *time.Time `json:"next_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// deliveryList are a job's deliveries.
type deliveryList struct {
	Deliveries []deliveryAnswer `json:"deliveries"`
}

// VisitListJobDeliveriesResponse writes the list.
func (l deliveryList) VisitListJobDeliveriesResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListJobDeliveries is GET /jobs/{id}/deliveries.
func (a api) ListJobDeliveries(ctx context.Context, r openapi.ListJobDeliveriesRequestObject) (openapi.ListJobDeliveriesResponseObject, error) {
	list, err := a.jobs.Deliveries(ctx, callOf(ctx).principal.Account, r.Id)
	return newDeliveries(list), err
}

// VisitListWatchDeliveriesResponse writes the list.
func (l deliveryList) VisitListWatchDeliveriesResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

func newDeliveries(list []jobs.Delivery) deliveryList {
	answer := deliveryList{Deliveries: []deliveryAnswer{}}
	for _, d := range list {
		answer.Deliveries = append(answer.Deliveries, deliveryAnswer{
			ID: d.ID, Event: d.Event, URL: d.URL, State: d.State, Attempts: d.Attempts, Status: d.Status, Problem: d.Problem,
			CreatedAt: d.CreatedAt, NextAt: timeOrNil(d.NextAt), EndedAt: timeOrNil(d.EndedAt),
		})
	}
	return answer
}

// wish is what every request for a job holds.
type wish struct {
	door  string
	body  any
	key   *string // Idempotency-Key
	hook  *string
	units *int64
}

// ordered is the answer to a request for a job: the job, or the stream of its results.
type ordered interface {
	openapi.CreateBatchResponseObject
	openapi.CreateCrawlResponseObject
}

// order makes a job under the caller's Idempotency-Key, once; a repeat gets the first one.
func (a api) order(ctx context.Context, w wish, create func(jobs.Order) (jobs.Job, error)) (ordered, error) {
	c := callOf(ctx)
	o := jobs.Order{Principal: c.principal, Request: c.id, MaxUnits: w.units}
	err := recode(w.body, &o.Options)
	if err != nil {
		return nil, err
	}
	if !a.hasExit(o.Options.Country) {
		return nil, gate.NoExit()
	}
	if o.WebhookURL, err = a.webhookURL(w.hook); err != nil {
		return nil, err
	}
	var j jobs.Job
	err = a.once(ctx, w.door, w.body, w.key, func(op billing.Operation) (string, error) {
		if op.Object != "" {
			j, err = a.jobs.Job(ctx, c.principal.Account, op.Object)
			return op.Object, err
		}
		o.ID = jobs.NewJobID(op.ID)
		j, err = create(o)
		return j.ID, err
	})
	if err != nil {
		return nil, err
	}
	if stream := a.streamOf(ctx, j); stream != nil {
		return stream, nil
	}
	return jobMade{newJob(j)}, nil
}

// webhookURL is where a job's events go, checked: https, or http where the operator allows the network.
func (s *Server) webhookURL(raw *string) (string, error) {
	if raw == nil {
		return "", nil
	}
	u, err := url.Parse(*raw)
	plain := err == nil && u.Scheme == "http" && s.plainHook != nil && s.plainHook(u.Hostname())
	if err := checkWebhookURL(*raw); err != nil || u.Scheme != "https" && !plain {
		return "", invalid([]fault.Field{{Name: "webhook_url", Detail: "must be an absolute https URL without user name, password or fragment"}})
	}
	return *raw, nil
}
