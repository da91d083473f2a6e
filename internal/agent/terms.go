package agent

import (
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Budget limits tool calls, and what a run costs; 0 means no limit. A call beyond it fails, and the
// model sees why.
type Budget struct {
	Step int `json:"step,omitempty"`
	Run  int `json:"run,omitempty"`

	Cost CostBudget `json:"cost,omitzero"`
}

// Deadline limits how long a call waits, and says what it comes to then.
type Deadline struct {
	Within  int64                `json:"within"` // ms
	Outcome core.DeadlineOutcome `json:"then,omitempty"`
	Result  json.RawMessage      `json:"result,omitempty"` // of core.DeadlineResult
}

// of is the deadline for a wait of that kind. A result that the definition sets in advance can
// replace an answer, but not a person's approval or report of a call's outcome: that call fails.
func (d Deadline) of(kind core.Kind) core.Deadline {
	out := core.Deadline{Within: d.Within, Outcome: d.Outcome, Result: d.Result}
	if d.Outcome == core.DeadlineResult && kind != core.KindClient && kind != core.KindInput && kind != core.KindChild {
		out.Outcome, out.Result = core.DeadlineFail, nil
	}
	return out
}

// deadline is that of the tool, if it has one, else that of the kind of wait.
func (d Definition) deadline(tool string, kind core.Kind) core.Deadline {
	if t, ok := d.Tool(tool); ok && t.Deadline != nil {
		return t.Deadline.of(kind)
	}
	return d.Deadlines[kind].of(kind)
}

// terms compiles the stop rules. One whose stored pattern does not compile still counts: it stops
// the run.
func (d Definition) terms() (core.Terms, error) {
	t := core.Terms{Parallel: d.Parallel, Continue: d.Continue, StepCalls: d.Budget.Step, RunCalls: d.Budget.Run, Memory: d.Memory != "",
		Result: int(d.Results), Approvers: d.Approvers, Policy: d.Approval, Outage: d.Model.Outage, Yield: d.YieldWhen == YieldToNewer,
		Depth: d.MaxDepth, Children: d.MaxChildren,
		Price: d.Model.Price, RunCost: core.CostLimit{Most: d.Budget.Cost.Run, Ask: d.Budget.Cost.Ask}}
	for _, spec := range d.Stop {
		rule, err := spec.Rule()
		if rule == nil {
			return core.Terms{}, fmt.Errorf("agent %s: %w", d.Name, err)
		}
		t.Stops = append(t.Stops, rule)
	}
	return t, nil
}

// Tool is the tool of that name, as the definition says it.
func (d Definition) Tool(name string) (Tool, bool) {
	for _, t := range d.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Has says whether the definition has a tool of that name.
func (d Definition) Has(tool string) bool {
	_, ok := d.Tool(tool)
	return ok
}

// MayAsk says whether the definition can put a call of the tool behind an approval.
func (d Definition) MayAsk(t Tool) bool {
	if _, gated := d.Permissions.AsksFor(d.Subject(t.Name)); gated {
		return true
	}
	if t.Client || d.Permissions.Default != core.Ask {
		return false
	}
	for _, r := range d.Permissions.Allow {
		if len(r.When) == 0 && r.aimed(d.Subject(t.Name), nil) == Yes {
			return false
		}
	}
	return true
}
