package handlers

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/reader"
)

// usageAnswer is GET /usage.
type usageAnswer struct {
	Period struct {
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	} `json:"period"`
	Units     int64                    `json:"units"`
	Pages     int64                    `json:"pages"`
	ByOutcome map[reader.Outcome]int64 `json:"by_outcome"`
	Allowance struct {
		Included *int64 `json:"included"` // null is unlimited
		Left     *int64 `json:"left"`
	} `json:"allowance"`
	Credited   int64           `json:"credited,omitempty"`
	Groups     []groupAnswer   `json:"groups,omitempty"`
	Receipts   []receiptAnswer `json:"receipts"`
	NextCursor string          `json:"next_cursor,omitempty"`

	csv bool
}

type receiptAnswer struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	URLHost string    `json:"url_host"`
	Units   int64     `json:"units"`
	Kind    string    `json:"kind,omitempty"`
	Job     string    `json:"job,omitempty"`
	Key     string    `json:"key,omitempty"`
}

type groupAnswer struct {
	Name  string `json:"name"`
	Units int64  `json:"units"`
	Pages int64  `json:"pages"`
}

// GetUsage is GET /usage.
func (a api) GetUsage(ctx context.Context, r openapi.GetUsageRequestObject) (openapi.GetUsageResponseObject, error) {
	period, err := periodOf(a.now(), r.Params.From, r.Params.To)
	if err != nil {
		return nil, err
	}
	limit, cursor := 100, ""
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	if r.Params.Cursor != nil {
		cursor = *r.Params.Cursor
	}
	account := callOf(ctx).principal.Account
	a.settling.wait(ctx, account)
	totals, err := a.usage.Totals(ctx, account, period)
	if err != nil {
		return nil, err
	}
	receipts, next, err := a.usage.Receipts(ctx, account, period, cursor, limit)
	if err != nil {
		return nil, err
	}
	answer := newUsage(totals, receipts, next)
	if r.Params.GroupBy != nil {
		groups, err := a.usage.Groups(ctx, account, period, billing.By(*r.Params.GroupBy))
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			answer.Groups = append(answer.Groups, groupAnswer(g))
		}
	}
	answer.csv = choose(callOf(ctx).accept, mediaJSON, "text/csv") == "text/csv"
	return answer, nil
}

// periodOf is the month of now, with either end replaced by one that was asked for.
func periodOf(now time.Time, from, to *time.Time) (billing.Period, error) {
	p := billing.Month(now)
	if from != nil {
		p.From = from.UTC()
		if to == nil && p.To.Before(p.From) {
			p.To = billing.Month(p.From).To
		}
	}
	if to != nil {
		p.To = to.UTC()
		if from == nil {
			p.From = billing.Month(p.To.Add(-time.Nanosecond)).From
		}
	}
	if !p.From.Before(p.To) {
		return p, invalid([]fault.Field{{Name: "to", Detail: "must be later than from"}})
	}
	return p, nil
}

func newUsage(t billing.Totals, receipts []billing.Receipt, next string) *usageAnswer {
	a := &usageAnswer{Units: t.Units, Pages: t.Pages, ByOutcome: t.ByOutcome, Credited: t.Credited, Receipts: []receiptAnswer{}, NextCursor: next}
	if a.ByOutcome == nil {
		a.ByOutcome = map[reader.Outcome]int64{}
	}
	a.Period.From, a.Period.To = t.Period.From.UTC(), t.Period.To.UTC()
	a.Allowance.Included, a.Allowance.Left = finite(t.Included), finite(t.AllowanceLeft)
	for _, r := range receipts {
		a.Receipts = append(a.Receipts, receiptAnswer{r.ID, r.At.UTC(), r.URLHost, r.Units, r.Kind, r.Job, r.Key})
	}
	return a
}

// finite is l as a number; nil is unlimited.
func finite(l billing.Limit) *int64 {
	if l.IsUnlimited() {
		return nil
	}
	n := int64(l)
	return &n
}

// VisitGetUsageResponse writes the usage as JSON or CSV.
func (a *usageAnswer) VisitGetUsageResponse(w http.ResponseWriter) error {
	if !a.csv {
		return sendJSON(w, http.StatusOK, a)
	}
	var text bytes.Buffer
	rows := csv.NewWriter(&text)
	_ = rows.Write([]string{"id", "at", "url_host", "units", "job", "key", "kind"}) // a buffer takes everything
	for _, r := range a.Receipts {
		_ = rows.Write([]string{r.ID, r.At.Format(time.RFC3339Nano), plainCell(r.URLHost), strconv.FormatInt(r.Units, 10), r.Job, r.Key, r.Kind})
	}
	rows.Flush()
	if a.NextCursor != "" {
		w.Header().Set("WebReader-Next-Cursor", a.NextCursor)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	return send(w, http.StatusOK, text.Bytes())
}

// plainCell keeps a spreadsheet from taking a cell for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

func sendJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", mediaJSON)
	return send(w, status, body)
}
