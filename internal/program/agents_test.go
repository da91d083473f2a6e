package program

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// desk is an agent with one tool; what a test says of the tool's permission is put behind it.
const desk = `
name: desk
model:
  provider: scripted
  turns:
    - given: {tool: pay}
      say: Done.
tools:
  - {name: pay, description: Pays., go: pay}
permissions:
`

const (
	allowed = desk + "  allow: [pay]\n"
	asked   = desk + "  ask: [pay]\n"
)

// payer is the tools of a program that can pay.
func payer(t *testing.T) *tool.Registry {
	t.Helper()
	type amount struct {
		Amount int `json:"amount"`
	}
	tools := tool.NewRegistry(nil)
	pay := tool.Func("pay", "Pays.", func(context.Context, tool.Call, amount) (any, error) { return "paid", nil })
	if err := tools.Register(pay); err != nil {
		t.Fatal(err)
	}
	return tools
}

// resolver has the agent of text deployed.
func resolver(t *testing.T, text string) (*Agents, engine.Pin) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "desk.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := NewAgents(db, Program{Tools: payer(t), Hooks: hook.NewRegistry(), Dir: dir, Clock: machine.Clock{}})
	loaded, err := a.Deploy(t.Context(), access.Tenant)
	if err != nil || len(loaded) != 1 {
		t.Fatalf("%d agents, %v", len(loaded), err)
	}
	return a, engine.Pin{Tenant: access.Tenant, Name: "desk", Version: loaded[0].Digest()}
}

func TestPermissionsOfOneRunNarrowThatRunAlone(t *testing.T) {
	a, pin := resolver(t, allowed)
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
	a, pin := resolver(t, allowed)
	for i := range mostKnown + 5 {
		a.keep(versions{narrow: string(core.Encode(i))}, engine.Agent{})
	}
	if _, err := a.Load(t.Context(), pin); err != nil || len(a.known) > mostKnown {
		t.Errorf("%d kept, %v", len(a.known), err)
	}
}

func TestEditedArgumentsAreHeldToTheToolAndToWhatIsRefused(t *testing.T) {
	a, pin := resolver(t, asked+"  deny:\n    - {tool: pay, when: {argument: amount, above: 10}, reason: too much}\n")
	for _, tt := range []struct{ name, tool, arguments, version, want string }{
		{"what is asked for is not refused", "pay", `{"amount":7}`, pin.Version, ""},
		{"what is denied", "pay", `{"amount":11}`, pin.Version, "too much"},
		{"what does not fit", "pay", `{"amount":"x"}`, pin.Version, "amount"},
		{"a tool that is not there", "play", `{}`, pin.Version, "the tool no longer exists"},
		{"a version that is not there", "pay", `{"amount":7}`, "sha256:gone", "no longer available"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := a.Check(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: tt.version},
				core.ToolCall{ID: "c1", Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestEditedArgumentsKeepWhomTheirRulesBar(t *testing.T) {
	a, pin := resolver(t, desk+"  ask:\n    - pay\n    - {tool: pay, when: {argument: amount, above: 10}, not_by: starter}\n")
	for arguments, want := range map[string]string{`{"amount":7}`: "", `{"amount":11}`: core.NotByStarter} {
		notBy, err := a.Check(t.Context(), engine.Pin{Tenant: access.Tenant, Name: "desk", Version: pin.Version},
			core.ToolCall{ID: "c1", Name: "pay", Arguments: json.RawMessage(arguments)})
		if err != nil || notBy != want {
			t.Errorf("%s: %q, %v", arguments, notBy, err)
		}
	}
}

func TestWhatIsMissingIsToldWithWhatThereIs(t *testing.T) {
	hooks := hook.NewRegistry()
	if err := hooks.RegisterMemory("notes", hook.FileMemory(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	a := NewAgents(nil, Program{Tools: payer(t), Hooks: hooks})
	d, err := agentfile.Parse("a.yaml", []byte(strings.ReplaceAll(allowed, "go: pay", "go: pya")+"hooks: [gate]\nmemory: note\n"), nil)
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
