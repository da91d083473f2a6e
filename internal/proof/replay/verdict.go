package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// ruling is what was decided about one gated call.
type ruling struct {
	fate
	decision wire.Decision
	answerAt time.Time // when a silent call is answered after all
	lateSent bool
	inTime   bool // and it counted
}

// rule makes the decision that the call's fate says.
func (a *actor) rule(p wire.Pending) *ruling {
	r := &ruling{fate: a.s.o.fate(a.name, p.CallID), decision: decisionOn(p)}
	if r.mode.String() != p.ResumeMode {
		a.s.report.deviation("%s: %s waits in mode %s instead of %s", a.conversation.ID, p.CallID, p.ResumeMode, r.mode)
	}
	if (p.Deadline != nil) != (a.s.o.Deadlines > 0) {
		a.s.report.deviation("%s: %s is shown with the deadline %v", a.conversation.ID, p.CallID, p.Deadline)
	}
	if p.Deadline != nil {
		r.answerAt = p.Deadline.Add(r.lateBy)
	}
	switch {
	case r.deny:
		r.decision.Action, r.decision.Reason = core.ActionCancel.String(), "the caller refuses "+p.CallID
	case r.mode == core.UseDecisionAsToolResult:
		r.decision.Result = core.Encode(a.recorded[p.CallID].Text())
	case r.edit:
		r.decision.Arguments = edited(p.Arguments)
	}
	return r
}

// hold holds every gated call against what was decided about it, and returns the results of those
// that the recording does not say.
func (a *actor) hold(got []core.Message, ends map[string][]core.EventType) (otherwise map[string]string) {
	otherwise = map[string]string{}
	results := map[string]core.Message{}
	for _, m := range got {
		if m.Role == core.RoleTool && !m.Pending {
			results[m.CallID] = m
		}
	}
	for _, m := range got {
		for _, call := range m.Calls {
			if why := a.deviates(call, results[call.ID], ends[call.ID]); why != "" {
				a.s.report.deviation("%s: %s %s: %s", a.conversation.ID, call.Name, call.ID, why)
			}
			if r := a.rulings[call.ID]; r != nil && !r.asRecorded() {
				otherwise[call.ID] = results[call.ID].Text()
			}
		}
	}
	if len(otherwise) > 0 {
		a.s.report.InPart++
	} else {
		a.s.report.InFull++
	}
	return otherwise
}

func (r *ruling) asRecorded() bool { return !r.deny && !r.timedOut() && !r.edit }
func (r *ruling) timedOut() bool   { return r.silent && !r.inTime }

// deviates says in what a call did not come to what it had to.
func (a *actor) deviates(call core.ToolCall, result core.Message, ends []core.EventType) string {
	r, gated := a.rulings[call.ID], a.s.cast.gated[call.Name]
	if !gated {
		return a.ranWith(call, call.Arguments)
	}
	if r == nil {
		return "it never waited for an approval"
	}
	end, why := core.EventCallSucceeded, ""
	switch {
	case r.deny:
		a.s.report.Denied++
		end, why = core.EventCallCancelled, a.refused(call, result, r.decision.Reason)
	case r.timedOut():
		a.s.report.TimedOut++
		end, why = core.EventCallFailed, a.refused(call, result, "in time")
		if r.lapse == core.DeadlineCancel {
			end = core.EventCallCancelled
		}
	case r.mode == core.UseDecisionAsToolResult:
		why = a.decided(call, result, r)
	case r.edit:
		a.s.report.Edited++
		why = a.ranEdited(call, result, r)
	default:
		why = a.ranWith(call, call.Arguments)
	}
	if len(ends) != 1 || ends[0] != end {
		return fmt.Sprintf("it ended as %v instead of once as %s. %s", ends, end, why)
	}
	return why
}

// refused: no body ever ran, and the model is told why.
func (a *actor) refused(call core.ToolCall, result core.Message, reason string) string {
	if n, _ := a.s.cast.ran(a.name, call.ID); n != 0 {
		return fmt.Sprintf("it must not run, and ran %d times", n)
	}
	if !result.Error || !strings.Contains(result.Text(), reason) {
		return fmt.Sprintf("the model is told %q, which does not say %q", result.Text(), reason)
	}
	return ""
}

// decided: the decision is the result, and no body ran.
func (a *actor) decided(call core.ToolCall, result core.Message, r *ruling) string {
	if n, _ := a.s.cast.ran(a.name, call.ID); n != 0 {
		return fmt.Sprintf("the decision is its result, and it ran %d times", n)
	}
	if got := string(core.Encode(result.Text())); got != string(r.decision.Result) {
		return fmt.Sprintf("its result is %s, and the decision was %s", got, r.decision.Result)
	}
	return ""
}

// ranEdited: the body saw the edited arguments alone; the result is the recorded one, and names
// them.
func (a *actor) ranEdited(call core.ToolCall, result core.Message, r *ruling) string {
	if why := a.ranWith(call, r.decision.Arguments); why != "" {
		return why
	}
	named, ok := strings.CutPrefix(result.Text(), a.recorded[call.ID].Text())
	switch {
	case !ok:
		return fmt.Sprintf("its result is %q", result.Text())
	case named != "" || string(result.RanWith) != string(r.decision.Arguments):
		return fmt.Sprintf("its result says that it ran with %s instead of the edited arguments %s", result.RanWith, r.decision.Arguments)
	}
	return ""
}

// ranWith: the body ran, with exactly these arguments.
func (a *actor) ranWith(call core.ToolCall, arguments json.RawMessage) string {
	n, ran := a.s.cast.ran(a.name, call.ID)
	switch {
	case n == 0:
		return "it never ran"
	case canonical(ran.Arguments) != canonical(arguments):
		return fmt.Sprintf("it ran with %s instead of %s", ran.Arguments, arguments)
	}
	return ""
}

func canonical(arguments json.RawMessage) string {
	raw, err := core.Canonical(arguments)
	if err != nil {
		return string(arguments)
	}
	return string(raw)
}
