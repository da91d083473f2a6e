package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// probe is a hook of every phase. It notes each time it is called, and then does what the test has
// given it for the phase.
type probe struct {
	name string
	at   map[core.Phase]func(visit) (core.Effects, error)
	gate func(core.ToolCall, core.State) *core.Verdict

	mu   sync.Mutex
	seen []string // the phase, and the call it is about
}

// visit is what a probe is called with. Only the members of its phase are set.
type visit struct {
	engine.HookRequest
	ctx     context.Context
	call    core.ToolCall
	outcome core.Outcome
	turn    core.Turn
	reason  core.Reason
}

// watching adds a probe to the rig's agent.
func (r *rig) watching(name string) *probe {
	p := &probe{name: name, at: map[core.Phase]func(visit) (core.Effects, error){}}
	r.hooks = append(r.hooks, p)
	return p
}

// wants lets the probe want the same each time it is called in a phase.
func (p *probe) wants(phase core.Phase, e core.Effects) {
	p.at[phase] = func(visit) (core.Effects, error) { return e, nil }
}

// does lets the probe do something in a phase and want nothing beyond.
func (p *probe) does(phase core.Phase, f func(visit)) {
	p.at[phase] = func(v visit) (core.Effects, error) {
		f(v)
		return core.Effects{}, nil
	}
}

func (p *probe) visited(phase core.Phase, v visit) (core.Effects, error) {
	p.note(phase, v.call.ID)
	if do := p.at[phase]; do != nil {
		return do(v)
	}
	return core.Effects{}, nil
}

func (p *probe) note(phase core.Phase, callID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, strings.TrimSpace(phase.String()+" "+callID))
}

func (p *probe) Name() string { return p.name }

func (p *probe) RunStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return p.visited(core.RunStart, visit{HookRequest: req, ctx: ctx})
}

func (p *probe) StepStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return p.visited(core.StepStart, visit{HookRequest: req, ctx: ctx})
}

func (p *probe) BeforeInference(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return p.visited(core.BeforeInference, visit{HookRequest: req, ctx: ctx})
}

func (p *probe) AfterInference(ctx context.Context, req engine.HookRequest, turn core.Turn) (core.Effects, error) {
	return p.visited(core.AfterInference, visit{HookRequest: req, ctx: ctx, turn: turn})
}

func (p *probe) ToolGate(call core.ToolCall, state core.State) *core.Verdict {
	p.note(core.ToolGate, call.ID)
	if p.gate == nil {
		return nil
	}
	return p.gate(call, state)
}

func (p *probe) BeforeToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall) (core.Effects, error) {
	return p.visited(core.BeforeToolExecute, visit{HookRequest: req, ctx: ctx, call: call})
}

func (p *probe) AfterToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall, out core.Outcome) (core.Effects, error) {
	return p.visited(core.AfterToolExecute, visit{HookRequest: req, ctx: ctx, call: call, outcome: out})
}

func (p *probe) StepEnd(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	return p.visited(core.StepEnd, visit{HookRequest: req, ctx: ctx})
}

func (p *probe) RunEnd(ctx context.Context, req engine.HookRequest, reason core.Reason) (core.Effects, error) {
	return p.visited(core.RunEnd, visit{HookRequest: req, ctx: ctx, reason: reason})
}

// times says how often the probe was called as what says: a phase, or a phase and a call.
func (p *probe) times(what string) (n int) {
	for _, s := range p.seen {
		if s == what || strings.HasPrefix(s, what+" ") {
			n++
		}
	}
	return n
}

// order is what the probe has seen but for the gates, which may be asked again at any time.
func (p *probe) order() (phases []string) {
	for _, s := range p.seen {
		if !strings.HasPrefix(s, core.ToolGate.String()) {
			phases = append(phases, s)
		}
	}
	return phases
}

func (p *probe) wantOrder(t *testing.T, want ...string) {
	t.Helper()
	if got := p.order(); !slices.Equal(got, want) {
		t.Errorf("hooks were called\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// state is what the run's tools and hooks share, as a new owner would read it.
func (r *rig) state() core.State {
	r.t.Helper()
	return core.ReadState(r.head(), r.journal())
}

func (r *rig) wantState(scope core.Scope, key, want string) {
	r.t.Helper()
	if got := string(r.state().Get(scope, key)); got != want {
		r.t.Errorf("the %s key %q is %s, want %s", scope, key, got, want)
	}
}

// adds is one write that adds n to a number of the run.
func adds(key string, n string) core.Effects {
	return core.Effects{State: []core.StateOp{{Key: key, Op: core.StateAdd, Value: []byte(n)}}}
}

// sets is one exclusive write to the run's state.
func sets(key, value string) core.Effects {
	return core.Effects{State: []core.StateOp{{Key: key, Op: core.StateSet, Value: []byte(value)}}}
}

// writing is a tool that does something to the state and says what it saw there before.
func (r *rig) writing(name string, write func(*pad.Pad)) {
	r.tool(name, toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		saw := string(req.State.Get(core.RunScope, "n"))
		write(req.State)
		return core.Outcome{Text: name + " saw n=" + saw}, nil
	}})
}

// resultOf is the text of a call's result as the model sees it.
func (r *rig) resultOf(callID string) string {
	r.t.Helper()
	for _, m := range core.TranscriptOf(r.log()) {
		if m.CallID == callID {
			return m.Text()
		}
	}
	return ""
}

// wantEnd is the reason of a run that is done, with its code.
func (r *rig) wantEnd(kind core.ReasonKind, code string) {
	r.t.Helper()
	r.wantRun(core.RunDone, kind)
	if end := r.head().End; end != nil && end.Code != code {
		r.t.Errorf("ended with code %q (%s), want %q", end.Code, end.Detail, code)
	}
}

// play starts the run and works until nothing is due.
func (r *rig) play() *rig {
	r.t.Helper()
	r.start("hi")
	r.work()
	return r
}

const (
	minute      = time.Minute
	sweepPeriod = 5 * time.Second
)
