package core

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestSegmentsComeBackAsTheyWere(t *testing.T) {
	event := func(seq int64, run string, turn, step int) Event {
		return Event{Seq: seq, RunID: run, ThreadID: "thr_a", Turn: turn, Step: step, At: 5, Type: EventStepStarted, Data: json.RawMessage(`{"a":1}`), Message: 1}
	}
	message := func(run string, at int64) Message {
		return Message{Role: RoleAssistant, Parts: TextParts("<hi> \u2028"), Calls: []ToolCall{{ID: "c", Name: "n", Arguments: json.RawMessage(`{"x":1.50}`)}}, RunID: run, At: at}
	}
	for name, s := range map[string]Segment{
		"empty":             {Seq: 1, W: 2, Prev: 3},
		"messages alone":    {Seq: 1, Messages: []Message{message("run_a_0", 5), message("run_a_1", 6), {Role: RoleUser}}},
		"one run, one step": {Seq: 1, Messages: []Message{message("run_a_0", 5)}, Events: []Event{event(7, "run_a_0", 1, 1), event(8, "run_a_0", 1, 1)}},
		"a step begins":     {Seq: 1, Events: []Event{event(7, "run_a_0", 1, 0), event(8, "run_a_0", 1, 1), event(9, "run_a_0", 2, 1)}},
		"nothing in common": {Seq: 1, Messages: []Message{message("run_b_0", 0)}, Events: []Event{event(7, "run_a_0", 0, 0), event(70, "", 3, 4), event(2, "run_c_0", 1, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			var back Segment
			if err := json.Unmarshal(Encode(s), &back); err != nil || !reflect.DeepEqual(back, s) {
				t.Errorf("%s\ncame back as %+v (%v)\nwas          %+v", Encode(s), back, err, s)
			}
		})
	}
}
