package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// hold holds every call against what was decided about it, and returns the results of those that
// the recording does not say.
func (v *visit) hold(got []core.Message) (otherwise map[string]string) {
	otherwise = map[string]string{}
	results := map[string]core.Message{}
	for _, m := range got {
		if m.Role == core.RoleTool && !m.Pending {
			results[m.CallID] = m
		}
	}
	for _, m := range got {
		for _, call := range m.Calls {
			v.judge(call, results[call.ID])
			if r := v.rulings[call.ID]; r != nil && !r.asRecorded() {
				otherwise[call.ID] = results[call.ID].Text()
			}
		}
	}
	v.note(func(r *Report) {
		if len(otherwise) > 0 {
			r.InPart++
		} else {
			r.InFull++
		}
	})
	return otherwise
}

func (v *visit) judge(call core.ToolCall, result core.Message) {
	t := v.told[call.ID]
	if t == nil {
		t = &tale{}
	}
	why := v.deviates(call, result, t)
	v.note(func(r *Report) {
		if why != "" {
			r.deviation("%s: %s %s: %s", v.script.conversation.ID, call.Name, call.ID, why)
		}
		if v.gated(call) && len(t.started) > 1+t.unknown {
			r.Twice = append(r.Twice, fmt.Sprintf("%s: %s %s was started %d times", v.script.conversation.ID, call.Name, call.ID, len(t.started)))
		}
	})
}

func (v *visit) gated(call core.ToolCall) bool { return slices.Contains(v.o.Gate, call.Name) }

// deviates says in what a call did not come to what it had to.
func (v *visit) deviates(call core.ToolCall, result core.Message, t *tale) string {
	r := v.rulings[call.ID]
	switch {
	case v.gated(call) && (r == nil || t.asked == 0):
		return "it never waited for an approval; were the agents written with the same --gate?"
	case !v.gated(call) && r != nil:
		return "it waited for an approval and is not gated; were the agents written with the same --gate?"
	case t.asked > 1:
		return fmt.Sprintf("it waited %d times", t.asked)
	}
	end, why := core.EventCallSucceeded, ""
	switch {
	case r == nil:
		why = startedWith(t, call.Arguments)
	case r.deny:
		v.note(func(report *Report) { report.Denied++ })
		end, why = core.EventCallCancelled, refusedOnly(t, result, r.decision.Reason)
	case r.edit:
		v.note(func(report *Report) { report.Edited++ })
		if why = startedWith(t, r.decision.Arguments); why == "" {
			why = namesEdit(result, v.results[call.ID].Text(), r.decision.Arguments)
		}
	default:
		why = startedWith(t, call.Arguments)
	}
	if len(t.ends) != 1 || t.ends[0] != end {
		return strings.TrimSpace(fmt.Sprintf("it ended as %v instead of once as %s. %s", t.ends, end, why))
	}
	return why
}

// startedWith: whenever the journal says that the call was started, it was with these arguments.
// Not every start is written down before the call runs: of one that may run again it need not be.
func startedWith(t *tale, arguments []byte) string {
	for _, with := range t.started {
		if !core.IsNull(with) && canonical(with) != canonical(arguments) {
			return fmt.Sprintf("it was started with %s instead of %s", with, arguments)
		}
	}
	return ""
}

// refusedOnly: it was never started, and the model is told why.
func refusedOnly(t *tale, result core.Message, reason string) string {
	switch {
	case len(t.started) > 0:
		return fmt.Sprintf("it must not run, and was started %d times", len(t.started))
	case !result.Error || !strings.Contains(result.Text(), reason):
		return fmt.Sprintf("the model is told %q, which does not say %q", result.Text(), reason)
	}
	return ""
}

// namesEdit: the result is the recorded one, and names the arguments it ran with.
func namesEdit(result core.Message, recorded string, arguments []byte) string {
	switch {
	case result.Text() != recorded:
		return fmt.Sprintf("its result is %q", result.Text())
	case string(result.RanWith) != string(arguments):
		return fmt.Sprintf("its result says that it ran with %s instead of the edited arguments %s", result.RanWith, arguments)
	}
	return ""
}
