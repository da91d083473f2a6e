package callgraph

import (
	"fmt"
	"maps"
	"slices"
)

// Unpriced finds calls that lead to an agent whose model has no price, although the caller limits
// what its runs cost. Such a run ends when the agent has answered, unless the operator's table has
// the price.
func (a Agents) Unpriced() (problems []Problem) {
	defined, calls := a.byName(), map[string][]call{}
	for _, c := range a.calls() {
		calls[c.from] = append(calls[c.from], c)
	}
	names := slices.Sorted(maps.Keys(defined))
	for _, from := range names {
		if !defined[from].LimitsRunCost() {
			continue
		}
		for _, to := range names {
			model := defined[to].Model
			chain := shortest(calls, from, to)
			if model.Price != nil || chain == nil {
				continue
			}
			where := fmt.Sprintf("set model.price in %s", to)
			if model.ID != "" {
				where += ", or list its model in the file of --prices"
			}
			problems = append(problems, chain[0].problem("the tool %s leads to the agent %q, which has no price: what a run costs isn't known then, so it ends with max_cost; %s",
				chain[0].tool, to, where))
		}
	}
	return problems
}
