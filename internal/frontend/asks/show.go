package asks

import (
	"cmp"
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// begun is what a run shows of an ask whose call it has not made yet.
func begun(run wire.Run) wire.Ask {
	return wire.Ask{ID: run.ID, Status: wire.AskWaiting, Title: run.FirstLine, StartedBy: run.StartedBy, Metadata: run.Metadata, CreatedAt: run.CreatedAt}
}

// showNow finds an ask and reads what became of it.
func (d *Desk) showNow(ctx context.Context, c frontend.Caller, id string) (wire.Ask, error) {
	p, err := d.reads.Find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Ask{}, err
	}
	run, err := d.reads.Show(ctx, p)
	if err != nil {
		return wire.Ask{}, err
	}
	return d.show(ctx, p, run)
}

// show reads what became of the ask at p, whose run is shown.
func (d *Desk) show(ctx context.Context, p journal.Place, run wire.Run) (wire.Ask, error) {
	shown := begun(run)
	question, err := d.question(ctx, p)
	if err != nil {
		return shown, err
	}
	shown.Title = cmp.Or(question.Text(), shown.Title)
	call, err := d.reads.CallAt(ctx, p, ask.Call)
	if refused, ok := errors.AsType[*refusal.Error](err); ok && refused.Code == refusal.CodeCallNotFound {
		if asked, err := ask.Question(question); err == nil && len(question.Parts) > 1 {
			shown.Arguments = asked.Arguments
		}
		if run.Status == core.RunDone.String() {
			shown.Status, shown.Reason = wire.AskCancelled, whyEnded(run)
		}
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	settle(&shown, run, call)
	return shown, nil
}

// question is the message that the ask began with; a zero one until a worker has taken it up.
func (d *Desk) question(ctx context.Context, p journal.Place) (question core.Message, err error) {
	err = d.reads.Journal(ctx, p, p.Record.Seq0+1, func(s core.Segment) bool {
		for _, m := range s.Messages {
			if m.Role == core.RoleUser {
				question = m
				return false
			}
		}
		return true
	})
	return question, err
}

// settle says what came of the call. Approved is only what ran as approved: a decision that was
// stored may still be overtaken by a cancel, or by a rule that the operator added.
func settle(shown *wire.Ask, run wire.Run, call wire.Call) {
	shown.Arguments, shown.Suspension, shown.Deadline = call.Arguments, call.ResumeToken, call.Deadline
	if call.RanWith != nil {
		shown.Asked, shown.Arguments = call.Arguments, call.RanWith
	}
	switch core.CallOutcome(call.Outcome) {
	case "":
		if run.Status == core.RunDone.String() {
			shown.Status, shown.Reason = wire.AskCancelled, whyEnded(run)
		}
		return
	case core.CallOutcomeSucceeded:
		shown.Status = wire.AskApproved
	case core.CallOutcomeDeniedByPerson:
		shown.Status = wire.AskDenied
	case core.CallOutcomeDeniedByRule, core.CallOutcomeBlocked, core.CallOutcomeInvalidArguments:
		shown.Status, shown.Reason = wire.AskDenied, resultOf(call)
		return
	case core.CallOutcomeTimedOut:
		shown.Status = wire.AskTimedOut
	default:
		shown.Status, shown.Reason = wire.AskCancelled, whyEnded(run)
		return
	}
	decided(shown, call)
}

// decided says who decided.
func decided(shown *wire.Ask, call wire.Call) {
	if d := call.Resume; d != nil {
		at := d.UpdatedAt
		shown.DecidedBy, shown.Via, shown.DecidedAt, shown.Reason = d.By, d.Via, &at, cmp.Or(d.Reason, d.Error)
	}
}

func resultOf(call wire.Call) string {
	if call.Result == nil {
		return ""
	}
	return *call.Result
}

// whyEnded says why a run ended without an answer.
func whyEnded(run wire.Run) string {
	switch {
	case run.CancelledBy != nil && run.CancelledBy.By != "":
		return "cancelled by " + run.CancelledBy.By
	case run.Error != nil:
		return cmp.Or(run.Error.Detail, run.Error.Code)
	case run.Reason != nil:
		return *run.Reason
	}
	return ""
}
