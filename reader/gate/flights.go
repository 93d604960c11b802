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
	mu    sync.Mutex
	by    map[string]parsedFile
	bytes int // of memory that the files take
}

type parsedFile struct {
	fetchedAt time.Time
	size      int
	file      *signals.File
}

// Bounds on parsed files, in number and in memory; beyond them any one makes room.
const (
	maxFiles      = 1000
	maxFilesBytes = 64 << 20
)

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
	fs.keep(c.Authority, p)
	return p.file
}

func (fs *files) keep(authority string, p parsedFile) {
	if fs.by == nil {
		fs.by = make(map[string]parsedFile)
	}
	fs.drop(authority)
	fs.bytes += p.file.Size()
	for other := range fs.by {
		if len(fs.by) < maxFiles && fs.bytes <= maxFilesBytes {
			break
		}
		fs.drop(other)
	}
	fs.by[authority] = p
}

func (fs *files) drop(authority string) {
	if old, ok := fs.by[authority]; ok {
		fs.bytes -= old.file.Size()
		delete(fs.by, authority)
	}
}
