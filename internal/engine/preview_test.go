package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

// previewing is a run of one call that waits for an approval and is previewed by get.
func previewing(t *testing.T, get toolRule) *rig {
	t.Helper()
	r := newRig(t, calls(call("c1", "set", `{"ip":"192.0.2.99"}`)), says("done"))
	r.tool("set", toolRule{effect: core.Ask, preview: func(c core.ToolCall) *plans.PreviewSource {
		return &plans.PreviewSource{Read: &core.ToolCall{Name: "get", Arguments: []byte(`{"of":` + string(c.Arguments) + `}`)}}
	}})
	get.spec.ReadOnly = true
	r.tool("get", get)
	return r
}

func TestAPreviewIsReadBeforeTheApproverIsAsked(t *testing.T) {
	r := previewing(t, toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{Text: "192.0.2.20"}, req.State.Set(core.RunScope, "seen", true)
	}})
	r.play()
	r.wantRan(`get{"of":{"ip":"192.0.2.99"}}`)
	if got := r.suspended("c1").Preview; got == nil || *got != (core.Preview{Text: "192.0.2.20", Tool: "get"}) {
		t.Fatalf("%+v", got)
	}
	r.must(r.decide("c1", resume("d1", `true`)))
	r.work()
	r.wantRan(`get{"of":{"ip":"192.0.2.99"}}`, `set{"ip":"192.0.2.99"}`) // not read once more
	r.wantRun(core.RunDone, core.NaturalEnd)
	// the model does not see it
	r.wantConversation("user: hi", "assistant[c1]", `tool(c1): set did {"ip":"192.0.2.99"}`, "assistant: done")
	if r.count(core.EventStateDelta) != 0 {
		t.Error("a preview wrote to the state")
	}
}

// A tool that is read for a preview is asked about once, however often the plan is made again.
func TestAPreviewAsksOneGate(t *testing.T) {
	asked := map[string]int{}
	gate := func(effect core.Effect) func(core.ToolCall, core.State) core.Verdict {
		return func(c core.ToolCall, _ core.State) core.Verdict {
			asked[c.Name+" "+c.ID]++
			return core.Verdict{Effect: effect}
		}
	}
	r := previewing(t, toolRule{gate: gate(core.Allow)})
	set := r.tools["set"]
	set.gate = gate(core.Ask)
	r.tools["set"] = set
	r.play()
	delete(asked, "set ") // with which the model's prompt was made
	delete(asked, "get ")
	if got := r.suspended("c1").Preview; got == nil || got.Failed != "" {
		t.Fatalf("%+v", got)
	}
	for call, times := range asked {
		if times != 1 {
			t.Errorf("the gate was asked %d times about %s", times, call)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked about %v", asked)
	}
}

func TestATemplateCallsNothing(t *testing.T) {
	r := newRig(t, calls(call("c1", "set", `{"ip":"192.0.2.99"}`)), says("done"))
	r.tool("set", toolRule{effect: core.Ask, preview: func(core.ToolCall) *plans.PreviewSource {
		return &plans.PreviewSource{Text: strings.Repeat("x", 2*core.MostPreview)}
	}})
	r.play()
	r.wantRan()
	if got := r.suspended("c1").Preview; got == nil || len(got.Text) > core.MostPreview || !strings.HasPrefix(got.Text, "xxx") || got.Tool != "" {
		t.Errorf("%+v", got)
	}
}

// Whatever keeps a preview from being made, the question is asked, and says why.
func TestAPreviewThatCannotBeMadeKeepsNobodyFromAsking(t *testing.T) {
	fails := func(out core.Outcome, err error) toolRule {
		return toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { return out, err }}
	}
	for want, get := range map[string]toolRule{
		"it is on fire":                       fails(core.Outcome{}, errors.New("it is on fire")),
		"no such record":                      fails(core.Outcome{Failed: true, Text: "no such record"}, nil),
		"the tool failed and gave no reason.": fails(core.Outcome{Failed: true}, nil),
		"get asked for something itself.":     fails(core.Outcome{Ticket: &core.SuspendTicket{}}, nil),
		"it failed unexpectedly":              {effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { panic("at the disco") }},
		"a rule does not allow get here.":     {effect: core.Deny},
		"arguments of get are not valid: no":  {effect: core.Allow, invalid: "no"},
	} {
		r := previewing(t, get)
		r.play()
		r.wantRun(core.RunWaiting, 0)
		got := r.suspended("c1").Preview
		if got == nil || got.Text != "" || got.Tool != "get" || !strings.HasPrefix(got.Failed, "The preview could not be made: ") || !strings.HasSuffix(got.Failed, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	t.Run("a hook that refuses tools cannot be passed by", func(t *testing.T) {
		r := previewing(t, toolRule{effect: core.Allow})
		r.watching("p").wants(core.BeforeToolExecute, core.Effects{Refuse: "not today"})
		r.play()
		r.wantRan()
		if got := r.suspended("c1").Preview; got == nil || got.Text != "" || !strings.Contains(got.Failed, "a hook decides before each tool call") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a tool that may change something is not called", func(t *testing.T) {
		r := previewing(t, toolRule{effect: core.Allow})
		rule := r.tools["get"]
		rule.spec.ReadOnly = false
		r.tools["get"] = rule
		r.play()
		r.wantRan()
		if got := r.suspended("c1").Preview; !strings.HasSuffix(got.Failed, "is not read-only.") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("nor one that a hook's gate asks about", func(t *testing.T) {
		r := previewing(t, toolRule{effect: core.Allow})
		r.watching("p").gate = func(c core.ToolCall, _ core.State) *core.Verdict {
			if c.Name == "get" {
				return &core.Verdict{Effect: core.Ask}
			}
			return nil
		}
		r.play()
		r.wantRan()
	})
}

func TestAPreviewThatTakesTooLong(t *testing.T) {
	for name, wait := range map[string]func(context.Context){
		"stops when told": func(ctx context.Context) { <-ctx.Done() },
		"never returns":   func(context.Context) { select {} },
	} {
		t.Run(name, func(t *testing.T) {
			started := make(chan struct{}, 100)
			r := previewing(t, toolRule{effect: core.Allow, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
				started <- struct{}{}
				wait(ctx)
				return core.Outcome{}, ctx.Err()
			}})
			r.start("hi")
			r.stepThrough(started)
			if got := r.suspended("c1").Preview; got == nil || got.Failed != "The preview could not be made: it took too long" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Many calls whose previews are slow keep neither their approvers nor a cancel waiting for long.
func TestSlowPreviewsOfARoundShareTheirTime(t *testing.T) {
	const most = 20
	reads := 0
	var round []core.ToolCall
	for i := range most {
		round = append(round, call(fmt.Sprintf("c%d", i+1), "set", fmt.Sprintf(`{"ip":%d}`, i)))
	}
	started := make(chan struct{}, 100)
	r := newRig(t, calls(round...), says("done"))
	r.tool("set", toolRule{effect: core.Ask, preview: func(c core.ToolCall) *plans.PreviewSource {
		return &plans.PreviewSource{Read: &core.ToolCall{Name: "get", Arguments: c.Arguments}}
	}})
	r.tool("get", toolRule{effect: core.Allow, spec: core.ToolSpec{ReadOnly: true}, body: func(ctx context.Context, _ engine.ToolRequest) (core.Outcome, error) {
		reads++
		started <- struct{}{}
		<-ctx.Done()
		return core.Outcome{}, ctx.Err()
	}})
	r.start("hi")
	r.stepThrough(started)
	if reads > 2 {
		t.Errorf("%d previews were waited for", reads)
	}
	r.wantRun(core.RunWaiting, 0)
	if got := r.suspended(fmt.Sprintf("c%d", most)).Preview; got == nil || !strings.HasSuffix(got.Failed, "there was no time left for it") {
		t.Errorf("%+v", got)
	}
}

// A process that is lost between the reading and the commit costs a reading, which changes nothing.
// One that is workers crashed repeatedly is taken to be lost because of it.
func TestACrashWhileAPreviewIsRead(t *testing.T) {
	for _, times := range []int{1, 5} {
		lives := times
		store := &failing{}
		r := previewing(t, toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			if lives--; lives >= 0 {
				store.next = true
			}
			return core.Outcome{Text: "192.0.2.20"}, nil
		}})
		store.Store = r.db
		r.store = store
		r.build(engine.Options{})
		r.start("hi")
		for range times {
			if !r.stepOrDie() {
				break
			}
			r.clock.Advance(3 * minute)
			r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 0))
		}
		r.recover()
		r.wantRun(core.RunWaiting, 0)
		got := r.suspended("c1").Preview
		if times == 1 && got.Text != "192.0.2.20" || times == 5 && !strings.Contains(got.Failed, "workers crashed repeatedly") {
			t.Errorf("lost %d times: %+v", times, got)
		}
	}
}
