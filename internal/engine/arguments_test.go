package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/depth"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func nested(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

// A call whose arguments two readers could understand differently, or that no reader could take,
// fails at once, with an error that the model can correct. No rule is asked, no person is, and
// nothing runs.
func TestArgumentsThatCannotRun(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"members that differ by case", `{"amountCents":1,"amountcents":5000000}`, "differ only by case"},
		{"a member twice", `{"amount":1,"amount":2}`, `"amount" is given twice`},
		{"half a character", `{"to":"Ann\ud800"}`, "half a character"},
		{"257 levels", nested(depth.Max + 1), "more than 256 deep"},
		{"1,100 levels", nested(1100), "more than 256 deep"},
		{"9,995 levels", nested(9995), "more than 256 deep"},
		{"20,000 levels", nested(20_000), "more than 256 deep"},
		{"half a character in text that is no JSON", `{"to":"\ud800"`, "half a character"},
		{"too long", `{"a":"` + strings.Repeat("x", strict.MaxArguments) + `"}`, "the limit is 1048576"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "pay", tt.args), call("c2", "look", "{}")), says("done"))
			r.ask("pay")
			r.allow("look")
			r.start("go")
			r.work()
			r.wantRun(core.RunDone, core.NaturalEnd)
			r.wantRan("look{}")
			if n := r.count(core.EventCallInvalid); n != 1 || r.count(core.EventCallSuspended) != 0 {
				t.Errorf("%d calls are invalid, and %d wait", n, r.count(core.EventCallSuspended))
			}
			said := strings.Join(r.conversation(), "\n")
			if !strings.Contains(said, "tool(c1): The arguments are not valid: ") || !strings.Contains(said, tt.want) {
				t.Errorf("the model is told %s", said)
			}
			for _, s := range r.journal() {
				if raw := core.Encode(s); depth.Exceeded(raw) || len(raw) > 16<<10 {
					t.Errorf("segment %d has %d bytes, deeper than readers go: %v", s.Seq, len(raw), depth.Exceeded(raw))
				}
			}
		})
	}
}

// What rules judge, what an approver is shown and what the tool is run with is one text, whatever
// the model wrote.
func TestWhatIsShownIsWhatRunsAndWhatRulesJudge(t *testing.T) {
	const written = `{ "to" : "\u004d\u0061llory & <co>", "amount" : 120.50 , "b":1e2}`
	const canonical = `{"amount":120.50,"b":1e2,"to":"Mallory & <co>"}`
	var judged, checked string
	r := newRig(t, calls(call("c1", "pay", written)), says("done"))
	r.tool("pay", toolRule{
		check: func(c core.ToolCall) error { checked = string(c.Arguments); return nil },
		gate: func(c core.ToolCall, _ core.State) core.Verdict {
			judged = string(c.Arguments)
			return core.Verdict{Effect: core.Ask}
		}})
	r.start("go")
	r.work()
	s := r.suspended("c1")
	for what, got := range map[string]string{"judged": judged, "checked": checked, "shown": string(s.Pending.Arguments), "kept": string(s.Arguments)} {
		if got != canonical {
			t.Errorf("%s: %s", what, got)
		}
	}
	r.must(r.decide("c1", resume("d", "")))
	r.work()
	r.wantRan("pay" + canonical)
}

// A waiting call that an earlier program let through does not run after its approval.
func TestAWaitingCallWithAmbiguousArgumentsDoesNotRun(t *testing.T) {
	r := paying(t)
	r.store = ambiguous{r.db}
	r.build(engine.Options{})
	r.must(r.decide("c1", resume("d", "")))
	r.work()
	r.wantRan()
	if said := strings.Join(r.conversation(), "\n"); !strings.Contains(said, "Not run: the arguments are not valid") {
		t.Errorf("the model is told %s", said)
	}
}

// ambiguous is a store whose journal was written by a program that let ambiguous arguments through.
type ambiguous struct{ engine.Store }

func (s ambiguous) Segments(ctx context.Context, tenant, thread string, from, to int64) ([]core.Segment, error) {
	segments, err := s.Store.Segments(ctx, tenant, thread, from, to)
	for _, segment := range segments {
		for _, m := range segment.Messages {
			for i := range m.Calls {
				m.Calls[i].Arguments = json.RawMessage(`{"amount":5,"Amount":900}`)
			}
		}
	}
	return segments, err
}

func TestNamesOfToolsAreBounded(t *testing.T) {
	r := newRig(t, calls(call("c1", strings.Repeat("pay", 1000), "{}")), says("done"))
	r.start("go")
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	for _, m := range r.log() {
		if len(m.Tool) > 140 || len(m.Text()) > 300 {
			t.Errorf("%d bytes of name in a result of %d", len(m.Tool), len(m.Text()))
		}
	}
}
