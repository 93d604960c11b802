package store

import "sync"

// news tells whoever waits in this process that something happened. The zero value is ready.
type news struct {
	mu sync.Mutex
	ch chan struct{}
}

func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}

// newsOf is news by name; names nobody waits for take no memory. The zero value is ready.
type newsOf struct {
	mu sync.Mutex
	by map[string]chan struct{}
}

func (n *newsOf) next(name string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[string]chan struct{}{}
	}
	ch := n.by[name]
	if ch == nil {
		ch = make(chan struct{})
		n.by[name] = ch
	}
	return ch
}

func (n *newsOf) tell(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch := n.by[name]; ch != nil {
		close(ch)
		delete(n.by, name)
	}
}

// JobsChanged is closed when something new may be claimed. See jobs.Store.
func (s *Store) JobsChanged() <-chan struct{} { return s.jobNews.next() }
