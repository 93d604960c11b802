package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/policy/signals"
)

// RobotsState is what an answer with that status to a request for robots.txt means, after its
// redirects (RFC 9309 section 2.3.1; 429 as unreachable, as Google reads it). Status 0 is no answer.
func RobotsState(status int) signals.RobotsState {
	switch {
	case status >= 200 && status <= 299:
		return signals.RobotsFound
	case status == 429, status < 200, status >= 500:
		return signals.RobotsUnreachable
	}
	return signals.RobotsAbsent
}

// SkipsRound is true when the profile leaves a host whose robots.txt came to that status alone until
// the next round, instead of asking again soon.
func (p *Profile) SkipsRound(status int) bool {
	if RobotsState(status) != signals.RobotsUnreachable {
		return false
	}
	if status == 429 {
		return p.Robots.On429 == SkipRound
	}
	return p.Robots.On5xx == SkipRound
}

// RobotsLife is how long a robots.txt answer may be used: as its Cache-Control says, but not shorter
// than the profile's floor nor longer than its maximum, which is never over 24 hours.
func (p *Profile) RobotsLife(cacheControl string) time.Duration {
	life := p.Robots.MaxAge
	if age, ok := maxAge(cacheControl); ok {
		life = min(max(age, p.Robots.MaxAgeFloor), life)
	}
	return min(life, 24*time.Hour)
}

// maxAge reads max-age; no-store and no-cache are an age of nothing.
func maxAge(cacheControl string) (time.Duration, bool) {
	age, found := time.Duration(0), false
	for part := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0, true
		case "max-age":
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err == nil && !found {
				age, found = time.Duration(n)*time.Second, true
			}
		}
	}
	return age, found
}
