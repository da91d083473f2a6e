package binding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

// registerHook rejects a hook without functions: it would never be called, so they are missing by
// mistake.
func registerHook(r *hook.Registry, h dormouse.Hook) error {
	var adapted engine.Hook = phases{h}
	switch {
	// a RunEnd hook costs one more commit per run, so only hooks with that function implement
	// it
	case h.RunEnd != nil:
		adapted = phasesAndEnd{phases{h}}
	case h.RunStart == nil && h.StepStart == nil && h.BeforeInference == nil && h.AfterInference == nil && h.ToolGate == nil &&
		h.BeforeToolExecute == nil && h.AfterToolExecute == nil && h.StepEnd == nil && h.StopRule == nil:
		return fmt.Errorf("the hook %q has no function for any phase; set one, or remove the hook", h.Name)
	}
	return r.Register(adapted)
}

// phases calls the functions of a hook. It implements every phase except RunEnd; a missing function
// has no effect.
type phases struct{ h dormouse.Hook }

var (
	_ engine.RunStartHook        = phases{}
	_ engine.StepStartHook       = phases{}
	_ engine.BeforeInferenceHook = phases{}
	_ engine.AfterInferenceHook  = phases{}
	_ engine.ToolGateHook        = phases{}
	_ engine.BeforeToolHook      = phases{}
	_ engine.AfterToolHook       = phases{}
	_ engine.StepEndHook         = phases{}
	_ engine.RunEndHook          = phasesAndEnd{}
	_ core.StopRule              = phases{}
)

// Name implements [engine.Hook].
func (p phases) Name() string { return p.h.Name }

// RunStart implements [engine.RunStartHook].
func (p phases) RunStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	if p.h.RunStart == nil {
		return core.Effects{}, nil
	}
	opening, err := p.h.RunStart(ctx, runOf(req))
	if err != nil {
		return core.Effects{}, err
	}
	e, err := ending(opening.End, nil)
	if w := opening.Wait; w != nil {
		e.Wait = &core.SuspendTicket{Suspension: core.Suspension{Action: w.Action, Message: w.Message, ResponseSchema: w.Schema}, Within: millis(w.Within)}
	}
	return e, err
}

// StepStart implements [engine.StepStartHook].
func (p phases) StepStart(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	if p.h.StepStart == nil {
		return core.Effects{}, nil
	}
	return ending(p.h.StepStart(ctx, runOf(req)))
}

// BeforeInference implements [engine.BeforeInferenceHook].
func (p phases) BeforeInference(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	if p.h.BeforeInference == nil {
		return core.Effects{}, nil
	}
	want, err := p.h.BeforeInference(ctx, runOf(req))
	if err != nil {
		return core.Effects{}, err
	}
	e, err := ending(want.End, nil)
	for _, c := range want.Context {
		e.Context = append(e.Context, core.ContextMessage(c))
	}
	if want.Instructions != "" || len(want.Parameters) > 0 {
		e.Override = &core.Override{Instructions: want.Instructions, Parameters: maps.Clone(want.Parameters)}
	}
	e.Include, e.Exclude = slices.Clone(want.Only), slices.Clone(want.Without)
	return e, err
}

// AfterInference implements [engine.AfterInferenceHook].
func (p phases) AfterInference(ctx context.Context, req engine.HookRequest, turn core.Turn) (core.Effects, error) {
	if p.h.AfterInference == nil {
		return core.Effects{}, nil
	}
	review, err := p.h.AfterInference(ctx, runOf(req), turnOf(turn))
	if err != nil {
		return core.Effects{}, err
	}
	e, err := ending(review.End, nil)
	e.Drop = slices.Clone(review.Drop)
	return e, err
}

// ToolGate implements [engine.ToolGateHook]. An unknown verdict denies the call.
func (p phases) ToolGate(call core.ToolCall, state core.State) *core.Verdict {
	if p.h.ToolGate == nil {
		return nil
	}
	v := p.h.ToolGate(dormouse.ToolCall(call), viewOf(state))
	switch v.Effect {
	case "":
		return nil
	case dormouse.Ask:
		return &core.Verdict{Effect: core.Ask, Reason: v.Reason, Grant: v.Grant}
	case dormouse.Deny:
		return &core.Verdict{Effect: core.Deny, Reason: v.Reason}
	case dormouse.Block:
		return &core.Verdict{Effect: core.Block, Reason: v.Reason}
	case dormouse.SetResult:
		return &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: v.Result}}
	}
	return &core.Verdict{Effect: core.Deny, Reason: "a check of this call returned an unknown verdict"}
}

// BeforeToolExecute implements [engine.BeforeToolHook].
func (p phases) BeforeToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall) (core.Effects, error) {
	if p.h.BeforeToolExecute == nil {
		return core.Effects{}, nil
	}
	refusal, err := p.h.BeforeToolExecute(ctx, runOf(req), dormouse.ToolCall(call))
	return core.Effects{Refuse: refusal}, err
}

// AfterToolExecute implements [engine.AfterToolHook].
func (p phases) AfterToolExecute(ctx context.Context, req engine.HookRequest, call core.ToolCall, out core.Outcome) (core.Effects, error) {
	if p.h.AfterToolExecute == nil {
		return core.Effects{}, nil
	}
	result := dormouse.Result{Text: out.Text, Failed: out.Failed, Waits: out.Ticket != nil}
	note, err := p.h.AfterToolExecute(ctx, runOf(req), dormouse.ToolCall(call), result)
	return core.Effects{Append: note}, err
}

// StepEnd implements [engine.StepEndHook].
func (p phases) StepEnd(ctx context.Context, req engine.HookRequest) (core.Effects, error) {
	if p.h.StepEnd == nil {
		return core.Effects{}, nil
	}
	return ending(p.h.StepEnd(ctx, runOf(req)))
}

// Stop implements [core.StopRule].
func (p phases) Stop(at core.Progress) (code, detail string, stop bool) {
	if p.h.StopRule == nil {
		return "", "", false
	}
	end := p.h.StopRule(dormouse.Progress{Steps: at.Steps, Tokens: at.Tokens, Awake: time.Duration(at.Awake) * time.Millisecond,
		FailedRounds: at.Errors, Turn: turnOf(at.Turn)})
	if end == nil {
		return "", "", false
	}
	return end.Code, end.Detail, true
}

// phasesAndEnd also implements RunEnd.
type phasesAndEnd struct{ phases }

// RunEnd implements [engine.RunEndHook].
func (p phasesAndEnd) RunEnd(ctx context.Context, req engine.HookRequest, reason core.Reason) (core.Effects, error) {
	return core.Effects{}, p.h.RunEnd(ctx, runOf(req),
		dormouse.Reason{Kind: dormouse.ReasonKind(reason.Kind.String()), Code: reason.Code, Detail: reason.Detail})
}

func runOf(req engine.HookRequest) dormouse.Run {
	return dormouse.Run{Tenant: req.Tenant, Thread: req.Thread, ID: req.Run, Step: req.Step, State: stateOf(req.State)}
}

// turnOf copies the calls, so that a hook cannot change what others see.
func turnOf(t core.Turn) dormouse.Turn {
	turn := dormouse.Turn{Text: t.Text, InputTokens: t.InputTokens, OutputTokens: t.OutputTokens}
	if t.End != nil {
		turn.CutOff = t.End.Code
	}
	turn.Calls = callsOf(t.Calls)
	return turn
}

func callsOf(calls []core.ToolCall) (copied []dormouse.ToolCall) {
	for _, c := range calls {
		c.Arguments = slices.Clone(c.Arguments)
		copied = append(copied, dormouse.ToolCall(c))
	}
	return copied
}

func viewOf(s core.State) dormouse.View {
	return dormouse.View{Run: cloned(s.Run), Thread: cloned(s.Thread)}
}

func cloned(values map[string]json.RawMessage) map[string]json.RawMessage {
	copied := make(map[string]json.RawMessage, len(values))
	for key, raw := range values {
		copied[key] = slices.Clone(raw)
	}
	return copied
}

// ending returns the effects of a phase that may end the run. If a run cannot end with the kind,
// the hook has failed and has no effect.
func ending(end *dormouse.Reason, err error) (core.Effects, error) {
	if err != nil || end == nil {
		return core.Effects{}, err
	}
	reason := core.Reason{Kind: core.BehaviorRequested, Code: end.Code, Detail: end.Detail}
	if end.Kind != "" {
		if err := reason.Kind.UnmarshalText([]byte(end.Kind)); err != nil || reason.Kind == core.Suspended {
			return core.Effects{}, fmt.Errorf("a run cannot end with the kind %q; use a dormouse.ReasonKind constant", end.Kind)
		}
	}
	return core.Effects{End: &reason}, nil
}

// millis rounds up, so that a short limit does not become no limit.
func millis(d time.Duration) int64 {
	return int64((max(0, d) + time.Millisecond - 1) / time.Millisecond)
}
