package core

import (
	"encoding/json"
	"reflect"
	"testing"
)

// What a decision says, who made it and how are the same after its way through the inbox; what
// follows from it is the planner's to add.
func TestADecisionReturnsFromItsSignal(t *testing.T) {
	sent := DecisionRecord{CallID: "c1", Suspension: "sus_3_a", Digest: "d0", By: "link:anna", Via: ViaLink, Link: "lnk_1", MintedBy: "token:mailer",
		Resume: Resume{DecisionID: "d1", Action: ActionResume, Result: []byte(`{"ok":1}`), Reason: "fine", Arguments: []byte(`{"a":2}`), Grant: GrantRun,
			UpdatedAt: 7, Shown: "f0", ShownBy: "desk/2"}}
	signal := sent.Signal(SignalDecision)
	var said Resume
	if err := json.Unmarshal(signal.Value, &said); err != nil {
		t.Fatal(err)
	}
	if got := signal.Record("sus_3_a", said); !reflect.DeepEqual(got, sent) {
		t.Fatalf("got %+v\nwant %+v", got, sent)
	}
	for name, kept := range map[string]bool{"kind": signal.Kind == SignalDecision, "id": signal.ID == "d1", "time": signal.At == 7} {
		if !kept {
			t.Errorf("the signal lost the %s: %+v", name, signal)
		}
	}
}
