package torture

import (
	"fmt"
	"maps"
	"slices"
)

// effects: what tools did outside of the system, they did at most once for each call, with leave
// and with the arguments that were allowed, and not before the journal said that they would.
func (c *check) effects() {
	if !c.e.HasEffects {
		return
	}
	byCall := map[[2]string][]Effect{}
	for _, e := range c.e.Effects {
		run, id := e.Of()
		byCall[[2]string{run, id}] = append(byCall[[2]string{run, id}], e)
	}
	for _, run := range slices.Sorted(maps.Keys(c.stories)) {
		for _, call := range c.stories[run].calls {
			at := [2]string{run, call.id}
			c.effectsOf(run, call, byCall[at])
			delete(byCall, at)
		}
	}
	for at, effects := range byCall {
		c.violated("nothing is done that no call asked for", 0, "effects are of calls", "%d of call %s of run %s, which the journal does not have",
			len(effects), at[1], at[0])
	}
}

func (c *check) effectsOf(run string, call *call, effects []Effect) {
	name := fmt.Sprintf("call %s (%s) of run %s", call.id, call.tool, run)
	n := len(effects)
	if n == 0 {
		if call.tool == ownPay && slices.Contains(call.ends, "call.succeeded") {
			c.violated("what the model was told is true", 0, name+" succeeded", "it left no mark outside of the system")
		}
		return
	}
	switch {
	case n > 1:
		c.violated("a tool that runs at most once ran at most once", 0, name+" runs at most once", "it ran %d times: %s, ...", n, effects[0].Key)
	case !call.begun:
		c.violated("a call runs only after its start was written down", 0, name+" was not started", "it left its mark outside of the system")
	case call.refused != nil:
		c.violated(withLeave, 0, name+" was refused by "+call.refused.DecisionID,
			"it left its mark outside of the system")
	}
	if !same(effects[0].Arguments, call.arguments) {
		c.violated(withLeave, 0, fmt.Sprintf("%s runs with %s", name, call.arguments),
			"it ran with %s", effects[0].Arguments)
	}
}
