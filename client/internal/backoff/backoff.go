// Package backoff says how long to wait before a retry.
package backoff

import (
	"encoding/binary"
	"io"
	"time"
)

// The pause before a retry doubles from First to Last.
const (
	First = 100 * time.Millisecond
	Last  = 5 * time.Second
)

// Pause is how long to wait after failed attempts: at least as long as the server asks for, and
// otherwise a random part of a doubling bound, so that clients don't return all at once.
func Pause(random io.Reader, failed int, asked time.Duration) time.Duration {
	most := min(First<<min(failed, 16), Last)
	pause := most/2 + upTo(random, most/2)
	if asked > 0 {
		return asked + upTo(random, most/2)
	}
	return pause
}

// upTo is a random duration below d; d itself if there is no randomness.
func upTo(random io.Reader, d time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil || d <= 0 {
		return d
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(d))
}
