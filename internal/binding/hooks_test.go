package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

// registered is h as the engine has it.
func registered(t *testing.T, h dormouse.Hook) engine.Hook {
	t.Helper()
	h.Name = "h"
	_, hooks, err := bound(dormouse.Program{Hooks: []dormouse.Hook{h}})
	if err != nil {
		t.Fatal(err)
	}
	made, _ := hooks.Hook("h")
	return made
}

var ends = &dormouse.Reason{Kind: dormouse.Blocked, Code: "c", Detail: "d"}

func TestEachPhaseWantsWhatItsFunctionSays(t *testing.T) {
	blocked := &core.Reason{Kind: core.Blocked, Code: "c", Detail: "d"}
	call, out := core.ToolCall{ID: "c1", Name: "order", Arguments: json.RawMessage(`{"n":1}`)}, core.Outcome{Text: "done"}
	seen := func(call dormouse.ToolCall) string { return call.ID + " " + call.Name + " " + string(call.Arguments) }
	h := dormouse.Hook{
		RunStart: func(_ context.Context, run dormouse.Run) (dormouse.Opening, error) {
			return dormouse.Opening{End: ends, Wait: &dormouse.Suspend{Action: run.Tenant + run.Thread + run.ID, Message: "m", Within: time.Second}}, nil
		},
		StepStart: func(_ context.Context, run dormouse.Run) (*dormouse.Reason, error) { return ends, nil },
		BeforeInference: func(context.Context, dormouse.Run) (dormouse.Request, error) {
			return dormouse.Request{Context: []dormouse.Context{{Key: "k", Text: "t", Cooldown: 3}}, Instructions: "i",
				Parameters: map[string]any{"p": 1}, Only: []string{"a"}, Without: []string{"b"}, End: ends}, nil
		},
		AfterInference: func(_ context.Context, _ dormouse.Run, turn dormouse.Turn) (dormouse.Review, error) {
			return dormouse.Review{Drop: []string{turn.Calls[0].ID, turn.Text}, End: ends}, nil
		},
		BeforeToolExecute: func(_ context.Context, _ dormouse.Run, call dormouse.ToolCall) (string, error) {
			return seen(call), nil
		},
		AfterToolExecute: func(_ context.Context, _ dormouse.Run, call dormouse.ToolCall, r dormouse.Result) (string, error) {
			return seen(call) + " " + r.Text, nil
		},
		StepEnd: func(context.Context, dormouse.Run) (*dormouse.Reason, error) { return ends, nil },
		RunEnd: func(_ context.Context, run dormouse.Run, end dormouse.Reason) error {
			return run.State.Run.Set("end", string(end.Kind)+end.Code+end.Detail)
		},
	}
	made := registered(t, h)
	req := engine.HookRequest{Tenant: "a", Thread: "b", Run: "c", Step: 2, State: pad.New(core.State{})}
	for phase, tt := range map[core.Phase]struct {
		call func() (core.Effects, error)
		want core.Effects
	}{
		core.RunStart: {func() (core.Effects, error) { return made.(engine.RunStartHook).RunStart(t.Context(), req) },
			core.Effects{End: blocked, Wait: &core.SuspendTicket{Suspension: core.Suspension{Action: "abc", Message: "m"}, Within: 1000}}},
		core.StepStart: {func() (core.Effects, error) { return made.(engine.StepStartHook).StepStart(t.Context(), req) }, core.Effects{End: blocked}},
		core.BeforeInference: {func() (core.Effects, error) {
			return made.(engine.BeforeInferenceHook).BeforeInference(t.Context(), req)
		},
			core.Effects{Context: []core.ContextMessage{{Key: "k", Text: "t", Cooldown: 3}}, End: blocked, Include: []string{"a"}, Exclude: []string{"b"},
				Override: &core.Override{Instructions: "i", Parameters: map[string]any{"p": 1}}}},
		core.AfterInference: {func() (core.Effects, error) {
			return made.(engine.AfterInferenceHook).AfterInference(t.Context(), req, core.Turn{Text: "said", Calls: []core.ToolCall{call}})
		}, core.Effects{Drop: []string{"c1", "said"}, End: blocked}},
		core.BeforeToolExecute: {func() (core.Effects, error) {
			return made.(engine.BeforeToolHook).BeforeToolExecute(t.Context(), req, call)
		},
			core.Effects{Refuse: `c1 order {"n":1}`}},
		core.AfterToolExecute: {func() (core.Effects, error) {
			return made.(engine.AfterToolHook).AfterToolExecute(t.Context(), req, call, out)
		},
			core.Effects{Append: `c1 order {"n":1} done`}},
		core.StepEnd: {func() (core.Effects, error) { return made.(engine.StepEndHook).StepEnd(t.Context(), req) }, core.Effects{End: blocked}},
		core.RunEnd:  {func() (core.Effects, error) { return made.(engine.RunEndHook).RunEnd(t.Context(), req, *blocked) }, core.Effects{}},
	} {
		got, err := tt.call()
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", phase, err, diff)
		}
	}
	if end := string(req.State.Get(core.RunScope, "end")); end != `"blockedcd"` {
		t.Errorf("the end of the run: %s", end)
	}
}

// A hook with one function wants nothing of the other phases, and is not there for the last, which
// costs a commit.
func TestAHookIsSilentWhereItHasNoFunction(t *testing.T) {
	made := registered(t, dormouse.Hook{StopRule: func(dormouse.Progress) *dormouse.Reason { return nil }})
	if _, ends := made.(engine.RunEndHook); ends {
		t.Error("it takes part in the end of runs")
	}
	req := engine.HookRequest{}
	for phase, call := range map[core.Phase]func() (core.Effects, error){
		core.RunStart:  func() (core.Effects, error) { return made.(engine.RunStartHook).RunStart(t.Context(), req) },
		core.StepStart: func() (core.Effects, error) { return made.(engine.StepStartHook).StepStart(t.Context(), req) },
		core.BeforeInference: func() (core.Effects, error) {
			return made.(engine.BeforeInferenceHook).BeforeInference(t.Context(), req)
		},
		core.AfterInference: func() (core.Effects, error) {
			return made.(engine.AfterInferenceHook).AfterInference(t.Context(), req, core.Turn{})
		},
		core.BeforeToolExecute: func() (core.Effects, error) {
			return made.(engine.BeforeToolHook).BeforeToolExecute(t.Context(), req, core.ToolCall{})
		},
		core.AfterToolExecute: func() (core.Effects, error) {
			return made.(engine.AfterToolHook).AfterToolExecute(t.Context(), req, core.ToolCall{}, core.Outcome{})
		},
		core.StepEnd: func() (core.Effects, error) { return made.(engine.StepEndHook).StepEnd(t.Context(), req) },
	} {
		if got, err := call(); err != nil || !cmp.Equal(got, core.Effects{}) {
			t.Errorf("%s: %+v, %v", phase, got, err)
		}
	}
	if v := made.(engine.ToolGateHook).ToolGate(core.ToolCall{}, core.State{}); v != nil {
		t.Errorf("a verdict without a gate: %+v", v)
	}
	other := registered(t, dormouse.Hook{StepEnd: func(context.Context, dormouse.Run) (*dormouse.Reason, error) { return nil, nil }})
	if code, _, stop := other.(core.StopRule).Stop(core.Progress{}); stop {
		t.Errorf("stopped without a rule: %s", code)
	}
}

func TestVerdictsAreThoseOfTheGate(t *testing.T) {
	for _, tt := range []struct {
		said dormouse.Verdict
		want *core.Verdict
	}{
		{dormouse.Verdict{}, nil},
		{dormouse.Verdict{Effect: dormouse.Ask, Reason: "r", Grant: "g"}, &core.Verdict{Effect: core.Ask, Reason: "r", Grant: "g"}},
		{dormouse.Verdict{Effect: dormouse.Deny, Reason: "r"}, &core.Verdict{Effect: core.Deny, Reason: "r"}},
		{dormouse.Verdict{Effect: dormouse.Block, Reason: "r"}, &core.Verdict{Effect: core.Block, Reason: "r"}},
		{dormouse.Verdict{Effect: dormouse.SetResult, Result: "x"}, &core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "x"}}},
		{dormouse.Verdict{Effect: "allow"}, &core.Verdict{Effect: core.Deny, Reason: "a check of this call returned an unknown verdict"}},
	} {
		state := core.State{Run: map[string]json.RawMessage{"k": json.RawMessage(`1`)}, Thread: map[string]json.RawMessage{}}
		made := registered(t, dormouse.Hook{ToolGate: func(_ dormouse.ToolCall, v dormouse.View) dormouse.Verdict {
			if string(v.Run["k"]) != "1" || v.Thread["k"] != nil {
				t.Errorf("the gate sees %v", v)
			}
			// it is the gate's own
			v.Run["k"][0], v.Thread["x"] = '9', json.RawMessage(`1`)
			return tt.said
		}})
		if diff := cmp.Diff(tt.want, made.(engine.ToolGateHook).ToolGate(core.ToolCall{}, state)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.said, diff)
		}
		if string(state.Run["k"]) != "1" || len(state.Thread) != 0 {
			t.Errorf("the gate changed the state: %v", state)
		}
	}
}

func TestAnEndThatIsNoneIsTheHooksMistake(t *testing.T) {
	for _, kind := range []dormouse.ReasonKind{"suspended", "over", " "} {
		made := registered(t, dormouse.Hook{StepEnd: func(context.Context, dormouse.Run) (*dormouse.Reason, error) {
			return &dormouse.Reason{Kind: kind}, nil
		}})
		if e, err := made.(engine.StepEndHook).StepEnd(t.Context(), engine.HookRequest{}); err == nil || e.End != nil {
			t.Errorf("%q: %+v, %v", kind, e, err)
		}
	}
	made := registered(t, dormouse.Hook{StepEnd: func(context.Context, dormouse.Run) (*dormouse.Reason, error) { return &dormouse.Reason{}, nil }})
	if e, err := made.(engine.StepEndHook).StepEnd(t.Context(), engine.HookRequest{}); err != nil || e.End.Kind != core.BehaviorRequested {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAnErrorOfAHookComesAlone(t *testing.T) {
	failed := errors.New("failed")
	made := registered(t, dormouse.Hook{
		RunStart: func(context.Context, dormouse.Run) (dormouse.Opening, error) {
			return dormouse.Opening{End: ends}, failed
		},
		StepStart: func(context.Context, dormouse.Run) (*dormouse.Reason, error) { return ends, failed },
		BeforeInference: func(context.Context, dormouse.Run) (dormouse.Request, error) {
			return dormouse.Request{End: ends}, failed
		},
		AfterInference: func(context.Context, dormouse.Run, dormouse.Turn) (dormouse.Review, error) {
			return dormouse.Review{End: ends}, failed
		},
	})
	req := engine.HookRequest{}
	for i, call := range []func() (core.Effects, error){
		func() (core.Effects, error) { return made.(engine.RunStartHook).RunStart(t.Context(), req) },
		func() (core.Effects, error) { return made.(engine.StepStartHook).StepStart(t.Context(), req) },
		func() (core.Effects, error) {
			return made.(engine.BeforeInferenceHook).BeforeInference(t.Context(), req)
		},
		func() (core.Effects, error) {
			return made.(engine.AfterInferenceHook).AfterInference(t.Context(), req, core.Turn{})
		},
	} {
		if e, err := call(); !errors.Is(err, failed) || e.End != nil {
			t.Errorf("%d: %+v, %v", i, e, err)
		}
	}
}

func TestAStopRuleSeesTheProgressOfTheRun(t *testing.T) {
	made := registered(t, dormouse.Hook{StopRule: func(p dormouse.Progress) *dormouse.Reason {
		want := dormouse.Progress{Steps: 2, Tokens: 30, Awake: 4 * time.Second, FailedRounds: 1,
			Turn: dormouse.Turn{Text: "t", Calls: []dormouse.ToolCall{{ID: "c1"}}, InputTokens: 5, OutputTokens: 6, CutOff: "max_tokens"}}
		return &dormouse.Reason{Code: "c", Detail: cmp.Diff(want, p)}
	}})
	code, detail, stop := made.(core.StopRule).Stop(core.Progress{Steps: 2, Tokens: 30, Awake: 4000, Errors: 1,
		Turn: core.Turn{Text: "t", Calls: []core.ToolCall{{ID: "c1"}}, InputTokens: 5, OutputTokens: 6,
			End: &core.Reason{Kind: core.Stopped, Code: "max_tokens"}}})
	if code != "c" || detail != "" || !stop {
		t.Errorf("%s %v (-want +got):\n%s", code, stop, detail)
	}
}

func TestEffectsAndMemoriesSeeWhatTheyFollow(t *testing.T) {
	var done dormouse.Done
	var talk dormouse.Conversation
	_, hooks, err := bound(dormouse.Program{
		Effects: []dormouse.Effect{{Name: "e", Run: func(_ context.Context, d dormouse.Done) (string, error) {
			done = d
			done.State = dormouse.State{}
			return "said", nil
		}}},
		Memories: []dormouse.Memory{{Name: "m", Commit: func(_ context.Context, c dormouse.Conversation) error { talk = c; return nil }},
			{Name: "n", Recall: func(_ context.Context, c dormouse.Conversation) (string, error) { return "known of " + c.Agent, nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	effect, _ := hooks.Effect("e")
	text, err := effect(t.Context(), hook.EffectRequest{Tenant: "a", Thread: "b", Run: "c", Call: core.ToolCall{ID: "c1", Name: "n"}, Result: "r"})
	followed := dormouse.Done{Tenant: "a", Thread: "b", Run: "c", Call: dormouse.ToolCall{ID: "c1", Name: "n"}, Result: "r"}
	if diff := cmp.Diff(followed, done); diff != "" || err != nil || text != "said" {
		t.Errorf("%q, %v (-want +got):\n%s", text, err, diff)
	}
	m, _ := hooks.Memory("m")
	n, _ := hooks.Memory("n")
	req := engine.MemoryRequest{RunRef: engine.RunRef{Tenant: "a", Thread: "b", Run: "c", Agent: "d"}, Messages: []core.Message{
		{Role: core.RoleUser, Parts: core.TextParts("hi"), RunID: "c"},
		{Role: core.RoleAssistant, Calls: []core.ToolCall{{ID: "c1"}}},
		{Role: core.RoleTool, CallID: "c1", Tool: "n", Error: true, Parts: core.TextParts("no")}}}
	recalled, err := n.Recall(t.Context(), req)
	if nothing, wrong := m.Recall(t.Context(), req); nothing != "" || wrong != nil || err != nil || !strings.HasSuffix(recalled, " d") {
		t.Errorf("recalled %q and %q, %v, %v", nothing, recalled, wrong, err)
	}
	if err := errors.Join(m.Commit(t.Context(), req), n.Commit(t.Context(), req)); err != nil {
		t.Error(err)
	}
	want := dormouse.Conversation{Tenant: "a", Thread: "b", Run: "c", Agent: "d", Messages: []dormouse.Message{
		{Role: dormouse.RoleUser, Run: "c", Text: "hi"},
		{Role: dormouse.RoleAssistant, Calls: []dormouse.ToolCall{{ID: "c1"}}},
		{Role: dormouse.RoleTool, Text: "no", Tool: "n", CallID: "c1", Failed: true}}}
	if diff := cmp.Diff(want, talk); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}
