package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/seal"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// MostURLs is how many URLs a batch holds at most.
const MostURLs = 100

// How long jobs may take.
const (
	batchTime = 6 * time.Hour
	crawlTime = 24 * time.Hour
)

// defaultPages is how many pages a crawl delivers when it does not say.
const defaultPages = 100

// Desk takes orders for jobs and gives out their results.
type Desk struct {
	store   Store
	profile *policy.Profile
}

// NewDesk is the desk over a store.
func NewDesk(s Store, p *policy.Profile) *Desk { return &Desk{store: s, profile: p} }

// Order is what is asked for with every job.
type Order struct {
	Principal  billing.Principal
	ID         string // of the job: NewJobID of the operation
	Request    string // id of the API request
	Options    reader.Options
	MaxUnits   *int64
	WebhookURL string
}

// BatchOrder is a batch as it is asked for.
type BatchOrder struct {
	Order
	URLs []string
}

// CrawlOrder is a crawl as it is asked for.
type CrawlOrder struct {
	Order
	URL      string
	Rules    Rules
	MaxPages *int64
}

// NewJobID is the id of the job that an operation makes: the same for each repeat of it.
func NewJobID(operation string) string {
	_, random, _ := strings.Cut(operation, "_")
	return "job_" + random
}

// Batch makes a batch. Faults: InvalidRequest with the fields, RateLimited.
func (d *Desk) Batch(ctx context.Context, o BatchOrder) (Job, error) {
	if err := o.Options.Validate(); err != nil {
		return Job{}, err
	}
	if len(o.URLs) == 0 || len(o.URLs) > MostURLs {
		return Job{}, badField("urls", fmt.Sprintf("must hold 1 to %d URLs; it holds %d", MostURLs, len(o.URLs)))
	}
	items, err := d.batchItems(o.URLs)
	if err != nil {
		return Job{}, err
	}
	s := d.spec(Batch, o.Order)
	s.Items, s.MaxPages, s.MaxRequests, s.Deadline = items, NoLimit, NoLimit, batchTime
	return d.store.CreateJob(ctx, s)
}

// batchItems are the URLs to read: each once, however often it is given.
func (d *Desk) batchItems(urls []string) ([]Found, error) {
	var items []Found
	var bad []fault.Field
	at := map[policy.Target]int{}
	for i, raw := range urls {
		t, err := policy.ParseTarget(raw)
		if err != nil {
			bad = append(bad, fault.Field{Name: fmt.Sprintf("urls.%d", i), Detail: err.Error()})
			continue
		}
		if first, twice := at[t]; twice {
			items[first].Twins = append(items[first].Twins, raw)
			continue
		}
		at[t] = len(items)
		written := raw
		if written == t.String() {
			written = ""
		}
		items = append(items, Found{Kind: Page, URL: t.String(), Raw: written, Host: t.Host(), Pace: d.profile.PaceKey(t), Form: hashForm(t.String())})
	}
	if len(bad) > 0 {
		return nil, &fault.Error{Kind: fault.InvalidRequest, Fields: bad[:min(len(bad), 20)],
			Detail: fmt.Sprintf("%d of the URLs cannot be read; errors lists them. Correct or leave them out.", len(bad))}
	}
	return items, nil
}

// Crawl makes a crawl. Faults: InvalidRequest with the fields, RateLimited.
func (d *Desk) Crawl(ctx context.Context, o CrawlOrder) (Job, error) {
	if err := o.Options.Validate(); err != nil {
		return Job{}, err
	}
	if err := o.Rules.Validate(); err != nil {
		return Job{}, err
	}
	t, err := policy.ParseTarget(o.URL)
	if err != nil {
		return Job{}, &fault.Error{Kind: fault.InvalidRequest, Detail: "url: " + err.Error() + ".", Fields: []fault.Field{{Name: "url", Detail: err.Error()}}}
	}
	pages := int64(defaultPages)
	if o.MaxPages != nil {
		pages = *o.MaxPages
	}
	most := o.Principal.Plan.PagesPerCrawl
	if pages < 1 || !most.IsUnlimited() && pages > int64(most) {
		return Job{}, badField("max_pages", fmt.Sprintf("must be a number from 1 to %s, the plan's limit", most))
	}
	s := d.spec(Crawl, o.Order)
	s.Rules, s.ScopeHost, s.Deadline = o.Rules, t.Host(), crawlTime
	s.MaxPages, s.MaxRequests = pages, 5*pages+50
	s.MaxQueued = min(s.MaxQueued, 10*s.MaxRequests+1000)
	s.Items = []Found{d.startOf(t, o)}
	return d.store.CreateJob(ctx, s)
}

func (d *Desk) startOf(t policy.Target, o CrawlOrder) Found {
	f := Found{Kind: Start, URL: t.String(), Host: t.Host(), Pace: d.profile.PaceKey(t), Form: FormOf(t)}
	if o.URL != f.URL {
		f.Raw = o.URL
	}
	if o.Rules.Sitemap == SitemapOnly {
		home, _ := t.Resolve("/") // always there
		f = Found{Kind: Seed, URL: home.String(), Host: t.Host(), Pace: d.profile.PaceKey(t), Form: hashForm("seed " + home.String())}
	}
	return f
}

func (d *Desk) spec(kind string, o Order) Spec {
	p := o.Principal
	s := Spec{ID: o.ID, Account: p.Account, Key: p.Key, Kind: kind, Request: o.Request, Recipient: p.Recipient, Options: o.Options, WebhookURL: o.WebhookURL,
		MaxUnits: NoLimit, MaxQueued: amount(p.Plan.QueuedURLs), MaxBytes: amount(p.Plan.UndeliveredBytes),
		MostRunning: p.Plan.RunningJobs, MostQueued: p.Plan.QueuedURLs}
	if o.MaxUnits != nil {
		s.MaxUnits = *o.MaxUnits
	}
	return s
}

func amount(l billing.Limit) int64 { return min(int64(l), NoLimit) }

// Job is the account's job.
func (d *Desk) Job(ctx context.Context, account, id string) (Job, error) {
	return d.store.Job(ctx, account, id)
}

// List are the account's jobs, newest first.
func (d *Desk) List(ctx context.Context, account, cursor string, limit int) ([]Job, string, error) {
	return d.store.ListJobs(ctx, account, cursor, limit)
}

// Drop cancels a job that runs and erases what it holds.
func (d *Desk) Drop(ctx context.Context, account, id string) (Job, error) {
	return d.store.DropJob(ctx, account, id)
}

// Deliveries are a job's webhook deliveries.
func (d *Desk) Deliveries(ctx context.Context, account, id string) ([]Delivery, error) {
	return d.store.Deliveries(ctx, account, id)
}

// Result is one opened result. It lives in the request that carries the API key.
type Result struct {
	Seq    int64
	URL    string
	Page   json.RawMessage
	Fault  *fault.Error
	Closed *reader.Decision // the decision of a failure
}

// Cursor is what acknowledges the result and all before it.
func (r Result) Cursor() string { return strconv.FormatInt(r.Seq, 10) }

// ParseCursor is the number that a cursor stands for; 0 for none.
func ParseCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != cursor {
		return 0, badField("cursor", "is not one of this job's; send next_cursor, or a result's cursor, as it was")
	}
	return n, nil
}

// Query asks for results after a cursor.
type Query struct {
	Job      Job
	Identity seal.Identity // of the API key that asks
	After    int64
	Limit    int
	Bytes    int
}

// Results opens results of the job. It answers nothing twice in one go and holds no more than Bytes.
func (d *Desk) Results(ctx context.Context, q Query) ([]Result, error) {
	stored, err := d.store.Results(ctx, q.Job.ID, q.After, q.Limit, q.Bytes)
	if err != nil {
		return nil, err
	}
	list := make([]Result, 0, len(stored))
	for _, s := range stored {
		r, err := open(q, s)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func open(q Query, s Stored) (Result, error) {
	plain, err := q.Identity.Open(seal.Context{Account: q.Job.Account, Job: q.Job.ID, Item: s.Item}, s.Envelope)
	if err != nil {
		return Result{}, fault.New(fault.InvalidRequest, "The results are sealed to the key "+q.Job.Key+
			", which made the job. Ask with that key; another one cannot open them.")
	}
	var line Line
	if err := json.Unmarshal(plain, &line); err != nil {
		return Result{}, fmt.Errorf("a result's form: %w", err)
	}
	r := Result{Seq: s.Seq, URL: line.URL, Page: line.Page}
	if f := line.Fault; f != nil {
		r.Fault = &fault.Error{Kind: fault.Kind(f.Kind), Reason: f.Reason, Detail: f.Detail, TargetStatus: f.TargetStatus, RetryAfter: f.RetryAfter}
		r.Closed = f.Decision
	}
	return r, nil
}

// Acknowledge erases results up to a cursor's number.
func (d *Desk) Acknowledge(ctx context.Context, job Job, upTo int64) error {
	if upTo <= 0 {
		return nil
	}
	return d.store.Acknowledge(ctx, job.ID, upTo)
}

// Await waits for a result after a number, for the job's end, or for the time to pass.
func (d *Desk) Await(ctx context.Context, job Job, after int64, patience time.Duration) error {
	return d.store.AwaitResults(ctx, job.ID, after, patience)
}
