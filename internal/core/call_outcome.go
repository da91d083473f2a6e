package core

// CallOutcome says how a call ended, in a word that programs can compare. The list is closed: see
// [CallOutcomes].
type CallOutcome string

const (
	CallOutcomeSucceeded        CallOutcome = "succeeded"
	CallOutcomeToolError        CallOutcome = "tool_error"
	CallOutcomeOutOfTime        CallOutcome = "out_of_time"
	CallOutcomeLost             CallOutcome = "lost"
	CallOutcomeInvalidArguments CallOutcome = "invalid_arguments"
	CallOutcomeUnknownTool      CallOutcome = "unknown_tool"
	CallOutcomeNotOffered       CallOutcome = "not_offered"
	CallOutcomeBudgetExhausted  CallOutcome = "budget_exhausted"
	CallOutcomeDeniedByRule     CallOutcome = "denied_by_rule"
	CallOutcomeBlocked          CallOutcome = "blocked"
	CallOutcomeSetByRule        CallOutcome = "set_by_rule"
	CallOutcomeDeniedByPerson   CallOutcome = "denied_by_person"
	CallOutcomeDeclined         CallOutcome = "declined"
	CallOutcomeTimedOut         CallOutcome = "timed_out"
	CallOutcomeAbandoned        CallOutcome = "abandoned"
	CallOutcomeNotFinished      CallOutcome = "not_finished"
	CallOutcomeRunCancelled     CallOutcome = "run_cancelled"
	CallOutcomeRunEnded         CallOutcome = "run_ended"
	CallOutcomeChildFailed      CallOutcome = "child_failed"
	CallOutcomeChildStopped     CallOutcome = "child_stopped"
	CallOutcomeChildBlocked     CallOutcome = "child_blocked"
	CallOutcomeChildCancelled   CallOutcome = "child_cancelled"
	CallOutcomeChildUnavailable CallOutcome = "child_unavailable"
	CallOutcomeChildLost        CallOutcome = "child_lost"
)

// CallOutcomeWord is one outcome with what it means. The docs are generated from [CallOutcomes].
type CallOutcomeWord struct {
	Outcome CallOutcome
	Ran     string // "yes", "no" or "maybe": whether the tool's body ran to its end
	Means   string
}

// CallOutcomes are all outcomes, in the order in which a call can meet them.
var CallOutcomes = []CallOutcomeWord{
	{CallOutcomeSucceeded, "yes", "The tool, the client or the approver returned a result."},
	{CallOutcomeToolError, "yes", "The tool or the client returned an error."},
	{CallOutcomeUnknownTool, "no", "The agent has no tool of that name, or the program that serves the agent doesn't have the tool."},
	{CallOutcomeNotOffered, "no", "A hook excluded the tool from this step."},
	{CallOutcomeInvalidArguments, "no", "The arguments are not valid JSON or don't match the tool's schema."},
	{CallOutcomeBudgetExhausted, "no", "The step or the run has used up its budget of tool calls."},
	{CallOutcomeDeniedByRule, "no", "A permission or a hook denied the call."},
	{CallOutcomeBlocked, "no", "A permission or a hook denied the call and ended the run."},
	{CallOutcomeSetByRule, "no", "A hook supplied the result."},
	{CallOutcomeDeniedByPerson, "no", "The approver denied the call."},
	{CallOutcomeDeclined, "no", "The client or the person answered with `cancel`."},
	{CallOutcomeTimedOut, "no", "The deadline passed before an answer arrived."},
	{CallOutcomeAbandoned, "maybe", "A new message abandoned the call while it waited. If it waited as `unknown_outcome`, the tool may have run."},
	{CallOutcomeOutOfTime, "maybe", "The tool was still running when its time limit passed."},
	{CallOutcomeLost, "maybe", "The worker crashed while the tool ran, so the outcome is unknown."},
	{CallOutcomeNotFinished, "no", "The model called the tool `finish`, but the run couldn't end yet."},
	{CallOutcomeRunCancelled, "maybe", "The run was cancelled before the call had a result. If the call may have taken effect, `may_have_run` is true."},
	{CallOutcomeRunEnded, "maybe", "Like `run_cancelled`, but the run ended for another reason."},
	{CallOutcomeChildFailed, "yes", "The called agent's run ended with an error."},
	{CallOutcomeChildStopped, "yes", "A stop rule or a budget ended the called agent's run."},
	{CallOutcomeChildBlocked, "yes", "A rule blocked the called agent's run."},
	{CallOutcomeChildCancelled, "yes", "The called agent's run was cancelled."},
	{CallOutcomeChildUnavailable, "no", "The agent to call isn't deployed, or the run may not start another child."},
	{CallOutcomeChildLost, "maybe", "The called agent's run is gone, so its outcome is unknown."},
}

// CallOutcome is the outcome of the call whose result the message is; empty for a placeholder and
// for a message of another role. A message stores it only where its Error flag alone would mean
// something else.
func (m Message) CallOutcome() CallOutcome {
	switch {
	case m.Role != RoleTool || m.Pending:
		return ""
	case m.Outcome != "":
		return m.Outcome
	}
	return Outcome{Failed: m.Error}.CallOutcome()
}

// Stored is the outcome as a message stores it: empty where the Error flag says the same.
func (o CallOutcome) Stored(failed bool) CallOutcome {
	if o == (Outcome{Failed: failed}).CallOutcome() {
		return ""
	}
	return o
}

// OrTimedOut is o unless the deadline decided.
func (o CallOutcome) OrTimedOut(rec DecisionRecord) CallOutcome {
	if rec.TimedOut {
		return CallOutcomeTimedOut
	}
	return o
}

// Ended is the data of call.succeeded, call.failed and call.cancelled events. The result is the
// message's.
type Ended struct {
	CallState
	Outcome    CallOutcome `json:"outcome,omitempty"` // only where no message holds it
	StartedAt  int64       `json:"started_at,omitempty"`
	EndedAt    int64       `json:"ended_at,omitempty"` // 0: the event's time
	Attempts   int         `json:"attempts,omitempty"`
	MayHaveRun bool        `json:"may_have_run,omitempty"`
	// the suspension that ended with the call, without a decision: the run ended first, or a
	// message came instead
	Suspension string `json:"suspension,omitempty"`
}

// Overtaken says whether a call that waited was closed for this reason, and by no decision.
func (o CallOutcome) Overtaken() bool {
	return o == CallOutcomeRunCancelled || o == CallOutcomeRunEnded || o == CallOutcomeAbandoned
}
