package core

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Effect is what a gate says of a call.
type Effect uint8

const (
	Ask Effect = iota // a person decides; what is not stated is asked
	Allow
	Deny      // the call fails and the model sees why
	Block     // the run ends
	SetResult // the call has this result without running
)

var effectNames = []string{"ask", "allow", "deny", "block", "set_result"}

// strictness orders the effects: of several verdicts on one call the strictest counts.
var strictness = map[Effect]int{Allow: 0, SetResult: 1, Ask: 2, Deny: 3, Block: 4}

// Stricter returns the stricter of two verdicts; of two that are alike, a. An approval lifts an ask
// and nothing else: the result that another verdict gives in place of the body stays with it.
func Stricter(a, b Verdict) Verdict {
	switch {
	case a.Effect == Ask && b.Effect == SetResult && a.Result == nil:
		a.Result = givenResult(b)
		return a
	case a.Effect == SetResult && b.Effect == Ask && b.Result == nil:
		b.Result = givenResult(a)
		return b
	}
	if strictness[b.Effect] > strictness[a.Effect] {
		return b
	}
	return a
}

func (e Effect) String() string { return name(effectNames, uint8(e)) }

func (e Effect) MarshalText() ([]byte, error) { return marshalName("effect", effectNames, uint8(e)) }

func (e *Effect) UnmarshalText(b []byte) error { return unmarshalName("effect", effectNames, b, e) }

// Verdict is a gate's answer for one call.
type Verdict struct {
	Effect Effect
	Reason string // of a denial, shown to the model; of an ask, shown to the approver
	// Mode and Schema shape the suspension of an ask.
	Mode   ResumeMode
	Schema json.RawMessage
	// Grant names what an approval that says [GrantRun] allows: the tool and the rule that
	// asked. Empty: nothing more.
	Grant string
	// NotBy bars approvers of an ask, see [SuspendTicket].
	NotBy string
	// Policy says who decides an ask; nil: the agent's approvers, each alone.
	Policy *vote.Policy
	// Result is that of SetResult, or what an approved call has instead of running.
	Result *Outcome
}

func givenResult(v Verdict) *Outcome {
	if v.Result == nil {
		return &Outcome{}
	}
	return v.Result
}

// Given is the result that the verdict gives in place of a body's; one that gives none has an empty
// one.
func (v Verdict) Given() Outcome {
	if v.Result == nil {
		return Outcome{}
	}
	return Outcome{Text: v.Result.Text, Value: v.Result.Value, Failed: v.Result.Failed}
}
