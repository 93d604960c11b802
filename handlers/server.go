// Package handlers is the HTTP API: it turns requests into orders and questions for the rooms below,
// and their documents, verdicts and faults into answers. server.go lists all routes.
package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader/gate"
)

// Meter makes a read: *billing.Meter.
type Meter interface {
	Read(ctx context.Context, o billing.Order, give billing.HandOver) error
}

// Decider answers whether a page may be read: *gate.Gate.
type Decider interface {
	Decide(ctx context.Context, a gate.Ask) (policy.Verdict, error)
}

// Rooms are what the handlers call. All are needed.
type Rooms struct {
	Meter       Meter
	Decider     Decider
	Accounts    billing.Accounts
	Usage       billing.Usage
	Idempotency billing.Idempotency
	// Desk is where customers pay; nil where nobody does.
	Desk    Desk
	Profile *policy.Profile
	// Promises is the promise table; what is shown of it is the profile's.
	Promises []policy.Promise
	Jobs     *jobs.Desk
	// Watches keeps watches; WatchKick, when not nil, makes the rounds' worker look for work at once.
	Watches   Watches
	WatchKick func()
	// HasExit says whether requests can leave from a country; nil is from any.
	HasExit func(country string) bool
	// PlainHook says whether webhooks may go to a host by http; nil is never.
	PlainHook func(host string) bool
	// Ready is nil while the database answers.
	Ready   func(context.Context) error
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *telemetry.Metrics
}

// Server is the API.
type Server struct {
	config    Config
	meter     Meter
	decider   Decider
	accounts  billing.Accounts
	usage     billing.Usage
	idem      billing.Idempotency
	desk      Desk
	jobs      *jobs.Desk
	plainHook func(host string) bool
	watches   Watches
	watchKick func()
	hasExit   func(country string) bool
	profile   *policy.Profile
	promises  []policy.Promise
	ready     func(context.Context) error
	now       func() time.Time
	log       *slog.Logger
	metrics   *telemetry.Metrics

	spec     *openapi3.T
	specJSON []byte
	pages    *pages
	limits   *limits
	settling settling
	visitors chan struct{} // a place for each answer to a caller without a key
	echo     *echo.Echo
	draining atomic.Bool
	stopping context.Context //nolint:containedctx // its end is what streams wait for
	stop     context.CancelFunc
}

// New is the API over its rooms.
func New(c Config, r Rooms) (*Server, error) {
	spec, err := openapi.Load()
	if err != nil {
		return nil, err
	}
	specJSON, err := spec.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the API's document: %w", err)
	}
	s := &Server{
		config: c, meter: r.Meter, decider: r.Decider, accounts: r.Accounts, usage: r.Usage, idem: r.Idempotency, jobs: r.Jobs, plainHook: r.PlainHook, desk: r.Desk,
		profile: r.Profile, promises: r.Promises, ready: r.Ready, now: r.Now, log: r.Log, metrics: r.Metrics,
		watches: r.Watches, watchKick: r.WatchKick, hasExit: r.HasExit,
		spec: spec, specJSON: specJSON, limits: newLimits(r.Now, c.MaxReads), visitors: make(chan struct{}, visitorsInAll),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	if s.watchKick == nil {
		s.watchKick = func() {}
	}
	if s.hasExit == nil {
		s.hasExit = func(string) bool { return true }
	}
	if s.pages, err = newPages(spec); err != nil {
		return nil, err
	}
	s.echo = s.newEcho()
	s.routes(s.echo)
	return s, nil
}

func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = s.clientAddress()
	e.HTTPErrorHandler = s.fail
	e.Use(s.observe, s.survive)
	return e
}

// clientAddress takes X-Forwarded-For only from the proxies named in the settings. Echo must always be
// given a rule: without one it believes any client (GO-2026-6872, GO-2026-6875).
func (s *Server) clientAddress() echo.IPExtractor {
	if len(s.config.TrustedProxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range s.config.TrustedProxies {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: p.Masked().Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// routes are all routes.
func (s *Server) routes(e *echo.Echo) {
	api := openapi.ServerInterfaceWrapper{Handler: openapi.NewStrictHandler(api{s}, nil)}

	keyed := with(e, s.authenticate, s.limitRate, s.validate)
	keyed.POST("/read", api.ReadPage)
	keyed.GET("/read", api.ReadPageByQuery)
	keyed.POST("/watches", api.CreateWatch)
	keyed.GET("/watches", api.ListWatches)
	keyed.GET("/watches/:id", api.GetWatch)
	keyed.PATCH("/watches/:id", api.ChangeWatch)
	keyed.DELETE("/watches/:id", api.DeleteWatch)
	keyed.GET("/watches/:id/changes", api.ListChanges)
	keyed.GET("/watches/:id/rounds", api.ListRounds)
	keyed.POST("/watches/:id/rounds", api.StartRound)
	keyed.GET("/watches/:id/deliveries", api.ListWatchDeliveries)
	keyed.GET("/policy", api.DecidePolicy)
	keyed.POST("/batch", api.CreateBatch)
	keyed.POST("/crawl", api.CreateCrawl)
	keyed.GET("/jobs", api.ListJobs)
	keyed.GET("/jobs/:id", api.GetJob)
	keyed.DELETE("/jobs/:id", api.DeleteJob)
	keyed.GET("/jobs/:id/results", api.GetJobResults)
	keyed.GET("/jobs/:id/events", api.StreamJobEvents)
	keyed.GET("/jobs/:id/deliveries", api.ListJobDeliveries)
	keyed.GET("/usage", api.GetUsage)
	keyed.GET("/account", api.GetAccount)
	keyed.PATCH("/account", api.ChangeAccount)
	keyed.POST("/account/webhook-secret", api.RotateWebhookSecret)
	keyed.GET("/keys", api.ListKeys)
	keyed.POST("/keys", api.CreateKey)
	keyed.DELETE("/keys/:id", api.RevokeKey)

	open := with(e, s.validate)
	for path, h := range map[string]echo.HandlerFunc{"/healthz": api.GetLiveness, "/readyz": api.GetReadiness, "/bot/ips.json": api.GetBotAddresses} {
		open.GET(path, h)
		open.HEAD(path, h) // what watches over servers asks so
	}
	with(e, s.limitVisitor, s.validate).GET("/bot/check", api.CheckAsSite)

	s.billingRoutes(e)

	pages := []string{http.MethodGet, http.MethodHead}
	e.Match(pages, "/", s.showHome)
	e.Match(pages, "/docs", s.showReference)
	e.Match(pages, "/docs/errors", s.showErrors)
	e.Match(pages, "/docs/errors/:code", s.showError)
	e.Match(pages, "/docs/acceptable-use", s.showAcceptableUse)
	e.Match(pages, "/bot", s.showBot)
	e.Match(pages, "/bot/promises", s.showPromises)
	e.Match(pages, "/openapi.json", s.sendSpecJSON)
	e.Match(pages, "/openapi.yaml", s.sendSpecYAML)
	e.Match(pages, "/llms.txt", s.sendLLMs)
	e.Match(pages, "/assets/:name", s.sendAsset)
	e.Match(pages, "/robots.txt", s.sendRobots)
}

// routed adds routes with the same middleware. Echo's own groups would also run it for addresses that
// nobody serves.
type routed struct {
	echo *echo.Echo
	with []echo.MiddlewareFunc
}

func with(e *echo.Echo, m ...echo.MiddlewareFunc) routed { return routed{e, m} }

func (r routed) GET(path string, h echo.HandlerFunc)    { r.echo.GET(path, h, r.with...) }
func (r routed) HEAD(path string, h echo.HandlerFunc)   { r.echo.HEAD(path, h, r.with...) }
func (r routed) POST(path string, h echo.HandlerFunc)   { r.echo.POST(path, h, r.with...) }
func (r routed) PATCH(path string, h echo.HandlerFunc)  { r.echo.PATCH(path, h, r.with...) }
func (r routed) DELETE(path string, h echo.HandlerFunc) { r.echo.DELETE(path, h, r.with...) }

// api are the operations of the document. They stand apart from Server so that its own methods do
// not mix with the generated interface's.
type api struct{ *Server }

// Handler answers the public API. On the admin address it answers /healthz and /readyz.
func (s *Server) Handler() http.Handler { return s.echo }

// HTTPServer is the server to run for the public API, with the time and size limits of one.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Addr: s.config.Addr, Handler: s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    32<<10 - 4096, // net/http allows 4096 more than it is told
		IdleTimeout:       2 * time.Minute,
		WriteTimeout:      s.config.Timeout + bodyTime + handOverTime + time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// Drain makes /readyz say no, so that no new requests are sent here, and ends streams.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.stop()
}

// observe gives every request its id, the headers all answers have, and its one log line.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := s.now()
		r, h := c.Request(), c.Response().Header()
		call := &call{id: billing.NewID("req"), accept: r.Header.Get("Accept"), languages: r.Header.Get("Accept-Language"), base: publicBase(s.config.PublicURL, r, c.Scheme())}
		call.entry = telemetry.Request{ID: call.id, Method: r.Method, Client: c.RealIP()}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callKey{}, call)))
		h.Set("X-Request-Id", call.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if r.ContentLength != 0 {
			_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(bodyTime)) // tests without a connection have no deadline
		}
		if err := next(c); err != nil {
			c.Error(err)
		}
		s.record(c, call, began)
		return nil
	}
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

func (s *Server) record(c echo.Context, call *call, began time.Time) {
	e := &call.entry
	e.Route, e.Status, e.Duration = c.Path(), c.Response().Status, s.now().Sub(began)
	if e.Route == "" || e.Code == "not_found" && !strings.Contains(e.Route, ":") {
		e.Route = "unknown"
	}
	if !slices.Contains(methods, e.Method) {
		e.Method = "other" // clients may make methods up, and each would be a series of its own
	}
	s.metrics.Request(*e)
	telemetry.Log(c.Request().Context(), s.log, *e)
}

// survive turns a panic into an internal error, so that one request cannot take the others down. The
// panic's own text may hold anything, so only where it happened is logged.
func (s *Server) survive(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			thrown := recover()
			if thrown == nil {
				return
			}
			if thrown == http.ErrAbortHandler { //nolint:errorlint // net/http throws this very value
				panic(thrown)
			}
			err = errors.New("panic at " + fault.PanicPlace())
			if c.Response().Committed {
				s.log.Error("panic after the answer began", "request_id", requestID(c), "error", err.Error())
				panic(http.ErrAbortHandler)
			}
		}()
		return next(c)
	}
}
