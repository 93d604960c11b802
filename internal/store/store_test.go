package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/reader"
)

// postgresURL is the server that CI gives; the tests run on SQLite only where it is empty.
func postgresURL() string { return os.Getenv("WEBREADER_TEST_POSTGRES") }

// template is a migrated database that each test's own is copied from.
var template struct {
	sync.Once
	name string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if template.name != "" {
		if err := admin("DROP DATABASE IF EXISTS " + template.name); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// databases are the kinds of database the tests run on.
func databases() map[string]func(testing.TB) string {
	kinds := map[string]func(testing.TB) string{"sqlite": newSQLite}
	if postgresURL() != "" {
		kinds["postgres"] = newPostgres
	}
	return kinds
}

func newSQLite(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "test.db") }

func newPostgres(t testing.TB) string {
	t.Helper()
	template.Do(func() {
		template.name = fmt.Sprintf("wr_store_template_%d", os.Getpid())
		if template.err = admin("CREATE DATABASE " + template.name); template.err != nil {
			return
		}
		var s *Store
		if s, template.err = Open(context.Background(), inDatabase(template.name), Options{}); template.err == nil {
			template.err = s.Close()
		}
	})
	if template.err != nil {
		t.Fatal(template.err)
	}
	name := strings.ToLower("wr_store_" + billing.NewID("test"))
	if err := admin("CREATE DATABASE " + name + " TEMPLATE " + template.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(name)
}

func inDatabase(name string) string {
	u, err := url.Parse(postgresURL())
	if err != nil {
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

// admin runs one statement on the server. Databases are copied one at a time.
func admin(statement string) error {
	adminLock.Lock()
	defer adminLock.Unlock()
	db, err := sql.Open("pgx", postgresURL())
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statement)
	return err
}

var adminLock sync.Mutex

// onEach runs a test on every kind of database, with the database's own clock.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) { test(t, open(t, make(t), Options{})) })
	}
}

// withClock runs a test on every kind of database, with a clock that the test moves.
func withClock(t *testing.T, test func(t *testing.T, s *Store, clock *testClock)) {
	t.Helper()
	for name, make := range databases() {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			test(t, open(t, make(t), Options{Clock: clock}), clock)
		})
	}
}

func open(t testing.TB, rawURL string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), rawURL, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// testClock moves when it is told to. What waits is woken when its time has come.
type testClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []testWait
}

type testWait struct {
	at time.Time
	ch chan time.Time
}

func newClock() *testClock {
	return &testClock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := testWait{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		w.ch <- c.now
	} else {
		c.waits = append(c.waits, w)
	}
	return w.ch
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var later []testWait
	for _, w := range c.waits {
		if w.at.After(c.now) {
			later = append(later, w)
		} else {
			w.ch <- c.now
		}
	}
	c.waits = later
}

// receipt forges what only reader.Read mints.
func receipt(outcome reader.Outcome, units int, host string) reader.Receipt {
	var r reader.Receipt
	v := reflect.ValueOf(&r).Elem()
	set := func(name string, value any) {
		f := v.FieldByName(name)
		reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
	}
	set("outcome", outcome)
	set("units", units)
	set("host", host)
	return r
}

func delivered() reader.Receipt { return receipt(reader.Delivered, 1, "site.example") }

// customer makes an account with a key.
func customer(t testing.TB, s *Store, name string) (billing.Account, billing.Key, billing.Secret) {
	t.Helper()
	account, err := s.CreateAccount(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	key, secret, err := s.CreateKey(t.Context(), account.ID, "first", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return account, key, secret
}

// order is a read of the account with an operation of its own.
func order(account billing.Account) billing.Order {
	return billing.Order{Account: account.ID, Key: "key_test", Operation: billing.NewID("op"), Kind: "read"}
}

func wantKind(t testing.TB, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.Of(err) != want {
		t.Errorf("error %v, want one of kind %v", err, want)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// number is a query's one number.
func number(t testing.TB, s *Store, text string, a ...any) int64 {
	t.Helper()
	var n int64
	if err := s.ro.QueryRowContext(t.Context(), text, a...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
