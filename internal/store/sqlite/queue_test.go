package sqlite_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// What the sweep finds due while workers are behind stands in the queue already.
func TestAReminderIsLeftOutWhileAWakeUpStandsInTheQueue(t *testing.T) {
	clock := enginetest.AtMilli(1000)
	db := open(t, newFile(t), options(t, clock))
	w := engine.Wakeup{Tenant: "a", Thread: "thr_a"}
	remind := func() {
		t.Helper()
		if err := db.Remind(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(want int) []engine.Delivery {
		t.Helper()
		ds, err := db.Receive(t.Context(), 10)
		if err != nil || len(ds) != want {
			t.Fatalf("%d wake-ups, %v; want %d", len(ds), err, want)
		}
		return ds
	}
	remind()
	remind()
	first := receive(1)
	// somebody works on the thread, and may have seen its head before what is due was written
	remind()
	second := receive(1)
	for _, d := range append(first, second...) {
		if err := db.Ack(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Send(t.Context(), w, time.Minute); err != nil {
		t.Fatal(err)
	}
	remind() // a minute is too long
	receive(1)
	clock.Advance(time.Minute)
	remind()
	receive(1)
}
