package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

type refund struct {
	Order  string      `json:"order" jsonschema:"the order's number"`
	Amount json.Number `json:"amount"`
	Note   string      `json:"note,omitempty"`
}

func refundTool(f func(context.Context, tool.Call, refund) (any, error), opts ...tool.Option) tool.Function {
	return tool.Func("refund", "Pays money back.", f, opts...)
}

func request(args string) engine.ToolRequest {
	return engine.ToolRequest{Tenant: "t", Thread: "thr_1", Run: "run_1_1", Key: "run_1_1:c1:0", Epoch: 7,
		Call: core.ToolCall{ID: "c1", Name: "refund", Arguments: json.RawMessage(args)}}
}

func TestSchemaIsDerivedFromTheArguments(t *testing.T) {
	spec := refundTool(nil, tool.Idempotent()).Spec()
	const want = `{"type":"object","properties":{"order":{"type":"string","description":"the order's number"},"amount":{"type":"number"},` +
		`"note":{"type":"string"}},"required":["order","amount"],"additionalProperties":false}`
	if got, err := core.Canonical(spec.Parameters); err != nil || string(got) != canonical(t, want) {
		t.Errorf("schema %s, %v", spec.Parameters, err)
	}
	if spec.Name != "refund" || spec.Description != "Pays money back." || spec.Delivery != core.AtLeastOnce {
		t.Errorf("spec %+v", spec)
	}
	if d := refundTool(nil, tool.AtMostOnce()).Spec().Delivery; d != core.AtMostOnce {
		t.Errorf("delivery %v", d)
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	raw, err := core.Canonical(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestArgumentsWithoutASchemaAreAMistakeOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	tool.Func("bad", "", func(context.Context, tool.Call, int) (any, error) { return nil, nil })
}

func TestBodySeesItsCall(t *testing.T) {
	var got tool.Call
	var args refund
	f := refundTool(func(_ context.Context, c tool.Call, a refund) (any, error) {
		got, args = c, a
		return nil, nil
	})
	req := request(`{"order":"A-17","amount":123456789012345678901234567890.10}`)
	req.Resume = &core.Resume{DecisionID: "d1", Action: core.ActionResume}
	req.State = pad.New(core.State{})
	if _, err := f.Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	want := tool.Call{Tenant: "t", Thread: "thr_1", Run: "run_1_1", ID: "c1", Name: "refund", Arguments: req.Call.Arguments,
		Key: "run_1_1:c1:0", Epoch: 7, Resume: req.Resume, State: req.State}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *pad.Pad) bool { return a == b })); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	if args.Order != "A-17" || args.Amount != "123456789012345678901234567890.10" {
		t.Errorf("a digit was lost: %+v", args)
	}
}

func TestOutcome(t *testing.T) {
	tests := []struct {
		name   string
		args   string
		result any
		err    error
		want   core.Outcome
	}{
		{"text as it is", "", "paid <back> & done", nil, core.Outcome{Text: "paid <back> & done"}},
		{"anything else as JSON", "", map[string]any{"paid": 12.5, "by": "<me>"}, nil, core.Outcome{Text: `{"by":"<me>","paid":12.5}`, Value: json.RawMessage(`{"by":"<me>","paid":12.5}`)}},
		{"nothing as nothing", "", nil, nil, core.Outcome{}},
		{"bytes that are not text", "", "a\xffb", nil, core.Outcome{Text: "a\uFFFDb"}},
		{"an error as a failure", "", nil, errors.New("no such order"), core.Outcome{Text: "no such order", Failed: true}},
		{"a result that has no JSON form", "", func() {}, nil, core.Outcome{Text: "The tool ran, but its result could not be encoded.", Failed: true}},
		{"an argument of another type", `{"order":5,"amount":1}`, nil, nil, core.Outcome{Text: `argument "order": a number is not allowed here`, Failed: true}},
		{"an unknown argument", `{"order":"a","amount":1,"x":1}`, nil, nil, core.Outcome{Text: `the arguments do not match the schema of this tool: unknown field "x"`, Failed: true}},
		{"a suspension", "", nil, fmt.Errorf("wrapped: %w", tool.Suspend{Action: "pin", Message: "Enter the PIN.", Mode: core.PassDecisionToTool, Kind: core.KindInput}),
			core.Outcome{Kind: core.KindInput, Ticket: &core.SuspendTicket{
				Suspension: core.Suspension{Action: "pin", Message: "Enter the PIN."},
				Pending:    core.PendingCall{ID: "c1", Name: "refund", Arguments: json.RawMessage(`{"order":"a","amount":1}`)},
				ResumeMode: core.PassDecisionToTool,
			}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tool.NewRegistry(slog.New(slog.DiscardHandler))
			if err := r.Register(refundTool(func(context.Context, tool.Call, refund) (any, error) { return tt.result, tt.err })); err != nil {
				t.Fatal(err)
			}
			f, _ := r.Lookup("refund")
			args := tt.args
			if args == "" {
				args = `{"order":"a","amount":1}`
			}
			got, err := f.Run(t.Context(), request(args))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	var log bytes.Buffer
	r := tool.NewRegistry(slog.New(slog.NewTextHandler(&log, nil)))
	err := r.Register(refundTool(func(context.Context, tool.Call, refund) (any, error) { panic("secret dsn") }))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := r.Lookup("refund")
	if !ok {
		t.Fatal("not registered")
	}
	got, err := f.Run(t.Context(), request(`{"order":"a","amount":1}`))
	if err != nil || !got.Failed || strings.Contains(got.Text, "secret") {
		t.Errorf("outcome %+v, %v", got, err)
	}
	if !strings.Contains(log.String(), "secret dsn") || !strings.Contains(log.String(), "run_1_1") {
		t.Errorf("log %q", log.String())
	}
}

func TestEndOfTheContextIsNoOutcome(t *testing.T) {
	f := refundTool(func(ctx context.Context, _ tool.Call, _ refund) (any, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("calling the bank: %w", ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Run(ctx, request(`{"order":"a","amount":1}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	done := refundTool(func(context.Context, tool.Call, refund) (any, error) { return "paid", nil })
	if got, err := done.Run(ctx, request(`{"order":"a","amount":1}`)); err != nil || got.Text != "paid" {
		t.Errorf("C169 a body that ended has its result: %+v, %v", got, err)
	}
}

func TestRegistryRefusesANameTwice(t *testing.T) {
	r := tool.NewRegistry(slog.New(slog.DiscardHandler))
	if err := r.Register(refundTool(nil), refundTool(nil)); err == nil {
		t.Error("no error")
	}
	if _, ok := r.Lookup("other"); ok {
		t.Error("found what nobody registered")
	}
	if specs := r.Specs(); len(specs) != 1 || specs["refund"].Name != "refund" {
		t.Errorf("specs %v", specs)
	}
}

func TestRecordedToolGivesTheFirstAnswerThatHolds(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	recorded := tool.Recorded([]agent.Answer{
		{When: map[string]json.RawMessage{"order": raw(`"A-1"`), "line.n": raw(`2`)}, Result: raw(`"the second line"`)},
		{When: map[string]json.RawMessage{"order": raw(`"A-1"`)}, Result: raw(`{"paid":12.50}`)},
		{When: map[string]json.RawMessage{"order": raw(`null`)}, Error: "which order?"},
		{When: map[string]json.RawMessage{"tags": raw(`["a", "b"]`)}, Result: raw(`[]`)},
	})
	tests := []struct{ name, args, want string }{
		{"all conditions hold", `{"order":"A-1","line":{"n":2.0}}`, "the second line"},
		{"the first that holds", `{"order":"A-1","line":{"n":3}}`, `{"paid":12.50}`},
		{"an error", `{"order":null}`, "which order?"},
		{"a list", `{"tags":["a","b"]}`, "[]"},
		{"none", `{"order":"A-2"}`, "No recorded answer matches these arguments."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := recorded.Run(t.Context(), request(tt.args))
			if err != nil || got.Text != tt.want {
				t.Errorf("%+v, %v", got, err)
			}
			if failed := tt.name == "an error" || tt.name == "none"; got.Failed != failed {
				t.Errorf("failed %v", got.Failed)
			}
		})
	}
}

// A function is used as a tool of an agent by registering it and naming it in the definition.
func ExampleFunc() {
	type order struct {
		Number string `json:"number" jsonschema:"as printed on the receipt"`
	}
	lookup := tool.Func("lookup_order", "Finds an order.", func(_ context.Context, _ tool.Call, args order) (any, error) {
		return map[string]any{"number": args.Number, "paid": 120}, nil
	})
	out, err := lookup.Run(context.Background(), engine.ToolRequest{
		Call: core.ToolCall{ID: "call_1", Name: "lookup_order", Arguments: json.RawMessage(`{"number":"A-17"}`)},
	})
	fmt.Println(out.Text, err)
	// Output: {"number":"A-17","paid":120} <nil>
}

func TestASuspensionMayHaveALimitOfItsOwn(t *testing.T) {
	for within, want := range map[time.Duration]int64{0: 0, time.Minute: 60_000, time.Microsecond: 1, -time.Second: 0} {
		f := refundTool(func(context.Context, tool.Call, refund) (any, error) {
			return nil, tool.Suspend{Action: "pin", Within: within}
		})
		got, err := f.Run(t.Context(), request(`{"order":"a","amount":1}`))
		if err != nil || got.Ticket == nil || got.Ticket.Within != want {
			t.Errorf("%s: %+v, %v; want %d ms", within, got.Ticket, err, want)
		}
	}
}

func TestAToolMaySayThatItOnlyReads(t *testing.T) {
	if !refundTool(nil, tool.ReadOnly()).Spec().ReadOnly || refundTool(nil).Spec().ReadOnly {
		t.Error("read-only is not what the tool says")
	}
}

// What a tool writes to the shared state takes effect with its result.
func ExampleCall_state() {
	pick := tool.Func("pick", "Takes a bottle off the wall.", func(_ context.Context, call tool.Call, _ struct{}) (any, error) {
		call.State.Add(core.RunScope, "picked", 1)
		return "picked so far: " + string(call.State.Get(core.RunScope, "picked")), nil
	})
	state := core.State{}
	for range 2 {
		pad := pad.New(state) // done by the engine
		out, err := pick.Run(context.Background(), engine.ToolRequest{Call: core.ToolCall{Name: "pick"}, State: pad})
		fmt.Println(out.Text, err)
		state = state.Apply(pad.Ops())
	}
	// Output:
	// picked so far: 1 <nil>
	// picked so far: 2 <nil>
}
