package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The variables of a read that no package below reads by itself.
const (
	envProfile   = "WEBREADER_PROFILE"
	envTimeout   = "WEBREADER_TIMEOUT"
	envMaxBody   = "WEBREADER_MAX_BODY"
	envPublicURL = "WEBREADER_PUBLIC_URL"

	defaultProfile = "webreaderapi"
	defaultTimeout = 30 * time.Second
	defaultMaxBody = 20_000_000
)

// engineFlags are the settings of every command that reaches a site. A flag goes before its variable.
type engineFlags struct {
	Profile       string `help:"Bot to read as: a built-in profile's name or a YAML file." setting:"WEBREADER_PROFILE" placeholder:"NAME|FILE" group:"Settings"`
	PublicURL     string `help:"Public address of this service; its /bot is named in the user agent of a profile without a page of its own." setting:"WEBREADER_PUBLIC_URL" placeholder:"URL" group:"Settings"`
	AllowNetworks string `help:"Networks that may be read although they are not public." setting:"WEBREADER_ALLOW_NETWORKS" placeholder:"CIDR,…" group:"Settings"`
	Resolve       string `help:"Static addresses of names, such as *.test=127.0.0.1:8081." setting:"WEBREADER_RESOLVE" placeholder:"NAME=ADDRESS,…" group:"Settings"`
	DNS           string `name:"dns" help:"Resolver for the names of sites, in place of the system's." setting:"WEBREADER_DNS" placeholder:"IP:PORT" group:"Settings"`
	Egress        string `help:"Proxies by country, such as nl=socks5://10.0.0.1:1080." setting:"WEBREADER_EGRESS" placeholder:"COUNTRY=URL,…" group:"Settings"`
	MaxBody       string `help:"Largest body that is read, after decompression; 20MB by default." setting:"WEBREADER_MAX_BODY" placeholder:"SIZE" group:"Settings"`
	Timeout       string `help:"Longest time of a read as a whole; 30s by default." setting:"WEBREADER_TIMEOUT" placeholder:"DURATION" group:"Settings"`
}

// badSetting is one line: the variable, what is wrong with its value, and an example.
func badSetting(name, value, problem, example string) error {
	return usage("%s: %q %s; write it like %s", name, value, problem, example)
}

func durationSetting(get func(string) string, name string, unset time.Duration) (time.Duration, error) {
	value := strings.TrimSpace(get(name))
	if value == "" {
		return unset, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, badSetting(name, value, "is not a length of time above zero", "30s, 2m or 24h")
	}
	return d, nil
}

// switchSetting is true or false; false when it is not set.
func switchSetting(get func(string) string, name string) (bool, error) {
	switch value := strings.TrimSpace(get(name)); value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, badSetting(name, value, "is neither true nor false", "true")
	}
}

// checkSigning is an error while requests to sites are to be signed, which no version does yet: whoever
// sets a key must not believe that they are.
func checkSigning(get func(string) string) error {
	if get("WEBREADER_SIGNING_KEY") == "" {
		return nil
	}
	return usage("WEBREADER_SIGNING_KEY: this version does not sign its requests to sites; unset it")
}

// sizes are the units of a size, the longer names first.
var sizes = []struct {
	unit  string
	bytes int64
}{{"GB", 1_000_000_000}, {"MB", 1_000_000}, {"KB", 1_000}, {"B", 1}, {"", 1}}

func sizeSetting(get func(string) string, name string, unset int64) (int64, error) {
	value := strings.TrimSpace(get(name))
	if value == "" {
		return unset, nil
	}
	number, factor := strings.ToUpper(value), int64(1)
	for _, s := range sizes {
		if rest, ok := strings.CutSuffix(number, s.unit); ok {
			number, factor = strings.TrimSpace(rest), s.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1_000_000_000_000/factor {
		return 0, badSetting(name, value, "is not a size", "20MB")
	}
	return n * factor, nil
}

// settingError makes a usage error of a package's own error about a setting.
func settingError(err error) error {
	if err == nil {
		return nil
	}
	return usage("%s", fmt.Sprint(err))
}
