package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// Whatever a clock that was ahead has stored is brought back, and nothing else is.
func TestWhatAWrongClockPutAheadIsBroughtBack(t *testing.T) {
	const start = int64(1_772_323_200_000)
	at := func(d time.Duration) int64 { return start + d.Milliseconds() }
	const visibility = 100 * time.Second // of options
	for _, c := range []struct {
		name  string
		row   string // where ? is a time
		times []int64
		read  string
		back  time.Duration
		far   bool
		want  int64
	}{
		{"a wake-up of an hour ahead", "UPDATE queue SET visible_at = ?", []int64{at(time.Hour)}, "SELECT visible_at FROM queue", 0, true, start},
		{"a wake-up that waits", "UPDATE queue SET visible_at = ?", []int64{at(14 * time.Minute)}, "SELECT visible_at FROM queue", 0, false, at(14 * time.Minute)},
		{"a wake-up of a minute ahead", "UPDATE queue SET visible_at = ?", []int64{at(time.Minute)}, "SELECT visible_at FROM queue", time.Minute, false, start},
		{"a wake-up that waits longer than the step", "UPDATE queue SET visible_at = ?", []int64{at(5 * time.Minute)}, "SELECT visible_at FROM queue", time.Minute, false, at(4 * time.Minute)},
		{"a delivery of an hour ahead", "UPDATE queue SET receipt = 'r', visible_at = ?", []int64{at(time.Hour)}, "SELECT visible_at FROM queue", time.Hour, true, at(visibility)},
		{"a delivery at work", "UPDATE queue SET receipt = 'r', visible_at = ?", []int64{at(time.Minute)}, "SELECT visible_at FROM queue", time.Hour, false, at(time.Minute)},
		{"an intake message", "UPDATE intake SET visible_at = ?", []int64{at(time.Hour)}, "SELECT visible_at FROM intake", 0, true, start},
		{"a lease of an hour", "UPDATE heads SET st = 1, lease = ?, due = ?", []int64{at(time.Hour), at(time.Hour)}, "SELECT lease FROM heads", 0, true, at(visibility)},
		{"the due time of a lease", "UPDATE heads SET st = 1, lease = ?, due = ?", []int64{at(time.Hour), at(time.Hour)}, "SELECT due FROM heads", 0, true, at(visibility)},
		{"a lease", "UPDATE heads SET st = 1, lease = ?, due = ?", []int64{at(time.Minute), at(time.Minute)}, "SELECT lease FROM heads", time.Hour, false, at(time.Minute)},
		{"a due time", "UPDATE heads SET due = ?", []int64{at(time.Hour)}, "SELECT due FROM heads", 0, true, start},
		{"a due time of a minute", "UPDATE heads SET due = ?", []int64{at(time.Minute)}, "SELECT due FROM heads", time.Minute, false, start},
		{"a pause", "UPDATE heads SET not_before = ?, due = ?", []int64{at(time.Hour), at(time.Hour)}, "SELECT not_before FROM heads", 0, true, start},
		{"the due time of a pause", "UPDATE heads SET not_before = ?, due = ?", []int64{at(time.Hour), at(time.Hour)}, "SELECT due FROM heads", 0, true, start},
		{"a short pause", "UPDATE heads SET not_before = ?, due = ?", []int64{at(10 * time.Minute), at(10 * time.Minute)}, "SELECT not_before FROM heads", 0, false, at(10 * time.Minute)},
		{"a deadline", "UPDATE heads SET st = 2, dl = ?, due = ?", []int64{at(time.Hour), at(time.Hour)}, "SELECT due FROM heads", time.Hour, false, at(time.Hour)},
		{"an answer to a waiting run", "UPDATE heads SET st = 2, dl = ?, due = ?", []int64{at(2 * time.Hour), at(time.Hour)}, "SELECT due FROM heads", 0, true, start},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.back), func(t *testing.T) {
			clock := enginetest.AtMilli(start)
			path := filepath.Join(t.TempDir(), "clock.db")
			db := open(t, path, options(t, clock))
			head := newHead(thread)
			if _, err := db.Start(t.Context(), engine.StartRequest{Head: head, Due: start, Wake: &engine.Delay{}}); err != nil {
				t.Fatal(err)
			}
			if err := db.Intake().Put(t.Context(), tenant, [][]byte{[]byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
			raw := rawFile(t, path)
			var args []any
			for _, time := range c.times {
				args = append(args, time)
			}
			if _, err := raw.Exec(c.row, args...); err != nil {
				t.Fatal(err)
			}
			if far, err := db.FarAhead(t.Context(), true); err != nil || far != c.far {
				t.Errorf("far ahead: %v, %v", far, err)
			}
			if _, err := db.Recall(t.Context(), c.back); err != nil {
				t.Fatal(err)
			}
			var got int64
			if err := raw.QueryRow(c.read).Scan(&got); err != nil || got != c.want {
				t.Errorf("it is at %+d ms, want %+d (%v)", got-start, c.want-start, err)
			}
			if far, err := db.FarAhead(t.Context(), true); err != nil || far {
				t.Errorf("still far ahead: %v, %v", far, err)
			}
		})
	}
	if pause.Longest != 15*60_000 {
		t.Error("the cases above take a pause of 15 minutes for the longest")
	}
}
