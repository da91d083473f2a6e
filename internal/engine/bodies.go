package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// runBodies begins the bodies of calls, side by side if there are several, then awaits them and
// those that run already.
func (a *activation) runBodies(ctx context.Context, runs []plans.BodyRun) error {
	bodies := make([]body, len(runs))
	for i, run := range runs {
		body, err := a.body(run)
		if err != nil {
			return err
		}
		bodies[i] = body
	}
	if a.flight == nil {
		a.flight = newFlight(ctx, a)
	}
	back := a.rest()
	for i, run := range runs {
		a.flight.begin(run, bodies[i])
	}
	return a.awaitFrom(ctx, back)
}

// body is one execution, ready to begin.
type body func(context.Context) (ran, error)

// ran is the outcome of a body and when it ran. Times are 0 if it did not return, or is missing.
type ran struct {
	core.Outcome
	missing      bool
	began, ended int64
}

// body prepares one execution.
func (a *activation) body(run plans.BodyRun) (body, error) {
	h := a.view.Head
	tool, ok := a.agent.Tools[run.Call.Name]
	if !ok {
		text := fmt.Sprintf("The tool %q is no longer available; the call did not run.", run.Call.Name)
		return func(context.Context) (ran, error) {
			return ran{Outcome: core.Outcome{Failed: true, Text: text}, missing: true}, nil
		}, nil
	}
	req := ToolRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, Call: run.Call, Epoch: h.Epoch, Resume: run.Resume,
		Key: fmt.Sprintf("%s/%s/%d", h.Run, run.Call.ID, run.Attempt), State: pad.New(run.State), Scratch: pad.NewScratch(run.Scratch), AtMostOnce: run.AtMostOnce,
		Again: run.MayHaveBegun}
	watch := a.watchBodies()
	req.Progress = func(p Progress) { watch.says(run.Call, p) }
	// The last look at the clock before an effect that no store can take back. A process that
	// was frozen after it committed its intent finds its lease over here; the next owner has
	// asked a person meanwhile.
	if run.AtMostOnce && a.timeLeft() <= 0 {
		return nil, errLeaseOver
	}
	a.report.Bodies++
	// its start is an event already
	committed := h.Calls[run.Call.ID].Status == core.CallRunning
	return func(ctx context.Context) (ran, error) {
		began := a.now()
		if !committed {
			watch.began(run.Call)
		}
		out, err := traced(ctx, a.e, "tool "+run.Call.Name, func(ctx context.Context) (core.Outcome, error) { return tool.Run(ctx, req) })
		if out.State = nil; err == nil && !out.Failed {
			out.State = req.State.Ops()
		}
		if out.Ticket != nil {
			out.Scratch = req.Scratch.Outcome()
		}
		return ran{Outcome: out, began: began, ended: a.now()}, err
	}, nil
}

// recordOutcome records the outcome of a body in to. An error gives the activation up.
func (a *activation) recordOutcome(ctx context.Context, to *plans.BodyOutcome, out ran, err error) error {
	to.Began, to.Ended = out.began, out.ended
	if to.Ended == 0 {
		to.Ended = a.now() // it did not return
	}
	switch {
	case errors.Is(err, ErrFenced) || ctx.Err() != nil && err != nil:
		return err
	case errors.Is(err, errCancelled), errors.Is(err, errDeadline), errors.Is(err, errStopping):
		to.Interrupted, to.Stopping = true, errors.Is(err, errStopping)
	case err != nil:
		to.Outcome = core.Outcome{Failed: true, Text: err.Error()}
	default:
		to.Outcome, to.Missing = out.Outcome, out.missing
	}
	return nil
}
