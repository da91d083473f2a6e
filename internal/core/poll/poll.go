// Package poll reads what the votes on the questions of a run have come to.
package poll

import (
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// VotedIn says whether a vote was that of a member of a group, given what was asked. The journal
// has the names of the voter's groups, and another rule may give such a name to other people.
func VotedIn(g vote.Group, rec core.DecisionRecord, asked core.SuspendedCall) bool {
	if !slices.Contains(strings.Split(rec.Ballot.Group, ","), g.Name) {
		return false
	}
	for _, stage := range slices.Concat(asked.Policy.Stages, asked.Deciding().Stages) {
		if stage.Group.Name == g.Name && !stage.Group.Same(g) {
			return false
		}
	}
	return true
}

// Minted are the makers of the links by which people have voted on a question.
func Minted(said vote.Tally) vote.Tally {
	makers := vote.Tally{}
	for person, what := range said {
		if what == vote.Minted {
			makers[person] = what
		}
	}
	return makers
}

// Spent are the people who may not vote on the stage that follows a question: those who have
// approved it, or an earlier one, and the makers of links.
func Spent(said vote.Tally) vote.Tally {
	spent := Minted(said)
	for person, what := range said {
		if what == vote.Yes || what == vote.Spent {
			spent[person] = vote.Spent
		}
	}
	return spent
}

// Taken is what was said on a question without the votes that are still in the inbox behind the one
// with this key.
func Taken(h core.Head, drained []string, key, sus string) vote.Tally {
	taken := vote.Tally{}
	for voter, said := range h.Votes[sus] {
		own := core.VoteKey(voter, sus)
		_, waits := h.Inbox[own]
		if own == key || !waits || slices.Contains(drained, own) {
			taken[voter] = said
		}
	}
	return taken
}

// Ballot is what the journal says of a vote, before it is known what it came to.
func Ballot(s core.Signal, voter string, taken vote.Tally, q core.SuspendedCall) *vote.Ballot {
	b := &vote.Ballot{Key: voter, Group: s.As, Outcome: vote.OutcomeSuperseded}
	if q.Policy != nil {
		b.Stage, b.Stages, b.Need = q.Stage+1, len(q.Policy.Stages), q.Asked().Need
		b.Yes, b.No, b.Outcome = taken.Count(vote.Yes), taken.Count(vote.No), vote.OutcomeCounted
	}
	return b
}

// Changes is what a commit that turns one head into the next does to the counts: it opens those of
// new questions and closes those that no call waits for any more. It leaves all others alone,
// because votes that the owner has not seen may have been counted since. Counted says whether the
// votes on a suspension are counted; nil: nothing changes.
func Changes(before, next core.Head, opens map[string]vote.Tally, counted func(sus string) bool) map[string]vote.Tally {
	changed := map[string]vote.Tally{}
	for sus := range before.Votes {
		changed[sus] = nil
	}
	for _, c := range before.Calls {
		if c.Status == core.CallSuspended && counted(c.Sus) {
			changed[c.Sus] = nil
		}
	}
	for _, c := range next.Calls {
		if c.Status != core.CallSuspended {
			continue
		}
		delete(changed, c.Sus)
		if begin, opened := opens[c.Sus]; opened {
			changed[c.Sus] = begin
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return changed
}
