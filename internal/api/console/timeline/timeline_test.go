package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Every recorded journal folds into entries that began before they ended; what was asked and
// answered is closed, and what still waits is not.
func TestRecordedJournals(t *testing.T) {
	for name, journal := range projecttest.Journals(t) {
		t.Run(name, func(t *testing.T) {
			lines, kinds, open := map[string]*Line{}, map[Kind]int{}, 0
			for _, e := range journal.Events {
				if lines[e.RunID] == nil {
					lines[e.RunID] = &Line{}
				}
				if err := lines[e.RunID].Push(e); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range lines {
				for _, e := range line.Entries {
					kinds[e.Kind]++
					if took, over := e.Took(); over && took < 0 {
						t.Errorf("%s took %v", e.Kind, took)
					} else if !over {
						open++
					}
				}
			}
			waits := map[string]int{"waiting": 1, "one-of-two": 1, "below-waiting": 2}
			if want, known := waits[name]; known && open != want {
				t.Errorf("%d entries go on, want %d", open, want)
			}
			if _, known := waits[name]; !known && open > 0 && kinds[End] > 0 && kinds[Child] == 0 {
				t.Errorf("the run is over, and %d entries go on", open)
			}
			if kinds[Message] == 0 || kinds[Model] == 0 && name != "failed" {
				t.Errorf("entries: %v", kinds)
			}
		})
	}
}

func TestBarsGrowAndEnd(t *testing.T) {
	last := -1
	for _, took := range []time.Duration{0, 100 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour} {
		bar := Bar(took)
		if bar <= last || bar > 100 {
			t.Errorf("%v has a bar of %d behind one of %d", took, bar, last)
		}
		last = bar
	}
	if Bar(1000*time.Hour) != 100 || Bar(-time.Second) > 0 {
		t.Error("a bar leaves its place")
	}
}

// A vote that left the question open doesn't end its wait, and an answer that was taken back or
// came too late is on the line, too.
func TestEveryAnswerIsOnTheLine(t *testing.T) {
	at := func(s int) time.Time { return time.UnixMilli(int64(s) * 1000).UTC() }
	var line Line
	push := func(kind core.EventType, s int, data any) {
		t.Helper()
		if err := line.Push(wire.Event{Type: string(kind), At: wire.Time{Time: at(s)}, Data: core.Encode(data)}); err != nil {
			t.Fatal(err)
		}
	}
	decision := func(by string, s int) wire.DecisionRecordedData {
		return wire.DecisionRecordedData{Suspension: "sus_1", Action: "resume", By: by, Via: "api", UpdatedAt: wire.Time{Time: at(s)}}
	}
	push(core.EventCallSuspended, 1, wire.Pending{Tool: "pay", Arguments: []byte("{}"), Suspension: wire.Suspension{ID: "sus_1"}})
	vote, last, late := decision("token:anna", 2), decision("token:bert", 5), decision("token:carl", 9)
	vote.Vote, late.Late, last.Applied = new(client.Ballot), true, true
	push(core.EventDecisionRecorded, 3, vote)
	push(core.EventDecisionWithdrawn, 4, wire.DecisionWithdrawnData{Suspension: "sus_1", By: "token:bert", WithdrawnAt: wire.Time{Time: at(4)}})
	push(core.EventDecisionRecorded, 6, last)
	push(core.EventDecisionRecorded, 9, late)
	want := []Entry{
		{Kind: Wait, From: at(1), To: at(6), At: at(5), Tool: "pay", Arguments: []byte("{}"), Suspension: "sus_1", By: "token:bert", Via: "api", Action: "resume"},
		{Kind: Vote, From: at(2), To: at(2), By: "token:anna", Via: "api", Action: "resume"},
		{Kind: Undone, From: at(4), To: at(4), By: "token:bert"},
		{Kind: Late, From: at(9), To: at(9), By: "token:carl", Via: "api", Action: "resume"},
	}
	if diff := cmp.Diff(want, line.Entries, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Error(diff)
	}
}
