package planner

import (
	"cmp"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/children"
	"github.com/dormouse-dev/dormouse/internal/core/events"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
)

// A call of another agent waits for the run that works for it. The commit that suspends the call
// pins that run, and only then is it started: a launch that is repeated, even after a deployment,
// starts the same one. See child_ended.go for how the wait ends.
//
//	gate ── startChild ── commit {suspended, outbox: launch} ── launch ── releaseWaiting
//	     └─ child_unavailable

// unfound is the error by which a plan under construction asks which version of an agent a child
// would run, as [unfired] asks for hooks.
type unfound struct{ agent string }

func (unfound) Error() string { return "core: the version of an agent must be looked up first" }

// startChild suspends a call until the run of another agent has ended, or fails it if that run
// could never be started.
func (d *draft) startChild(call core.ToolCall, spec core.ChildSpec) error {
	found, known := d.v.Agents[spec.Agent]
	if !known && spec.Remote == "" {
		return unfound{spec.Agent}
	}
	child := core.Child{Agent: spec.Agent, Version: found.Version, Input: spec.Input, Final: spec.Final}
	child.Depth, child.Deepest = children.Depth(d.h, d.v.Rules.Terms())
	allowance, spent := d.allowance()
	child.Allowance = int64(allowance)
	if spec.Remote != "" { // what it costs is never known here
		child.Agent, child.Version, child.Remote, child.Once, child.Allowance = spec.Remote, d.h.Version, true, d.atMostOnce(call), 0
	}
	most := cmp.Or(d.v.Rules.Terms().Children, core.DefaultChildren)
	switch {
	case found.Missing && spec.Remote == "":
		return d.noChild(call, spec, "it is not deployed")
	case child.Depth > child.Deepest:
		return d.noChild(call, spec, fmt.Sprintf("at most %d runs may be below one another (max_depth)", child.Deepest))
	case d.h.Children >= most:
		return d.noChild(call, spec, fmt.Sprintf("a run may start at most %d others (max_children)", most))
	case spent:
		return d.noChild(call, spec, "nothing is left of the run's budget")
	}
	err := d.suspend(call, core.KindChild, core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Child: &child,
		Suspension: core.Suspension{Action: "await_child", Message: phrase.ChildWaits(spec.Agent)}})
	if err != nil {
		return err
	}
	sus := d.h.Calls[call.ID].Sus
	pinned := d.round.Questions[sus].Child
	d.h.Out[core.LaunchKey(sus)] = core.Out{Kind: core.OutLaunch}
	d.h.Children++
	d.event(core.EventChildStarted, events.ChildStarted{CallID: call.ID, ToolName: call.Name, Suspension: sus, Agent: pinned.Agent, Version: pinned.Version,
		RunID: pinned.Run, ThreadID: pinned.Thread, Remote: pinned.Remote}, 0)
	return nil
}

// noChild fails a call whose child can't be started, now or later.
func (d *draft) noChild(call core.ToolCall, spec core.ChildSpec, why string) error {
	return d.refuse(call, core.CallOutcomeChildUnavailable, phrase.ChildEnded(spec.Agent, core.ChildResult{Outcome: core.CallOutcomeChildUnavailable, Detail: why + "."}))
}

// allowance is what the next child may cost, 0 for no limit. What is left of the run's budget is
// shared evenly by the children that this round has yet to start.
func (d *draft) allowance() (usd core.USD, spent bool) {
	starting := 0
	for _, call := range d.round.Calls {
		c, tracked := d.h.Calls[call.ID]
		if child, ok := d.v.Rules.Child(d.effective(call)); tracked && ok && child.Remote == "" && c.Status != core.CallSuspended && !c.Status.Terminal() {
			starting++
		}
	}
	return d.budget().Share(children.Given(d.openChildren()), starting)
}

// openChildren are the children that calls of the run wait for, by suspension.
func (d *draft) openChildren() map[string]core.Child { return children.Open(d.h, d.round.Questions) }
