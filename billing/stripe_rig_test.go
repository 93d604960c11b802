package billing_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the PostgreSQL driver

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/billing/stripetest"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/reader"
)

// clock moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(time.Duration) <-chan time.Time { return make(chan time.Time) }

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// till is a store, a fake payment service and what stands between them.
type till struct {
	testing.TB
	store    *store.Store
	fake     *stripetest.Fake
	stripe   *billing.Stripe
	desk     *billing.Desk
	clock    *clock
	problems int
}

// onEach runs a test on every kind of database that there is.
func onEach(t *testing.T, test func(till *till)) {
	t.Run("sqlite", func(t *testing.T) { test(newTill(t, "sqlite:"+filepath.Join(t.TempDir(), "t.db"))) })
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); server != "" {
		t.Run("postgres", func(t *testing.T) { test(newTill(t, newPostgres(t, server))) })
	}
}

// postgres is the one database of all tests: making one takes seconds, emptying it does not.
var postgres struct {
	sync.Mutex
	name string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server := os.Getenv("WEBREADER_TEST_POSTGRES"); postgres.name != "" {
		if err := admin(server, "DROP DATABASE "+postgres.name+" WITH (FORCE)"); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// admin runs one statement on the server that CI gives, or in one of its databases.
func admin(server, statement string) error {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

func inDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

// emptied empties every table but those that say what was migrated, and what migrations put in. Deleting a few
// rows is far quicker than truncating, which makes new files; references are not looked at meanwhile.
const emptied = `DO $$ DECLARE name TEXT; BEGIN
	SET LOCAL session_replication_role = replica;
	FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'
		AND tablename NOT LIKE 'goose%' AND tablename NOT LIKE 'river%' AND tablename <> 'revisions' LOOP
		EXECUTE 'DELETE FROM ' || name;
	END LOOP;
END $$`

// newPostgres is the tests' database, empty. It is one test's at a time.
func newPostgres(t *testing.T, server string) string {
	postgres.Lock()
	t.Cleanup(postgres.Unlock)
	if postgres.name == "" {
		name := "wr_billing_" + billing.NewID("test")
		if err := admin(server, "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		postgres.name = name
		// Nothing here pulls the plug on the server, so no commit need wait for the disk.
		if err := admin(server, "ALTER DATABASE "+name+" SET synchronous_commit = off"); err != nil {
			t.Fatal(err)
		}
		return inDatabase(server, name)
	}
	database := inDatabase(server, postgres.name)
	if err := admin(database, emptied); err != nil {
		t.Fatal(err)
	}
	return database
}

func newTill(t *testing.T, database string) *till {
	t.Helper()
	plans := must(billing.BuiltInPlans())(t)
	if err := plans.Sell(stripetest.Price); err != nil {
		t.Fatal(err)
	}
	till := &till{TB: t, fake: stripetest.New(t), clock: &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
	till.fake.Now = till.clock.Now
	till.store = must(store.Open(t.Context(), database, store.Options{Clock: till.clock, Plans: plans}))(t)
	t.Cleanup(func() { till.store.Close() })
	till.stripe = must(billing.NewStripe(must(billing.StripeFromEnv(till.fake.Env))(t)))(t)
	till.desk = billing.NewDesk(till.stripe, till.store, till.store, plans, slog.New(slog.DiscardHandler), func() { till.problems++ })
	return till
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (t *till) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin begins a sign-up or, for an account, an upgrade. It answers the session and the cookie.
func (t *till) begin(account string) (session, cookie string) {
	t.Helper()
	page, cookie, err := t.desk.Begin(t.Context(), billing.SignUp{Account: account, Base: "https://reader.example", Name: "Anna"})
	t.ok(err)
	return page[strings.LastIndex(page, "/")+1:], cookie
}

// subscriber signs a customer up and lets the first minute pass, from which on debits are reported.
func (t *till) subscriber() (account billing.Account, sub, customer string) {
	t.Helper()
	session, cookie := t.begin("")
	sub, customer = t.fake.Pay(session)
	welcome := must(t.desk.Finish(t.Context(), session, cookie))(t)
	t.step() // the look after linking
	t.clock.advance(time.Minute)
	return welcome.Account, sub, customer
}

// charge debits an account n units, one read each.
func (t *till) charge(account string, n int) {
	t.Helper()
	for range n {
		t.ok(t.read(account, billing.NewID("op"), reader.Delivered))
	}
}

// read makes a read of one unit that ends as it is told.
func (t *till) read(account, operation string, outcome reader.Outcome) error {
	h, err := t.store.Hold(t.Context(), billing.Order{Account: account, Key: "key_test", Operation: operation, Kind: "read"})
	if err != nil {
		return err
	}
	if outcome != reader.Delivered {
		return t.store.Void(t.Context(), h, outcome, nil)
	}
	return t.store.Settle(t.Context(), h, document(reader.Delivered, 1).Receipt())
}

// export runs the exporter until it has nothing to do.
func (t *till) export() {
	t.Helper()
	t.exportThrough(t.store, t.stripe)
}

// step deals with the events that are due, and answers how many there were.
func (t *till) step() int {
	t.Helper()
	due := must(t.store.DueEvents(t.Context(), 0, 20))(t)
	for _, id := range due {
		must(t.desk.Deal(t.Context(), id))(t)
	}
	return len(due)
}

func (t *till) exportThrough(o billing.Outbox, r billing.Reporter) {
	t.Helper()
	e := billing.NewExporter(o, r, slog.New(slog.DiscardHandler), func() { t.problems++ })
	for {
		n, err := e.Step(t.Context())
		if errors.Is(err, errCrash) {
			return
		}
		t.ok(err)
		if n == 0 {
			return
		}
	}
}

// reconcile is the reconciliation of all months of the test.
func (t *till) reconcile(w billing.Window) billing.Reconciliation {
	t.Helper()
	now := t.clock.Now()
	return must(billing.Reconcile(t.Context(), t.store, t.stripe, billing.Period{From: now.AddDate(0, -3, 0), To: now.Add(time.Hour)}, w))(t)
}

func (t *till) wantAgreement() {
	t.Helper()
	for _, w := range []billing.Window{billing.Hour, billing.Day} {
		if r := t.reconcile(w); len(r.Differences) > 0 || len(r.Books) == 0 {
			t.Errorf("%d books, differences: %v", len(r.Books), r.Differences)
		}
	}
}

func (t *till) wantHeld(customer string, want int64) {
	t.Helper()
	if got := t.fake.Held(customer); got != want {
		t.Errorf("the payment service has %d units, want %d", got, want)
	}
}

var errCrash = errors.New("crash")

var discard = slog.New(slog.DiscardHandler)
