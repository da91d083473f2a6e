package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// bound registers a program.
func bound(p dormouse.Program) (*tool.Registry, *hook.Registry, error) {
	b, tools, hooks := binding.New(p), tool.NewRegistry(nil), hook.NewRegistry()
	return tools, hooks, errors.Join(b.Tools(tools, "data"), b.Hooks(hooks, "data"))
}

// body is a tool whose function is f.
func body(f func(call dormouse.Call) (any, error)) dormouse.Tool {
	return dormouse.Func("t", "", func(_ context.Context, call dormouse.Call, _ struct{}) (any, error) { return f(call) })
}

// run runs the body of the tool t.
func run(t *testing.T, made dormouse.Tool, req engine.ToolRequest) core.Outcome {
	t.Helper()
	tools, _, err := bound(dormouse.Program{Tools: []dormouse.Tool{made}})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := tools.Lookup("t")
	out, err := f.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACallHasAllThatIsKnownOfIt(t *testing.T) {
	req := engine.ToolRequest{Tenant: "tenant", Thread: "thread", Run: "run", Call: core.ToolCall{ID: "c1", Name: "order", Arguments: json.RawMessage(`{}`)},
		Key: "key", Epoch: 7, Again: true, Resume: &core.Resume{Result: json.RawMessage(`"yes"`), Reason: "why"},
		State: pad.New(core.State{Thread: map[string]json.RawMessage{"k": json.RawMessage(`1`)}})}
	var got dormouse.Call
	var k json.RawMessage
	run(t, body(func(call dormouse.Call) (any, error) {
		got, k = call, call.State.Thread.Get("k")
		call.State.Run.Add("n", 2)
		return nil, call.State.Thread.Set("k", 3)
	}), req)
	got.State, got.Scratch = dormouse.State{}, nil
	got.OnProgress(nil)
	want := dormouse.Call{Tenant: "tenant", Thread: "thread", Run: "run", ID: "c1", Name: "order", Arguments: json.RawMessage(`{}`), Key: "key", Epoch: 7,
		Again: true, Answer: &dormouse.Answer{Value: json.RawMessage(`"yes"`), Reason: "why"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(dormouse.Call{})); diff != "" || string(k) != "1" {
		t.Errorf("the state has %s, and the call (-want +got):\n%s", k, diff)
	}
	wrote := []core.StateOp{{Key: "n", Op: core.StateAdd, Value: json.RawMessage(`2`)}, {Scope: core.ThreadScope, Key: "k", Value: json.RawMessage(`3`)}}
	if diff := cmp.Diff(wrote, req.State.Ops()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestABodySuspendsAsItSays(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		mode core.ResumeMode
	}{
		{"to run again", dormouse.Suspend{}, core.ReplayToolCall},
		{"to run again, said in full", dormouse.Suspend{Then: dormouse.RunAgain}, core.ReplayToolCall},
		{"to be handed the answer", dormouse.Suspend{Then: dormouse.HandAnswer}, core.PassDecisionToTool},
		{"to have the answer as its result", &dormouse.Suspend{Then: dormouse.TakeAnswer}, core.UseDecisionAsToolResult},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := run(t, body(func(dormouse.Call) (any, error) { return nil, tt.err }), engine.ToolRequest{})
			if out.Ticket == nil || out.Ticket.ResumeMode != tt.mode {
				t.Errorf("the outcome is %+v", out)
			}
		})
	}
	wait := dormouse.Suspend{Action: "a", Message: "m", Schema: json.RawMessage(`{}`), Then: dormouse.HandAnswer, Within: 1500 * time.Microsecond}
	out := run(t, body(func(dormouse.Call) (any, error) { return nil, wait }), engine.ToolRequest{})
	want := core.Suspension{Action: "a", Message: "m", ResponseSchema: json.RawMessage(`{}`)}
	if diff := cmp.Diff(want, out.Ticket.Suspension); diff != "" || out.Ticket.Within != 2 {
		t.Errorf("within %d ms (-want +got):\n%s", out.Ticket.Within, diff)
	}
}

// What a misspelt Then would do to the answer nobody could tell.
func TestAWaitThatDoesNotSayWhatForFails(t *testing.T) {
	out := run(t, body(func(dormouse.Call) (any, error) { return nil, dormouse.Suspend{Then: "handanswer"} }), engine.ToolRequest{})
	if out.Ticket != nil || !out.Failed || !strings.Contains(out.Text, "handanswer") {
		t.Errorf("the outcome is %+v", out)
	}
}

func TestPromisesAreThoseOfTheTool(t *testing.T) {
	for _, tt := range []struct {
		promises []dormouse.Promise
		delivery core.Delivery
		readOnly bool
		wrong    string
	}{
		{nil, core.DeliveryDefault, false, ""},
		{[]dormouse.Promise{dormouse.AtMostOnce}, core.AtMostOnce, false, ""},
		{[]dormouse.Promise{dormouse.Idempotent}, core.AtLeastOnce, false, ""},
		{[]dormouse.Promise{dormouse.ReadOnly}, core.DeliveryDefault, true, ""},
		{[]dormouse.Promise{dormouse.AtMostOnce, dormouse.Idempotent}, 0, false, "remove one"},
		{[]dormouse.Promise{"once"}, 0, false, "has the unknown promise"},
	} {
		made := body(func(dormouse.Call) (any, error) { return nil, nil })
		made.Promises = tt.promises
		tools, _, err := bound(dormouse.Program{Tools: []dormouse.Tool{made}})
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%v: %v", tt.promises, err)
			}
			continue
		}
		if spec := tools.Specs()["t"]; err != nil || spec.Delivery != tt.delivery || spec.ReadOnly != tt.readOnly {
			t.Errorf("%v: %+v, %v", tt.promises, spec, err)
		}
	}
}

func TestWhatIsWrongWithAProgramIsSaid(t *testing.T) {
	fine := body(func(dormouse.Call) (any, error) { return nil, nil })
	end := func(context.Context, dormouse.Run, dormouse.Reason) error { return nil }
	for wrong, p := range map[string]dormouse.Program{
		"a tool has no name":            {Tools: []dormouse.Tool{{Run: fine.Run, Parameters: fine.Parameters}}},
		`the tool "t" has no Run`:       {Tools: []dormouse.Tool{{Name: "t", Parameters: fine.Parameters}}},
		`the Parameters of the tool`:    {Tools: []dormouse.Tool{{Name: "t", Run: fine.Run, Parameters: json.RawMessage(`{"type":"string"}`)}}},
		`"t" is registered twice`:       {Tools: []dormouse.Tool{fine, fine}},
		`no function for any phase`:     {Hooks: []dormouse.Hook{{Name: "h"}}},
		`a hook needs a name`:           {Hooks: []dormouse.Hook{{RunEnd: end}}},
		`the effect "e" has no Run`:     {Effects: []dormouse.Effect{{Name: "e"}}},
		`has neither Recall nor Commit`: {Memories: []dormouse.Memory{{Name: "m"}}},
		`the disk is gone`:              {Open: func(string) (dormouse.Program, error) { return dormouse.Program{}, errors.New("the disk is gone") }},
		`has an Open itself`: {Open: func(string) (dormouse.Program, error) {
			return dormouse.Program{Open: dormouse.Program{}.Open, Version: "x"}, nil
		}},
		`the hook "h" is registered tw`: {Hooks: []dormouse.Hook{{Name: "h", RunEnd: end}, {Name: "h", RunEnd: end}}},
	} {
		if wrong == `has an Open itself` {
			p.Open = func(string) (dormouse.Program, error) { return dormouse.Program{Open: p.Open}, nil }
		}
		if _, _, err := bound(p); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("want %q: %v", wrong, err)
		} else if strings.HasPrefix(err.Error(), "dormouse: ") {
			// The program itself puts that prefix before every error.
			t.Errorf("the command would say it twice: %v", err)
		}
	}
}

func TestAProgramIsOpenedOncePerDirectory(t *testing.T) {
	var opened []string
	b := binding.New(dormouse.Program{Open: func(data string) (dormouse.Program, error) {
		opened = append(opened, data)
		return dormouse.Program{Tools: []dormouse.Tool{body(func(dormouse.Call) (any, error) { return data, nil })}}, nil
	}})
	for _, data := range []string{"one", "two", "one"} {
		tools := tool.NewRegistry(nil)
		if err := errors.Join(b.Tools(tools, data), b.Hooks(hook.NewRegistry(), data)); err != nil {
			t.Fatal(err)
		}
		f, _ := tools.Lookup("t")
		if out, err := f.Run(t.Context(), engine.ToolRequest{}); out.Text != data {
			t.Errorf("%s: %+v, %v", data, out, err)
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
}

func TestThePublicNameOfTheClientsStateIsTheEngines(t *testing.T) {
	if dormouse.ClientState != supplied.StateKey {
		t.Errorf("%q and %q", dormouse.ClientState, supplied.StateKey)
	}
}
