package core

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSuspendedCallJSON(t *testing.T) {
	call := NewSuspendedCall(ToolCall{ID: "call_1", Name: "my_tool", Arguments: json.RawMessage(`{"key":"val"}`)}, KindApproval,
		SuspendTicket{
			Suspension: Suspension{ID: "sus_1_x", Action: "confirm"},
			Pending:    PendingCall{ID: "pending_1", Name: "my_tool", Arguments: json.RawMessage(`{"key":"val"}`)},
			ResumeMode: UseDecisionAsToolResult,
		})
	t.Run("C08 the ticket is flattened and the round trip is equal", func(t *testing.T) {
		raw, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		var top map[string]json.RawMessage
		if err := json.Unmarshal(raw, &top); err != nil {
			t.Fatal(err)
		}
		if _, nested := top["ticket"]; nested {
			t.Error("the ticket is a member of its own")
		}
		for _, member := range []string{"suspension", "pending", "resume_mode", "call_id", "tool_name", "arguments"} {
			if _, ok := top[member]; !ok {
				t.Errorf("no top-level member %q in %s", member, raw)
			}
		}
		if string(top["resume_mode"]) != `"use_decision_as_tool_result"` {
			t.Errorf("resume_mode is %s", top["resume_mode"])
		}
		var back SuspendedCall
		if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, call) {
			t.Errorf("came back as %+v (%v)", back, err)
		}
	})
	t.Run("C09 a zero set of suspended calls is empty", func(t *testing.T) {
		var set SuspendedCalls
		if len(set.Calls) != 0 {
			t.Error("not empty")
		}
		if _, ok := set.Calls["any"]; ok {
			t.Error("holds something")
		}
	})
}

func TestResumeJSON(t *testing.T) {
	for _, result := range []json.RawMessage{nil, json.RawMessage("null")} {
		t.Run("C10 a decision without result and reason has neither member", func(t *testing.T) {
			raw, err := json.Marshal(Resume{DecisionID: "d1", Action: ActionResume, Result: result})
			if err != nil {
				t.Fatal(err)
			}
			if s := string(raw); strings.Contains(s, "result") || strings.Contains(s, "reason") || !strings.Contains(s, `"action":"resume"`) {
				t.Errorf("got %s", s)
			}
		})
	}
	t.Run("a decision record keeps the members of its decision", func(t *testing.T) {
		rec := DecisionRecord{CallID: "c", Suspension: "sus_1_a", Digest: "x", Applied: true,
			Resume: Resume{DecisionID: "d", Action: ActionCancel, Reason: "no", UpdatedAt: 7}}
		var back DecisionRecord
		if err := json.Unmarshal(Encode(rec), &back); err != nil || !reflect.DeepEqual(back, rec) {
			t.Errorf("came back as %+v (%v)", back, err)
		}
	})
}

func TestCallStateJSON(t *testing.T) {
	t.Run("empty members are left out, status and time are not", func(t *testing.T) {
		if got := string(Encode(CallState{})); got != `{"status":"new","updated_at":0}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestOutcomeStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Outcome
		want CallStatus
	}{
		{"C12 pending", Outcome{Ticket: &SuspendTicket{}}, CallSuspended},
		{"C12 success", Outcome{Text: "ok"}, CallSucceeded},
		{"C12 error", Outcome{Text: "no", Failed: true}, CallFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.o.Status(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	t.Run("a suspension id carries its segment", func(t *testing.T) {
		if seq, ok := SuspensionSeq(SuspensionID("thr_a", 1234, "abc_def")); !ok || seq != 1234 {
			t.Errorf("got %d, %v", seq, ok)
		}
		for _, bad := range []string{"", "sus_", "sus_5", "sus__x", "sus_-1_x", "sus_!_x", "run_5_x"} {
			if _, ok := SuspensionSeq(bad); ok {
				t.Errorf("%q was taken for a suspension id", bad)
			}
		}
	})
	t.Run("a run id carries its thread", func(t *testing.T) {
		if thread, ok := ThreadOf(RunID("thr_abc", 77)); !ok || thread != "thr_abc" {
			t.Errorf("got %q, %v", thread, ok)
		}
		for _, bad := range []string{"", "run_", "run_x", "run__1", "thr_a_b"} {
			if _, ok := ThreadOf(bad); ok {
				t.Errorf("%q was taken for a run id", bad)
			}
		}
	})
}
