package gate

import (
	"sync"
	"time"

	"github.com/webreaderapi/webreader/policy/signals"
)

// flights lets one reader at a time ask for the robots.txt of an authority, however many want it. The
// zero value is ready.
type flights struct {
	mu sync.Mutex
	by map[string]*flight
}

type flight struct{ done chan struct{} }

// join is the flight under way for an authority, or a new one that the caller leads and lands.
func (fs *flights) join(authority string) (f *flight, leads bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.by[authority]; f != nil {
		return f, false
	}
	if fs.by == nil {
		fs.by = make(map[string]*flight)
	}
	f = &flight{make(chan struct{})}
	fs.by[authority] = f
	return f, true
}

func (fs *flights) land(authority string, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.by, authority)
	close(f.done)
}

// files keeps parsed robots.txt files, so that a copy is parsed once. The zero value is ready.
type files struct {
	mu sync.Mutex
	by map[string]parsedFile
}

type parsedFile struct {
	fetchedAt time.Time
	size      int
	file      *signals.File
}

// maxFiles bounds the memory of parsed files; beyond it any one makes room.
const maxFiles = 1000

func (fs *files) parsed(c RobotsCopy) *signals.File {
	fs.mu.Lock()
	p, ok := fs.by[c.Authority]
	fs.mu.Unlock()
	if ok && p.fetchedAt.Equal(c.FetchedAt) && p.size == len(c.Body) {
		return p.file
	}
	p = parsedFile{c.FetchedAt, len(c.Body), signals.Parse(c.Body)}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.by == nil {
		fs.by = make(map[string]parsedFile)
	}
	for authority := range fs.by {
		if len(fs.by) < maxFiles {
			break
		}
		delete(fs.by, authority)
	}
	fs.by[c.Authority] = p
	return p.file
}
