package dynamo

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

// The votes on a question are an attribute of the head of their own, which a commit creates and
// removes with the question. A commit writes no other: a vote that was counted since the owner read
// the head stays.

const (
	prefixVotes = "q:" // the name of the attribute; the suspension follows

	attrYes   = "y" // how many approve
	attrNo    = "n" // and how many deny
	attrEdit  = "e" // only after an edit
	attrVoter = "w" // what each voter has said
)

func votesName(thread, sus string) string { return prefixVotes + headform.Short(thread, sus) }

// countVote adds a vote to the update that stores its signal.
func countVote(u *update, req engine.SignalRequest) {
	v := req.Vote
	q := u.alias("votes", votesName(req.Thread, req.Suspension))
	own := q + u.in(".{"+attrVoter+"}.") + u.alias("voter", v.Voter)
	u.sets = append(u.sets, own+" = "+u.value("said", number(int64(v.Say))))
	switch v.Say {
	case vote.Yes:
		raise(u, q, attrYes)
	case vote.No:
		raise(u, q, attrNo)
	case vote.Edit:
		u.sets = append(u.sets, q+u.in(".{"+attrEdit+"} = ")+u.value("one", number(1)))
	}
	u.require("attribute_not_exists(" + own + ") AND attribute_not_exists(" + q + ".{" + attrEdit + "})")
	u.require(q + ".{" + attrYes + "} < :need AND " + q + ".{" + attrNo + "} < :deny")
	if v.Maker != "" {
		maker := q + u.in(".{"+attrVoter+"}.") + u.alias("maker", v.Maker)
		u.sets = append(u.sets, maker+" = "+u.value("minted", number(int64(vote.Minted))))
		u.require("attribute_not_exists(" + maker + ") OR " + maker + " = :minted")
	}
	u.value("need", number(int64(v.Need)))
	u.value("deny", number(int64(v.Deny)))
}

func raise(u *update, q, name string) {
	counter := q + u.in(".{"+name+"}")
	u.sets = append(u.sets, counter+" = "+counter+" + "+u.value("one", number(1)))
}

// changeVotes opens and closes the counts of a commit.
func changeVotes(u *update, thread string, votes map[string]vote.Tally) {
	n := 0
	for sus, begin := range votes {
		q := u.alias("votes"+strconv.Itoa(n), votesName(thread, sus))
		if begin == nil {
			u.removes = append(u.removes, q)
		} else {
			u.sets = append(u.sets, q+" = "+u.value("votes"+strconv.Itoa(n), mapOf(tallyOf(begin))))
		}
		n++
	}
}

// voteAttributes are the counts that a start writes: those of an open question, if there were one.
func voteAttributes(h core.Head) (all []attribute) {
	for sus, tally := range h.Votes {
		all = append(all, attribute{votesName(h.Thread, sus), mapOf(tallyOf(tally))})
	}
	return all
}

func tallyOf(t vote.Tally) item {
	said := item{}
	for voter, say := range t {
		said[voter] = number(int64(say))
	}
	it := item{attrYes: number(int64(t.Count(vote.Yes))), attrNo: number(int64(t.Count(vote.No))), attrVoter: mapOf(said)}
	if t.Count(vote.Edit) > 0 {
		it[attrEdit] = number(1)
	}
	return it
}

// votesIn are the votes in the item of a head. A question without votes has none.
func votesIn(it item, long func(string) string) map[string]vote.Tally {
	votes := map[string]vote.Tally{}
	for name := range it {
		packed, is := strings.CutPrefix(name, prefixVotes)
		if !is {
			continue
		}
		said := mapAt(mapAt(it, name), attrVoter)
		tally := vote.Tally{}
		for voter := range said {
			tally[voter] = vote.Say(numberAt(said, voter))
		}
		if len(tally) > 0 {
			votes[long(packed)] = tally
		}
	}
	return votes
}
