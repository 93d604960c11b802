package policy

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/webreaderapi/webreader/policy/signals"
)

// RobotsState is what an answer with that status to a request for robots.txt means, after its
// redirects (RFC 9309 section 2.3.1; 429 as unreachable, as Google reads it). Status 0 is no answer.
func RobotsState(status int) signals.RobotsState {
	switch {
	case status/100 == 2:
		return signals.RobotsFound
	case status/100 == 4 && status != http.StatusTooManyRequests:
		return signals.RobotsAbsent
	}
	return signals.RobotsUnreachable
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

// LongestRobots is the longest that any copy of a robots.txt is a permission (RFC 9309 section 2.4).
const LongestRobots = 24 * time.Hour

// RobotsLife is how long a robots.txt answer with these headers may be used: as they say, but not shorter
// than the profile's floor nor longer than its maximum, which is never over 24 hours.
func (p *Profile) RobotsLife(h http.Header) time.Duration {
	life := LongestRobots
	if age := p.Robots.MaxAge; age > 0 {
		life = min(age, life)
	}
	if age, ok := sharedAge(h); ok {
		life = min(max(age, p.Robots.MaxAgeFloor), life)
	}
	return life
}

// sharedAge is what Cache-Control, or else Expires, says (RFC 9111 section 5.2.2, 5.3).
func sharedAge(h http.Header) (time.Duration, bool) {
	age, found := time.Duration(0), false
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache":
			return 0, true
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `" `), 10, 31)
			if err == nil && !found {
				age, found = time.Duration(seconds)*time.Second, true
			}
		}
	}
	if found {
		return age, true
	}
	expires, err := http.ParseTime(h.Get("Expires"))
	if err != nil {
		return 0, false
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	return max(expires.Sub(date), 0), true
}
