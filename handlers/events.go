package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/openapi"
)

const (
	mediaLines  = "application/x-ndjson"
	mediaEvents = "text/event-stream"
)

const (
	// quiet is how long a stream of events may say nothing.
	quietTime = 15 * time.Second
	// Of one piece of a stream: as much as is held in memory for a slow reader.
	pieceResults = 20
	pieceBytes   = 1 << 20
)

// jobStream is a job's results as they are made. A reader that is slow slows the stream down: nothing is
// read ahead. As the generated server's response object it is visited with the response to write to.
type jobStream struct {
	server *Server
	ctx    context.Context //nolint:containedctx // the generated interface hands only the writer on
	query  jobs.Query
	events bool // Server-Sent Events, else lines of JSON
	base   string
}

// streamOf is the stream that Accept asks for, nil when it asks for none.
func (s *Server) streamOf(ctx context.Context, j jobs.Job) *jobStream {
	c := callOf(ctx)
	media := choose(c.accept, mediaJSON, mediaLines, mediaEvents)
	if media == mediaJSON {
		return nil
	}
	return &jobStream{server: s, ctx: ctx, query: jobs.Query{Job: j}, events: media == mediaEvents, base: c.base}
}

// StreamJobEvents is GET /jobs/{id}/events.
func (a api) StreamJobEvents(ctx context.Context, r openapi.StreamJobEventsRequestObject) (openapi.StreamJobEventsResponseObject, error) {
	q, err := a.queryOf(ctx, r.Id, orElse(r.Params.LastEventID, ""))
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)
	lines := choose(c.accept, mediaEvents, mediaLines) == mediaLines
	return &jobStream{server: a.Server, ctx: ctx, query: q, events: !lines, base: c.base}, nil
}

// VisitCreateBatchResponse writes the stream.
func (j *jobStream) VisitCreateBatchResponse(w http.ResponseWriter) error { return j.visit(w) }

// VisitCreateCrawlResponse writes the stream.
func (j *jobStream) VisitCreateCrawlResponse(w http.ResponseWriter) error { return j.visit(w) }

// VisitStreamJobEventsResponse writes the stream.
func (j *jobStream) VisitStreamJobEventsResponse(w http.ResponseWriter) error { return j.visit(w) }

func (j *jobStream) visit(w http.ResponseWriter) error {
	if j.query.Identity == (jobs.Query{}).Identity {
		q, err := j.server.queryOf(j.ctx, j.query.Job.ID, "")
		if err != nil {
			return err
		}
		j.query = q
	}
	j.query.Limit, j.query.Bytes = pieceResults, pieceBytes
	h := w.Header()
	h.Set("Content-Type", mediaLines)
	if j.events {
		h.Set("Content-Type", mediaEvents)
	}
	h.Set("X-Accel-Buffering", "no")
	h.Set("WebReader-Job", j.query.Job.ID)
	out := &streamWriter{w: w}
	w.WriteHeader(http.StatusOK)
	if err := out.flush(); err != nil {
		return err
	}
	return j.run(out)
}

// run writes results until the job is over, the client is gone or the server stops.
func (j *jobStream) run(out *streamWriter) error {
	ctx, stop := j.server.untilDrained(j.ctx)
	defer stop()
	for {
		// The job is read before its results: when it was over then, there are no more than these.
		job, err := j.server.jobs.Job(j.ctx, j.query.Job.Account, j.query.Job.ID)
		if err != nil {
			return err
		}
		n, err := j.piece(out)
		if err != nil {
			return err
		}
		switch {
		case n == 0 && job.Over():
			return out.write(j.done(job))
		case ctx.Err() != nil:
			return out.write(j.resume())
		case n > 0:
			continue
		}
		err = j.server.jobs.Await(ctx, job, j.query.After, quietTime)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err := out.write(j.alive()); err != nil {
			return err
		}
	}
}

// piece writes the next few results.
func (j *jobStream) piece(out *streamWriter) (int, error) {
	list, err := j.server.jobs.Results(j.ctx, j.query)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		text, err := j.result(r)
		if err != nil {
			return 0, err
		}
		if err := out.write(text); err != nil {
			return 0, err
		}
		j.query.After = r.Seq
	}
	return len(list), nil
}

func (j *jobStream) result(r jobs.Result) ([]byte, error) {
	line := newLine(r, j.query.Job, j.base)
	line.Cursor = r.Cursor()
	text, err := json.Marshal(line)
	if err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	if !j.events {
		return append(text, '\n'), nil
	}
	kind := "page"
	if line.Error != nil {
		kind = "error"
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", r.Seq, kind, text), nil
}

// done is the end of a job's stream.
func (j *jobStream) done(job jobs.Job) []byte {
	text, err := json.Marshal(struct {
		Done bool      `json:"done"`
		Job  jobAnswer `json:"job"`
	}{true, newJob(job)})
	if err != nil {
		return nil
	}
	if !j.events {
		return append(text, '\n')
	}
	return fmt.Appendf(nil, "event: done\ndata: %s\n\n", text)
}

// resume is the end of a stream whose server stops: the client comes back with the cursor.
func (j *jobStream) resume() []byte {
	cursor := jobs.Result{Seq: j.query.After}.Cursor()
	if !j.events {
		return fmt.Appendf(nil, `{"done":false,"cursor":%q}`+"\n", cursor)
	}
	return fmt.Appendf(nil, "retry: 1000\nevent: resume\ndata: {\"cursor\":%q}\n\n", cursor)
}

// alive is a comment that keeps the connection open; lines of JSON have none.
func (j *jobStream) alive() []byte {
	if !j.events {
		return nil
	}
	return []byte(": still here\n\n")
}

// streamWriter writes piece by piece, each within the time a client has to receive it.
type streamWriter struct{ w http.ResponseWriter }

func (s *streamWriter) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	limitWrite(s.w)
	if _, err := s.w.Write(text); err != nil {
		return fmt.Errorf("write to a stream: %w", err)
	}
	return s.flush()
}

// flush reaches below Echo's writer, which hides errors.
func (s *streamWriter) flush() error {
	below := s.w
	if wrapped, ok := s.w.(interface{ Unwrap() http.ResponseWriter }); ok {
		below = wrapped.Unwrap()
	}
	if err := http.NewResponseController(below).Flush(); err != nil {
		return fmt.Errorf("flush a stream: %w", err)
	}
	return nil
}

// untilDrained is ctx until the server stops.
func (s *Server) untilDrained(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { stop(); cancel() }
}
