package core

import (
	"encoding/json"
	"reflect"
	"strings"
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

func TestStopSpecs(t *testing.T) {
	for _, s := range []StopSpec{
		{Type: "max_rounds", Rounds: 5}, {Type: "timeout", Seconds: 30}, {Type: "token_budget", MaxTotal: 1000},
		{Type: "consecutive_errors", Max: 3}, {Type: "stop_on_tool", ToolName: "finish"}, {Type: "content_match", Pattern: "^ok"},
		{Type: "loop_detection", Window: 2}, {Type: "max_rounds"},
	} {
		t.Run("C19 "+s.Type, func(t *testing.T) {
			raw := Encode(s)
			if !strings.Contains(string(raw), `"type":"`+s.Type+`"`) {
				t.Errorf("not tagged by type: %s", raw)
			}
			var back StopSpec
			if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, s) {
				t.Errorf("%s came back as %+v (%v)", raw, back, err)
			}
		})
	}
	for _, bad := range []string{`{"type":"max_rounds","rounds":1,"extra":1}`, `{"type":"max_rounds","window":1}`, `{"type":"nope"}`, `{"rounds":1}`, `[]`} {
		t.Run("C19 refused: "+bad, func(t *testing.T) {
			var s StopSpec
			if err := json.Unmarshal([]byte(bad), &s); err == nil {
				t.Errorf("taken as %+v", s)
			}
		})
	}
}
