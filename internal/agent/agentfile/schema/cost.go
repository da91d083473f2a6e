package schema

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
		"on_exceeded": word("Of run. end (default): the run ends with max_cost, as with the stop rule. ask: the tool calls of the step still run; then the run waits for an approval. A yes allows as much again, a no ends it.", "end", "ask"),
	}).holds(when(valued("on_exceeded", "ask"), given("run").with(part{"properties": part{"run": part{"exclusiveMinimum": 0}}})))
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
