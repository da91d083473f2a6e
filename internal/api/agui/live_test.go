package agui_test

import (
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/agui/aguitest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// event is one of the run run_a_0.
func event(seq int64, kind, data string) wire.Event {
	return wire.Event{Seq: seq, RunID: "run_a_0", ThreadID: "thr_a", Turn: 1, Step: 1, Type: kind, Data: []byte(data)}
}

func delta(kind, attempt string, offset int, text string) wire.Event {
	return event(2, kind+".delta", fmt.Sprintf(`{"part_id":"run_a_0:%s-1","attempt":%q,"offset":%d,"text":%q}`, kind, attempt, offset, text))
}

func ended(seq int64, kind, text string) wire.Event {
	return event(seq, kind+".ended", fmt.Sprintf(`{"part_id":"run_a_0:%s-1","message_id":"m","text":%q}`, kind, text))
}

// begins and ends are around what the tests are about.
var (
	begins = []wire.Event{event(1, "turn.started", `{"cause":"input"}`), event(2, "message.received", `{"message_id":"u","text":"hi"}`)}
	ends   = event(9, "turn.ended", `{"status":"done","reason":"natural_end","output":"x","usage":{}}`)
)

// TestLiveTextThatDoesNotCountIsTakenBack: a client has the committed text once, whatever it was
// sent of other attempts.
func TestLiveTextThatDoesNotCountIsTakenBack(t *testing.T) {
	reset := event(2, "step.reset", `{"reason":"repeated","text":""}`)
	for name, spoken := range map[string][]wire.Event{
		"no live text":              {ended(3, "text", "Hello.")},
		"all of it":                 {delta("text", "1", 0, "Hel"), delta("text", "1", 3, "lo."), ended(3, "text", "Hello.")},
		"its beginning":             {delta("text", "1", 0, "Hel"), ended(3, "text", "Hello.")},
		"a piece twice":             {delta("text", "1", 0, "Hel"), delta("text", "1", 0, "Hel"), ended(3, "text", "Hello.")},
		"a piece is missing":        {delta("text", "1", 0, "H"), delta("text", "1", 3, "lo."), ended(3, "text", "Hello.")},
		"another text":              {delta("text", "1", 0, "Good "), ended(3, "text", "Hello.")},
		"more than was said":        {delta("text", "1", 0, "Hello. How"), ended(3, "text", "Hello.")},
		"a repeated step":           {delta("text", "1", 0, "Good "), reset, delta("text", "2", 0, "Hello."), ended(3, "text", "Hello.")},
		"a reset before any text":   {reset, delta("text", "2", 0, "Hello."), ended(3, "text", "Hello.")},
		"other reasoning":           {delta("reasoning", "1", 0, "no"), reset, delta("reasoning", "2", 0, "h"), ended(3, "reasoning", "hm"), ended(4, "text", "Hello.")},
		"reasoning that is gone":    {delta("reasoning", "1", 0, "no"), reset, ended(4, "text", "Hello.")},
		"reasoning, and other text": {ended(3, "reasoning", "hm"), delta("text", "1", 0, "no"), ended(4, "text", "Hello.")},
	} {
		t.Run(name, func(t *testing.T) {
			c := aguitest.Conversation{Run: append(append(append([]wire.Event{}, begins...), spoken...), ends), Rests: true}
			events, err := c.Stream(agui.View{Message: "u", After: -1, Versioned: true})
			if err != nil {
				t.Fatal(err)
			}
			hi := "hi"
			client := aguitest.Client{Messages: []agui.Message{{ID: "u", Role: "user", Content: &hi}}}
			if err := client.Response(events, true); err != nil {
				t.Fatal(err)
			}
			for _, m := range client.Messages {
				if want := map[string]string{"user": "hi", "assistant": "Hello."}[m.Role]; m.Role != "reasoning" && *m.Content != want {
					t.Errorf("the client shows %s", core.Encode(client.Messages))
				}
				if m.Role == "reasoning" && *m.Content != "hm" && name != "reasoning that is gone" {
					t.Errorf("the client shows %s", core.Encode(client.Messages))
				}
			}
			if n := len(client.Messages); n < 2 || n > 3 {
				t.Errorf("the client shows %s", core.Encode(client.Messages))
			}
		})
	}
}

// TestAResponseWaitsForWhatItsRequestSent: a run that still waits, and hasn't taken the answer or
// the message yet, doesn't end it.
func TestAResponseWaitsForWhatItsRequestSent(t *testing.T) {
	suspended := event(3, "call.suspended", `{"call_id":"c","tool_name":"pay","tool":"pay","arguments":{},"kind":"approval","suspension":{"id":"sus_1","action":"approve"},"resume_mode":"replay_tool_call","since":"2026-01-01T00:00:00.000Z"}`)
	turn := event(4, "turn.ended", `{"status":"suspended","usage":{}}`)
	recorded := event(5, "decision.recorded", `{"call_id":"c","suspension":"sus_1","decision_id":"d","action":"resume","applied":false,"updated_at":"2026-01-01T00:00:00.000Z"}`)
	heard := event(6, "message.received", `{"message_id":"u2","text":"and?"}`)
	for name, tt := range map[string]struct {
		view agui.View
		then []wire.Event
	}{
		"an answer":              {agui.View{After: 4, Hold: []string{"sus_1"}}, []wire.Event{recorded}},
		"an answer and a page":   {agui.View{After: 4, Hold: []string{"sus_1"}, Snapshot: true}, []wire.Event{recorded}},
		"a message":              {agui.View{After: -1, Message: "u2"}, []wire.Event{heard}},
		"an answer, and message": {agui.View{After: 4, Hold: []string{"sus_1"}, Message: "u2"}, []wire.Event{recorded, heard}},
	} {
		t.Run(name, func(t *testing.T) {
			s := agui.NewStream(tt.view)
			for i, e := range append(append(append([]wire.Event{}, begins...), suspended, turn), tt.then...) {
				if s.Rest() != nil || s.Over() {
					t.Fatalf("it ends before event %d", i)
				}
				if _, err := s.Push(e); err != nil {
					t.Fatal(err)
				}
			}
			if s.Rest(); !s.Over() {
				t.Error("it doesn't end")
			}
		})
	}
}

// TestStates: the state is the same from wherever it is shown.
func TestStates(t *testing.T) {
	for stored, want := range map[string]string{
		`{"run":{"dormouse.client":{"cart":1},"secret":2},"thread":{"x":3}}`: `{"cart":1,"secret":2,"x":3}`,
		`{"run":{"a":1,"b":2},"thread":{"b":3,"c":4}}`:                       `{"a":1,"b":2,"c":4}`,
		`{"run":{},"thread":{}}`:                                             `{}`,
	} {
		c := aguitest.Conversation{Run: append(append([]wire.Event{}, begins...), event(3, "state.snapshot", stored), ends), Rests: true}
		for _, v := range []agui.View{{After: 0}, {After: 3, Snapshot: true}, {After: 9, Snapshot: true}} {
			events, err := c.Stream(v)
			var client aguitest.Client
			if err == nil {
				err = client.Response(events, true)
			}
			if err != nil || string(client.State) != want {
				t.Errorf("after %d: %s is shown as %s, %v", v.After, stored, client.State, err)
			}
		}
	}
}
