package main

import (
	"context"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/netguard"
	"github.com/webreaderapi/webreader/reader"
	"github.com/webreaderapi/webreader/reader/gate"
)

// rooms are what the gate keeps its state in: memory for one command, the database for a server.
type rooms struct {
	Clock     gate.Clock
	Turns     gate.Turns
	Robots    gate.RobotsStore
	OptOuts   gate.OptOuts
	Standings gate.Standings
	Log       gate.FetchLog
}

// engine is everything that reads: the same for a command and for a server.
type engine struct {
	gate    *gate.Gate
	reader  *reader.Reader
	timeout time.Duration // of a read as a whole
}

// newEngine puts the engine together from the settings.
func newEngine(setting func(string) string, r rooms) (*engine, error) {
	timeout, err := durationSetting(setting, envTimeout, defaultTimeout)
	if err != nil {
		return nil, err
	}
	body, err := sizeSetting(setting, envMaxBody, defaultMaxBody)
	if err != nil {
		return nil, err
	}
	guard, err := netguard.FromEnv(setting)
	if err != nil {
		return nil, settingError(err)
	}
	dialer, err := netguard.New(guard)
	if err != nil {
		return nil, settingError(err)
	}
	g, err := gate.New(gate.Config{
		Clock: r.Clock, Dialer: dialer, Turns: r.Turns, Robots: r.Robots, OptOuts: r.OptOuts, Standings: r.Standings, Log: r.Log,
		Timeout: timeout, MaxBody: body,
	})
	if err != nil {
		return nil, err
	}
	return &engine{gate: g, reader: reader.New(g, reader.Config{Timeout: timeout}), timeout: timeout}, nil
}

// localAccount is the account of the command line.
const localAccount = "local"

// memoryRooms are the rooms of one command: nothing outlives it, no site has opted out, the local
// account is in good standing, no log is kept.
func memoryRooms() rooms {
	clock := gate.SystemClock{}
	return rooms{
		Clock: clock, Turns: gate.NewMemoryTurns(clock, 0), Robots: &gate.MemoryRobots{},
		OptOuts: gate.NoOptOuts{}, Standings: gate.AllGood{}, Log: gate.NoLog{},
	}
}

// memoryLedger is the ledger of one command. It keeps the rule of the real one: what is settled was
// held before, once.
type memoryLedger struct {
	mu   sync.Mutex
	held map[string]bool
}

var _ billing.Ledger = (*memoryLedger)(nil)

func newMemoryLedger() *memoryLedger { return &memoryLedger{held: map[string]bool{}} }

// Hold reserves the order's price; the local account has no cap.
func (l *memoryLedger) Hold(_ context.Context, o billing.Order) (billing.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := billing.Hold{
		ID: billing.NewID("read"), Receipt: billing.NewID("rcp"), Account: o.Account, Operation: o.Operation, Units: o.Price(),
		Expires: time.Now().Add(o.LongestRead() + billing.SettleTime),
	}
	l.held[h.ID] = true
	return h, nil
}

// Settle ends a hold with a delivered read.
func (l *memoryLedger) Settle(_ context.Context, h billing.Hold, _ reader.Receipt) error {
	return l.end(h)
}

// Void ends a hold without a debit.
func (l *memoryLedger) Void(_ context.Context, h billing.Hold, _ reader.Outcome, _ error) error {
	return l.end(h)
}

func (l *memoryLedger) end(h billing.Hold) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held[h.ID] {
		return billing.ErrHoldEnded
	}
	delete(l.held, h.ID)
	return nil
}
