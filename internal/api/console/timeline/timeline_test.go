package timeline

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
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
