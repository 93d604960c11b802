// Package store keeps what must outlive a process, in SQLite or PostgreSQL: it has the SQL and the
// migrations, and implements the interfaces of billing and reader/gate. It knows those rooms; they
// do not know it. It can hold no page: texts go in only as sealed envelopes.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Options are what a Store needs beyond the database. The zero Options are good.
type Options struct {
	// Clock is for tests: all times are its own then. Nil is the database's clock, so that replicas
	// agree, and the machine's for waiting.
	Clock gate.Clock
	// Plans are the plans accounts may be on; nil is billing.BuiltInPlans.
	Plans *billing.Plans
	// Lease is how long a turn may last before it lapses; it must outlast the hardest deadline of a
	// fetch. 0 is DefaultLease.
	Lease time.Duration
	// ResultTTL is how long results of an ended job wait to be collected. 0 is DefaultResultTTL.
	ResultTTL time.Duration
	// PublicURL is the base of the links in webhooks, without a slash at its end; "" makes them paths.
	PublicURL string
	// NoMigrate leaves the schema as it is; Open is then an error when it is behind.
	NoMigrate bool
	// MustExist makes Open an error where there is no SQLite file yet, for what makes sense on a used
	// database only.
	MustExist bool
}

// DefaultLease is the lease of Options that name none.
const DefaultLease = time.Minute

// DefaultResultTTL is the time of Options that name none.
const DefaultResultTTL = 24 * time.Hour

// Store is one database. It is safe for concurrent use, also by several processes.
type Store struct {
	db       *sql.DB  // writes; one connection on SQLite
	ro       *sql.DB  // reads that no transaction surrounds; the same as db on PostgreSQL
	commits  *commits // SQLite's
	postgres bool
	fixed    gate.Clock // nil in production
	clock    gate.Clock // for waiting
	plans    *billing.Plans
	lease    time.Duration

	ledger *batcher[ledgerItem]
	log    *batcher[logItem]
	queues *queues
	river  *river.Client[*sql.Tx] // inserts only; see WorkQueues
	// Jobs: items that ended, turns that ended with them, and who is told.
	finishes   *batcher[jobs.Finish]
	endings    endings
	jobNews    news
	resultNews newsOf
	resultTTL  time.Duration
	public     string       // base of links in webhooks
	cleaned    atomic.Int64 // when the files were cleaned last, in milliseconds
	unclean    atomic.Bool  // what was erased may still lie in the write-ahead log
	statistics statistics
	stops      optOutCache
	standby    standingCache
}

// Open opens the database at rawURL and brings its schema up to date: "sqlite:PATH",
// "sqlite::memory:" (one process, gone at its end) or "postgres://…".
func Open(ctx context.Context, rawURL string, o Options) (*Store, error) {
	if o.MustExist {
		if err := exists(rawURL); err != nil {
			return nil, err
		}
	}
	s, err := connect(rawURL)
	if err != nil {
		return nil, err
	}
	if err := s.set(o); err != nil {
		return nil, errors.Join(err, s.closeDatabase())
	}
	if err := s.prepare(ctx, rawURL, o.NoMigrate); err != nil {
		return nil, errors.Join(err, s.closeDatabase())
	}
	if err := s.openRiver(); err != nil {
		return nil, errors.Join(err, s.closeDatabase())
	}
	s.ledger = newBatcher(s.flushLedger, nil)
	s.log = newBatcher(s.flushLog, nil)
	s.finishes = newBatcher(s.flushFinishes, func(f *jobs.Finish) int { return len(f.Found) })
	s.queues = newQueues()
	return s, nil
}

func (s *Store) set(o Options) (err error) {
	s.fixed, s.clock, s.plans, s.lease = o.Clock, o.Clock, o.Plans, o.Lease
	if s.clock == nil {
		s.clock = machineClock{}
	}
	s.public = strings.TrimRight(o.PublicURL, "/")
	if s.resultTTL = o.ResultTTL; s.resultTTL <= 0 {
		s.resultTTL = DefaultResultTTL
	}
	if s.lease <= 0 {
		s.lease = DefaultLease
	}
	if s.plans == nil {
		s.plans, err = billing.BuiltInPlans()
	}
	return err
}

func (s *Store) prepare(ctx context.Context, rawURL string, noMigrate bool) error {
	if err := s.db.PingContext(ctx); err != nil {
		return fmt.Errorf("open the database: %w", hidePassword(advise(err), rawURL))
	}
	if noMigrate {
		return s.checkVersion(ctx)
	}
	return s.migrate(ctx, rawURL)
}

// Close ends the store. What was begun is written first.
func (s *Store) Close() error {
	s.finishes.close()
	s.ledger.close()
	s.log.close()
	return s.closeDatabase()
}

func (s *Store) closeDatabase() error {
	err := s.db.Close()
	if s.ro != s.db {
		err = errors.Join(err, s.ro.Close())
	}
	return err
}

// Ping says whether the database answers: readiness.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.ro.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

const badURL = "database URL: write sqlite:data/webreader.db or postgres://user:password@host/name"

func connect(rawURL string) (*Store, error) {
	if path, ok := strings.CutPrefix(rawURL, "sqlite:"); ok && path != "" {
		return connectSQLite(path)
	}
	if strings.HasPrefix(rawURL, "postgres://") || strings.HasPrefix(rawURL, "postgresql://") {
		return connectPostgres(rawURL)
	}
	return nil, errors.New(badURL)
}

const memory = ":memory:"

// sqlitePragmas set up every connection. busy_timeout comes first: set later, a second opener of the
// file gets SQLITE_BUSY from journal_mode. secure_delete overwrites what is deleted, also in the
// write-ahead log's next round; temporary tables never touch the disk.
const sqlitePragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=temp_store(2)"

func connectSQLite(path string) (*Store, error) {
	if path == memory {
		db, err := sql.Open(sqliteDriver, "file::memory:?"+sqlitePragmas+"&_txlock=immediate")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return &Store{db: db, ro: db, commits: &commits{db: db}}, nil
	}
	path = filepath.Clean(strings.TrimPrefix(path, "//"))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	file := "file:" + (&url.URL{Path: path}).EscapedPath() + "?"
	db, err := sql.Open(sqliteDriver, file+sqlitePragmas+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	ro, err := sql.Open(sqliteDriver, file+sqlitePragmas+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	ro.SetMaxOpenConns(max(4, runtime.NumCPU()))
	ro.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return &Store{db: db, ro: ro, commits: &commits{db: db}}, nil
}

// ErrNoDatabase is the error of Open under MustExist where there is no SQLite file.
var ErrNoDatabase = errors.New("there is no database")

// exists is an error where a SQLite file is missing.
func exists(rawURL string) error {
	path, ok := strings.CutPrefix(rawURL, "sqlite:")
	if !ok || path == memory {
		return nil
	}
	path = strings.TrimPrefix(path, "//")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w at %s: run this in the server's folder, or name its database", ErrNoDatabase, path)
	}
	return nil
}

func connectPostgres(rawURL string) (*Store, error) {
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", badURL, hidePassword(err, rawURL))
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return &Store{db: db, ro: db, postgres: true}, nil
}

// advise adds to what PostgreSQL says what can be done about it.
func advise(err error) error {
	var said *pgconn.PgError
	var dial *net.OpError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &said) && said.Code == "3D000": // invalid_catalog_name
		return fmt.Errorf("%s: make it first, with createdb", said.Message)
	case errors.As(err, &said) && strings.HasPrefix(said.Code, "28"): // invalid authorization
		return fmt.Errorf("%s: check the user and the password in the URL", said.Message)
	case errors.As(err, &lookup):
		return fmt.Errorf("the name %s leads nowhere (%s): check the host in the URL", lookup.Name, lookup.Err)
	case errors.As(err, &dial):
		return fmt.Errorf("no connection (%w): does the server run, and is the address in the URL right?", dial.Err)
	}
	return err
}

// hidePassword takes the database's password out of an error.
func hidePassword(err error, rawURL string) error {
	u, parseErr := url.Parse(rawURL)
	if parseErr != nil {
		return errors.New("it cannot be parsed")
	}
	password, ok := u.User.Password()
	if !ok || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "…"))
}

type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
