package torture

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// withLeave is the rule that matters most.
const withLeave = "no gated call runs without its decision, nor with other arguments"

func (c *call) wrong(format string, args ...any) {
	c.trouble = append(c.trouble, fmt.Sprintf(format, args...))
}

func present(raw json.RawMessage) bool { return !core.IsNull(raw) }

// same says whether two texts are one JSON value.
func same(a, b json.RawMessage) bool {
	x, err1 := core.Canonical(a)
	y, err2 := core.Canonical(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// calls: each call has one result, and ran only if and as it was allowed.
func (c *check) calls(r RunLog, s *story) {
	for _, call := range s.calls {
		name := fmt.Sprintf("call %s (%s) of run %s", call.id, call.tool, r.ID)
		if pseudo := call.tool == "" && call.ready == 0; pseudo {
			continue // the run's own wait, which no model asked for
		}
		if call.ready != 1 {
			c.violated("a call is made once", 0, name+" is one call", "the journal has it made %d times", call.ready)
		}
		if n := len(call.ends); n > 1 || n == 0 && r.Status == "done" {
			c.violated("a call has exactly one result", 0, name+" comes to one end", "the journal has %d: %v", n, call.ends)
		}
		for _, what := range call.trouble {
			c.violated(withLeave, 0, name+" runs only as it was allowed", "%s", what)
		}
		ran := call.begun || slices.Contains(call.ends, "call.succeeded")
		if tool := c.e.Gated[r.Agent]; tool != "" && call.tool == tool && ran && !call.asked {
			c.violated(withLeave, 0, name+" waits for a decision", "it ran and nobody was asked")
		}
	}
}

// results: the model sees one result of each call.
func (c *check) results(id string, t Thread) {
	made, results := map[string]int{}, map[string]int{}
	done := len(t.Runs) > 0 && t.Runs[len(t.Runs)-1].Status == "done"
	for _, m := range t.Messages {
		for _, call := range m.ToolCalls {
			made[call.ID]++
		}
		if m.Role == "tool" && !m.Pending {
			results[m.CallID]++
		}
	}
	for _, call := range slices.Sorted(maps.Keys(made)) {
		if n := results[call]; n > made[call] || n < made[call] && done {
			c.violated("the model sees one result of each call", 0, fmt.Sprintf("call %s of thread %s has one result", call, id),
				"the conversation has %d", n)
		}
	}
	for _, call := range slices.Sorted(maps.Keys(results)) {
		if made[call] == 0 {
			c.violated("the model sees one result of each call", 0, "a result is of a call",
				"thread %s has a result of %s, which the model never made", id, call)
		}
	}
}

func promisedDecision(d Decision) string {
	return fmt.Sprintf("the decision %s on %s (%s of %s in run %s: %s) was accepted as the first one",
		d.DecisionID, d.Target, d.Shown.Kind, d.Shown.Tool, d.Run, says(d))
}

// says is a decision in short.
func says(d Decision) string {
	switch {
	case d.Error != "":
		return "error " + d.Error
	case present(d.Result):
		return "result " + string(d.Result)
	case present(d.Arguments):
		return d.Action + " with " + string(d.Arguments)
	}
	return d.Action
}

// decisions: of those on one suspension one was accepted, and the journal has that one and no
// other.
func (c *check) decisions() {
	for _, key := range slices.Sorted(maps.Keys(c.decided)) {
		all := c.decided[key]
		accepted := slices.DeleteFunc(slices.Clone(all), func(d Decision) bool { return d.Refusal != "" })
		if len(accepted) > 1 {
			c.violated("one decision is the first", accepted[1].Caller, promisedDecision(accepted[1]), "caller %d was told the same of %s (%s)",
				accepted[0].Caller, accepted[0].DecisionID, says(accepted[0]))
		}
		s := c.stories[all[0].Run]
		if s == nil {
			c.violated("an accepted decision is in the journal", all[0].Caller, promisedDecision(all[0]), "the run is not there")
			continue
		}
		for _, d := range all {
			c.decision(d, s.recorded[d.Target])
		}
	}
	c.decidedOnce()
}

// decidedOnce: the journal has at most one decision on a suspension, whoever made it.
func (c *check) decidedOnce() {
	for _, run := range slices.Sorted(maps.Keys(c.stories)) {
		for _, sus := range slices.Sorted(maps.Keys(c.stories[run].recorded)) {
			if n := len(c.stories[run].recorded[sus]); n > 1 {
				c.violated("a suspension is decided once", 0, fmt.Sprintf("%s of run %s has one decision", sus, run), "the journal has %d", n)
			}
		}
	}
}

// decision: one that was accepted is recorded as it was made and applied; one that was refused is
// not.
func (c *check) decision(d Decision, there []recorded) {
	var mine *recorded
	for i := range there {
		if there[i].DecisionID == d.DecisionID {
			mine = &there[i]
		}
	}
	switch {
	case d.Refusal != "":
		c.refusedDecision(d, mine, there)
	case mine == nil:
		c.violated("an accepted decision is in the journal", d.Caller, promisedDecision(d), "the journal of the run has %s on that", decisionsIn(there))
	case !d.isAs(*mine):
		c.violated("a decision is recorded as it was made", d.Caller, promisedDecision(d), "the journal has %+v", *mine)
	case !mine.Applied && !c.overtaken(d.Run):
		c.violated("an accepted decision is applied", d.Caller, promisedDecision(d),
			"the journal has it as not applied, and no end of the run came before it")
	}
}

func (c *check) refusedDecision(d Decision, mine *recorded, there []recorded) {
	promised := fmt.Sprintf("the decision %s on %s (%s) was refused with %s", d.DecisionID, d.Target, says(d), d.Refusal)
	switch {
	case mine != nil:
		c.violated("a refused decision changes nothing", d.Caller, promised, "the journal has it")
	case d.Winner != "" && (len(there) == 0 || there[0].DecisionID != d.Winner):
		c.violated("who is told of another decision is told the truth", d.Caller, promised+", since "+d.Winner+" was first",
			"the journal has %s", decisionsIn(there))
	}
}

func decisionsIn(there []recorded) string {
	var all []string
	for _, r := range there {
		all = append(all, r.DecisionID)
	}
	return orNothing(strings.Join(all, ", "))
}

// isAs says whether the journal has the decision as it was made. An action that was left out is for
// the server to read.
func (d Decision) isAs(r recorded) bool {
	sameArguments := !present(d.Arguments) && !present(r.Arguments) || same(d.Arguments, r.Arguments)
	sameResult := !present(d.Result) && !present(r.Result) || same(d.Result, r.Result)
	return r.CallID == d.Shown.CallID && (d.Action == "" || d.Action == r.Action) && sameArguments && sameResult && r.Error == d.Error
}

// overtaken says whether the run ended in a way that may come before a decision: by a cancel, or by
// an error.
func (c *check) overtaken(run string) bool {
	for _, t := range c.e.Threads {
		if r, there := t.run(run); there {
			return r.Reason != nil && *r.Reason != "natural_end"
		}
	}
	return false
}
