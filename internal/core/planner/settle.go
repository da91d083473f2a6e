package planner

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// settle closes or suspends every call that needs no body for it, resuming calls first, each in
// call order, and clears those whose body may run. The one that seems to kill the process is not
// among them; those that waited for it are looked at again.
func (d *draft) settle() error {
	for again := true; again && !d.interrupted(); {
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

// settleNew checks a new call and asks its gate. Arguments come first: nobody is asked about a call
// that cannot run. on is false if the calls before it must run first.
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

// check says why a call cannot run with the arguments it has. What is not in its canonical form was
// journaled by an earlier program, or refused when it came.
func (d *draft) check(call core.ToolCall) error {
	if _, err := core.ReadArguments(call.Arguments); err != nil {
		return err
	}
	return d.v.Rules.Check(call)
}
