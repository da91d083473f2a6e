package planner

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// settle closes or suspends every call that needs no body, resuming calls first, each in call
// order, and clears the calls whose body may run. It excludes the call that appears to crash the
// worker, and looks again at calls that waited for it.
func (d *draft) settle() error {
	for again := true; again && d.h.Interrupt() == ""; {
		if err := d.settleCalls(); err != nil || d.over != nil {
			return err
		}
		var err error
		if again, err = d.settleCrashing(); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) settleCalls() error {
	d.cleared = map[string]bool{}
	if err := d.eachIn(core.CallResuming, d.settleResuming); err != nil {
		return err
	}
	if err := d.eachIn(core.CallRunning, d.settleRunning); err != nil {
		return err
	}
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; !tracked || c.Status != core.CallNew || c.HeldBehind != "" || d.inFlight(call) {
			continue
		}
		if on, err := d.settleNew(call); !on || err != nil || d.over != nil {
			return err
		}
	}
	return nil
}

// eachIn does something with each call of a status whose body is not in flight, in call order.
func (d *draft) eachIn(s core.CallStatus, do func(core.ToolCall) error) error {
	for _, call := range d.round.Calls {
		if c, tracked := d.h.Calls[call.ID]; tracked && c.Status == s && !d.inFlight(call) {
			if err := do(call); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleNew checks a new call and asks its gate. Arguments are checked first, so no one approves a
// call that can't run. on is false if earlier calls must run first.
func (d *draft) settleNew(call core.ToolCall) (on bool, err error) {
	if fault := d.faults[call.ID]; fault != "" {
		return true, d.invalid(call, fault)
	}
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return true, d.refuse(call, core.CallOutcomeUnknownTool, fmt.Sprintf("There is no tool named %q.", call.Name))
	}
	if err := d.check(call); err != nil {
		return true, d.invalid(call, err.Error())
	}
	if spec.Finish {
		return true, nil // when all others are settled
	}
	if why := d.overBudget(call); why != "" {
		return true, d.refuse(call, core.CallOutcomeBudgetExhausted, why)
	}
	return d.gate(call, spec)
}

// check returns why a call can't run with its arguments. Arguments that aren't canonical come from
// an earlier version's journal, or were refused on arrival.
func (d *draft) check(call core.ToolCall) error {
	if _, err := strict.Arguments(call.Arguments); err != nil {
		return err
	}
	return d.v.Rules.Check(call)
}
