package enginetest

import (
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var voteCases = []storeCase{
	{"a vote is in the inbox and counted, in one write", testVoteWrites},
	{"H34 rule W: a commit keeps the votes that were counted since its owner looked", testVoteBesideCommit},
	{"H35 no vote is taken after the one that decides", testVoteAfterTheOutcome},
	{"no person votes twice, drained or not", testVoteTwice},
	{"H36 no vote is taken beside an edit", testVoteBesideEdit},
	{"of 40 votes at once as many are stored as are needed", testVoteRace},
	{"a vote on an old suspension is refused", testVoteStale},
	{"a commit closes one question and opens another with what it begins with", testVoteNextQuestion},
	{"no vote is taken once the end is set", testVoteAfterEnd},
}

const asked = "sus_1"

// ballot is the request that votes on c1 of h: two must approve, one denial denies.
func ballot(h core.Head, sus, voter string, say vote.Say) engine.SignalRequest {
	s := core.Signal{Kind: core.SignalVote, Call: "c1", ID: voter, Digest: "digest of " + voter, As: "finance", At: 2000}
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: core.VoteKey(voter, sus), Signal: s,
		Call: "c1", Suspension: sus, Due: 9000, Vote: &engine.Vote{Voter: voter, Say: say, Need: 2, Deny: 1}}
}

// voting has asked a question whose votes are counted.
func (t *storeTest) voting() core.Head {
	t.Helper()
	req := suspend(t.claim(t.start(thread), "w1", 1000), 1, asked)
	req.Votes = map[string]vote.Tally{asked: {}}
	return t.commit(req)
}

// refusedVote demands that a vote is refused by the head h, and changes nothing.
func (t *storeTest) refusedVote(h core.Head, why string, req engine.SignalRequest) {
	t.Helper()
	w, err := t.store.Signal(t.Context(), req)
	if err == nil {
		t.Fatalf("%s: it was stored", why)
	}
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused, "+why, w.Head, h)
	t.unchanged(h)
}

func testVoteWrites(t *storeTest) {
	h := t.voting()
	req := ballot(h, asked, "anna", vote.Yes)
	got := t.signal(req)
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+1, 9000
	want.Inbox[req.InboxKey] = req.Signal
	want.Votes = map[string]vote.Tally{asked: {"anna": vote.Yes}}
	t.equal("head", got, want)
	t.unchanged(want)
}

func testVoteBesideCommit(t *storeTest) {
	t.signal(ballot(t.voting(), asked, "anna", vote.Yes))
	owned := t.claim(created(thread), "w2", 3000)
	t.signal(ballot(owned, asked, "ben", vote.Yes))
	req := next(owned, 1, "one has approved")
	req.Next.Votes = map[string]vote.Tally{asked: {"anna": vote.Yes}}
	got := t.commit(req)
	t.equal("votes", got.Votes, map[string]vote.Tally{asked: {"anna": vote.Yes, "ben": vote.Yes}})
	t.equal("inbox", len(got.Inbox), 1)
	t.refusedVote(got, "since two have approved", ballot(owned, asked, "cy", vote.Yes))
}

func testVoteAfterTheOutcome(t *storeTest) {
	h := t.signal(ballot(t.voting(), asked, "anna", vote.Yes))
	h = t.signal(ballot(h, asked, "ben", vote.No))
	t.refusedVote(h, "since one has denied", ballot(h, asked, "cy", vote.Yes))
	t.refusedVote(h, "since one has denied", ballot(h, asked, "cy", vote.No))
	t.refusedVote(h, "since one has denied", ballot(h, asked, "cy", vote.Edit))
	majority := ballot(h, asked, "cy", vote.No)
	majority.Vote.Deny = 2
	t.signal(majority)
}

func testVoteTwice(t *storeTest) {
	h := t.signal(ballot(t.voting(), asked, "anna", vote.Yes))
	for _, say := range []vote.Say{vote.Yes, vote.No, vote.Edit} {
		t.refusedVote(h, "since anna has voted", ballot(h, asked, "anna", say))
	}
	owned := t.claim(h, "w2", 3000)
	h = t.commit(suspend(owned, 1, asked))
	t.equal("inbox", len(h.Inbox), 0)
	t.refusedVote(h, "since anna has voted, and was journaled", ballot(h, asked, "anna", vote.Yes))
	t.signal(ballot(h, asked, "ben", vote.Yes))
}

func testVoteBesideEdit(t *storeTest) {
	h := t.signal(ballot(t.voting(), asked, "anna", vote.Edit))
	t.equal("votes", h.Votes, map[string]vote.Tally{asked: {"anna": vote.Edit}})
	for _, say := range []vote.Say{vote.Yes, vote.No, vote.Edit} {
		t.refusedVote(h, "since anna has edited", ballot(h, asked, "ben", say))
	}
}

func testVoteRace(t *storeTest) {
	h := t.voting()
	winners := t.winners(Together(40, func(i int) error {
		req := ballot(h, asked, fmt.Sprint("p", i), vote.Yes)
		req.Vote.Need = 3
		_, err := t.store.Signal(t.Context(), req)
		return err
	}), engine.ErrRefused)
	got := t.load(h)
	if len(winners) != 3 || len(got.Votes[asked]) != 3 || len(got.Inbox) != 3 || got.Sigs != h.Sigs+3 {
		t.Fatalf("stored %v: %d votes, %d signals, sigs %d after %d", winners, len(got.Votes[asked]), len(got.Inbox), got.Sigs, h.Sigs)
	}
}

func testVoteStale(t *storeTest) {
	h := t.voting()
	t.refusedVote(h, "since it is about another suspension", ballot(h, "sus_0", "anna", vote.Yes))
	h = t.signal(say(h, "m1"))
	h = t.commit(suspend(t.claim(h, "w2", 3000), 1, "sus_2"))
	t.refusedVote(h, "since the call waits on another suspension now", ballot(h, asked, "anna", vote.Yes))
}

func testVoteNextQuestion(t *storeTest) {
	h := t.signal(ballot(t.voting(), asked, "anna", vote.Edit))
	req := suspend(t.claim(h, "w2", 3000), 1, "sus_2")
	req.Votes = map[string]vote.Tally{asked: nil, "sus_2": {"anna": vote.Yes, "dora": vote.Spent}}
	h = t.commit(req)
	t.equal("votes", h.Votes, map[string]vote.Tally{"sus_2": {"anna": vote.Yes, "dora": vote.Spent}})
	t.unchanged(h)
	t.refusedVote(h, "since the question is closed", ballot(h, asked, "ben", vote.Yes))
	t.refusedVote(h, "since anna wrote the arguments", ballot(h, "sus_2", "anna", vote.Yes))
	t.refusedVote(h, "since dora has approved before", ballot(h, "sus_2", "dora", vote.Yes))
	h = t.signal(ballot(h, "sus_2", "ben", vote.Yes))
	t.refusedVote(h, "since two have approved", ballot(h, "sus_2", "cy", vote.No))
}

func testVoteAfterEnd(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := suspend(h, 1, asked)
	req.Votes = map[string]vote.Tally{asked: {}}
	req.Next.Status, req.Next.End = core.RunRunning, &core.Reason{Kind: core.Cancelled}
	h = t.commit(req)
	t.refusedVote(h, "since the run ends", ballot(h, asked, "anna", vote.Yes))
}
