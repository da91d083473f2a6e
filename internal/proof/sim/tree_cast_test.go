package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/sim"
)

// nodeRules are the rules of an agent of a tree.
type nodeRules struct {
	n *node
	p plan
}

func (r nodeRules) kid(name string) bool {
	return slices.ContainsFunc(r.n.kids, func(kid *node) bool { return kid.name == name })
}

// Tool implements [core.Rules].
func (r nodeRules) Tool(name string) (core.ToolSpec, bool) {
	spec := core.ToolSpec{Name: name, Agent: r.kid(name), Client: name == formTool, Finish: name == core.FinishTool}
	if name == onceTool || spec.Agent && hash(name, "once")%2 == 0 {
		spec.Delivery = core.AtMostOnce
	}
	return spec, true
}

// Check implements [core.Rules].
func (nodeRules) Check(core.ToolCall) error { return nil }

// Gate implements [core.Rules].
func (r nodeRules) Gate(call core.ToolCall, _ core.State) core.Verdict {
	switch asked := r.kid(call.Name) && len(r.n.kids) < 20 && hash(call.Name, "asked")%8 == 0; {
	case call.Name == blockTool:
		return core.Verdict{Effect: core.Block, Reason: "never here"}
	case call.Name == askTool, asked:
		return core.Verdict{Effect: core.Ask}
	}
	return core.Verdict{Effect: core.Allow}
}

// Deadline implements [core.Rules].
func (r nodeRules) Deadline(call core.ToolCall, kind core.Kind) (limit core.Deadline) {
	if kind == core.KindChild {
		limit.Within, limit.Outcome = r.n.within, core.DeadlineOutcome(hash(call.Name, "deadline")%3)
		limit.Result = core.Encode("set in advance")
	} else if r.p.deadlines && hash(call.ID, string(call.Arguments))%3 == 0 {
		limit.Within = 5000 + int64(hash(string(call.Arguments))%45_000)
	}
	return limit
}

// Times implements [core.Rules].
func (nodeRules) Times(*vote.Policy, int, int64) core.Times { return core.Times{} }

// Child implements [core.Rules].
func (r nodeRules) Child(call core.ToolCall) (core.ChildSpec, bool) {
	long := strings.Repeat("a long question ", int(hash(call.Name)%3)*20)
	spec := core.ChildSpec{Agent: call.Name, Input: long + string(call.Arguments), Final: hash(call.Name, "final")%2 == 0}
	if at := slices.IndexFunc(r.n.kids, func(kid *node) bool { return kid.name == call.Name && kid.remote }); at >= 0 {
		spec.Agent, spec.Remote = "", call.Name
	}
	return spec, r.kid(call.Name)
}

// Terms implements [core.Rules].
func (r nodeRules) Terms() core.Terms { return r.n.terms }

// nodeModel answers by the place in the run, so that asking again gives the same turn.
type nodeModel struct {
	g *grove
	n *node
}

// Ask implements [engine.Model].
func (m nodeModel) Ask(ctx context.Context, p engine.Prompt) (core.Turn, error) {
	g := m.g
	if why := sim.Malformed(p.Messages, m.n.terms.Continue); why != "" {
		g.wrong("I-7: %s in %s", why, p.Run)
	}
	g.w.Yield(ctx)
	if g.faults.Rate > 0 && g.w.Happens("lost", g.faults.Rate/4) {
		g.w.Lose("in a model call")
	}
	if g.faults.Rate > 0 && g.w.Chance(g.plan.tryAgain) {
		return core.Turn{}, &engine.TryLater{Detail: "later"}
	}
	answers := 0
	for _, one := range p.Messages {
		if one.Role == core.RoleAssistant && one.RunID == p.Run {
			answers++
		}
	}
	return m.turn(p.Run, answers)
}

// turnCost is what each answer costs, in millionths of a dollar.
const turnCost = 11

func (m nodeModel) turn(run string, n int) (core.Turn, error) {
	turn := core.Turn{InputTokens: 10, OutputTokens: 1}
	if n < len(m.n.turns) {
		for i, name := range m.n.turns[n] {
			id := []string{"", "c", fmt.Sprint("c", i)}[hash(m.n.name, fmt.Sprint(n, i))%3]
			turn.Calls = append(turn.Calls, core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(fmt.Sprintf(`{"n":"%s.%d.%d"}`, m.n.name, n, i))})
		}
		return turn, nil
	}
	turn.Text = resultOf(run)
	switch m.n.end {
	case "fails":
		return core.Turn{}, errors.New("the model is out of order")
	case "stops":
		return core.Turn{}, &engine.StopError{Code: "script_ended"}
	case "finishes":
		if n == len(m.n.turns) {
			turn.Calls = []core.ToolCall{{Name: core.FinishTool, Arguments: core.Encode(map[string]string{"output": turn.Text, "response_state": "done"})}}
		}
	}
	return turn, nil
}

// resultOf is what a run leaves: some fit into a head, and some do not.
func resultOf(run string) string {
	return "the result of " + run + strings.Repeat(".", int(hash(run)%3)*400)
}

// Run is every tool's body.
func (g *grove) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	g.kin.bodyBegins(req)
	if once := req.AtMostOnce; once {
		if g.ran[req.Key]++; g.ran[req.Key] > 1 {
			g.wrong("an at-most-once body ran twice under key %s (%s)", req.Key, req.Call.Name)
		}
	}
	g.faults.Counts["bodies"]++
	g.w.Yield(ctx)
	if g.w.Happens("slow", g.faults.Pause) {
		_ = g.w.Sleep(ctx, g.w.Upto(2*lease))
	} else if g.w.Happens("long", 0.1) {
		_ = g.w.Sleep(ctx, g.w.Upto(lease/2))
	}
	if g.w.Happens("lost", g.faults.Rate/4) {
		g.faults.Counts["lost in a body"]++
		g.w.Lose("in a body")
	}
	return core.Outcome{Text: "did " + string(req.Call.Arguments)}, nil
}
