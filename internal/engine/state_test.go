package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// places are the numbers of the events of a type.
func (r *rig) places(of core.EventType) (at []int64) {
	for _, e := range r.events() {
		if e.Type == of {
			at = append(at, e.Seq)
		}
	}
	return at
}

func TestSnapshots(t *testing.T) {
	t.Run("C34 one before the step ends and one before the run does", func(t *testing.T) {
		r := newRig(t, says("done"))
		p := r.watching("p")
		p.wants(core.AfterInference, adds("n", "1"))
		p.wants(core.RunEnd, adds("n", "1"))
		r.play()
		snaps, step, turn := r.places(core.EventStateSnapshot), r.places(core.EventStepEnded), r.places(core.EventTurnEnded)
		if len(snaps) != 2 || snaps[0] != step[0]-1 || snaps[1] < step[0] || snaps[1] > turn[0] {
			t.Errorf("snapshots at %v, the step ends at %v, the turn at %v", snaps, step, turn)
		}
		r.wantState(core.RunScope, "n", "2")
	})
	t.Run("C34 a step and a run that wrote nothing journal none", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`)), calls(call("c2", "echo", `{}`)), says("done"))
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.play()
		if snaps := r.places(core.EventStateSnapshot); len(snaps) != 1 {
			t.Errorf("snapshots at %v", snaps)
		}
		r.wantState(core.RunScope, "n", "1")
	})
	t.Run("C34 a step that has to wait journals what it wrote", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.ask("pay")
		r.play()
		r.wantRun(core.RunWaiting, 0)
		if snaps := r.places(core.EventStateSnapshot); len(snaps) != 1 {
			t.Errorf("snapshots at %v", snaps)
		}
	})
}

func TestStateOutlivesItsProcess(t *testing.T) {
	t.Run("each step reads what the ones before wrote, whoever did them", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`)), calls(call("c2", "echo", `{}`)), calls(call("c3", "count", `{}`), call("c4", "count", `{}`)), says("done"))
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.start("hi")
		for range 4 {
			r.build(engine.Options{})
			r.step()
		}
		r.wantEnd(core.NaturalEnd, "")
		r.wantState(core.RunScope, "n", "3")
		if got := []string{r.resultOf("c3"), r.resultOf("c4")}; !slices.Equal(got, []string{"count saw n=1", "count saw n=2"}) {
			t.Errorf("results %v", got)
		}
	})
	t.Run("what was written before a wait and while it is gone on with", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "count", `{}`), call("c2", "pay", `{}`), call("c3", "pay", `{}`)), calls(call("c4", "count", `{}`)), says("done"))
		r.writing("count", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.writing("pay", func(s *pad.Pad) { s.Add(core.RunScope, "n", 10) })
		rule := r.tools["pay"]
		rule.effect = core.Ask
		r.tools["pay"] = rule
		r.play()
		for i, id := range []string{"c2", "c3"} {
			r.build(engine.Options{})
			r.must(r.decide(id, resume("d", `true`)))
			r.work()
			if got, want := r.resultOf(id), fmt.Sprintf("pay saw n=%d", 1+10*i); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		r.wantEnd(core.NaturalEnd, "")
		r.wantState(core.RunScope, "n", "22")
		if got := r.resultOf("c4"); got != "count saw n=21" {
			t.Errorf("the next step: %q", got)
		}
	})
	t.Run("a body that waits keeps what it wrote", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "ask_me", `{}`)), says("done"))
		r.tool("ask_me", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			req.State.Add(core.RunScope, "n", 1)
			if req.Resume == nil {
				return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.PassDecisionToTool}}, nil
			}
			return core.Outcome{Text: "n=" + string(req.State.Get(core.RunScope, "n"))}, nil
		}})
		r.play()
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): n=2", "assistant: done")
	})
	t.Run("a body that fails, by its outcome, an error or a panic, keeps nothing", func(t *testing.T) {
		for _, fail := range []func() (core.Outcome, error){
			func() (core.Outcome, error) { return core.Outcome{Failed: true, Text: "no luck"}, nil },
			func() (core.Outcome, error) { return core.Outcome{}, fmt.Errorf("no luck") },
			func() (core.Outcome, error) { panic("secret") },
		} {
			r := newRig(t, calls(call("c1", "bad", `{}`)), says("done"))
			r.tool("bad", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
				req.State.Add(core.RunScope, "n", 1)
				return fail()
			}})
			r.play()
			r.wantState(core.RunScope, "n", "")
		}
	})
}

func TestScopes(t *testing.T) {
	t.Run("the next run finds the scope of the thread and not that of the run", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "write", `{}`)), says("done"), calls(call("c2", "write", `{}`)), says("again"), says("and again"))
		r.tool("write", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			saw := fmt.Sprintf("run %s, thread %s", req.State.Get(core.RunScope, "n"), req.State.Get(core.ThreadScope, "n"))
			req.State.Add(core.RunScope, "n", 1)
			req.State.Add(core.ThreadScope, "n", 1)
			return core.Outcome{Text: saw}, nil
		}})
		r.play()
		r.succeed("more")
		if got := r.resultOf("c2"); got != "run , thread 1" {
			t.Errorf("the next run saw %q", got)
		}
		r.wantState(core.RunScope, "n", "1")
		r.wantState(core.ThreadScope, "n", "2")
		r.succeed("a run that writes nothing")
		r.wantEnd(core.NaturalEnd, "")
		r.wantState(core.RunScope, "n", "")
		r.wantState(core.ThreadScope, "n", "2")
	})
	t.Run("a run that ends in an error leaves its thread what it wrote", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "write", `{}`)))
		r.tool("write", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: "ok"}, req.State.Set(core.ThreadScope, "name", "Ada")
		}})
		r.onAsk = func(_ context.Context, p engine.Prompt) error {
			if p.Step == 2 {
				return &engine.ModelError{Detail: "no credit"}
			}
			return nil
		}
		r.play()
		r.wantRun(core.RunDone, core.Failed)
		r.wantState(core.ThreadScope, "name", `"Ada"`)
	})
}

// succeed plays the next run of the thread.
func (r *rig) succeed(input string) {
	r.t.Helper()
	prior := r.head()
	next := prior.Succeed("v1", core.Signal{Kind: core.SignalStart, Value: core.Encode(core.TextParts(input)), At: r.now()}, r.now())
	_, err := r.db.Start(r.ctx, engine.StartRequest{Head: next, Prior: &prior, Due: r.now() + 5000, Wake: &engine.Delay{}})
	r.must(err)
	r.work()
}

func TestStateIsBounded(t *testing.T) {
	large := `"` + strings.Repeat("x", 40<<10) + `"`
	for _, parallel := range []bool{false, true} {
		t.Run(fmt.Sprintf("a body that writes more than fits has failed; none of its writes is kept (parallel %v)", parallel), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "fill", `{"k":"a"}`), call("c2", "fill", `{"k":"b"}`)), says("done"))
			r.terms.Parallel = parallel
			r.tool("fill", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
				key := string(req.Call.Arguments)
				req.State.Add(core.RunScope, "n", 1)
				return core.Outcome{Text: "filled"}, req.State.Set(core.RunScope, key, large)
			}})
			r.play()
			r.wantEnd(core.NaturalEnd, "")
			if one, two := r.resultOf("c1"), r.resultOf("c2"); one != "filled" || !strings.Contains(two, "larger than 65536 bytes") {
				t.Errorf("results %q and %q", one, two)
			}
			r.wantState(core.RunScope, "n", "1")
			if size := len(core.Encode(r.state())); size > core.MaxState {
				t.Errorf("the state has %d bytes", size)
			}
		})
	}
	for _, phase := range effectPhases() {
		t.Run("a hook that writes more than fits has failed: "+phase.String(), func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			r.watching("small").wants(phase, adds("n", "1"))
			r.watching("large").wants(phase, core.Effects{State: []core.StateOp{
				{Key: "a", Op: core.StateSet, Value: []byte(large)}, {Key: "b", Op: core.StateSet, Value: []byte(large)}}})
			r.play()
			r.wantEnd(core.NaturalEnd, "")
			if size := len(core.Encode(r.state())); size > core.MaxState {
				t.Errorf("the state has %d bytes", size)
			}
			if r.count(core.EventHookFailed) == 0 {
				t.Error("nothing is journaled of it")
			}
		})
	}
}
