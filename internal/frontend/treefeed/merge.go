package treefeed

import (
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// branch is the stream of one run of a tree.
type branch struct {
	run  string
	at   string // the cursor behind what was taken of it; empty at its beginning
	path []wire.PathStep

	left    []wire.Event // read, and not taken yet
	read    bool         // left is all there is just now
	done    bool         // and there will be no more
	missing bool         // its start is not stored
	last    bool         // it was read once more because its end comes next above
}

// trunk merges the streams of a tree: those of the runs that are open where the reader is. A run
// joins with the event that starts it, and leaves with its last one. The order follows from the
// branches and what is left of them alone, so a merge that is split at any event and taken up again
// is the same as the whole.
//
//   - of each run, in the order of its journal
//   - a run's events after the child.started that names it, and, if they are there, before the
//     child.ended that does
//   - otherwise by their times; of equal times, the run that joined first
type trunk struct {
	branches []*branch // the first is the run that was asked for
	fetch    func(*branch) error
}

// take merges up to most events, and ends early, but not without one, once they weigh so many
// bytes.
func (t *trunk) take(most, bytes int) ([]wire.Event, error) {
	events := []wire.Event{}
	for weight := 0; len(events) < most && weight < bytes; {
		if err := t.fill(); err != nil {
			return nil, err
		}
		b := t.next()
		if b == nil {
			break
		}
		if again, err := t.lookAgain(b); err != nil {
			return nil, err
		} else if again {
			continue
		}
		weight += len(b.left[0].Data)
		e := b.left[0]
		b.left, b.at = b.left[1:], e.Cursor
		e.Path = b.path
		e.Unfollowed = !t.grow(b, e)
		t.prune()
		e.Cursor = t.cursor()
		events = append(events, e)
	}
	return events, nil
}

// fill reads on where a branch has nothing left.
func (t *trunk) fill() error {
	for _, b := range t.branches {
		if len(b.left) == 0 && !b.read {
			if err := t.fetch(b); err != nil {
				return err
			}
		}
	}
	t.prune()
	return nil
}

// next is the branch whose event is next; nil if there is none.
func (t *trunk) next() (first *branch) {
	for _, b := range t.branches {
		if len(b.left) > 0 && !t.held(b) && (first == nil || b.left[0].At.Before(first.left[0].At.Time)) {
			first = b
		}
	}
	return first
}

// lookAgain reads the stream of a child once more before its end is taken: it was read up to its
// end before that end was told above.
//
//	child: read, nothing left ── child: ends ── parent: child.ended is read ── child: the rest
func (t *trunk) lookAgain(b *branch) (more bool, err error) {
	if b.left[0].Type != string(core.EventChildEnded) {
		return false, nil
	}
	ended := childOf(b.left[0])
	for _, other := range t.branches {
		if other.run == ended && !other.done && !other.last {
			other.last = true
			if err := t.fetch(other); err != nil {
				return false, err
			}
			return len(other.left) > 0, nil
		}
	}
	return false, nil
}

// held says whether the branch waits for the events of a child whose end comes next.
func (t *trunk) held(b *branch) bool {
	if b.left[0].Type != string(core.EventChildEnded) {
		return false
	}
	ended := childOf(b.left[0])
	return slices.ContainsFunc(t.branches, func(other *branch) bool { return other.run == ended && len(other.left) > 0 })
}

// grow adds the branch of a child that an event starts; false if there are too many.
func (t *trunk) grow(b *branch, e wire.Event) bool {
	if e.Type != string(core.EventChildStarted) {
		return true
	}
	if len(t.branches) > Most {
		return false
	}
	var started struct {
		Call  string `json:"call_id"`
		Run   string `json:"child_run_id"`
		Agent string `json:"agent"`
	}
	if json.Unmarshal(e.Data, &started) != nil || started.Run == "" {
		return true
	}
	path := append(slices.Clone(b.path), wire.PathStep{RunID: started.Run, CallID: started.Call, Agent: started.Agent})
	t.branches = append(t.branches, &branch{run: started.Run, path: path})
	return true
}

// prune removes the branches that are over, but for the first.
func (t *trunk) prune() {
	first := true
	t.branches = slices.DeleteFunc(t.branches, func(b *branch) bool {
		over := !first && b.done && len(b.left) == 0
		first = false
		return over
	})
}

// done says that the tree has ended and all of it was taken. A child whose start was never stored
// has no events.
func (t *trunk) done() bool {
	return !slices.ContainsFunc(t.branches, func(b *branch) bool { return len(b.left) > 0 || !b.done && !b.missing }) && t.branches[0].done
}

// idle says that nothing is left just now.
func (t *trunk) idle() bool {
	return !slices.ContainsFunc(t.branches, func(b *branch) bool { return len(b.left) > 0 })
}

// childOf is the child that an event is about.
func childOf(e wire.Event) string {
	var child struct {
		Run string `json:"child_run_id"`
	}
	_ = json.Unmarshal(e.Data, &child) // what can't be read names none
	return child.Run
}
