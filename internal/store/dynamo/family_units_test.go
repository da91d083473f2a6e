package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

const (
	askedCall   = "toolu_01A09q90qw90lq917835lq9"
	parentBase  = "kqx3x6ysvpmwzg7hdzaqmhcbta"
	freshRandom = "7hk53ptcgv5mdkwgdw6uhbypx2"
)

// parentOf is a run that has called agents, n of them at once, and the suspensions of its calls.
func (d *desk) parentOf(n int) (h core.Head, suspensions []string) {
	d.Helper()
	now := d.clock.Now().UnixMilli()
	thread := core.ThreadID(parentBase)
	w, err := d.store.Start(d.Context(), engine.StartRequest{Due: now + 5000, Head: core.Head{
		Identity: core.Identity{Tenant: d.caller.Tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: "refund-desk", Version: core.Digest([]byte("definition")),
			Schema: core.SchemaAlone, Idem: core.Digest([]byte("key"))},
		Origin: core.Origin{Born: now, At: now, Metadata: []byte(`{"ticket":"T-88121"}`)},
		Inbox:  map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, ID: "n", Value: core.Encode(core.TextParts("research it")), At: now}}}})
	must(d.T, err)
	h, err = d.store.Claim(d.Context(), engine.ClaimRequest{Tenant: w.Head.Tenant, Thread: thread, Claim: "oqe2r5meaxhg5nbngker", Now: now, LeaseEnd: now + 120_000,
		Due: now + 125_000, Schema: core.SchemaVersion})
	must(d.T, err)
	h.Inbox = nil
	h.Rev, h.CID, h.Seq, h.Ev, h.Tries = h.Rev+1, core.NewStamp(h.Epoch, 6), 15, 61, 0
	h.Seg, h.Round = h.CID, 15
	h.Counters = core.Counters{Step: 7, Turn: 2, Activations: 7, Resumes: 1, InputTokens: 22400, OutputTokens: 5950, Cost: 162_000, Priced: true}
	h.ToolCalls, h.StepCalls, h.Awake = 7+n, n, 5000
	h.StartHooksDone, h.ModelSawAll, h.LastUserMessage = true, true, 1
	h.Pending, h.Children, h.Allowance, h.Schema = n, n, 5_000_000, core.SchemaFamily
	h.Below = core.TreeUsage{Runs: 2, InputTokens: 81_300, OutputTokens: 9_120, Cost: 380_500}
	for i := range n {
		call, sus := fmt.Sprint(askedCall, i), core.SuspensionID(thread, 15, fmt.Sprint(freshRandom[1:], i))
		h.Calls[call] = core.Call{Status: core.CallSuspended, InBudget: true, PlaceholderWritten: true,
			Wait: core.Wait{Kind: core.KindChild, Mode: core.UseDecisionAsToolResult, Sus: sus, Suspensions: 1, Deadline: now + time.Hour.Milliseconds()}}
		h.Out[core.LaunchKey(sus)] = core.Out{Kind: core.OutLaunch}
		suspensions = append(suspensions, sus)
	}
	h.Deadline = now + time.Hour.Milliseconds()
	w, err = d.store.Commit(d.Context(), engine.CommitRequest{Next: h, Drained: []string{core.KeyStart}})
	must(d.T, err)
	return w.Head, suspensions
}

// release gives the parent up, to wait for its children.
func (d *desk) release(h core.Head) core.Head {
	d.Helper()
	h = h.Clone()
	h.Rev, h.CID, h.Lease, h.Status, h.Out = h.Rev+1, h.CID+1, 0, core.RunWaiting, nil
	due := h.Deadline
	w, err := d.store.Commit(d.Context(), engine.CommitRequest{Next: h, AllSeen: true, Seen: h.Sigs, Due: &due})
	must(d.T, err)
	return w.Head
}

// beginChild launches a child of a run that waits for it.
func (d *desk) beginChild() string {
	parent, suspensions := d.parentOf(1)
	d.release(parent)
	now, sus := d.clock.Now().UnixMilli(), suspensions[0]
	thread := core.ChildThread(parent.Tenant, parent.Thread, sus)
	w, err := d.store.Start(d.Context(), engine.StartRequest{Due: now + 5000, Head: core.Head{
		Identity: core.Identity{Tenant: parent.Tenant, Thread: thread, Run: core.RunID(thread, 0), Agent: "refund-desk", Version: parent.Version, Schema: core.SchemaFamily},
		Family:   core.Family{Parent: &core.Parent{Thread: parent.Thread, Run: parent.Run, Call: askedCall + "0", Sus: sus, Depth: 3, Deepest: 4, Final: true}},
		Origin:   core.Origin{Born: now, At: now, Metadata: parent.Metadata},
		Inbox:    map[string]core.Signal{core.KeyStart: {Kind: core.SignalStart, ID: "n", Value: core.Encode(core.TextParts("refund A-1017")), At: now}}}})
	must(d.T, err)
	return w.Head.Run
}

// A parent of three fits one unit while it launches and waits, and with the first result in its
// inbox. A second undrained result takes it to two units until the drain, as a second decision
// does.
func TestAParentOfThreeFitsOneUnit(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		d := openDesk(t, s)
		h, suspensions := d.parentOf(3)
		t.Logf("with three launches to send: %d bytes", d.scales.largest)
		d.fits()
		h = d.release(h)
		for i, sus := range suspensions {
			value := core.Encode(core.ChildResult{Outcome: core.CallOutcomeSucceeded, Value: core.Encode("It is in the archive."), Usage: core.TreeUsage{Runs: 1, InputTokens: 8130, OutputTokens: 912, Cost: 38_050}})
			_, err := d.store.Signal(t.Context(), engine.SignalRequest{Tenant: h.Tenant, Thread: h.Thread, Run: h.Run, InboxKey: sus, Call: fmt.Sprint(askedCall, i), Suspension: sus, Due: h.At + 5000,
				Signal: core.Signal{Kind: core.SignalChild, Call: fmt.Sprint(askedCall, i), ID: core.ChildRun(h.Tenant, h.Thread, sus), Value: value, At: h.At}})
			must(t, err)
			if i == 0 {
				d.fits()
			}
			t.Logf("with %d results to take: %d bytes, %g units", i+1, d.scales.largest, d.scales.most)
		}
	})
}
