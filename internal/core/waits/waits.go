// Package waits says what the suspended calls of a run wait for, and until when.
package waits

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Any says whether some call is suspended.
func Any(h core.Head) bool {
	for _, c := range h.Calls {
		if c.Status == core.CallSuspended {
			return true
		}
	}
	return false
}

// Listed counts the suspended calls that a message does not answer, and returns the key under which
// the run is listed for approval; empty if it is not.
func Listed(h core.Head, now int64) (count int, key string) {
	suspended := false
	for _, c := range h.Calls {
		if c.Status != core.CallSuspended || c.Kind == core.KindChild {
			continue
		}
		suspended = true
		if c.Kind != core.KindInput && c.Kind != core.KindInterrupt {
			count++
		}
	}
	switch {
	case !suspended:
		return 0, ""
	case h.Oldest != "":
		return count, h.Oldest
	}
	return count, fmt.Sprintf("%013d#%s", now, h.Run)
}

// Due is when there is something to do next about a suspended call; 0 if there is nothing.
func Due(h core.Head, questions map[string]core.SuspendedCall) (first int64) {
	for _, c := range h.Calls {
		if c.Status != core.CallSuspended {
			continue
		}
		due := dueOf(c, questions[c.Sus])
		if held := h.Inbox[c.Sus].Hold; held != 0 {
			due = held // what it would be due for gives way to the decision
		}
		if due != 0 && (first == 0 || due < first) {
			first = due
		}
	}
	return first
}

func dueOf(c core.Call, q core.SuspendedCall) int64 {
	next := q.Moments.Next(c.Moments)
	if next == 0 || c.Deadline != 0 && c.Deadline < next {
		return c.Deadline
	}
	return next
}

// noLimit sorts after every deadline.
const noLimit = "~"

// Urgency is the key that orders the runs which wait by what has the least time left: the earliest
// deadline of their suspended calls, and of those without one, how long they wait. No two runs of a
// tenant have the same; "" for a run that isn't listed. It follows from the head alone.
func Urgency(h core.Head) string {
	if h.Oldest == "" {
		return ""
	}
	first := noLimit
	for _, c := range h.Calls {
		if c.Status != core.CallSuspended || c.Kind == core.KindChild || c.Deadline == 0 {
			continue
		}
		if at := fmt.Sprintf("%013d", c.Deadline); at < first {
			first = at
		}
	}
	return first + "#" + h.Oldest
}

// Questions counts the suspended calls that are put to people: all but those that a client program
// runs, and those for which another run works.
func Questions(h core.Head) (n int) {
	for _, c := range h.Calls {
		if c.Status == core.CallSuspended && c.Kind != core.KindChild && c.Kind != core.KindClient {
			n++
		}
	}
	return n
}
