package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/family"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// showWhole is a run with what the open runs below it add: what they wait for and what they have
// used. It reads the heads of at most [family.Most] of them, and the journals of those that wait
// for an answer, up to [journal.PageBytes] of calls.
func (f *Frontend) showWhole(ctx context.Context, p journal.Place) (wire.Run, error) {
	run, err := f.Show(ctx, p)
	if err != nil || len(family.Waits(p)) == 0 {
		return run, err
	}
	leave, err := f.Pages.Take(ctx, p.Head.Tenant)
	if err != nil {
		return run, err
	}
	defer leave()
	below, cut, err := f.Family.Below(ctx, p)
	if err != nil {
		return run, err
	}
	run.PendingCut = cut
	total, weight := p.Record.Tree(), 0
	for _, child := range below {
		if child.Started() {
			total = total.Plus(child.Place.Record.Tree())
		}
		if len(child.Path) == 1 && !child.Unread {
			shown, err := f.childOf(ctx, p, child)
			if err != nil {
				return run, err
			}
			run.Children = append(run.Children, shown)
		}
		calls, whole, err := f.pendingOf(ctx, child, weight < journal.PageBytes)
		if err != nil {
			return run, err
		}
		for _, call := range calls {
			weight += runview.WeighPending(call)
		}
		run.Pending, run.PendingCut = append(run.Pending, calls...), run.PendingCut || !whole
	}
	run.Usage.Total = runview.TotalOf(total)
	return run, nil
}

// childOf shows a run that the one at p waits for. Until its start is stored, the call alone knows
// whose it is.
func (f *Frontend) childOf(ctx context.Context, p journal.Place, c family.Child) (wire.ChildRun, error) {
	thread, _ := core.ThreadOf(c.Run)
	shown := wire.ChildRun{RunID: c.Run, ThreadID: thread, CallID: c.Parent.Call, Agent: c.Path[0].Agent, Status: c.Place.Record.Status.String()}
	if c.Started() {
		return shown, nil
	}
	shown.Status = core.RunCreated.String()
	call, err := f.FindSuspension(ctx, p, c.Parent.Sus)
	if err == nil && call.Child != nil {
		shown.Agent = call.Child.Agent
	}
	return shown, err
}

// pendingOf are the calls of a run below that wait for an answer; whole says that none is left out.
// A run that can't be read must not hide the others.
func (f *Frontend) pendingOf(ctx context.Context, c family.Child, room bool) (calls []wire.Pending, whole bool, err error) {
	if c.Unread || len(journal.OpenSuspensions(c.Place)) == 0 {
		return nil, !c.Unread, nil
	}
	if !room {
		return nil, false, nil
	}
	shown, err := f.View(ctx, c.Place)
	if errors.Is(err, engine.ErrUnreadable) || errors.Is(err, engine.ErrDamaged) {
		return nil, false, nil
	}
	calls = shown.Pending()
	for i := range calls {
		calls[i].Path = c.Path
	}
	return calls, true, err
}

// Rests says whether a caller can do something about a run: it is done, or it or a run below it
// waits for an answer. A run that waits for runs alone goes on by itself. See [Frontend.AllRest].
func (f *Frontend) Rests(ctx context.Context, p journal.Place) (bool, error) {
	if p.Record.Status != core.RunWaiting {
		return p.Record.Status == core.RunDone, nil
	}
	if len(family.Waits(p)) == 0 || len(journal.OpenSuspensions(p)) > 0 {
		return true, nil
	}
	below, _, err := f.Family.Below(ctx, p)
	for _, child := range below {
		if len(journal.OpenSuspensions(child.Place)) > 0 {
			return true, err
		}
	}
	return false, err
}

// AllRest says whether nothing happens in a run and those below it until a caller does something:
// it is done, or each of them waits, and one for an answer. A run below that is gone, or that can't
// be read, holds up no other.
func (f *Frontend) AllRest(ctx context.Context, p journal.Place) (bool, error) {
	if p.Record.Status != core.RunWaiting {
		return p.Record.Status == core.RunDone, nil
	}
	asks := len(journal.OpenSuspensions(p)) > 0
	below, _, err := f.Family.Below(ctx, p)
	for _, child := range below {
		status := child.Place.Record.Status
		if child.Started() && status != core.RunWaiting && status != core.RunDone {
			return false, err
		}
		asks = asks || len(journal.OpenSuspensions(child.Place)) > 0
	}
	return asks, err
}
