package planner_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/callid"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/core/planner"
	"github.com/dormouse-dev/dormouse/internal/core/plans"
)

var storedHeads = []string{
	`{"tenant":"t","thread":"thr_a","run":"run_a_0","agent":"a","av":"v","v":1,"epoch":2,"rev":5,"cid":9,"seq":3,"seg":9,"ev":4,"sigs":1,"st":"running",
	  "calls":{"c":{"st":"suspended","kind":"approval","sus":"sus_3_a","n":1,"ask":"x"}},"round":2,"to":true,
	  "inbox":{"sus_3_a":{"k":"decision","c":"c","id":"d","dig":"x","v":{"decision_id":"d","action":"resume","updated_at":1},"t":5}},"born":1,"at":2}`,
	`{"run":"run_a_0","v":1,"st":"waiting","calls":{"c":{"st":"suspended","kind":"approval","sus":"sus_1_a"},"d":{"ok":true,"st":"resuming","sus":"sus_2_b"}},"inbox":{"m:1":{"k":"message","v":[{"type":"text","text":"hi"}],"t":1,"on":"abandon"}}}`,
	`{"run":"run_a_0","v":1,"st":"running","end":{"reason":"error","code":"x"},"held":[{"s":1,"k":"m:1"}],"out":{"n:x":{"k":"notify"}},"tries":9}`,
	`{"run":"run_a_0","v":1,"st":"created","inbox":{"m:start":{"k":"start","v":[{"type":"text","text":"hi"}]},"int":{"k":"interrupt","id":"i"},"cancel":{"k":"cancel"},"late:sus_1_a":{"k":"late","v":null}},"timed":{"sus_1_a":1}}`,
	`{"run":"run_a_0","v":1,"st":"running","seq":2,"calls":{"c":{"ie":1},"p":{"ps":true,"sus":"sus_1_p","st":"resuming"}},"round":1,"epoch":2,"delt":1,"snap":1,"tries":4,"bg":true,"grants":["x"],"meta":{},"narrow":[]}`,
	`{"run":"run_a_0","v":9,"st":"done","mt":-3,"rnd":["a"],"calls":null,"inbox":{"x":{"k":"decision","c":"c","ref":"gone"}}}`,
}

var storedJournals = []string{
	`[{"seq":1,"w":5,"prev":0,"run":"run_a_0","thread":"thr_a","at":5,"ev":1,"turn":1,"step":1,"messages":[{"role":"assistant","tool_calls":[{"id":"c","name":"ask_x","arguments":{"a":1}}]}],
	  "events":[{"type":"call.suspended","data":{"call_id":"c","suspension":{"id":"sus_3_a"},"resume_mode":"pass_decision_to_tool"}},{"type":"call.ready","data":{"call_id":"c"},"m":1},{"type":"text.ended","m":1}]}]`,
	`[{"seq":2,"events":[{"type":"decision.recorded","data":{"call_id":"c","suspension":"sus_2_b","applied":true,"decision_id":"d","action":"resume","result":null,"arguments":{"x":1}}},
	  {"type":"state.snapshot","data":{"run":{"a":1},"thread":{"b":["x"]}}},{"type":"state.delta","data":{"ops":[{"key":"a","op":"add","value":2},{"key":"b","op":"insert","value":"x"},{"op":"set","key":""}]}}]},{}]`,
	`[{"seq":1,"run":"run_a_0","messages":[{"role":"tool","call_id":"c","pending":true},{"role":"tool","call_id":"c","parts":[{"text":"r"}]},{"role":"assistant","run_id":"run_a_0","tool_calls":[{"id":"c"},{"id":"c"},{"id":"p"}]}]}]`,
	`[]`, `[{"seq":1,"run":"run_a_0","turn":1,"step":1,"at":5,"ev":3,"events":[{"type":"step.ended","turn":2,"at":9,"seq":7},{"type":"step.started","run_id":"","step":0},{"type":"x"}]},null,{"events":[null],"messages":[null]}]`,
}

// comesBack is v as it is read after it was written, once it is sure that it is the same.
func comesBack[T any](t *testing.T, v T) (back T) {
	t.Helper()
	raw := core.Encode(v)
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, raw)
	}
	if diff := cmp.Diff(v, back, rawJSON, emptyIsNil); diff != "" {
		t.Fatalf("%s\ncame back as something else:\n%s", raw, diff)
	}
	return back
}

var rawJSON = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[json.RawMessage]() }, cmp.Comparer(sameJSON))

var emptyIsNil = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() != reflect.TypeFor[json.RawMessage]() }, cmpopts.EquateEmpty())

// What is read of a stored head is the same after it was written and read again.
func FuzzStoredHead(f *testing.F) {
	for _, head := range storedHeads {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var h core.Head
		if json.Unmarshal(raw, &h) != nil {
			return
		}
		comesBack(t, h)
		if diff := cmp.Diff(h, h.Clone(), emptyIsNil); diff != "" {
			t.Fatalf("the clone is another:\n%s", diff)
		}
		comesBack(t, h.Record())
		comesBack(t, h.Succeed("v", core.Signal{Kind: core.SignalStart}, 7))
		_, _ = h.RoundFrom()
		_ = h.Claimable(5, "c")
	})
}

// What is read of a stored segment is the same after it was written and read again, and every
// reader of a journal bears it.
func FuzzStoredSegments(f *testing.F) {
	for i, journal := range storedJournals {
		f.Add([]byte(storedHeads[i]), []byte(journal), "c")
	}
	f.Fuzz(func(t *testing.T, head, journal []byte, id string) {
		var h core.Head
		var segments []core.Segment
		if json.Unmarshal(head, &h) != nil || json.Unmarshal(journal, &segments) != nil {
			return
		}
		for _, s := range segments {
			comesBack(t, s)
			for _, e := range s.Expand() {
				if len(e.Data) > 0 && !json.Valid(e.Data) {
					t.Fatalf("event %+v", e)
				}
			}
			_, _, _ = core.FindSuspended(s, id)
			_, _ = core.FindHeld(s, id)
		}
		_ = core.CheckChain(h, 1, segments)
		_ = core.ReadRound(h, segments)
		comesBack(t, core.ReadState(h, segments))
		log := core.Messages(segments)
		used := callid.Used{Before: usedIn(log)}
		if unique := used.Unique(id); unique == "" || usedIn(log)(unique) {
			t.Fatalf("the id %q is empty or used", unique)
		}
		checkTranscript(t, core.TranscriptOf(log), true)
	})
}

// usedIn says which ids the calls of a log have.
func usedIn(log []core.Message) func(id string) bool {
	var t core.Transcript
	t.Add(log...)
	return t.Used
}

// checkTranscript: behind each turn stands one result for each of its calls, in their order, and no
// other. A placeholder is one only where the conversation goes on without waiting.
func checkTranscript(t *testing.T, transcript []core.Message, placeholders bool) {
	t.Helper()
	var open []core.ToolCall
	for _, m := range transcript {
		switch {
		case m.Role != core.RoleTool && len(open) == 0:
			open = m.Calls
		case m.Role != core.RoleTool || len(open) == 0 || open[0].ID != m.CallID || m.Pending && !placeholders:
			t.Fatalf("a message of role %q for call %q (pending: %v) where %v are open", m.Role, m.CallID, m.Pending, open)
		default:
			open = open[1:]
		}
	}
	if len(open) > 0 {
		t.Fatalf("no result for %v", open)
	}
}

// Whatever is stored, deciding comes to a plan or an error, and what it plans can be stored.
func FuzzDecideOnStored(f *testing.F) {
	for i, head := range storedHeads {
		f.Add([]byte(head), []byte(storedJournals[i%len(storedJournals)]), int64(10_000), uint16(0))
		f.Add([]byte(head), []byte(storedJournals[(i+1)%len(storedJournals)]), int64(-1), uint16(0xffff))
	}
	f.Fuzz(func(t *testing.T, head, journal []byte, now int64, flags uint16) {
		var h core.Head
		var segments []core.Segment
		if json.Unmarshal(head, &h) != nil || json.Unmarshal(journal, &segments) != nil {
			return
		}
		v := viewOf(h, segments, now, flags)
		for range 12 {
			plan, err := planner.Decide(v)
			if err != nil || !carryOut(t, &v, plan, segments) {
				return
			}
			v.Put++
		}
	})
}

// subscribed is what a subscriber to everything is notified of.
func subscribed(any bool) notice.Set {
	if any {
		return notice.Kinds
	}
	return nil
}

func viewOf(h core.Head, segments []core.Segment, now int64, flags uint16) plans.View {
	flag := func(n int) bool { return flags>>n&1 != 0 }
	v := plans.View{Head: h, Round: core.ReadRound(h, segments), State: core.ReadState(h, segments), Now: now, Put: 1, Limits: plans.DefaultLimits,
		Rules: oddRules{core.Terms{Parallel: flag(0), Continue: flag(1), Memory: flag(2)}}, Fresh: func() string { return "f" },
		Notices: subscribed(flag(3)), Conditions: plans.Conditions{TimeUp: flag(4), ModelAsked: flag(5), Cancelled: flag(6)}, Results: plans.Results{NotSent: flag(7)}}
	if flag(8) {
		v.Failure = &plans.ModelFailure{Reason: core.Reason{Kind: core.Failed}, Retryable: flag(9)}
	}
	if flag(10) {
		v.Broken = &core.Reason{Kind: core.Failed, Code: "agent_version_missing"}
	}
	return v
}

// carryOut does what is planned, in the simplest way; false if nothing follows.
func carryOut(t *testing.T, v *plans.View, plan plans.Plan, segments []core.Segment) bool {
	t.Helper()
	switch plan := plan.(type) {
	case *plans.Commit:
		if plan.Segment != nil {
			comesBack(t, *plan.Segment)
		}
		*v = v.After(comesBack(t, plan.Head), plan)
		return !plan.Over
	case plans.AskModel:
		v.ModelAsked, v.UsedCallID = true, usedIn(core.Messages(segments))
		v.Turn = &core.Turn{Text: "hm", Calls: []core.ToolCall{{ID: "c", Name: "ask_x"}, {ID: "c", Name: "lookup"}}}
	case plans.RunBodies:
		for _, run := range plan {
			v.Outcomes = append(v.Outcomes, plans.BodyOutcome{CallID: run.Call.ID, Nth: v.Put, Saw: v.Put - 1, Outcome: core.Outcome{Text: "done"}})
		}
	case plans.SendOutbox:
		for _, key := range plan.Keys {
			v.Sent = append(v.Sent, plans.Sent{Key: key})
		}
	case plans.StartHeld:
		return false
	default:
		t.Fatalf("a plan that nothing here asks for: %#v", plan)
	}
	return true
}
