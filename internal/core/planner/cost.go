package planner

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/answer"
	"github.com/dormouse-dev/dormouse/internal/core/budget"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// What a run costs is counted with each answer of the model, at the price that the worker knows
// then. Later prices do not change it. A run that has reached its limit ends, or waits before its
// next model call until a person allows it as much again. A run whose cost is not known ends: no
// approval makes it known, so the next model call would ask again.
//
//	foldTurn ── countCost ── overCost: end
//	next ── mustAskForCost ── waitForCost … settleCostAsk: raise, or end

// countCost adds what a turn cost. One turn without a known cost makes that of the run unknown.
func (d *draft) countCost(t core.Turn) {
	d.h.Cost, d.h.Priced = budget.After(d.v.Head, t, d.v.Rules.Terms().Price)
}

// budget is what limits the cost of the run, and of the runs below it.
func (d *draft) budget() budget.Budget { return budget.Of(d.h, d.v.Rules.Terms().RunCost) }

// overCost is why a turn that does not end the run ends it by its cost; nil if it does not, or if a
// person is asked instead.
func (d *draft) overCost(ends bool) *core.Reason {
	if ends || d.budget().MayAsk() {
		return nil
	}
	if detail, reached := d.budget().Reached(); reached {
		return &core.Reason{Kind: core.Stopped, Code: stoprule.CodeMaxCost, Detail: detail}
	}
	return nil
}

// mustAskForCost says whether the next model call needs an approval of what it costs.
func (d *draft) mustAskForCost() bool {
	_, reached := d.budget().Reached()
	return reached && d.h.Step > 0 && d.budget().MayAsk()
}

// costAsk begins the ids of the synthetic calls by which a run asks for more.
const costAsk = "cost:"

// waitForCost makes the run wait for a person who allows it as much again.
func (d *draft) waitForCost() (plans.Plan, error) {
	if err := d.askForCost(); err != nil {
		return nil, err
	}
	return d.releaseWaiting()
}

func (d *draft) askForCost() error {
	limit := d.v.Rules.Terms().RunCost.Most
	return d.suspendRunAs(costAsk+d.v.Fresh(), core.KindApproval, core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Suspension: core.Suspension{Action: "continue",
		Message: fmt.Sprintf("This run has cost $%s, and its budget is $%s. Approve to continue with $%s more; deny to end the run.", d.budget().Spent(), d.budget().Own(), limit)}})
}

// settleCostAsk raises the run's limit after a yes, and ends the run after a no. An earlier program
// stored whatever was sent as the result, so that is read again: only a clear yes spends money.
func (d *draft) settleCostAsk(call core.ToolCall, rec core.DecisionRecord) error {
	if rec.Approves() && answer.Allows(rec.Result) {
		d.h.CostRaises++
		return d.settleCall(call, core.CallSucceeded, core.CallOutcomeSucceeded, core.Message{})
	}
	d.over = d.costRefused(cmp.Or(rec.Error, rec.Reason, "more was denied"))
	return d.settleCall(call, core.CallCancelled, refusedBy(core.KindApproval).OrTimedOut(rec), core.Message{})
}

func (d *draft) costRefused(why string) *core.Reason {
	detail, _ := d.budget().Reached()
	return &core.Reason{Kind: core.Stopped, Code: stoprule.CodeMaxCost, Detail: detail + "; " + why}
}

func asksForCost(id string) bool { return strings.HasPrefix(id, costAsk) }
