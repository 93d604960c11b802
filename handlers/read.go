package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

const (
	mediaJSON     = "application/json"
	mediaMarkdown = "text/markdown"
)

// ReadPage is POST /read.
func (a api) ReadPage(ctx context.Context, r openapi.ReadPageRequestObject) (openapi.ReadPageResponseObject, error) {
	return a.newRead(ctx, r.Body.Url, r.Body, r.Params.IdempotencyKey, "POST /read")
}

// ReadPageByQuery is GET /read.
func (a api) ReadPageByQuery(ctx context.Context, r openapi.ReadPageByQueryRequestObject) (openapi.ReadPageByQueryResponseObject, error) {
	key := r.Params.IdempotencyKey
	r.Params.IdempotencyKey = nil
	return a.newRead(ctx, r.Params.Url, r.Params, key, "GET /read")
}

// pageRead is a read that has not begun. As the generated server's response object it is visited with
// the response to write to: there the meter reads, and its hand-over writes.
type pageRead struct {
	server   *Server
	ctx      context.Context //nolint:containedctx // the generated interface hands only the writer on
	call     *call
	raw      string // the URL as it was sent
	order    billing.Order
	attempt  billing.Attempt
	markdown bool   // the Markdown alone is asked for
	settled  func() // to be called when the books know the answer; nil before one goes out
}

// newRead checks what the document cannot say of a request, before anything is held or fetched.
func (s *Server) newRead(ctx context.Context, raw string, options any, key *string, door string) (*pageRead, error) {
	call := callOf(ctx)
	target, err := policy.ParseTarget(raw)
	if err != nil {
		return nil, badField("url", err)
	}
	call.aim(target)
	var o reader.Options
	if err := recode(options, &o); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &pageRead{server: s, ctx: ctx, call: call, raw: raw, markdown: choose(call.accept, mediaJSON, mediaMarkdown) == mediaMarkdown}
	if err := p.checkFormats(o); err != nil {
		return nil, err
	}
	p.order = s.orderOf(call, target, o)
	if key == nil {
		return p, nil
	}
	p.attempt = billing.Attempt{Account: call.principal.Account, Key: *key, Longest: p.order.Longest}
	if p.attempt.Request, err = json.Marshal(struct {
		Door    string
		Request any
	}{door, options}); err != nil {
		return nil, fmt.Errorf("canonical request: %w", err)
	}
	return p, nil
}

// recode copies the fields that from and to have in common by their JSON names: the generated types
// hold the read options as the document lists them, the reader's options have the same names.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	return nil
}

func (p *pageRead) checkFormats(o reader.Options) error {
	if !p.markdown || len(o.Formats) == 0 {
		return nil
	}
	for _, f := range o.Formats {
		if f == "markdown" {
			return nil
		}
	}
	return invalid([]fault.Field{{Name: "formats", Detail: "must hold markdown when Accept asks for text/markdown"}})
}

func (s *Server) orderOf(c *call, t policy.Target, o reader.Options) billing.Order {
	longest := s.config.Timeout
	if asked := time.Duration(o.TimeoutMS) * time.Millisecond; asked > 0 {
		longest = min(longest, asked)
	}
	units := 1
	if o.Render == "auto" || o.Render == "always" {
		units = 2
	}
	return billing.Order{
		Account: c.principal.Account, Key: c.principal.Key, Kind: string(policy.CauseRead), Units: units,
		Longest: longest + handOverTime,
		Request: reader.Request{
			Profile: s.profile, Target: t, Options: o, FingerprintKey: c.principal.FingerprintKey,
			Cause: policy.Cause{Kind: policy.CauseRead, ID: c.id, Account: c.principal.Account, Request: c.id},
		},
	}
}

// VisitReadPageResponse makes the read and writes it to w.
func (p *pageRead) VisitReadPageResponse(w http.ResponseWriter) error { return p.visit(w) }

// VisitReadPageByQueryResponse makes the read and writes it to w.
func (p *pageRead) VisitReadPageByQueryResponse(w http.ResponseWriter) error { return p.visit(w) }

func (p *pageRead) visit(w http.ResponseWriter) error {
	end, err := p.server.beginRead(p.ctx)
	if err != nil {
		return err
	}
	defer end()
	operation, err := p.operation()
	if err != nil {
		return err
	}
	p.order.Operation = operation.ID
	delivered := false
	defer func() {
		p.server.endOperation(p.ctx, operation, delivered, "")
		if p.settled != nil {
			p.settled()
		}
	}()
	err = p.server.meter.Read(p.ctx, p.order, func(_ context.Context, d *reader.Document, h billing.Hold) error {
		err := p.handOver(w, d, h)
		delivered = err == nil
		return err
	})
	return p.noteOutcome(err)
}

// noteOutcome puts into the log line and the metrics how the read ended.
func (p *pageRead) noteOutcome(err error) error {
	var unsettled *billing.SettleError
	switch {
	case errors.As(err, &unsettled):
		p.server.metrics.Unsettled()
		p.call.entry.Units = 0
	case err != nil:
		p.call.entry.Outcome = string(billing.OutcomeOf(err))
	}
	return err
}

func (p *pageRead) operation() (billing.Operation, error) {
	if p.attempt.Key == "" {
		return billing.NewOperation(p.attempt.Account), nil
	}
	p.server.settling.wait(p.ctx, p.attempt.Account)
	return p.server.idem.Begin(p.ctx, p.attempt)
}

// endOperation frees the Idempotency-Key of op, whatever became of the request.
func (s *Server) endOperation(ctx context.Context, op billing.Operation, delivered bool, object string) {
	if op.KeyHash == "" {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := s.idem.End(ctx, op, delivered, object); err != nil {
		s.log.Error("idempotency key not freed", "request_id", callOf(ctx).id, "error", err.Error())
	}
}

// handOver writes d to the client and flushes it. It returns nil only when both worked: then, and only
// then, the page counts as delivered.
func (p *pageRead) handOver(w http.ResponseWriter, d *reader.Document, h billing.Hold) error {
	units := h.Charge(d.Receipt())
	answer := reader.Answer{Page: d.Page(), Charge: reader.Charge{Units: units}, RequestID: p.call.id}
	answer.URL = p.raw
	if units > 0 {
		answer.Charge.Receipt = h.Receipt
	}
	body, err := p.render(w.Header(), answer)
	if err != nil {
		return err
	}
	p.call.entry.Outcome, p.call.entry.Units = string(d.Receipt().Outcome()), units
	p.settled = p.server.settling.begin(p.order.Account)
	return send(w, http.StatusOK, body)
}

// render is the answer's body; it sets the headers that belong to it.
func (p *pageRead) render(h http.Header, a reader.Answer) ([]byte, error) {
	if !p.markdown {
		h.Set("Content-Type", mediaJSON)
		body, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encode the page: %w", err)
		}
		return body, nil
	}
	h.Set("Content-Type", mediaMarkdown+"; charset=utf-8")
	h.Set("WebReader-Decision", decisionHeader(a.Decision))
	h.Set("WebReader-Units", strconv.Itoa(a.Charge.Units))
	h.Set("WebReader-Tokens", strconv.Itoa(a.Tokens))
	if a.Charge.Receipt != "" {
		h.Set("WebReader-Receipt", a.Charge.Receipt)
	}
	if len(a.Warnings) > 0 {
		h.Set("WebReader-Warnings", strings.Join(a.Warnings, ", "))
	}
	if a.Unchanged {
		h.Set("WebReader-Unchanged", "true")
	}
	return []byte(a.Markdown), nil
}

// send writes body and flushes it down to the connection, within the time a client has to receive it.
// Echo's own Flush hides the error of a connection that is gone, so the writer below it is flushed.
func send(w http.ResponseWriter, status int, body []byte) error {
	limitWrite(w)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	below := w
	if wrapped, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		below = wrapped.Unwrap()
	}
	if err := http.NewResponseController(below).Flush(); err != nil {
		return fmt.Errorf("flush the answer: %w", err)
	}
	return nil
}

// limitWrite gives the client time to receive what is written next.
func limitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(handOverTime)) // where there are none, the server's limit holds
}

// badField is the fault of one field; err is a sentence for the caller.
func badField(name string, err error) *fault.Error {
	return &fault.Error{Kind: fault.InvalidRequest, Detail: sentence(err.Error()), Fields: []fault.Field{{Name: name, Detail: err.Error()}}}
}

// sentence is text with a capital letter and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
