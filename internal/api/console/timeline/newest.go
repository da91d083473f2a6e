package timeline

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Newest folds the newest events of a run, or the newest of those before a place: about as many as
// read gives at a time, down to the beginning of an answer of the model, so that no entry lacks its
// first half. It returns the place before them, which is empty at the beginning of the run. What it
// reads doesn't depend on how long the run is.
func Newest(before string, read func(before string) (wire.EventPage, error)) (line Line, earlier string, err error) {
	var events []wire.Event // the newest first
	for {
		page, err := read(before)
		if err != nil {
			return line, "", err
		}
		events, before = append(events, page.Items...), page.Next
		if page.Done || len(page.Items) == 0 {
			return line, "", line.pushAll(events)
		}
		if at := firstStep(events); at >= 0 {
			if at+1 < len(events) {
				before = events[at+1].Cursor
			}
			return line, before, line.pushAll(events[:at+1])
		}
	}
}

// firstStep is where the oldest answer of the model begins; -1 if none does.
func firstStep(events []wire.Event) int {
	for i, e := range slices.Backward(events) {
		if core.EventType(e.Type) == core.EventStepStarted {
			return i
		}
	}
	return -1
}

// pushAll takes events that were read newest first.
func (l *Line) pushAll(events []wire.Event) error {
	for _, e := range slices.Backward(events) {
		if err := l.Push(e); err != nil {
			return err
		}
	}
	return nil
}
