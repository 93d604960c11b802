// Package netguard decides which addresses may be dialled, and dials them. It is the only way out of
// the house: pages, robots.txt and webhooks all leave through a Dialer.
//
// A name is resolved once, every answer is judged, and what is dialled is an address that was judged;
// the socket's real address is judged again just before it connects. There is no DNS cache.
package netguard

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"code.dny.dev/ssrf"
)

// The classes of failure. A customer learns the class and nothing more: neither address nor cause.
var (
	// ErrNotAllowed: the name, the port or an address is not public.
	ErrNotAllowed = errors.New("netguard: address not allowed")
	// ErrResolve: the name has no address, or the resolver does not answer.
	ErrResolve = errors.New("netguard: name does not resolve")
	// ErrConnect: nothing answers at the address, or at the exit.
	ErrConnect = errors.New("netguard: no connection")
	// ErrExit: the exit of a country fails, which says nothing about the site. It comes with ErrConnect.
	ErrExit = errors.New("netguard: the exit fails")
	// ErrNoExit: no exit is set up for the country.
	ErrNoExit = errors.New("netguard: no exit in that country")
)

//go:embed special.txt
var specialText string

// block is one line of special.txt.
type block struct {
	prefix netip.Prefix
	why    string
}

var special = mustParseBlocks(specialText)

var globalUnicast = netip.MustParsePrefix("2000::/3")

func mustParseBlocks(text string) []block {
	var blocks []block
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		prefix, why, _ := strings.Cut(s.Text(), " ")
		if prefix == "" || prefix == "#" {
			continue
		}
		blocks = append(blocks, block{netip.MustParsePrefix(prefix), strings.TrimSpace(why)})
	}
	return blocks
}

// secondOpinion is an independent list of the same kind: an address must pass both.
var secondOpinion = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// notPublic says why a is no public address; nil when it is one. A zone is no part of the question,
// and an IPv4 address in IPv6 spelling is bad in itself: Contains would be false for either.
func notPublic(a netip.Addr) error {
	a = a.WithZone("")
	if !a.IsValid() || a.Is4In6() {
		return fmt.Errorf("%w: not a plain address", ErrNotAllowed)
	}
	for _, b := range special {
		if b.prefix.Contains(a) {
			return fmt.Errorf("%w: %s", ErrNotAllowed, b.why)
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return fmt.Errorf("%w: outside global unicast", ErrNotAllowed)
	}
	if err := secondOpinion.SafeAddr(a); err != nil {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	return nil
}

// guard judges destinations.
type guard struct {
	allow []netip.Prefix // networks that are let through although they are not public
	own   []netip.Addr   // this machine's addresses: no request to ourselves
}

// inside is true when a lies in an allowed network.
func (g guard) inside(a netip.Addr) bool {
	if a.Is4In6() || a.Zone() != "" {
		return false
	}
	for _, p := range g.allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// judge says whether a URL's host and port may lead to a. Inside an allowed network every port and
// name is accepted; elsewhere only ports 80 and 443, public names and public addresses.
func (g guard) judge(host string, port uint16, a netip.Addr) error {
	if g.inside(a) {
		return nil
	}
	if err := notPublic(a); err != nil {
		return err
	}
	for _, own := range g.own {
		if own == a {
			return fmt.Errorf("%w: own address", ErrNotAllowed)
		}
	}
	if port != 80 && port != 443 {
		return fmt.Errorf("%w: port %d", ErrNotAllowed, port)
	}
	if _, err := netip.ParseAddr(host); err != nil && !publicName(host) {
		return fmt.Errorf("%w: not a public name", ErrNotAllowed)
	}
	return nil
}

// localSuffixes never mean a public host (RFC 6761, 6762, 7686, 8375; ICANN on .internal).
var localSuffixes = []string{"localhost", "local", "internal", "localdomain", "home.arpa", "onion", "invalid"}

func publicName(host string) bool {
	if !strings.Contains(host, ".") {
		return false
	}
	for _, s := range localSuffixes {
		if strings.HasSuffix(host, "."+s) {
			return false
		}
	}
	return true
}

// canonical is the one form of a host: lower case, no trailing dot, an address without brackets. What
// could be read as two things is refused.
func canonical(host string) (string, error) {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		if a.Zone() != "" || a.Is4In6() {
			return "", fmt.Errorf("%w: odd form of an address", ErrNotAllowed)
		}
		return a.String(), nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 {
		return "", fmt.Errorf("%w: not a host name", ErrNotAllowed)
	}
	for _, label := range strings.Split(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("%w: not a host name", ErrNotAllowed)
		}
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; numeric(last) {
		return "", fmt.Errorf("%w: odd form of an address", ErrNotAllowed)
	}
	return host, nil
}

// numeric is true for labels that some resolvers read as a part of an address: 10, 0x7f, 0177.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
