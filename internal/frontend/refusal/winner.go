package refusal

import (
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// OtherWasFirst refuses a decision because another one was stored before.
func OtherWasFirst(first core.DecisionRecord) *Error {
	winner := &wire.Winner{DecisionID: first.DecisionID, Result: first.Result, Error: first.Error, Reason: first.Reason, By: first.By, Via: first.Via}
	if first.UpdatedAt != 0 {
		at := wire.Millis(first.UpdatedAt)
		winner.At = &at
	}
	if first.Action != 0 {
		winner.Action = first.Action.String()
	}
	return &Error{Code: CodeAlreadyDecided, Detail: "a different decision came first", Same: new(false), Winner: winner}
}

// mostBrief is how many bytes of each member of a winner are shown among others.
const mostBrief = 1024

// Brief is a winner as it is shown among many: the answer to a hundred decisions must not be a
// hundred times as large as a decision may be. Long texts are cut, and a long result is left out.
func Brief(w *wire.Winner) *wire.Winner {
	if w == nil {
		return nil
	}
	brief := *w
	brief.Reason, brief.Error = core.ClipBytes(w.Reason, mostBrief), core.ClipBytes(w.Error, mostBrief)
	if len(w.Result) > mostBrief {
		brief.Result = nil
	}
	return &brief
}

// Late refuses an answer after its deadline.
func Late() *Error {
	return New(CodeLateDecision, "the call's deadline passed before this answer arrived and the run continued without it; start another run if the work is still needed")
}

// Contended refuses a request because others were first, again and again.
func Contended() *Error {
	return &Error{Code: CodeUnavailable, Detail: "too many requests change this thread at once; send the same request again", RetryAfter: time.Second}
}
