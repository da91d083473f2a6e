package sim

import (
	"maps"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// counted are the counts after a commit that opens and closes some.
func counted(now, change map[string]vote.Tally) map[string]vote.Tally {
	counts := core.CloneMap(now)
	for sus, begin := range change {
		delete(counts, sus)
		if len(begin) > 0 {
			counts[sus] = maps.Clone(begin)
		}
	}
	return counts
}

// takes is the condition of a vote.
func takes(tally vote.Tally, v *engine.Vote) bool {
	return tally.Takes(v.Voter, v.Maker, v.Need, v.Deny)
}

// count counts a vote.
func count(counts map[string]vote.Tally, sus string, v *engine.Vote) {
	if counts[sus] == nil {
		counts[sus] = vote.Tally{}
	}
	counts[sus].Add(v.Voter, v.Maker, v.Say)
}

func isHeld(h core.Head, held engine.Held) bool {
	s, there := h.Inbox[held.Suspension]
	return there && s.Kind == core.SignalDecision && s.ID == held.ID && s.Hold == held.Until
}
