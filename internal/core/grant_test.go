package core

import "testing"

// A head that an older program stored may hold grants beside a run that waits. They are not used.
func TestATurnBeginsWithoutGrants(t *testing.T) {
	d := newDraft(View{Head: Head{Status: RunWaiting, Counters: Counters{Turn: 1}, Permissions: Permissions{Grants: []string{"pay/1"}},
		Calls: map[string]Call{"c1": {Status: CallSuspended, Wait: Wait{Kind: KindApproval}}}}})
	d.openTurn(CauseInput)
	if d.granted("pay/1") {
		t.Error("a grant of an earlier turn holds")
	}
}
