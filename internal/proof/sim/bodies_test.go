package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Run is every tool's body.
func (c *cast) Run(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	if c.running++; c.running > 1 {
		c.together++
	}
	defer func() { c.running-- }()
	return c.body(ctx, req)
}

func (c *cast) body(ctx context.Context, req engine.ToolRequest) (core.Outcome, error) {
	r := roles[req.Call.Name]
	c.allowed(req, r)
	if strings.Contains(string(req.Call.Arguments), `"cut.`) {
		c.s.wrong("a call of an answer that was cut off runs: %s", req.Call.Arguments)
	}
	c.readTwice("it runs", req.Call)
	c.told(req)
	defer c.flights.begin(ctx, req)()
	if r.kills {
		c.s.w.Yield(ctx)
		c.running--
		c.killed++
		c.s.w.Lose("in a body")
	}
	out := c.outcome(req, r)
	c.note(req, out, c.onceOnly(req.Run, req.Call))
	c.s.w.Yield(ctx)
	if c.s.plan.long > 0 && c.s.w.Happens("long", c.s.plan.long) {
		_ = c.s.w.Sleep(ctx, c.s.w.Upto(lease/2))
	}
	if !c.s.plan.calm && c.s.w.Happens("slow", c.s.faults.Pause) {
		// slow after the effect: the lease ends while it works
		_ = c.s.w.Sleep(ctx, c.s.w.Upto(2*lease))
	}
	c.lost("in a body")
	req.State.Add(core.ThreadScope, "bodies", 1)
	if !c.onceOnly(req.Run, req.Call) { // what a lost body wrote that is not run again is lost
		req.State.Add(core.ThreadScope, "kept", 1)
	}
	req.State.Insert(core.RunScope, "calls", req.Call.ID)
	if r.tears {
		_ = req.State.Set(core.RunScope, "torn", req.Call.ID)
		if c.s.w.Happens("regret", 0.2) {
			c.cancel(ctx, req)
		}
	}
	if r.panics {
		panic("a tool's own mistake")
	}
	if r.fails {
		return core.Outcome{}, errors.New(out.Text)
	}
	return out, nil
}

// cancel is a body that cancels its own run.
func (c *cast) cancel(ctx context.Context, req engine.ToolRequest) {
	for _, t := range c.s.threads {
		if t.id == req.Thread {
			t.cancel(ctx, req.Run)
		}
	}
}

// lost loses the process now and then.
func (c *cast) lost(where string) {
	if c.s.w.Happens("lost", c.s.faults.Rate/4) {
		c.s.faults.Counts["lost "+where]++
		c.s.w.Lose(where)
	}
}

func (c *cast) outcome(req engine.ToolRequest, r role) core.Outcome {
	text := "did " + string(req.Call.Arguments)
	if r.fails {
		return core.Outcome{Failed: true, Text: "failed " + string(req.Call.Arguments)}
	}
	if req.Resume != nil {
		text += " after " + string(req.Resume.Result)
	}
	if !c.waits(req, r) {
		return core.Outcome{Text: text}
	}
	return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: r.self,
		Suspension: core.Suspension{Action: "confirm", Message: strings.Repeat("sure? ", 1+int(hash(req.Call.ID)%80))}}}
}

// waits: a body that is handed decisions goes by them; one that is only replayed by its attempt.
func (c *cast) waits(req engine.ToolRequest, r role) bool {
	if r.waits == 0 {
		return false
	}
	if r.self == core.PassDecisionToTool {
		return req.Resume == nil || r.waits == 2 && string(req.Resume.Result) != `"enough"`
	}
	return strings.HasSuffix(req.Key, "/0")
}

// onceOnly says whether a call's body carries the promise to happen once.
func (c *cast) onceOnly(run string, call core.ToolCall) bool {
	r := roles[call.Name]
	return r.spec.Delivery == core.AtMostOnce ||
		r.spec.Delivery == core.DeliveryDefault && (r.effect == core.Ask || c.s.watched.approved[run+"/"+call.ID])
}

// told: a body that may have begun before under its key is told so. An owner that was left behind
// begins one in vain, whatever it is told.
func (c *cast) told(req engine.ToolRequest) {
	if at, before := c.began[req.Key]; before && at <= req.Epoch && !req.Again && !c.onceOnly(req.Run, req.Call) {
		c.s.wrong("the body of %s (%s) runs again under its key %s, and is not told so", req.Call.ID, req.Call.Name, req.Key)
	}
	c.began[req.Key] = max(c.began[req.Key], req.Epoch)
	if req.Again {
		c.s.faults.Counts["bodies again"]++
	}
}

func (c *cast) note(req engine.ToolRequest, out core.Outcome, once bool) {
	c.executions = append(c.executions, execution{req.Key, req.Run, req.Call, out})
	if once {
		if c.keys[req.Key]++; c.keys[req.Key] > 1 {
			c.s.wrong("an at-most-once body ran twice under key %s (%s)", req.Key, req.Call.Name)
		}
	}
	if out.Ticket != nil {
		return
	}
	what := req.Run + "/" + req.Call.ID
	c.happened[what] = out
	if once {
		if c.effects[what]++; c.effects[what] > 1 && c.s.plan.jumps == 0 && c.s.truthful() {
			c.s.wrong("the effect of %s (%s) happened twice", what, req.Call.Name)
		}
	}
}

// allowed is invariant I-4, at the moment a body starts.
func (c *cast) allowed(req engine.ToolRequest, r role) {
	what, w := req.Run+"/"+req.Call.ID, c.s.watched
	kept := req.State.Get(core.ThreadScope, "kept")
	gate := c.Gate(req.Call, core.State{Thread: map[string]json.RawMessage{"kept": kept}})
	shown := w.asked[what]
	if arguments, edited := w.edited[what]; edited {
		shown.Arguments = arguments
	}
	switch {
	case r.effect == core.Deny || r.invalid || r.gone || r.spec.Client || r.spec.Finish:
		c.s.wrong("I-4: a body of %s ran", req.Call.Name)
	case r.effect == core.Ask && !w.approved[what] && !w.grants(req.Run, req.Call, req.Epoch):
		c.s.wrong("I-4: %s (%s %s) ran; nobody approved it, and no grant of this turn covers it", what, req.Call.Name, req.Call.Arguments)
	case !c.asked[askedAbout(req.Call, kept)]:
		c.s.wrong("I-4: %s (%s) ran; its gate was never asked about these arguments on this state (kept %d)", what, req.Call.Name, number(kept))
	case gate.Effect != core.Allow && gate.Effect != core.Ask:
		c.s.wrong("I-4: %s (%s) ran although its gate forbids it now", what, req.Call.Name)
	case r.words && !w.grants(req.Run, req.Call, req.Epoch) && w.edited[what] == nil && w.answered[what] != gate.Reason:
		c.s.wrong("I-4: %s (%s) ran; somebody approved %q, and its gate asks %q now", what, req.Call.Name, w.answered[what], gate.Reason)
	case c.deniedBefore(req.Call.Name, w.claims[claimOf(req.Run, req.Epoch)]):
		c.s.wrong("I-4: %s (%s) ran although what was deployed before its claim denies it", what, req.Call.Name)
	case hook{c}.refuses(req.Call):
		c.s.wrong("I-4: %s (%s) ran although the hook before it failed", what, req.Call.Name)
	case w.closed[what] != "":
		c.s.wrong("I-4: %s (%s) ran although %s", what, req.Call.Name, w.closed[what])
	case shown.Name != req.Call.Name || string(shown.Arguments) != string(req.Call.Arguments):
		c.s.wrong("I-4: %s ran as %s %s, and was to run with %s", what, req.Call.Name, req.Call.Arguments, shown.Arguments)
	}
}
