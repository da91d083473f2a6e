// Package remote carries out one call of a tool that another process runs, across a network that
// may lose the request or its answer. It owns what Dormouse promises of such a call: whether it may
// be sent again, when, and what the model or a person is shown when it is not known whether the
// call took effect. An adapter sends the call once and says what came of that; everything else is
// decided here:
//
//	attempt    sent again, if at most once   if repeatable      if it is the last
//	NotSent    with Retry                    with Retry         the call did not run
//	Refused    with Retry and Certain        with Retry         the call did not run
//	Unknown    never                         with Retry         a question, or the doubt is shown
//	Answered   never                         with a Doubt       the answer
//
// A call that may be repeated can leave a doubt behind: an attempt that may have taken effect. No
// later attempt but a success removes it, so every failure after it repeats the doubt, however
// certain the last attempt was.
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
	// says whether the call may be repeated, and whether a crashed process had it before
	Request  engine.ToolRequest
	ReadOnly bool // the call has no effect, so there is none to be in doubt about
	Words    Words
	// what the texts of an outcome may not show, asked when there is one; nil: nothing
	Hidden func() secret.Values

	Clock   engine.Clock
	Random  engine.Random
	Quiet   time.Duration // how long the other side may stay silent
	Longest time.Duration // how long the call may take with signs of life; at least Quiet
	Repeats int           // the most attempts beside the first
}

// Run makes attempts until one of them is the last: because the rules of the package say so,
// because there were enough, or because the next one could not begin in time. The context of an
// attempt ends with [ErrSlow] as its cause when the time of the call is over, and renewing its
// [Patience] puts that off. The error is that of ctx, whose owner knows what its end means for the
// call.
func (c Call) Run(ctx context.Context, attempt func(context.Context, *Patience) Attempt) (core.Outcome, error) {
	inside, patience := NewPatience(ctx, c.Clock, c.Quiet, c.Longest)
	defer patience.End()
	doubt := "" // about an earlier attempt
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
// more.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)
