package handlers

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/webreaderapi/webreader/billing"
	"github.com/webreaderapi/webreader/internal/fault"
)

// limits keeps what each account, or each site operator's address, uses of its rate and of its reads
// at once. It is this process's own: behind several replicas an account has the sum.
type limits struct {
	mu    sync.Mutex
	now   func() time.Time
	users map[string]*user
	swept time.Time
	reads chan struct{} // one place for each read under way, over all accounts
}

// user is one account's use. It is guarded by the mutex of limits.
type user struct {
	bucket  *rate.Limiter // nil when the plan has no limit a minute
	minute  billing.Limit
	atOnce  billing.Limit
	running int64
	seen    time.Time
}

func newLimits(now func() time.Time, reads int) *limits {
	return &limits{now: now, users: map[string]*user{}, reads: make(chan struct{}, reads)}
}

// idleAfter is how long an account's use is remembered: by then every bucket is full again.
const idleAfter = 2 * time.Minute

// user is the use of name under its plan, as it is now. The mutex is held.
func (l *limits) user(name string, minute, atOnce billing.Limit) *user {
	now := l.now()
	l.sweep(now)
	u := l.users[name]
	if u == nil || u.minute != minute {
		running := int64(0)
		if u != nil {
			running = u.running
		}
		u = &user{minute: minute, running: running}
		if !minute.IsUnlimited() {
			u.bucket = rate.NewLimiter(rate.Limit(float64(minute)/60), int(min(int64(minute), math.MaxInt32)))
		}
		l.users[name] = u
	}
	u.seen, u.atOnce = now, atOnce
	return u
}

func (l *limits) sweep(now time.Time) {
	if now.Sub(l.swept) < idleAfter {
		return
	}
	l.swept = now
	for name, u := range l.users {
		if u.running == 0 && now.Sub(u.seen) > idleAfter {
			delete(l.users, name)
		}
	}
}

// spend takes one request of the rate. The headers say what is left; wait is 0 when it was granted.
func (l *limits) spend(name string, minute, atOnce billing.Limit) (policy, left string, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u, now := l.user(name, minute, atOnce), l.now()
	if u.bucket != nil && !u.bucket.AllowN(now, 1) {
		wait = time.Duration((1 - u.bucket.TokensAt(now)) / float64(u.bucket.Limit()) * float64(time.Second))
		if minute == 0 {
			wait = time.Minute
		}
	}
	policy, left = u.headers(now)
	return policy, left, wait
}

// headers are RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers).
func (u *user) headers(now time.Time) (policy, left string) {
	var policies, rest []string
	if u.bucket != nil {
		tokens := max(0, u.bucket.TokensAt(now))
		full := 0.0
		if u.bucket.Limit() > 0 {
			full = (float64(u.minute) - tokens) / float64(u.bucket.Limit())
		}
		policies = append(policies, fmt.Sprintf(`"requests";q=%d;w=60`, u.minute))
		rest = append(rest, fmt.Sprintf(`"requests";r=%d;t=%d`, int64(tokens), int64(math.Ceil(full))))
	}
	if !u.atOnce.IsUnlimited() {
		policies = append(policies, fmt.Sprintf(`"reads";q=%d;qu="concurrent-requests"`, u.atOnce))
		rest = append(rest, fmt.Sprintf(`"reads";r=%d`, max(0, int64(u.atOnce)-u.running)))
	}
	return strings.Join(policies, ", "), strings.Join(rest, ", ")
}

// begin takes a place for one read; end gives it back. It never waits.
func (l *limits) begin(name string, minute, atOnce billing.Limit) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.user(name, minute, atOnce)
	if !atOnce.IsUnlimited() && u.running >= int64(atOnce) {
		return nil, &fault.Error{Kind: fault.RateLimited, RetryAfter: time.Second,
			Detail: fmt.Sprintf("This account may have %d reads under way at once, and has. Wait until one ends.", atOnce)}
	}
	select {
	case l.reads <- struct{}{}:
	default:
		return nil, &fault.Error{Kind: fault.Overloaded, RetryAfter: 2 * time.Second}
	}
	u.running++
	return func() { l.end(name) }, nil
}

func (l *limits) end(name string) {
	<-l.reads
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.users[name]; u != nil {
		u.running--
		u.seen = l.now()
	}
}

// limitRate counts the request against the account's plan.
func (s *Server) limitRate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		p := callOf(c.Request().Context()).principal
		policy, left, wait := s.limits.spend(p.Account, p.Plan.RequestsPerMinute, p.Plan.ConcurrentReads)
		if policy != "" {
			c.Response().Header().Set("RateLimit-Policy", policy)
			c.Response().Header().Set("RateLimit", left)
		}
		if wait > 0 {
			return &fault.Error{Kind: fault.RateLimited, RetryAfter: wait,
				Detail: fmt.Sprintf("The plan allows %s requests a minute. Wait as long as Retry-After says.", p.Plan.RequestsPerMinute)}
		}
		return next(c)
	}
}

// A site operator without a key may ask this often from one address.
const (
	visitorsMinute = billing.Limit(20)
	visitorsAtOnce = billing.Limit(4)
	// visitorsInAll is how many of them are answered at once: customers keep the rest of the places.
	visitorsInAll = 32
)

// visitor is who a caller without a key is: an IPv4 address, or the IPv6 network of one subscriber.
func visitor(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "visitor"
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(64) // 64 bits are never too many of 128
		return "visitor " + network.String()
	}
	return "visitor " + ip.String()
}

// limitVisitor is limitRate for callers without a key, by address.
func (s *Server) limitVisitor(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, _, wait := s.limits.spend(visitor(c.RealIP()), visitorsMinute, visitorsAtOnce)
		if wait > 0 {
			return &fault.Error{Kind: fault.RateLimited, RetryAfter: wait,
				Detail: fmt.Sprintf("Without a key this can be asked %s times a minute. Wait as long as Retry-After says.", visitorsMinute)}
		}
		return next(c)
	}
}

// beginRead takes the caller's place for a read.
func (s *Server) beginRead(ctx context.Context) (end func(), err error) {
	c := callOf(ctx)
	name, minute, atOnce := c.principal.Account, c.principal.Plan.RequestsPerMinute, c.principal.Plan.ConcurrentReads
	if name == "" {
		name, minute, atOnce = visitor(c.entry.Client), visitorsMinute, visitorsAtOnce
		select {
		case s.visitors <- struct{}{}:
			defer func() {
				if err != nil {
					<-s.visitors
				}
			}()
		default:
			return nil, &fault.Error{Kind: fault.Overloaded, RetryAfter: 2 * time.Second}
		}
	}
	giveBack, err := s.limits.begin(name, minute, atOnce)
	if err != nil {
		return nil, err
	}
	s.metrics.ReadBegins()
	return func() {
		giveBack()
		s.metrics.ReadEnds()
		if c.principal.Account == "" {
			<-s.visitors
		}
	}, nil
}
