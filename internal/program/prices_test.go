package program

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestTheOperatorsPricesAreThoseOfAgentsWithoutAPrice(t *testing.T) {
	shelf, d := stored(t, connected)
	for name, table := range map[string]agent.Prices{"no table": nil, "a table": {agent.ProviderBedrock: {"m-1": core.Price{Input: 3}}}} {
		p := (&parts{}).program(t)
		p.Prices = table
		loaded, err := NewAgents(shelf, p).Load(t.Context(), engine.Pin{Tenant: access.Tenant, Name: d.Name, Version: d.Digest()})
		if err != nil {
			t.Fatal(err)
		}
		if price := loaded.Rules.Terms().Price; (price != nil) != (table != nil) || price != nil && price.Input != 3 {
			t.Errorf("%s: the price is %+v", name, price)
		}
	}
}
