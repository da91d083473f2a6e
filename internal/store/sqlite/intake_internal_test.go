package sqlite

import (
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/queue/intake"
)

// What is asked all the time, however long the queue is, goes by an index. Lists and counts for a
// person may read all of it.
func TestIntakeQueriesOfTheServerUseAnIndex(t *testing.T) {
	db, _ := openTemp(t)
	q := db.Intake()
	if err := q.Put(t.Context(), "acme", [][]byte{[]byte("a"), []byte("b"), []byte("c")}); err != nil {
		t.Fatal(err)
	}
	got, err := q.Receive(t.Context(), 3)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, f := range []intake.Result{{Outcome: intake.Started}, {Outcome: intake.Dead}, {Outcome: intake.Busy, After: time.Second}} {
		if err := q.Settle(t.Context(), got[i], f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Limited(5).Room(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, query := range queries(db) {
		if !strings.Contains(query, "intake") && !strings.Contains(query, "FROM queue") {
			continue
		}
		seen++
		for _, line := range plan(t, db, query) {
			if readsWholeTable.MatchString(line) && !wholeByIntent(query, line) || strings.Contains(line, "USE TEMP B-TREE") {
				t.Errorf("%s\nin %s", line, query)
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d queries were looked at", seen)
	}
}
