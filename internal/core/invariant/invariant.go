// Package invariant checks the rules that every stored head keeps. A head that breaks one would
// silently lose a run or an answer: nothing would ever look at it again.
package invariant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Rule names a rule that every stored head keeps.
type Rule string

// The rules. A write is refused if it would break one.
const (
	// an owner's write cannot undo that the run was begun
	BackToCreated Rule = "back_to_created"
	// a waiting run needs a suspended call or a deadline
	WaitsForNothing Rule = "waits_for_nothing"
	// a signal in the inbox of a waiting run has no one to read it
	WaitsWithSignals Rule = "waits_with_signals"
	// nothing sends what a waiting run still owes
	WaitsWithOutbox  Rule = "waits_with_outbox"
	DoneWithoutEnd   Rule = "done_without_end"    // a done run says why it ended
	DoneWithOpenCall Rule = "done_with_open_call" // every call of a done run has a result
	// every accepted signal is in the journal of a done run
	DoneWithSignals Rule = "done_with_signals"
	DoneWithOutbox  Rule = "done_with_outbox" // a done run owes no message
	// a message that waits for the end of the run begins the next one
	DoneWithHeld Rule = "done_with_held"
	// a child is launched for a call that waits for it
	LaunchForNothing Rule = "launch_for_nothing"
	// an ended run starts no child: no result would be taken
	EndsWithLaunch Rule = "ends_with_launch"
	// programs that know no families leave every head with one alone
	SchemaTooOld Rule = "schema_too_old"
)

// Error refuses a write that would break a rule. Nothing was written, and the same write fails
// again: it is a bug in the program, not a conflict.
type Error struct {
	Rule   Rule
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("core: %s: %s", e.Rule, e.Detail) }

func broken(rule Rule, format string, args ...any) error {
	return &Error{rule, fmt.Sprintf(format, args...)}
}

// CheckWritten returns an [*Error] if an owner's write may not leave h. The inbox of h is what the
// write leaves in it.
func CheckWritten(h core.Head) error {
	if err := checkFamily(h); err != nil {
		return err
	}
	switch h.Status {
	case core.RunCreated:
		return broken(BackToCreated, "run %s would be created again", h.Run)
	case core.RunWaiting:
		return checkWaiting(h)
	case core.RunDone:
		return checkDone(h)
	}
	return nil
}

// checkFamily checks what a run knows of the runs above and below it.
func checkFamily(h core.Head) error {
	if least := core.LeastSchema(h); least > max(h.Schema, core.SchemaAlone) {
		return broken(SchemaTooOld, "run %s would be stored as schema %d, and has what takes schema %d", h.Run, h.Schema, least)
	}
	for _, key := range slices.Sorted(maps.Keys(h.Out)) {
		sus, launches := strings.CutPrefix(key, core.LaunchKey(""))
		switch {
		case !launches:
		case h.End != nil:
			return broken(EndsWithLaunch, "run %s has ended, and would start the child of suspension %s", h.Run, sus)
		case !awaitsChild(h, sus):
			return broken(LaunchForNothing, "run %s would start a child for suspension %s, on which no call waits", h.Run, sus)
		}
	}
	return nil
}

func awaitsChild(h core.Head, sus string) bool {
	for _, c := range h.Calls {
		if c.Kind == core.KindChild && c.WaitsOn(sus) {
			return true
		}
	}
	return false
}

func checkWaiting(h core.Head) error {
	switch {
	case len(h.Out) > 0:
		return broken(WaitsWithOutbox, "run %s would wait with %d unsent entries", h.Run, len(h.Out))
	case len(h.Inbox) > 0 && !waitsForHold(h):
		return broken(WaitsWithSignals, "run %s would wait with %d unread signals", h.Run, len(h.Inbox))
	case h.Deadline == 0 && callWith(h, func(s core.CallStatus) bool { return s == core.CallSuspended }) == "":
		return broken(WaitsForNothing, "run %s would wait, and no call is suspended", h.Run)
	}
	return nil
}

// waitsForHold says whether all signals that a waiting run has left wait for the end of a hold, and
// the run is looked at then.
func waitsForHold(h core.Head) bool {
	held := false
	for _, s := range h.Inbox {
		switch {
		case s.Kind == core.SignalDecision && s.Hold > 0 && h.Deadline > 0 && h.Deadline <= s.Hold:
			held = true
		case s.Kind == core.SignalMessage:
		default:
			return false
		}
	}
	return held
}

func checkDone(h core.Head) error {
	switch {
	case len(h.Inbox) > 0:
		return broken(DoneWithSignals, "run %s would be done with %d unread signals", h.Run, len(h.Inbox))
	case len(h.Held) > 0:
		return broken(DoneWithHeld, "run %s would be done with %d held messages", h.Run, len(h.Held))
	}
	return CheckEnded(h)
}

// CheckEnded returns an [*Error] if the run in h may not be left for good, either because it is
// done or because the next run of its thread replaces it.
func CheckEnded(h core.Head) error {
	if h.End == nil {
		return broken(DoneWithoutEnd, "run %s would be done without a reason", h.Run)
	}
	if id := callWith(h, func(s core.CallStatus) bool { return !s.Terminal() }); id != "" {
		return broken(DoneWithOpenCall, "run %s would be done while call %s is %s", h.Run, id, h.Calls[id].Status)
	}
	if len(h.Out) > 0 {
		return broken(DoneWithOutbox, "run %s would be done with %d unsent entries", h.Run, len(h.Out))
	}
	return nil
}

// callWith returns the id of the first call, in id order, with a wanted status, or "".
func callWith(h core.Head, wanted func(core.CallStatus) bool) string {
	for _, id := range slices.Sorted(maps.Keys(h.Calls)) {
		if wanted(h.Calls[id].Status) {
			return id
		}
	}
	return ""
}
