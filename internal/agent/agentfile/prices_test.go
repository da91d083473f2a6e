package agentfile_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/core"
)

const priceTable = `openai:
  m: {input: 0.72, output: 0.9}
bedrock:
  anthropic.claude-v1:0: {input: 3, output: 15, cache_read: 0.30, cache_write: 3.75}
`

func TestAPriceTableIsForAgentsWithoutAPrice(t *testing.T) {
	prices, err := agentfile.ParsePrices("prices.yaml", []byte(priceTable))
	if err != nil {
		t.Fatal(err)
	}
	own := &core.Price{Input: 7}
	for name, tt := range map[string]struct {
		model agent.Model
		want  *core.Price
	}{
		"in the table":     {agent.Model{Provider: "openai", ID: "m"}, &core.Price{Input: 720_000, Output: 900_000, CacheRead: 720_000, CacheWrite: 720_000}},
		"a model with a :": {agent.Model{Provider: "bedrock", ID: "anthropic.claude-v1:0"}, &core.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		"the agent's own":  {agent.Model{Provider: "openai", ID: "m", Price: own}, own},
		"another model":    {agent.Model{Provider: "openai", ID: "n"}, nil},
		"another provider": {agent.Model{Provider: "bedrock", ID: "m"}, nil},
		"no provider":      {agent.Model{}, nil},
	} {
		d := agent.Definition{Name: "a", Model: tt.model}
		before := d.Digest()
		got := prices.Priced(d).Model.Price
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want || d.Digest() != before {
			t.Errorf("%s: the price is %+v, want %+v", name, got, tt.want)
		}
	}
	if agent.Prices(nil).Priced(agent.Definition{}).Model.Price != nil {
		t.Error("no table has a price")
	}
}

func TestMistakesInAPriceTableAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"openai: {m: 1}":                           "prices.yaml:1: price is a number",
		"oracle: {m: {input: 1, output: 1}}":       `unknown field "oracle"`,
		"openai: [m]":                              "the models of openai",
		"openai: {m: {input: 1}}":                  "price needs input and output",
		"openai:\n  m: {input: $1, output: 1}":     "prices.yaml:2: input must be a number of dollars",
		"openai: {m: {input: 1, output: 1, x: 1}}": `unknown field "x" in price`,
	} {
		if _, err := agentfile.ParsePrices("prices.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not contain %q", text, err, want)
		}
	}
}
