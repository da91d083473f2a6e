package agentfile

import (
	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// ParsePrices reads an operator's table of prices from YAML: a mapping of providers, each a mapping
// of its models to prices as in an agent file. fileName is for messages. The error is as for
// [Load].
func ParsePrices(fileName string, text []byte) (agent.Prices, error) {
	s := newSource(fileName)
	prices := agent.Prices{}
	if root := s.Document(text); root != nil {
		if o, ok := s.Object(root, "a price table"); ok {
			for _, provider := range form.Called {
				s.pricesOf(o, provider, prices)
			}
			o.Close()
		}
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	return prices, nil
}

func (s *source) pricesOf(o *object, provider string, prices agent.Prices) {
	n := o.Take(provider)
	if n == nil {
		return
	}
	models, ok := s.Object(n, "the models of "+provider)
	if !ok {
		return
	}
	prices[provider] = map[string]core.Price{}
	for _, key := range models.Keys {
		if p := s.price(models.Take(key.Value)); p != nil {
			prices[provider][key.Value] = *p
		}
	}
}
