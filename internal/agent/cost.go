package agent

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

// CostBudget limits what runs cost; 0 means no limit.
type CostBudget struct {
	Run core.USD `json:"run,omitempty"`
	// a person is asked for as much again; otherwise the run ends
	Ask bool `json:"ask,omitempty"`
}

// LimitsCost says whether something in the definition limits what a run costs. The model's price
// must be known for that.
func (d Definition) LimitsCost() bool {
	return d.Budget.Cost.Run > 0 || slices.ContainsFunc(d.Stop, func(s stoprule.Spec) bool { return s.USD > 0 })
}
