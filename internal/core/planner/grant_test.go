package planner

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// A head that an older program stored may hold grants beside a run that waits. They are not used.
func TestATurnBeginsWithoutGrants(t *testing.T) {
	d := newDraft(plans.View{Head: core.Head{Status: core.RunWaiting, Counters: core.Counters{Turn: 1}, Permissions: core.Permissions{Grants: []string{"pay/1"}},
		Calls: map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindApproval}}}}})
	d.openTurn(core.CauseInput)
	if d.granted("pay/1") {
		t.Error("a grant of an earlier turn holds")
	}
}
