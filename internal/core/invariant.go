package core

import (
	"fmt"
	"maps"
	"slices"
)

// Invariant names a rule that every stored head keeps.
type Invariant string

// What a write may not leave. Each would lose a run or an answer in silence: nothing would ever
// look at it again.
const (
	// an owner's write cannot undo that the run was begun
	BackToCreated Invariant = "back_to_created"
	// a waiting run needs a suspended call or a deadline
	WaitsForNothing Invariant = "waits_for_nothing"
	// a signal in the inbox of a waiting run has no one to read it
	WaitsWithSignals Invariant = "waits_with_signals"
	// nothing sends what a waiting run still owes
	WaitsWithOutbox  Invariant = "waits_with_outbox"
	DoneWithoutEnd   Invariant = "done_without_end"    // a done run says why it ended
	DoneWithOpenCall Invariant = "done_with_open_call" // every call of a done run has a result
	// every accepted signal is in the journal of a done run
	DoneWithSignals Invariant = "done_with_signals"
	DoneWithOutbox  Invariant = "done_with_outbox" // a done run owes no message
	// a message that waits for the end of the run begins the next one
	DoneWithHeld Invariant = "done_with_held"
)

// InvariantError refuses a write that would leave a head that breaks an invariant. Nothing was
// written, and the same write is refused again: it is a fault of the program, not a conflict.
type InvariantError struct {
	Rule   Invariant
	Detail string
}

func (e *InvariantError) Error() string { return fmt.Sprintf("core: %s: %s", e.Rule, e.Detail) }

func broken(rule Invariant, format string, args ...any) error {
	return &InvariantError{rule, fmt.Sprintf(format, args...)}
}

// CheckWritten says whether an owner's write may leave h: an [*InvariantError] if not. The inbox of
// h is what the write leaves of it.
func (h Head) CheckWritten() error {
	switch h.Status {
	case RunCreated:
		return broken(BackToCreated, "run %s would be created again", h.Run)
	case RunWaiting:
		return h.checkWaiting()
	case RunDone:
		return h.checkDone()
	}
	return nil
}

func (h Head) checkWaiting() error {
	switch {
	case len(h.Out) > 0:
		return broken(WaitsWithOutbox, "run %s would wait with %d unsent entries", h.Run, len(h.Out))
	case len(h.Inbox) > 0:
		return broken(WaitsWithSignals, "run %s would wait with %d unread signals", h.Run, len(h.Inbox))
	case h.Deadline == 0 && h.callWith(func(s CallStatus) bool { return s == CallSuspended }) == "":
		return broken(WaitsForNothing, "run %s would wait, and no call is suspended", h.Run)
	}
	return nil
}

func (h Head) checkDone() error {
	switch {
	case len(h.Inbox) > 0:
		return broken(DoneWithSignals, "run %s would be done with %d unread signals", h.Run, len(h.Inbox))
	case len(h.Held) > 0:
		return broken(DoneWithHeld, "run %s would be done with %d held messages", h.Run, len(h.Held))
	}
	return h.CheckEnded()
}

// CheckEnded says whether a run may be left for good as h describes it, be it done or followed by
// the next run of its thread.
func (h Head) CheckEnded() error {
	if h.End == nil {
		return broken(DoneWithoutEnd, "run %s would be done without a reason", h.Run)
	}
	if id := h.callWith(func(s CallStatus) bool { return !s.Terminal() }); id != "" {
		return broken(DoneWithOpenCall, "run %s would be done while call %s is %s", h.Run, id, h.Calls[id].Status)
	}
	if len(h.Out) > 0 {
		return broken(DoneWithOutbox, "run %s would be done with %d unsent entries", h.Run, len(h.Out))
	}
	return nil
}

// callWith is the first call, by id, whose status is as wanted; "" if there is none.
func (h Head) callWith(wanted func(CallStatus) bool) string {
	for _, id := range slices.Sorted(maps.Keys(h.Calls)) {
		if wanted(h.Calls[id].Status) {
			return id
		}
	}
	return ""
}
