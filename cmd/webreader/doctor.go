package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/handlers"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/internal/store"
	"github.com/webreaderapi/webreader/internal/telemetry"
)

// doctorCommands is the command that looks for what would not work.
type doctorCommands struct {
	Doctor doctorCmd `cmd:"" help:"Check the settings, the database and the way out to sites."`
}

type doctorCmd struct {
	serverFlags
	databaseFlags
	engineFlags
	workerFlags
	NoWorkers bool `name:"no-workers" setting:"WEBREADER_NO_WORKERS" help:"Leave jobs to webreader work."`
	paymentFlags
	To string `help:"Where a connection is tried to; nothing is asked there." default:"example.com:80" placeholder:"HOST:PORT"`
}

// Help is shown by --help.
func (doctorCmd) Help() string {
	return "Looks at everything and changes nothing: no key is made, no schema is changed, no page is asked for. It may run\n" +
		"beside a server. Exit 0 when a server with these settings would work, else 1.\n\nExample:\n\n  webreader doctor"
}

// examination is what the doctor says while it looks.
type examination struct {
	*app
	sick bool
}

func (e *examination) say(state, what, finding string) {
	fmt.Fprintf(e.Out, "%-4s  %-10s %s\n", state, what, finding)
}

// check says what is wrong, or that it is fine.
func (e *examination) check(what string, err error, fine string) bool {
	if err != nil {
		e.sick = true
		e.say("BAD", what, oneLine(err))
		return false
	}
	e.say("ok", what, fine)
	return true
}

// Run looks at everything; one thing that is wrong does not hide another.
func (c *doctorCmd) Run(a *app) error {
	e := &examination{app: a}
	e.settings()
	e.addresses()
	e.database()
	e.egress(c.To)
	if e.sick {
		return &reportedError{errors.New("something is wrong")}
	}
	return nil
}

func (e *examination) settings() {
	_, err := telemetry.FromEnv(e.setting, false)
	e.check("log", err, "its settings are good")
	_, timeErr := durationSetting(e.setting, envTimeout, defaultTimeout)
	_, sizeErr := sizeSetting(e.setting, envMaxBody, defaultMaxBody)
	_, keepErr := durationSetting(e.setting, envRetention, defaultRetention)
	_, resultErr := durationSetting(e.setting, envResultTTL, store.DefaultResultTTL)
	_, workersErr := switchSetting(e.setting, envNoWorkers)
	e.check("limits", errors.Join(timeErr, sizeErr, keepErr, resultErr), "times and sizes are good")
	e.check("switches", errors.Join(workersErr, checkSigning(e.setting)), "they are good")
	_, plansErr := loadPlans(e.setting)
	_, stripeErr := billing.StripeFromEnv(e.setting)
	e.check("billing", errors.Join(plansErr, stripeErr), "its settings are good")
	profile, err := loadProfile(e.setting)
	if !e.check("profile", err, "it is good") {
		return
	}
	if profile.Identity.Contact == "" {
		e.say("warn", "profile", "it has no identity.contact: site operators cannot reach you")
	}
	if profile.Identity.InfoURL == "" {
		e.say("warn", "profile", "it has no identity.info_url and WEBREADER_PUBLIC_URL is not set: the user agent explains itself nowhere")
	}
}

// addresses tells whether a server could listen; one that listens already has them for itself.
func (e *examination) addresses() {
	config, err := handlers.FromEnv(e.setting)
	if err == nil {
		err = checkBilling(e.setting, config)
	}
	if !e.check("server", err, "its settings are good") {
		return
	}
	for name, address := range map[string]string{"WEBREADER_ADDR": config.Addr, "WEBREADER_ADMIN_ADDR": config.AdminAddr} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			e.say("warn", "server", fmt.Sprintf("%s: cannot listen on %s now (%s); a server that runs already is the usual reason", name, address, rootCause(err)))
			continue
		}
		_ = l.Close()
	}
}

// database looks without making or changing anything.
func (e *examination) database() {
	address := strings.TrimSpace(e.setting(envDatabase))
	if address == "" {
		address = defaultDatabase
	}
	s, err := store.Open(e.ctx, address, store.Options{MustExist: true, NoMigrate: true})
	if errors.Is(err, store.ErrNoDatabase) {
		e.say("warn", "database", "there is none yet; the first start of the server makes it")
		return
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", envDatabase, err)
	}
	if !e.check("database", err, "it answers and its schema is up to date") {
		return
	}
	defer s.Close() //nolint:errcheck // nothing was written
	accounts, err := s.ListAccounts(e.ctx, "", 1)
	if err == nil && len(accounts) == 0 {
		e.say("warn", "database", "it has no account; make one with: webreader keys create --account NAME --create-account")
	}
	e.check("accounts", err, "they can be read")
}

// egress opens connections, from here and through every exit, and closes them again.
func (e *examination) egress(to string) {
	guard, err := checkGuard(e.setting)
	if !e.check("guard", err, "its settings are good") {
		return
	}
	for _, line := range guard.Warnings() {
		e.say("warn", "guard", line)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		e.check("egress", err, "")
		return
	}
	for _, country := range append([]string{""}, slices.Sorted(maps.Keys(guard.Egress))...) {
		from := "from here"
		if country != "" {
			from = "through the exit in " + country
		}
		ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
		c, err := dialer.Dial(ctx, country, to)
		cancel()
		if err != nil {
			err = fmt.Errorf("%s cannot be reached %s: %w", to, from, err)
		}
		if e.check("egress", err, to+" can be reached "+from) {
			_ = c.Close()
		}
	}
}
