package frontend_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

func named(name string, roles ...access.Role) frontend.Caller {
	return frontend.Caller{Tenant: anna.Tenant, By: "token:" + name, Via: "api", Roles: roles}
}

func (x *fixture) startAs(c frontend.Caller) wire.Run {
	x.t.Helper()
	s, err := x.Start(x.t.Context(), c, "", wire.StartRequest{Agent: "desk", Input: core.Encode("pay A 120")})
	if err != nil {
		x.t.Fatal(err)
	}
	return s.Run
}

func TestWhoAskedForTheWorkDoesNotApproveIt(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	boss, helper, anna := named("boss"), named("helper"), named("anna")
	run := x.startAs(boss)
	if _, err := x.Message(t.Context(), helper, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("quickly")}); err != nil {
		t.Fatal(err)
	}
	asked := frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter}
	sus := x.worker.Suspend(run.ID, asked, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})
	decide := func(c frontend.Caller, id, action string) error {
		_, err := x.Decide(t.Context(), c, run.ID, wire.Decision{Target: sus[id], Action: action})
		return err
	}
	signedIn := boss // and not by the token
	signedIn.By = "person:boss"
	link := frontend.LinkCaller(engine.Link{Tenant: boss.Tenant, Run: run.ID, ID: "lnk_1", For: "anna@example.com", Maker: "boss"})
	unnamed := frontend.LinkCaller(engine.Link{Tenant: boss.Tenant, Run: run.ID, ID: "lnk_2", For: "anna@example.com"})
	x.undecided(run.ThreadID, func() {
		x.wantCode(decide(boss, "c1", "resume"), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(helper, "c1", "resume"), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(link, "c1", "resume"), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(frontend.Caller{Tenant: boss.Tenant}, "c1", "resume"), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(unnamed, "c1", "resume"), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(signedIn, "c1", "resume"), refusal.CodeNotAnApprover)
	})
	if err := decide(boss, "c2", "cancel"); err != nil {
		t.Errorf("who asked may not deny: %v", err)
	}
	if err := decide(anna, "c1", "resume"); err != nil {
		t.Errorf("another may not approve: %v", err)
	}
}

// An account's name doesn't tell which tokens are the same person's.
func TestATokenDoesNotApproveWhatAnAccountAskedFor(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	account, anna := named("boss"), named("anna")
	account.By = "person:anna@example.com"
	run := x.startAs(account)
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})
	x.undecided(run.ThreadID, func() {
		_, err := x.Decide(t.Context(), anna, run.ID, wire.Decision{Target: sus["c1"], Action: "resume"})
		x.wantCode(err, refusal.CodeSeparationOfDuties)
	})
	if _, err := x.Decide(t.Context(), anna, run.ID, wire.Decision{Target: sus["c1"], Action: "cancel"}); err != nil {
		t.Errorf("a token may not deny: %v", err)
	}
}

// Who answers what the run asks steers its work as a message does, whatever it asked with. What a
// person says of a lost body does not count, nor what is answered to a rule that bars the askers
// itself.
func TestWhoAnsweredAQuestionOfTheRunDoesNotApproveItsWork(t *testing.T) {
	answer := wire.Decision{Action: "resume", Result: []byte(`"to Eve"`)}
	for name, tt := range map[string]struct {
		asked  frontendtest.Call
		counts bool
	}{
		"input":                    {frontendtest.Call{Kind: core.KindInput}, true},
		"client":                   {frontendtest.Call{Kind: core.KindClient}, true},
		"an answer as its result":  {frontendtest.Call{Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult}, true},
		"one that bars the askers": {frontendtest.Call{Kind: core.KindApproval, Mode: core.UseDecisionAsToolResult, NotBy: core.NotByStarter}, false},
		"an unknown outcome":       {frontendtest.Call{Kind: core.KindUnknownOutcome}, false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			x.worker.Who = true
			helper, other := named("helper"), named("other")
			run := x.startAs(named("boss"))
			asked := tt.asked
			asked.ID, asked.Tool = "c1", "ask_user"
			sus := x.worker.Suspend(run.ID, asked, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})
			said := answer
			said.Target = sus["c1"]
			if _, err := x.Decide(t.Context(), helper, run.ID, said); err != nil {
				t.Fatal(err)
			}
			approve := func(c frontend.Caller) error {
				_, err := x.Decide(t.Context(), c, run.ID, wire.Decision{Target: sus["c2"], Action: "resume"})
				return err
			}
			if tt.counts {
				// its answer is in the inbox
				x.undecided(run.ThreadID, func() { x.wantCode(approve(helper), refusal.CodeSeparationOfDuties) })
				x.worker.Drain(run.ID)
				x.undecided(run.ThreadID, func() { x.wantCode(approve(helper), refusal.CodeSeparationOfDuties) })
				helper = other
			}
			if err := approve(helper); err != nil {
				t.Errorf("%s may not approve: %v", helper.By, err)
			}
		})
	}
}

// The model reads the whole thread, so what a caller asked in an earlier run is work of this one.
func TestWhoAskedInAnEarlierRunOfTheThreadDoesNotApprove(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	boss, helper, other := named("boss"), named("helper"), named("other")
	first := x.startAs(boss)
	x.worker.End(first.ID, core.Reason{Kind: core.NaturalEnd}, "I will.")
	next, err := x.Message(t.Context(), helper, first.ThreadID, "", wire.MessageRequest{Input: core.Encode("hello")})
	if err != nil || next.Run.ID == first.ID {
		t.Fatalf("%+v, %v", next, err)
	}
	sus := x.worker.Suspend(next.Run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})["c1"]
	approve := func(c frontend.Caller) error {
		_, err := x.Decide(t.Context(), c, next.Run.ID, wire.Decision{Target: sus, Action: "resume"})
		return err
	}
	for _, c := range []frontend.Caller{boss, helper} {
		x.wantCode(approve(c), refusal.CodeSeparationOfDuties)
	}
	if err := approve(other); err != nil {
		t.Error(err)
	}
}

// A rule that bars the starter may be about the edited arguments alone: an edit must not lead a
// call past it.
func TestAnEditDoesNotLeadPastWhoMayApprove(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	boss, anna := named("boss"), named("anna")
	run := x.startAs(boss)
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	x.editedNotBy = core.NotByStarter
	edit := wire.Decision{Target: sus, DecisionID: "d1", Action: "resume", Arguments: []byte(`{"amount":5000}`)}
	signedIn := boss // and not by the token
	signedIn.By = "person:boss"
	link := frontend.LinkCaller(engine.Link{Tenant: boss.Tenant, Run: run.ID, ID: "lnk_1", For: "anna@example.com", Maker: "boss"})
	x.undecided(run.ThreadID, func() {
		for _, c := range []frontend.Caller{boss, link} {
			_, err := x.Decide(t.Context(), c, run.ID, edit)
			x.wantCode(err, refusal.CodeSeparationOfDuties)
		}
	})
	if _, err := x.Decide(t.Context(), anna, run.ID, edit); err != nil {
		t.Errorf("another may not approve: %v", err)
	}
}

// An approver whose answer got lost sends the decision again, also after a message of its own.
func TestTheRepeatOfADecisionIsKnownWhateverItsCallerAskedForSince(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	anna := named("anna")
	run := x.startAs(named("boss"))
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})["c1"]
	decision := wire.Decision{Target: sus, DecisionID: "d1", Action: "resume"}
	if _, err := x.Decide(t.Context(), anna, run.ID, decision); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Message(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: core.Encode("quickly"), OnPending: "queue"}); err != nil {
		t.Fatal(err)
	}
	x.unchanged(run.ThreadID, func() {
		answer, err := x.Decide(t.Context(), anna, run.ID, decision)
		if err != nil || answer.Code != string(refusal.CodeAlreadyDecided) || answer.Same == nil || !*answer.Same {
			t.Errorf("the repeat got %+v, %v", answer, err)
		}
		decision.DecisionID = "d2"
		_, err = x.Decide(t.Context(), anna, run.ID, decision)
		x.wantCode(err, refusal.CodeAlreadyDecided)
	})
}

// Who retries a run asks for its work as well, and so does who started the one before.
func TestARetryDoesNotHideWhoAsked(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	boss, helper := named("boss"), named("helper")
	first := x.startAs(boss)
	x.worker.End(first.ID, core.Reason{Kind: core.Failed, Code: "boom"}, "")
	s, err := x.Retry(t.Context(), helper, first.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	sus := x.worker.Suspend(s.Run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})["c1"]
	for _, c := range []frontend.Caller{boss, helper} {
		_, err := x.Decide(t.Context(), c, s.Run.ID, wire.Decision{Target: sus, Action: "resume"})
		x.wantCode(err, refusal.CodeSeparationOfDuties)
	}
}

func TestAnAgentsApproversAndStarters(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	run := x.startAs(named("shop"))
	call := frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval, Approvers: []string{"token:anna", "role:admin"}}
	sus := x.worker.Suspend(run.ID, call)["c1"]
	decide := func(c frontend.Caller) error {
		_, err := x.Decide(t.Context(), c, run.ID, wire.Decision{Target: sus, Action: "resume"})
		return err
	}
	x.undecided(run.ThreadID, func() {
		x.wantCode(decide(named("ann")), refusal.CodeNotAnApprover)
		x.wantCode(decide(named("anna2", access.Decide)), refusal.CodeNotAnApprover)
		x.wantCode(decide(frontend.Caller{Tenant: anna.Tenant}), refusal.CodeNotAnApprover)
	})
	if err := decide(named("anna")); err != nil {
		t.Error(err)
	}
	run = x.startAs(named("shop"))
	call.Tool = "" // the run itself asks
	sus = x.worker.Suspend(run.ID, call)["c1"]
	if err := decide(named("ann")); err == nil || !strings.Contains(err.Error(), "may approve the run's question, and token:ann is not") {
		t.Errorf("the refusal names nothing: %v", err)
	}

	x = newFixtureWith(t, func(o *frontend.Options) {
		o.Starters = func(context.Context, engine.Definition) ([]string, error) { return []string{"token:shop*"}, nil }
	})
	run = x.startAs(named("shop-2"))
	x.unchanged(run.ThreadID, func() {
		_, err := x.Start(t.Context(), named("evil"), "", wire.StartRequest{Agent: "desk", Input: core.Encode("hi")})
		x.wantCode(err, refusal.CodeNotAStarter)
		_, err = x.Message(t.Context(), named("evil"), run.ThreadID, "", wire.MessageRequest{Input: core.Encode("hi")})
		x.wantCode(err, refusal.CodeNotAStarter)
	})
}

// Who opens a link that was sent to an endpoint isn't known, and could be the approver.
func TestAnAnswerByTheLinkOfAnEndpointCountsAsOneByAnyone(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	run := x.startAs(named("boss"))
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "ask", Kind: core.KindInput}, frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, NotBy: core.NotByStarter})
	link := frontend.LinkCaller(engine.Link{Tenant: anna.Tenant, Run: run.ID, ID: "lnk_1", For: "webhook ops", Endpoint: "wh_1", Suspension: sus["c1"]})
	if _, err := x.DecideByLink(t.Context(), link, wire.Decision{Action: "resume", Result: []byte(`"to Eve"`)}); err != nil {
		t.Fatal(err)
	}
	approve := func() error {
		_, err := x.Decide(t.Context(), named("anna"), run.ID, wire.Decision{Target: sus["c2"], Action: "resume"})
		return err
	}
	x.wantCode(approve(), refusal.CodeSeparationOfDuties)
	x.worker.Drain(run.ID)
	x.wantCode(approve(), refusal.CodeSeparationOfDuties)
}

// The API asks who a person is before it decides. This is what holds if it did not.
func TestWhoHasNotSignedInDoesNotDecideByALinkThatRequiresIt(t *testing.T) {
	x := newFixture(t, nil)
	run := x.startAs(named("boss"))
	sus := x.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	for _, require := range []string{engine.RequireToken, engine.RequireSignIn} {
		link := frontend.LinkCaller(engine.Link{Tenant: anna.Tenant, Run: run.ID, ID: "lnk_1", For: "anna@example.com", Suspension: sus, Require: require})
		x.undecided(run.ThreadID, func() {
			_, err := x.DecideByLink(t.Context(), link, wire.Decision{Action: "resume"})
			x.wantCode(err, refusal.CodeNotAnApprover)
		})
	}
}
