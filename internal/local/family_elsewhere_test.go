package local

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// TestAnAgentOfAnotherServerIsCalled over A2A: the call waits while a person decides there, and has
// the result of that agent.
func TestAnAgentOfAnotherServerIsCalled(t *testing.T) {
	there, paid := countingRig(t)
	there.deploy(asked)
	far := there.start()
	here, _ := countingRig(t)
	here.deploy(strings.Replace(editor("http://"+far.Addr()+"/a2a/desk"), `headers: {Authorization: "Bearer {secret:REVIEWS}"}, `, "", 1))
	near := here.startWith(here.reaching(t, far.Addr()))
	run := near.begin(t)

	var waits client.Approval
	for waits.RunID == "" { // the task arrives soon
		page, err := far.ApprovalPage(t.Context(), client.ApprovalFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) > 0 {
			waits = page.Items[0]
		}
		if got, err := near.Run(t.Context(), run.ID); err != nil || got.Status == "done" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if got, err := near.Run(t.Context(), run.ID); err != nil || got.Status != "waiting" || len(got.Pending) > 0 {
		t.Errorf("while a person decides there: %+v, %v", got, err)
	}
	if _, err := far.Decide(t.Context(), waits.RunID, client.Decision{Target: waits.Suspension.ID, Action: client.ActionResume}); err != nil {
		t.Fatal(err)
	}
	done := near.await(t, run.ID, "done")
	if out := string(done.Output); !strings.Contains(out, "It says: Done.") || paid.Load() != 1 {
		t.Errorf("%s, paid %d times", out, paid.Load())
	}
	if theirs, err := far.Run(t.Context(), waits.RunID); err != nil || theirs.StartedBy.Via != "a2a" {
		t.Errorf("%+v, %v", theirs, err)
	}
}
