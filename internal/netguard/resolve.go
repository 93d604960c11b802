package netguard

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// mapped are the addresses that the static map has for host.
func mapped(mappings []Mapping, host string, port uint16) []netip.AddrPort {
	best := ""
	for _, m := range mappings {
		if fits(m.Pattern, host) && better(m.Pattern, best) {
			best = m.Pattern
		}
	}
	var sites []netip.AddrPort
	for _, m := range mappings {
		if best == "" || m.Pattern != best {
			continue
		}
		wire := port
		if m.Port != 0 {
			wire = m.Port
		}
		sites = append(sites, netip.AddrPortFrom(m.Addr, wire))
	}
	return sites
}

func fits(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return suffix == "" || strings.HasSuffix(host, suffix)
	}
	return pattern == host
}

// better: a full name is better than a suffix, a longer suffix better than a shorter one.
func better(pattern, than string) bool {
	wildcard := strings.HasPrefix(pattern, "*")
	if than == "" || wildcard != strings.HasPrefix(than, "*") {
		return than == "" || !wildcard
	}
	return len(pattern) > len(than)
}

// resolver asks the server at dns, or the system's for the zero value. IPv4 answers come in their own
// form, however the library spells them: an IPv4-mapped answer is judged as the IPv4 address it is.
func resolver(dns netip.AddrPort) func(context.Context, string) ([]netip.Addr, error) {
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		if strings.Contains(host, ".") {
			host += "." // no search domains
		}
		q := question{dns: dns}
		defer q.close()
		addrs, err := (&net.Resolver{PreferGo: true, Dial: q.dial}).LookupNetIP(ctx, "ip", host)
		for i, a := range addrs {
			addrs[i] = a.Unmap()
		}
		return addrs, err
	}
}

// question is one lookup's connections to name servers. The library goes on asking after the context
// has ended; closing the connections ends that.
type question struct {
	dns    netip.AddrPort
	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (q *question) dial(ctx context.Context, network, server string) (net.Conn, error) {
	if q.dns.IsValid() {
		server = q.dns.String()
	}
	c, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	q.conns = append(q.conns, c)
	return c, nil
}

func (q *question) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, c := range q.conns {
		_ = c.Close()
	}
}
