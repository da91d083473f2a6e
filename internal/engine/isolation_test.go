package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// effectPhases are the phases whose hooks have effects.
func effectPhases() []core.Phase {
	return slices.DeleteFunc(slices.Clone(core.Phases), func(p core.Phase) bool { return p == core.ToolGate })
}

func TestHooksAreIsolatedInWhatTheyWrite(t *testing.T) {
	for _, phase := range effectPhases() {
		t.Run("C61 "+phase.String()+": the second does not see what the first writes; both writes are there after", func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			saw := "not called"
			once := func(p *probe, f func(*pad.Pad)) {
				done := false
				p.does(phase, func(v visit) {
					if !done {
						done = true
						f(v.State)
					}
				})
			}
			once(r.watching("first"), func(s *pad.Pad) { r.must(s.Set(core.RunScope, "a", 1)) })
			once(r.watching("second"), func(s *pad.Pad) {
				saw = string(s.Get(core.RunScope, "a"))
				r.must(s.Set(core.RunScope, "b", 2))
			})
			r.play()
			if saw != "" {
				t.Errorf("the second saw %q", saw)
			}
			r.wantState(core.RunScope, "a", "1")
			r.wantState(core.RunScope, "b", "2")
		})
		t.Run("C64 "+phase.String()+": two hooks that write one key end the run, nothing of it applied", func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			r.watching("first").wants(phase, sets("k", "1"))
			r.watching("second").wants(phase, sets("k", "2"))
			r.play()
			if phase == core.RunEnd { // it ends anyway, and not otherwise
				r.wantEnd(core.NaturalEnd, "")
			} else {
				r.wantEnd(core.Failed, "state_conflict")
			}
			r.wantState(core.RunScope, "k", "")
			wellFormed(t, core.TranscriptOf(r.log()))
		})
		t.Run(phase.String()+": hooks that add to one number do not conflict", func(t *testing.T) {
			r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
			p := r.watching("first")
			p.wants(phase, adds("n", "1"))
			r.watching("second").wants(phase, adds("n", "10"))
			r.play()
			r.wantState(core.RunScope, "n", fmt.Sprint(11*p.times(phase.String())))
		})
	}
	t.Run("what a hook writes is seen by the hooks of the next phase, the gates and the bodies", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "counter", `{}`)), says("done"))
		saw := map[core.Phase]string{}
		p := r.watching("p")
		for _, phase := range effectPhases() {
			p.does(phase, func(v visit) {
				if _, again := saw[phase]; !again {
					saw[phase] = string(v.State.Get(core.RunScope, "n"))
				}
				v.State.Add(core.RunScope, "n", 1)
			})
		}
		p.gate = func(_ core.ToolCall, s core.State) *core.Verdict {
			saw[core.ToolGate] = string(s.Get(core.RunScope, "n"))
			return nil
		}
		r.writing("counter", func(s *pad.Pad) { s.Add(core.RunScope, "n", 1) })
		r.play()
		want := map[core.Phase]string{core.RunStart: "", core.StepStart: "1", core.BeforeInference: "2", core.AfterInference: "3", core.ToolGate: "4",
			core.BeforeToolExecute: "4", core.AfterToolExecute: "6", core.StepEnd: "7", core.RunEnd: "12"}
		for phase, n := range want {
			if saw[phase] != n {
				t.Errorf("%s saw n=%q, want %q", phase, saw[phase], n)
			}
		}
		if got := r.resultOf("c1"); got != "counter saw n=5" {
			t.Errorf("the body: %s", got)
		}
		r.wantState(core.RunScope, "n", "13")
	})
	t.Run("of two phases that write one key the later counts", func(t *testing.T) {
		for i, later := range effectPhases()[1:] {
			earlier := effectPhases()[i]
			r := newRig(t, calls(call("c1", "echo", `{}`)))
			r.stopping(t, stoprule.Spec{Type: "max_rounds", Rounds: 2})
			p := r.watching("p")
			once := map[core.Phase]bool{}
			for _, phase := range []core.Phase{earlier, later} {
				p.at[phase] = func(visit) (core.Effects, error) {
					if once[phase] {
						return core.Effects{}, nil
					}
					once[phase] = true
					return sets("k", `"`+phase.String()+`"`), nil
				}
			}
			r.play()
			r.wantState(core.RunScope, "k", `"`+later.String()+`"`)
		}
	})
}

func TestHooksFail(t *testing.T) {
	for _, phase := range effectPhases() {
		for _, c := range []struct {
			how  string
			fail func(visit) (core.Effects, error)
			note string
		}{
			{"an error", func(v visit) (core.Effects, error) {
				v.State.Add(core.RunScope, "bad", 1)
				return adds("bad", "1"), errors.New("no disk")
			}, "no disk"},
			{"a panic", func(v visit) (core.Effects, error) {
				v.State.Add(core.RunScope, "bad", 1)
				panic("at the disco")
			}, "unexpectedly"},
		} {
			t.Run(phase.String()+": "+c.how+" is journaled; the others' effects count, its own do not", func(t *testing.T) {
				r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
				before, bad, after := r.watching("before"), r.watching("bad"), r.watching("after")
				before.wants(phase, adds("n", "1"))
				bad.at[phase] = c.fail
				after.wants(phase, adds("n", "10"))
				r.play()
				r.wantEnd(core.NaturalEnd, "")
				times := before.times(phase.String())
				if bad.times(phase.String()) != times || after.times(phase.String()) != times || times == 0 {
					t.Errorf("called %d, %d and %d times", times, bad.times(phase.String()), after.times(phase.String()))
				}
				r.wantState(core.RunScope, "n", fmt.Sprint(11*times))
				r.wantState(core.RunScope, "bad", "")
				r.wantHookFailures(times, "hook bad, "+phase.String()+": ", c.note)
				refused := phase == core.BeforeToolExecute
				if ran := len(r.ran) == 1; ran == refused {
					t.Errorf("bodies ran: %v", r.ran)
				}
				if refused && !strings.Contains(r.resultOf("c1"), "Not run: bad: ") {
					t.Errorf("the model is told %q", r.resultOf("c1"))
				}
			})
		}
	}
	t.Run("a panic of a gate denies the call and the run goes on", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{}`), call("c2", "calc", `{}`)), says("done"))
		r.watching("p").gate = func(c core.ToolCall, _ core.State) *core.Verdict {
			if c.ID == "c1" {
				panic("at the disco")
			}
			return nil
		}
		r.play()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan("calc{}")
		if got := r.resultOf("c1"); !strings.HasPrefix(got, "Not allowed: ") || strings.Contains(got, "disco") {
			t.Errorf("the model is told %q", got)
		}
	})
	t.Run("what a panic said stays in the log of the worker", func(t *testing.T) {
		r := newRig(t, says("done"))
		r.watching("bad").does(core.StepStart, func(visit) { panic("secret") })
		r.play()
		for _, e := range r.events() {
			if strings.Contains(string(e.Data), "secret") {
				t.Errorf("event %s tells of it: %s", e.Type, e.Data)
			}
		}
	})
	t.Run("a write that is no JSON does not take the process down", func(t *testing.T) {
		for _, op := range []core.StateOp{{Key: "k", Op: core.StateSet}, {Key: "k", Op: core.StateSet, Value: []byte(`{`)}, {Key: "k", Op: core.StateAdd, Value: []byte(`"x"`)},
			{Key: "k", Op: 77, Value: []byte(`1`)}, {Scope: 77, Key: "k", Op: core.StateSet, Value: []byte(`1`)}} {
			r := newRig(t, says("done"))
			r.watching("p").wants(core.StepStart, core.Effects{State: []core.StateOp{op}})
			r.playSafely(fmt.Sprintf("%+v", op))
		}
	})
	t.Run("a hook cannot change what other hooks or the journal see of a turn or call", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "echo", `{"a":1}`)), says("done"))
		p := r.watching("scribbler")
		p.does(core.AfterInference, func(v visit) {
			if len(v.turn.Calls) > 0 {
				v.turn.Calls[0].Name = "other"
				v.turn.Calls[0].Arguments = []byte(`{"a":2}`)
			}
		})
		r.play()
		r.wantRan(`echo{"a":1}`)
	})
}

// playSafely plays the run; a panic of the process is an error of this test alone.
func (r *rig) playSafely(what string) {
	r.t.Helper()
	defer func() {
		if p := recover(); p != nil {
			r.t.Errorf("%s: the process is lost: %v", what, p)
		}
	}()
	r.play()
	r.wantRun(core.RunDone, core.NaturalEnd)
}

// wantHookFailures counts the journaled failures of hooks and looks at their words.
func (r *rig) wantHookFailures(want int, words ...string) {
	r.t.Helper()
	n := 0
	for _, e := range r.events() {
		if e.Type != core.EventHookFailed {
			continue
		}
		n++
		for _, w := range words {
			if !strings.Contains(string(e.Data), w) {
				r.t.Errorf("journaled %s, want %q in it", e.Data, w)
			}
		}
	}
	if n != want {
		r.t.Errorf("%d failures journaled, want %d", n, want)
	}
}
