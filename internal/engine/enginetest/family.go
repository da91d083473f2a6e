package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/peer"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// Runs that start runs: what the head of a child knows of its parent, and that of a parent of its
// children.
var familyCases = []storeCase{
	{"the head of a child is read back as given", testChildStarts},
	{"a child's thread is started once, the repeated launch gets its head", testChildStartsOnce},
	{"a head with a family is read back as written", testFamilyWrites},
	{"the record of a run with a family is kept with it", testFamilyRecord},
	{"a run without a family follows one that had one", testFamilyFollowed},
	{"a program that knows no families leaves their heads alone", testFamilyOlderProgram},
	{"a program that does not know what starts supply leaves their runs alone", testSuppliedOlderProgram},
	{"CH-3 a child's result is stored once, and only for the suspension it is bound to", testTell},
	{"CH-3 32 results for one suspension at once: one is stored", testTellRace},
	{"the results of two children land side by side", testTellTwo},
	{"a large result is read from beside the parent's thread", testTellByPayload},
	{"an interrupt from above and its end land side by side, each once", testInterruptFromAbove},
}

// testFamily is a family with a value in every member. Its parent's ids are as the engine makes
// them.
func testFamily() core.Family {
	const above = "thr_kqx3x6ysvpmwzg7hdzaqmhcbta"
	return core.Family{
		Parent: &core.Parent{Thread: above, Run: core.RunID(above, 41), Call: "toolu_01A09q90qw90lq917835lq9", Sus: core.SuspensionID(above, 7, strings.Repeat("x7", 13)),
			Depth: 2, Deepest: 4, Final: true},
		Children: 3, Allowance: 2_500_000, Below: core.TreeUsage{Runs: 4, InputTokens: 120_000, OutputTokens: 3400, Cost: 812_345, Unpriced: true, UnpricedAgent: "researcher"},
		Peer: &peer.Work{Tool: "elsewhere", Once: true, Until: 9_000, Token: "token", Sent: 3, Looks: 7, Silent: 8_000, Stops: 2, Over: true,
			Task: peer.Task{ID: "task", Context: "context", Endpoint: "https://agents.example.com", Pushes: true}}}
}

// child is the head of a child as its launch makes it.
func child(thread string) core.Head {
	h := created(thread)
	h.Parent, h.Allowance = testFamily().Parent, 2_500_000
	h.Schema = core.SchemaOf(h)
	return h
}

func testChildStarts(t *storeTest) {
	for i, change := range []func(*core.Parent){
		func(*core.Parent) {},
		func(p *core.Parent) { p.Deepest, p.Final = 0, false },
		func(p *core.Parent) { p.Sus = "sus_1" },
		func(p *core.Parent) { p.Sus = core.SuspensionID("thr_a", 2, "x") },
		func(p *core.Parent) { p.Run = "run_of_another_thread" },
		func(p *core.Parent) { p.Run = "any" },
		func(p *core.Parent) { p.Run = p.Thread },
		func(p *core.Parent) { p.Run = core.RunID(p.Thread, 1) + "_" },
		func(p *core.Parent) { p.Run = "run_" + strings.TrimPrefix(p.Thread, "thr_") + "_01" },
		func(p *core.Parent) {
			*p = core.Parent{Thread: "p", Run: "run_p_0", Call: "c", Sus: "sus_1_x_p", Depth: 1}
		},
		func(p *core.Parent) {
			*p = core.Parent{Thread: "thr_", Run: "run__0", Call: "c", Sus: "sus_1_x_", Depth: 1}
		},
		func(p *core.Parent) { p.Thread, p.Call = "thr_a b/c\n\"#1_2_", "c 1_2\u2028\x00|," },
		func(p *core.Parent) { *p = core.Parent{Depth: 1} },
	} {
		h := child(numbered("thr_", i))
		p := *h.Parent
		change(&p)
		h.Parent = &p
		h.Due = 6000
		t.equal("head", t.startHead(h), h)
		t.unchanged(h)
	}
}

func testChildStartsOnce(t *storeTest) {
	first := t.startHead(child(thread))
	again := child(thread)
	again.Parent.Sus, again.Allowance = "sus_other", 7
	again.Inbox = map[string]core.Signal{core.KeyStart: message("something else")}
	for range 2 {
		w, err := t.store.Start(t.Context(), engine.StartRequest{Head: again, Due: 7000})
		t.wantErr(err, engine.ErrRefused)
		t.equal("head in the way", w.Head, first)
		t.unchanged(first)
	}
	h := t.commit(finish(t.claim(first, "w1", 1000), 1))
	w, err := t.store.Start(t.Context(), engine.StartRequest{Head: again, Due: 7000})
	t.wantErr(err, engine.ErrRefused)
	t.equal("head in the way", w.Head, h)
	t.unchanged(h)
}

// relatives is a commit of h with a family in every member, and everything owed to relatives.
func relatives(h core.Head) engine.CommitRequest {
	req := next(h, 1, "I ask others")
	n := &req.Next
	n.Family, n.Schema = testFamily(), core.SchemaFamily
	fresh := func(seq int64) string { return core.SuspensionID(h.Thread, seq, strings.Repeat("ab", 13)) }
	above := core.SuspensionID("thr_above", 9, strings.Repeat("cd", 13))
	n.Calls = map[string]core.Call{
		"c1": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindChild, Mode: core.UseDecisionAsToolResult, Sus: fresh(1), Suspensions: 1, Deadline: 99}},
		"c2": {Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindChild, Sus: "sus_2"}},
		"c3": {Status: core.CallSuspended, Synthetic: true, Wait: core.Wait{Kind: core.KindInterrupt, Sus: fresh(3), Above: above}},
		"c4": {Status: core.CallSuspended, Synthetic: true, Wait: core.Wait{Kind: core.KindInterrupt, Sus: fresh(4), Above: fresh(4)}},
	}
	n.Pending = 2
	n.Out = map[string]core.Out{
		core.LaunchKey(fresh(1)): {Kind: "launch", Call: "c1", Sus: fresh(1)},
		core.LaunchKey("sus_2"):  {Kind: "launch", Call: "c2", Sus: "sus_2"},
		core.CancelKey(fresh(2)): {Kind: "cancel_child", Call: "c0", Sus: fresh(2)},
		core.CancelKey("s_"):     {Kind: "cancel_child", Call: "c0", Sus: "s_"},
		core.PauseKey(fresh(1)):  {Kind: "interrupt_child", Call: "c1", Sus: fresh(1), ID: above},
		core.GoOnKey(fresh(1)):   {Kind: "continue_child", Call: "c1", Sus: fresh(1), ID: fresh(4)},
		core.OutboxTell:          {Kind: "tell"},
		core.OutboxNotices:       {Kind: "notices", Event: 5, Seq: 2},
	}
	return req
}

func testFamilyWrites(t *storeTest) {
	req := relatives(t.claim(t.start(thread), "w1", 1000))
	want := req.Next.Clone()
	want.Inbox = nil
	t.equal("head", t.commit(req), want)
	t.unchanged(want)
	claimed := t.claim(want, "w2", 2000)
	want.Epoch, want.Rev, want.Tries = want.Epoch+1, want.Rev+1, 1
	want.Lease, want.Claim, want.Due = 2100, "w2", 62000
	t.equal("claimed head", claimed, want)

	alone := next(claimed, 1, "all is sent")
	alone.Next.Family, alone.Next.Out, alone.Next.Calls, alone.Next.Schema = core.Family{}, nil, nil, core.SchemaAlone
	t.commit(alone)
	alone.Next.Inbox = nil
	t.unchanged(alone.Next)
}

func testFamilyRecord(t *storeTest) {
	h := t.claim(t.startHead(child(thread)), "w1", 1000)
	req := finish(h, 1)
	req.Next.Family = testFamily()
	old := t.commit(req)
	t.wantRecord(old.Record())
	_, err := t.store.Start(t.Context(), succeed(old, "run_a_7"))
	t.must(err)
	t.wantRecord(old.Record())
	record, err := t.store.Archived(t.Context(), tenant, old.Run)
	t.must(err)
	t.equal("archived record", record, old.Record())
}

// wantRecord demands that the oldest run of the tenant's list is want.
func (t *storeTest) wantRecord(want core.Record) {
	t.Helper()
	for _, of := range []string{"", thread} {
		runs, _, err := t.store.Runs(t.Context(), tenant, of, "", 10)
		t.must(err)
		t.equal("listed record", runs[len(runs)-1], want)
	}
}

func testFamilyFollowed(t *storeTest) {
	for name, end := range map[string]func(core.Head, int) engine.CommitRequest{"thr_done": finish, "thr_owned": ending} {
		req := end(t.claim(t.startHead(child(name)), "w1", 1000), 1)
		req.Next.Family, req.Next.Held = testFamily(), nil
		old := t.commit(req)
		follow := old.Succeed("sha256:1", message("again"), 2000)
		if follow.Schema != core.SchemaOf(follow) {
			t.Fatalf("the next run has schema %d", follow.Schema)
		}
		w, err := t.store.Start(t.Context(), engine.StartRequest{Head: follow, Prior: &old, Owned: old.Open(), Seen: old.Sigs, Due: 9000})
		t.must(err)
		follow.Due = 9000
		t.equal("head", w.Head, follow)
		t.unchanged(follow)
	}
}

// A program that knows no families says that it reads [core.SchemaAlone] at most.
func testFamilyOlderProgram(t *storeTest) {
	claim := func(h core.Head) error {
		req := claimOf(h, "w1", 1000)
		req.Schema = core.SchemaAlone
		_, err := t.store.Claim(t.Context(), req)
		return err
	}
	stored := t.startHead(child(thread))
	t.wantErr(claim(stored), engine.ErrNewerSchema)
	t.unchanged(stored)
	t.must(claim(t.start("thr_alone")))
}

// waitsForChildren starts a thread whose calls c1 and c2 wait on sus_1 and sus_2, for children.
func (t *storeTest) waitsForChildren() core.Head {
	t.Helper()
	req := suspend(t.claim(t.start(thread), "w1", 1000), 1, "sus_1")
	req.Next.Calls = map[string]core.Call{}
	for call, sus := range map[string]string{"c1": "sus_1", "c2": "sus_2"} {
		req.Next.Calls[call] = core.Call{Status: core.CallSuspended, Wait: core.Wait{Kind: core.KindChild, Sus: sus, Suspensions: 1}}
	}
	req.Next.Pending, req.Next.Oldest, req.Next.Children, req.Next.Schema = 2, "", 2, core.SchemaFamily
	return t.commit(req)
}

// tell is the request that tells h how the child of one of its calls ended.
func tell(h core.Head, call, sus, text string) engine.SignalRequest {
	result := core.ChildResult{Outcome: core.CallOutcomeSucceeded, Value: core.Encode(text), Usage: core.TreeUsage{Runs: 2, InputTokens: 3, OutputTokens: 4, Cost: 5}}
	return engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: sus, Call: call, Suspension: sus, Due: 9000,
		Signal: core.Signal{Kind: core.SignalChild, Call: call, ID: core.ChildRun(tenant, h.Thread, sus), Sus: sus, Value: core.Encode(result), At: 2000}}
}

func testTell(t *storeTest) {
	h := t.waitsForChildren()
	for name, spoil := range map[string]func(*engine.SignalRequest){
		"the call waits on another":    func(r *engine.SignalRequest) { r.Suspension, r.InboxKey = "sus_0", "sus_0" },
		"it is the other call's":       func(r *engine.SignalRequest) { r.Call = "c2" },
		"there is no such call":        func(r *engine.SignalRequest) { r.Call = "c9" },
		"the run is another":           func(r *engine.SignalRequest) { r.Run = "run_a_other" },
		"the thread is another":        func(r *engine.SignalRequest) { r.Thread = "thr_b" },
		"it is the thread of a tenant": func(r *engine.SignalRequest) { r.Tenant = "another tenant" },
	} {
		req := tell(h, "c1", "sus_1", "found")
		spoil(&req)
		if _, err := t.store.Signal(t.Context(), req); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		t.unchanged(h)
	}
	told := t.signal(tell(h, "c1", "sus_1", "found"))
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+1, 9000
	want.Inbox["sus_1"] = tell(h, "c1", "sus_1", "found").Signal
	t.equal("head", told, want)
	t.unchanged(want)
	w, err := t.store.Signal(t.Context(), tell(h, "c1", "sus_1", "found again"))
	t.wantErr(err, engine.ErrRefused)
	t.equal("head that refused", w.Head, told)

	req := next(t.claim(told, "w2", 3000), 1, "over") // the second child is still awaited
	req.Next.End = &core.Reason{Kind: core.Cancelled}
	ended := t.commit(req)
	_, err = t.store.Signal(t.Context(), tell(h, "c2", "sus_2", "late"))
	t.wantErr(err, engine.ErrRefused)
	t.unchanged(ended)
}

func testTellRace(t *storeTest) {
	h := t.waitsForChildren()
	winners := t.winners(Together(32, func(i int) error {
		_, err := t.store.Signal(t.Context(), tell(h, "c1", "sus_1", numbered("found ", i)))
		return err
	}), engine.ErrRefused)
	if len(winners) != 1 {
		t.Fatalf("winners: %v", winners)
	}
	if got := t.load(h); got.Sigs != h.Sigs+1 || !strings.Contains(string(got.Inbox["sus_1"].Value), numbered("found ", winners[0])) {
		t.Fatalf("the winner is %d, the head %+v", winners[0], got)
	}
}

func testTellTwo(t *storeTest) {
	h := t.waitsForChildren()
	tells := []engine.SignalRequest{tell(h, "c1", "sus_1", "one"), tell(h, "c2", "sus_2", "two")}
	winners := t.winners(Together(len(tells), func(i int) error {
		_, err := t.store.Signal(t.Context(), tells[i])
		return err
	}), engine.ErrRefused)
	want := h.Clone()
	want.Sigs, want.Due = h.Sigs+2, 9000
	want.Inbox["sus_1"], want.Inbox["sus_2"] = tells[0].Signal, tells[1].Signal
	if len(winners) != 2 {
		t.Fatalf("stored: %v", winners)
	}
	t.unchanged(want)
	claimed := t.claim(want, "w2", 3000)
	t.equal("results of the claimed head", claimed.Inbox, want.Inbox)
	if got := t.commit(next(claimed, 1, "both")); len(got.Inbox) != 0 {
		t.Fatalf("left in the inbox: %+v", got.Inbox)
	}
}

func testTellByPayload(t *storeTest) {
	h := t.waitsForChildren()
	body := core.Encode(core.ChildResult{Outcome: core.CallOutcomeSucceeded, Value: core.Encode(strings.Repeat("page after page ", 20_000))})
	digest := core.Digest(body)
	t.must(t.store.PutPayload(t.Context(), tenant, h.Thread, digest, body))
	req := tell(h, "c1", "sus_1", "")
	req.Signal.Value, req.Signal.Ref = nil, digest
	t.signal(req)
	signal := t.load(h).Inbox["sus_1"]
	t.equal("signal", signal, req.Signal)
	got, err := t.store.Payload(t.Context(), tenant, h.Thread, signal.Ref)
	t.must(err)
	var read core.ChildResult
	if err := json.Unmarshal(got, &read); err != nil || !bytes.Equal(got, body) {
		t.Fatalf("%d bytes came back as %d (%v)", len(body), len(got), err)
	}
}

func testInterruptFromAbove(t *storeTest) {
	h := t.waitsForChildren()
	above := core.SuspensionID("thr_above", 9, strings.Repeat("cd", 13))
	want := h.Clone()
	for _, signal := range []core.Signal{{Kind: core.SignalPause, ID: above, At: 2000}, {Kind: core.SignalContinue, ID: above, At: 2001}} {
		key := core.InterruptKey(above)
		if signal.Kind == core.SignalContinue {
			key = core.ContinueKey(above)
		}
		req := engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: key, Signal: signal, Due: 9000}
		want.Inbox[key], want.Sigs, want.Due = signal, want.Sigs+1, 9000
		t.equal("head", t.signal(req), want)
		w, err := t.store.Signal(t.Context(), req)
		t.wantErr(err, engine.ErrRefused)
		t.equal("head that refused the repeat", w.Head, want)
	}
	t.unchanged(want)
	if got := t.commit(next(t.claim(want, "w2", 3000), 1, "paused")); len(got.Inbox) != 0 {
		t.Fatalf("left in the inbox: %+v", got.Inbox)
	}
}
