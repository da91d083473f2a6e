package dormouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dormouse-dev/dormouse"
)

// lookup are the arguments of a tool.
type lookup struct {
	Harbour string `json:"harbour" jsonschema:"the name of the harbour, for example Dover"`
}

// A tool is a function with a struct of arguments. The schema that the model sees is derived from
// the struct. A test calls the tool like any other function.
func ExampleFunc() {
	tides := dormouse.Func("tides.next", "Returns the next tides of a harbour.",
		func(_ context.Context, _ dormouse.Call, args lookup) (any, error) {
			if args.Harbour != "Dover" {
				return nil, errors.New("no tide table for this harbour; only Dover is available")
			}
			return map[string]string{"high": "06:12", "low": "12:25"}, nil
		}, dormouse.ReadOnly)

	result, err := tides.Run(context.Background(), dormouse.Call{Arguments: json.RawMessage(`{"harbour":"Dover"}`)})
	fmt.Println(result, err)
	_, err = tides.Run(context.Background(), dormouse.Call{Arguments: json.RawMessage(`{"harbour":7}`)})
	fmt.Println(err)
	// Output:
	// map[high:06:12 low:12:25] <nil>
	// argument "harbour": a number is not allowed here
}

// A tool with side effects passes the idempotency key of its call to the service behind it. The
// service then acts once, even if a crash makes the runtime call the tool again.
func ExampleCall_key() {
	paid := map[string]int{}
	pay := dormouse.Func("bank.pay", "Pays an amount in dollars.",
		func(_ context.Context, call dormouse.Call, args struct {
			Amount int `json:"amount"`
		}) (any, error) {
			paid[call.Key] = args.Amount // the same key again changes nothing
			call.State.Thread.Add("paid", int64(args.Amount))
			return "paid", nil
		}, dormouse.Idempotent)

	call := dormouse.Call{Key: "run_1/call_1/0", Arguments: json.RawMessage(`{"amount":20}`)}
	for range 2 { // a crash discards the state, so the retry starts from an empty one
		call.State = dormouse.NewState()
		_, _ = pay.Run(context.Background(), call)
	}
	fmt.Println(len(paid), string(call.State.Thread.Get("paid")))
	// Output: 1 20
}

// A tool that needs an answer returns a Suspend. The runtime calls it again with the answer,
// perhaps a week later and in another process.
func ExampleSuspend() {
	choose := dormouse.Func("shop.choose_slot", "Asks the customer when to deliver.",
		func(_ context.Context, call dormouse.Call, _ struct{}) (any, error) {
			if call.Answer == nil {
				return nil, dormouse.Suspend{Action: "choose_slot", Message: "Morning or afternoon?", Then: dormouse.HandAnswer,
					Schema: json.RawMessage(`{"enum":["morning","afternoon"]}`)}
			}
			return dormouse.Value[string](call.Answer.Value)
		})

	_, err := choose.Run(context.Background(), dormouse.Call{})
	fmt.Println(err)
	result, err := choose.Run(context.Background(), dormouse.Call{Answer: &dormouse.Answer{Value: json.RawMessage(`"morning"`)}})
	fmt.Println(result, err)
	// Output:
	// dormouse: the call waits for choose_slot
	// morning <nil>
}

// A gate is pure. It reads what it needs from the state, where a tool or another phase wrote it.
func ExampleHook_toolGate() {
	budget := dormouse.Hook{
		Name: "shop.budget",
		ToolGate: func(call dormouse.ToolCall, state dormouse.View) dormouse.Verdict {
			spent, err := dormouse.Value[int](state.Thread["spent"])
			switch {
			case call.Name != "order":
				return dormouse.Verdict{}
			case err != nil || spent > 1000:
				return dormouse.Verdict{Effect: dormouse.Deny, Reason: "The budget is used up."}
			case spent > 500:
				return dormouse.Verdict{Effect: dormouse.Ask, Reason: "More than $500 is already spent."}
			}
			return dormouse.Verdict{}
		},
	}

	for _, spent := range []string{"20", "600", "2000"} {
		v := budget.ToolGate(dormouse.ToolCall{Name: "order"}, dormouse.View{Thread: map[string]json.RawMessage{"spent": json.RawMessage(spent)}})
		fmt.Printf("%q: %q\n", v.Effect, v.Reason)
	}
	// Output:
	// "": ""
	// "ask": "More than $500 is already spent."
	// "deny": "The budget is used up."
}

// A hook adds context to one request, or removes a tool from it.
func ExampleHook_beforeInference() {
	known := dormouse.Hook{
		Name: "shop.known",
		BeforeInference: func(_ context.Context, run dormouse.Run) (dormouse.Request, error) {
			name, err := dormouse.Value[string](run.State.Thread.Get("customer"))
			if err != nil || name == "" {
				return dormouse.Request{Without: []string{"order"}}, err
			}
			return dormouse.Request{Context: []dormouse.Context{{Key: "customer", Text: "You are talking to " + name + ".", Cooldown: 5}}}, nil
		},
	}

	state := dormouse.NewState()
	request, _ := known.BeforeInference(context.Background(), dormouse.Run{State: state})
	fmt.Println(request.Without)
	_ = state.Thread.Set("customer", "Ada")
	request, _ = known.BeforeInference(context.Background(), dormouse.Run{State: state})
	fmt.Println(request.Context[0].Text)
	// Output:
	// [order]
	// You are talking to Ada.
}

// A stop rule ends a run because of an answer of the model, before any call in that answer runs.
func ExampleHook_stopRule() {
	brief := dormouse.Hook{Name: "shop.brief", StopRule: func(p dormouse.Progress) *dormouse.Reason {
		if len(p.Turn.Text) < 2000 {
			return nil
		}
		return &dormouse.Reason{Code: "too_long", Detail: "The answer has more than 2000 characters."}
	}}

	fmt.Println(brief.StopRule(dormouse.Progress{Turn: dormouse.Turn{Text: "Yes."}}))
	// Output: <nil>
}

// An effect runs after the calls that the agent file lists for it. The model sees its text after
// the result.
func ExampleEffect() {
	stock := dormouse.Effect{Name: "shop.stock", Run: func(_ context.Context, done dormouse.Done) (string, error) {
		return "3 left after " + done.Result, nil
	}}

	text, err := stock.Run(context.Background(), dormouse.Done{Result: "ordered 2"})
	fmt.Println(text, err)
	// Output: 3 left after ordered 2 <nil>
}

// A memory is recalled before a run and committed after it. A commit may happen twice, so it is
// stored under the id of the run.
func ExampleMemory() {
	said := map[string]string{}
	notes := dormouse.Memory{
		Name: "shop.notes",
		Recall: func(context.Context, dormouse.Conversation) (string, error) {
			if len(said) == 0 {
				return "", nil
			}
			return fmt.Sprint("Said earlier: ", said), nil
		},
		Commit: func(_ context.Context, c dormouse.Conversation) error {
			said[c.Run] = c.Messages[len(c.Messages)-1].Text
			return nil
		},
	}

	done := dormouse.Conversation{Run: "run_1", Messages: []dormouse.Message{{Role: dormouse.RoleAssistant, Text: "Your order is placed."}}}
	fmt.Println(notes.Commit(context.Background(), done), notes.Commit(context.Background(), done))
	fmt.Println(notes.Recall(context.Background(), dormouse.Conversation{Run: "run_2"}))
	// Output:
	// <nil> <nil>
	// Said earlier: map[run_1:Your order is placed.] <nil>
}

// command.Main, lambdastep.Main and lambdaapi.Main all take the same program.
func ExampleProgram() {
	p := dormouse.Program{
		Version: "v1.4.0",
		Tools:   []dormouse.Tool{dormouse.Func("shop.open", "Reports whether the shop is open.", isOpen, dormouse.ReadOnly)},
		Hooks:   []dormouse.Hook{{Name: "shop.log", RunEnd: logEnd}},
	}
	fmt.Println(p.Tools[0].Name, string(p.Tools[0].Parameters))
	// Output: shop.open {"type":"object","additionalProperties":false}
}

func isOpen(context.Context, dormouse.Call, struct{}) (any, error) { return "open", nil }

func logEnd(_ context.Context, run dormouse.Run, end dormouse.Reason) error {
	fmt.Println(run.ID, end.Kind)
	return nil
}

// All tools and hooks of a run share its state.
func ExampleValue() {
	state := dormouse.NewState()
	state.Run.Add("orders", 1)
	state.Run.Add("orders", 1)
	state.Thread.Insert("seen", "pump")
	state.Thread.Insert("seen", "pump")

	orders, _ := dormouse.Value[int](state.Run.Get("orders"))
	seen, _ := dormouse.Value[[]string](state.Thread.Get("seen"))
	none, err := dormouse.Value[string](state.Thread.Get("name"))
	fmt.Printf("%d %v %q %v\n", orders, seen, none, err)
	// Output: 2 [pump] "" <nil>
}
