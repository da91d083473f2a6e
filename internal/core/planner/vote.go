package planner

import (
	"cmp"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/inbox"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/core/poll"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Where a policy asks several people, each decision is a vote. The store counts it in the write
// that stores it, and takes none after the one that decides. So the outcome does not depend on when
// the owner looks: it journals each vote once, and reads the outcome from the count.
//
//	vote ── counted ── applyVote ── open: the call goes on waiting
//	                             ├─ approved: nextStage, or apply
//	                             ├─ denied: apply
//	                             └─ edited: askAboutEdit

// counted says whether decisions on a suspension of this round are votes.
func (d *draft) counted(sus string) bool { return d.round.Questions[sus].Counted() }

// applyVote journals a vote, and does what the votes have come to with it.
func (d *draft) applyVote(s delivery) error {
	r, err := inbox.Resume(s.Signal, s.value)
	if err != nil {
		return fmt.Errorf("core: vote %s: %w", s.key, err)
	}
	_, sus := core.VoteOf(s.key)
	call, ok := d.call(s.Call)
	if !ok || !d.h.Calls[s.Call].WaitsOn(sus) || !d.counted(sus) {
		d.journalVote(s)
		return nil
	}
	question := d.question(sus)
	rec := s.Record(sus, r)
	rec.Ballot = d.ballot(s, sus)
	stage := question.Asked()
	switch poll.Taken(d.h, d.drained, s.key, sus).Standing(stage.Need, stage.Deny()) {
	case vote.Approved:
		return d.approve(call, rec, question)
	case vote.Denied:
		rec.Applied, rec.Ballot.Outcome = true, vote.OutcomeDenied
		return d.apply(call, rec)
	case vote.Edited:
		return d.edit(call, rec)
	}
	d.recordVote(call, rec)
	return nil
}

// approve closes a question that enough people have approved: the next stage is asked, or the call
// may run.
func (d *draft) approve(call core.ToolCall, rec core.DecisionRecord, question core.SuspendedCall) error {
	if question.Policy.Last(question.Stage) {
		rec.Applied, rec.Ballot.Outcome = true, vote.OutcomeApproved
		return d.apply(call, rec)
	}
	rec.Ballot.Outcome = vote.OutcomePassed
	d.recordVote(call, rec)
	return d.nextStage(call, question)
}

// nextStage asks the next group the same question. A person who has approved one stage can't
// approve another.
func (d *draft) nextStage(call core.ToolCall, question core.SuspendedCall) error {
	t := question.SuspendTicket
	before := t.Suspension.ID
	t.Stage, t.Follows, t.Until, t.Scratch = t.Stage+1, before, question.Deadline, nil
	if err := d.suspend(call, core.KindApproval, t); err != nil {
		return err
	}
	d.opens[d.h.Calls[call.ID].Sus] = poll.Spent(d.h.Votes[before])
	return nil
}

// edit closes a question because an approver wants other arguments. What others have said was about
// the old ones, so none of it counts for the new ones.
//
//	anna: yes to $100 ── ben: yes, with $900 ── who approves $900? ben, and one more
func (d *draft) edit(call core.ToolCall, rec core.DecisionRecord) error {
	if err := d.move(call.ID, core.CallResuming); err != nil {
		return err
	}
	rec.Ballot.Outcome = vote.OutcomeEdited
	d.recordVote(call, rec)
	d.round.Decisions[rec.Suspension] = rec
	d.change(call.ID, func(c *core.Call) {
		c.EditedBy, c.Approved, c.WaivedAsk = rec.Suspension, false, ""
		c.Renew()
	})
	d.event(core.EventCallResuming, d.callState(call), 0)
	return nil
}

// askAboutEdit puts edited arguments to the vote: under the rules that ask about them, or under the
// question that was asked before, if the rules would let the call run unasked. The editor's own yes
// is the first.
func (d *draft) askAboutEdit(call core.ToolCall, rec core.DecisionRecord) error {
	spec, ok := d.v.Rules.Tool(call.Name)
	if !ok {
		return d.refuse(call, core.CallOutcomeUnknownTool, fmt.Sprintf("The tool %q no longer exists; the call did not run.", call.Name))
	}
	if why := d.invalidToRun(call); why != "" {
		return d.refuse(call, core.CallOutcomeInvalidArguments, why)
	}
	v := d.gateOn(d.effective(call))
	if v.Effect != core.Ask && v.Effect != core.Allow {
		_, err := d.gate(call, spec)
		return err
	}
	old := d.question(rec.Suspension)
	t := old.SuspendTicket
	preview, err := d.preview(call)
	if err != nil {
		return err
	}
	t.Stage, t.Follows, t.Until, t.Preview, t.Scratch = 0, rec.Suspension, old.Deadline, preview, nil
	d.askAsRuled(call, v, &t)
	return d.askWithYes(call, t, rec)
}

// askAsRuled makes the question about edited arguments that of the rules that ask about them.
// Nothing that the rules for the old arguments would have granted can be granted with it: fewer
// people may decide about the new ones.
//
//	$100: two people, grant A ── ann edits to $20: one person, grant B ── cy grants B, never A
func (d *draft) askAsRuled(call core.ToolCall, v core.Verdict, t *core.SuspendTicket) {
	asked := d.h.Calls[call.ID].AskDigest != "" // by a rule, not by the tool
	d.change(call.ID, func(c *core.Call) { c.GrantOffered = "" })
	if v.Effect != core.Ask {
		return
	}
	t.NotBy = cmp.Or(t.NotBy, v.NotBy)
	if v.Policy != nil {
		if v.Policy.Digest() != t.Policy.Digest() {
			t.Escalated = nil
		}
		t.Policy = v.Policy
	}
	if !asked {
		return
	}
	t.ResumeMode, t.Suspension.ResponseSchema = v.Mode, v.Schema
	t.Suspension.Message = phrase.RuleAsks(call, v)
	d.change(call.ID, func(c *core.Call) { c.GrantOffered, c.AskDigest = v.Grant, v.Asks() })
}

// askWithYes asks the first stage of a question on which one person has approved already. If that
// is all that the stage needs, the next one is asked. If it is all that the whole question needs,
// the person is asked again: no edit runs a call under a policy that asks a group. So is an editor
// to whom another policy applies: there the person's votes may be counted under another key.
func (d *draft) askWithYes(call core.ToolCall, t core.SuspendTicket, rec core.DecisionRecord) error {
	first := t.Deciding().At(0)
	asked := d.question(rec.Suspension)
	yes := poll.VotedIn(first.Group, rec, asked) || t.Widened(0) && poll.VotedIn(t.Policy.At(0).Group, rec, asked)
	yes = yes && t.Policy.Digest() == asked.Policy.Digest()
	begin := poll.Minted(d.h.Votes[rec.Suspension])
	switch {
	case yes && first.Need > 1:
		begin[rec.Ballot.Key] = vote.Yes
	case yes && !t.Policy.Last(0):
		begin[rec.Ballot.Key], t.Stage = vote.Spent, 1
	}
	if err := d.suspend(call, core.KindApproval, t); err != nil {
		return err
	}
	if sus := d.h.Calls[call.ID].Sus; d.counted(sus) {
		d.opens[sus] = begin
	}
	return nil
}

// recordVote journals a vote that leaves the call as it is.
func (d *draft) recordVote(call core.ToolCall, rec core.DecisionRecord) {
	rec.DigestArguments(call, d.effective(call))
	d.event(core.EventDecisionRecorded, rec, 0)
}

// journalVote journals a vote on a question that was closed before it was taken up.
func (d *draft) journalVote(s delivery) {
	r, _ := inbox.Resume(s.Signal, s.value)
	_, sus := core.VoteOf(s.key)
	rec := s.Record(sus, r)
	rec.Ballot = d.ballot(s, sus)
	rec.Ballot.Outcome = vote.OutcomeSuperseded
	d.event(core.EventDecisionRecorded, rec, 0)
}

// ballot is what the journal says of a vote, before it is known what it came to.
func (d *draft) ballot(s delivery, sus string) *vote.Ballot {
	voter, _ := core.VoteOf(s.key)
	return poll.Ballot(s.Signal, voter, poll.Taken(d.h, d.drained, s.key, sus), d.question(sus))
}
