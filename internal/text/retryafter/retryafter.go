// Package retryafter parses the header with which a busy service says when to retry.
package retryafter

import (
	"net/http"
	"strings"
	"time"
)

// Most is the longest delay that Parse returns.
const Most = 24 * time.Hour

// Parse returns the delay: value is a number of seconds, possibly fractional, or an HTTP date,
// which is compared with now. It returns 0 for a time in the past and for anything else, and at
// most [Most]. The caller decides how long it actually waits.
func Parse(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if strings.Trim(value, "0123456789.") == "" {
		// 0 if it cannot be read, or is out of range
		seconds, _ := time.ParseDuration(value + "s")
		return min(seconds, Most)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), Most)
}
