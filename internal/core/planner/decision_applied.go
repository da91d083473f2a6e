package planner

import (
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
)

// A decision goes from the inbox to the call that is suspended on exactly the suspension it names:
// applyDecision, apply. The call then has its result, or is cleared to run: settleResuming.

// Via of decisions that the run itself made, see [core.DecisionRecord].
const (
	ViaMessage  = "message"
	ViaDeadline = "deadline"
)

// applyDecision gives a decision to the call that is suspended on exactly the suspension it names.
func (d *draft) applyDecision(s delivery) error {
	r, err := inbox.Resume(s.Signal, s.value)
	if err != nil {
		return fmt.Errorf("core: decision on %s: %w", s.key, err)
	}
	call, ok := d.call(s.Call)
	c := d.h.Calls[s.Call]
	// one that a program without policies stored decides nothing, nor does a withdrawn one
	if !ok || !c.WaitsOn(s.key) || d.counted(s.key) || c.Kind == core.KindChild || slices.Contains(hold.Withdrawn(d.v.Head, s.Call, s.key), s.ID) {
		d.journalDecision(s)
		return nil
	}
	rec := s.Record(s.key, r)
	rec.Applied = true
	return d.apply(call, rec)
}

// journalDecision records a decision that changes nothing, readable or not.
func (d *draft) journalDecision(s delivery) {
	r, _ := inbox.Resume(s.Signal, s.value)
	d.event(core.EventDecisionRecorded, s.Record(s.key, r), 0)
}

// apply moves a suspended call to resuming, its decision beside it.
func (d *draft) apply(call core.ToolCall, rec core.DecisionRecord) error {
	d.passOnWait(d.h.Calls[call.ID])
	if err := d.move(call.ID, core.CallResuming); err != nil {
		return err
	}
	rec.DigestArguments(call, d.effective(call))
	approved := rec.Approves()
	d.change(call.ID, func(c *core.Call) {
		c.Decision = rec.DecisionID + " " + rec.Digest
		c.Renew()
		// the body asked: keep its answer even if another question comes before it runs
		// again
		own := c.AskDigest == ""
		if c.Kind != core.KindUnknownOutcome && c.Mode == core.PassDecisionToTool && (own || c.PassedDecision == "") {
			c.PassedDecision = rec.Suspension
		}
		if !approved || c.Kind != core.KindApproval {
			return
		}
		c.Approve()
		if !core.IsNull(rec.Arguments) {
			c.Edit(rec.Suspension, d.round.Questions[rec.Suspension].Policy)
		}
		if rec.Grant == core.GrantRun && c.GrantOffered != "" {
			d.grant(c.GrantOffered)
		}
	})
	if !rec.TimedOut {
		d.h.Resumes++
	}
	d.round.Decisions[rec.Suspension] = rec
	d.endGrantsOfAnswered()
	delete(d.h.Out, core.NoticeKey(rec.Suspension))
	d.event(core.EventDecisionRecorded, rec, 0)
	d.event(core.EventCallResuming, d.callState(call), 0)
	return nil
}

// settleResuming turns a decision into a result, or clears the call's body to run.
func (d *draft) settleResuming(call core.ToolCall) error {
	c := d.h.Calls[call.ID]
	rec, ok := d.round.Decisions[c.Sus]
	switch {
	case !ok:
		return d.refuse(call, core.CallOutcomeLost, "The decision on this call is missing.")
	case rec.Edits():
		return d.askAboutEdit(call, rec)
	case c.Synthetic:
		return d.settleRunWait(call, rec)
	case rec.Action == core.ActionCancel:
		return d.cancelCall(call, refusedBy(c.Kind).OrTimedOut(rec), phrase.Refusal(c.Kind, rec.Reason))
	case rec.Error != "":
		if c.Kind == core.KindClient || c.Kind == core.KindUnknownOutcome {
			d.executed(call, true)
		}
		return d.refuse(call, core.CallOutcomeToolError.OrTimedOut(rec), rec.Error)
	case rec.TimedOut && !rec.Silent:
		// in every mode, because without an approval the call must not run
		return d.result(call, core.CallOutcomeTimedOut, core.Answered(rec.Result))
	case c.Kind == core.KindUnknownOutcome && !core.IsNull(rec.Result), c.Kind != core.KindUnknownOutcome && c.Mode == core.UseDecisionAsToolResult:
		d.executed(call, false)
		return d.result(call, core.CallOutcomeSucceeded, core.Answered(rec.Result))
	}
	return d.replay(call)
}

// replay clears a call to run again, if it still may.
func (d *draft) replay(call core.ToolCall) error {
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return d.refuse(call, core.CallOutcomeUnknownTool, fmt.Sprintf("The tool %q no longer exists; the call did not run.", call.Name))
	}
	if why := d.invalidToRun(call); why != "" {
		return d.refuse(call, core.CallOutcomeInvalidArguments, why)
	}
	_, err := d.gate(call, spec)
	return err
}
