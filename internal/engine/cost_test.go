package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// costing is a rig whose model asks for n calls and then ends, for 0.10 dollars each time.
func costing(t *testing.T, n int) *rig {
	turns := echoing(n)
	for i := range turns {
		turns[i].InputTokens, turns[i].OutputTokens = 60, 40
	}
	r := newRig(t, turns...)
	each := core.USD(1000).Times(1_000_000)
	r.terms.Price = &core.Price{Input: each, Output: each, CacheRead: each, CacheWrite: each}
	return r
}

func (r *rig) wantCost(usd core.USD, known bool) {
	r.t.Helper()
	if h := r.head(); core.USD(h.Cost) != usd || h.Priced != known {
		r.t.Errorf("the run cost %v (known: %v), want %v (known: %v)", core.USD(h.Cost), h.Priced, usd, known)
	}
}

func TestTheCostOfARunIsThatOfItsAnswers(t *testing.T) {
	r := costing(t, 3)
	r.turns[3].OutputTokens = 0
	r.play()
	r.wantCost(360_000, true)
}

func TestOneAnswerWithoutACostMakesThatOfTheRunUnknown(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"the first reports no usage":  func(r *rig) { r.turns[0].NoUsage = true },
		"a later one reports none":    func(r *rig) { r.turns[2].NoUsage = true },
		"no price is known":           func(r *rig) { r.terms.Price = nil },
		"a price is known afterwards": func(r *rig) { r.turns[1].NoUsage = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := costing(t, 3)
			change(r)
			r.play()
			r.wantCost(0, false)
		})
	}
}

// The price of an answer is the one that was known when it came.
func TestALaterPriceOfTheModelDoesNotChangeWhatWasCounted(t *testing.T) {
	r := costing(t, 2)
	r.start("hi")
	r.step()
	r.wantCost(100_000, true)
	r.terms.Price = &core.Price{}
	r.work()
	r.wantCost(100_000, true)
}

func TestARunWaitsForMoreMoneyAndGoesOn(t *testing.T) {
	r := costing(t, 3)
	r.terms.RunCost = core.CostLimit{Most: 200_000, Ask: true}
	r.play()
	r.wantAsked(2)
	r.wantRan(`echo{"n":0}`, `echo{"n":1}`)
	id := r.suspendedItself()
	r.must(r.decide(id, core.Resume{DecisionID: "d", Action: core.ActionResume}))
	r.work()
	r.wantEnd(core.NaturalEnd, "")
	r.wantCost(400_000, true)
	if h := r.head(); h.CostRaises != 1 {
		t.Errorf("raised %d times", h.CostRaises)
	}
}

func TestANoToMoreMoneyEndsTheRun(t *testing.T) {
	r := costing(t, 3)
	r.terms.RunCost = core.CostLimit{Most: 100_000, Ask: true}
	r.play()
	r.must(r.decide(r.suspendedItself(), core.Resume{DecisionID: "d", Action: core.ActionCancel, Reason: "enough"}))
	r.work()
	r.wantEnd(core.Stopped, "max_cost")
	r.wantAsked(1)
}

// An earlier program took any result as a yes and stored it with the action resume.
func TestAStoredResultRaisesABudgetOnlyIfItIsAYes(t *testing.T) {
	for result, raised := range map[string]bool{
		"": true, `null`: true, `true`: true, `{"approved":true}`: true,
		`false`: false, `"no"`: false, `{"approved":false}`: false, `{"approved":true,"denied":true}`: false, `"perhaps"`: false, `{"amount":5}`: false, `5`: false,
	} {
		t.Run(result, func(t *testing.T) {
			r := costing(t, 1)
			r.terms.RunCost = core.CostLimit{Most: 100_000, Ask: true}
			r.play()
			r.must(r.decide(r.suspendedItself(), core.Resume{DecisionID: "d", Action: core.ActionResume, Result: json.RawMessage(result)}))
			r.work()
			if raised {
				r.wantEnd(core.NaturalEnd, "")
				r.wantAsked(2)
				return
			}
			r.wantEnd(core.Stopped, "max_cost")
			r.wantAsked(1)
		})
	}
}

// suspendedItself is the call by which the run itself waits.
func (r *rig) suspendedItself() string {
	r.t.Helper()
	for id, c := range r.head().Calls {
		if c.Synthetic && c.Status == core.CallSuspended && c.Kind == core.KindApproval {
			return id
		}
	}
	r.t.Fatalf("the run does not wait for an approval: %+v", r.head().Calls)
	return ""
}
