package enginetest

import (
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/invariant"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var invariantCases = []storeCase{
	{"I-5 a write that would leave a broken head is refused, and nothing of it is written", testBrokenHeads},
	{"I-5 a run that is followed by another has ended whole", testBrokenPrior},
}

// brokenHeads are writes of the owner of h, each with one thing wrong.
var brokenHeads = []struct {
	rule  invariant.Rule
	write func(h core.Head) engine.CommitRequest
}{
	{invariant.BackToCreated, func(h core.Head) engine.CommitRequest {
		req := next(h, 1, "one")
		req.Next.Status = core.RunCreated
		return req
	}},
	{invariant.WaitsForNothing, func(h core.Head) engine.CommitRequest {
		req := suspend(h, 1, "sus_1")
		req.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSucceeded}}
		return req
	}},
	{invariant.WaitsWithSignals, func(h core.Head) engine.CommitRequest {
		req := suspend(h, 1, "sus_1")
		req.Drained = nil
		return req
	}},
	{invariant.WaitsWithOutbox, func(h core.Head) engine.CommitRequest {
		req := suspend(h, 1, "sus_1")
		req.Next.Out = map[string]core.Out{"n:sus_1": {Kind: core.OutNotify, Call: "c1", Sus: "sus_1"}}
		return req
	}},
	{invariant.DoneWithoutEnd, func(h core.Head) engine.CommitRequest {
		req := finish(h, 1)
		req.Next.End = nil
		return req
	}},
	{invariant.DoneWithOpenCall, func(h core.Head) engine.CommitRequest {
		req := finish(h, 1)
		req.Next.Calls = map[string]core.Call{"c0": {Status: core.CallSucceeded}, "c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1"}}}
		return req
	}},
	{invariant.DoneWithSignals, func(h core.Head) engine.CommitRequest {
		req := finish(h, 1)
		req.Drained = nil
		return req
	}},
	{invariant.DoneWithOutbox, func(h core.Head) engine.CommitRequest {
		req := finish(h, 1)
		req.Next.Out = map[string]core.Out{"memory": {Kind: core.OutMemory}}
		return req
	}},
	{invariant.DoneWithHeld, func(h core.Head) engine.CommitRequest {
		req := finish(h, 1)
		req.Next.Held = []core.Held{{Seq: 1, Key: "m:1"}}
		return req
	}},
	{invariant.LaunchForNothing, func(h core.Head) engine.CommitRequest {
		req := next(h, 1, "one")
		req.Next.Out = map[string]core.Out{core.LaunchKey("sus_1"): {Kind: core.OutLaunch}}
		return req
	}},
	{invariant.EndsWithLaunch, func(h core.Head) engine.CommitRequest {
		req := ending(h, 1)
		req.Next.Out = map[string]core.Out{core.LaunchKey("sus_1"): {Kind: core.OutLaunch}}
		return req
	}},
	{invariant.SchemaTooOld, func(h core.Head) engine.CommitRequest {
		req := next(h, 1, "one")
		req.Next.Children = 1
		return req
	}},
}

func testBrokenHeads(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	for _, c := range brokenHeads {
		_, err := t.store.Commit(t.Context(), c.write(h))
		t.wantInvariant(err, c.rule)
		t.unchanged(h)
		segments, err := t.store.Segments(t.Context(), tenant, thread, 1, 10)
		t.must(err)
		t.equal("segments after "+string(c.rule), segments, []core.Segment(nil))
	}
	t.commit(suspend(h, 1, "sus_1")) // the owner is still the owner
}

// wantInvariant demands an error of its own, which no caller takes for a conflict or for an answer
// that is missing.
func (t *storeTest) wantInvariant(err error, rule invariant.Rule) {
	t.Helper()
	broken, ok := errors.AsType[*invariant.Error](err)
	if !ok || broken.Rule != rule {
		t.Fatalf("got %v, want a refusal for %s", err, rule)
	}
	for _, other := range []error{engine.ErrFenced, engine.ErrSignals, engine.ErrUnavailable, engine.ErrRefused} {
		if errors.Is(err, other) {
			t.Fatalf("%v is taken for %v", err, other)
		}
	}
}

func testBrokenPrior(t *storeTest) {
	h := t.claim(t.start(thread), "w1", 1000)
	req := next(h, 1, "over")
	req.Next.End = &core.Reason{Kind: core.NaturalEnd}
	req.Next.Calls = map[string]core.Call{"c1": {Status: core.CallSuspended, Wait: core.Wait{Sus: "sus_1"}}}
	h = t.commit(req)
	follow := succeed(h, "run_a_1")
	follow.Owned, follow.Seen = true, h.Sigs
	_, err := t.store.Start(t.Context(), follow)
	t.wantInvariant(err, invariant.DoneWithOpenCall)
	t.unchanged(h)
}
