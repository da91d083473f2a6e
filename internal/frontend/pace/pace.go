// Package pace is the arithmetic of rates. A bucket of tokens is kept as one time, at which it is
// full again (the generic cell rate algorithm), so that one conditional write takes tokens:
//
//	now ──────── full ──────── now + Burst·Every
//	     taken         free
//
// It has no clock and no lock.
package pace

import (
	"math"
	"time"
)

// Kind is what a tenant does that has a rate. It is part of the key under which a bucket is stored.
type Kind string

// The kinds.
const (
	Starts    Kind = "starts"    // runs, messages, retries, interrupts, links, webhooks
	Decisions Kind = "decisions" // except those by approval links
	Streams   Kind = "streams"   // openings
	Held      Kind = "held"      // seconds for which reads of the tenant are held
	HeldByAll Kind = "held-all"  // the same, of all tenants
)

// Rate is how often a token comes, and how many a bucket holds. The zero value is no limit.
type Rate struct {
	Every time.Duration
	Burst int
}

// burstSeconds is how many seconds of a rate a bucket holds.
const burstSeconds = 10

// The rates that a bucket can have: beyond them, times would lose their precision.
const (
	Least = 0.001
	Most  = 100_000
)

// PerSecond is a rate with a burst of what it lets through in ten seconds, and of least tokens in
// any case. Zero or less is no limit. Rates are cut to [Least] and [Most].
func PerSecond(perSecond float64, least int) Rate {
	if !(perSecond > 0) {
		return Rate{}
	}
	perSecond = min(max(perSecond, Least), Most)
	every := time.Duration(math.Ceil(float64(time.Second) / perSecond))
	return Rate{Every: every, Burst: max(1, least, int(burstSeconds*perSecond))}
}

// Limits says whether there is a limit.
func (r Rate) Limits() bool { return r.Every > 0 && r.Burst > 0 }

// Of is the time in which n tokens come.
func (r Rate) Of(n int) time.Duration { return time.Duration(n) * r.Every }

// Free is how many tokens a bucket has that is full again at full.
func (r Rate) Free(full, now time.Time) int {
	if !full.After(now) {
		return r.Burst
	}
	return max(0, int((r.Of(r.Burst)-full.Sub(now))/r.Every))
}

// Take takes n tokens and returns when the bucket is full afterwards. ok is false, and nothing is
// taken, if it has fewer.
func (r Rate) Take(full, now time.Time, n int) (after time.Time, ok bool) {
	if n > r.Free(full, now) {
		return full, false
	}
	if full.Before(now) {
		full = now
	}
	return full.Add(r.Of(n)), true
}

// skew is how much clocks may differ without a bucket being set right.
const skew = 5 * time.Second

// Empty is when a bucket is full again that is empty now.
func (r Rate) Empty(now time.Time) time.Time { return now.Add(r.Of(r.Burst)) }

// Beyond says that the bucket is emptier than one can be: its time is that of a process whose clock
// is ahead, or of a lower rate. Left alone, it would refuse everything for as long.
func (r Rate) Beyond(full, now time.Time) bool { return full.After(r.Empty(now).Add(skew)) }

// Wait is how long a bucket takes to have n tokens, if no one takes any.
func (r Rate) Wait(full, now time.Time, n int) time.Duration {
	if n <= r.Free(full, now) {
		return 0
	}
	return full.Add(r.Of(n) - r.Of(r.Burst)).Sub(now)
}
