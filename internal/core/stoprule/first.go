package stoprule

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// limit marks the stop rules that a turn without calls overrides: such a turn is a natural end even
// if it also reaches the limit.
type limit interface{ IsLimit() }

// First asks the rules in their declared order and returns why the first that fires ends the run;
// nil if none does. A turn that ends the run is a natural end even if it also reaches a limit.
func First(rules []core.StopRule, p core.Progress, ends bool) *core.Reason {
	for _, rule := range rules {
		if _, isLimit := rule.(limit); isLimit && ends {
			continue
		}
		if code, detail, stop := rule.Stop(p); stop {
			return &core.Reason{Kind: core.Stopped, Code: code, Detail: detail}
		}
	}
	return nil
}
