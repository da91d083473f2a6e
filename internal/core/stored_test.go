package core

import (
	"encoding/json"
	"reflect"
	"strings"
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

// TestTheStoredFormIsWhatEncodingWrites: the stored form and its parts have the bytes that
// encoding/json gives the same members.
func TestTheStoredFormIsWhatEncodingWrites(t *testing.T) {
	type plain Part
	type silent struct {
		plain
		Text string `json:"text,omitempty"`
	}
	texts := []string{"", "plain", "<b>&amp;</b> \u2028\u2029", "tab\t, \"quotes\" and \\", "\x00\x1f\x7f", "\xff is no UTF-8", "Zoë 日本 🦔"}
	for _, text := range texts {
		for _, kind := range []string{"", PartText, PartReasoning, PartImage, text} {
			p := Part{Type: kind, Text: text, Media: text, Name: text, Data: []byte(text), Call: text, Provider: text, Sealed: []byte(text)}
			for _, p := range []Part{p, {Type: kind, Text: text}, {Type: kind, Data: []byte(text)}} {
				want := Encode(plain(p))
				if p.Text == "" && kind != "" && kind != PartText {
					want = Encode(silent{plain: plain(p)})
				}
				if got := Encode(p); string(got) != string(want) {
					t.Errorf("a part is written as\n%s\nand not as\n%s", got, want)
				}
			}
		}
		s := Segment{Seq: 1, W: 2, Messages: []Message{{Role: RoleTool, Parts: TextParts(text), RunID: "run_a_0"}}}
		if got, want := s.Stored(), Encode(s); string(got) != string(want) {
			t.Errorf("a segment is stored as\n%s\nand encoded as\n%s", got, want)
		}
	}
}

// BenchmarkStored writes and reads the segment of a step with a result of 2 KB.
func BenchmarkStored(b *testing.B) {
	result := strings.Repeat("Parcel A-20419 left the depot of \"Lyon\" at 14:05. ", 40)
	s := Segment{Seq: 7, Messages: []Message{{Role: RoleTool, Parts: TextParts(result), CallID: "call_7", Tool: "look", RunID: "run_a_0", At: 5}}}
	for n := range int64(4) {
		s.Events = append(s.Events, Event{Seq: 20 + n, RunID: "run_a_0", ThreadID: "thr_a", Turn: 1, Step: 7, At: 5, Type: EventCallSucceeded, Data: json.RawMessage(`{"call_id":"call_7"}`)})
	}
	raw := s.Stored()
	b.Run("written", func(b *testing.B) {
		for b.Loop() {
			_ = s.Stored()
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			var back Segment
			if err := back.UnmarshalJSON(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("written as any value", func(b *testing.B) {
		for b.Loop() {
			_ = Encode(s)
		}
	})
	b.Run("read as any value", func(b *testing.B) {
		for b.Loop() {
			var back Segment
			if err := json.Unmarshal(raw, &back); err != nil {
				b.Fatal(err)
			}
		}
	})
}
