// Package machine provides the clock and the randomness of the machine. Only the packages that
// assemble a program use it; all others receive a clock and a source of randomness.
package machine

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// Clock is the clock of the machine.
type Clock struct{}

func (Clock) Now() time.Time { return time.Now() }

func (Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

var began = time.Now()

// Sleep waits for d, or until ctx ends, and then returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Elapsed returns how long the program has run, by a clock that cannot be set. It may stop while
// the machine sleeps.
func Elapsed() time.Duration { return time.Since(began) }

// Random is the machine's cryptographic source of randomness.
type Random struct{}

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Bytes fills b.
func (Random) Bytes(b []byte) { rand.Read(b) } // never fails

func (Random) Text(n int) string {
	b := make([]byte, (n*5+7)/8)
	rand.Read(b) // never fails
	return strings.ToLower(base32Lower.EncodeToString(b))[:n]
}
