package netguard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dialer opens connections to judged addresses. It is safe for use by many goroutines.
type Dialer struct {
	cfg    Config
	guard  guard
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// socket is called with each address just before its socket connects; tests count by it.
	socket func(netip.AddrPort)
}

// New makes a Dialer of a valid Config.
func New(c Config) (*Dialer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	d := &Dialer{cfg: c.withDefaults(), guard: guard{allow: c.AllowNetworks, own: ownAddrs()}}
	d.lookup = resolver(c.DNS)
	return d, nil
}

// ownAddrs are the addresses of this machine's interfaces.
func ownAddrs() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil // then the private ones are refused by their block all the same
	}
	var own []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap().WithZone(""))
		}
	}
	return own
}

// Conn is a connection and the address at its far end: behind a proxy that of the site.
type Conn struct {
	net.Conn
	Site netip.AddrPort
}

// HasExit is true when requests can leave from country; "" is the default exit.
func (d *Dialer) HasExit(country string) bool {
	return country == "" || d.cfg.Egress[country] != nil
}

// DialContext dials by the default exit, in the form http.Transport wants.
func (d *Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	c, err := d.Dial(ctx, "", address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Dial connects to address, "host:port" of a URL, by the exit of country. Its error is or wraps one of
// ErrNotAllowed, ErrResolve, ErrConnect (with ErrExit behind a proxy) or ErrNoExit.
func (d *Dialer) Dial(ctx context.Context, country, address string) (*Conn, error) {
	if !d.HasExit(country) {
		return nil, fmt.Errorf("%w: %q", ErrNoExit, country)
	}
	sites, err := d.Resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ConnectTimeout)
	defer cancel()
	return d.first(ctx, country, sites)
}

// maxAddrs bounds how many addresses of one name are tried.
const maxAddrs = 4

// first is the first connection that comes about, each address having an equal share of what time is
// left. Nothing has been sent by then, so this is no retry of a request.
func (d *Dialer) first(ctx context.Context, country string, sites []netip.AddrPort) (*Conn, error) {
	var last error
	sites = sites[:min(len(sites), maxAddrs)]
	for i, site := range sites {
		share, cancel := shareOf(ctx, len(sites)-i)
		c, err := d.connect(share, country, site)
		cancel()
		if err == nil {
			return &Conn{c, site}, nil
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

func shareOf(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || left <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
}

func (d *Dialer) connect(ctx context.Context, country string, site netip.AddrPort) (net.Conn, error) {
	if country != "" {
		return d.connectBy(ctx, d.cfg.Egress[country], site)
	}
	dialer := net.Dialer{KeepAlive: -1, ControlContext: func(_ context.Context, _, real string, _ syscall.RawConn) error {
		return d.recheck(real, site)
	}}
	c, err := dialer.DialContext(ctx, "tcp", site.String())
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return c, nil
}

// recheck is the last word, on the address that the socket really gets.
func (d *Dialer) recheck(real string, judged netip.AddrPort) error {
	a, err := netip.ParseAddrPort(real)
	if err != nil || a != judged {
		return fmt.Errorf("%w: the socket's address is not the judged one", ErrNotAllowed)
	}
	if !d.guard.inside(a.Addr()) {
		if err := notPublic(a.Addr()); err != nil {
			return err
		}
	}
	if d.socket != nil {
		d.socket(a)
	}
	return nil
}

// connectError keeps the context's error apart from the network's.
func connectError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w: %w", ErrConnect, err, ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrConnect, err)
}

// Resolve judges address, "host:port" of a URL, and is the addresses to dial for it: never empty
// without an error. One bad answer among several refuses all: mixed answers are an attack.
func (d *Dialer) Resolve(ctx context.Context, address string) ([]netip.AddrPort, error) {
	host, rawPort, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: not host:port", ErrNotAllowed)
	}
	port, err := strconv.ParseUint(rawPort, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%w: not a port", ErrNotAllowed)
	}
	if strings.HasPrefix(address, "[") && !strings.Contains(host, ":") {
		return nil, fmt.Errorf("%w: brackets around a name", ErrNotAllowed)
	}
	if host, err = canonical(host); err != nil {
		return nil, err
	}
	sites, err := d.answers(ctx, host, uint16(port))
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		if err := d.guard.judge(host, uint16(port), site.Addr()); err != nil {
			return nil, err
		}
	}
	return sites, nil
}

// answers are the addresses of host: itself, those of the static map, or those of the resolver.
func (d *Dialer) answers(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(a, port)}, nil
	}
	if sites := mapped(d.cfg.Resolve, host, port); len(sites) > 0 {
		return sites, nil
	}
	if !publicName(host) && len(d.guard.allow) == 0 {
		return nil, fmt.Errorf("%w: not a public name", ErrNotAllowed) // and no question to the resolver
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.ResolveTimeout)
	defer cancel()
	addrs, err := d.lookup(ctx, host)
	if (err != nil || len(addrs) == 0) && !publicName(host) {
		return nil, fmt.Errorf("%w: not a public name", ErrNotAllowed)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolve, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolve, err)
	}
	if len(addrs) == 0 {
		return nil, ErrResolve
	}
	sites := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		sites[i] = netip.AddrPortFrom(a, port)
	}
	return sites, nil
}
