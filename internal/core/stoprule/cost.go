package stoprule

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// maxCost ends a run that has reached its limit, before it runs the calls of the answer that did. A
// cost that is not known ends it, too: the limit could not be kept.
type maxCost core.USD

func (usd maxCost) IsLimit() {}

func (usd maxCost) Stop(p core.Progress) (code, detail string, stop bool) {
	detail, stop = CostReached(core.USD(usd), p.Cost, p.Priced, p.UnpricedAgent)
	return CodeMaxCost, detail, stop
}

// CodeMaxCost is the code of a run that ended because of what it cost.
const CodeMaxCost = "max_cost"

// CostReached says whether a run has used up a limit of its cost, and why. A limit of 0 is none. If
// the cost is not known, unpriced is the agent that made it so, or empty.
func CostReached(limit, cost core.USD, known bool, unpriced string) (detail string, reached bool) {
	switch {
	case limit == 0:
		return "", false
	case !known:
		of := "a model call"
		if unpriced != "" {
			of += " of the agent " + unpriced
		}
		return "the cost of " + of + " is not known, so the limit of $" + limit.String() + " can't be kept", true
	}
	return "$" + cost.String() + " of $" + limit.String(), cost >= limit
}
