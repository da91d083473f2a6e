package journal

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// MaxID is how many bytes an id in a path may have; a longer one is not ours.
const MaxID = 256

// Place is where a run is found: in the head of its thread, or, once another run took that, in the
// archive.
type Place struct {
	Head    core.Head // of the thread; the run's own if current
	Record  core.Record
	Current bool
	Whole   bool // the record represents all runs of the thread
}

// Accepts says whether the run may still be sent something.
func (p Place) Accepts() bool { return p.Current && p.Head.Open() && p.Head.End == nil }

// Find looks for a run. [refusal.CodeRunNotFound] also for what is no id, and for a run of another
// tenant.
func (r *Reader) Find(ctx context.Context, tenant, run string) (Place, error) {
	thread, ok := core.ThreadOf(run)
	if !ok || len(run) > MaxID {
		return Place{}, runNotFound()
	}
	head, err := r.Load(ctx, tenant, thread)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return Place{}, runNotFound()
	case err != nil:
		return Place{}, err
	case head.Run == run:
		return Place{Head: head, Record: head.Record(), Current: true}, nil
	}
	record, err := storecall.Try(ctx, r.Clock, func() (core.Record, error) { return r.store.Archived(ctx, tenant, run) })
	if errors.Is(err, engine.ErrNotFound) {
		return Place{}, runNotFound()
	}
	return Place{Head: head, Record: record}, err
}

func runNotFound() *refusal.Error {
	return refusal.New(refusal.CodeRunNotFound, "the run doesn't exist; check its id")
}

// LoadThread loads a thread's head. [refusal.CodeThreadNotFound] as for [Reader.Find].
func (r *Reader) LoadThread(ctx context.Context, tenant, thread string) (core.Head, error) {
	if len(thread) > MaxID {
		return core.Head{}, threadNotFound()
	}
	head, err := r.Load(ctx, tenant, thread)
	if errors.Is(err, engine.ErrNotFound) {
		return head, threadNotFound()
	}
	return head, err
}

func threadNotFound() *refusal.Error {
	return refusal.New(refusal.CodeThreadNotFound, "the thread doesn't exist; check its id")
}
