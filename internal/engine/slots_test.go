package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// slots count how many the activation has: one when it computes, none while it waits.
type slots struct {
	t      *testing.T
	mu     sync.Mutex
	held   int
	rested int
	tenant string
}

func (s *slots) GiveUp(tenant string) { s.change(tenant, -1) }
func (s *slots) Take(tenant string)   { s.change(tenant, 1) }

func (s *slots) change(tenant string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += by
	s.tenant = tenant
	if by < 0 {
		s.rested++
	}
}

func (s *slots) want(what string, held int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != held {
		s.t.Errorf("%s: the activation has %d slots, want %d", what, s.held, held)
	}
}

// slotted is a store that an activation reads only while it has a slot, and commits to without one.
type slotted struct {
	engine.Store
	slots *slots
}

func (s slotted) Claim(ctx context.Context, req engine.ClaimRequest) (core.Head, error) {
	s.slots.want("claim", 1)
	return s.Store.Claim(ctx, req)
}

func (s slotted) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	s.slots.want("commit", 0)
	return s.Store.Commit(ctx, req)
}

func (s slotted) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	s.slots.want("segments", 1)
	return s.Store.Segments(ctx, tenant, thread, from, to)
}

// An activation gives its slot up while it waits for a body, the model, a hook, the memory or a
// commit, however that ends, and computes with one.
func TestAnActivationThatWaitsHoldsNoSlot(t *testing.T) {
	r := newRig(t, calls(call("c1", "slow", `{}`), call("c2", "fails", `{}`), call("c3", "panics", `{}`)),
		calls(call("c4", "slow", `{}`), call("c5", "panics", `{}`)), says("done"))
	s := &slots{t: t, held: 1}
	r.store = slotted{r.db, s}
	body := func(end func() error) toolRule {
		return toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			s.want("tool", 0)
			return core.Outcome{Text: "done"}, end()
		}}
	}
	r.tool("slow", body(func() error { return nil }))
	r.tool("fails", body(func() error { return errors.New("no luck") }))
	r.tool("panics", body(func() error { panic("no luck") }))
	r.onAsk = func(context.Context, engine.Prompt) error {
		s.want("model", 0)
		return nil
	}
	r.watching("probe").does(core.RunStart, func(visit) { s.want("hook", 0) })
	r.memory = restingMemory{s}
	r.build(engine.Options{Slots: s})
	r.play()
	r.wantRun(core.RunDone, core.NaturalEnd)
	s.want("after the run", 1)
	if s.rested < 3+5+2 || s.tenant != "t" {
		t.Errorf("the activation gave its slot up %d times, the last time for tenant %q", s.rested, s.tenant)
	}
}

type restingMemory struct{ s *slots }

func (m restingMemory) Recall(context.Context, engine.MemoryRequest) (string, error) {
	m.s.want("recall", 0)
	return "", nil
}

func (m restingMemory) Commit(context.Context, engine.MemoryRequest) error {
	m.s.want("remember", 0)
	return nil
}
