package planner

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// progress is what stop rules see of the turn that is being folded in.
func (d *draft) progress(t core.Turn) core.Progress {
	tree := d.h.Record().Tree()
	return core.Progress{Steps: d.h.Step, Tokens: tree.InputTokens + tree.OutputTokens,
		Cost: core.USD(tree.Cost), Priced: d.h.Priced && !d.h.Below.Unpriced, UnpricedAgent: tree.UnpricedAgent, Awake: d.awake(), Errors: d.h.Errors, Turn: t, Rounds: d.h.Rounds}
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
