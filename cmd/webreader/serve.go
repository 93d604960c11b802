package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/handlers"
	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/internal/jobs"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/internal/telemetry"
	"github.com/webreaderapi/webreader/openapi"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/profiles"
)

// serveCommands are the commands that run the server: a field and a struct each.
type serveCommands struct {
	Serve   serveCmd   `cmd:"" help:"Run the API, with its database beside it."`
	Work    workCmd    `cmd:"" help:"Run workers only: they read what jobs have queued."`
	Openapi openapiCmd `cmd:"" name:"openapi" help:"Print the API's document (OpenAPI 3.1)."`
}

type serveCmd struct {
	serverFlags
	databaseFlags
	engineFlags
	workerFlags
	NoWorkers bool `name:"no-workers" setting:"WEBREADER_NO_WORKERS" help:"Leave jobs to webreader work."`
	paymentFlags
}

const envNoWorkers = "WEBREADER_NO_WORKERS"

// serverFlags are the settings of the API itself.
type serverFlags struct {
	Addr           string `setting:"WEBREADER_ADDR" help:"Listen address of the public API (default :8080)." placeholder:"HOST:PORT"`
	AdminAddr      string `setting:"WEBREADER_ADMIN_ADDR" help:"Metrics, pprof and health (default 127.0.0.1:9090); never the public address." placeholder:"HOST:PORT"`
	TrustedProxies string `setting:"WEBREADER_TRUSTED_PROXIES" help:"Networks whose X-Forwarded-For is believed." placeholder:"CIDR,…"`
	BotIPs         string `name:"bot-ips" setting:"WEBREADER_BOT_IPS" help:"Addresses that requests to sites leave from, with the date they were fixed." placeholder:"DATE=CIDR,…"`
	LogFormat      string `setting:"WEBREADER_LOG_FORMAT" help:"text or json (default: text on a terminal, else json)." placeholder:"FORMAT"`
	LogLevel       string `setting:"WEBREADER_LOG_LEVEL" help:"debug, info, warn or error (default info)." placeholder:"LEVEL"`
}

// Help is shown by --help.
func (serveCmd) Help() string {
	return "The first start makes the database, an account and, on a terminal, a key with a line to try it.\n" +
		"Secrets are set in the environment only.\n\nExample:\n\n  webreader serve --addr :8080 --public-url https://reader.example"
}

// Run serves until the context ends; then it lets running requests finish.
func (serveCmd) Run(a *app) error {
	s, err := newService(a)
	if err != nil {
		return err
	}
	defer s.close()
	return s.run(a.ctx)
}

// service is a running server with what it is made of.
type service struct {
	log      *slog.Logger
	store    *store.Store
	api      *handlers.Server
	metrics  *telemetry.Metrics
	payments *payments
	public   net.Listener
	admin    net.Listener
	workers  *workers // nil where webreader work does it
}

// stopTime is how long running requests may take to finish once the process is asked to stop.
const stopTime = 30 * time.Second

// newService reads the settings, opens the database and listens. Nothing is answered yet.
func newService(a *app) (_ *service, err error) {
	logging, err := telemetry.FromEnv(a.setting, isTerminal(a.Err))
	if err != nil {
		return nil, settingError(err)
	}
	s := &service{log: logging.Logger(a.Err), metrics: telemetry.NewMetrics()}
	config, err := handlers.FromEnv(a.setting)
	if err != nil {
		return nil, settingError(err)
	}
	if _, err := durationSetting(a.setting, envRetention, defaultRetention); err != nil {
		return nil, err
	}
	noWorkers, err := switchSetting(a.setting, envNoWorkers)
	if err != nil {
		return nil, err
	}
	if err := checkSigning(a.setting); err != nil {
		return nil, err
	}
	guard, err := checkGuard(a.setting)
	if err != nil {
		return nil, err
	}
	if err := checkBilling(a.setting, config); err != nil {
		return nil, err
	}
	profile, err := loadProfile(a.setting)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.store, err = openStore(a.ctx, a.setting); err != nil {
		return nil, err
	}
	if s.payments, err = newPayments(a.setting, s.store, s.log, s.metrics, config.PublicURL); err != nil {
		return nil, err
	}
	if s.api, err = s.newAPI(a.setting, config, profile, !noWorkers); err != nil {
		return nil, err
	}
	if s.public, err = listen("WEBREADER_ADDR", config.Addr); err != nil {
		return nil, err
	}
	if s.admin, err = listen("WEBREADER_ADMIN_ADDR", config.AdminAddr); err != nil {
		return nil, err
	}
	s.warnOf(guard, profile, config)
	return s, s.welcome(a)
}

func (s *service) newAPI(setting func(string) string, config handlers.Config, profile *policy.Profile, workersToo bool) (*handlers.Server, error) {
	e, err := newEngine(setting, storeRooms(s.store))
	if err != nil {
		return nil, err
	}
	if workersToo {
		if s.workers, err = newWorkers(setting, s.store, e, profile, s.payments, s.log); err != nil {
			return nil, err
		}
	}
	config.Timeout = e.timeout
	promises, err := policy.LoadPromises(profiles.Files)
	if err != nil {
		return nil, err
	}
	return handlers.New(config, handlers.Rooms{
		Meter: billing.New(e.reader, s.store), Decider: e.gate,
		Accounts: s.store, Usage: s.store, Idempotency: s.store, Jobs: jobs.NewDesk(s.store, profile), Watches: s.store, WatchKick: s.workers.kick, HasExit: e.gate.HasExit, PlainHook: plainHook(setting), Desk: s.payments.room(), Profile: profile, Promises: promises, Ready: s.store.Ping,
		Now: time.Now, Log: s.log, Metrics: s.metrics,
	})
}

func listen(setting, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, usage("%s: cannot listen on %q: %s. Choose another address, such as 127.0.0.1:8081", setting, addr, rootCause(err))
	}
	return l, nil
}

func rootCause(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// checkGuard is the guard of the settings. What opens it is refused together with money.
func checkGuard(setting func(string) string) (netguard.Config, error) {
	guard, err := netguard.FromEnv(setting)
	if err != nil {
		return guard, settingError(err)
	}
	stripe := billing.StripeConfig{Key: strings.TrimSpace(setting(envStripeKey))}
	if stripe.Live() && (len(guard.AllowNetworks) > 0 || len(guard.Resolve) > 0) {
		return guard, usage("WEBREADER_ALLOW_NETWORKS and WEBREADER_RESOLVE are for tests and intranets: they cannot be set together with a live WEBREADER_STRIPE_SECRET_KEY. Unset them, or use a test key (sk_test_…)")
	}
	return guard, nil
}

const envStripeKey = "WEBREADER_STRIPE_SECRET_KEY"

// checkBilling is an error when money is taken and the links in it would lead nowhere.
func checkBilling(setting func(string) string, config handlers.Config) error {
	if setting(envStripeKey) == "" || config.PublicURL != "" {
		return nil
	}
	return usage("%s: it is not set, and billing (%s) sends customers back to it; write it like https://reader.example", envPublicURL, envStripeKey)
}

// warnOf says loudly what opens what is closed by default, and what site operators are still owed. It
// comes when all settings are known to be good, so that a bad one has its line to itself.
func (s *service) warnOf(guard netguard.Config, profile *policy.Profile, config handlers.Config) {
	for _, line := range guard.Warnings() {
		s.log.Warn(line)
	}
	if profile.Identity.Contact == "" {
		s.log.Warn("the profile has no identity.contact: site operators cannot reach you. Set it in a profile file and start with WEBREADER_PROFILE=FILE")
	}
	switch page := profile.Identity.InfoURL; {
	case page == "":
		s.log.Warn("the user agent names no page that explains it to site operators. Set WEBREADER_PUBLIC_URL to this server's public address, or identity.info_url in a profile file")
	case config.PublicURL != "" && page == config.PublicURL+"/bot":
		s.log.Warn("the profile has no identity.info_url: the user agent points to this server's own page", "page", page)
	}
}

// welcome makes the first account and says how to use it.
func (s *service) welcome(a *app) error {
	accounts, err := s.store.ListAccounts(a.ctx, "", 1)
	if err != nil || len(accounts) > 0 {
		return err
	}
	account, err := s.store.CreateAccount(a.ctx, "default", "")
	if fault.Of(err) == fault.InvalidRequest {
		return nil // another replica was faster
	}
	if err != nil {
		return err
	}
	if !isTerminal(a.Out) {
		s.log.Info("made the account default; make a key for it with: webreader keys create --account default" + sameDatabase(a.setting))
		return nil
	}
	_, secret, err := s.store.CreateKey(a.ctx, account.ID, "first", time.Time{})
	if err != nil {
		return err
	}
	// http, so that it also works where example.com leads to a test's own server.
	_, err = fmt.Fprintf(a.Out, "\nYour API key, shown this once:\n\n  %s\n\nTry it:\n\n  curl '%s/read?url=http%%3A%%2F%%2Fexample.com%%2F' -H 'Accept: text/markdown' -H 'Authorization: Bearer %s'\n\n",
		secret.Reveal(), localURL(s.public.Addr()), secret.Reveal())
	return err
}

// sameDatabase is what a command line needs to reach this server's database. The address of a
// PostgreSQL may hold a password, so it is not repeated.
func sameDatabase(setting func(string) string) string {
	switch address := strings.TrimSpace(setting(envDatabase)); {
	case address == "" || address == defaultDatabase:
		return " (in this folder)"
	case strings.HasPrefix(address, "sqlite:"):
		return " --database-url " + address
	}
	return " (with the same " + envDatabase + ")"
}

// localURL is where this server answers for someone at this machine, whatever its public name.
func localURL(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "http://" + addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// run answers until ctx ends or a listener breaks.
func (s *service) run(ctx context.Context) error {
	public, admin := s.api.HTTPServer(), &http.Server{Handler: s.metrics.Admin(s.api.Handler()), ReadHeaderTimeout: 10 * time.Second}
	broken := make(chan error, 2)
	go func() { broken <- public.Serve(s.api.Strict(public, s.public)) }()
	go func() { broken <- admin.Serve(s.api.Strict(admin, s.admin)) }()
	working, stopWorking := context.WithCancel(ctx)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		if s.workers != nil {
			s.workers.run(working)
		}
	}()
	releaseStart()
	go s.settle(working)
	s.log.Info("serving", "address", s.public.Addr().String(), "admin", s.admin.Addr().String())
	var err error
	select {
	case err = <-broken:
	case <-ctx.Done():
		s.log.Info("stopping: no new requests are taken, running ones may finish")
	}
	s.api.Drain()
	stopWorking()
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer done()
	if slow := public.Shutdown(stopping); slow != nil {
		s.log.Warn("some requests did not finish in time and were cut off")
		_ = public.Close()
	}
	_ = admin.Close()
	<-worked
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// startTime is how long the workers' own start takes at most.
const startTime = 5 * time.Second

// settle gives back what the workers' start needed.
func (s *service) settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(startTime):
		releaseStart()
	}
}

func (s *service) close() {
	for _, l := range []net.Listener{s.public, s.admin} {
		if l != nil {
			_ = l.Close()
		}
	}
	if s.store == nil {
		return
	}
	if err := s.store.Close(); err != nil {
		s.log.Error("the database did not close cleanly", "error", err.Error())
	}
}

// isTerminal is true when a person is at the other end of w or r.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

type openapiCmd struct {
	JSON bool `help:"Print it as JSON."`
}

// Help is shown by --help.
func (openapiCmd) Help() string {
	return "Example:\n\n  webreader openapi > openapi.yaml"
}

// Run prints the document.
func (c openapiCmd) Run(a *app) error {
	text := openapi.YAML
	if c.JSON {
		var err error
		if text, err = openapi.JSON(); err != nil {
			return err
		}
	}
	_, err := a.Out.Write(text)
	return err
}
