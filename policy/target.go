package policy

import (
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Target is a URL that has been parsed and normalised: scheme http or https, host in lower-case
// A-labels without a trailing dot, no fragment, no userinfo, no default port. Path and query stay
// as given; only bytes that no URL may hold (non-ASCII, quotes, braces) are percent-encoded, since
// they could not be sent otherwise. Targets are values: equal ones are ==. The zero Target has no
// URL and nothing may be fetched for it.
type Target struct {
	scheme string // http, https
	host   string // name or address; an IPv6 address without brackets
	port   string // empty for the scheme's own
	path   string // escaped, starts with "/"
	query  string // escaped, with its "?"; may be just "?"
}

// IsZero is true for the zero Target.
func (t Target) IsZero() bool { return t.scheme == "" }

// URL is a copy as a url.URL; nil for the zero Target. Its EscapedPath and RawQuery are the bytes
// that go on the wire.
func (t Target) URL() *url.URL {
	if t.IsZero() {
		return nil
	}
	return &url.URL{
		Scheme: t.scheme, Host: t.hostPort(), Path: unescapePath(t.path), RawPath: t.path,
		RawQuery: strings.TrimPrefix(t.query, "?"), ForceQuery: t.query == "?",
	}
}

// String is the URL as it is requested; empty for the zero Target.
func (t Target) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Authority() + t.path + t.query
}

// Scheme is "http" or "https"; empty for the zero Target.
func (t Target) Scheme() string { return t.scheme }

// Host is the host name or address without port and brackets.
func (t Target) Host() string { return t.host }

// Port is the port to connect to, the scheme's own one included: "443".
func (t Target) Port() string {
	switch {
	case t.port != "":
		return t.port
	case t.scheme == "https":
		return "443"
	case t.scheme == "http":
		return "80"
	}
	return ""
}

// Addr is the address when the host is a literal one.
func (t Target) Addr() (netip.Addr, bool) {
	a, err := netip.ParseAddr(t.host)
	return a, err == nil
}

// Authority is scheme, host and port as robots.txt counts them: "https://site.example" or
// "http://site.example:8080".
func (t Target) Authority() string {
	if t.IsZero() {
		return ""
	}
	return t.scheme + "://" + t.hostPort()
}

// PathQuery is the path and the query with its "?", as they are requested and as robots.txt rules
// are compared with.
func (t Target) PathQuery() string { return t.path + t.query }

// Path is the path alone, escaped.
func (t Target) Path() string { return t.path }

// Robots is the robots.txt of the target's authority (RFC 9309 section 2.3).
func (t Target) Robots() Target { return t.at("/robots.txt") }

// TDMRep is the TDM reservation file of the target's authority.
func (t Target) TDMRep() Target { return t.at("/.well-known/tdmrep.json") }

func (t Target) at(path string) Target {
	if t.IsZero() {
		return t
	}
	t.path, t.query = path, ""
	return t
}

// RegistrableDomain is the part of the host that one can register: "gemeente.example" of
// "www.gemeente.example". Below an unknown top-level domain it is the last two labels, as the public
// suffix list's default rule says. An address, a single label and a public suffix are their own.
func (t Target) RegistrableDomain() string {
	if _, literal := t.Addr(); literal {
		return t.host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(t.host)
	if err != nil {
		return t.host
	}
	return domain
}

// localSuffixes are names that never mean a public host (RFC 6761, RFC 6762, RFC 8375, ICANN's
// resolution on .internal).
var localSuffixes = []string{"localhost", "local", "internal", "localdomain", "home.arpa"}

// PublicName is false for names that only mean something inside a network: single labels,
// localhost, .local, .internal. It is true for literal addresses, which are judged as addresses.
func (t Target) PublicName() bool {
	if _, literal := t.Addr(); literal {
		return true
	}
	if !strings.Contains(t.host, ".") {
		return false
	}
	for _, s := range localSuffixes {
		if t.host == s || strings.HasSuffix(t.host, "."+s) {
			return false
		}
	}
	return true
}

func (t Target) hostPort() string {
	h := t.host
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	if t.port != "" {
		h += ":" + t.port
	}
	return h
}

// unescapePath is an escaped path as people read it.
func unescapePath(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
