package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
)

const hour = int64(3_600_000)

// timed is a run that waits an hour for the approval of c1.
func timed(t *testing.T, limit core.Deadline) *rig {
	r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"))
	r.ask("pay")
	r.deadlines = map[core.Kind]core.Deadline{core.KindApproval: limit}
	r.start("pay 5")
	r.work()
	r.wantRun(core.RunWaiting, 0)
	return r
}

// pass lets time go by, sweeps, and works on what is due.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.clock.Advance(d)
	r.must(sweeper.Sweep(r.ctx, r.db, r.db, r.clock, 5*time.Second))
	r.work()
}

// late stores an answer to a suspension whose deadline has closed it, as the callers' side would.
func (r *rig) late(callID, sus string, d core.Resume) error {
	_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: r.head().Run, InboxKey: core.LateKey(sus), Late: sus,
		Signal: core.Signal{Kind: core.SignalLate, Call: callID, ID: d.DecisionID, Digest: "dig", Value: core.Encode(d), At: r.now()}, Due: r.now() + 5000, Wake: &engine.Delay{}})
	return err
}

func (r *rig) records() (records []core.DecisionRecord) {
	for _, e := range r.events() {
		var d core.DecisionRecord
		if e.Type == core.EventDecisionRecorded {
			r.must(json.Unmarshal(e.Data, &d))
			records = append(records, d)
		}
	}
	return records
}

func TestDeadlines(t *testing.T) {
	t.Run("HC2 HC9 nobody answers: the sweep finds it, the body does not run, and the model is told once", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour})
		sus := r.suspended("c1")
		if h := r.head(); sus.Deadline != r.now()+hour || h.Deadline != sus.Deadline || h.Due != sus.Deadline {
			t.Errorf("deadline %d, head %d, due %d, now %d", sus.Deadline, h.Deadline, h.Due, r.now())
		}
		r.pass(59 * time.Minute)
		r.wantRun(core.RunWaiting, 0)
		r.pass(2 * time.Minute)
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not run: no one approved it in time.", "assistant: done")
		if got := r.records(); len(got) != 1 || !got[0].TimedOut || !got[0].Applied {
			t.Errorf("recorded %+v", got)
		}
		if r.count(core.EventCallResuming) != 1 || r.count(core.EventCallFailed) != 1 {
			t.Error("the call did not go suspended, resuming, failed")
		}
	})
	t.Run("a near deadline is used when it passes, without the sweep", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: 60_000})
		r.clock.Advance(time.Minute - time.Millisecond)
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.clock.Advance(time.Millisecond)
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan()
	})
	t.Run("each of two waiting calls is closed at its own deadline", func(t *testing.T) {
		for _, order := range [][]string{{"c1", "c2"}, {"c2", "c1"}} {
			asked := map[string]core.ToolCall{"c1": call("c1", "pay", `{"amount":5}`), "c2": call("c2", "upload", `{"file":"a"}`)}
			r := newRig(t, calls(asked[order[0]], asked[order[1]]), says("done"))
			r.ask("pay")
			r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
			r.deadlines = map[core.Kind]core.Deadline{core.KindApproval: {Within: hour}, core.KindClient: {Within: 24 * hour}}
			r.play()
			r.wantRun(core.RunWaiting, 0)
			if h := r.head(); h.Deadline != r.now()+hour || h.Due != h.Deadline {
				t.Errorf("%v: the head's deadline is %d and it is due at %d, want both at %d", order, h.Deadline, h.Due, r.now()+hour)
			}
			r.pass(61 * time.Minute)
			r.wantRun(core.RunWaiting, 0)
			r.wantCalls(map[string]core.CallStatus{"c1": core.CallFailed, "c2": core.CallSuspended})
			r.pass(23 * time.Hour)
			r.wantRun(core.RunDone, core.NaturalEnd)
			if got := r.resultOf("c2"); got != "No answer arrived in time." {
				t.Errorf("%v: the result of c2 is %q", order, got)
			}
			r.wantRan()
		}
	})
	t.Run("HC1 a wake-up after the deadline settles it without the sweep", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour})
		r.clock.Advance(time.Hour)
		r.step()
		if r.count(core.EventCallFailed) != 1 {
			t.Error("the call did not fail")
		}
	})
	t.Run("HC3 an answer that was stored before the deadline was used wins", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour})
		r.clock.Advance(2 * time.Hour)
		r.must(r.decide("c1", resume("d1", "")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan(`pay{"amount":5}`)
	})
	t.Run("HC3 one that is stored while the deadline is being used wins too", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour})
		r.clock.Advance(2 * time.Hour)
		r.store = &beforeCommit{Store: r.db, do: func() { r.must(r.decide("c1", resume("d1", ""))) }}
		r.build(engine.Options{})
		r.step()
		r.work()
		r.wantRan(`pay{"amount":5}`)
		for _, rec := range r.records() {
			if rec.TimedOut {
				t.Errorf("the deadline was used all the same: %+v", rec)
			}
		}
	})
	t.Run("HC4 an answer that comes later is recorded once, told once, and changes nothing", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour})
		r.turns = []core.Turn{r.turns[0], calls(call("c2", "pay", `{"amount":6}`)), says("done")}
		sus := r.suspended("c1").Suspension.ID
		r.pass(61 * time.Minute)
		r.wantRun(core.RunWaiting, 0) // on c2
		if r.head().TimedOut[sus] != 1 {
			t.Fatalf("timed %v", r.head().TimedOut)
		}
		if err := r.decideOn("c1", sus, resume("d1", "")); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("the suspension still takes decisions: %v", err)
		}
		r.must(r.late("c1", sus, resume("d1", `"yes, do it"`)))
		r.work()
		if err := r.late("c1", sus, resume("d2", "")); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("a second late answer: %v", err)
		}
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(2)
		r.must(r.decide("c2", resume("d3", "")))
		r.work()
		r.wantRan(`pay{"amount":6}`)
		told := 0
		for _, m := range r.prompt.Messages {
			if m.Role == core.RoleSystem && strings.Contains(m.Text(), "after its deadline") && strings.Contains(m.Text(), "yes, do it") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the model was told %d times", told)
		}
		late := slices.IndexFunc(r.records(), func(d core.DecisionRecord) bool { return d.Late })
		if late < 0 || r.records()[late].Applied {
			t.Errorf("recorded %+v", r.records())
		}
	})
	t.Run("HC6 one answered, one lapsed: one result each, then one model call", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{"n":1}`), call("c2", "pay", `{"n":2}`)), says("done"))
		r.ask("pay")
		r.deadlines = map[core.Kind]core.Deadline{core.KindApproval: {Within: hour}}
		r.start("go")
		r.work()
		r.must(r.decide("c2", resume("d1", "")))
		r.work()
		r.pass(2 * time.Hour)
		r.wantConversation("user: go", "assistant[c1][c2]", "tool(c1): Not run: no one approved it in time.", `tool(c2): pay did {"n":2}`, "assistant: done")
		r.wantAsked(2)
	})
	t.Run("HC10 a call without a deadline waits for ever", func(t *testing.T) {
		r := paying(t)
		r.pass(10_000 * time.Hour)
		r.wantRun(core.RunWaiting, 0)
		if h := r.head(); h.Due != 0 || h.Deadline != 0 {
			t.Errorf("due %d, deadline %d", h.Due, h.Deadline)
		}
	})
	t.Run("the definition may name another outcome", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour, Outcome: core.DeadlineCancel})
		r.pass(2 * time.Hour)
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not approved: the call did not run. Reason: no answer arrived in time", "assistant: done")
		r = uploading(t)
		r.deadlines = map[core.Kind]core.Deadline{core.KindClient: {Within: hour, Outcome: core.DeadlineResult, Result: json.RawMessage(`"nothing"`)}}
		r.thread = "thr_u"
		r.start("upload")
		r.work()
		r.pass(2 * time.Hour)
		r.wantConversation("user: upload", "assistant[c1]", "tool(c1): nothing", "assistant: done")
	})
	t.Run("a result set in advance never approves anything", func(t *testing.T) {
		r := timed(t, core.Deadline{Within: hour, Outcome: core.DeadlineResult, Result: json.RawMessage(`true`)})
		r.pass(2 * time.Hour)
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not run: no one approved it in time.", "assistant: done")
	})
	t.Run("a tool's own wish counts before the definition's", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wait", `{}`)), says("done"))
		r.deadlines = map[core.Kind]core.Deadline{core.KindInput: {Within: hour}}
		r.tool("wait", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Ticket: &core.SuspendTicket{ResumeMode: core.UseDecisionAsToolResult, Within: 60_000}}, nil
		}})
		r.start("go")
		r.work()
		if got := r.suspended("c1").Deadline; got != r.now()+60_000 {
			t.Errorf("deadline %d", got-r.now())
		}
		r.pass(2 * time.Minute)
		r.wantConversation("user: go", "assistant[c1]", "tool(c1): No answer arrived in time.", "assistant: done")
	})
	t.Run("what happened to a lost body is not for time to tell", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "pay", `{}`)), says("done"))
		r.deadlines = map[core.Kind]core.Deadline{core.KindUnknownOutcome: {Within: hour}}
		r.tool("pay", toolRule{effect: core.Allow, spec: core.ToolSpec{Delivery: core.AtMostOnce}})
		r.start("pay")
		// claim, drain, turn and intent, ✗ result
		r.store = &breaking{Store: r.db, at: 4, before: true, how: dies}
		r.build(engine.Options{})
		if !r.stepOrDie() {
			t.Fatal("the process was not lost")
		}
		r.pass(3 * time.Minute)
		if c := r.head().Calls["c1"]; c.Kind != core.KindUnknownOutcome || c.Deadline != 0 {
			t.Errorf("call %+v", c)
		}
	})
}

// beforeCommit does something while the first commit is on its way.
type beforeCommit struct {
	engine.Store
	do func()
}

func (b *beforeCommit) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if b.do != nil {
		do := b.do
		b.do = nil
		do()
	}
	return b.Store.Commit(ctx, req)
}
