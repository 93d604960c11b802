package gate

import (
	"net/http"
	"time"

	"github.com/webreaderapi/webreader/policy"
)

// retryAfter is the pause that an answer asks for: 429 and 5xx are heeded.
func retryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status/100 != 5 {
		return 0
	}
	return policy.ParseRetryAfter(h.Get("Retry-After"), now)
}
