package netguard

import (
	"context"
	"net"
	"net/netip"
	"strings"
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
	r := &net.Resolver{PreferGo: true}
	if dns.IsValid() {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, dns.String())
		}
	}
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		if strings.Contains(host, ".") {
			host += "." // no search domains
		}
		addrs, err := r.LookupNetIP(ctx, "ip", host)
		for i, a := range addrs {
			addrs[i] = a.Unmap()
		}
		return addrs, err
	}
}
