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
	view   core.View
	agent  Agent
	report Report
}

func newActivation(e *Engine, head core.Head) *activation {
	return &activation{e: e, view: core.View{Head: head, Limits: e.o.Limits, Notify: e.o.Notifier != nil,
		Fresh: func() string { return e.o.Random.Text(16) }}}
}

// work goes round: decide, then commit or do one thing, until a commit gives the claim up. A commit is always followed by a new
// decision, on the head it returned, so that a signal that came meanwhile is seen before the next body or model call.
func (a *activation) work(ctx context.Context) error {
	if err := a.prepare(ctx); err != nil {
		return err
	}
	for {
		if err := a.look(ctx); err != nil {
			return err
		}
		plan, err := core.Decide(a.view)
		if err != nil {
			return err
		}
		switch {
		case plan.Commit != nil:
			err = a.commit(ctx, plan.Commit)
			if err == nil && plan.Commit.Over {
				return nil
			}
		case plan.Run != nil:
			err = a.runBody(ctx, *plan.Run)
		case plan.Ask:
			err = a.askModel(ctx)
		case plan.Send != nil:
			a.send(ctx, plan.Send)
		}
		if err != nil && !errors.Is(err, ErrSignals) {
			return err
		}
	}
}

// prepare loads what the run is pinned to and the round it is in.
func (a *activation) prepare(ctx context.Context) error {
	h := a.view.Head
	agent, err := retrying(ctx, a.e, func() (Agent, error) { return a.e.o.Agents.Load(ctx, Pin{h.Tenant, h.Agent, h.Version, h.Narrow}) })
	switch {
	case errors.Is(err, ErrNotFound):
		a.view.Broken = &core.Reason{Kind: core.Failed, Code: "agent_version_missing",
			Detail: fmt.Sprintf("version %s of agent %q is not stored any more", h.Version, h.Agent)}
		agent.Rules = noRules{}
	case err != nil && h.Tries > a.e.o.Limits.Claims:
		agent.Rules = noRules{} // enough was tried; the run ends as a crash loop
	case err != nil:
		return fmt.Errorf("loading agent %q: %w", h.Agent, err)
	}
	a.agent, a.view.Rules = agent, agent.Rules
	if len(h.Calls) == 0 {
		return nil
	}
	segments, err := a.journal(ctx, h.Round)
	if err != nil {
		return err
	}
	a.view.Round = core.ReadRound(h, segments)
	return nil
}

// look takes the time and fetches what the inbox refers to.
func (a *activation) look(ctx context.Context) error {
	a.view.Now = a.e.o.Clock.Now().UnixMilli()
	a.view.TimeUp = a.timeUp()
	a.view.Put++
	for _, s := range a.view.Head.Inbox {
		if _, have := a.view.Payloads[s.Ref]; s.Ref == "" || have {
			continue
		}
		body, err := retrying(ctx, a.e, func() ([]byte, error) {
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
	segments, err := retrying(ctx, a.e, func() ([]core.Segment, error) {
		return a.e.o.Store.Segments(ctx, h.Tenant, h.Thread, from, h.Seq)
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
	w, err := retrying(ctx, a.e, func() (Written, error) { return a.e.o.Store.Commit(ctx, req) })
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
	if c.Wake != nil && !w.Woken {
		a.wake(ctx, req.Wake.For)
	}
	return nil
}

// wake sends the next step's message. Failing is no error: the due time that the release wrote brings the sweep.
func (a *activation) wake(ctx context.Context, delay time.Duration) {
	h := a.view.Head
	_, err := retrying(ctx, a.e, func() (struct{}, error) {
		return struct{}{}, a.e.o.Waker.Send(ctx, Wakeup{h.Tenant, h.Thread}, delay)
	})
	if err != nil {
		a.e.o.Logger.Warn("wake-up not sent; the sweep will find the run", "run", h.Run, "error", err)
	}
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
