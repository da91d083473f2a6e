package frontend

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// Run reads a run, consistently, with what the runs below it wait for.
func (f *Frontend) Run(ctx context.Context, c Caller, id string) (wire.Run, error) {
	p, err := f.Find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Run{}, err
	}
	return f.showWhole(ctx, p)
}

// AtEnd returns a run as [Frontend.Run] does. Once its end is committed it is shown as done, also
// before the commit that gives it up: notices of the end are written between the two.
func (f *Frontend) AtEnd(ctx context.Context, c Caller, id string) (wire.Run, error) {
	p, err := f.Find(ctx, c.Tenant, id)
	if err != nil {
		return wire.Run{}, err
	}
	if p.Record.End != nil {
		p.Record.Status = core.RunDone
	}
	return f.Show(ctx, p)
}

// AwaitRun returns a run as [Frontend.Run] does, once it [Frontend.Rests] or after wait, whichever
// comes first.
func (f *Frontend) AwaitRun(ctx context.Context, c Caller, id string, wait time.Duration) (wire.Run, error) {
	return f.await(ctx, c, id, wait, f.Rests)
}

// AwaitTree is AwaitRun once all runs below rest, too, see [Frontend.AllRest].
func (f *Frontend) AwaitTree(ctx context.Context, c Caller, id string, wait time.Duration) (wire.Run, error) {
	return f.await(ctx, c, id, wait, f.AllRest)
}

func (f *Frontend) await(ctx context.Context, c Caller, id string, wait time.Duration, rests func(context.Context, journal.Place) (bool, error)) (wire.Run, error) {
	var p journal.Place
	thread, _ := core.ThreadOf(id)
	err := f.Held.Until(ctx, c.Tenant, thread, wait, false, func() (bool, error) {
		var err error
		if p, err = f.Find(ctx, c.Tenant, id); err != nil || wait <= 0 {
			return true, err
		}
		return rests(ctx, p)
	})
	if err != nil {
		return wire.Run{}, err
	}
	return f.showWhole(ctx, p)
}

// Thread reads a conversation's newest state.
func (f *Frontend) Thread(ctx context.Context, c Caller, id string) (wire.Thread, error) {
	h, err := f.LoadThread(ctx, c.Tenant, id)
	if err != nil {
		return wire.Thread{}, err
	}
	return wire.Thread{ID: h.Thread, Agent: h.Agent, RunID: h.Run, Status: h.Visible().String(), Cursor: journal.EndOf(h.Record())}, nil
}
