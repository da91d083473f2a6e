package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/phrase"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// paying is a run that waits for the approval of c1.
func paying(t *testing.T) *rig {
	r := newRig(t, calls(call("c1", "pay", `{"amount":5}`)), says("done"))
	r.ask("pay")
	r.start("pay 5")
	r.work()
	r.wantRun(core.RunWaiting, 0)
	return r
}

// uploading is a run that waits for a client.
func uploading(t *testing.T) *rig {
	r := newRig(t, calls(call("c1", "upload", `{"file":"a"}`)), says("done"))
	r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
	r.start("upload")
	r.work()
	r.wantRun(core.RunWaiting, 0)
	return r
}

// suspended is the journaled record of a waiting call.
func (r *rig) suspended(id string) core.SuspendedCall {
	r.t.Helper()
	c := r.head().Calls[id]
	seq, ok := core.SuspensionSeq(c.Sus)
	if !ok {
		r.t.Fatalf("call %s has no suspension id: %+v", id, c)
	}
	for _, s := range r.journal() {
		if s.Seq == seq {
			if found, _, ok := core.FindSuspended(s, c.Sus); ok {
				return found
			}
		}
	}
	r.t.Fatalf("suspension %s is not in segment %d", c.Sus, seq)
	return core.SuspendedCall{}
}

func TestSuspending(t *testing.T) {
	t.Run("C71 HA3 an approval shows what would run, and nothing has run", func(t *testing.T) {
		r := paying(t)
		s := r.suspended("c1")
		if s.CallID != "c1" || s.ToolName != "pay" || string(s.Arguments) != `{"amount":5}` || s.Kind != core.KindApproval ||
			s.Suspension.Action != "approve" || s.Suspension.Message == "" || s.ResumeMode != core.ReplayToolCall {
			t.Errorf("suspended as %+v", s)
		}
		if r.head().End != nil {
			t.Error("a waiting run has a reason")
		}
		r.wantRan()
	})
	t.Run("C72 one placeholder stands for the result", func(t *testing.T) {
		r := paying(t)
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1) pending")
	})
	t.Run("C73 the mode of an ask is kept", func(t *testing.T) {
		r := newRig(t, calls(call("fc1", "ask_user", `{"question":"Pick a color"}`)), says("done"))
		r.tool("ask_user", toolRule{effect: core.Ask, mode: core.UseDecisionAsToolResult})
		r.start("hi")
		r.work()
		if got := r.suspended("fc1").ResumeMode; got != core.UseDecisionAsToolResult {
			t.Errorf("mode %s", got)
		}
	})
	t.Run("HA1 C112 a client tool waits in one commit with its turn, and no server body runs", func(t *testing.T) {
		r := uploading(t)
		r.wantRan()
		if s := r.suspended("c1"); s.Kind != core.KindClient || s.ResumeMode != core.UseDecisionAsToolResult {
			t.Errorf("suspended as %+v", s)
		}
		for _, seg := range r.journal() {
			var turn, wait bool
			for _, e := range seg.Events {
				turn = turn || e.Type == core.EventStepStarted
				wait = wait || e.Type == core.EventCallSuspended
			}
			if turn != wait {
				t.Errorf("segment %d: turn %v, suspension %v", seg.Seq, turn, wait)
			}
		}
	})
	t.Run("HA6 a server tool's result is kept while a client tool waits", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "upload", `{}`), call("c2", "echo", `{}`)), says("done"))
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.start("hi")
		r.work()
		r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended, "c2": core.CallSucceeded})
	})
	t.Run("HA7 two client calls: the model goes on when both are answered", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "upload", `{}`), call("c2", "upload", `{}`)), says("done"))
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.start("hi")
		r.work()
		r.must(r.decide("c2", resume("d2", `"two"`)))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantAsked(1)
		r.must(r.decide("c1", resume("d1", `"one"`)))
		r.work()
		r.wantConversation("user: hi", "assistant[c1][c2]", "tool(c1): one", "tool(c2): two", "assistant: done")
	})
	t.Run("HA8 a client call and an approval wait side by side, their kinds apart", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "upload", `{}`), call("c2", "pay", `{}`)), says("done"))
		r.tool("upload", toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true}})
		r.ask("pay")
		r.start("hi")
		r.work()
		if a, b := r.suspended("c1").Kind, r.suspended("c2").Kind; a != core.KindClient || b != core.KindApproval {
			t.Errorf("kinds %s and %s", a, b)
		}
	})
}

func TestDeciding(t *testing.T) {
	t.Run("C74 arguments stay as the model wrote them; the decision stands beside them", func(t *testing.T) {
		for _, decision := range []string{`true`, `{"overridden":"args"}`} {
			r := newRig(t, calls(call("c1", "deploy", `{"action":"deploy","target":"prod"}`)), says("done"))
			var got engine.ToolRequest
			r.tool("deploy", toolRule{effect: core.Ask, mode: core.PassDecisionToTool, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
				got = req
				return core.Outcome{Text: "ok"}, nil
			}})
			r.start("hi")
			r.work()
			r.must(r.decide("c1", resume("d", decision)))
			r.work()
			if string(got.Call.Arguments) != `{"action":"deploy","target":"prod"}` {
				t.Errorf("arguments became %s", got.Call.Arguments)
			}
			if got.Resume == nil || string(got.Resume.Result) != decision {
				t.Errorf("the tool was handed %+v", got.Resume)
			}
		}
	})
	t.Run("C75 a decision used as the result: no body runs", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "ask_user", `{"question":"Pick a color"}`)), says("done"))
		r.tool("ask_user", toolRule{effect: core.Ask, mode: core.UseDecisionAsToolResult})
		r.start("hi")
		r.work()
		r.must(r.decide("c1", resume("d", `{"color":"red"}`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan()
		r.wantConversation("user: hi", "assistant[c1]", `tool(c1): {"color":"red"}`, "assistant: done")
	})
	t.Run("C76 C113 HB1 HB8 an approved call runs once, with the same arguments, and is not asked about again", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan(`pay{"amount":5}`)
		if n := r.count(core.EventCallSuspended); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("C81 a settled call is not opened by what was left behind", func(t *testing.T) {
		r := paying(t)
		sus := r.head().Calls["c1"].Sus
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		if err := r.decideOn("c1", sus, resume("d2", `true`)); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("a decision on a settled call: %v", err)
		}
		r.wantRan(`pay{"amount":5}`)
	})
	t.Run("C83 C84 C85 HB9 a refusal: one message, the reason in it, no body, and the run goes on", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", cancelled("d", "User canceled in UI")))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not approved: the call did not run. Reason: User canceled in UI", "assistant: done")
		resolved := 0
		for _, m := range r.log() {
			if m.Role == core.RoleTool && !m.Pending {
				resolved++
			}
		}
		if resolved != 1 || r.count(core.EventCallSucceeded) != 0 || r.count(core.EventCallCancelled) != 1 {
			t.Errorf("%d results, %d successes, %d cancels", resolved, r.count(core.EventCallSucceeded), r.count(core.EventCallCancelled))
		}
	})
	t.Run("HB7 an error for a client call is a tool error for the model", func(t *testing.T) {
		r := uploading(t)
		r.must(r.decide("c1", core.Resume{DecisionID: "d", Action: core.ActionResume, Error: "disk full"}))
		r.work()
		r.wantConversation("user: upload", "assistant[c1]", "tool(c1): disk full", "assistant: done")
		if r.count(core.EventCallFailed) != 1 {
			t.Error("the call did not fail")
		}
	})
	t.Run("HB12 a decision that came as an error counts as not executed", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", core.Resume{DecisionID: "d", Action: core.ActionCancel, Error: "card expired"}))
		r.work()
		r.wantRan()
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("C87 first that it resumes, then that it is done", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		var order []string
		for _, e := range r.events() {
			if e.Type == core.EventCallResuming || e.Type == core.EventCallStarted || e.Type == core.EventCallSucceeded {
				order = append(order, string(e.Type))
			}
		}
		if want := []string{"call.resuming", "call.started", "call.succeeded"}; !slices.Equal(order, want) {
			t.Errorf("order %v", order)
		}
	})
	t.Run("C88 the log keeps the placeholder, the result behind it", func(t *testing.T) {
		r := paying(t)
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		var got []string
		for _, m := range r.log() {
			if m.Role == core.RoleTool {
				got = append(got, line(m))
			}
		}
		if want := []string{"tool(c1) pending", `tool(c1): pay did {"amount":5}`}; !slices.Equal(got, want) {
			t.Errorf("log has %v", got)
		}
	})
	t.Run("C92 a tool may wait again, each time under a new id", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "wizard", `{}`)), says("done"))
		r.suspending("wizard", core.PassDecisionToTool, 2)
		r.start("hi")
		r.work()
		first := r.head().Calls["c1"].Sus
		r.must(r.decide("c1", resume("d1", `{"approved":true,"step":1}`)))
		r.work()
		second := r.head().Calls["c1"].Sus
		if first == second {
			t.Error("the same suspension id twice")
		}
		if err := r.decideOn("c1", first, resume("d1b", `true`)); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("a decision on the first suspension now: %v", err)
		}
		r.must(r.decide("c1", resume("d2", `{"approved":true,"step":2}`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", `tool(c1): {"attempts":3,"decision":{"approved":true,"step":2}}`, "assistant: done")
		if n := r.count(core.EventCallSuspended); n != 2 {
			t.Errorf("suspended %d times", n)
		}
		if want := []string{"run_t_0/c1/0", "run_t_0/c1/1", "run_t_0/c1/2"}; !slices.Equal(r.keys, want) {
			t.Errorf("keys %v", r.keys)
		}
	})
	t.Run("C94 HB3 HR13 two decisions in one drain: both run, then the model is asked once", func(t *testing.T) {
		r := newRig(t, calls(call("ca", "pay", `{}`), call("cb", "pay", `{}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		r.must(r.decide("cb", resume("db", `true`)))
		r.must(r.decide("ca", resume("da", `true`)))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(2)
		if len(r.ran) != 2 {
			t.Errorf("ran %v", r.ran)
		}
	})
	t.Run("C95 HB2 one of two answers: that call runs, the run waits on, the model is not asked", func(t *testing.T) {
		r := newRig(t, calls(call("A", "pay", `{"n":1}`), call("B", "pay", `{"n":2}`), call("C", "echo", `{}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		r.must(r.decide("A", resume("da", `true`)))
		r.work()
		r.wantRun(core.RunWaiting, 0)
		r.wantCalls(map[string]core.CallStatus{"A": core.CallSucceeded, "B": core.CallSuspended, "C": core.CallSucceeded})
		r.wantRan("echo{}", `pay{"n":1}`)
		r.wantAsked(1)
		r.must(r.decide("B", resume("db", `true`)))
		r.work()
		r.wantAsked(2)
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("C96 C97 replays run in the order of the calls, without a new turn", func(t *testing.T) {
		r := newRig(t, calls(call("c2", "pay", `{"n":2}`), call("c10", "pay", `{"n":10}`), call("c1", "pay", `{"n":1}`)), says("done"))
		r.ask("pay")
		r.start("hi")
		r.work()
		for _, id := range []string{"c1", "c10", "c2"} {
			r.must(r.decide(id, resume("d"+id, `true`)))
		}
		r.step()
		r.wantRan(`pay{"n":2}`, `pay{"n":10}`, `pay{"n":1}`)
	})
	t.Run("C99 an empty answer approves", func(t *testing.T) {
		for _, empty := range []string{``, `null`, `{}`} {
			r := paying(t)
			r.must(r.decide("c1", resume("d", empty)))
			r.work()
			r.wantRan(`pay{"amount":5}`)
			r.wantRun(core.RunDone, core.NaturalEnd)
		}
	})
	t.Run("C105 a decision that comes while another tool runs is applied after its result and before the model", func(t *testing.T) {
		r := newRig(t, calls(call("c_pending", "pay", `{}`), call("c_done", "slow", `{}`)), says("done"))
		r.ask("pay")
		r.tool("slow", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
			return core.Outcome{Text: "slow"}, r.decide("c_pending", resume("d", `true`))
		}})
		r.start("hi")
		r.step()
		r.wantRan("slow{}", "pay{}")
		r.wantAsked(1)
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantAsked(2)
	})
	t.Run("C114 denied since: an approved call does not run", func(t *testing.T) {
		r := paying(t)
		r.tool("pay", toolRule{effect: core.Deny, reason: "closed since Monday"})
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRan()
		r.wantConversation("user: pay 5", "assistant[c1]", "tool(c1): Not allowed: closed since Monday", "assistant: done")
	})
	t.Run("HR14 a tool that is gone is an error for the model", func(t *testing.T) {
		r := paying(t)
		delete(r.tools, "pay")
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		r.wantRan()
		if r.count(core.EventCallFailed) != 1 {
			t.Error("the call did not fail")
		}
		r.wantRun(core.RunDone, core.NaturalEnd)
	})
	t.Run("HR1 nothing decided: a wake-up changes nothing", func(t *testing.T) {
		r := paying(t)
		before := r.head()
		if report := r.step(); report.Outcome != engine.Dropped {
			t.Errorf("outcome %s", report.Outcome)
		}
		if after := r.head(); after.Rev != before.Rev || after.Epoch != before.Epoch {
			t.Error("the head changed")
		}
		r.wantAsked(1)
	})
	t.Run("HR7 resumed: the same run, a new activation, earlier events kept", func(t *testing.T) {
		r := paying(t)
		before, run := r.events(), r.head().Run
		r.must(r.decide("c1", resume("d", `true`)))
		r.work()
		after := r.events()
		for i := range before {
			if string(core.Encode(before[i])) != string(core.Encode(after[i])) {
				t.Fatalf("event %d changed", i+1)
			}
		}
		h := r.head()
		if h.Run != run || h.Resumes != 1 || h.Activations != 2 || r.count(core.EventActivationEnded) != 2 {
			t.Errorf("run %s, resumes %d, activations %d (%d journaled)", h.Run, h.Resumes, h.Activations, r.count(core.EventActivationEnded))
		}
	})
}

func TestAnsweringByMessage(t *testing.T) {
	t.Run("a message answers the call that waits for input", func(t *testing.T) {
		r := newRig(t, calls(call("c1", "ask_user", `{}`)), says("done"))
		r.suspending("ask_user", core.UseDecisionAsToolResult, 1)
		r.start("hi")
		r.work()
		if s := r.suspended("c1"); s.Kind != core.KindInput || r.head().Pending != 0 {
			t.Fatalf("suspended as %s, %d wait for more than a message", s.Kind, r.head().Pending)
		}
		r.must(r.say("m1", "blue"))
		r.work()
		r.wantRun(core.RunDone, core.NaturalEnd)
		r.wantConversation("user: hi", "assistant[c1]", "tool(c1): blue", "assistant: done")
	})
}

func TestDecisionIsBoundToItsRun(t *testing.T) {
	t.Run("HR4 HB15 a decision for a run whose thread has gone on is refused", func(t *testing.T) {
		r := paying(t)
		old, sus := r.head(), r.head().Calls["c1"].Sus
		r.must(r.cancel())
		r.work()
		r.turns = []core.Turn{{}, calls(call("x1", "pay", `{}`)), says("done")}
		r.follow(r.head(), "again")
		r.work()
		_, err := r.db.Signal(r.ctx, engine.SignalRequest{Tenant: "t", Thread: r.thread, Run: old.Run, InboxKey: sus, Call: "c1", Suspension: sus,
			Signal: core.Signal{Kind: core.SignalDecision, Call: "c1", ID: "d", Value: json.RawMessage(`{}`)}})
		if !errors.Is(err, engine.ErrRefused) {
			t.Errorf("got %v", err)
		}
		if len(r.head().Inbox) != 0 {
			t.Error("something was stored")
		}
	})
}

func TestModelView(t *testing.T) {
	result := core.Message{Role: core.RoleTool, CallID: "call_1", Parts: core.TextParts("42")}
	waits := core.Message{Role: core.RoleTool, CallID: "call_1", Parts: core.TextParts(phrase.Placeholder), Pending: true}
	turn := core.Message{Role: core.RoleAssistant, Calls: []core.ToolCall{call("call_1", "echo", `{}`)}}
	user := func(text string) core.Message { return core.Message{Role: core.RoleUser, Parts: core.TextParts(text)} }
	for _, c := range []struct {
		name string
		log  []core.Message
		want string
	}{
		{"C89 a placeholder is dropped once the result is there", []core.Message{turn, waits, result}, "assistant[call_1] | tool(call_1): 42"},
		{"C90 a lone placeholder is kept", []core.Message{turn, waits}, "assistant[call_1] | tool(call_1) pending"},
		{"C91 a result that quotes the placeholder is kept", []core.Message{turn, {Role: core.RoleTool, CallID: "call_1", Parts: core.TextParts(phrase.Placeholder)}},
			"assistant[call_1] | tool(call_1): " + phrase.Placeholder},
		{"a message that came during the round stands behind its results", []core.Message{user("a"), turn, waits, user("b"), result},
			"user: a | assistant[call_1] | tool(call_1): 42 | user: b"},
		{"HF12 a call without a result is given one that says so", []core.Message{turn, user("b")},
			"assistant[call_1] | tool(call_1): " + core.NoResult + " | user: b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			view := core.TranscriptOf(c.log)
			var lines []string
			for _, m := range view {
				lines = append(lines, line(m))
			}
			if got := strings.Join(lines, " | "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			wellFormed(t, view)
		})
	}
}
