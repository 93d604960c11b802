package gate

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestPause bounds what is believed of a Retry-After: no site means more, and time must not overflow.
const longestPause = 30 * 24 * time.Hour

// retryAfter is the pause that an answer asks for (RFC 9110 section 10.2.3): 429 and 5xx are heeded,
// in seconds or as a date; what is neither, and what is past, is no pause.
func retryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status/100 != 5 {
		return 0
	}
	raw := strings.TrimSpace(h.Get("Retry-After"))
	if raw == "" {
		return 0
	}
	if strings.Trim(raw, "0123456789") == "" {
		seconds, err := strconv.ParseInt(raw, 10, 64)
		if err != nil || seconds > int64(longestPause/time.Second) {
			return longestPause
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(raw)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestPause)
}
