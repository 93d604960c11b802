package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// row is what a kind of fault becomes over HTTP. The detail is for faults that bring none.
type row struct {
	status int
	title  string
	detail string
}

// rows is the only table from a kind of fault to a status. `target_error` of the reason server_error
// is the one exception, see status.
var rows = map[fault.Kind]row{
	fault.Internal:            {500, "Something went wrong on our side", "Try again in a moment; if it stays, report the request_id. Nothing was charged."},
	fault.InvalidRequest:      {400, "The request cannot be used", "Correct the request and send it again."},
	fault.Unauthorized:        {401, "The key is missing or not valid", "Send a valid key as 'Authorization: Bearer wr_…'."},
	fault.AccountSuspended:    {403, "The account is suspended", "Write to the operator of this service to have the account resumed."},
	fault.PaymentRequired:     {402, "The allowance or the spending cap is used up", "Raise the spending cap, change the plan or wait for the next period."},
	fault.NotFound:            {404, "There is nothing here", "Check the address and the id, and that the key belongs to the same account."},
	fault.IdempotencyConflict: {409, "The Idempotency-Key is in use", "Use a new Idempotency-Key for a new operation."},
	fault.RateLimited:         {429, "Too many requests", "Wait as long as Retry-After says, then send the request again."},
	fault.BlockedBySitePolicy: {422, "The site's policy does not allow this", "Read another page, or ask the site to allow it. Trying again does not help while the policy stands."},
	fault.TargetRefused:       {422, "The site refused", "Read another page. The same request will be refused again."},
	fault.TargetNotFound:      {422, "The site has no such page", "Check the address of the page."},
	fault.TargetError:         {422, "The site could not answer", "Check the address of the page."},
	fault.TargetUnreachable:   {502, "The site could not be reached", "Check the address, or try again later."},
	fault.TargetTimeout:       {504, "The site was too slow", "Try again later, or with a longer timeout_ms."},
	fault.HostBusy:            {503, "The site's turn is too far away", "Wait as long as Retry-After says: the site is visited only as fast as it agrees to."},
	fault.Overloaded:          {503, "The service is full", "Wait as long as Retry-After says, then send the request again."},
	fault.AddressNotAllowed:   {422, "This address is not read", "Use an address on the public web, on port 80 or 443."},
	fault.UnsupportedContent:  {422, "This kind of content is not read", "Ask for a page or document of a kind that the reference lists."},
	fault.TooLarge:            {422, "The page is too large", "Read a smaller page."},
	fault.NoContent:           {422, "The page has no content to give", "Look at the page in a browser: it may need scripts (option render) or be empty."},
}

// status is the HTTP status of f.
func status(f *fault.Error) int {
	if f.Kind == fault.TargetError && f.Reason == "server_error" {
		return http.StatusBadGateway
	}
	return rowOf(f.Kind).status
}

func rowOf(k fault.Kind) row {
	if r, ok := rows[k]; ok {
		return r
	}
	return rows[fault.Internal]
}

// Problem is a fault as the API shows it (RFC 9457), alone or as a job result's error.
type Problem struct {
	Type         string           `json:"type"`
	Title        string           `json:"title"`
	Status       int              `json:"status"`
	Detail       string           `json:"detail"`
	Code         string           `json:"code"`
	Reason       string           `json:"reason,omitempty"`
	TargetStatus int              `json:"target_status,omitempty"`
	RetryAfter   int              `json:"retry_after,omitempty"`
	Decision     *reader.Decision `json:"decision,omitempty"`
	Charge       reader.Charge    `json:"charge"`
	RequestID    string           `json:"request_id"`
	Errors       []fault.Field    `json:"errors,omitempty"`
}

// ProblemOf shows f. base is the public address of this service, without a slash at the end.
func ProblemOf(f *fault.Error, base, requestID string) Problem {
	r := rowOf(f.Kind)
	p := Problem{
		Type: base + "/docs/errors/" + f.Kind.String(), Title: r.title, Status: status(f), Detail: f.Detail,
		Code: f.Kind.String(), Reason: f.Reason, TargetStatus: f.TargetStatus,
		RetryAfter: seconds(f.RetryAfter), RequestID: requestID, Errors: f.Fields,
	}
	if p.Detail == "" || f.Kind == fault.Internal {
		p.Detail = r.detail
	}
	if d, ok := reader.DecisionIn(f.Err); ok {
		p.Decision = &d
	}
	return p
}

// seconds is d as whole seconds, rounded up: waiting that long is enough.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// fail answers err. It is Echo's error handler: once the response is committed there is nothing left
// to say to the client, and a failed settlement must not touch it.
func (s *Server) fail(err error, c echo.Context) {
	f := s.faultOf(err, c)
	setCode(c, f)
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	p := ProblemOf(f, s.base(c), requestID(c))
	h.Set("Content-Type", "application/problem+json")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if f.Kind == fault.Unauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="webreader"`)
	}
	body, err := json.Marshal(p)
	if err != nil {
		s.log.Error("problem not encoded", "request_id", p.RequestID, "error", err)
		return
	}
	c.Response().WriteHeader(p.Status)
	if c.Request().Method != http.MethodHead {
		_, _ = c.Response().Write(body) // the client is told or gone; either way we are done
	}
}

// faultOf is err as a fault; what Echo itself says becomes one of ours.
func (s *Server) faultOf(err error, c echo.Context) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return &fault.Error{Kind: fault.Internal, Reason: "client_gone", Err: err}
	}
	var he *echo.HTTPError
	if !errors.As(err, &he) {
		return &fault.Error{Kind: fault.Internal, Err: err}
	}
	switch he.Code {
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "There is nothing at this address; /docs lists what there is.")
	case http.StatusMethodNotAllowed:
		return fault.New(fault.NotFound, "This address takes only "+allowed(c)+"; /docs lists what there is.")
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
		return &fault.Error{Kind: fault.InvalidRequest, Detail: "The request could not be read; /docs shows its form.", Err: err}
	}
	return &fault.Error{Kind: fault.Internal, Err: err}
}

// allowed are the methods that the address takes, as Echo's router found them.
func allowed(c echo.Context) string {
	methods, _ := c.Get(echo.ContextKeyHeaderAllow).(string)
	return strings.TrimPrefix(methods, "OPTIONS, ")
}
