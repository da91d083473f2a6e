package agentfile_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// priced is an agent whose model has this price.
func priced(price, more string) string {
	return "model:\n  provider: scripted\n  turns: [{say: a}]\n  price: " + price + "\n" + more
}

func TestPricesAndLimitsKeepEveryDigit(t *testing.T) {
	d, err := agentfile.Parse("a.yaml", []byte(priced("{input: 0.000001, output: 15}", "stop: [{max_cost: 0.30}]\nbudget: {cost: {run: 0.07, day: 9.99, on_exceeded: ask}}\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (core.Price{Input: 1, Output: 15_000_000, CacheRead: 1, CacheWrite: 1}); *d.Model.Price != want {
		t.Errorf("the price is %+v, want %+v", *d.Model.Price, want)
	}
	if d.Stop[0].USD != 300_000 || d.Budget.Cost != (agent.CostBudget{Run: 70_000, Day: 9_990_000, Ask: true}) {
		t.Errorf("the limits are %v and %v", d.Stop[0].USD, d.Budget.Cost)
	}
	back, err := agent.Decode(d.Encode())
	if err != nil || back.Digest() != d.Digest() || *back.Model.Price != *d.Model.Price {
		t.Errorf("stored as %s and read as %+v (%v)", d.Encode(), back, err)
	}
}

func TestMistakesInCostsAreNamed(t *testing.T) {
	const price = "{input: 1, output: 1}"
	const needed = "need the price of the model; add price"
	for text, want := range map[string]string{
		head + "stop: [{max_cost: 1}]":                                 needed,
		head + "stop: [{type: max_cost, usd: 1}]":                      needed,
		head + "budget: {cost: {run: 1}}":                              needed,
		priced(price, "budget: {cost: {on_exceeded: ask}}"):            "on_exceeded: ask needs run",
		priced(price, "budget: {cost: {run: 0, on_exceeded: ask}}"):    "on_exceeded: ask needs run",
		priced(price, "budget: {cost: {run: 1, on_exceeded: refuse}}"): "on_exceeded",
		priced(price, "budget: {cost: 1}"):                             "cost is a number",
		priced(price, "budget: {cost: {run: '1'}}"):                    "run must be a number of dollars",
		priced(price, "stop: [{max_cost: -1}]"):                        "max_cost: write an amount of dollars",
		priced(price, "stop: [{max_cost: 1e3}]"):                       "max_cost: write an amount of dollars",
		priced(price, "stop: [{max_cost: 0.1234567}]"):                 "at most six digits",
		priced("{input: 1}", ""):                                       "price needs input and output",
		priced("{input: 1, output: .nan}", ""):                         "output: write an amount of dollars",
		priced("1", ""):                                                "price is a number",
	} {
		_, err := agentfile.Parse("a.yaml", []byte(text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v does not contain %q", text, err, want)
		}
	}
	for _, text := range []string{head + "stop: [{max_cost: 0}]", head + "budget: {cost: {run: 0}}", head + "budget: {cost: {}}"} {
		if _, err := agentfile.Parse("a.yaml", []byte(text), nil); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
