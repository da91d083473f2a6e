// Package machine is the clock and the randomness of the machine that this program runs on. Only
// what puts a program together uses it: everything else is given them.
package machine

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"
)

// Clock is the machine's.
type Clock struct{}

func (Clock) Now() time.Time { return time.Now() }

func (Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

var began = time.Now()

// Sleep waits for d, or until ctx ends, which is its error.
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

// Elapsed is how long the program has run, by a clock that cannot be set. It may stand still while
// the machine sleeps.
func Elapsed() time.Duration { return time.Since(began) }

// Random is the machine's source of unguessable text.
type Random struct{}

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Bytes fills b.
func (Random) Bytes(b []byte) { rand.Read(b) } // never fails

func (Random) Text(n int) string {
	b := make([]byte, (n*5+7)/8)
	rand.Read(b) // never fails
	return strings.ToLower(base32Lower.EncodeToString(b))[:n]
}
