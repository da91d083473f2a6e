package engine_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// An approval that the starter may have given doesn't answer a rule that bars the starter, though
// both ask in the same words.
func TestAnApprovalDoesNotLiftARuleThatBarsItsApprover(t *testing.T) {
	r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
	bars := ""
	r.tool("pay", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
		return core.Verdict{Effect: core.Ask, NotBy: bars}
	}})
	r.play()
	bars = core.NotByStarter // a policy that came while the call waited
	r.must(r.decide("c1", resume("d1", `true`)))
	r.work()
	r.wantRan()
	r.wantRun(core.RunWaiting, 0)
	if got := r.suspended("c1").NotBy; got != core.NotByStarter {
		t.Errorf("the second question bars %q", got)
	}
	r.must(r.decide("c1", resume("d2", `true`)))
	r.work()
	r.wantRan(`pay{}`)
}
