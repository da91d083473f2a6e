package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

func veto(core.ToolCall, core.State) *core.Verdict {
	return &core.Verdict{Effect: core.Deny, Reason: "not on my watch"}
}

// results are what tools said in a run's thread.
func results(t *testing.T, s running, run wire.Run) (texts []string) {
	t.Helper()
	messages, err := client.Collect(s.Messages(t.Context(), run.ThreadID, client.MessageOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if m.Role == string(core.RoleTool) && !m.Pending {
			texts = append(texts, m.Text+core.AddedToResult(m.RanWith, m.Added))
		}
	}
	return texts
}

func TestADefinitionWithMoreThanTheProgramHasIsNotDeployed(t *testing.T) {
	r := newRig(t, nothing)
	r.deploy(allowed + "hooks: [careful]\nmemory: elephant\neffects:\n  - {name: tell, tools: [pay], go: tell_all}\n")
	o := r.options()
	o.Strict = true
	_, err := Start(t.Context(), o)
	for _, want := range []string{`no hook "careful"`, `no memory "elephant"`, `no effect "tell_all"`, "agent desk"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
}

func TestASleepingRunDoesNotGoOnWithoutItsHooks(t *testing.T) {
	r, paid := countingRig(t)
	if err := r.hooks.Register(gate{"careful", func(core.ToolCall, core.State) *core.Verdict { return nil }}); err != nil {
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
	if err := r.hooks.Register(gate{"careful", veto}); err != nil {
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
	strict := r.options()
	strict.Strict = true
	if _, err := Start(t.Context(), strict); err == nil || !strings.Contains(err.Error(), `agent desk: the effect "where" runs the command pwd on the server's machine, `+
		"but the operator does not allow commands; allow them with --allow-commands, or remove the effect") {
		t.Fatalf("without the operator's leave: %v", err)
	}
	o := r.options()
	o.Commands = true
	s := r.startWith(o)
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
	text, err := notes.Recall(t.Context(), engine.MemoryRequest{RunRef: engine.RunRef{Tenant: access.Tenant, Run: "run_next", Agent: "desk"}})
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

// gate is a hook that judges calls by a function.
type gate struct {
	name  string
	judge func(core.ToolCall, core.State) *core.Verdict
}

func (g gate) Name() string { return g.name }

func (g gate) ToolGate(call core.ToolCall, state core.State) *core.Verdict {
	return g.judge(call, state)
}
