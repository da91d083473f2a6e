package engine

import "time"

// Backoff is the pause before try n+1, counted from 0: from first to most, twice as long each time,
// with [Jitter].
func Backoff(r Random, first, most time.Duration, n int) time.Duration {
	whole := first
	for ; n > 0 && whole < most; n-- {
		whole *= 2
	}
	return Jitter(r, min(whole, most))
}
