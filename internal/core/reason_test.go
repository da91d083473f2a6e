package core

import (
	"encoding/json"
	"testing"
)

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		reason Reason
		status RunStatus
		word   string
	}{
		{Reason{Kind: Suspended}, RunWaiting, "suspended"},
		{Reason{Kind: NaturalEnd}, RunDone, "natural_end"},
		{Reason{Kind: BehaviorRequested}, RunDone, "behavior_requested"},
		{Reason{Kind: Cancelled}, RunDone, "cancelled"},
		{Reason{Kind: Blocked, Detail: "x"}, RunDone, "blocked"},
		{Reason{Kind: Stopped, Code: "max_rounds"}, RunDone, "stopped"},
		{Reason{Kind: Failed, Detail: "y"}, RunDone, "error"},
	} {
		t.Run("C16 "+c.word+" leads to "+c.status.String(), func(t *testing.T) {
			if c.reason.Status() != c.status || c.reason.Kind.String() != c.word {
				t.Errorf("got %s, %s", c.reason.Status(), c.reason.Kind)
			}
			var back Reason
			if err := json.Unmarshal(Encode(c.reason), &back); err != nil || back != c.reason {
				t.Errorf("came back as %+v (%v)", back, err)
			}
		})
	}
	for old, want := range map[string]Reason{
		"natural":      {Kind: NaturalEnd},
		"blocked:a:b":  {Kind: Blocked, Detail: "a:b"},
		"stopped:code": {Kind: Stopped, Code: "code"},
		"":             {Kind: Failed},
		"garbage":      {Kind: Failed, Detail: "garbage"},
	} {
		t.Run("C17 the old spelling "+old, func(t *testing.T) {
			if got := ParseReason(old); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	t.Run("C18 stopped without detail has no detail member", func(t *testing.T) {
		if got := string(Encode(Reason{Kind: Stopped, Code: "max_rounds"})); got != `{"reason":"stopped","code":"max_rounds"}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("C27 the slot of a waiting run", func(t *testing.T) {
		want := `{"id":"run_42","status":"waiting","done_reason":null,"updated_at":99}`
		if got := string(Encode(RunState{ID: "run_42", Status: RunWaiting, UpdatedAt: 99})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
