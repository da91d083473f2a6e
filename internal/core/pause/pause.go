// Package pause knows how long a run pauses before it tries again.
package pause

import (
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Longest is the longest delay of a wake-up, in ms, that every queue supports. The sweep finds
// later deadlines, slightly late. It is also the longest backoff between two model calls.
const Longest = 15 * 60_000

// RetryDue is how many ms after a write the sweep checks the run, in case its wake-up was lost.
const RetryDue = 5000

// Until asks for a wake-up at a near time; nil for one that no queue can wait for, and for 0. Like
// every wake-up it is a hint.
func Until(at, now int64) *int64 {
	if at == 0 || at-now > Longest {
		return nil
	}
	delay := max(0, at-now)
	return &delay
}

// Backoff is how many ms to wait after the n-th failure in a row: twice as long each time, from 2 s
// up to 15 min.
func Backoff(n int) int64 { return min(Longest, int64(1000)<<min(max(n, 0), 20)) }

// Jittered is between half of whole and all of it, chosen by run and try: many runs that failed
// together do not come again together, and the same run decides the same twice.
func Jittered(whole int64, run string, try int) int64 {
	return whole/2 + share(whole/2, run, try)
}

// Asked is how many ms to wait if a provider asks for a pause of after: at least as long as wait,
// and between after and half as much again. A provider that refuses a thousand runs at once asks
// all of them for the same pause.
func Asked(wait, after int64, run string, try int) int64 {
	if after > 0 {
		wait = max(wait, after+share(after/2, run, try))
	}
	return min(wait, Longest)
}

// share is a part of whole, less than all of it, chosen by run and try.
func share(whole int64, run string, try int) int64 {
	part, _ := strconv.ParseInt(core.Digest([]byte(run + "/" + strconv.Itoa(try)))[:4], 16, 64)
	return whole * part >> 16
}
