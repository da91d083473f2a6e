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

func dollarsPart(says string) part {
	return amount(says).with(part{"minimum": 0, "maximum": 999_999_999})
}

func pricePart() part {
	return closed("What a million tokens cost, in dollars with at most six digits behind the point. Runs show their cost, and max_cost and budget.cost need it. The price is part of the agent's version: a new price counts for new runs.", part{
		"input":       dollarsPart("Input tokens."),
		"output":      dollarsPart("Output tokens."),
		"cache_read":  dollarsPart("Input tokens read from the provider's cache. Default: as input."),
		"cache_write": dollarsPart("Input tokens written to the provider's cache. Default: as input."),
	}, "input", "output")
}

func costBudgetPart() part {
	return closed("What runs may cost, in dollars, from model.price.", part{
		"run":         dollarsPart("The budget of a run. A run may exceed it by one step, whose tokens are not known before. 0 is no limit."),
		"day":         dollarsPart("The budget of all runs of the agent and tenant that start on one day (UTC). When it is used up, or a cost is unknown, starts are refused with budget_exceeded until midnight. Open runs continue. 0 is no limit."),
		"on_exceeded": word("Of run. end (default): the run ends with max_cost, as with the stop rule. ask: the tool calls of the step still run; then the run waits for an approval. A yes allows as much again, a no ends it.", exceededEnd, exceededAsk),
	}).holds(when(valued("on_exceeded", exceededAsk), given("run").with(part{"properties": part{"run": part{"exclusiveMinimum": 0}}})))
}

// needsPrice is the condition that a limit of costs comes with the model's price.
func needsPrice() part {
	above := func(name string) part {
		return part{"type": "object", "required": []string{name}, "properties": part{name: part{"exclusiveMinimum": 0}}}
	}
	within := func(name string, value part) part {
		return part{"type": "object", "required": []string{name}, "properties": part{name: value}}
	}
	return when(part{"anyOf": []part{within("stop", part{"contains": above("max_cost")}), within("stop", part{"contains": above("usd")}),
		within("budget", within("cost", above("run"))), within("budget", within("cost", above("day")))}}, part{"properties": part{"model": given("price")}})
}
