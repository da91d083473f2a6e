package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// size is an item's as DynamoDB counts it: names and values, UTF-8; a number half a byte a digit
// and one more; a map or list three and one for each entry.
func size(it map[string]types.AttributeValue) (n int) {
	for name, v := range it {
		n += len(name) + sizeOf(v)
	}
	return n
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		digits := strings.TrimRight(strings.TrimLeft(v.Value, "-0"), "0")
		return (len(digits)+1)/2 + 1 + strings.Count(v.Value, "-")
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + size(v.Value)
	case *types.AttributeValueMemberL:
		n := 3 + len(v.Value)
		for _, one := range v.Value {
			n += sizeOf(one)
		}
		return n
	}
	panic(fmt.Sprintf("no size of %T", v))
}

// scales weigh every write of a head, and ask the server what it took.
type scales struct {
	dynamo.API
	largest int
	heads   int
	most    float64 // units of the table that one took
	told    int     // how often the server said
}

func (s *scales) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := s.API.UpdateItem(ctx, in, o...)
	if err != nil {
		return out, err
	}
	s.heads++
	s.largest = max(s.largest, size(out.Attributes))
	if c := out.ConsumedCapacity; c != nil && c.Table != nil {
		s.told++
		s.most = max(s.most, aws.ToFloat64(c.Table.CapacityUnits))
	}
	return out, nil
}

// tenSteps is an agent whose model looks things up, and pays twice, which a person must allow.
type tenSteps struct{}

func (a tenSteps) Load(context.Context, engine.Pin) (engine.Agent, error) {
	return engine.Agent{Instructions: "be helpful", Rules: a, Model: a, Tools: map[string]engine.Tool{"look": a, "pay": a}}, nil
}

func (tenSteps) Newest(context.Context, string, string) (string, error) {
	return "", engine.ErrNotFound
}

func (tenSteps) Tool(name string) (core.ToolSpec, bool) { return core.ToolSpec{Name: name}, true }

func (tenSteps) Check(core.ToolCall) error { return nil }

func (tenSteps) Gate(call core.ToolCall, _ core.State) core.Verdict {
	if call.Name == "pay" {
		return core.Verdict{Effect: core.Ask, Reason: "money leaves the house", Grant: "pay *"}
	}
	return core.Verdict{Effect: core.Allow}
}

func (tenSteps) Deadline(core.ToolCall, core.Kind) core.Deadline {
	return core.Deadline{Within: 86400000}
}

func (tenSteps) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

func (tenSteps) Terms() core.Terms { return core.Terms{Stops: []core.StopRule{}} }

func (tenSteps) Child(core.ToolCall) (core.ChildSpec, bool) { return core.ChildSpec{}, false }

func (tenSteps) Ask(_ context.Context, p engine.Prompt) (core.Turn, error) {
	n := 1
	for _, m := range p.Messages {
		if m.Role == core.RoleAssistant {
			n++
		}
	}
	if n == 10 {
		return core.Turn{Text: "All of it is done.", InputTokens: 4100, OutputTokens: 120}, nil
	}
	tool := "look"
	if n == 4 || n == 7 {
		tool = "pay"
	}
	call := core.ToolCall{ID: fmt.Sprintf("toolu_01A09q90qw90lq917835lq9%d", n), Name: tool, Arguments: json.RawMessage(`{"order":"A-1017","amount":4200}`)}
	return core.Turn{Text: "Let me see.", Calls: []core.ToolCall{call}, InputTokens: 3200, OutputTokens: 85}, nil
}

func (tenSteps) Run(context.Context, engine.ToolRequest) (core.Outcome, error) {
	return core.Outcome{Text: `{"status":"delivered","paid":true}`}, nil
}

func TestAHeadFitsOneUnit(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		clock := standing{at: enginetest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}
		scales := &scales{API: s.client()}
		store := s.store(t, scales, s.table(t), clock)
		random := enginetest.NewRandom(t, 2)
		waker := &frontendtest.Waker{}
		catalog := frontendtest.Catalog{"refund-desk": {Name: "refund-desk", Digest: core.Digest([]byte("definition"))}}
		front := query.New(frontend.New(frontend.Options{Store: store, Catalog: catalog, Waker: waker, Clock: clock, Random: random}))
		eng := engine.New(engine.Options{Store: store, Waker: waker, Agents: tenSteps{}, Clock: clock, Random: random})
		caller := frontend.Caller{Tenant: "acme-corporation", By: "ann@example.com"}
		started, err := front.Start(t.Context(), caller, "order-A-1017", wire.StartRequest{Agent: "refund-desk",
			Input: json.RawMessage(`"Please refund order A-1017, it came broken."`), Metadata: json.RawMessage(`{"ticket":"T-88121"}`)})
		if err != nil {
			t.Fatal(err)
		}
		run, decided := started.Run, 0
		for n := 0; run.Status != "done"; n++ {
			clock.at.Advance(time.Second)
			if _, err := eng.Step(t.Context(), engine.Wakeup{Tenant: caller.Tenant, Thread: run.ThreadID}); err != nil {
				t.Fatal(err)
			}
			if run, err = front.Run(t.Context(), caller, run.ID); err != nil || n > 100 {
				t.Fatalf("run %+v after %d steps: %v", run, n, err)
			}
			if run.Status == "waiting" {
				decided++
				decide(t, front, caller, store, run)
			}
		}
		if decided != 2 || run.Steps != 10 {
			t.Fatalf("%d decisions, %d steps", decided, run.Steps)
		}
		t.Logf("%d writes of the head, the largest left %d bytes; the server counted %d of them, at most %g units each", scales.heads, scales.largest,
			scales.told, scales.most)
		if scales.largest > 1024 {
			t.Errorf("a head of %d bytes takes two units for each claim and each commit", scales.largest)
		}
		if s.counts && scales.told != scales.heads || scales.most > 1 {
			t.Errorf("the server told of %d of %d writes, at most %g units", scales.told, scales.heads, scales.most)
		}
	})
}

func decide(t *testing.T, front *query.Reader, caller frontend.Caller, store *dynamo.Store, run wire.Run) {
	t.Helper()
	h, err := store.Load(t.Context(), caller.Tenant, run.ThreadID)
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range h.Calls {
		if c.Status == core.CallSuspended {
			_, err := front.Decide(t.Context(), caller, run.ID, wire.Decision{DecisionID: "dec_" + id, Target: id,
				Action: "resume", Result: json.RawMessage("true")})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
