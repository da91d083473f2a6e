// Package retryafter reads the header with which a busy service says when to come again.
package retryafter

import (
	"net/http"
	"strings"
	"time"
)

// Most is the longest wait that is returned.
const Most = 24 * time.Hour

// Parse returns how long to wait: value is a number of seconds, whole or with a fraction, or the
// time of day as HTTP writes it, which is held against now. It returns 0 for a time that is over
// and for anything else, and at most [Most]. The caller decides how much of that it waits.
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
