package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// control yields the first turns and cancels when it is told to.
type control struct {
	mu      sync.Mutex
	yields  int
	cancels bool
	asked   []engine.RunRef // who was asked about
}

func (c *control) ShouldYield(_ context.Context, run engine.RunRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, run)
	c.yields--
	return c.yields >= 0
}

func (c *control) IsCancelled(context.Context, engine.RunRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancels
}

func (c *control) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels = true
}

// controlled is a run under an outside control.
func controlled(t *testing.T, c *control, turns ...core.Turn) *rig {
	r := newRig(t, turns...)
	r.build(engine.Options{Control: c})
	return r
}

func TestYield(t *testing.T) {
	t.Run("C220 a turn that is dropped is counted and journaled, and nothing of it happens", func(t *testing.T) {
		turn := core.Turn{Text: "half a thought", Calls: []core.ToolCall{call("c1", "echo", `{}`)}, InputTokens: 100, OutputTokens: 20}
		c := &control{yields: 1}
		r := controlled(t, c, turn, says("done"))
		m := &memory{}
		r.memory = m
		p := r.watching("p")
		r.start("hi")
		r.step()
		h := r.head()
		if h.Status != core.RunRunning || h.Lease != 0 || h.InputTokens != 100 || h.OutputTokens != 20 || h.Yields != 1 || h.Step != 0 {
			t.Errorf("head %+v", h)
		}
		if h.NotBefore <= r.now() || h.Due < h.NotBefore {
			t.Errorf("asked again at %d, due %d, now %d", h.NotBefore, h.Due, r.now())
		}
		r.wantRan()
		r.wantConversation("user: hi", "system: a bird")
		if r.count(core.EventStepReset) != 1 || r.count(core.EventStepStarted) != 0 || p.times("after_inference") != 0 || len(m.given) != 0 {
			t.Errorf("%d resets, %d steps, hooks %v, memory %v", r.count(core.EventStepReset), r.count(core.EventStepStarted), p.order(), m.given)
		}
		if len(c.asked) != 1 || c.asked[0] != (engine.RunRef{Tenant: "t", Thread: r.thread, Run: h.Run, Agent: "a"}) {
			t.Errorf("asked about %v", c.asked)
		}
	})
	t.Run("C220 it is asked again later, with the same conversation, and ends like any other", func(t *testing.T) {
		c := &control{yields: 3}
		r := controlled(t, c, core.Turn{Calls: []core.ToolCall{call("c1", "echo", `{}`)}, InputTokens: 100}, says("done"))
		m := &memory{}
		r.memory = m
		r.start("hi")
		r.patiently()
		r.wantEnd(core.NaturalEnd, "")
		r.wantRan("echo{}")
		r.wantAsked(5)
		if h := r.head(); h.Yields != 3 || h.InputTokens != 400 || h.Step != 2 || len(m.given) != 1 || m.recalls != 1 {
			t.Errorf("%d yields, %d tokens, %d steps, %d commits and %d recalls of memory", h.Yields, h.InputTokens, h.Step, len(m.given), m.recalls)
		}
	})
	t.Run("C220 nobody asks before the pause is over", func(t *testing.T) {
		r := controlled(t, &control{yields: 1}, says("done"))
		r.start("hi")
		r.step()
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("the next step is %s", report.Outcome)
		}
		r.wantAsked(1)
	})
	t.Run("C221 a turn without text leaves a notice in its place", func(t *testing.T) {
		for text, want := range map[string]string{"half a thought": "half a thought", "": "yielded to another one"} {
			r := controlled(t, &control{yields: 1}, says(text))
			r.start("hi")
			r.step()
			for _, e := range r.events() {
				if e.Type == core.EventStepReset && !strings.Contains(string(e.Data), want) {
					t.Errorf("the event says %s, want %q", e.Data, want)
				}
			}
		}
	})
	t.Run("C222 without a control nothing yields and nothing cancels", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
		r.play()
		r.wantEnd(core.NaturalEnd, "")
		if r.count(core.EventStepReset) != 0 {
			t.Error("a turn was dropped")
		}
	})
	t.Run("a yield is no failure of the model: it does not count among the tries", func(t *testing.T) {
		r := controlled(t, &control{yields: 30}, says("done"))
		r.start("hi")
		r.patiently()
		r.wantEnd(core.NaturalEnd, "")
	})
	t.Run("a cancel that comes with a yield ends the run, the tokens counted", func(t *testing.T) {
		r := controlled(t, &control{yields: 1}, core.Turn{Text: "x", InputTokens: 100})
		r.onAsk = func(context.Context, engine.Prompt) error { return r.cancel() }
		r.start("hi")
		r.patiently()
		r.wantRun(core.RunDone, core.Cancelled)
		if h := r.head(); h.InputTokens != 100 {
			t.Errorf("%d tokens counted", h.InputTokens)
		}
	})
	t.Run("a cancel from outside that comes with a yield ends the run, the tokens counted", func(t *testing.T) {
		c := &control{yields: 1}
		r := controlled(t, c, core.Turn{Text: "x", InputTokens: 100})
		r.onAsk = func(context.Context, engine.Prompt) error { c.cancel(); return nil }
		r.play()
		r.wantRun(core.RunDone, core.Cancelled)
		if h := r.head(); h.InputTokens != 100 {
			t.Errorf("%d tokens counted", h.InputTokens)
		}
	})
	t.Run("tokens of dropped turns count for a token budget", func(t *testing.T) {
		r := controlled(t, &control{yields: 2}, core.Turn{Calls: []core.ToolCall{call("c1", "echo", `{}`)}, InputTokens: 100})
		r.stopping(t, stoprule.Spec{Type: "token_budget", MaxTotal: 250})
		r.start("hi")
		r.patiently()
		r.wantEnd(core.Stopped, "token_budget")
	})
}

func TestOutsideCancel(t *testing.T) {
	t.Run("C167 C223 before the first model call", func(t *testing.T) {
		r := controlled(t, &control{cancels: true}, says("done"))
		r.play()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantAsked(0)
	})
	t.Run("C168 C223 while the model speaks: soon done, nothing runs, nothing is remembered", func(t *testing.T) {
		c := &control{}
		r := controlled(t, c, calls(call("c1", "echo", `{}`)), says("done"))
		m := &memory{}
		r.memory = m
		started := make(chan struct{})
		r.onAsk = func(ctx context.Context, _ engine.Prompt) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
		r.start("hi")
		r.whileRunning(started, c.cancel)
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan()
		if h := r.head(); len(m.given) != 0 || h.Response != "" || h.Step != 0 {
			t.Errorf("memory %v, response %q, %d steps", m.given, h.Response, h.Step)
		}
	})
	t.Run("C223 after the model's answer: none of its calls runs, nothing is remembered", func(t *testing.T) {
		c := &control{}
		r := controlled(t, c, core.Turn{Text: "I will", Calls: []core.ToolCall{call("c1", "echo", `{}`)}}, says("done"))
		m := &memory{}
		r.memory = m
		r.onAsk = func(context.Context, engine.Prompt) error { c.cancel(); return nil }
		r.play()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan()
		if h := r.head(); len(m.given) != 0 || h.Response != "" || h.Finish != "" {
			t.Errorf("memory %v, response %q", m.given, h.Response)
		}
		wellFormed(t, core.TranscriptOf(r.log()))
	})
	t.Run("C169 between two bodies: the first keeps its result, the second does not run", func(t *testing.T) {
		c := &control{}
		r := controlled(t, c, calls(call("c1", "last", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.tool("last", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			c.cancel()
			return core.Outcome{Text: "did it"}, nil
		}})
		r.play()
		r.wantRun(core.RunDone, core.Cancelled)
		r.wantRan("last{}")
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): did it", "tool(c2): Not run: the run ended first (cancelled).")
	})
	for _, parallel := range []bool{false, true} {
		t.Run("C169 during a body: it is stopped, and the call says that it may have taken effect", func(t *testing.T) {
			c := &control{}
			r := controlled(t, c, calls(call("c1", "slow", `{}`), call("c2", "echo", `{}`)), says("done"))
			r.terms.Parallel = parallel
			started := make(chan struct{})
			r.blocking("slow", started, func(ctx context.Context) (core.Outcome, error) { <-ctx.Done(); return core.Outcome{}, ctx.Err() })
			r.start("hi")
			r.whileRunning(started, c.cancel)
			r.wantRun(core.RunDone, core.Cancelled)
			if got := r.resultOf("c1"); !strings.Contains(got, "may or may not have taken effect") {
				t.Errorf("result %q", got)
			}
			if got, want := r.resultOf("c2"), map[bool]string{false: "Not run: the run ended first (cancelled).", true: "echo did {}"}[parallel]; got != want {
				t.Errorf("c2's result is %q, want %q", got, want)
			}
		})
	}
	t.Run("hooks of the end see the reason, once", func(t *testing.T) {
		c := &control{cancels: true}
		r := controlled(t, c, says("done"))
		p := r.watching("p")
		var reasons []core.ReasonKind
		p.does(core.RunEnd, func(v visit) { reasons = append(reasons, v.reason.Kind) })
		r.play()
		if !slices.Equal(reasons, []core.ReasonKind{core.Cancelled}) {
			t.Errorf("reasons %v", reasons)
		}
	})
}
