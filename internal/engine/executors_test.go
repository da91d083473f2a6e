package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// script is a random conversation: what the model asks for, and what the agent's terms are.
type script struct {
	turns []core.Turn
	steps int // the budget of a step
}

// plainTools neither read nor write the state; writers write, in ways that others may at the same
// time, and do not tell what they saw.
var (
	plainTools = []string{"echo", "calc", "bad", "panics", "pay", "upload", "wizard", "closed", "given", "invalid", "nope"}
	writers    = []string{"count", "tag", "ask_and_count"}
)

func randomScript(rng *rand.Rand, tools []string) script {
	s := script{}
	if rng.IntN(3) == 0 {
		s.steps = 1 + rng.IntN(4)
	}
	for range 1 + rng.IntN(4) {
		turn := core.Turn{Text: strings.Repeat("x", rng.IntN(3))}
		for i := range 1 + rng.IntN(6) {
			id := fmt.Sprint("c", i) // repeated in each turn, as models do
			turn.Calls = append(turn.Calls, call(id, tools[rng.IntN(len(tools))], fmt.Sprintf(`{"n":%d}`, rng.IntN(1000))))
		}
		s.turns = append(s.turns, turn)
	}
	s.turns = append(s.turns, says("done"))
	return s
}

// perform plays a script to its end, in the given terms, answering each waiting call as its id
// says, in random order.
func (s script) perform(t *testing.T, rng *rand.Rand, terms core.Terms) *rig {
	r := newRig(t, s.turns...)
	r.terms = terms
	r.terms.StepCalls = s.steps
	r.cast()
	r.start("hi")
	r.work()
	for range 60 {
		h := r.head()
		if h.Status == core.RunDone {
			break
		}
		if rng.IntN(2) == 0 {
			r.build(engine.Options{})
		}
		waiting := r.waitingCalls()
		id := waiting[rng.IntN(len(waiting))]
		r.must(r.decide(id, answerTo(id, h.Calls[id].Kind)))
		if rng.IntN(2) == 0 {
			r.work()
		}
		if len(waiting) == 1 {
			r.work()
		}
	}
	r.wantEnd(core.NaturalEnd, "")
	wellFormed(t, core.TranscriptOf(r.log()))
	return r
}

// waitingCalls are the calls that wait and have no answer yet.
func (r *rig) waitingCalls() (ids []string) {
	h := r.head()
	for id, c := range h.Calls {
		if _, answered := h.Inbox[c.Sus]; c.Status == core.CallSuspended && !answered {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		r.t.Fatalf("the run is %s and waits for nothing: %+v", h.Status, h.Calls)
	}
	return ids
}

// answerTo is a decision that depends on the call alone.
func answerTo(id string, kind core.Kind) core.Resume {
	sum := fnv.New32()
	_, _ = sum.Write([]byte(id))
	switch {
	case sum.Sum32()%3 == 0:
		return cancelled("d"+id, "no for "+id)
	case kind == core.KindClient:
		return resume("d"+id, `"sent for `+id+`"`)
	}
	return resume("d"+id, `{"approved":true}`)
}

// cast gives the rig the tools of scripts.
func (r *rig) cast() {
	r.ask("pay")
	r.tool("bad", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{}, errors.New("no luck")
	}})
	r.tool("panics", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) { panic("secret") }})
	r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
	r.tool("closed", toolRule{effect: core.Deny, reason: "it is late"})
	r.tool("given", toolRule{gate: func(core.ToolCall, core.State) core.Verdict {
		return core.Verdict{Effect: core.SetResult, Result: &core.Outcome{Text: "given"}}
	}})
	r.tool("invalid", toolRule{effect: core.Ask, invalid: "n is too round"})
	r.tool("wizard", toolRule{effect: core.Allow, body: waitsOnce(func(*pad.Pad) {})})
	r.tool("ask_and_count", toolRule{effect: core.Allow, body: waitsOnce(func(s *pad.Pad) { s.Add(core.RunScope, "n", 100) })})
	r.tool("count", toolRule{effect: core.Allow, body: writes(func(s *pad.Pad) { s.Add(core.ThreadScope, "n", 1) })})
	r.tool("tag", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		req.State.Insert(core.RunScope, "tags", string(req.Call.Arguments))
		return core.Outcome{Text: "tagged"}, nil
	}})
}

type body = func(context.Context, engine.ToolRequest) (core.Outcome, error)

func writes(write func(*pad.Pad)) body {
	return func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		write(req.State)
		return core.Outcome{Text: req.Call.Name + " wrote"}, nil
	}
}

// waitsOnce is a body that asks before it does anything, and writes each time.
func waitsOnce(write func(*pad.Pad)) body {
	return func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		write(req.State)
		if req.Resume == nil {
			return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.PassDecisionToTool}}, nil
		}
		return core.Outcome{Text: "told " + string(req.Resume.Result)}, nil
	}
}

// TestExecutorsAgree plays random rounds one after the other and side by side. Each prompt on the
// way is held to I-7 by the rig's model.
func TestExecutorsAgree(t *testing.T) {
	for seed := range uint64(24) {
		tools := plainTools
		if seed%2 == 1 {
			tools = slices.Concat(plainTools, writers, writers)
		}
		rng := rand.New(rand.NewPCG(seed, 4))
		s := randomScript(rng, tools)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			one, many := s.perform(t, rng, core.Terms{}), s.perform(t, rng, core.Terms{Parallel: true})
			many.wantConversation(one.conversation()...)
			if a, b := string(core.Encode(one.state())), string(core.Encode(many.state())); a != b {
				t.Errorf("the state is %s one after the other and %s side by side", a, b)
			}
			if a, b := one.head(), many.head(); a.ToolCalls != b.ToolCalls || a.Step != b.Step || a.Wrote != b.Wrote {
				t.Errorf("counted %+v %+v one after the other and %+v %+v side by side", a.Counters, a.Budget, b.Counters, b.Budget)
			}
			slices.Sort(one.keys)
			slices.Sort(many.keys)
			if !slices.Equal(one.keys, many.keys) {
				t.Errorf("bodies ran under the keys %v and %v", one.keys, many.keys)
			}
		})
	}
}

// TestEveryPromptIsWellFormed plays the same scripts where the model is asked while calls wait:
// what it says then differs, and I-7 holds.
func TestEveryPromptIsWellFormed(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := randomScript(rng, slices.Concat(plainTools, writers))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			for len(s.turns) < 40 { // late results bring more turns
				s.turns = append(s.turns, says("still done"))
			}
			s.perform(t, rng, core.Terms{Continue: true, Parallel: seed%2 == 0})
		})
	}
}
