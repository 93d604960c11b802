package policy

import (
	"net/url"
)

// Target is a URL that has been parsed and normalised: scheme http or https, host in lower-case
// A-labels without a trailing dot, no fragment, no userinfo, no default port. Path and query stay
// as given. The zero Target has no URL and nothing may be fetched for it.
type Target struct {
	u *url.URL
}

// URL is a copy of the parsed URL; nil for the zero Target.
func (t Target) URL() *url.URL {
	if t.u == nil {
		return nil
	}
	c := *t.u
	return &c
}

// String is the URL as it is requested; empty for the zero Target.
func (t Target) String() string {
	if t.u == nil {
		return ""
	}
	return t.u.String()
}

// Host is the host name or address without the port.
func (t Target) Host() string {
	if t.u == nil {
		return ""
	}
	return t.u.Hostname()
}

// Authority is scheme, host and port as robots.txt counts them: "https://site.example" or
// "http://site.example:8080".
func (t Target) Authority() string {
	if t.u == nil {
		return ""
	}
	return t.u.Scheme + "://" + t.u.Host
}

// IsZero is true for the zero Target.
func (t Target) IsZero() bool { return t.u == nil }
