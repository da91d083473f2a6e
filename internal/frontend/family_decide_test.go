package frontend_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/links"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// relatives are a root, the child that it waits for, and the child of that, whose calls wait for
// people.
type relatives struct {
	root, child, leaf string            // runs
	sus               map[string]string // of the leaf, by call
}

func (x *fixture) tree(calls ...frontendtest.Call) (r relatives) {
	x.t.Helper()
	return x.treeAs(anna, calls...)
}

func (x *fixture) treeAs(c frontend.Caller, calls ...frontendtest.Call) (r relatives) {
	x.t.Helper()
	r.root = x.startAs(c).ID
	r.child = x.worker.Launch(r.root, agentCall("ask-a"))["ask-a"]
	r.leaf = x.worker.Launch(r.child, agentCall("ask-b"))["ask-b"]
	r.sus = x.worker.Suspend(r.leaf, calls...)
	return r
}

// fail ends a run that waits; a signal lets its worker claim it.
func (x *fixture) fail(run string, why core.Reason) {
	x.t.Helper()
	x.stir(run)
	x.worker.End(run, why, "")
}

func (x *fixture) stir(run string) {
	x.t.Helper()
	if _, err := x.Interrupt(x.t.Context(), anna, run, ""); err != nil {
		x.t.Fatal(err)
	}
}

func agentCall(id string) frontendtest.Call {
	return frontendtest.Call{ID: id, Tool: "research", Agent: "researcher"}
}

func approval(id string) frontendtest.Call {
	return frontendtest.Call{ID: id, Tool: "refund", Kind: core.KindApproval}
}

func threadOf(run string) string {
	thread, _ := core.ThreadOf(run)
	return thread
}

// HB20, HK12: a decision may be sent to any run above the one that waits.
func TestADecisionIsStoredAtTheChildWhereverItIsAddressed(t *testing.T) {
	for name, address := range map[string]func(relatives) string{
		"at the child": func(r relatives) string { return r.leaf }, "at the parent": func(r relatives) string { return r.child },
		"at the root": func(r relatives) string { return r.root }, "at the suspension": func(relatives) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			r := x.tree(approval("c1"))
			d := wire.Decision{Target: r.sus["c1"], Action: "resume", DecisionID: "d1"}
			decide := func() (wire.DecisionAnswer, error) {
				if run := address(r); run != "" {
					return x.Decide(t.Context(), anna, run, d)
				}
				return x.DecideSuspension(t.Context(), anna, d.Target, d)
			}
			answer, err := decide()
			x.want(answer, err, "accepted")
			if s, stored := x.head(threadOf(r.leaf)).Inbox[r.sus["c1"]]; !stored || s.ID != "d1" || answer.CallID != "c1" {
				t.Errorf("stored %+v at the child, answered %+v", s, answer)
			}
			answer, err = decide()
			x.want(answer, err, "same")
			x.worker.Drain(r.leaf)
			answer, err = decide()
			x.want(answer, err, "same")
		})
	}
}

func TestASuspensionElsewhereIsNoneOfTheRun(t *testing.T) {
	x := newFixture(t, nil)
	r, other := x.tree(approval("c1")), x.tree(approval("c1"))
	for _, wrong := range []struct{ run, target string }{
		{other.root, r.sus["c1"]}, {other.leaf, r.sus["c1"]}, {r.leaf, other.sus["c1"]}, {r.root, "c1"},
		{r.root, core.SuspensionID("thr_none", 3, "abc")},
	} {
		_, err := x.decide(wrong.run, wrong.target, wire.Decision{Action: "resume"})
		x.wantCode(err, refusal.CodeCallNotFound)
	}
	above := x.head(threadOf(r.child)).Calls["ask-b"].Sus
	_, err := x.decide(r.leaf, above, wire.Decision{Action: "resume"})
	x.wantCode(err, refusal.CodeCallNotFound) // of the run above, not below
}

// HB19: what a child works for is nothing that callers decide.
func TestACallThatAChildWorksForIsNotAnswered(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	sus := x.head(threadOf(r.child)).Calls["ask-b"].Sus
	for _, target := range []string{sus, "ask-b"} {
		for _, d := range []wire.Decision{{Action: "resume"}, {Action: "cancel"}, {Result: []byte(`"done"`)}} {
			x.unchanged(threadOf(r.child), func() {
				_, err := x.decide(r.child, target, d)
				x.wantCode(err, refusal.CodeWrongKind)
			})
		}
	}
	_, err := x.DecideSuspension(t.Context(), anna, sus, wire.Decision{Action: "cancel"})
	x.wantCode(err, refusal.CodeWrongKind)
	_, err = x.DecideTogether(t.Context(), anna, r.root, together("resume", sus))
	if got := met(err); len(got) != 1 || got[0] != string(refusal.CodeWrongKind) {
		t.Errorf("a batch: %v", got)
	}
}

// A body must not run on an approval that was given after an ancestor was cancelled, so the
// approval isn't taken either.
func TestAnApprovalComesTooLateOnceAnAncestorIsCancelled(t *testing.T) {
	cancel := func(x *fixture, run string) {
		if _, err := x.Cancel(x.t.Context(), anna, run); err != nil {
			x.t.Fatal(err)
		}
	}
	for name, ends := range map[string]func(x *fixture, r relatives){
		"the root is being cancelled":   func(x *fixture, r relatives) { cancel(x, r.root) },
		"the parent is being cancelled": func(x *fixture, r relatives) { cancel(x, r.child) },
		"the root has ended":            func(x *fixture, r relatives) { x.fail(r.root, core.Reason{Kind: core.Failed}) },
		"the root goes on without it":   func(x *fixture, r relatives) { x.stir(r.root); x.worker.TimeOut(r.root, "ask-a") },
		"the root asks another one": func(x *fixture, r relatives) {
			x.stir(r.root)
			x.worker.Resuspend(r.root, agentCall("ask-a"))
		},
		"the thread of the root has another run": func(x *fixture, r relatives) {
			x.fail(r.root, core.Reason{Kind: core.Failed})
			if _, err := x.Retry(x.t.Context(), anna, r.root, ""); err != nil {
				x.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			r := x.tree(approval("c1"), frontendtest.Call{ID: "c2", Tool: "refund", Kind: core.KindApproval, Policy: twoOf()})
			ends(x, r)
			x.unchanged(threadOf(r.leaf), func() {
				for _, run := range []string{r.root, r.child, r.leaf} {
					_, err := x.decide(run, r.sus["c1"], wire.Decision{Action: "resume"})
					x.wantCode(err, refusal.CodeRunDone)
				}
				_, err := x.Decide(t.Context(), named("ben"), r.leaf, wire.Decision{Target: r.sus["c2"], Action: "resume"})
				x.wantCode(err, refusal.CodeRunDone)
				_, err = x.DecideTogether(t.Context(), anna, r.root, together("resume", r.sus["c1"]))
				if got := met(err); len(got) != 1 || got[0] != string(refusal.CodeRunDone) {
					t.Errorf("a batch: %v", got)
				}
				_, err = links.New(x.Frontend).MakeLink(t.Context(), anna, r.root, links.LinkOrder{Target: r.sus["c1"], For: "bea", Life: 1e9})
				x.wantCode(err, refusal.CodeRunDone)
			})
		})
	}
}

func TestWhoAskedForTheTreeApprovesNothingInIt(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	boss, helper, bea := named("boss"), named("helper"), named("bea")
	barred := approval("c1")
	barred.NotBy = core.NotByStarter
	r := x.treeAs(boss, barred)
	if _, err := x.Message(t.Context(), helper, threadOf(r.root), "", wire.MessageRequest{Input: core.Encode("quickly")}); err != nil {
		t.Fatal(err)
	}
	decide := func(c frontend.Caller) error {
		_, err := x.Decide(t.Context(), c, r.root, wire.Decision{Target: r.sus["c1"], Action: "resume"})
		return err
	}
	x.undecided(threadOf(r.leaf), func() {
		x.wantCode(decide(boss), refusal.CodeSeparationOfDuties)
		x.wantCode(decide(helper), refusal.CodeSeparationOfDuties)
	})
	if err := decide(bea); err != nil {
		t.Errorf("another may not approve: %v", err)
	}
}

// What a caller answers in a child comes up with its result: it is then what the run above works
// on, and what it asks of its next children. Children that were started together don't know what
// the others were told.
func TestWhoAnsweredAQuestionBelowDoesNotApproveWhatFollows(t *testing.T) {
	x := newFixture(t, nil)
	x.worker.Who = true
	helper, bea := named("helper"), named("bea")
	barred := approval("pay")
	barred.NotBy = core.NotByStarter
	approve := func(c frontend.Caller, run, sus string) error {
		_, err := x.Decide(t.Context(), c, run, wire.Decision{Target: sus, Action: "resume"})
		return err
	}
	boss := named("boss")
	root := x.startAs(boss).ID
	stir := func() { // for its worker to claim it
		if _, err := x.Message(t.Context(), boss, threadOf(root), "", wire.MessageRequest{Input: core.Encode("go on")}); err != nil {
			t.Fatal(err)
		}
	}
	first := x.worker.Launch(root, agentCall("a"), agentCall("b"))
	sus := x.worker.Suspend(first["a"], frontendtest.Call{ID: "who", Tool: "ask_user", Kind: core.KindInput})["who"]
	if _, err := x.Decide(t.Context(), helper, root, wire.Decision{Target: sus, Action: "resume", Result: []byte(`"to Eve"`)}); err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(first["a"])
	x.worker.Finish(first["a"], "Eve gets it")
	stir()
	x.worker.TakeResult(first["a"], core.CallOutcomeSucceeded)
	beside := x.worker.Suspend(first["b"], barred)["pay"]
	if err := approve(helper, first["b"], beside); err != nil {
		t.Errorf("the child that was started together knows nothing of the answer: %v", err)
	}
	refuses := func(run, sus string) {
		t.Helper()
		x.undecided(threadOf(run), func() { x.wantCode(approve(helper, root, sus), refusal.CodeSeparationOfDuties) })
		if err := approve(bea, root, sus); err != nil {
			t.Errorf("another may not approve: %v", err)
		}
	}
	stir()
	next := x.worker.Launch(root, agentCall("c"))["c"]
	refuses(next, x.worker.Suspend(next, barred)["pay"])
	stir()
	refuses(root, x.worker.Suspend(root, barred)["pay"])
}

func TestABatchAnswersCallsOfOneRun(t *testing.T) {
	x := newFixture(t, nil)
	root := x.start().ID
	children := x.worker.Launch(root, agentCall("a"), agentCall("b"), approval("own"))
	own := x.head(threadOf(root)).Calls["own"].Sus
	a := x.worker.Suspend(children["a"], approval("c1"), approval("c2"))
	b := x.worker.Suspend(children["b"], approval("c1"))
	for _, targets := range [][]string{{a["c1"], b["c1"]}, {own, a["c1"]}} {
		_, err := x.DecideTogether(t.Context(), anna, root, together("resume", targets...))
		x.wantCode(err, refusal.CodeBatchSpansRuns)
	}
	answers, err := x.DecideTogether(t.Context(), anna, root, together("resume", a["c1"], a["c2"]))
	if err != nil || len(answers) != 2 || answers[1].Code != "accepted" {
		t.Fatalf("%+v, %v", answers, err)
	}
	if inbox := x.head(threadOf(children["a"])).Inbox; len(inbox) != 2 {
		t.Errorf("%d decisions at the child", len(inbox))
	}
}

func TestALinkForAChildIsMadeAtAnyAncestor(t *testing.T) {
	x := newFixtureWith(t, nil)
	x.Reader = x.over(x.store, nil)
	x.Frontend.LinkStore = x.store
	r := x.tree(approval("c1"))
	l, err := links.New(x.Frontend).MakeLink(t.Context(), anna, r.root, links.LinkOrder{Target: r.sus["c1"], For: "bea@example.com", Life: 1e12})
	if err != nil || l.Run != r.leaf || l.Suspension != r.sus["c1"] {
		t.Fatalf("%+v, %v", l, err)
	}
	answer, err := x.DecideByLink(t.Context(), frontend.LinkCaller(l), wire.Decision{Action: "resume"})
	x.want(answer, err, "accepted")
	if x.head(threadOf(r.leaf)).Inbox[r.sus["c1"]].Link != l.ID {
		t.Error("the decision isn't at the child, or doesn't name the link")
	}
}

func TestTheConversationOfAChildTakesNothingFromCallers(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	x.fail(r.leaf, core.Reason{Kind: core.Failed})
	for _, run := range []string{r.child, r.leaf} {
		x.unchanged(threadOf(run), func() {
			for _, on := range []string{"", "abandon", "queue"} {
				_, err := x.Message(t.Context(), anna, threadOf(run), "k-"+on, wire.MessageRequest{Input: core.Encode("hurry"), OnPending: on})
				e := x.wantCode(err, refusal.CodeChildThread)
				_, err = x.Start(t.Context(), anna, "s-"+on, wire.StartRequest{Agent: "desk", Input: core.Encode("hurry"), ThreadID: threadOf(run), OnPending: on})
				if x.wantCode(err, refusal.CodeChildThread); e.RunID == "" {
					t.Error("the refusal names no run to send it to")
				}
			}
			_, err := x.Retry(t.Context(), anna, run, "")
			x.wantCode(err, refusal.CodeChildThread)
		})
	}
}

func TestAParentThatWaitsForChildrenAloneTakesAMessage(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	if _, err := x.Message(t.Context(), anna, threadOf(r.root), "", wire.MessageRequest{Input: core.Encode("and B-2")}); err != nil {
		t.Error(err)
	}
}

func TestAChildIsInterruptedResumedAndCancelledByHand(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	if _, err := x.Interrupt(t.Context(), anna, r.leaf, ""); err != nil {
		t.Fatal(err)
	}
	x.worker.Drain(r.leaf)
	answer, err := x.Resume(t.Context(), anna, r.leaf, wire.ResumeRequest{})
	x.want(answer, err, "accepted")
	if _, err := x.Cancel(t.Context(), anna, r.leaf); err != nil {
		t.Error(err)
	}
}

func TestARootWhoseChildrenWereCancelledIsRetried(t *testing.T) {
	x := newFixture(t, nil)
	r := x.tree(approval("c1"))
	x.fail(r.leaf, core.Reason{Kind: core.Cancelled})
	x.fail(r.child, core.Reason{Kind: core.Cancelled})
	x.fail(r.root, core.Reason{Kind: core.Failed, Code: "model_unavailable"})
	s, err := x.Retry(t.Context(), anna, r.root, "")
	if err != nil || s.Run.Status != "created" {
		t.Errorf("%+v, %v", s.Run, err)
	}
	if h := x.head(threadOf(r.root)); h.Parent != nil || h.Children != 0 {
		t.Errorf("the new run has a family: %+v", h.Family)
	}
}
