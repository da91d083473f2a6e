// Package projecttest has journals of real conversations, for the tests of projections. They were
// recorded from a server with the agent of internal/proof/clients, whose test records them again
// with -update.
package projecttest

import (
	"embed"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Journal is one conversation, with what a reader of its stream was sent.
type Journal struct {
	// Events of all runs of the thread, live ones included, in the order they came.
	Events []wire.Event `json:"events"`

	// Rests: behind the last event the thread does nothing until someone acts.
	Rests bool `json:"rests"`
}

//go:embed journals/*.json
var files embed.FS

// Journals are all recorded journals, by name.
func Journals(t testing.TB) map[string]Journal {
	t.Helper()
	all := map[string]Journal{}
	names, err := fs.Glob(files, "journals/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var j Journal
		if err := json.Unmarshal(text, &j); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, e := range j.Events {
			if len(e.Data) > 0 { // the file is indented
				j.Events[i].Data = core.Encode(e.Data)
			}
		}
		all[strings.TrimSuffix(path.Base(name), ".json")] = j
	}
	return all
}

// Stored are the events of the journal, without live ones.
func (j Journal) Stored() []wire.Event {
	var stored []wire.Event
	last := map[string]int64{} // by thread
	for _, e := range j.Events {
		if e.Seq > last[e.ThreadID] {
			stored, last[e.ThreadID] = append(stored, e), e.Seq
		}
	}
	return stored
}

// Rests are the places in the events of a run, and of those below it, where a response may have
// ended and another begins: before an event that begins another turn while the run itself waits.
func Rests(events []wire.Event) (places []int) {
	var run project.Run
	turns := map[string]int{}
	for i, e := range events {
		if last := turns[e.RunID]; e.Turn > last {
			if last > 0 && !run.InTurn {
				places = append(places, i)
			}
			turns[e.RunID] = e.Turn
		}
		if run.Push(e) != nil {
			return places // who shows the events reports it
		}
	}
	return places
}

// Answered are the questions of runs below that answers reach between two places, if they were
// asked before.
func Answered(events []wire.Event, from, to int) (suspensions []string) {
	var run project.Run
	before := map[string]bool{}
	for i, e := range events[:to] {
		if i == from {
			for _, q := range run.Waiting() {
				before[q.Suspension.ID] = q.Call.Below()
			}
		}
		var data wire.DecisionRecordedData
		if core.EventType(e.Type) == core.EventDecisionRecorded && e.Decode(&data) == nil && before[data.Suspension] {
			suspensions = append(suspensions, data.Suspension)
		}
		_ = run.Push(e) // who shows the events reports it
	}
	return suspensions
}

// Runs are the events of each run of the journal, in their order, with those of the runs below it.
func (j Journal) Runs() [][]wire.Event {
	var runs [][]wire.Event
	for _, e := range j.Events {
		if n := len(runs); n == 0 || len(e.Path) == 0 && runs[n-1][0].RunID != e.RunID {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], e)
	}
	return runs
}
