package frontendtest

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/hold"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// drainVote journals a vote. Once the votes have decided, the call is settled and its question is
// closed.
func (w Worker) drainVote(c *commit, key string, s core.Signal, r core.Resume) {
	voter, sus := core.VoteOf(key)
	rec := s.Record(sus, r)
	rec.Ballot = &vote.Ballot{Key: voter, Group: s.As, Stage: 1, Stages: 1, Outcome: vote.OutcomeCounted}
	stage := w.stageOf(sus)
	tally := c.head.Votes[sus]
	rec.Ballot.Need, rec.Ballot.Yes, rec.Ballot.No = stage.Need, tally.Count(vote.Yes), tally.Count(vote.No)
	call := c.head.Calls[s.Call]
	outcome := map[vote.Standing]vote.Outcome{vote.Approved: vote.OutcomeApproved, vote.Denied: vote.OutcomeDenied, vote.Edited: vote.OutcomeEdited}[tally.Standing(stage.Need, stage.Deny())]
	if outcome != "" && call.Sus == sus && call.Status == core.CallSuspended {
		rec.Ballot.Outcome, rec.Applied = outcome, outcome != vote.OutcomeEdited
		call.Status = core.CallSucceeded
		c.head.Calls[s.Call] = call
		c.votes[sus] = nil
	}
	c.event(core.EventDecisionRecorded, rec)
}

// stageOf is the stage of a policy that a suspension asks.
func (w Worker) stageOf(sus string) vote.Stage {
	thread, _ := core.SuspensionThread(sus)
	seq, _ := core.SuspensionSeq(sus)
	segments, err := w.Store.Segments(w.Test.Context(), w.Tenant, thread, seq, seq)
	if err != nil || len(segments) != 1 {
		w.Test.Fatalf("segment %d: %d segments, %v", seq, len(segments), err)
	}
	call, _, _ := core.FindSuspended(segments[0], sus)
	return call.Asked()
}

// drainWithdrawn journals that a held decision was taken back.
func drainWithdrawn(c *commit, s core.Signal, value []byte) {
	call := c.head.Calls[s.Call]
	hold.Note(&call, s.ID)
	c.head.Calls[s.Call] = call
	c.event(core.EventDecisionWithdrawn, hold.Event(s, value))
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}
