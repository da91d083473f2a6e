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
	for _, e := range j.Events {
		if len(stored) == 0 || e.Seq > stored[len(stored)-1].Seq {
			stored = append(stored, e)
		}
	}
	return stored
}

// Runs are the events of each run of the journal, in their order.
func (j Journal) Runs() [][]wire.Event {
	var runs [][]wire.Event
	for _, e := range j.Events {
		if n := len(runs); n == 0 || runs[n-1][0].RunID != e.RunID {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], e)
	}
	return runs
}
