package family

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// Most is how many runs below one are looked at.
const Most = 64

// Child is a run that a run below the first one, or that one itself, waits for.
type Child struct {
	Parent core.Parent
	Run    string
	Place  journal.Place // of the child; zero until its start is stored, and if Unread
	Unread bool          // what is stored of it can't be read
	// the runs from below the first one to this one; that of a child whose start isn't stored
	// has no agent
	Path []wire.PathStep
}

// Started says whether the start of the child is stored.
func (c Child) Started() bool { return c.Place.Record.Run != "" }

// Waits are the calls of a run that wait for a child, in the order in which they began to wait.
func Waits(p journal.Place) (waits []core.Parent) {
	if !p.Accepts() {
		return nil
	}
	for id, call := range p.Head.Calls {
		if call.Kind == core.KindChild && call.Status == core.CallSuspended {
			waits = append(waits, core.Parent{Thread: p.Head.Thread, Run: p.Head.Run, Call: id, Sus: call.Sus})
		}
	}
	slices.SortFunc(waits, func(a, b core.Parent) int {
		m, _ := core.SuspensionSeq(a.Sus)
		n, _ := core.SuspensionSeq(b.Sus)
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a.Call, b.Call))
	})
	return waits
}

// Below are the runs that the one at p waits for, directly or not, nearest first; cut says that
// there are more than [Most].
func (t *Tree) Below(ctx context.Context, p journal.Place) (below []Child, cut bool, err error) {
	type above struct {
		place journal.Place
		path  []wire.PathStep
	}
	for queue := []above{{place: p}}; len(queue) > 0; queue = queue[1:] {
		for _, wait := range Waits(queue[0].place) {
			if len(below) == Most {
				return below, true, nil
			}
			child, err := t.child(ctx, p.Head.Tenant, wait)
			if err != nil {
				return nil, false, err
			}
			step := stepOf(child.Place.Record)
			step.RunID, step.CallID = child.Run, wait.Call
			child.Path = append(slices.Clone(queue[0].path), step)
			below = append(below, child)
			queue = append(queue, above{child.Place, child.Path})
		}
	}
	return below, false, nil
}

// unreadable says whether err concerns what is stored of one run only.
func unreadable(err error) bool {
	return errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrDamaged) || errors.Is(err, engine.ErrNewerSchema)
}

// child finds the run that works for a suspended call.
func (t *Tree) child(ctx context.Context, tenant string, wait core.Parent) (Child, error) {
	c := Child{Parent: wait, Run: core.ChildRun(tenant, wait.Thread, wait.Sus)}
	p, err := t.find(ctx, tenant, c.Run)
	if c.Unread = unreadable(err); c.Unread || isMissing(err) {
		return c, nil
	}
	c.Place = p
	return c, err
}
