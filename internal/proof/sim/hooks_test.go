package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/yields"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// hook counts each phase in the state of the thread, so that what counts is what was committed.
type hook struct{ *cast }

func (hook) Name() string { return "counting" }

// counted is the key of a phase's counter.
func counted(p core.Phase) string { return "hook/" + p.String() }

func number(raw json.RawMessage) (n int64) {
	_ = json.Unmarshal(raw, &n)
	return n
}

// fails says which hooks fail. It hangs on nothing that differs from one try to the next, so that a
// call whose hook fails never runs.
func (h hook) fails(p core.Phase, about ...string) bool {
	return h.s.plan.hooksFail && hash(append(about, "fails", p.String())...)%9 == 0
}

var errHook = errors.New("the hook has no luck")

// count writes half through the pad and half through the effects: both are one write of this phase.
func (h hook) count(ctx context.Context, req engine.HookRequest, p core.Phase) (core.Effects, error) {
	h.s.w.Yield(ctx)
	h.lost("in a hook")
	if p != core.BeforeToolExecute && p != core.AfterToolExecute && h.fails(p, strconv.Itoa(req.Step)) {
		req.State.Add(core.ThreadScope, counted(p), 1) // nor does this
		return core.Effects{}, errHook
	}
	req.State.Add(core.ThreadScope, counted(p), 1)
	return core.Effects{State: []core.StateOp{{Scope: core.ThreadScope, Key: counted(p), Op: core.StateAdd, Value: json.RawMessage("1")}}}, nil
}

func (h hook) RunStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return h.count(ctx, req, core.RunStart)
}

func (h hook) StepStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return h.count(ctx, req, core.StepStart)
}

func (h hook) BeforeInference(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	e, err := h.count(ctx, req, core.BeforeInference)
	e.Context = []core.ContextMessage{{Key: "note", Text: "be brief", Cooldown: 2}}
	return e, err
}

func (h hook) AfterInference(ctx context.Context, req engine.HookRequest, _ core.Turn) (core.Effects, error) {
	return h.count(ctx, req, core.AfterInference)
}

func (h hook) BeforeToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall) (core.Effects, error) {
	if h.refuses(call) {
		h.s.w.Yield(ctx)
		// which does not count
		req.State.Add(core.ThreadScope, counted(core.BeforeToolExecute), 1)
		return core.Effects{}, errHook
	}
	return h.count(ctx, req, core.BeforeToolExecute)
}

func (h hook) AfterToolExecute(ctx context.Context, req engine.HookRequest, _ core.ToolCall, _ core.Outcome) (core.Effects, error) {
	e, err := h.count(ctx, req, core.AfterToolExecute)
	e.Append = seen
	return e, err
}

// refuses: the hook before the call fails, so its body must not run.
func (h hook) refuses(call core.ToolCall) bool {
	return h.s.plan.hooks && h.fails(core.BeforeToolExecute, call.ID, call.Name, string(call.Arguments))
}

// seen is at the end of every result that a hook saw.
const seen = "[seen]"

func (h hook) StepEnd(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return h.count(ctx, req, core.StepEnd)
}

func (h hook) RunEnd(ctx context.Context, req engine.HookRequest, _ core.Reason) (core.Effects, error) {
	return h.count(ctx, req, core.RunEnd)
}

// control yields and cancels from outside.
type control struct{ s *stage }

func (c control) ShouldYield(context.Context, engine.RunRef) bool {
	return c.s.faults.Rate > 0 && c.s.w.Chance(c.s.plan.yields)
}

func (c control) IsCancelled(_ context.Context, run engine.RunRef) bool { return c.s.outside[run.Run] }

// newest are the runs of a tenant, and now and then newer ones of each agent that no worker takes.
type newest struct {
	s     *stage
	store sim.Store
}

// Runs implements [engine.Newest].
func (n newest) Runs(ctx context.Context, tenant, thread, cursor string, limit int) ([]core.Record, string, error) {
	records, next, err := n.store.Runs(ctx, tenant, thread, cursor, limit)
	of := n.s.stageOf(tenant)
	if err != nil || of.faults.Rate == 0 || !n.s.w.Chance(0.5) {
		return records, next, err
	}
	var waiting []core.Record
	for _, t := range of.threads {
		waiting = append(waiting, core.Record{Run: "run_zzz_0", Agent: fmt.Sprintf("agent-%d", t.n), Status: core.RunCreated, Born: n.s.w.Now().UnixMilli() - 1500})
	}
	return append(waiting, records...), next, nil
}

// makeWay: a run that makes way for newer ones takes an answer of its model after a few that it
// gave up. A control may say so without end.
func (w *watched) makeWay(old, h core.Head) {
	switch {
	case h.YieldsInRow > h.Yields, h.YieldsInRow > yields.Most && w.s.plan.yields == 0:
		w.s.wrong("%s made way %d times in a row: %s", h.Run, h.YieldsInRow, core.Encode(h))
	case h.Run == old.Run && h.Step > old.Step && h.YieldsInRow > 0:
		w.s.wrong("%s took an answer, and counts %d in a row that it gave up: %s", h.Run, h.YieldsInRow, core.Encode(h))
	case h.Run == old.Run && h.Yields > old.Yields && w.s.plan.yields == 0 && !w.s.plan.terms.Yield:
		w.s.wrong("%s made way, and nothing asked it to: %s", h.Run, core.Encode(h))
	case h.Run == old.Run && h.Yields > old.Yields && w.s.plan.yields == 0:
		w.s.faults.Counts["made way"]++
	}
}

// memory forgets now and then, unless that would change the conversation.
type memory struct{ *cast }

func (m memory) Recall(ctx context.Context, _ engine.MemoryRequest) (string, error) {
	m.s.w.Yield(ctx)
	if !m.s.plan.calm && m.s.w.Chance(m.s.faults.Rate) {
		return "", errors.New("nothing comes to mind")
	}
	return "remembered", nil
}

func (m memory) Commit(ctx context.Context, req engine.MemoryRequest) error {
	m.s.w.Yield(ctx)
	m.remembered[req.Run]++
	if m.s.w.Chance(m.s.faults.Rate) {
		return errors.New("not now")
	}
	return nil
}
