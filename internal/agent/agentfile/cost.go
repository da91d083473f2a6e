package agentfile

import (
	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// dollars reads an amount of dollars and keeps every digit; 0 if n is nil.
func (s *source) dollars(n *yaml.Node, name string) core.USD {
	if n == nil {
		return 0
	}
	usd, err := core.ParseUSD(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float":
		s.Refuse(n, "%s must be a number of dollars, such as 0.50 or 20", name)
	case err != nil:
		s.Refuse(n, "%s: %v", name, err)
	}
	return usd
}

func inDollars(s *source, n *yaml.Node, name string, spec *stoprule.Spec) {
	spec.USD = s.dollars(n, name)
}

// price reads what a million tokens of the model cost; nil if n is nil. Tokens of the cache cost as
// much as others unless it says something else.
func (s *source) price(n *yaml.Node) *core.Price {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "price")
	if !ok {
		return nil
	}
	defer o.Close()
	p := core.Price{Input: s.dollars(o.Take("input"), "input"), Output: s.dollars(o.Take("output"), "output")}
	p.CacheRead, p.CacheWrite = p.Input, p.Input
	for name, place := range map[string]*core.USD{"cache_read": &p.CacheRead, "cache_write": &p.CacheWrite} {
		if own := o.Take(name); own != nil {
			*place = s.dollars(own, name)
		}
	}
	if o.Member("input") == nil || o.Member("output") == nil {
		s.Refuse(n, "price needs input and output: dollars for a million tokens")
	}
	return &p
}

const (
	exceededEnd = "end"
	exceededAsk = "ask"
)

func (s *source) costBudget(n *yaml.Node) agent.CostBudget {
	if n == nil {
		return agent.CostBudget{}
	}
	o, ok := s.Object(n, "cost")
	if !ok {
		return agent.CostBudget{}
	}
	defer o.Close()
	b := agent.CostBudget{Run: s.dollars(o.Take("run"), "run"), Day: s.dollars(o.Take("day"), "day"), Ask: o.One("on_exceeded", exceededEnd, exceededAsk) == exceededAsk}
	if b.Ask && b.Run == 0 {
		s.Refuse(n, "on_exceeded: ask needs run: how much a run may cost before a person is asked")
	}
	return b
}

// priced refuses a limit of costs without the price of the model: it would never be reached.
func (s *source) priced(o *object, d agent.Definition) {
	if d.LimitsCost() && d.Model.Price == nil && d.Model.Provider != "" {
		s.Refuse(o.Member("model"), "max_cost and budget.cost need the price of the model; add price: {input: DOLLARS, output: DOLLARS} for a million tokens to model")
	}
}
