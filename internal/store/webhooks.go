package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/webhook"
	"github.com/webreaderapi/webreader/reader"
)

// The states of a delivery.
const (
	deliveryWaits = iota
	deliveryDone
	deliveryGivenUp
)

var deliveryStates = map[int64]string{deliveryWaits: "waiting", deliveryDone: "delivered", deliveryGivenUp: "given_up"}

// jobEvent is what is told of a job that ended: ids and counts.
type jobEvent struct {
	Job    string           `json:"job"`
	Kind   string           `json:"kind"`
	Status string           `json:"status"`
	Reason string           `json:"reason,omitempty"`
	Total  int64            `json:"total"`
	Counts map[string]int64 `json:"counts"`
	Units  int64            `json:"units"`
	Link   string           `json:"results"`
}

// pageEvent is what is told of an item that ended: its URL and what became of it.
type pageEvent struct {
	Job     string `json:"job"`
	Item    string `json:"item"`
	URL     string `json:"url"`
	Outcome string `json:"outcome"`
}

// tellJobEnded queues the one terminal event of a job. A cancelled one tells nothing: its customer did it.
func (s *Store) tellJobEnded(ctx context.Context, tx *sql.Tx, now int64, j jobs.Job) error {
	kind := webhook.JobCompleted
	switch j.Status {
	case jobs.Cancelled:
		return nil
	case jobs.Failed:
		kind = webhook.JobFailed
	}
	var url string
	if err := tx.QueryRowContext(ctx, "SELECT webhook_url FROM jobs WHERE id = $1", j.ID).Scan(&url); err != nil || url == "" {
		return err
	}
	c := j.Counts
	return s.queueEvent(ctx, tx, now, j.Account, j.ID, url, kind, jobEvent{
		Job: j.ID, Kind: j.Kind, Status: j.Status, Reason: j.Reason, Total: j.Total, Units: j.Units, Link: s.public + "/jobs/" + j.ID + "/results",
		Counts: map[string]int64{"delivered": c.Delivered, "blocked": c.Blocked, "refused": c.Refused, "failed": c.Failed,
			"unchanged": c.Unchanged, "duplicate": c.Duplicate, "skipped": c.Skipped},
	})
}

// tellPages queues an event for each page that was delivered.
func (s *Store) tellPages(ctx context.Context, tx *sql.Tx, f *finishing) error {
	for _, item := range f.items {
		j := f.rows[item.Item.Job]
		if !f.mine[item] || j.webhook == "" || item.Fate != jobs.Ended || item.Counter != string(reader.Delivered) {
			continue
		}
		err := s.queueEvent(ctx, tx, f.now, j.account, item.Item.Job, j.webhook, webhook.PageCompleted,
			pageEvent{Job: item.Item.Job, Item: item.Item.ID(), URL: item.Item.Written(), Outcome: item.Counter})
		if err != nil {
			return err
		}
	}
	return nil
}

// queueEvent keeps an event for delivery. Its id stays the same over all tries.
func (s *Store) queueEvent(ctx context.Context, tx *sql.Tx, now int64, account, job, url, kind string, data any) error {
	id := billing.NewID("evt")
	body, err := webhook.Event{ID: id, Type: kind, At: timeOf(now), Data: data}.Body()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (id, account, job, event, url, body, attempts, status, problem, state, next_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, '', 0, $7, $7)`, id, account, job, kind, url, string(body), now)
	if err != nil {
		return fmt.Errorf("queue an event: %w", err)
	}
	return s.enqueue(ctx, tx, deliveryJob{id}, 0)
}

// Deliveries are a job's webhook deliveries. See jobs.Store.
func (s *Store) Deliveries(ctx context.Context, account, id string) ([]jobs.Delivery, error) {
	if _, err := s.Job(ctx, account, id); err != nil {
		return nil, err
	}
	return s.deliveries(ctx, id)
}

// WatchDeliveries are the webhook deliveries of an account's watch, oldest first.
func (s *Store) WatchDeliveries(ctx context.Context, account, id string) ([]jobs.Delivery, error) {
	if _, err := s.Watch(ctx, account, id); err != nil {
		return nil, err
	}
	return s.deliveries(ctx, id)
}

func (s *Store) deliveries(ctx context.Context, id string) ([]jobs.Delivery, error) {
	var list []jobs.Delivery
	err := query(ctx, s.ro, `SELECT id, event, url, state, problem, attempts, status, created_at, next_at, ended_at FROM deliveries
		WHERE job = $1 ORDER BY created_at, id LIMIT 1000`, args{id}, func(row *sql.Rows) error {
		var d jobs.Delivery
		var state, created, next int64
		var ended sql.NullInt64
		err := row.Scan(&d.ID, &d.Event, &d.URL, &state, &d.Problem, &d.Attempts, &d.Status, &created, &next, &ended)
		d.State, d.CreatedAt, d.EndedAt = deliveryStates[state], timeOf(created), timeOrZero(ended)
		if state == deliveryWaits {
			d.NextAt = timeOf(next)
		}
		list = append(list, d)
		return err
	})
	return list, err
}

// due is a delivery that is to be tried now.
type due struct {
	id, url, body string
	secrets       []string // the newest first
	attempts      int64
	age           time.Duration
}

// Sender delivers one event once: *webhook.Sender.
type Sender interface {
	Send(ctx context.Context, target, id string, body []byte, secrets ...string) webhook.Result
}

// Deliver tries a delivery once, if it is due, and answers after which time it is to be tried again: 0 is
// never. Two tries of one delivery at the same time are River's to prevent.
func (s *Store) Deliver(ctx context.Context, sender Sender, id string) (again time.Duration, err error) {
	d, wait, err := s.due(ctx, id)
	if err != nil || wait > 0 || d.id == "" {
		return wait, err
	}
	r := sender.Send(ctx, d.url, d.id, []byte(d.body), d.secrets...)
	if ctx.Err() != nil && !r.Delivered() {
		return 0, ctx.Err() // cut short by us: it was no try
	}
	return s.noteDelivery(ctx, d, r)
}

// DueDeliveries are deliveries that have been due for so long, the oldest first.
func (s *Store) DueDeliveries(ctx context.Context, since time.Duration, limit int) ([]string, error) {
	return names(ctx, s.ro, "SELECT id FROM deliveries WHERE state = 0 AND next_at <= "+s.nowSQL()+" - $1 ORDER BY next_at, id LIMIT $2", since.Milliseconds(), limit)
}

// due is a delivery whose time has come, or how long it has until then. One that is over or gone is neither.
func (s *Store) due(ctx context.Context, id string) (d due, wait time.Duration, err error) {
	var secrets string
	var left, age int64
	err = s.ro.QueryRowContext(ctx, `SELECT d.id, d.url, d.body, `+s.signingSecrets()+`, d.attempts, `+s.nowSQL()+` - d.created_at, d.next_at - `+s.nowSQL()+`
		FROM deliveries d JOIN accounts a ON a.id = d.account WHERE d.id = $1 AND d.state = 0`, id).Scan(&d.id, &d.url, &d.body, &secrets, &d.attempts, &age, &left)
	if errors.Is(err, sql.ErrNoRows) {
		return due{}, 0, nil
	}
	if err != nil {
		return due{}, 0, fmt.Errorf("read a delivery: %w", err)
	}
	d.secrets, d.age = strings.Fields(secrets), span(age)
	return d, max(span(left), 0), nil
}

// noteDelivery writes how a try ended, and answers how long it is until the next one.
func (s *Store) noteDelivery(ctx context.Context, d due, r webhook.Result) (time.Duration, error) {
	wait, again := webhook.Backoff(int(d.attempts)+1, d.age, r)
	state := deliveryGivenUp
	if r.Delivered() {
		state = deliveryDone
	} else if again {
		state = deliveryWaits
	}
	ended := s.nowSQL()
	if state == deliveryWaits {
		ended = "NULL"
	} else {
		wait = 0
	}
	err := s.exec(context.WithoutCancel(ctx), `UPDATE deliveries SET attempts = attempts + 1, status = $1, problem = $2, state = $3,
		next_at = `+s.nowSQL()+` + $4, ended_at = `+ended+` WHERE id = $5 AND state = 0`, r.Status, cut(r.Problem, 200), state, wait.Milliseconds(), d.id)
	return wait, err
}
