// Package remote makes one call of a tool that runs in another process, over a network that may
// lose the request or the answer. It owns the delivery guarantee of such calls: whether a call may
// be retried, when, and what the model or a person sees if the outcome is unknown. An adapter sends
// the call once and reports the result; this package decides everything else:
//
//	attempt    retried, at most once   retried, repeatable   if it is the last
//	NotSent    with Retry              with Retry            the call did not run
//	Refused    with Retry, Certain     with Retry            the call did not run
//	Unknown    never                   with Retry            a question, or a doubt
//	Answered   never                   with a Doubt          the answer
//
// A call that may be repeated can leave a doubt: an attempt that may have taken effect. Only a
// success removes it, so every later failure repeats the doubt, even if the last attempt certainly
// had no effect.
package remote

import (
	"cmp"
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Call is one execution of a tool's body. Request, Words, Clock, Random and Quiet are required.
type Call struct {
	// Request says whether the call may be repeated, and whether a process that crashed may
	// have made it
	Request  engine.ToolRequest
	ReadOnly bool // the call has no effect that could be in doubt
	Words    Words
	// Hidden returns the values that the texts of an outcome must not contain; nil hides
	// nothing
	Hidden func() secret.Values

	Clock   engine.Clock
	Random  engine.Random
	Quiet   time.Duration // how long the other side may stay silent
	Longest time.Duration // how long the call may take with signs of life; at least Quiet
	Repeats int           // limit of the attempts after the first
}

// Run makes attempts until one of them is final: because the rules of the package say so, because
// the limit is reached, or because the next one could not start in time. The context of an attempt
// ends with the cause [ErrSlow] when the time of the call is over; renewing its [Patience] extends
// that time. The error is that of ctx, and the caller decides what it means for the call.
func (c Call) Run(ctx context.Context, attempt func(context.Context, *Patience) Attempt) (core.Outcome, error) {
	inside, patience := NewPatience(ctx, c.Clock, c.Quiet, c.Longest)
	defer patience.End()
	doubt := "" // about earlier attempts
	for try := 0; ; try++ {
		last := c.read(attempt(inside, patience))
		if ctx.Err() != nil && (last.retry || !last.heard) {
			return core.Outcome{}, ctx.Err()
		}
		pause := max(engine.Backoff(c.Random, firstPause, longestPause, try), last.after)
		if !last.retry || try >= c.Repeats || context.Cause(inside) != nil || !patience.Allows(pause) {
			return c.Finish(last.outcome(doubt)), nil
		}
		doubt = cmp.Or(last.doubt, doubt)
		if err := engine.Sleep(ctx, c.Clock, pause); err != nil {
			return core.Outcome{}, err
		}
	}
}

// The pauses between attempts double from the first to the longest, unless the other side asks for
// a longer one.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)
