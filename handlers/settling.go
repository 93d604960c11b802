package handlers

import (
	"context"
	"sync"
	"time"
)

// settling knows the answers that have gone out and are not in the books yet. A customer who has the
// whole page may ask for the usage, or repeat the request, before the ledger is written: such a call
// waits for what it must see. Other replicas may be behind by as long as a settlement takes.
type settling struct {
	mu   sync.Mutex
	open map[string]map[chan struct{}]bool // by account
}

// settleWait is how long a call waits at most: it would rather be behind than hang.
const settleWait = 2 * time.Second

// begin notes an answer of account that is about to go out; end says that the books know it.
func (s *settling) begin(account string) (end func()) {
	written := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]map[chan struct{}]bool{}
	}
	if s.open[account] == nil {
		s.open[account] = map[chan struct{}]bool{}
	}
	s.open[account][written] = true
	return func() {
		close(written)
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.open[account], written); len(s.open[account]) == 0 {
			delete(s.open, account)
		}
	}
}

// wait returns when the books know every answer of account that went out before.
func (s *settling) wait(ctx context.Context, account string) {
	s.mu.Lock()
	var all []chan struct{}
	for written := range s.open[account] {
		all = append(all, written)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for _, written := range all {
		select {
		case <-written:
		case <-ctx.Done():
			return
		}
	}
}
