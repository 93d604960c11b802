package netguard

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config says what a Dialer may reach and how it finds it. The zero Config reaches public addresses
// only, by the system's resolver.
type Config struct {
	// AllowNetworks are let through although they are not public.
	AllowNetworks []netip.Prefix
	// Resolve is asked before any resolver. It changes the address, never the judgement.
	Resolve []Mapping
	// DNS is the resolver for names; the zero value is the system's.
	DNS netip.AddrPort
	// Egress leads a country (two lower-case letters) to its proxy, socks5:// or http://.
	Egress map[string]*url.URL
	// ResolveTimeout and ConnectTimeout default to 5 s each.
	ResolveTimeout, ConnectTimeout time.Duration
}

// Mapping is one static resolution: a name, "*.suffix" for all names below suffix, or "*" for every
// name. The longest pattern that fits wins; mappings with equal patterns add up.
type Mapping struct {
	Pattern string
	Addr    netip.Addr
	Port    uint16 // replaces the URL's port on the wire; 0 keeps it
}

// The variables that FromEnv reads.
const (
	EnvAllowNetworks = "WEBREADER_ALLOW_NETWORKS"
	EnvResolve       = "WEBREADER_RESOLVE"
	EnvDNS           = "WEBREADER_DNS"
	EnvEgress        = "WEBREADER_EGRESS"
)

// settingError is one line: the variable, its problem, an example.
func settingError(name, problem, example string) error {
	return fmt.Errorf("%s: %s; write it like %s", name, problem, example)
}

// FromEnv reads a Config from the environment.
func FromEnv(getenv func(string) string) (Config, error) {
	var c Config
	var err error
	if c.AllowNetworks, err = ParseNetworks(getenv(EnvAllowNetworks)); err != nil {
		return Config{}, err
	}
	if c.Resolve, err = ParseResolve(getenv(EnvResolve)); err != nil {
		return Config{}, err
	}
	if c.Egress, err = ParseEgress(getenv(EnvEgress)); err != nil {
		return Config{}, err
	}
	if raw := strings.TrimSpace(getenv(EnvDNS)); raw != "" {
		if c.DNS, err = netip.ParseAddrPort(raw); err != nil {
			return Config{}, settingError(EnvDNS, fmt.Sprintf("%q is not an address with a port", raw), "9.9.9.9:53 or [2620:fe::fe]:53")
		}
	}
	return c, c.Validate()
}

func list(raw string) []string {
	var items []string
	for item := range strings.SplitSeq(raw, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// ParseNetworks reads the form of WEBREADER_ALLOW_NETWORKS.
func ParseNetworks(raw string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, item := range list(raw) {
		p, err := netip.ParsePrefix(item)
		if err != nil || p.Addr().Is4In6() {
			return nil, settingError(EnvAllowNetworks, fmt.Sprintf("%q is not a network in CIDR form", item), "127.0.0.0/8,10.20.0.0/16,fd00::/8")
		}
		networks = append(networks, p.Masked())
	}
	return networks, nil
}

const resolveExample = "*.test=127.0.0.1:8081,shop.example=10.0.0.5"

// ParseResolve reads the form of WEBREADER_RESOLVE.
func ParseResolve(raw string) ([]Mapping, error) {
	var mappings []Mapping
	for _, item := range list(raw) {
		name, to, ok := strings.Cut(item, "=")
		if !ok {
			return nil, settingError(EnvResolve, fmt.Sprintf("%q has no = between name and address", item), resolveExample)
		}
		m, err := parseMapping(strings.TrimSpace(name), strings.TrimSpace(to))
		if err != nil {
			return nil, err
		}
		mappings = append(mappings, m)
	}
	return mappings, nil
}

func parseMapping(name, to string) (Mapping, error) {
	m := Mapping{Pattern: strings.ToLower(strings.TrimSuffix(name, "."))}
	if bare := strings.TrimPrefix(m.Pattern, "*."); m.Pattern != "*" {
		if _, err := canonical(bare); err != nil {
			return m, settingError(EnvResolve, fmt.Sprintf("%q is neither a name, *.name nor *", name), resolveExample)
		}
	}
	if ap, err := netip.ParseAddrPort(to); err == nil && ap.Port() != 0 {
		m.Addr, m.Port = ap.Addr(), ap.Port()
		return m, nil
	}
	var err error
	if m.Addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(to, "["), "]")); err != nil {
		return m, settingError(EnvResolve, fmt.Sprintf("%q is not an address, with or without a port", to), resolveExample)
	}
	return m, nil
}

const egressExample = "nl=socks5://10.0.0.2:1080,hu=http://10.0.0.3:3128"

// ParseEgress reads the form of WEBREADER_EGRESS. Errors never repeat the URL: it may hold a password.
func ParseEgress(raw string) (map[string]*url.URL, error) {
	exits := make(map[string]*url.URL)
	for _, item := range list(raw) {
		country, to, ok := strings.Cut(item, "=")
		country = strings.ToLower(strings.TrimSpace(country))
		if !ok || !isCountry(country) {
			return nil, settingError(EnvEgress, "each entry is a country of two letters, = and a proxy", egressExample)
		}
		if exits[country] != nil {
			return nil, settingError(EnvEgress, "the country "+country+" is given twice", egressExample)
		}
		u, err := url.Parse(strings.TrimSpace(to))
		if err != nil || u.Hostname() == "" {
			return nil, settingError(EnvEgress, "the proxy of "+country+" is not a URL with a host", egressExample)
		}
		exits[country] = u
	}
	return exits, nil
}

func isCountry(s string) bool {
	return len(s) == 2 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Validate says what is wrong with c: the variable, its problem, an example.
func (c Config) Validate() error {
	for country, u := range c.Egress {
		if !isCountry(country) {
			return settingError(EnvEgress, "each entry is a country of two letters, = and a proxy", egressExample)
		}
		if u == nil || !slices.Contains([]string{"socks5", "http"}, u.Scheme) {
			return settingError(EnvEgress, "the proxy of "+country+" is neither socks5:// nor http://", egressExample)
		}
		if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
			return settingError(EnvEgress, "the proxy of "+country+" has no valid port", egressExample)
		}
	}
	if c.DNS != (netip.AddrPort{}) && (!c.DNS.IsValid() || c.DNS.Port() == 0) {
		return settingError(EnvDNS, "it is not an address with a port", "9.9.9.9:53 or [2620:fe::fe]:53")
	}
	if c.ResolveTimeout < 0 || c.ConnectTimeout < 0 {
		return fmt.Errorf("netguard: a timeout is negative; leave it 0 for the default of 5s")
	}
	return nil
}

// Warnings are lines to show loudly at start: settings that open what is closed by default.
func (c Config) Warnings() []string {
	var lines []string
	if len(c.AllowNetworks) > 0 {
		lines = append(lines, fmt.Sprintf("%s is set: pages in %v can be read although these networks are not public. Use it for tests and intranets only", EnvAllowNetworks, c.AllowNetworks))
	}
	if len(c.Resolve) > 0 {
		lines = append(lines, EnvResolve+" is set: some names lead to addresses of your choice instead of those of the DNS. Use it for tests only")
	}
	return lines
}

func (c Config) withDefaults() Config {
	if c.ResolveTimeout == 0 {
		c.ResolveTimeout = 5 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	return c
}
