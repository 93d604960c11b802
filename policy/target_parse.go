package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURL is the most bytes a URL may have.
const MaxURL = 8192

// ParseTarget parses a URL from outside. Its error is a sentence that says what is wrong and what is
// right; it never repeats the query or a password.
func ParseTarget(raw string) (Target, error) {
	if err := checkText(raw); err != nil {
		return Target{}, err
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return Target{}, schemeError(raw)
	}
	scheme = asciiLower(scheme)
	if scheme != "http" && scheme != "https" {
		return Target{}, schemeError(raw)
	}
	cut := strings.IndexAny(rest, "/?#")
	if cut < 0 {
		cut = len(rest)
	}
	t, err := parseAuthority(scheme, rest[:cut])
	if err != nil {
		return Target{}, err
	}
	t.path, t.query = splitPath(rest[cut:])
	return t, nil
}

// checkText refuses what no URL holds and what parsers disagree about.
func checkText(raw string) error {
	switch {
	case raw == "":
		return errors.New("the URL is empty: give one such as https://site.example/page")
	case len(raw) > MaxURL:
		return fmt.Errorf("the URL has %d bytes: at most %d are accepted", len(raw), MaxURL)
	case strings.Contains(raw, `\`):
		return errors.New(`the URL contains a backslash: write / or, inside a name, %5C`)
	}
	for _, r := range raw {
		switch {
		case unicode.IsSpace(r):
			return errors.New("the URL contains a blank: write it as %20")
		case unicode.IsControl(r) || r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return errors.New("the URL contains a control character: remove it")
		}
	}
	return nil
}

func schemeError(raw string) error {
	if scheme, _, ok := strings.Cut(raw, ":"); ok && isScheme(scheme) && len(scheme) <= 20 {
		if s := asciiLower(scheme); s == "http" || s == "https" {
			return fmt.Errorf("the URL lacks // after %s: write %s://site.example/page", s, s)
		}
		if !strings.Contains(scheme, ".") && scheme != "localhost" {
			return fmt.Errorf("the scheme %q is not read: only http and https are", scheme)
		}
	}
	return errors.New("the URL has no scheme: write it in full, such as https://site.example/page")
}

func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

func parseAuthority(scheme, authority string) (Target, error) {
	if strings.Contains(authority, "@") {
		return Target{}, errors.New("the URL holds a user name or password before @: leave it out, pages behind a log-in are not read")
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	port, err := parsePort(scheme, port)
	if err != nil {
		return Target{}, err
	}
	if host, err = parseHost(host); err != nil {
		return Target{}, err
	}
	return Target{scheme: scheme, host: host, port: port}, nil
}

func parsePort(scheme, raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(raw, 10, 16)
	if err != nil || n == 0 || len(raw) > 5 {
		return "", errors.New("the port of the URL is not a number from 1 to 65535")
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return "", nil
	}
	return strconv.FormatUint(n, 10), nil
}

// parseHost is the one canonical form of a host. Odd spellings of IPv4 addresses (127.1, 0x7f000001) stay
// as they are: they are no host names, and whoever dials refuses them as addresses.
func parseHost(raw string) (string, error) {
	if raw == "" {
		return "", errors.New("the URL has no host: write it in full, such as https://site.example/page")
	}
	if strings.HasPrefix(raw, "[") {
		return parseIPv6(raw)
	}
	if !utf8.ValidString(raw) {
		return "", errors.New("the host of the URL is not UTF-8")
	}
	host := asciiLower(raw)
	if !isASCII(host) || strings.Contains(host, "xn--") {
		var err error
		if host, err = hostNames.ToASCII(host); err != nil {
			return "", errors.New("the host of the URL is not a valid international domain name")
		}
	}
	host = strings.TrimSuffix(host, ".")
	if err := checkName(host); err != nil {
		return "", err
	}
	return host, nil
}

// hostNames maps names for lookup (UTS 46, not transitional). Underscores and hyphens are checked by
// checkName, as hosts in use have both where the strict rules forbid them.
var hostNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(),
	idna.CheckHyphens(false), idna.StrictDomainName(false))

func parseIPv6(raw string) (string, error) {
	a, err := netip.ParseAddr(strings.TrimSuffix(raw[1:], "]"))
	if err != nil || !strings.HasSuffix(raw, "]") || !a.Is6() || a.Zone() != "" {
		return "", errors.New("the host of the URL is not an IPv6 address in brackets without a zone, such as [2001:db8::1]")
	}
	return a.String(), nil
}

func checkName(host string) error {
	if len(host) > 253 {
		return errors.New("the host of the URL is longer than 253 letters")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return errors.New("the host of the URL has an empty label or one longer than 63 letters")
		}
		for _, c := range []byte(label) {
			if ('a' > c || c > 'z') && ('0' > c || c > '9') && c != '-' && c != '_' {
				return errors.New("the host of the URL holds a character that no host name has")
			}
		}
	}
	return nil
}

// splitPath cuts what follows the authority into path and query and drops the fragment.
func splitPath(s string) (path, query string) {
	s, _, _ = strings.Cut(s, "#")
	path = s
	if i := strings.IndexByte(s, '?'); i >= 0 {
		path, query = s[:i], s[i:]
	}
	if path == "" {
		path = "/"
	}
	return escape(path, true), escape(query, false)
}

// escape percent-encodes the bytes that a path or query cannot hold; everything else, escapes
// included, stays. A percent sign that escapes nothing is itself escaped in a path (RFC 3986 section
// 2.4), where net/http could not send it.
func escape(s string, path bool) string {
	const upper = "0123456789ABCDEF"
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = !mustEscape(s, i, path)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if mustEscape(s, i, path) {
			b.Write([]byte{'%', upper[s[i]>>4], upper[s[i]&15]})
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func mustEscape(s string, i int, path bool) bool {
	c := s[i]
	if c == '%' {
		return path && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]))
	}
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 0x20
		}
	}
	return string(b)
}
