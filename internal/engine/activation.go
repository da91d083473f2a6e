package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine/warm"
)

// activation is one invocation's work on a run it has claimed.
type activation struct {
	e      *Engine
	began  time.Time
	view   plans.View
	thread *warm.Thread // what this process knows of the journal
	agent  Agent
	report Report

	delivery Delivery    // that the step is for; one without an id is the caller's
	goesOn   func() bool // whether the caller does the run's next step too; nil: no

	flight   *flight // the bodies that run; nil: none
	outcomes int     // of bodies, so far

	refused bool // a write of it broke an invariant

	lookedAt look // when it last looked at the runs above

	subscriptions []notice.Subscription // of the run, as they were when it was claimed

	previewing time.Duration // that the previews in the view took

	// of the bodies that ran since the last commit; nil if there are none, or no reader follows
	bodies *bodyWatch

	// of the model call whose fate is not committed yet; nil if there is none, or no reader
	// follows
	speaker *speaker
}

func newActivation(e *Engine, head core.Head) *activation {
	return &activation{e: e, began: e.o.Clock.Now(), thread: e.threads.Take(warm.Key{Tenant: head.Tenant, Thread: head.Thread}), view: plans.View{
		Head:       head,
		Limits:     e.o.Limits,
		Gates:      plans.NewGateMemo(),
		Fresh:      func() string { return e.o.Random.Text(26) },
		Conditions: plans.Conditions{Orphaned: head.Orphaned()},
	}}
}

func (a *activation) now() int64 { return a.e.o.Clock.Now().UnixMilli() }

// work decides and carries out what was decided, until the claim is given up.
func (a *activation) work(ctx context.Context) error {
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return a.carryOut(ctx, planner.Decide)
}

// carryOut goes round: decide, then commit or do one thing, until a commit gives the claim up. A
// commit is always followed by a new decision, on the head it returned, so that a signal that came
// meanwhile is seen before the next body or model call.
func (a *activation) carryOut(ctx context.Context, decide func(plans.View) (plans.Plan, error)) error {
	var late error // set once the lease is too near its end for a body
	for {
		if err := a.refresh(ctx); err != nil {
			return err
		}
		plan, err := decide(a.view)
		if err != nil {
			return err
		}
		switch plan := plan.(type) {
		case *plans.Commit:
			if err = a.commit(ctx, plan); err == nil && plan.Over {
				return late
			}
		case plans.StartHeld:
			return a.startHeld(ctx, plan.Held)
		default:
			err = a.do(ctx, plan)
		}
		if errors.Is(err, errLeaseOver) {
			late, err = err, a.letGo(ctx)
		}
		if err != nil && !errors.Is(err, ErrSignals) && !a.endBroken(err) {
			return err
		}
	}
}

// do carries out a plan that writes nothing. A plan of a kind that it doesn't know is an error: to
// decide again would give the same plan.
func (a *activation) do(ctx context.Context, plan plans.Plan) error {
	switch plan := plan.(type) {
	case plans.FireHooks:
		return a.fire(ctx, plan.Firing)
	case plans.RunBodies:
		return a.runBodies(ctx, plan)
	case plans.AwaitBodies:
		return a.await(ctx)
	case plans.StopBodies:
		a.view.Ending = &plan.Reason
		return a.stop(ctx, errStopping)
	case plans.ReadPreview:
		return a.preview(ctx, plan.Call)
	case plans.AskModel:
		return a.askModel(ctx, plan.Request)
	case plans.FindAgent:
		return a.findAgent(ctx, plan.Name)
	case plans.AskPeer:
		return a.askPeer(ctx, plan.Again)
	case plans.SendOutbox:
		return a.send(ctx, plan.Keys)
	}
	return fmt.Errorf("engine: no way to carry out a plan of type %T", plan)
}

// letGo makes the planner release the run with what is done, although its lease seems over: if the
// clock was only ahead, other workers would wait for the end of a lease that still has long to go.
func (a *activation) letGo(ctx context.Context) error {
	a.view.LeaseEnding = true
	if a.flight == nil {
		return nil
	}
	return a.stop(ctx, errDeadline)
}

// endBroken ends the run with an error after the store refused a write that breaks an invariant:
// the same plan would be refused again. It does so once. If the end is refused too, the step fails
// and another worker claims the run after the lease. Either way it is a bug in the program, and
// logged as one.
func (a *activation) endBroken(err error) bool {
	broken, ok := errors.AsType[*invariant.Error](err)
	if !ok {
		return false
	}
	h := a.view.Head
	a.e.o.Logger.Error("a write was refused because it would leave the run in an invalid state; this is a bug",
		"run", h.Run, "thread", h.Thread, "tenant", h.Tenant, "rule", broken.Rule, "detail", broken.Detail)
	if a.refused {
		return false
	}
	a.refused = true
	a.view.Broken = &core.Reason{Kind: core.Failed, Code: "head_invariant", Detail: "the program made a write that breaks the rule " + string(broken.Rule)}
	return true
}

func (noRules) Tool(string) (core.ToolSpec, bool) { return core.ToolSpec{}, false }
func (noRules) Check(core.ToolCall) error         { return nil }
func (noRules) Gate(core.ToolCall, core.State) core.Verdict {
	return core.Verdict{Effect: core.Deny}
}
func (noRules) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }
func (noRules) Times(*vote.Policy, int, int64) core.Times       { return core.Times{} }

func (noRules) Terms() core.Terms { return core.Terms{} }

func (noRules) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }
