package store

import "sync"

// queues are the lines of this process in front of pace keys: first come, first served. A place is
// held from joining until the turn is taken, not until it ends: the next in line waits for the row.
type queues struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	places []*place
	turns  int           // turns of this process at the key that run
	ended  chan struct{} // closed when one of them ends
}

// place is one caller's place in one line.
type place struct {
	name  string
	moves chan struct{} // told when the line moves
}

func newQueues() *queues { return &queues{lines: map[string]*line{}} }

func (q *queues) join(name string) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.line(name)
	p := &place{name: name, moves: make(chan struct{}, 1)}
	l.places = append(l.places, p)
	return p
}

// line is the line of that name; q.mu is held.
func (q *queues) line(name string) *line {
	l := q.lines[name]
	if l == nil {
		l = &line{ended: make(chan struct{})}
		q.lines[name] = l
	}
	return l
}

// ahead is how many stand before p.
func (q *queues) ahead(p *place) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.lines[p.name].places {
		if other == p {
			return i
		}
	}
	return 0
}

// leave takes p out of its line and tells those behind it.
func (q *queues) leave(p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p.name]
	for i, other := range l.places {
		if other == p {
			l.places = append(l.places[:i], l.places[i+1:]...)
			break
		}
	}
	if len(l.places) == 0 {
		q.tidy(p.name, l)
		return
	}
	select {
	case l.places[0].moves <- struct{}{}:
	default:
	}
}

// tidy drops a line that nobody needs; q.mu is held.
func (q *queues) tidy(name string, l *line) {
	if len(l.places) == 0 && l.turns == 0 {
		delete(q.lines, name)
	}
}

// ended is closed when the next turn of this process at name ends.
func (q *queues) ended(name string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line(name).ended
}

// active is true while this process has a turn at name.
func (q *queues) active(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line(name).turns > 0
}

// begin counts a turn at its keys.
func (q *queues) begin(keys []heldKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range keys {
		q.line(h.key.Name).turns++
	}
}

// end tells the lines of the keys that a turn ended.
func (q *queues) end(keys []heldKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range keys {
		l := q.line(h.key.Name)
		l.turns--
		close(l.ended)
		l.ended = make(chan struct{})
		q.tidy(h.key.Name, l)
	}
}
