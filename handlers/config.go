package handlers

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is where the API listens and how it is reached.
type Config struct {
	Addr           string // the public API
	AdminAddr      string // metrics, pprof, health
	PublicURL      string // base of links, without a slash at the end; "" takes it from each request
	TrustedProxies []netip.Prefix
	// BotAddresses are the ranges that requests to sites leave from, as published since BotSince; none
	// while they are not fixed.
	BotAddresses []netip.Prefix
	BotSince     time.Time
	// Timeout is the longest a read may take.
	Timeout time.Duration
	// MaxReads is how many reads run at once over all accounts; the next one is told `overloaded`.
	MaxReads int
}

// handOverTime is how long a client may take to receive a page.
const handOverTime = 30 * time.Second

// DefaultConfig is the config when nothing is set.
func DefaultConfig() Config {
	return Config{Addr: ":8080", AdminAddr: "127.0.0.1:9090", Timeout: 30 * time.Second, MaxReads: 512}
}

// FromEnv is the config of WEBREADER_ADDR, WEBREADER_ADMIN_ADDR, WEBREADER_PUBLIC_URL and
// WEBREADER_TRUSTED_PROXIES.
func FromEnv(getenv func(string) string) (Config, error) {
	c := DefaultConfig()
	if v := getenv("WEBREADER_ADDR"); v != "" {
		c.Addr = v
	}
	if v := getenv("WEBREADER_ADMIN_ADDR"); v != "" {
		c.AdminAddr = v
	}
	c.PublicURL = strings.TrimRight(getenv("WEBREADER_PUBLIC_URL"), "/")
	var err error
	if c.TrustedProxies, err = prefixes("WEBREADER_TRUSTED_PROXIES", getenv("WEBREADER_TRUSTED_PROXIES")); err != nil {
		return Config{}, err
	}
	if v := getenv("WEBREADER_BOT_IPS"); v != "" {
		since, list, _ := strings.Cut(v, "=")
		if c.BotSince, err = time.Parse(time.DateOnly, since); err != nil {
			return Config{}, fmt.Errorf("WEBREADER_BOT_IPS: %q does not begin with a date: write it like 2026-12-01=192.0.2.0/24,2001:db8::/32", v)
		}
		if c.BotAddresses, err = prefixes("WEBREADER_BOT_IPS", list); err != nil {
			return Config{}, err
		}
	}
	return c, c.Validate()
}

// prefixes are the networks of a list separated by commas.
func prefixes(setting, list string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a network: write CIDRs such as 10.0.0.0/8,fd00::/8", setting, text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// Validate is an error that names the setting, what is wrong and an example.
func (c Config) Validate() error {
	for _, a := range []struct{ name, addr, example string }{
		{"WEBREADER_ADDR", c.Addr, ":8080"}, {"WEBREADER_ADMIN_ADDR", c.AdminAddr, "127.0.0.1:9090"},
	} {
		if _, _, err := net.SplitHostPort(a.addr); err != nil {
			return fmt.Errorf("%s: %q is not an address: write host:port, such as %s", a.name, a.addr, a.example)
		}
	}
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("WEBREADER_PUBLIC_URL: %q is not a base address: write it like https://reader.example", c.PublicURL)
	}
	return nil
}
