package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// round is a turn of n calls of one tool.
func roundOf(n int, tool string) core.Turn {
	var all []core.ToolCall
	for i := range n {
		all = append(all, call(fmt.Sprint("c", i+1), tool, fmt.Sprintf(`{"n":%d}`, i+1)))
	}
	return calls(all...)
}

// wantGates holds how often a hook's gate was asked since it was last reset against twice the calls
// of a round, in all and for each call.
func (p *probe) wantGates(t *testing.T, n int) {
	t.Helper()
	total := p.times("tool_gate")
	if total > 2*n {
		t.Errorf("the gate was asked %d times for %d calls", total, n)
	}
	for i := range n {
		id := fmt.Sprint("c", i+1)
		if asked := p.exactly("tool_gate " + id); asked > 2 {
			t.Errorf("the gate of %s was asked %d times", id, asked)
		}
	}
}

// exactly says how often the probe was called as what says, and not for a call whose id only begins
// so.
func (p *probe) exactly(what string) (n int) {
	for _, s := range p.seen {
		if s == what {
			n++
		}
	}
	return n
}

func TestAGateIsAskedTwiceForACallAtMost(t *testing.T) {
	bodies := map[string]func(context.Context, engine.ToolRequest) (core.Outcome, error){
		"that write nothing": nil,
		"that write to the state": func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			req.State.Add(core.RunScope, "bodies", 1)
			return core.Outcome{Text: "wrote"}, nil
		},
	}
	hooks := map[string]func(*probe){
		"": func(*probe) {},
		", hooks write": func(p *probe) {
			p.wants(core.BeforeToolExecute, adds("before", "1"))
			p.wants(core.AfterToolExecute, adds("after", "1"))
			p.wants(core.AfterInference, adds("turns", "1"))
		},
		", hooks write and refuse": func(p *probe) {
			e := adds("before", "1")
			e.Refuse = "not today"
			p.wants(core.BeforeToolExecute, e)
			p.wants(core.AfterToolExecute, adds("after", "1"))
		},
	}
	for _, n := range []int{1, effort.Of(10, 4), effort.Of(40, 10)} {
		for what, body := range bodies {
			for with, wants := range hooks {
				for _, parallel := range []bool{false, true} {
					for _, delivery := range []core.Delivery{core.AtLeastOnce, core.AtMostOnce} {
						t.Run(fmt.Sprintf("%d bodies %s, parallel %v, %s%s", n, what, parallel, delivery, with), func(t *testing.T) {
							r := newRig(t, roundOf(n, "work"), says("done"))
							r.terms.Parallel = parallel
							r.tool("work", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: delivery}, body: body})
							p := r.watching("p")
							wants(p)
							r.play()
							r.wantRun(core.RunDone, core.NaturalEnd)
							p.wantGates(t, n)
						})
					}
				}
			}
			for _, parallel := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d approved bodies %s, parallel %v", n, what, parallel), func(t *testing.T) {
					r := newRig(t, roundOf(n, "work"), says("done"))
					r.terms.Parallel = parallel
					r.tool("work", toolRule{effect: core.Ask, body: body})
					p := r.watching("p")
					r.play()
					p.wantGates(t, n)
					p.seen = nil
					for i := range n {
						r.must(r.decide(fmt.Sprint("c", i+1), resume(fmt.Sprint("d", i+1), `true`)))
					}
					r.work()
					r.wantRun(core.RunDone, core.NaturalEnd)
					if len(r.ran) != n {
						t.Errorf("%d bodies ran", len(r.ran))
					}
					p.wantGates(t, n)
				})
			}
		}
	}
}

func TestAGateIsNotAskedAboutWhatIsSettled(t *testing.T) {
	r := newRig(t, calls(call("c1", "forbidden", `{}`), call("c2", "work", `{}`), call("c3", "work", `{}`)), says("done"))
	r.tool("forbidden", toolRule{effect: core.Deny})
	r.writing("work", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
	p := r.watching("p")
	r.play()
	r.wantRun(core.RunDone, core.NaturalEnd)
	// c3 again: the body of c2 has written
	for call, want := range map[string]int{"c1": 1, "c2": 1, "c3": 2} {
		if got := p.times("tool_gate " + call); got != want {
			t.Errorf("the gate of %s was asked %d times, want %d", call, got, want)
		}
	}
}

// The last verdict before a body counts, however often the call was allowed before.
func TestABodyRestsOnAVerdictForTheStateThatItSees(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		for _, effect := range []core.Effect{core.Deny, core.Block, core.Ask} {
			t.Run(fmt.Sprintf("%s once two have run, parallel %v", effect, parallel), func(t *testing.T) {
				r := newRig(t, roundOf(5, "work"), says("done"))
				r.terms.Parallel = parallel
				var saw []string
				r.tool("work", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
					if string(s.Get(core.RunScope, "n")) >= "2" {
						return core.Verdict{Effect: effect, Reason: "two are enough"}
					}
					return core.Verdict{Effect: core.Allow}
				}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
					r.mu.Lock()
					defer r.mu.Unlock()
					saw = append(saw, string(req.State.Get(core.RunScope, "n")))
					req.State.Add(core.RunScope, "n", 1)
					return core.Outcome{Text: "did"}, nil
				}})
				r.play()
				want := []string{"", "1"}
				if parallel {
					// they begin together, on one state
					want = []string{"", "", "", "", ""}
				}
				if !slices.Equal(saw, want) {
					t.Errorf("bodies saw n=%q, want %q", saw, want)
				}
			})
		}
	}
	t.Run("approved calls of a sequential round, too", func(t *testing.T) {
		r := newRig(t, roundOf(4, "work"), says("done"))
		r.tool("work", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
			if string(s.Get(core.RunScope, "n")) >= "2" {
				return core.Verdict{Effect: core.Deny, Reason: "two are enough"}
			}
			return core.Verdict{Effect: core.Ask}
		}, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
			req.State.Add(core.RunScope, "n", 1)
			return core.Outcome{Text: "did"}, nil
		}})
		r.play()
		for i := range 4 {
			r.must(r.decide(fmt.Sprint("c", i+1), resume(fmt.Sprint("d", i+1), `true`)))
		}
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan(`work{"n":1}`, `work{"n":2}`)
	})
	t.Run("a hook before a body writes: the calls beside it that have not begun are asked again", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "once", `{}`), call("c2", "work", `{}`)), says("done"))
		r.terms.Parallel = true
		r.tool("once", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
		r.tool("work", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
			if s.Get(core.RunScope, "begun") != nil {
				return core.Verdict{Effect: core.Deny}
			}
			return core.Verdict{Effect: core.Allow}
		}})
		r.watching("p").wants(core.BeforeToolExecute, adds("begun", "1"))
		r.play()
		r.wantRan("once{}")
	})
	t.Run("edited arguments are asked about, on the same state", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "work", `{"n":1}`), call("c2", "slow", `{}`)), says("done"))
		r.tool("work", toolRule{gate: func(c core.ToolCall, _ core.State) core.Verdict {
			if string(c.Arguments) == `{"n":2}` {
				return core.Verdict{Effect: core.Deny}
			}
			return core.Verdict{Effect: core.Ask}
		}})
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			// while the activation that has asked the gate goes on
			d := resume("d", `true`)
			d.Arguments = []byte(`{"n":2}`)
			return core.Outcome{Text: "slow"}, r.decide("c1", d)
		}})
		r.play()
		r.wantRan("slow{}")
	})
	t.Run("a plan that is made again with a decision between its writes", func(t *testing.T) {
		r := newRig(t, calls(call("c0", "elsewhere", `{}`), call("e", "echo", `{}`), call("c1", "work", `{}`), call("c2", "last", `{}`)), says("done"))
		r.tool("elsewhere", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.tool("work", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
			if s.Get(core.RunScope, "c0") == nil {
				return core.Verdict{Effect: core.Deny}
			}
			return core.Verdict{Effect: core.Allow}
		}})
		r.tool("last", toolRule{gate: func(_ core.ToolCall, s core.State) core.Verdict {
			if s.Get(core.RunScope, "c1") != nil {
				return core.Verdict{Effect: core.Ask}
			}
			return core.Verdict{Effect: core.Deny}
		}})
		r.watching("p").at[core.AfterToolExecute] = func(v visit) (core.Effects, error) {
			switch {
			// one write, whichever of them it is
			case v.call.ID == "c0", v.call.ID == "c1" && v.outcome.Failed:
				return sets(v.call.ID, "true"), nil
			}
			return core.Effects{}, nil
		}
		closing := &beforeClosing{Store: r.db, do: func() { r.must(r.decide("c0", resume("d", `"done there"`))) }}
		r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			closing.armed = true
			return core.Outcome{Text: "echo"}, nil
		}})
		r.store = closing
		r.build(engine.Options{})
		r.play()
		if closing.armed {
			t.Fatal("no commit was refused")
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("echo{}", "work{}")
	})
}

// beforeClosing does something while the first commit that closes a door is on its way, once it is
// armed.
type beforeClosing struct {
	engine.Store
	armed bool
	do    func()
}

func (b *beforeClosing) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if b.armed && req.AllSeen {
		b.armed = false
		b.do()
	}
	return b.Store.Commit(ctx, req)
}

// BenchmarkGates is a round of 40 calls whose gate looks at the state, which each body writes to.
// gates/round is how often it was asked.
func BenchmarkGates(b *testing.B) {
	const n = 40
	for name, parallel := range map[string]bool{"sequential": false, "parallel": true} {
		b.Run(name, func(b *testing.B) {
			asked := 0
			for b.Loop() {
				b.StopTimer()
				r := newRig(b, roundOf(n, "work"), says("done"))
				r.terms.Parallel = parallel
				r.writing("work", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
				p := r.watching("p")
				r.start("hi")
				b.StartTimer()
				r.work()
				asked += p.times("tool_gate")
			}
			b.ReportMetric(float64(asked)/float64(b.N), "gates/round")
		})
	}
}
