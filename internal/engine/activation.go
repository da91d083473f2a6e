package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// activation is one invocation's work on a run it has claimed.
type activation struct {
	e      *Engine
	began  time.Time
	view   core.View
	agent  Agent
	report Report

	flight   *flight // the bodies that run; nil: none
	outcomes int     // of bodies, so far

	refused bool // a write of it broke an invariant

	previewing time.Duration // that the previews in the view took

	bodies *bodyWatch // of the bodies that ran since the last commit; nil if there are none, or no reader follows

	speaker *speaker // of the model call whose fate is not committed yet; nil if there is none, or no reader follows
}

func newActivation(e *Engine, head core.Head) *activation {
	return &activation{e: e, began: e.o.Clock.Now(), view: core.View{Head: head, Orphaned: head.Orphaned(), Limits: e.o.Limits, Notify: e.o.Notifier != nil,
		Gates: core.NewGateMemo(), Fresh: func() string { return e.o.Random.Text(16) }}}
}

func (a *activation) now() int64 { return a.e.o.Clock.Now().UnixMilli() }

// work decides and carries out what was decided, until the claim is given up.
func (a *activation) work(ctx context.Context) error {
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return a.carryOut(ctx, core.Decide)
}

// carryOut goes round: decide, then commit or do one thing, until a commit gives the claim up. A commit is always followed by a new
// decision, on the head it returned, so that a signal that came meanwhile is seen before the next body or model call.
func (a *activation) carryOut(ctx context.Context, decide func(core.View) (core.Plan, error)) error {
	var late error // set once the lease is too near its end for a body
	for {
		if err := a.look(ctx); err != nil {
			return err
		}
		plan, err := decide(a.view)
		if err != nil {
			return err
		}
		switch plan := plan.(type) {
		case *core.Commit:
			if err = a.commit(ctx, plan); err == nil && plan.Over {
				return late
			}
		case core.StartHeld:
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

// do carries out a plan that writes nothing. A plan of a kind that it doesn't know is an error: to decide again would give the same plan.
func (a *activation) do(ctx context.Context, plan core.Plan) error {
	switch plan := plan.(type) {
	case core.FireHooks:
		return a.fire(ctx, plan.Firing)
	case core.RunBodies:
		return a.runBodies(ctx, plan)
	case core.AwaitBodies:
		return a.await(ctx)
	case core.StopBodies:
		a.view.Ending = &plan.Reason
		return a.stop(ctx, errStopping)
	case core.ReadPreview:
		return a.preview(ctx, plan.Call)
	case core.AskModel:
		return a.askModel(ctx, plan.Request)
	case core.SendOutbox:
		return a.send(ctx, plan.Keys)
	}
	return fmt.Errorf("engine: no way to carry out a plan of type %T", plan)
}

// letGo makes the planner release the run with what is done, although its lease seems over: if the clock was only ahead, other workers
// would wait for the end of a lease that still has long to go.
func (a *activation) letGo(ctx context.Context) error {
	a.view.Late = true
	if a.flight == nil {
		return nil
	}
	return a.stop(ctx, errDeadline)
}

// endBroken lets a run end with error whose next write the store refused because of an invariant: the same plan would be refused
// again and again. It does so once; if the end is refused as well, the step fails, and the run comes back when its lease is over. A
// fault of this program is behind it either way, so it is logged as one.
func (a *activation) endBroken(err error) bool {
	invariant, ok := errors.AsType[*core.InvariantError](err)
	if !ok {
		return false
	}
	h := a.view.Head
	a.e.o.Logger.Error("a write was refused because it would leave the run in a state that nothing can set right; this is a fault of the program",
		"run", h.Run, "thread", h.Thread, "tenant", h.Tenant, "rule", invariant.Rule, "detail", invariant.Detail)
	if a.refused {
		return false
	}
	a.refused = true
	a.view.Broken = &core.Reason{Kind: core.Failed, Code: "head_invariant", Detail: "the program made a write that breaks the rule " + string(invariant.Rule)}
	return true
}

// prepare loads what the run is pinned to and the round it is in.
func (a *activation) prepare(ctx context.Context) error {
	h := a.view.Head
	if h.Tries > a.e.o.Limits.Claims { // the run ends as a crash loop, and what may be to blame is not touched again
		a.agent.Rules, a.view.Rules = noRules{}, noRules{}
		return a.recollect(ctx)
	}
	agent, err := retrying(ctx, a.e, func() (Agent, error) { return a.e.o.Agents.Load(ctx, Pin{h.Tenant, h.Agent, h.Version, h.Narrow}) })
	switch {
	case errors.Is(err, ErrNotFound):
		a.e.o.Logger.Error("the run's version of the agent cannot be run", "run", h.Run, "agent", h.Agent, "version", h.Version, "error", err)
		a.view.Broken = &core.Reason{Kind: core.Failed, Code: "agent_version_missing", Detail: missingDetail(h, err)}
		agent.Rules = noRules{}
	case isUnavailable(err):
		a.park(err)
		agent.Rules = noRules{}
	case err != nil:
		return fmt.Errorf("loading agent %q: %w", h.Agent, err)
	}
	a.agent, a.view.Rules = agent, a.e.ruled(agent)
	a.view.Hooked = hooked(agent, a.remembers())
	return a.recollect(ctx)
}

// parked is how long a run waits for its agent before it looks again.
const parked = 30 * time.Second

func isUnavailable(err error) bool {
	_, ok := errors.AsType[*AgentUnavailableError](err)
	return ok
}

// park gives the run back as it is: nothing is drained, run or decided, but for a cancel, which needs no agent.
func (a *activation) park(err error) {
	h := a.view.Head
	a.e.o.Logger.Warn("a run waits for its agent", "run", h.Run, "thread", h.Thread, "error", err)
	a.view.Park = parked.Milliseconds()
}

// missingDetail says what is missing: the version itself, or what it cannot do without.
func missingDetail(h core.Head, err error) string {
	if lacks, ok := errors.AsType[*LacksError](err); ok {
		return lacks.Text
	}
	return fmt.Sprintf("version %s of agent %q is not stored any more", h.Version, h.Agent)
}

// recollect reads what the journal knows of the round and of the state: the segments since the older of the two, and the last snapshot
// if it is before them.
func (a *activation) recollect(ctx context.Context) error {
	h := a.view.Head
	from, inRound := h.RoundFrom()
	if h.Deltas != 0 && (!inRound || h.Deltas < from) {
		from, inRound = h.Deltas, true
	}
	var segments []core.Segment
	var err error
	if inRound {
		if segments, err = a.journal(ctx, from); err != nil {
			return err
		}
		a.view.Round = core.ReadRound(h, segments)
	}
	if h.Snapshot != 0 && (!inRound || h.Snapshot < from) {
		old, err := a.segment(ctx, h.Snapshot)
		if err != nil {
			return err
		}
		segments = append([]core.Segment{old}, segments...)
	}
	a.view.State = core.ReadState(h, segments)
	return nil
}

// segment reads one segment that the head has named.
func (a *activation) segment(ctx context.Context, seq int64) (core.Segment, error) {
	h := a.view.Head
	found, err := retrying(ctx, a.e, func() ([]core.Segment, error) { return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, seq, seq) })
	if err == nil && (len(found) != 1 || found[0].Seq != seq) {
		err = fmt.Errorf("engine: segment %d of %s is not there", seq, h.Thread)
	}
	if err != nil {
		return core.Segment{}, err
	}
	return found[0], nil
}

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
		version, err = h.Version, nil // not deployed any more: what was promised is done with what there is
	}
	if err != nil {
		return err
	}
	next := h.Succeed(version, input, a.view.Now)
	next.Held = h.Held[1:]
	next.Narrow, next.NoMemory = h.Narrow, h.NoMemory // the message was sent to this run
	prior := h
	prior.Status = core.RunDone
	req := StartRequest{Head: next, Prior: &prior, Owned: true, Seen: h.Sigs, Due: a.view.Now + core.RetryDue, Wake: &Delay{}}
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

// look takes the time and fetches what the inbox refers to.
func (a *activation) look(ctx context.Context) error {
	a.view.Now = a.e.o.Clock.Now().UnixMilli()
	a.view.TimeUp = a.timeUp()
	a.view.Cancelled = a.view.Cancelled || a.outsideCancel(ctx, a.view.Head)
	a.view.Put++
	for _, s := range a.view.Head.Inbox {
		if _, have := a.view.Payloads[s.Ref]; s.Ref == "" || have {
			continue
		}
		body, err := retryingFor(ctx, a.e, a.patience(), func() ([]byte, error) {
			return a.e.o.Store.Payload(ctx, a.view.Head.Tenant, a.view.Head.Thread, s.Ref)
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if core.Digest(body) != s.Ref {
			body = nil // not what was signed for: refused when it is read
		}
		if a.view.Payloads == nil {
			a.view.Payloads = map[string]json.RawMessage{}
		}
		a.view.Payloads[s.Ref] = body
	}
	return nil
}

// journal reads the segments from..head.seq and holds them to the chain of stamps that the head ends.
func (a *activation) journal(ctx context.Context, from int64) ([]core.Segment, error) {
	h := a.view.Head
	from = max(from, 1)
	segments, err := traced(ctx, a.e, "journal", func(ctx context.Context) ([]core.Segment, error) {
		return retrying(ctx, a.e, func() ([]core.Segment, error) { return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, from, h.Seq) })
	})
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if err := core.CheckChain(h, from, segments); err != nil {
		return nil, err
	}
	return segments, nil
}

// commit sends one write until it is answered, and takes the head it leaves.
func (a *activation) commit(ctx context.Context, c *core.Commit) error {
	req := CommitRequest{Next: c.Head, Segment: c.Segment, Drained: c.Drained, AllSeen: c.AllSeen, Seen: a.view.Head.Sigs, Due: c.Due}
	if c.Wake != nil {
		req.Wake = &Delay{time.Duration(*c.Wake) * time.Millisecond}
	}
	w, err := traced(ctx, a.e, "commit", func(ctx context.Context) (Written, error) {
		return retryingFor(ctx, a.e, a.patience(), func() (Written, error) { return a.e.o.Store.Commit(ctx, req) })
	})
	if errors.Is(err, ErrSignals) {
		// Only the inbox is newer: epoch and revision are still those of this owner.
		a.view.Head = w.Head
		return ErrSignals
	}
	if err != nil {
		return err
	}
	a.report.Commits++
	a.view = a.view.After(w.Head, c)
	a.endLive()
	if c.Wake != nil && !w.Woken {
		return a.wake(ctx, req.Wake.For)
	}
	return nil
}

// patience is how long calls to an unavailable store are retried. While bodies are in flight, that is as long as they may run: giving up would
// stop them.
func (a *activation) patience() time.Duration {
	if a.flight == nil {
		return a.e.o.Patience
	}
	return max(a.e.o.Patience, a.timeLeft())
}

// wake sends the next step's message. If that fails, the message at hand is to come again in its place: everything is committed, so it
// finds the next step. Should it be lost, too, the due time brings the sweep.
func (a *activation) wake(ctx context.Context, delay time.Duration) error {
	h := a.view.Head
	_, err := retrying(ctx, a.e, func() (struct{}, error) {
		return struct{}{}, a.e.o.Waker.Send(ctx, Wakeup{h.Tenant, h.Thread}, delay)
	})
	if err != nil {
		return fmt.Errorf("sending the wake-up for what comes next: %w", err)
	}
	return nil
}

// noRules is for a run whose definition is gone: it only ends.
type noRules struct{}

func (noRules) Tool(string) (core.ToolSpec, bool) { return core.ToolSpec{}, false }
func (noRules) Check(core.ToolCall) error         { return nil }
func (noRules) Gate(core.ToolCall, core.State) core.Verdict {
	return core.Verdict{Effect: core.Deny}
}
func (noRules) Deadline(core.ToolCall, core.Kind) core.Deadline { return core.Deadline{} }
func (noRules) Terms() core.Terms                               { return core.Terms{} }
