package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
)

// startHeld gives this run's place in the head to the one that a held message begins, and wakes it.
func (a *activation) startHeld(ctx context.Context, held core.Held) error {
	h := a.view.Head
	s, err := a.segment(ctx, held.Seq)
	if err != nil {
		return err
	}
	input, ok := core.FindHeld(s, held.Key)
	if !ok {
		return fmt.Errorf("engine: the held message %s of %s is not in segment %d", held.Key, h.Thread, held.Seq)
	}
	version, err := retrying(ctx, a.e, func() (string, error) { return a.e.o.Agents.Newest(ctx, h.Tenant, h.Agent) })
	if errors.Is(err, ErrNotFound) {
		// not deployed any more: the queued messages run on the version of the last run
		version, err = h.Version, nil
	}
	if err != nil {
		return err
	}
	next := h.Succeed(version, input, a.view.Now)
	next.Held = h.Held[1:]
	// the message was sent to this run
	next.Narrow, next.NoMemory, next.Supplied = h.Narrow, h.NoMemory, h.Supplied
	next.Schema = core.SchemaOf(next)
	prior := h
	prior.Status = core.RunDone
	req := StartRequest{Head: next, Prior: &prior, Owned: true, Seen: h.Sigs, Due: a.view.Now + pause.RetryDue, Wake: &Delay{}}
	w, err := retrying(ctx, a.e, func() (Written, error) { return a.e.o.Store.Start(ctx, req) })
	if err != nil {
		return err
	}
	a.report.Commits++
	a.view.Head.Status, a.view.Head.Lease = core.RunDone, 0
	if !w.Woken {
		return a.wake(ctx, 0)
	}
	return nil
}
