package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/jobs/watch"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/reader/gate"
)

// usesReference is the word of a profile that gives excerpts and links.
const usesReference = "reference"

// Watches keeps watches: *store.Store.
type Watches interface {
	CreateWatch(ctx context.Context, w watch.Watch, sites []watch.Site, most billing.Limit) (watch.Watch, error)
	Watch(ctx context.Context, account, id string) (watch.Watch, error)
	Watches(ctx context.Context, account, after string, limit int) ([]watch.Watch, error)
	ChangeWatch(ctx context.Context, account, id, key string, e watch.Edit, next func(watch.Watch) time.Time) (watch.Watch, error)
	DeleteWatch(ctx context.Context, account, id string) error
	Changes(ctx context.Context, account, id string, after int64, limit, bytes int) ([]watch.Stored, error)
	WatchRounds(ctx context.Context, account, id, before string, limit int) ([]watch.Round, error)
	WatchDeliveries(ctx context.Context, account, id string) ([]jobs.Delivery, error)
	WatchBook() watch.Book
}

// watchAnswer is a watch as its customer sees it.
type watchAnswer struct {
	ID          string         `json:"id"`
	Name        string         `json:"name,omitempty"`
	Status      watch.Status   `json:"status"`
	Reason      string         `json:"reason,omitempty"`
	Sites       int            `json:"sites"`
	Schedule    scheduleAnswer `json:"schedule"`
	MaxPages    int            `json:"max_pages_per_site,omitempty"`
	MaxUnits    int64          `json:"max_units,omitempty"`
	Units       *int64         `json:"units,omitempty"`
	WebhookURL  string         `json:"webhook_url,omitempty"`
	NextRoundAt *time.Time     `json:"next_round_at,omitempty"`
	CreatedAt   time.Time      `json:"created_at"`
	status      int
}

type scheduleAnswer struct {
	Profile  bool   `json:"profile,omitempty"`
	Cron     string `json:"cron,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
}

func newWatch(w watch.Watch, status int) watchAnswer {
	a := watchAnswer{
		ID: w.ID, Name: w.Name, Status: w.Status, Reason: w.Reason, Sites: w.Sites, MaxPages: w.MaxPages, MaxUnits: w.MaxUnits,
		WebhookURL: w.WebhookURL, CreatedAt: w.CreatedAt, status: status,
		Schedule: scheduleAnswer{Profile: w.Schedule.Cron == "", Cron: w.Schedule.Cron, TimeZone: w.Schedule.TimeZone},
	}
	if w.MaxUnits > 0 {
		a.Units = &w.Units
	}
	if w.Status == watch.Active {
		a.NextRoundAt = timeOrNil(w.NextRound)
	}
	return a
}

func (w watchAnswer) send(rw http.ResponseWriter) error { return sendJSON(rw, w.status, w) }

// VisitCreateWatchResponse writes the watch.
func (w watchAnswer) VisitCreateWatchResponse(rw http.ResponseWriter) error {
	rw.Header().Set("Location", "/watches/"+w.ID)
	return w.send(rw)
}

// VisitGetWatchResponse writes the watch.
func (w watchAnswer) VisitGetWatchResponse(rw http.ResponseWriter) error { return w.send(rw) }

// VisitChangeWatchResponse writes the watch.
func (w watchAnswer) VisitChangeWatchResponse(rw http.ResponseWriter) error { return w.send(rw) }

// CreateWatch is POST /watches.
func (a api) CreateWatch(ctx context.Context, r openapi.CreateWatchRequestObject) (openapi.CreateWatchResponseObject, error) {
	w, sites, body, err := a.watchOf(r)
	if err != nil {
		return nil, err
	}
	if err := a.complete(callOf(ctx), &w); err != nil {
		return nil, err
	}
	var made watch.Watch
	err = a.once(ctx, "POST /watches", body, r.Params.IdempotencyKey, func(op billing.Operation) (string, error) {
		if op.Object != "" {
			made, err = a.watches.Watch(ctx, w.Account, op.Object)
			return op.Object, err
		}
		made, err = a.watches.CreateWatch(ctx, w, sites, callOf(ctx).principal.Plan.Watches)
		return made.ID, err
	})
	if err != nil {
		return nil, err
	}
	a.watchKick()
	return newWatch(made, http.StatusCreated), nil
}

// watchOf reads the request, as JSON or as CSV. body is what makes two requests the same.
func (a api) watchOf(r openapi.CreateWatchRequestObject) (w watch.Watch, sites []watch.Site, body any, err error) {
	if r.JSONBody != nil {
		w, sites, err = watchOfJSON(r.JSONBody)
		body = r.JSONBody
	} else {
		var text []byte
		if text, err = io.ReadAll(r.Body); err == nil {
			sites, err = watch.ParseCSV(text)
		}
		p := r.Params
		w = watch.Watch{Name: orElse(p.Name, ""), MaxPages: orElse(p.MaxPagesPerSite, 0), MaxUnits: orElse(p.MaxUnits, 0),
			WebhookURL: orElse(p.WebhookUrl, ""), Schedule: watch.Schedule{Cron: orElse(p.Cron, ""), TimeZone: orElse(p.TimeZone, "")}}
		p.IdempotencyKey = nil
		body = struct {
			CSV    string
			Params any
		}{string(text), p}
	}
	return w, sites, body, err
}

func watchOfJSON(b *openapi.WatchRequest) (w watch.Watch, sites []watch.Site, err error) {
	w = watch.Watch{Name: orElse(b.Name, ""), MaxPages: orElse(b.MaxPagesPerSite, 0), MaxUnits: orElse(b.MaxUnits, 0), WebhookURL: orElse(b.WebhookUrl, "")}
	if w.Schedule, err = scheduleOf(b.Schedule); err != nil {
		return w, nil, err
	}
	if err := recode(b, &w.Options.Read); err != nil {
		return w, nil, err
	}
	w.Options.NoPage = b.Formats != nil && len(*b.Formats) == 0
	if err := recode(b.Sites, &sites); err != nil {
		return w, nil, err
	}
	return w, sites, watch.Check(sites)
}

func scheduleOf(s *openapi.ScheduleRequest) (watch.Schedule, error) {
	if s == nil {
		return watch.Schedule{}, nil
	}
	byProfile, cron := orElse(s.Profile, false), orElse(s.Cron, "")
	if byProfile && cron != "" || !byProfile && cron == "" {
		return watch.Schedule{}, invalid([]fault.Field{{Name: "schedule", Detail: "holds either profile: true or cron"}})
	}
	return watch.Schedule{Cron: cron, TimeZone: orElse(s.TimeZone, "")}, nil
}

// complete checks what the watch asks for and adds who asks.
func (a api) complete(c *call, w *watch.Watch) error {
	if w.Schedule.Cron != "" && w.Schedule.TimeZone == "" {
		w.Schedule.TimeZone = "UTC"
	}
	if err := w.Options.Read.Validate(); err != nil {
		return err
	}
	if !a.hasExit(w.Options.Read.Country) {
		return gate.NoExit()
	}
	if err := w.Schedule.Check(a.profile); err != nil {
		return err
	}
	if w.WebhookURL != "" {
		if _, err := a.webhookURL(&w.WebhookURL); err != nil {
			return err
		}
	}
	if w.Options.Read.Formats == nil && a.profile.Signals.ContentUse == usesReference {
		w.Options.NoPage = true // the profile says excerpts and links; the page comes only where it is asked for
	}
	w.Account, w.Key, w.Request = c.principal.Account, c.principal.Key, c.id
	w.NextRound = w.Schedule.Next(a.profile, a.now(), nil)
	return nil
}

// GetWatch is GET /watches/{id}.
func (a api) GetWatch(ctx context.Context, r openapi.GetWatchRequestObject) (openapi.GetWatchResponseObject, error) {
	w, err := a.watches.Watch(ctx, callOf(ctx).principal.Account, r.Id)
	if err != nil {
		return nil, err
	}
	return newWatch(w, http.StatusOK), nil
}

// ChangeWatch is PATCH /watches/{id}.
func (a api) ChangeWatch(ctx context.Context, r openapi.ChangeWatchRequestObject) (openapi.ChangeWatchResponseObject, error) {
	e, err := a.editOf(r.Body)
	if err != nil {
		return nil, err
	}
	c := callOf(ctx)
	w, err := a.watches.ChangeWatch(ctx, c.principal.Account, r.Id, c.principal.Key, e, func(w watch.Watch) time.Time {
		if e.Schedule == nil && w.NextRound.After(a.now()) {
			return w.NextRound
		}
		return w.Schedule.Next(a.profile, a.now(), nil)
	})
	if err != nil {
		return nil, err
	}
	a.watchKick()
	return newWatch(w, http.StatusOK), nil
}

func (a api) editOf(b *openapi.WatchChange) (watch.Edit, error) {
	e := watch.Edit{Name: b.Name, MaxPages: b.MaxPagesPerSite, MaxUnits: b.MaxUnits, WebhookURL: b.WebhookUrl}
	if b.Status != nil {
		status := watch.Status(*b.Status)
		e.Status = &status
	}
	if b.WebhookUrl != nil {
		if _, err := a.webhookURL(b.WebhookUrl); err != nil {
			return e, err
		}
	}
	if b.Schedule != nil {
		s, err := scheduleOf(b.Schedule)
		if err != nil {
			return e, err
		}
		if s.Cron != "" && s.TimeZone == "" {
			s.TimeZone = "UTC"
		}
		if err := s.Check(a.profile); err != nil {
			return e, err
		}
		e.Schedule = &s
	}
	if b.Sites != nil {
		if err := recode(b.Sites, &e.Sites); err != nil {
			return e, err
		}
		return e, watch.Check(e.Sites)
	}
	return e, nil
}

// gone is the answer to a deletion.
type gone struct{}

// VisitDeleteWatchResponse says that it is gone.
func (gone) VisitDeleteWatchResponse(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// DeleteWatch is DELETE /watches/{id}.
func (a api) DeleteWatch(ctx context.Context, r openapi.DeleteWatchRequestObject) (openapi.DeleteWatchResponseObject, error) {
	if err := a.watches.DeleteWatch(ctx, callOf(ctx).principal.Account, r.Id); err != nil {
		return nil, err
	}
	return gone{}, nil
}

type watchList struct {
	Watches    []watchAnswer `json:"watches"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// VisitListWatchesResponse writes the list.
func (l watchList) VisitListWatchesResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListWatches is GET /watches.
func (a api) ListWatches(ctx context.Context, r openapi.ListWatchesRequestObject) (openapi.ListWatchesResponseObject, error) {
	limit := orElse(r.Params.Limit, 100)
	list, err := a.watches.Watches(ctx, callOf(ctx).principal.Account, orElse(r.Params.Cursor, ""), limit)
	if err != nil {
		return nil, err
	}
	answer := watchList{Watches: []watchAnswer{}}
	for _, w := range list {
		answer.Watches = append(answer.Watches, newWatch(w, http.StatusOK))
	}
	if len(list) == limit {
		answer.NextCursor = list[limit-1].ID
	}
	return answer, nil
}

type changeList struct {
	Changes    []json.RawMessage `json:"changes"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

// VisitListChangesResponse writes the list.
func (l changeList) VisitListChangesResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListChanges is GET /watches/{id}/changes. A cursor is the number of the last change of the answer before.
func (a api) ListChanges(ctx context.Context, r openapi.ListChangesRequestObject) (openapi.ListChangesResponseObject, error) {
	after := int64(-1)
	if r.Params.Cursor != nil {
		n, err := strconv.ParseInt(*r.Params.Cursor, 10, 64)
		if err != nil || n < 0 {
			return nil, invalid([]fault.Field{{Name: "cursor", Detail: "is not a next_cursor of an answer"}})
		}
		after = n
	}
	c := callOf(ctx)
	w, err := a.watches.Watch(ctx, c.principal.Account, r.Id)
	if err != nil {
		return nil, err
	}
	sealed, err := a.watches.Changes(ctx, c.principal.Account, r.Id, after, orElse(r.Params.Limit, 100), mostResultBytes)
	if err != nil {
		return nil, err
	}
	identity, err := c.identity()
	if err != nil {
		return nil, fmt.Errorf("the key's identity: %w", err)
	}
	answer := changeList{Changes: []json.RawMessage{}}
	for _, one := range sealed {
		if one.Key != c.principal.Key {
			if len(answer.Changes) > 0 {
				break
			}
			return nil, fault.New(fault.InvalidRequest, "The next changes are sealed to the API key "+one.Key+". Collect them with that key; what is found after a PATCH of the watch is sealed to the key that sent it.")
		}
		change, err := one.Open(identity, w)
		if err != nil {
			return nil, fmt.Errorf("open a change: %w", err)
		}
		text, err := json.Marshal(change)
		if err != nil {
			return nil, fmt.Errorf("encode a change: %w", err)
		}
		answer.Changes, answer.NextCursor = append(answer.Changes, text), strconv.FormatInt(one.Seq, 10)
	}
	if answer.NextCursor == "" && after >= 0 {
		answer.NextCursor = strconv.FormatInt(after, 10)
	}
	return answer, nil
}

// roundAnswer is a round as its customer sees it.
type roundAnswer struct {
	ID         string       `json:"id"`
	Status     string       `json:"status"`
	DueAt      time.Time    `json:"due_at"`
	StartedAt  *time.Time   `json:"started_at,omitempty"`
	FinishedAt *time.Time   `json:"finished_at,omitempty"`
	Hosts      roundHosts   `json:"hosts"`
	Pages      roundPages   `json:"pages"`
	Requests   int          `json:"requests"`
	Skipped    []watch.Skip `json:"skipped"`
}

type roundHosts struct {
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
}

type roundPages struct {
	New       int `json:"new"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Gone      int `json:"gone"`
	Back      int `json:"back"`
	Skipped   int `json:"skipped"`
}

func newRound(r watch.Round) roundAnswer {
	a := roundAnswer{
		ID: r.ID, Status: r.Status, DueAt: r.DueAt, StartedAt: timeOrNil(r.StartedAt), FinishedAt: timeOrNil(r.FinishedAt),
		Hosts: roundHosts{r.SitesDone, r.SitesSkipped}, Requests: r.Pages.Requests, Skipped: r.Skips,
		Pages: roundPages{r.Pages.New, r.Pages.Changed, r.Pages.Unchanged, r.Pages.Gone, r.Pages.Back, r.Pages.Skipped},
	}
	if a.Skipped == nil {
		a.Skipped = []watch.Skip{}
	}
	return a
}

// VisitStartRoundResponse writes the round.
func (r roundAnswer) VisitStartRoundResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusAccepted, r)
}

type roundList struct {
	Rounds     []roundAnswer `json:"rounds"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// VisitListRoundsResponse writes the list.
func (l roundList) VisitListRoundsResponse(w http.ResponseWriter) error {
	return sendJSON(w, http.StatusOK, l)
}

// ListRounds is GET /watches/{id}/rounds.
func (a api) ListRounds(ctx context.Context, r openapi.ListRoundsRequestObject) (openapi.ListRoundsResponseObject, error) {
	limit := orElse(r.Params.Limit, 20)
	list, err := a.watches.WatchRounds(ctx, callOf(ctx).principal.Account, r.Id, orElse(r.Params.Cursor, ""), limit)
	if err != nil {
		return nil, err
	}
	answer := roundList{Rounds: []roundAnswer{}}
	for _, one := range list {
		answer.Rounds = append(answer.Rounds, newRound(one))
	}
	if len(list) == limit {
		answer.NextCursor = list[limit-1].ID
	}
	return answer, nil
}

// ListWatchDeliveries is GET /watches/{id}/deliveries.
func (a api) ListWatchDeliveries(ctx context.Context, r openapi.ListWatchDeliveriesRequestObject) (openapi.ListWatchDeliveriesResponseObject, error) {
	list, err := a.watches.WatchDeliveries(ctx, callOf(ctx).principal.Account, r.Id)
	return newDeliveries(list), err
}

// StartRound is POST /watches/{id}/rounds. While a round is unfinished, that one is the answer.
func (a api) StartRound(ctx context.Context, r openapi.StartRoundRequestObject) (openapi.StartRoundResponseObject, error) {
	account := callOf(ctx).principal.Account
	w, err := a.watches.Watch(ctx, account, r.Id)
	if err != nil {
		return nil, err
	}
	if w.Status != watch.Active {
		return nil, fault.New(fault.InvalidRequest, "The watch is paused. Resume it first, by PATCH with status active.")
	}
	err = a.once(ctx, "POST /watches/"+r.Id+"/rounds", nil, r.Params.IdempotencyKey, func(op billing.Operation) (string, error) {
		if op.Object != "" {
			return op.Object, nil
		}
		return w.ID, a.beginRound(ctx, w)
	})
	if err != nil {
		return nil, err
	}
	a.watchKick()
	list, err := a.watches.WatchRounds(ctx, account, r.Id, "", 1)
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("read the round: %w", err)
	}
	return newRound(list[0]), nil
}

// beginRound begins a round of w, unless one is unfinished or the day has had as many as the profile promises
// to sites.
func (a api) beginRound(ctx context.Context, w watch.Watch) error {
	last, err := a.watches.WatchRounds(ctx, w.Account, w.ID, "", 1)
	if err != nil || len(last) > 0 && last[0].FinishedAt.IsZero() {
		return err
	}
	book, now := a.watches.WatchBook(), a.now()
	begun, err := book.Begun(ctx, w.ID, now.Add(-48*time.Hour))
	if err != nil {
		return err
	}
	if watch.Left(a.profile, now, begun) <= 0 {
		return &fault.Error{
			Kind: fault.RateLimited, RetryAfter: max(w.Schedule.Next(a.profile, now, begun).Sub(now), time.Second),
			Detail: "Today has had all the rounds that this profile promises to sites. The next one begins by itself at next_round_at.",
		}
	}
	_, err = book.Begin(ctx, w.ID, now, w.NextRound)
	return err
}
