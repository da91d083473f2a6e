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
		for name, begin := range map[string]func(*desk) (run string){"a run of its own": (*desk).begin, "a child": (*desk).beginChild} {
			t.Run(name, func(t *testing.T) {
				d := openDesk(t, s)
				d.work(begin(d))
				d.fits()
			})
		}
	})
}

// desk is an agent that works in ten steps, and all around it.
type desk struct {
	*testing.T
	server
	clock  standing
	scales *scales
	store  *dynamo.Store
	front  *query.Reader
	engine *engine.Engine
	caller frontend.Caller
}

func openDesk(t *testing.T, s server) *desk {
	d := &desk{T: t, server: s, clock: standing{at: enginetest.NewClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))}, scales: &scales{API: s.client()},
		caller: frontend.Caller{Tenant: "acme-corporation", By: "ann@example.com"}}
	d.store = s.store(t, d.scales, s.table(t), d.clock)
	random := enginetest.NewRandom(t, 2)
	waker := &frontendtest.Waker{}
	catalog := frontendtest.Catalog{"refund-desk": {Name: "refund-desk", Digest: core.Digest([]byte("definition"))}}
	d.front = query.New(frontend.New(frontend.Options{Store: d.store, Catalog: catalog, Waker: waker, Clock: d.clock, Random: random}))
	d.engine = engine.New(engine.Options{Store: d.store, Waker: waker, Agents: tenSteps{}, Clock: d.clock, Random: random})
	return d
}

func (d *desk) begin() string {
	started, err := d.front.Start(d.Context(), d.caller, "order-A-1017", wire.StartRequest{Agent: "refund-desk",
		Input: json.RawMessage(`"Please refund order A-1017, it came broken."`), Metadata: json.RawMessage(`{"ticket":"T-88121"}`)})
	must(d.T, err)
	return started.Run.ID
}

// work brings a run to its end.
func (d *desk) work(id string) {
	d.Helper()
	run, err := d.front.Run(d.Context(), d.caller, id)
	must(d.T, err)
	decided := 0
	for n := 0; run.Status != "done"; n++ {
		d.clock.at.Advance(time.Second)
		_, err := d.engine.Step(d.Context(), engine.Wakeup{Tenant: d.caller.Tenant, Thread: run.ThreadID})
		must(d.T, err)
		if run, err = d.front.Run(d.Context(), d.caller, run.ID); err != nil || n > 100 {
			d.Fatalf("run %+v after %d steps: %v", run, n, err)
		}
		if run.Status == "waiting" {
			decided++
			decide(d.T, d.front, d.caller, d.store, run)
		}
	}
	if decided != 2 || run.Steps != 10 {
		d.Fatalf("%d decisions, %d steps, %+v", decided, run.Steps, run)
	}
}

// fits demands that every write of a head so far took one unit.
func (d *desk) fits() {
	d.Helper()
	d.Logf("%d writes of the head, the largest left %d bytes; the server counted %d of them, at most %g units each", d.scales.heads, d.scales.largest,
		d.scales.told, d.scales.most)
	if d.scales.largest > 1024 {
		d.Errorf("a head of %d bytes takes two units for each claim and each commit", d.scales.largest)
	}
	if d.counts && d.scales.told != d.scales.heads || d.scales.most > 1 {
		d.Errorf("the server told of %d of %d writes, at most %g units", d.scales.told, d.scales.heads, d.scales.most)
	}
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
