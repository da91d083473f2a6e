package query

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

func TestWhatWasHeardIsSettledByTheTurnOfItsAttemptOrTakenBack(t *testing.T) {
	both := journal.Hearing{Epoch: 3, Text: 5, Reasoning: 2}
	for name, tt := range map[string]struct {
		epoch  int64
		events []core.EventType
		heard  journal.Hearing
		want   bool
	}{
		"its turn, whole":                         {3, []core.EventType{core.EventStepStarted, core.EventReasoningEnded, core.EventTextEnded}, both, true},
		"its turn, begun anew after it was heard": {3, []core.EventType{core.EventTextEnded}, journal.Hearing{Epoch: 3, Restart: 1, Text: 9}, true},
		"its turn without what it thought":        {3, []core.EventType{core.EventTextEnded}, both, false},
		"its turn without a word":                 {3, []core.EventType{core.EventCallReady}, journal.Hearing{Epoch: 3, Text: 5}, false},
		"the turn of another attempt":             {4, []core.EventType{core.EventReasoningEnded, core.EventTextEnded}, both, false},
		"a reset":                                 {3, []core.EventType{core.EventStepReset}, both, true},
		"a reset of a later attempt":              {5, []core.EventType{core.EventStepReset}, both, true},
		"an end":                                  {3, []core.EventType{core.EventTurnEnded}, both, false},
	} {
		s := core.Segment{W: core.NewStamp(tt.epoch, 7)}
		for _, kind := range tt.events {
			s.Events = append(s.Events, core.Event{Type: kind})
		}
		if got := settles(s, tt.heard); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A cursor of ours that somebody changed, or of a process that knew more, is no reason to fail: the
// text begins again.
func TestACursorThatDoesNotFitWhatIsSaidBeginsAgain(t *testing.T) {
	h := core.Head{Identity: core.Identity{Tenant: "t", Thread: "thr", Run: "run"}, Position: core.Position{Seq: 4, Ev: 9, Epoch: 3}}
	p := journal.Place{Head: h, Record: h.Record(), Current: true}
	said := engine.Speech{Attempt: engine.Attempt{Tenant: "t", Thread: "thr", Run: "run", Step: 2, Epoch: 3, Seq: 4, Event: 9}, Text: "Zürich"}
	for name, tt := range map[string]struct {
		heard journal.Hearing
		want  string
	}{
		"nothing was heard":             {journal.Hearing{}, `text.delta 0 "Zürich"`},
		"some of it":                    {journal.Hearing{Epoch: 3, Text: 3}, `text.delta 3 "rich"`},
		"all of it":                     {journal.Hearing{Epoch: 3, Text: 7}, ""},
		"more than was said":            {journal.Hearing{Epoch: 3, Text: 8}, `step.reset text.delta 0 "Zürich"`},
		"half a character":              {journal.Hearing{Epoch: 3, Text: 2}, `step.reset text.delta 0 "Zürich"`},
		"thoughts that nobody had":      {journal.Hearing{Epoch: 3, Text: 3, Reasoning: 1}, `step.reset text.delta 0 "Zürich"`},
		"an attempt before":             {journal.Hearing{Epoch: 2, Text: 3}, `step.reset text.delta 0 "Zürich"`},
		"the model before it began new": {journal.Hearing{Epoch: 3, Restart: 1, Text: 3}, `step.reset text.delta 0 "Zürich"`},
	} {
		items, at := liveEvents(p, journal.Cursor{Seq: 5, Live: tt.heard}, said, true, 10)
		var got []string
		for _, e := range items {
			var data struct {
				Offset int    `json:"offset"`
				Text   string `json:"text"`
			}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Type)
			if strings.HasSuffix(e.Type, ".delta") {
				got = append(got, string(core.Encode(data.Offset)), string(core.Encode(data.Text)))
			}
			if e.Seq != 9 {
				t.Errorf("%s: number %d", name, e.Seq)
			}
		}
		if strings.Join(got, " ") != tt.want || at.Live.Text != 7 && tt.want != "" {
			t.Errorf("%s: %q, then at %+v", name, got, at)
		}
	}
	if items, _ := liveEvents(p, journal.Cursor{Seq: 5}, said, true, 0); len(items) > 0 {
		t.Errorf("a page of none holds %v", items)
	}
	said.Run = "another"
	if items, at := liveEvents(p, journal.Cursor{Seq: 5}, said, true, 10); len(items) > 0 || at.Live.Any() {
		t.Errorf("what another run says is shown: %v", items)
	}
}
