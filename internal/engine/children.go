package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/children"
	"github.com/dormouse-dev/dormouse/internal/core/pause"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

// inline is how many bytes of a signal's value are kept in a head; a longer one is put beside it.
const inline = 512

// findAgent looks up which version of an agent a child would run.
func (a *activation) findAgent(ctx context.Context, name string) error {
	version, err := retrying(ctx, a.e, func() (string, error) { return a.e.o.Agents.Newest(ctx, a.view.Head.Tenant, name) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("looking up agent %q: %w", name, err)
	}
	a.view.Agents = core.CloneMap(a.view.Agents)
	a.view.Agents[name] = plans.FoundAgent{Version: version, Missing: err != nil}
	return nil
}

// launch starts the child that a suspension has pinned. It may be sent again, by this owner or a
// later one: the child's thread follows from the suspension, so the second finds the first.
func (a *activation) launch(ctx context.Context, sus string) error {
	h := a.view.Head
	seq, _ := core.SuspensionSeq(sus)
	s, err := a.segment(ctx, seq)
	if err != nil {
		return err
	}
	call, _, ok := core.FindSuspended(s, sus)
	if !ok || call.Child == nil {
		return fmt.Errorf("engine: segment %d of %s has no child for %s", seq, h.Thread, sus)
	}
	child := children.Head(a.view.Head, call, a.view.Now, a.e.o.Random.Text(26))
	if err := a.passTargets(ctx, child.Thread); err != nil {
		return err
	}
	if child.Inbox[core.KeyStart], err = a.offload(ctx, child.Thread, child.Inbox[core.KeyStart]); err != nil {
		return err
	}
	w, err := retrying(ctx, a.e, func() (Written, error) {
		return a.e.o.Store.Start(ctx, StartRequest{Head: child, Due: a.view.Now + pause.RetryDue, Wake: &Delay{}})
	})
	switch {
	case errors.Is(err, ErrRefused) && w.Head.Parent != nil && w.Head.Parent.Sus == sus:
		return nil // it was launched before
	case err != nil:
		return fmt.Errorf("starting child %s: %w", child.Run, err)
	}
	a.wakeOther(ctx, child.Thread, w.Woken)
	return nil
}

// passTargets stores the targets that the start of this run named beside the child: they are
// notified of what is asked below the run, too.
func (a *activation) passTargets(ctx context.Context, child string) error {
	h := a.view.Head
	if h.Notify == "" {
		return nil
	}
	_, err := retrying(ctx, a.e, func() (struct{}, error) {
		body, err := a.e.o.Store.Payload(ctx, h.Tenant, h.Thread, h.Notify)
		if err == nil {
			err = a.e.o.Store.PutPayload(ctx, h.Tenant, child, h.Notify, body)
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("passing on who is notified: %w", err)
	}
	return nil
}

// offload puts a value that is large for a head beside the thread that gets the signal.
func (a *activation) offload(ctx context.Context, thread string, s core.Signal) (core.Signal, error) {
	if len(s.Value) <= inline {
		return s, nil
	}
	body := s.Value
	s.Ref, s.Value = core.Digest(body), nil
	_, err := retrying(ctx, a.e, func() (struct{}, error) {
		return struct{}{}, a.e.o.Store.PutPayload(ctx, a.view.Head.Tenant, thread, s.Ref, body)
	})
	return s, err
}

// signalChild stores a signal in the inbox of a child. One that has ended needs none, and neither
// does one that was never launched: it looks for its parent before it does anything.
func (a *activation) signalChild(ctx context.Context, sus, key string, s core.Signal) error {
	h := a.view.Head
	if _, owed := h.Out[core.LaunchKey(sus)]; owed && s.Kind != core.SignalCancel && !a.wasSent(core.LaunchKey(sus)) {
		return fmt.Errorf("engine: the child of %s was not launched yet", sus)
	}
	s.At = a.view.Now
	return a.signal(ctx, SignalRequest{Tenant: h.Tenant, Thread: core.ChildThread(h.Tenant, h.Thread, sus), Run: core.ChildRun(h.Tenant, h.Thread, sus),
		InboxKey: key, Signal: s})
}

func (a *activation) wasSent(key string) bool {
	for _, s := range a.view.Sent {
		if s.Key == key {
			return true
		}
	}
	return false
}

// cancelOfChild names who cancelled this run, if that is why its children are cancelled.
func (a *activation) cancelOfChild() core.Signal {
	s := core.Signal{Kind: core.SignalCancel, By: "agent:" + a.view.Head.Agent, Via: core.ViaAgent}
	if end := a.view.Head.End; end != nil && end.Kind == core.Cancelled && end.By != "" {
		s.By, s.Via = end.By, end.Via
	}
	return s
}

// signal stores a signal for another run and wakes that. A refusal is final: the signal is there
// already, or what it is about is over.
func (a *activation) signal(ctx context.Context, req SignalRequest) error {
	req.Due, req.Wake = a.view.Now+pause.RetryDue, &Delay{}
	w, err := retrying(ctx, a.e, func() (Written, error) { return a.e.o.Store.Signal(ctx, req) })
	switch {
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("sending %s to %s: %w", req.InboxKey, req.Run, err)
	}
	a.wakeOther(ctx, req.Thread, w.Woken)
	return nil
}

// wakeOther sends the wake-up of another thread. It is a hint: the thread is due, and the sweep
// finds it.
func (a *activation) wakeOther(ctx context.Context, thread string, woken bool) {
	if woken {
		return
	}
	if err := a.e.o.Waker.Send(ctx, Wakeup{Tenant: a.view.Head.Tenant, Thread: thread}, 0); err != nil {
		a.e.o.Logger.Warn("the wake-up of another run could not be sent; the sweep finds it", "thread", thread, "error", err)
	}
}
