// Package phrase has the sentences that a run writes for models and people about its calls.
package phrase

import (
	"cmp"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Placeholder is the content of a tool message whose result is still pending.
const Placeholder = "This call waits for an answer; its result will follow."

// Interrupted is the message of a run that was interrupted. The thread of a child takes no
// messages.
func Interrupted(child bool) string {
	if child {
		return "The run was interrupted. Resume it to continue."
	}
	return "The run was interrupted. Resume it to continue; a message resumes it too, unless a call waits for a decision."
}

// Refusal is the result of a call whose wait was answered with cancel.
func Refusal(k core.Kind, reason string) string {
	text := "Cancelled: there is no result."
	switch k {
	case core.KindApproval:
		text = "Not approved: the call did not run."
	case core.KindUnknownOutcome:
		text = "Cancelled: it is unknown whether the call took effect, and it was not run again."
	}
	if reason != "" {
		text += " Reason: " + reason
	}
	return text
}

// Decision is a decision in one line.
func Decision(r core.Resume) string {
	switch {
	case r.Error != "":
		return "error " + r.Error
	case !core.IsNull(r.Result):
		return r.Action.String() + " " + core.ResultText(r.Result)
	case r.Reason != "":
		return r.Action.String() + ": " + r.Reason
	}
	return r.Action.String()
}

// AtDeadline is what a deadline decides about a call, under the policy that it waits on, if there
// is one. silent: that approves a call that no one answers.
func AtDeadline(limit core.Deadline, c core.Call, policy *vote.Policy, silent bool, now int64) core.Resume {
	r := core.Resume{DecisionID: "deadline", Action: core.ActionResume, UpdatedAt: now}
	switch {
	case silent:
		r.Reason = "no one answered in time, and the policy " + policy.Name + " approves then"
	case c.Kind == core.KindApproval && policy != nil && policy.Deadline != nil:
		r.Action, r.Reason = core.ActionCancel, "no one approved it in time"
	case limit.Outcome == core.DeadlineCancel:
		r.Action, r.Reason = core.ActionCancel, "no answer arrived in time"
	case limit.Outcome == core.DeadlineResult && c.Kind != core.KindApproval:
		r.Result = limit.Result
	case c.Kind == core.KindApproval:
		r.Error = "Not run: no one approved it in time."
	case c.Kind == core.KindChild:
		r.Error = "The called agent did not end in time; its run is cancelled."
	default:
		r.Error = "No answer arrived in time."
	}
	return r
}

// RuleAsks is the message to an approver of a call that a rule holds back.
func RuleAsks(call core.ToolCall, v core.Verdict) string {
	return cmp.Or(v.Reason, call.Name+" needs approval before it runs.")
}

// OutcomeUnknown is the message to a person who reports what became of a call.
func OutcomeUnknown(call core.ToolCall) string {
	return call.Name + " was started, but its outcome is unknown. Report what happened: its result, its error, or that it did not happen and may run."
}

// EndedFirst is the result of a call that is open when its run ends. ran: it may have taken effect.
func EndedFirst(r core.Reason, ran bool) string {
	why := r.Kind.String()
	if r.Code != "" && r.Kind != core.Blocked {
		why += ": " + r.Code
	}
	if ran {
		return fmt.Sprintf("Cancelled: the run ended (%s) while this call was running; it may or may not have taken effect.", why)
	}
	return fmt.Sprintf("Not run: the run ended first (%s).", why)
}

// Abandoned is the result of a call that a new message gave up; empty if the message leaves it as
// it is.
func Abandoned(c core.Call) string {
	switch {
	case c.Status == core.CallSuspended && c.Kind == core.KindUnknownOutcome:
		return "Cancelled: the user sent a new message instead of an answer; it is unknown whether this call took effect."
	case c.Status == core.CallSuspended && c.Kind == core.KindChild:
		return "Cancelled: the user sent a new message before the called agent had ended; its run is cancelled."
	case c.Status == core.CallSuspended:
		return "Cancelled: the user sent a new message instead of an answer to this call."
	case c.Status == core.CallNew && c.HeldBehind != "":
		return "Not run: the user sent a new message instead."
	}
	return ""
}

// ChildWaits is the message of a call that waits for the run of another agent.
func ChildWaits(agent string) string { return "Waits for the agent " + agent + "." }

// ChildEnded is the result of a call whose child did not succeed.
func ChildEnded(agent string, r core.ChildResult) string {
	how := map[core.CallOutcome]string{
		core.CallOutcomeChildFailed:      "failed",
		core.CallOutcomeChildStopped:     "was stopped",
		core.CallOutcomeChildBlocked:     "was blocked by a rule",
		core.CallOutcomeChildCancelled:   "was cancelled",
		core.CallOutcomeChildUnavailable: "could not be started",
		core.CallOutcomeChildLost:        "was lost: it is unknown what it has done",
	}[r.Outcome]
	text := "The agent " + agent + " " + cmp.Or(how, "ended without a result")
	switch {
	case r.Code != "" && r.Detail != "":
		return text + " (" + r.Code + "): " + r.Detail
	case r.Code != "":
		return text + " (" + r.Code + ")."
	case r.Detail != "":
		return text + ": " + r.Detail
	}
	return text + "."
}
