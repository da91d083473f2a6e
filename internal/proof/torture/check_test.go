package torture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// What happened in the history that every case here begins with: one run of an agent that asks
// before it pays. A first call was approved with another amount, a second was refused, a third was
// refused by a person whose rival had been first.
const (
	aThread = "thr_a"
	aRun    = "run_a_0"
	hello   = "pay A-17 5 and B-02 7 [start]"
	more    = "pay A-17 1 and B-02 2 [say]"
)

func paying(amount int) json.RawMessage {
	return fmt.Appendf(nil, `{"amount":%d,"order":"A-17"}`, amount)
}

// kept is a history in which every promise was kept. Each case gets its own to spoil.
func kept() (*Promises, *Evidence) {
	p := &Promises{
		Starts: []Start{{Caller: 1, Key: "start", Text: hello, Run: aRun, Thread: aThread, Request: wire.StartRequest{Agent: "torture-asks"}}},
		Messages: []Message{{Caller: 1, Thread: aThread, Text: more},
			{Caller: 1, Thread: aThread, Text: "never taken [say]", Refusal: "run_open"}},
		Decisions: []Decision{
			decided(1, "call_1", "sus_1", "d1", wire.Decision{Action: "resume", Arguments: paying(6)}),
			decided(1, "call_2", "sus_2", "d2", wire.Decision{Action: "cancel"}),
			lost(decided(2, "call_2", "sus_2", "d3", wire.Decision{Action: "resume"}), "d2"),
		},
	}
	var j journal
	j.add("call.ready", `{"call_id":"call_1","tool_name":"pay","arguments":%s}`, paying(5))
	j.add("call.ready", `{"call_id":"call_2","tool_name":"pay","arguments":%s}`, paying(7))
	j.suspended("call_1", "sus_1", 5)
	j.suspended("call_2", "sus_2", 7)
	j.add("decision.recorded", `{"call_id":"call_1","suspension":"sus_1","decision_id":"d1","action":"resume","arguments":%s,"applied":true}`, paying(6))
	j.add("call.started", `{"call_id":"call_1","tool_name":"pay","arguments":%s}`, paying(6))
	j.add("call.succeeded", `{"call_id":"call_1","tool_name":"pay","result":"paid"}`)
	j.add("decision.recorded", `{"call_id":"call_2","suspension":"sus_2","decision_id":"d2","action":"cancel","applied":true}`)
	j.add("call.cancelled", `{"call_id":"call_2","tool_name":"pay","result":"no"}`)
	ended := "natural_end"
	r := RunLog{Run: wire.Run{ID: aRun, ThreadID: aThread, Agent: "torture-asks", Status: "done", Reason: &ended}, Events: j.events}
	calls := []wire.ToolCall{{ID: "call_1", Name: "pay", Arguments: paying(5)}, {ID: "call_2", Name: "pay", Arguments: paying(7)}}
	e := &Evidence{
		Threads: map[string]Thread{aThread: {Runs: []RunLog{r}, Messages: []wire.Message{
			{RunID: aRun, Role: "user", Text: hello}, {RunID: aRun, Role: "assistant", ToolCalls: calls},
			{RunID: aRun, Role: "tool", CallID: "call_1", Pending: true}, {RunID: aRun, Role: "tool", CallID: "call_1", Text: "paid"},
			{RunID: aRun, Role: "tool", CallID: "call_2", Text: "no", Error: true}, {RunID: aRun, Role: "user", Text: more},
		}}},
		Again:  map[string]string{"start": aRun},
		Listed: map[string]int{aRun: 1}, Gated: ownGated, Own: true, HasEffects: true,
		Effects: []Effect{{Key: aRun + "/call_1/1", Arguments: paying(6)}},
	}
	e.HasNotices = true
	for _, event := range j.events {
		if kind := kindOf(event); kind != "" {
			a := Arrival{ID: fmt.Sprintf("%s:%d", aRun, event.Seq), Type: kind, Run: aRun, Thread: aThread, Seq: event.Seq}
			e.Notices = append(e.Notices, a)
		}
	}
	// the first was refused, and came again behind the others
	first := e.Notices[0]
	e.Notices[0].Refused = true
	e.Notices = append(e.Notices, first)
	return p, e
}

func decided(caller int, callID, sus, id string, d wire.Decision) Decision {
	d.Target, d.DecisionID = sus, id
	return Decision{Caller: caller, Run: aRun, Shown: wire.Pending{CallID: callID, Tool: "pay", Kind: "approval"}, Decision: d}
}

func lost(d Decision, winner string) Decision {
	d.Refusal, d.Winner = "already_decided", winner
	return d
}

// journal makes events with their numbers.
type journal struct{ events []wire.Event }

func (j *journal) add(kind, data string, args ...any) {
	j.events = append(j.events, wire.Event{Seq: int64(len(j.events) + 1), RunID: aRun, ThreadID: aThread, Type: kind,
		Data: fmt.Appendf(nil, data, args...)})
}

func (j *journal) suspended(call, sus string, amount int) {
	j.add("call.suspended", `{"call_id":%q,"tool_name":"pay","kind":"approval","suspension":{"id":%q},"pending":{"arguments":%s}}`,
		call, sus, paying(amount))
}

// history is a kept one that a case spoils.
type history struct {
	*Promises
	*Evidence
}

// thread changes what is found of the thread.
func (h history) thread(change func(*Thread)) {
	t := h.Threads[aThread]
	change(&t)
	h.Threads[aThread] = t
}

// without leaves out the events of a kind whose data holds a text; those behind them move up.
func (h history) without(kind, text string) {
	h.events(kind, text, func(wire.Event) []wire.Event { return nil })
}

// twice doubles them.
func (h history) twice(kind, text string) {
	h.events(kind, text, func(e wire.Event) []wire.Event { return []wire.Event{e, e} })
}

// as gives them another kind.
func (h history) as(kind, text, other string) {
	h.events(kind, text, func(e wire.Event) []wire.Event { e.Type = other; return []wire.Event{e} })
}

// saying replaces a text in them.
func (h history) saying(kind, text, instead string) {
	h.events(kind, text, func(e wire.Event) []wire.Event {
		e.Data = json.RawMessage(strings.ReplaceAll(string(e.Data), text, instead))
		return []wire.Event{e}
	})
}

func (h history) events(kind, text string, instead func(wire.Event) []wire.Event) {
	h.thread(func(t *Thread) {
		var all []wire.Event
		for _, e := range t.Runs[0].Events {
			if e.Type == kind && strings.Contains(string(e.Data), text) {
				all = append(all, instead(e)...)
			} else {
				all = append(all, e)
			}
		}
		for i := range all {
			all[i].Seq = int64(i + 1)
		}
		t.Runs[0].Events = all
	})
}

func TestAHistoryInWhichEverythingWasKeptHasNoViolation(t *testing.T) {
	p, e := kept()
	for _, v := range Check(p, *e) {
		t.Error(v)
	}
}

func TestEachBrokenPromiseIsFound(t *testing.T) {
	const one = "a call has exactly one result"
	for name, tt := range map[string]struct {
		spoil func(history)
		rule  string
	}{
		"a lost start":                {func(h history) { delete(h.Threads, aThread) }, "an acknowledged start is there"},
		"a key that started two runs": {func(h history) { h.Again["start"] = "run_b_0" }, "one key starts one run"},
		"a run nobody asked for":      {func(h history) { h.Listed["run_x_0"] = 1 }, "nothing runs that was not asked for"},
		"a run that is listed twice":  {func(h history) { h.Listed[aRun] = 2 }, "the list of runs has each once"},
		"a run of another agent":      {func(h history) { h.Starts[0].Request.Agent = "torture-auto" }, "a run is of the agent it was started with"},
		"a run that does not come to an end": {func(h history) {
			h.thread(func(t *Thread) { t.Runs[0].Status = "running" })
		}, "every run comes to its end"},
		"a run that somebody ended who was not asked": {func(h history) {
			h.thread(func(t *Thread) { t.Runs[0].Reason = new("cancelled") })
		}, "nobody ends a run but who may"},
		"a run that ended in error": {func(h history) {
			h.thread(func(t *Thread) { t.Runs[0].Reason = new("error") })
		}, "a run of this agent ends by itself or by a cancel"},
		"a lost cancel": {func(h history) {
			h.Cancels = append(h.Cancels, Cancel{Caller: 1, Run: aRun, Accepted: true})
		}, "an accepted cancel ends the run"},
		"a hole in the events": {func(h history) {
			h.thread(func(t *Thread) { t.Runs[0].Events[3].Seq++ })
		}, "events are numbered without gaps"},

		"a lost message":    {func(h history) { h.thread(func(t *Thread) { t.Messages = t.Messages[:5] }) }, said},
		"a doubled message": {func(h history) { h.thread(func(t *Thread) { t.Messages = append(t.Messages, t.Messages[5]) }) }, said},
		"a refused message that is there": {func(h history) {
			h.thread(func(t *Thread) {
				t.Messages = append(t.Messages, wire.Message{RunID: aRun, Role: "user", Text: "never taken [say]"})
			})
		}, said},
		"a message nobody sent": {func(h history) {
			h.thread(func(t *Thread) {
				t.Messages = append(t.Messages, wire.Message{RunID: aRun, Role: "user", Text: "out of the blue"})
			})
		}, "nobody says what was not sent"},

		"a lost decision":                {func(h history) { h.without("decision.recorded", `"d1"`) }, "an accepted decision is in the journal"},
		"a decision that is there twice": {func(h history) { h.twice("decision.recorded", `"d2"`) }, "a suspension is decided once"},
		"a decision that was changed": {func(h history) {
			h.saying("decision.recorded", `"amount":6`, `"amount":60`)
		}, "a decision is recorded as it was made"},
		"a decision that was not applied": {func(h history) {
			h.saying("decision.recorded", `"applied":true`, `"applied":false`)
		}, "an accepted decision is applied"},
		"two decisions that were both the first": {func(h history) { h.Decisions[2].Refusal = "" }, "one decision is the first"},
		"a refused decision that is there": {func(h history) {
			h.saying("decision.recorded", `"decision_id":"d2"`, `"decision_id":"d3"`)
		}, "a refused decision changes nothing"},
		"a winner that is not": {func(h history) { h.Decisions[2].Winner = "d9" }, "who is told of another decision is told the truth"},

		"a call with two results":       {func(h history) { h.twice("call.succeeded", "call_1") }, one},
		"a call with none":              {func(h history) { h.without("call.cancelled", "call_2") }, one},
		"a call that was made twice":    {func(h history) { h.twice("call.ready", "call_1") }, "a call is made once"},
		"a result for a refused call":   {func(h history) { h.as("call.cancelled", "call_2", "call.succeeded") }, withLeave},
		"a refused call that was run":   {func(h history) { h.as("call.cancelled", "call_2", "call.started") }, withLeave},
		"a call that ran unasked":       {func(h history) { h.without("call.suspended", "call_1") }, withLeave},
		"a call that did not wait":      {func(h history) { h.without("decision.recorded", `"d1"`) }, withLeave},
		"other arguments than decided":  {func(h history) { h.saying("call.started", `"amount":6`, `"amount":5`) }, withLeave},
		"other arguments than shown":    {func(h history) { h.saying("call.suspended", `"amount":7`, `"amount":8`) }, withLeave},
		"a result the model sees twice": {func(h history) { h.thread(func(t *Thread) { t.Messages = append(t.Messages, t.Messages[3]) }) }, seen},
		"a result the model never sees": {func(h history) { h.thread(func(t *Thread) { t.Messages[3].Pending = true }) }, seen},

		"a notice that came again only to be refused": {func(h history) { h.Notices[len(h.Notices)-1].Refused = true }, "a notice is delivered"},
		"a notice that never came":                    {func(h history) { h.Evidence.Notices = h.Notices[:len(h.Notices)-2] }, "a notice is delivered"},
		"a notice of nothing": {func(h history) {
			h.Evidence.Notices = append(h.Notices, Arrival{ID: aRun + ":99", Type: "done", Run: aRun, Thread: aThread, Seq: 99})
		}, "a notice is of the journal"},
		"a wait that ended without an answer, of which no notice came": {func(h history) {
			h.thread(func(t *Thread) {
				events := t.Runs[0].Events
				left := wire.Event{Seq: 99, Type: "call.cancelled", Data: json.RawMessage(`{"call_id":"call_9","tool_name":"pay","result":"the run ended","suspension":"sus_9"}`)}
				t.Runs[0].Events = append(events, left)
			})
		}, "a notice is delivered"},
		"a notice of another kind": {func(h history) { h.Notices[1].Type = "done" }, "a notice is of the journal"},
		"notices in another order": {func(h history) { h.Notices[1], h.Notices[2] = h.Notices[2], h.Notices[1] }, "first deliveries are in the order of the journal"},

		"an effect that happened twice": {func(h history) {
			h.Effects = append(h.Effects, Effect{Key: aRun + "/call_1/2", Arguments: paying(6)})
		}, "a tool that runs at most once ran at most once"},
		"an effect with other arguments": {func(h history) { h.Effects[0].Arguments = paying(5) }, withLeave},
		"an effect of a refused call": {func(h history) {
			h.as("call.cancelled", "call_2", "call.started")
			h.Effects = append(h.Effects, Effect{Key: aRun + "/call_2/1", Arguments: paying(7)})
		}, withLeave},
		"an effect before the start was written": {func(h history) {
			h.without("call.started", "call_1")
		}, "a call runs only after its start was written down"},
		"an effect of no call":         {func(h history) { h.Effects[0].Key = "run_z_0/call_1/1" }, "nothing is done that no call asked for"},
		"a success without its effect": {func(h history) { h.Evidence.Effects = nil }, "what the model was told is true"},
		"an answer that gave it away":  {func(h history) { h.Broken = append(h.Broken, Violation{Rule: "so"}) }, "so"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := kept()
			tt.spoil(history{p, e})
			found := Check(p, *e)
			for _, v := range found {
				if v.Rule == tt.rule {
					return
				}
			}
			t.Errorf("no complaint that %q; instead: %v", tt.rule, found)
		})
	}
}

const (
	said = "what was accepted is in the conversation once, and what was refused is not"
	seen = "the model sees one result of each call"
)

func TestAViolationSaysWhatWasPromisedToWhomAndWhatWasFound(t *testing.T) {
	p, e := kept()
	history{p, e}.without("decision.recorded", `"d2"`)
	for _, v := range Check(p, *e) {
		text := v.String()
		if v.Rule == "an accepted decision is in the journal" {
			for _, want := range []string{"the decision d2 on sus_2", "approval of pay in run run_a_0", "caller 1", "has nothing on that"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			return
		}
	}
	t.Error("the loss was not found")
}

func TestADecisionThatACancelOvertookNeedNotBeApplied(t *testing.T) {
	p, e := kept()
	h := history{p, e}
	h.Cancels = []Cancel{{Caller: 1, Run: aRun, Accepted: true}}
	h.saying("decision.recorded", `"action":"cancel","applied":true`, `"action":"cancel","applied":false`)
	h.thread(func(t *Thread) { t.Runs[0].Reason = new("cancelled") })
	// there is no notice of it
	h.Evidence.Notices = slices.DeleteFunc(h.Notices, func(a Arrival) bool { return a.Seq == 8 })
	for _, v := range Check(p, *e) {
		t.Error(v)
	}
}

// A run sees the cancel of one far above, and tells its parent before that was cancelled.
func TestACancelFarAboveEndsARun(t *testing.T) {
	for accepted, want := range map[string]bool{"run_root_0": true, "run_other_0": false} {
		c := &check{cancelled: map[string]bool{accepted: true}, e: Evidence{Threads: map[string]Thread{
			"thr_team": {Parent: &ParentCall{"run_root_0", "call_1"}, Runs: []RunLog{{Run: wire.Run{ID: "run_team_0"}}}}}},
			stories: map[string]*story{"run_team_0": {byID: map[string]*call{"call_1": {ends: []string{"call.failed"}}}}}}
		if got := c.givenUpAbove(&ParentCall{"run_team_0", "call_1"}); got != want {
			t.Errorf("with %s cancelled: %v", accepted, got)
		}
	}
}
