package agent

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// CostBudget limits what runs cost; 0 means no limit.
type CostBudget struct {
	Run core.USD `json:"run,omitempty"`
	Day core.USD `json:"day,omitempty"` // of all runs that start on one day of UTC
	// a person is asked for as much again; otherwise the run ends
	Ask bool `json:"ask,omitempty"`
}

// LimitsCost says whether something in the definition limits what runs cost. The model's price
// must be known for that.
func (d Definition) LimitsCost() bool {
	return d.Budget.Cost.Day > 0 || d.LimitsRunCost()
}

// LimitsRunCost says whether something limits what a run and the runs below it cost.
func (d Definition) LimitsRunCost() bool {
	return d.Budget.Cost.Run > 0 || slices.ContainsFunc(d.Stop, func(s stoprule.Spec) bool { return s.USD > 0 })
}

// Prices is an operator's table: what models cost whose agents don't say it, by provider and by the
// provider's name of the model.
type Prices map[string]map[string]core.Price

// Priced is d with the price of its model. That of the definition precedes the table's. The digest
// of the version is that of d, not of what is returned.
func (p Prices) Priced(d Definition) Definition {
	if price, ok := p[d.Model.Provider][d.Model.ID]; ok && d.Model.Price == nil {
		d.Model.Price = &price
	}
	return d
}
