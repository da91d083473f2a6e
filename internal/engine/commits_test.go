package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/txfile"
)

func TestCommits(t *testing.T) {
	t.Run("C162 nothing changed: no write", func(t *testing.T) {
		r := newRig(t)
		plan, err := planner.Decide(plans.View{Rules: r, Limits: plans.DefaultLimits, Put: 1,
			Head: core.Head{Status: core.RunRunning, Position: core.Position{Epoch: 3, Rev: 7}, Stage: core.Stage{TurnOpen: true}}})
		if _, asks := plan.(plans.AskModel); err != nil || !asks {
			t.Errorf("plan %+v (%v)", plan, err)
		}
		waiting := paying(t)
		before := waiting.head()
		waiting.step()
		if after := waiting.head(); after.Rev != before.Rev {
			t.Errorf("revision %d became %d", before.Rev, after.Rev)
		}
	})
	t.Run("C163 the end is written although nothing else changed", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)))
		r.start("hi")
		r.step()
		before := r.head()
		r.work()
		after := r.head()
		if after.Rev != before.Rev+2 { // the claim and the end
			t.Errorf("revision %d became %d", before.Rev, after.Rev)
		}
		r.wantRun(core.RunDone, core.Stopped)
	})
	t.Run("C165 a commit that fails: the error surfaces, and what it held is done again", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.start("hi")
		down := &breaking{Store: r.db, before: true, how: func() error { return engine.ErrUnavailable }}
		// claim, drain, turn, ✗ the results and every retry of them
		for at := 4; at < 8; at++ {
			down.also = append(down.also, at)
		}
		r.store = down
		r.build(engine.Options{})
		if _, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); !errors.Is(err, engine.ErrUnavailable) {
			t.Fatalf("error %v", err)
		}
		if h := r.head(); h.Seq != 2 || h.Calls["c1"].Status != core.CallNew || len(r.log()) != 2 {
			t.Errorf("after the failure: segment %d, call %+v, log %v", h.Seq, h.Calls["c1"], r.log())
		}
		r.recover()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): echo did {}", "assistant: done")
	})
}

// cost is what one step writes.
type cost struct{ statements, bytes int64 }

func spent(before, after txfile.Stats) cost {
	return cost{after.Statements - before.Statements, after.BytesWritten - before.BytesWritten}
}

// remembering keeps the segments it has read: what is measured is writing, and reading a thousand
// segments a thousand times takes long.
type remembering struct {
	engine.Store
	known []core.Segment
}

func (s *remembering) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	if n := int64(len(s.known)); n < to {
		more, err := s.Store.Segments(ctx, tenant, thread, n+1, to)
		if err != nil {
			return nil, err
		}
		s.known = append(s.known, more...)
	}
	return s.known[from-1 : to], nil
}

func TestAStepCostsTheSameHoweverLongTheRunIs(t *testing.T) {
	var turns []core.Turn
	for i := range 1001 {
		turns = append(turns, calls(call(fmt.Sprintf("call_%016d", i), "echo", `{"text":"`+strings.Repeat("x", 200)+`"}`)))
	}
	r := newRig(t, turns...)
	r.store = &remembering{Store: r.db}
	r.build(engine.Options{})
	r.start("hi")
	costs := map[int]cost{}
	for step := 1; step <= 1000; step++ {
		before := r.db.Stats()
		r.step()
		costs[step] = spent(before, r.db.Stats())
		r.clock.Advance(time.Second)
	}
	if h := r.head(); h.Step != 1000 {
		t.Fatalf("%d steps", h.Step)
	}
	early, late := costs[10], costs[1000]
	if early.statements != late.statements {
		t.Errorf("statements: %d at step 10, %d at step 1,000", early.statements, late.statements)
	}
	if grown := float64(late.bytes) / float64(early.bytes); grown > 1.1 {
		t.Errorf("bytes: %d at step 10, %d at step 1,000, %.3f times as many", early.bytes, late.bytes, grown)
	}
	t.Logf("step 10: %+v, step 1,000: %+v", early, late)
}
