package planner

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// limit marks the stop rules that a turn without calls overrides: such a turn is a natural end even
// if it also reaches the limit.
type limit interface{ IsLimit() }

// stopOf asks the rules in their declared order; the first that fires counts. A turn that ends the
// run is a natural end even if it also reaches a limit.
func stopOf(rules []core.StopRule, p core.Progress, ends bool) *core.Reason {
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

// progress is what stop rules see of the turn that is being folded in.
func (d *draft) progress(t core.Turn) core.Progress {
	return core.Progress{Steps: d.h.Step, Tokens: d.h.InputTokens + d.h.OutputTokens, Awake: d.awake(), Errors: d.h.Errors, Turn: t, Rounds: d.h.Rounds}
}

// awake returns how long the run has been active, without its waits.
func (d *draft) awake() int64 {
	if d.h.AwakeSince == 0 {
		return d.h.Awake
	}
	return d.h.Awake + max(0, d.v.Now-d.h.AwakeSince)
}

// closeRound counts the round before a new turn: it failed if it executed calls and none succeeded.
// Every other round, including one that executed none, resets the count of consecutive failures.
func (d *draft) closeRound() {
	if d.h.RoundFailed > 0 && d.h.RoundOK == 0 {
		d.h.Errors++
	} else {
		d.h.Errors = 0
	}
	d.h.RoundOK, d.h.RoundFailed, d.h.StepCalls = 0, 0, 0
}

// remember keeps the signature of a turn with calls, as many as the rules look back.
func (d *draft) remember(t core.Turn) {
	keep := 0
	for _, rule := range d.v.Rules.Terms().Stops {
		if looks, ok := rule.(interface{ Window() int }); ok {
			keep = min(max(keep, looks.Window()-1), core.MostRounds)
		}
	}
	if keep == 0 || len(t.Calls) == 0 {
		d.h.Rounds = nil
		return
	}
	d.h.Rounds = append(slices.Clone(d.h.Rounds), t.Signature())
	d.h.Rounds = d.h.Rounds[max(0, len(d.h.Rounds)-keep):]
}
