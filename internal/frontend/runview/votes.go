package runview

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// VotesOf is how far the votes on a suspension have come, without who has said what.
func VotesOf(call core.SuspendedCall, t vote.Tally) wire.Votes {
	stage := call.Asked()
	return wire.Votes{Policy: call.Policy.Name, Stage: call.Stage + 1, Stages: len(call.Policy.Stages), Group: stage.Group.Name,
		Need: stage.Need, Deny: stage.Deny(), Yes: t.Count(vote.Yes) + t.Count(vote.Edit), No: t.Count(vote.No)}
}

// Votes is how far the votes on a suspension have come, with who has said what, by time: those that
// are journaled and those that wait in the inbox. The yes of the person who wrote the arguments is
// journaled with the question before.
func (v *Viewer) Votes(ctx context.Context, p journal.Place, call core.SuspendedCall) (wire.Votes, error) {
	sus := call.Suspension.ID
	var voters []wire.Voter
	if t := p.Head.Votes[sus]; len(t) > 0 || !p.Current || !p.Head.Calls[call.CallID].WaitsOn(sus) {
		var err error
		if voters, err = v.journaledVotes(ctx, p, call); err != nil {
			return wire.Votes{}, err
		}
	}
	if p.Current {
		voters = append(voters, waitingVotes(p.Head, sus)...)
	}
	slices.SortStableFunc(voters, func(a, b wire.Voter) int {
		return cmp.Or(a.At.Compare(b.At.Time), cmp.Compare(a.By, b.By))
	})
	votes := VotesOf(call, nil)
	for _, voter := range voters {
		if voter.Action == core.ActionResume.String() {
			votes.Yes++
		} else {
			votes.No++
		}
	}
	votes.Voters = voters
	return votes, nil
}

func (v *Viewer) journaledVotes(ctx context.Context, p journal.Place, call core.SuspendedCall) (voters []wire.Voter, err error) {
	from, _ := core.SuspensionSeq(cmp.Or(call.Follows, call.Suspension.ID))
	err = v.journal.Journal(ctx, p, max(from, p.Record.Seq0+1), func(s core.Segment) bool {
		for _, e := range s.Events {
			var r core.DecisionRecord
			if e.Type != core.EventDecisionRecorded || json.Unmarshal(e.Data, &r) != nil || r.Ballot == nil {
				continue
			}
			edit := r.Suspension == call.Follows && r.Edits() && p.Head.Votes[call.Suspension.ID][r.Ballot.Key] == vote.Yes
			if edit || r.Suspension == call.Suspension.ID {
				voters = append(voters, voterShown(r))
			}
		}
		return true
	})
	return voters, err
}

// waitingVotes are the votes on a suspension that wait in the inbox.
func waitingVotes(h core.Head, sus string) (voters []wire.Voter) {
	for key, s := range h.Inbox {
		if _, of := core.VoteOf(key); of != sus || s.Kind != core.SignalVote {
			continue
		}
		r := core.Resume{Action: core.ActionCancel, UpdatedAt: s.At}
		voter, _ := core.VoteOf(key)
		said := h.Votes[sus][voter]
		if said != vote.No {
			r.Action = core.ActionResume
		}
		_ = json.Unmarshal(s.Value, &r) // a long one is stored elsewhere
		shown := voterShown(s.Record(sus, r))
		shown.Edited = said == vote.Edit
		voters = append(voters, shown)
	}
	return voters
}

func voterShown(r core.DecisionRecord) wire.Voter {
	return wire.Voter{By: r.By, Via: r.Via, Action: r.Action.String(), Edited: !core.IsNull(r.Arguments), Reason: r.Reason, At: wire.Millis(r.UpdatedAt)}
}
