package core

import (
	"encoding/json"
	"testing"
)

// open is a rule book in which everything may run.
type open struct{}

func (open) Tool(name string) (ToolSpec, bool) { return ToolSpec{Name: name}, true }
func (open) Check(ToolCall) error              { return nil }
func (open) Gate(ToolCall, State) Verdict      { return Verdict{Effect: Allow} }
func (open) Deadline(ToolCall, Kind) Deadline  { return Deadline{} }
func (open) Terms() Terms                      { return Terms{} }

// waitingFor is a run whose one call waits on a suspension of the given kind, with signals in its
// inbox.
func waitingFor(kind Kind, inbox map[string]Signal) View {
	call := ToolCall{ID: "c", Name: "tool", Arguments: json.RawMessage(`{}`)}
	h := Head{Identity: Identity{Run: "run_a_0", Thread: "thr_a"},
		Status: RunRunning, Position: Position{Epoch: 2, Rev: 5, Seq: 3, Sigs: int64(len(inbox))}, Round: 2, Stage: Stage{TurnOpen: true},
		Calls: map[string]Call{"c": {Status: CallSuspended, Wait: Wait{Kind: kind, Mode: UseDecisionAsToolResult, Sus: "sus_3_a", Suspensions: 1}}}, Inbox: inbox}
	return View{Head: h, Round: Round{Calls: []ToolCall{call}, Decisions: map[string]DecisionRecord{}}, Rules: open{}, Now: 1000,
		Limits: DefaultLimits, Fresh: func() string { return "b" }, Put: 1}
}

func messageSignal(text string, at int64) Signal {
	return Signal{Kind: SignalMessage, Value: Encode(TextParts(text)), At: at}
}

func decisionSignal(id string, at int64) Signal {
	return Signal{Kind: SignalDecision, Call: "c", ID: id, Digest: "dig", At: at,
		Value: Encode(Resume{DecisionID: id, Action: ActionResume, Result: json.RawMessage(`"yes"`)})}
}

func mustDecide(t *testing.T, v View) *Commit {
	t.Helper()
	plan, err := Decide(v)
	c, ok := plan.(*Commit)
	if err != nil || !ok {
		t.Fatalf("plan %#v, %v", plan, err)
	}
	return c
}

func TestMessageAsAnswer(t *testing.T) {
	t.Run("H6 it spends the suspension, so the commit demands that no decision on it is unseen", func(t *testing.T) {
		c := mustDecide(t, waitingFor(KindInput, map[string]Signal{"m:1": messageSignal("blue", 5)}))
		if !c.AllSeen {
			t.Error("a decision that was accepted meanwhile would be overtaken by the message")
		}
	})
	t.Run("H6 a decision in the inbox was the first on its suspension, whatever the callers' clocks say", func(t *testing.T) {
		c := mustDecide(t, waitingFor(KindInput, map[string]Signal{"m:1": messageSignal("blue", 5), "sus_3_a": decisionSignal("d", 9)}))
		var applied []string
		for _, e := range c.Segment.Events {
			var rec DecisionRecord
			if e.Type == EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && rec.Applied {
				applied = append(applied, rec.DecisionID)
			}
		}
		if len(applied) != 1 || applied[0] != "d" {
			t.Errorf("applied: %v", applied)
		}
		if m := c.Segment.Messages[0]; m.Role != RoleUser || m.Text() != "blue" {
			t.Errorf("the message became %+v", m)
		}
	})
}

func TestADecisionThatCannotBeReadDoesNotKeepARunFromEnding(t *testing.T) {
	lost := Signal{Kind: SignalDecision, Call: "c", ID: "d", Digest: "dig", Ref: "gone"}
	v := waitingFor(KindApproval, map[string]Signal{"sus_3_a": lost, KeyCancel: {Kind: SignalCancel}})
	c := mustDecide(t, v)
	if c.Head.End == nil || c.Head.End.Kind != Cancelled || len(c.Drained) != 2 {
		t.Errorf("end %+v, drained %v", c.Head.End, c.Drained)
	}
	for _, e := range c.Segment.Events {
		var rec DecisionRecord
		if e.Type == EventDecisionRecorded && (json.Unmarshal(e.Data, &rec) != nil || rec.DecisionID != "d" || rec.Applied) {
			t.Errorf("recorded: %s", e.Data)
		}
	}
}

func TestADecisionByALinkIsJournaledWithTheLinkAndItsMaker(t *testing.T) {
	for name, sus := range map[string]string{"applied": "sus_3_a", "of an older suspension": "sus_2_a"} {
		s := decisionSignal("lnk_1", 5)
		s.By, s.Via, s.Link, s.Mint = "link:anna", ViaLink, "lnk_1", "token:mailer"
		c := mustDecide(t, waitingFor(KindClient, map[string]Signal{sus: s}))
		var recorded []DecisionRecord
		for _, e := range c.Segment.Events {
			var rec DecisionRecord
			if e.Type == EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil {
				recorded = append(recorded, rec)
			}
		}
		if len(recorded) != 1 || recorded[0].By != "link:anna" || recorded[0].Via != "link" || recorded[0].Link != "lnk_1" || recorded[0].MintedBy != "token:mailer" {
			t.Errorf("%s: %+v", name, recorded)
		}
	}
}
