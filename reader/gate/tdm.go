package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/policy/signals"
)

// tdmFiles keeps what authorities said by tdmrep.json, for as long as a robots.txt may be kept. The
// zero value is ready.
type tdmFiles struct {
	mu sync.Mutex
	by map[string]tdmCopy
}

type tdmCopy struct {
	file  *signals.TDMFile // nil: the site says nothing
	until time.Time
}

func (fs *tdmFiles) get(authority string, now time.Time) (*signals.TDMFile, bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	c, ok := fs.by[authority]
	return c.file, ok && now.Before(c.until)
}

func (fs *tdmFiles) put(authority string, c tdmCopy) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.by == nil {
		fs.by = make(map[string]tdmCopy)
	}
	for other := range fs.by {
		if len(fs.by) < maxFiles {
			break
		}
		delete(fs.by, other)
	}
	fs.by[authority] = c
}

// tdm is the tdmrep.json of the authority of t under a profile that heeds it (TDMRep section 6.1): asked
// for once a day, one reader at a time, its redirects not followed. A site without one says nothing.
func (r *reading) tdm(ctx context.Context, t policy.Target) (*signals.TDMFile, error) {
	key := t.TDMRep().String()
	for {
		if file, held := r.tdmFiles.get(key, r.cfg.Clock.Now()); held {
			return file, nil
		}
		f, leads := r.flights.join(key)
		if leads {
			file, err := r.askTDM(ctx, t, key)
			r.flights.land(key, f)
			return file, err
		}
		r.giveBack(ctx)
		if err := r.await(ctx, f); err != nil {
			return nil, err
		}
	}
}

func (r *reading) askTDM(ctx context.Context, t policy.Target, key string) (*signals.TDMFile, error) {
	robots, _, err := r.cfg.Robots.Robots(ctx, t.Authority()) // its Crawl-delay holds for this request too
	if err != nil {
		return nil, fmt.Errorf("gate: the stored robots.txt: %w", err)
	}
	answer, err := r.control(ctx, t.TDMRep(), robots, 1)
	c := tdmCopy{until: r.cfg.Clock.Now().Add(r.life(nil))}
	switch {
	case err != nil && fatal(ctx, err, 0):
		return nil, err
	case err != nil, answer.Status/100 == 5:
		c.until = r.cfg.Clock.Now().Add(r.cfg.RobotsRetry)
	case answer.Status == 200 && !answer.Truncated:
		c.file, _ = signals.ParseTDM(answer.Body) // what cannot be read says nothing
	}
	r.tdmFiles.put(key, c)
	return c.file, nil
}
