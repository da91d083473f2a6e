package engine

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// Hook takes part in the runs of an agent: it implements one or more of the interfaces below, one
// for each [core.Phase]. It returns [core.Effects], which documents the members that apply to each
// phase. Its writes to the request's state become visible to others after the phase. After a crash
// a hook is called again unless its effects were committed: the effects count once, so external
// side effects must be idempotent.
//
// A hook's error is journaled and the run continues without its effects. An error of a
// BeforeToolHook refuses the call, and a panic in a ToolGateHook denies it. The hooks of one phase
// are isolated from each other, both in their writes and in their failures.
type Hook interface {
	// Name is what definitions call it, and what the journal says of its failures.
	Name() string
}

// HookRequest is what a hook may know.
type HookRequest struct {
	Tenant, Thread, Run string
	Step                int // counted from 1; 0 before the first
	State               *pad.Pad
}

// RunStartHook is called once per run, before anything else.
type RunStartHook interface {
	RunStart(ctx context.Context, req HookRequest) (core.Effects, error)
}

// StepStartHook is called before each model call; not when a round is gone on with.
type StepStartHook interface {
	StepStart(ctx context.Context, req HookRequest) (core.Effects, error)
}

// BeforeInferenceHook shapes the request, or ends the run without it.
type BeforeInferenceHook interface {
	BeforeInference(ctx context.Context, req HookRequest) (core.Effects, error)
}

// AfterInferenceHook sees a turn before it is committed. It may drop calls or end the run.
type AfterInferenceHook interface {
	AfterInference(ctx context.Context, req HookRequest, turn core.Turn) (core.Effects, error)
}

// ToolGateHook says whether a call may run; nil for no opinion. Pure: the same call and state, the
// same verdict, which is remembered ([plans.GateMemo]). It can only be stricter than the
// permissions.
type ToolGateHook interface {
	ToolGate(call core.ToolCall, state core.State) *core.Verdict
}

// BeforeToolHook is called for a call whose body is about to run, and for no other.
type BeforeToolHook interface {
	BeforeToolExecute(ctx context.Context, req HookRequest, call core.ToolCall) (core.Effects, error)
}

// AfterToolHook is called for each call that has an outcome, whether its body ran or not.
type AfterToolHook interface {
	AfterToolExecute(ctx context.Context, req HookRequest, call core.ToolCall, out core.Outcome) (core.Effects, error)
}

// StepEndHook is called after the round of a step, also when the round has to wait; not again when
// it is gone on with.
type StepEndHook interface {
	StepEnd(ctx context.Context, req HookRequest) (core.Effects, error)
}

// RunEndHook is called once per run, when its end is committed and before it is done.
type RunEndHook interface {
	RunEnd(ctx context.Context, req HookRequest, reason core.Reason) (core.Effects, error)
}

// A hook that is a [core.StopRule] is asked after the rules of the definition.

// Memory is what an agent remembers between runs. Best effort: a failure is journaled and nothing
// else.
type Memory interface {
	// Recall returns text for the model, before the first step of a run; "" for nothing.
	Recall(ctx context.Context, req MemoryRequest) (string, error)

	// Commit is given the conversation after a run that ended by itself. It may be called twice
	// for one run.
	Commit(ctx context.Context, req MemoryRequest) error
}

// MemoryRequest is a run and the conversation so far.
type MemoryRequest struct {
	RunRef
	Messages []core.Message
}
