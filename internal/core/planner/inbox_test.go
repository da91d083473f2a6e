package planner

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// open is a rule book in which everything may run.
type open struct{}

func (open) Tool(name string) (core.ToolSpec, bool) { return core.ToolSpec{Name: name}, true }

func (open) Check(core.ToolCall) error { return nil }

func (open) Gate(core.ToolCall, core.State) core.Verdict { return core.Verdict{Effect: core.Allow} }

func (open) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }

func (open) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

func (open) Terms() core.Terms { return core.Terms{} }

func (open) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

// waitingFor is a run whose one call waits on a suspension of the given kind, with signals in its
// inbox.
func waitingFor(kind core.Kind, inbox map[string]core.Signal) plans.View {
	call := core.ToolCall{ID: "c", Name: "tool", Arguments: json.RawMessage(`{}`)}
	h := core.Head{Identity: core.Identity{Run: "run_a_0", Thread: "thr_a"},
		Status: core.RunRunning, Position: core.Position{Epoch: 2, Rev: 5, Seq: 3, Sigs: int64(len(inbox))}, Round: 2, Stage: core.Stage{TurnOpen: true},
		Calls: map[string]core.Call{"c": {Status: core.CallSuspended, Wait: core.Wait{Kind: kind, Mode: core.UseDecisionAsToolResult, Sus: "sus_3_a", Suspensions: 1}}}, Inbox: inbox}
	return plans.View{Head: h, Round: core.Round{Calls: []core.ToolCall{call}, Decisions: map[string]core.DecisionRecord{}}, Rules: open{}, Now: 1000,
		Limits: plans.DefaultLimits, Fresh: func() string { return "b" }, Put: 1}
}

func messageSignal(text string, at int64) core.Signal {
	return core.Signal{Kind: core.SignalMessage, Value: core.Encode(core.TextParts(text)), At: at}
}

func decisionSignal(id string, at int64) core.Signal {
	return core.Signal{Kind: core.SignalDecision, Call: "c", ID: id, Digest: "dig", At: at,
		Value: core.Encode(core.Resume{DecisionID: id, Action: core.ActionResume, Result: json.RawMessage(`"yes"`)})}
}

func mustDecide(t *testing.T, v plans.View) *plans.Commit {
	t.Helper()
	plan, err := Decide(v)
	c, ok := plan.(*plans.Commit)
	if err != nil || !ok {
		t.Fatalf("plan %#v, %v", plan, err)
	}
	return c
}

func TestMessageAsAnswer(t *testing.T) {
	t.Run("H6 it spends the suspension, so the commit demands that no decision on it is unseen", func(t *testing.T) {
		c := mustDecide(t, waitingFor(core.KindInput, map[string]core.Signal{"m:1": messageSignal("blue", 5)}))
		if !c.AllSeen {
			t.Error("a decision that was accepted meanwhile would be overtaken by the message")
		}
	})
	t.Run("H6 a decision in the inbox was the first on its suspension, whatever the callers' clocks say", func(t *testing.T) {
		c := mustDecide(t, waitingFor(core.KindInput, map[string]core.Signal{"m:1": messageSignal("blue", 5), "sus_3_a": decisionSignal("d", 9)}))
		var applied []string
		for _, e := range c.Segment.Events {
			var rec core.DecisionRecord
			if e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil && rec.Applied {
				applied = append(applied, rec.DecisionID)
			}
		}
		if len(applied) != 1 || applied[0] != "d" {
			t.Errorf("applied: %v", applied)
		}
		if m := c.Segment.Messages[0]; m.Role != core.RoleUser || m.Text() != "blue" {
			t.Errorf("the message became %+v", m)
		}
	})
}

func TestADecisionThatCannotBeReadDoesNotKeepARunFromEnding(t *testing.T) {
	lost := core.Signal{Kind: core.SignalDecision, Call: "c", ID: "d", Digest: "dig", Ref: "gone"}
	v := waitingFor(core.KindApproval, map[string]core.Signal{"sus_3_a": lost, core.KeyCancel: {Kind: core.SignalCancel}})
	c := mustDecide(t, v)
	if c.Head.End == nil || c.Head.End.Kind != core.Cancelled || len(c.Drained) != 2 {
		t.Errorf("end %+v, drained %v", c.Head.End, c.Drained)
	}
	for _, e := range c.Segment.Events {
		var rec core.DecisionRecord
		if e.Type == core.EventDecisionRecorded && (json.Unmarshal(e.Data, &rec) != nil || rec.DecisionID != "d" || rec.Applied) {
			t.Errorf("recorded: %s", e.Data)
		}
	}
}

func TestADecisionByALinkIsJournaledWithTheLinkAndItsMaker(t *testing.T) {
	for name, sus := range map[string]string{"applied": "sus_3_a", "of an older suspension": "sus_2_a"} {
		s := decisionSignal("lnk_1", 5)
		s.By, s.Via, s.Link, s.Mint = "link:anna", core.ViaLink, "lnk_1", "token:mailer"
		c := mustDecide(t, waitingFor(core.KindClient, map[string]core.Signal{sus: s}))
		var recorded []core.DecisionRecord
		for _, e := range c.Segment.Events {
			var rec core.DecisionRecord
			if e.Type == core.EventDecisionRecorded && json.Unmarshal(e.Data, &rec) == nil {
				recorded = append(recorded, rec)
			}
		}
		if len(recorded) != 1 || recorded[0].By != "link:anna" || recorded[0].Via != "link" || recorded[0].Link != "lnk_1" || recorded[0].MintedBy != "token:mailer" {
			t.Errorf("%s: %+v", name, recorded)
		}
	}
}
