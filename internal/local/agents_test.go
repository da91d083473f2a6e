package local

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/access"
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

func veto(core.ToolCall, core.State) *core.Verdict {
	return &core.Verdict{Effect: core.Deny, Reason: "not on my watch"}
}

// results are what tools said in a run's thread.
func results(t *testing.T, s running, run wire.Run) (texts []string) {
	t.Helper()
	messages, err := s.Messages(t.Context(), run.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if m.Role == string(core.RoleTool) && !m.Pending {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func TestADefinitionWithMoreThanTheProgramHasIsNotDeployed(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed + "hooks: [careful]\nmemory: elephant\neffects:\n  - {name: tell, tools: [pay], go: tell_all}\n")
	_, err := Start(t.Context(), r.options())
	for _, want := range []string{`no hook "careful"`, `no memory "elephant"`, `no effect "tell_all"`, "agent desk"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
}

func TestASleepingRunDoesNotGoOnWithoutItsHooks(t *testing.T) {
	r, paid := countingRig(t)
	if err := r.hooks.Register(hook.Gate("careful", func(core.ToolCall, core.State) *core.Verdict { return nil })); err != nil {
		t.Fatal(err)
	}
	r.deploy(asked + "hooks: [careful]\n")
	first := r.start()
	run := first.await(t, first.begin(t).ID, "waiting")
	first.end(t)

	r.hooks = hook.NewRegistry() // a program that was built without it
	r.deploy(asked)
	second := r.start()
	if _, err := second.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	got := second.await(t, run.ID, "done")
	if paid.Load() != 0 || got.Error == nil || got.Error.Code != "agent_version_missing" {
		t.Errorf("paid %d times, run %+v", paid.Load(), got)
	}
}

func TestHooksOfTheDefinitionThenItsEffects(t *testing.T) {
	r, paid := countingRig(t)
	if err := r.hooks.Register(hook.Gate("careful", veto)); err != nil {
		t.Fatal(err)
	}
	told := func(_ context.Context, req hook.EffectRequest) (string, error) {
		return "told of " + req.Call.Name, nil
	}
	if err := r.hooks.RegisterEffect("tell_all", told); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, agent string
		paid        int64
		want        string
	}{
		{"a gate denies what the permissions allow", allowed + "hooks: [careful]\n", 0, "Not allowed: not on my watch"},
		{"an effect follows a call", allowed + "effects:\n  - {name: tell, tools: ['p*'], go: tell_all}\n", 1, "paid\ntold of pay"},
		{"C228 not one that only reads", strings.ReplaceAll(allowed, "go: pay", "go: pay, read_only: true") +
			"effects:\n  - {name: tell, tools: ['*'], go: tell_all}\n", 1, "paid"},
		{"C228 nor one that failed", allowed + "hooks: [careful]\neffects:\n  - {name: tell, tools: ['*'], go: tell_all}\n", 0, "Not allowed: not on my watch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			paid.Store(0)
			r.data = t.TempDir()
			r.deploy(tt.agent)
			s := r.start()
			defer s.end(t)
			run := s.await(t, s.begin(t).ID, "done")
			if got := results(t, s, run); len(got) != 1 || got[0] != tt.want || paid.Load() != tt.paid {
				t.Errorf("results %q, paid %d times; want %q", got, paid.Load(), tt.want)
			}
		})
	}
}

func TestAnEffectRunsItsCommandInTheWorkspaceBesideTheAgents(t *testing.T) {
	r := newRig(t, nothing)
	if err := os.Mkdir(filepath.Join(r.agents, "desk"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.deploy(allowed + "effects:\n  - {name: where, tools: [pay], command: [pwd], workspace: desk}\n")
	s := r.start()
	run := s.await(t, s.begin(t).ID, "done")
	if got := results(t, s, run); len(got) != 1 || !strings.HasSuffix(got[0], filepath.Base(r.agents)+"/desk") {
		t.Errorf("results %q", got)
	}
}

func TestTheMemoryNotesIsRecalledByTheNextRun(t *testing.T) {
	r := newRig(t, nothing)
	notes := hook.FileMemory(t.TempDir())
	if err := r.hooks.RegisterMemory("notes", notes); err != nil {
		t.Fatal(err)
	}
	r.deploy(allowed + "memory: notes\n")
	s := r.start()
	s.await(t, s.begin(t).ID, "done")
	text, err := notes.Recall(t.Context(), engine.MemoryRequest{RunRef: engine.RunRef{Tenant: access.Tenant, Run: "run_next"}, Agent: "desk"})
	if err != nil || !strings.Contains(text, "asked: pay\n  answered: Done.") {
		t.Errorf("recalled %q, %v", text, err)
	}
}

func TestAPolicyCountsForEveryAgent(t *testing.T) {
	r, paid := countingRig(t)
	r.policy = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(r.policy, []byte("ask:\n  - {tool: pay, reason: the house asks}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.deploy(allowed)
	s := r.start()
	run := s.await(t, s.begin(t).ID, "waiting")
	if p := run.Pending[0]; p.Suspension.Message != "the house asks" || paid.Load() != 0 {
		t.Errorf("paid %d times, pending %+v", paid.Load(), p)
	}
	r.policy = filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Start(t.Context(), r.options()); err == nil {
		t.Error("a policy that is not there was passed over")
	}
}

// resolver has the agent of text deployed.
func resolver(t *testing.T, r *rig, text string) (*Agents, engine.Pin) {
	t.Helper()
	r.deploy(text)
	a := NewAgents(r.store(), Program{Tools: r.tools, Hooks: r.hooks, Dir: r.agents, Clock: Clock{}})
	loaded, err := a.Deploy(t.Context(), access.Tenant)
	if err != nil || len(loaded) != 1 {
		t.Fatalf("%d agents, %v", len(loaded), err)
	}
	return a, engine.Pin{Tenant: access.Tenant, Name: "desk", Version: loaded[0].Digest()}
}

func TestPermissionsOfOneRunNarrowThatRunAlone(t *testing.T) {
	a, pin := resolver(t, newRig(t, nothing), allowed)
	call := core.ToolCall{ID: "c1", Name: "pay", Arguments: json.RawMessage(`{"amount":5}`)}
	narrowed := pin
	narrowed.Narrow = json.RawMessage(`{"deny":["pay"]}`)
	for range 2 { // the second time as it was kept
		free, err := a.Load(t.Context(), pin)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := a.Load(t.Context(), narrowed)
		if err != nil {
			t.Fatal(err)
		}
		if f, b := free.Rules.Gate(call, core.State{}).Effect, bound.Rules.Gate(call, core.State{}).Effect; f != core.Allow || b != core.Deny {
			t.Errorf("verdicts %s and %s", f, b)
		}
	}
	narrowed.Narrow = json.RawMessage(`{"denies":[]}`)
	if _, err := a.Load(t.Context(), narrowed); err == nil || errors.Is(err, engine.ErrNotFound) {
		t.Errorf("permissions nobody understands: %v", err)
	}
	if a.Narrow(narrowed.Narrow) == nil || a.Narrow(json.RawMessage(`{"deny":["pay"]}`)) != nil {
		t.Error("callers are told otherwise")
	}
}

func TestAgentsThatAreKeptReadyAreBounded(t *testing.T) {
	a, pin := resolver(t, newRig(t, nothing), allowed)
	for i := range mostKnown + 5 {
		a.keep(versions{narrow: string(core.Encode(i))}, engine.Agent{})
	}
	if _, err := a.Load(t.Context(), pin); err != nil || len(a.known) > mostKnown {
		t.Errorf("%d kept, %v", len(a.known), err)
	}
}

func TestEditedArgumentsAreHeldToTheToolAndToWhatIsRefused(t *testing.T) {
	a, pin := resolver(t, newRig(t, nothing), asked+"  deny:\n    - {tool: pay, when: {argument: amount, above: 10}, reason: too much}\n")
	for _, tt := range []struct{ name, tool, arguments, version, want string }{
		{"what is asked for is not refused", "pay", `{"amount":7}`, pin.Version, ""},
		{"what is denied", "pay", `{"amount":11}`, pin.Version, "too much"},
		{"what does not fit", "pay", `{"amount":"x"}`, pin.Version, "amount"},
		{"a tool that is not there", "play", `{}`, pin.Version, "the tool does not exist"},
		{"a version that is not there", "pay", `{"amount":7}`, "sha256:gone", "cannot be used any more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := a.Check(t.Context(), access.Tenant, core.Record{Agent: "desk", Version: tt.version},
				core.ToolCall{ID: "c1", Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestWhatIsMissingIsToldWithWhatThereIs(t *testing.T) {
	r := newRig(t, nothing)
	if err := r.hooks.RegisterMemory("notes", hook.FileMemory(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	a := NewAgents(nil, Program{Tools: r.tools, Hooks: r.hooks})
	d, err := agent.Parse("a.yaml", []byte(strings.ReplaceAll(allowed, "go: pay", "go: pya")+"hooks: [gate]\nmemory: note\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := a.check([]agent.Definition{d})
	for _, want := range []string{`no function "pya"; name one it has (pay), or`, `no memory "note"; name one it has (notes), or`, `no hook "gate"; remove the name, or`} {
		if wrong == nil || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%v, want %s", wrong, want)
		}
	}
}
