package frontend_test

import (
	"errors"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func is(entries ...string) (members []vote.Member) {
	for _, entry := range entries {
		members = append(members, vote.Member{Is: []string{entry}})
	}
	return members
}

// twoOf asks two of finance: ann, who also gets links, ben, callers with the role admin, and
// callers whom an identity provider names as members of the board.
func twoOf() *vote.Policy {
	members := append(is("token:ben", "token:cy", "role:admin", "claim:groups=board", "link:dora@example.com"),
		vote.Member{Person: "ann", Is: []string{"token:ann", "link:ann@example.com"}})
	return &vote.Policy{Name: "two", Stages: []vote.Stage{{Group: vote.Group{Name: "finance", Members: members}, Need: 2}}}
}

// ballotBox is a run whose call several people decide about.
type ballotBox struct {
	*fixture
	run wire.Run
	sus string
}

func (x *fixture) vote(call frontendtest.Call) ballotBox {
	x.t.Helper()
	x.worker.Who = true
	run := x.startAs(named("shop"))
	call.ID, call.Tool, call.Kind = "c1", "refund", core.KindApproval
	return ballotBox{x, run, x.worker.Suspend(run.ID, call)["c1"]}
}

func (b ballotBox) send(c frontend.Caller, d wire.Decision) (wire.DecisionAnswer, error) {
	d.Target = b.sus
	if c.Link != nil {
		return b.DecideByLink(b.t.Context(), c, d)
	}
	return b.Decide(b.t.Context(), c, b.run.ID, d)
}

func (b ballotBox) approves(c frontend.Caller) (wire.DecisionAnswer, error) {
	return b.send(c, wire.Decision{Action: "resume"})
}

func (b ballotBox) linkOf(address, maker string) frontend.Caller {
	return frontend.LinkCaller(engine.Link{Tenant: anna.Tenant, Run: b.run.ID, ID: "lnk_" + address, Suspension: b.sus, Call: "c1", For: address, Maker: maker})
}

func TestTwoPeopleApprove(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	for i, name := range []string{"ann", "ben"} {
		answer, err := b.approves(named(name))
		if err != nil || answer.Code != "accepted" || answer.Votes.Yes != i+1 || answer.Votes.Need != 2 || answer.Votes.Group != "finance" {
			t.Fatalf("%s: %+v, %v", name, answer.Votes, err)
		}
	}
	b.wantDecided(b.approves(named("cy")))("resume", "token:ann", "token:ben")
	b.drain(b.run.ID)
	b.wantDecided(b.approves(named("cy")))("resume", "token:ann", "token:ben")
	for range 2 { // and who has voted before is told so, however often
		answer, err := b.approves(named("ben"))
		if err != nil || !*answer.Same || answer.Applied == nil || !*answer.Applied {
			t.Fatalf("%+v, %v", answer, err)
		}
		_, err = b.send(named("ben"), wire.Decision{Action: "cancel"})
		b.wantCode(err, refusal.CodeAlreadyDecided)
	}
}

// A derived key says what was decided and not by whom, so it tells votes apart only together with
// the voter.
func TestVotesWithTheSameDerivedKeyAreSeveral(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	ids := map[string]bool{}
	for _, name := range []string{"ann", "ben"} {
		answer, err := b.approves(named(name))
		if err != nil || answer.Code != "accepted" {
			t.Fatalf("%s: %+v, %v", name, answer, err)
		}
		ids[answer.DecisionID] = true
	}
	if len(ids) != 1 {
		t.Errorf("derived keys: %v", ids)
	}
	for _, name := range []string{"ann", "ben"} {
		if answer, err := b.approves(named(name)); err != nil || answer.Same == nil || !*answer.Same || !ids[answer.DecisionID] {
			t.Errorf("%s repeats: %+v, %v", name, answer, err)
		}
	}
}

// wantDecided demands that a vote came after the decision, and that the answer names who voted.
func (b ballotBox) wantDecided(_ wire.DecisionAnswer, err error) func(action string, voters ...string) {
	return func(action string, voters ...string) {
		b.t.Helper()
		b.wantCode(err, refusal.CodeAlreadyDecided)
		refused, _ := errors.AsType[*refusal.Error](err)
		if refused.Winner.Action != action || len(refused.Winner.Votes.Voters) != len(voters) {
			b.t.Fatalf("decided as %+v", refused.Winner)
		}
		for i, v := range refused.Winner.Votes.Voters {
			if v.By != voters[i] {
				b.t.Errorf("voter %d is %s", i, v.By)
			}
		}
	}
}

func TestTheFirstNoDenies(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	if _, err := b.approves(named("ann")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.send(named("ben"), wire.Decision{Action: "cancel", Reason: "twice paid"}); err != nil {
		t.Fatal(err)
	}
	b.wantDecided(b.approves(named("cy")))("cancel", "token:ann", "token:ben")
}

func TestWhoMayVote(t *testing.T) {
	board := named("sub-1")
	board.Claims = map[string]string{"groups": "[staff board]"}
	for name, c := range map[string]frontend.Caller{
		"one who is not a member":            named("eve"),
		"one whose name is longer":           named("annabel"),
		"a caller without a name":            {Tenant: anna.Tenant, Roles: []access.Role{access.Admin}},
		"a caller with another role":         named("eve", access.Decide),
		"one of a list that may be one name": board,
	} {
		b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
		b.undecided(b.run.ThreadID, func() {
			_, err := b.approves(c)
			b.wantCode(err, refusal.CodeNotAnApprover)
			_, err = b.send(c, wire.Decision{Action: "cancel"})
			b.wantCode(err, refusal.CodeNotAnApprover)
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
	board.Claims["groups"] = `["staff","board"]`
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	for _, c := range []frontend.Caller{board, named("root", access.Admin)} {
		if _, err := b.approves(c); err != nil {
			t.Error(err)
		}
	}
}

// A person who comes by two ways counts once, and so does who makes a link and uses it.
func TestNobodyCountsTwice(t *testing.T) {
	for name, two := range map[string]func(b ballotBox) [2]frontend.Caller{
		"by token, then by link": func(b ballotBox) [2]frontend.Caller {
			return [2]frontend.Caller{named("ann"), b.linkOf("ann@example.com", "mailer")}
		},
		"by link, then by token": func(b ballotBox) [2]frontend.Caller {
			return [2]frontend.Caller{b.linkOf("ann@example.com", "mailer"), named("ann")}
		},
		"by token, then by a link that the voter made": func(b ballotBox) [2]frontend.Caller {
			return [2]frontend.Caller{named("ben"), b.linkOf("dora@example.com", "ben")}
		},
		"by a link that the voter made, then by token": func(b ballotBox) [2]frontend.Caller {
			return [2]frontend.Caller{b.linkOf("dora@example.com", "ben"), named("ben")}
		},
		"by a link of an admin, then by the admin's token": func(b ballotBox) [2]frontend.Caller {
			return [2]frontend.Caller{b.linkOf("dora@example.com", "root"), named("root", access.Admin)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
			callers := two(b)
			if _, err := b.approves(callers[0]); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				b.undecided(b.run.ThreadID, func() {
					if answer, err := b.approves(callers[1]); err == nil && !*answer.Same {
						t.Fatalf("%+v", answer)
					}
				})
				b.drain(b.run.ID)
			}
			if answer, err := b.approves(named("cy")); err != nil || answer.Votes.Yes != 2 {
				t.Fatalf("another person: %+v, %v", answer, err)
			}
		})
	}
}

func TestALinkCountsOnlyForARecipientWhoIsNamed(t *testing.T) {
	policy := twoOf()
	policy.Stages[0].Group.Members = append(policy.Stages[0].Group.Members, is("link:*@example.org")...)
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: policy})
	for _, address := range []string{"eve@example.com", "anyone@example.org"} {
		_, err := b.approves(b.linkOf(address, "mailer"))
		b.wantCode(err, refusal.CodeNotAnApprover)
	}
	// one caller may make links for several
	for _, address := range []string{"dora@example.com", "ann@example.com"} {
		if _, err := b.approves(b.linkOf(address, "mailer")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhoAskedMayVoteNoAndNotYes(t *testing.T) {
	policy := twoOf()
	policy.Stages[0].Group.Members = append(policy.Stages[0].Group.Members, is("token:shop")...)
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: policy, NotBy: core.NotByStarter})
	_, err := b.approves(named("shop"))
	b.wantCode(err, refusal.CodeSeparationOfDuties)
	if _, err := b.send(named("shop"), wire.Decision{Action: "cancel"}); err != nil {
		t.Error(err)
	}
}

func TestAnEditEndsTheVote(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	if _, err := b.send(named("ann"), wire.Decision{Action: "resume", Arguments: []byte(`{"order":"A-18"}`)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := b.approves(named("ben"))
		b.wantCode(err, refusal.CodeArgumentsChanged)
		b.drain(b.run.ID)
	}
}

func TestEachStageNeedsOtherPeople(t *testing.T) {
	policy := twoOf()
	policy.Stages = append(policy.Stages, policy.Stages[0])
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: policy, Stage: 1, Spent: []string{vote.Key("person:ann")}})
	for _, c := range []frontend.Caller{named("ann"), b.linkOf("ann@example.com", "mailer")} {
		_, err := b.approves(c)
		b.wantCode(err, refusal.CodeSeparationOfDuties)
	}
}

func TestVotesAreNotStoredInABatchAndGrantNothing(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	b.unchanged(b.run.ThreadID, func() {
		_, err := b.DecideTogether(t.Context(), named("ann"), b.run.ID, []wire.Decision{{Target: b.sus, Action: "resume"}})
		b.wantCode(err, refusal.CodeBatchRefused)
		if refused, _ := errors.AsType[*refusal.Error](err); refused.Answers[0].Err.Code != refusal.CodeVotesAreCounted {
			t.Errorf("%+v", refused.Answers)
		}
		_, err = b.send(named("ann"), wire.Decision{Action: "resume", Grant: "run"})
		b.wantCode(err, refusal.CodeBadGrant)
	})
}

func TestWhatWaitsShowsWhoHasVoted(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	look := func() wire.Votes {
		t.Helper()
		run, err := b.Run(t.Context(), anna, b.run.ID)
		if err != nil || len(run.Pending) != 1 {
			t.Fatalf("%+v, %v", run, err)
		}
		return *run.Pending[0].Votes
	}
	if votes := look(); votes.Policy != "two" || votes.Need != 2 || votes.Deny != 1 || votes.Stages != 1 || len(votes.Voters) != 0 {
		t.Fatalf("%+v", votes)
	}
	if _, err := b.send(named("ann"), wire.Decision{Action: "resume", Reason: "as agreed"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // in the inbox, then in the journal
		if votes := look(); votes.Yes != 1 || len(votes.Voters) != 1 || votes.Voters[0].By != "token:ann" || votes.Voters[0].Reason != "as agreed" {
			t.Fatalf("%+v", votes)
		}
		b.drain(b.run.ID)
	}
	if _, err := b.approves(named("ben")); err != nil {
		t.Fatal(err)
	}
	if run, err := b.Run(t.Context(), anna, b.run.ID); err != nil || len(run.Pending) != 0 {
		t.Fatalf("what has been decided still waits: %+v, %v", run.Pending, err)
	}
}

// drain lets the worker take up what is in the inbox, if anything is.
func (b ballotBox) drain(run string) {
	if len(b.head(b.run.ThreadID).Inbox) > 0 {
		b.worker.Drain(run)
	}
}

// Who tried to decide is left for the journal, a bounded number of times, and decides nothing.
func TestADecisionOfAStrangerLeavesATrace(t *testing.T) {
	b := newFixture(t, nil).vote(frontendtest.Call{Policy: twoOf()})
	for range 3 {
		_, err := b.approves(named("eve"))
		b.wantCode(err, refusal.CodeNotAnApprover)
	}
	h := b.head(b.run.ThreadID)
	if s := h.Inbox[core.RefusedKey(b.sus)]; len(h.Inbox) != 1 || s.Kind != core.SignalRefused || s.By != "token:eve" || string(s.Value) != `"not_an_approver"` || h.Due == 0 {
		t.Errorf("the inbox has %+v", h.Inbox)
	}
	for _, who := range []string{"ann", "ben"} {
		if _, err := b.approves(named(who)); err != nil {
			t.Error(err)
		}
	}
	b.wantDecided(b.approves(named("cy")))("resume", "token:ann", "token:ben")
}
