package billing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Difference is a customer's month that does not add up.
type Difference struct {
	Book
	Held int64 // what the payment service has
	Why  string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s (%s): %s: receipts %d, ledger %d, waiting %d, under way %d, reported %d, given up %d, payment service %d",
		d.Month.From.Format("2006-01"), d.Account, d.Customer, d.Why, d.Receipts, d.Debited, d.Waiting, d.UnderWay, d.Arrived, d.GivenUp, d.Held)
}

// Reconciliation is the books that were compared, and what did not agree.
type Reconciliation struct {
	Books       []Book
	Held        []int64 // by book
	Differences []Difference
}

// Reconcile compares receipts, ledger, reports and the payment service, for each customer and month
// that p touches; reports and payment service also by window, as what was lost and what was doubled may
// cancel out over a month.
func Reconcile(ctx context.Context, o Outbox, r Reporter, p Period, w Window) (Reconciliation, error) {
	p = wholeMonths(p)
	now, err := o.Now(ctx)
	if err != nil {
		return Reconciliation{}, err
	}
	books, err := o.Books(ctx, p)
	if err != nil {
		return Reconciliation{}, err
	}
	out := Reconciliation{Books: books}
	pace := rate.NewLimiter(exportPace, exportPace)
	for _, b := range books {
		held := int64(0)
		if err := pace.Wait(ctx); err != nil {
			return out, err
		}
		if span := soFar(b.Month, now); b.Customer != "" && span.From.Before(span.To) {
			if held, err = r.Held(ctx, b.Customer, span); err != nil {
				return out, fmt.Errorf("ask for %s: %w", b.Customer, err)
			}
		}
		why := b.wrong(held)
		if why == "" && held > 0 {
			if why, err = b.wrongWithin(ctx, r, now, w); err != nil {
				return out, fmt.Errorf("ask for %s: %w", b.Customer, err)
			}
		}
		out.Held = append(out.Held, held)
		if why != "" {
			out.Differences = append(out.Differences, Difference{b, held, why})
		}
	}
	return out, nil
}

// wrongWithin says in which windows that are over reports and payment service do not agree.
func (b Book) wrongWithin(ctx context.Context, r Reporter, now time.Time, w Window) (string, error) {
	span := Period{b.Month.From, b.Month.To}
	if end := w.of(now); end.Before(span.To) {
		span.To = end
	}
	if !span.From.Before(span.To) {
		return "", nil
	}
	held, err := r.HeldEach(ctx, b.Customer, span, w)
	if err != nil {
		return "", err
	}
	sent := map[time.Time]Sent{}
	for hour, n := range b.Hours {
		sent[w.of(hour)] = sent[w.of(hour)].plus(n)
	}
	var wrong []string
	for from := span.From; from.Before(span.To); from = from.Add(time.Duration(w)) {
		if why := sent[from].wrong(held[from]); why != "" {
			wrong = append(wrong, from.Format("2006-01-02 15:04")+" "+why)
		}
	}
	if len(wrong) == 0 {
		return "", nil
	}
	return "the month's sum agrees, its parts do not: " + strings.Join(wrong[:min(len(wrong), 5)], ", "), nil
}

// wrong says what the payment service has too little or too much; "" when it agrees.
func (s Sent) wrong(held int64) string {
	switch {
	case held < s.Arrived:
		return fmt.Sprintf("the payment service lacks %d units", s.Arrived-held)
	case held > s.Arrived+s.UnderWay+s.Slack:
		return fmt.Sprintf("the payment service has %d units too many", held-s.Arrived-s.UnderWay)
	}
	return ""
}

// wrong says what does not agree; "" when all does.
func (b Book) wrong(held int64) string {
	service := Sent{b.Arrived, b.UnderWay, b.Slack}.wrong(held)
	switch {
	case b.Receipts != b.Debited:
		return "receipts and ledger differ"
	case b.Debited != b.Waiting+b.UnderWay+b.Arrived+b.GivenUp:
		return "ledger and reports differ"
	case service != "":
		return service
	case b.GivenUp > 0:
		return fmt.Sprintf("%d units could not be reported", b.GivenUp)
	}
	return ""
}

// soFar is the part of p that has begun, in whole minutes.
func soFar(p Period, now time.Time) Period {
	if end := now.Truncate(time.Minute).Add(time.Minute); end.Before(p.To) {
		p.To = end
	}
	return p
}

func wholeMonths(p Period) Period {
	return Period{Month(p.From).From, Month(p.To.Add(-time.Nanosecond)).To}
}
