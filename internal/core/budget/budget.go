// Package budget says how much a run, together with the runs below it, may cost. Two limits hold:
// the definition's, which approvals may raise, and the allowance that the parent gave, which they
// may not.
package budget

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// Of is the budget of the run in a head; limit is the definition's.
func Of(h core.Head, limit core.CostLimit) Budget {
	tree := h.Record().Tree()
	return Budget{spent: core.USD(tree.Cost).Plus(core.USD(tree.Forfeited)), known: h.Priced && !h.Below.Unpriced, own: limit.Most.Times(1 + h.CostRaises),
		allowance: core.USD(h.Allowance), ask: limit.Ask, unpriced: tree.UnpricedAgent}
}

// Budget is what limits the cost of a run.
type Budget struct {
	spent, own, allowance core.USD
	known, ask            bool
	unpriced              string // the agent that made it unknown
}

// Spent is what the run and the runs below it that have ended have cost, and what those that were
// given up may have.
func (b Budget) Spent() core.USD { return b.spent }

// Own is the limit that the definition sets, with the raises that were approved; 0 for none.
func (b Budget) Own() core.USD { return b.own }

// Reached says whether a limit is used up, and why.
func (b Budget) Reached() (detail string, reached bool) {
	if detail, reached = stoprule.CostReached(b.allowance, b.spent, b.known, b.unpriced); reached {
		return detail, true
	}
	return stoprule.CostReached(b.own, b.spent, b.known, b.unpriced)
}

// MayAsk says whether a person may allow the run more: if its cost is known, and what is used up is
// not its allowance.
func (b Budget) MayAsk() bool {
	_, given := stoprule.CostReached(b.allowance, b.spent, true, "")
	return b.known && !given && b.ask
}

// Share is what each of several children may cost that are started together, 0 for no limit; spent
// says that nothing is left for them. What was given to children that have not ended counts as
// spent: so the tree never costs more than its root may.
func (b Budget) Share(given core.USD, starting int) (usd core.USD, spent bool) {
	left, limited := core.USD(0), false
	for _, limit := range []core.USD{b.own, b.allowance} {
		if rest := limit - b.spent - given; limit > 0 && (!limited || rest < left) {
			left, limited = rest, true
		}
	}
	if !limited {
		return 0, false
	}
	usd = left / core.USD(max(1, starting))
	return usd, usd <= 0
}

// After is what the run has cost after a turn, in millionths of a dollar, and whether that is
// known; h is the head before it.
func After(h core.Head, t core.Turn, price *core.Price) (cost int64, known bool) {
	if price == nil || !h.Priced && (h.Step != 0 || h.Yields != 0) {
		return 0, false
	}
	own, known := price.Of(t)
	if !known {
		return 0, false
	}
	return int64(core.USD(h.Cost).Plus(own)), true
}
