package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

var brought = supplied.Input{Tools: []supplied.Tool{{Name: "show_map", Description: "Shows a map."}},
	Context: []supplied.Item{{Description: "the page", Value: json.RawMessage(`"orders"`)}}, State: json.RawMessage(`{"zoom":3}`)}

// startBringing starts a run whose start supplied in. The agent takes its tools.
func (r *rig) startBringing(text string, in supplied.Input) (digest string) {
	r.t.Helper()
	stored, err := in.Encode()
	r.must(err)
	digest = core.Digest(stored)
	r.must(r.db.PutPayload(r.ctx, "t", r.thread, digest, stored))
	r.onLoad = func(p engine.Pin) {
		for _, t := range p.Supplied.Tools {
			r.tool(t.Name, toolRule{effect: core.Allow, spec: core.ToolSpec{Client: true, Supplied: true}})
		}
	}
	r.startWith(text, func(h *core.Head) { h.Supplied = digest })
	return digest
}

// wantBrought demands what a run that was started with brought has in every request to its model.
func (r *rig) wantBrought(step string) {
	r.t.Helper()
	var shown, at, offered int
	for i, m := range r.prompt.Messages {
		if m.Role == core.RoleContext {
			shown, at = shown+1, i
		}
	}
	for _, spec := range r.prompt.Tools {
		if spec.Name == "show_map" {
			offered++
		}
	}
	if shown != 1 || at+1 >= len(r.prompt.Messages) || r.prompt.Messages[at+1].RunID != r.prompt.Run || offered != 1 {
		r.t.Errorf("%s: context %d times, at %d of %d messages; the tool is offered %d times", step, shown, at, len(r.prompt.Messages), offered)
	}
}

func TestWhatAStartSuppliesIsThereInEveryStep(t *testing.T) {
	r := newRig(t, calls(call("c1", "show_map", `{}`)), says("done"))
	r.startBringing("where is it?", brought)
	r.work()
	r.wantRun(core.RunWaiting, 0)
	r.wantBrought("the first step")
	r.wantState(core.RunScope, supplied.StateKey, `{"zoom":3}`)
	if snaps := r.places(core.EventStateSnapshot); len(snaps) != 1 {
		t.Errorf("snapshots of the state at %v", snaps)
	}
	r.build(engine.Options{}) // another process
	r.must(r.decide("c1", resume("d", `"shown"`)))
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantBrought("a later step")
	r.wantConversation("user: where is it?", "assistant[c1]", "tool(c1): shown", "assistant: done")
	for _, e := range r.events() {
		if e.Type != core.EventRunStarted {
			continue
		}
		var told struct {
			Tools   []supplied.Tool `json:"client_tools"`
			Context []supplied.Item `json:"context"`
		}
		if json.Unmarshal(e.Data, &told) != nil || len(told.Tools) != 1 || len(told.Context) != 1 || string(told.Context[0].Value) != `"orders"` {
			t.Errorf("the journal says %s", e.Data)
		}
	}
	if h := r.head(); h.Schema != core.SchemaPacked {
		t.Errorf("the head has schema %d", h.Schema)
	}
}

// A crash at any write, also before the first commit, leaves the run with what it was started with.
func TestWhatAStartSuppliesOutlivesACrash(t *testing.T) {
	for at := 1; at <= 6; at++ {
		r := newRig(t, calls(call("c1", "show_map", `{}`)), says("done"))
		r.startBringing("where is it?", brought)
		r.store = &breaking{Store: r.db, at: at, how: dies}
		r.build(engine.Options{})
		r.workOrDie()
		r.recover()
		if r.head().Status != core.RunWaiting {
			t.Fatalf("at %d: %v", at, r.head().Status)
		}
		r.wantBrought("after a crash")
		r.wantState(core.RunScope, supplied.StateKey, `{"zoom":3}`)
		if n := r.count(core.EventRunStarted); n != 1 {
			t.Errorf("at %d: started %d times", at, n)
		}
	}
}

func TestTheRunOfAQueuedMessageHasWhatTheRunBeforeWasGiven(t *testing.T) {
	r := newRig(t, calls(call("c1", "show_map", `{}`)), says("done"), says("second done"))
	digest := r.startBringing("where is it?", brought)
	r.work()
	r.must(r.sayOn("m1", "then this", core.PendingQueue))
	r.work()
	r.must(r.decide("c1", resume("d", `"shown"`)))
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	r.wantAsked(3)
	r.wantBrought("the next run")
	if h := r.head(); h.Supplied != digest || h.Schema != core.SchemaPacked || h.Run == core.RunID(r.thread, 0) {
		t.Errorf("the next run has %q, schema %d", h.Supplied, h.Schema)
	}
}

// A run does not go on with less than it was started with: what is missing, or was changed, is not
// left out.
func TestARunWithoutWhatItWasGivenDoesNotGoOn(t *testing.T) {
	for name, stored := range map[string]string{"missing": "", "changed": `{"tools":[{"name":"pay"}]}`} {
		r := newRig(t, says("done"))
		if stored != "" {
			r.must(r.db.PutPayload(r.ctx, "t", r.thread, "of something else", []byte(stored)))
		}
		r.startWith("hi", func(h *core.Head) { h.Supplied = "of something else" })
		if _, err := r.eng.Step(r.ctx, engine.Wakeup{Tenant: "t", Thread: r.thread}); err == nil {
			t.Errorf("%s: the step is done", name)
		}
		r.wantAsked(0)
		if h := r.head(); h.Seq != 0 || len(h.Inbox) != 1 {
			t.Errorf("%s: %d segments, inbox %v", name, h.Seq, h.Inbox)
		}
	}
}

// What a client supplies as state leaves tools and hooks the room that they have without it.
func TestTheStateOfAClientTakesNoRoomFromTheOthers(t *testing.T) {
	large := core.Encode(string(make([]byte, 2000))) // 6 bytes for each
	r := newRig(t, calls(call("c1", "keep", `{}`)), says("done"))
	r.writing("keep", func(s *pad.Pad) {
		if err := s.Set(core.ThreadScope, "kept", string(make([]byte, core.MaxState/6-20))); err != nil {
			t.Error(err)
		}
	})
	r.startBringing("keep it", supplied.Input{State: large})
	r.work()
	r.wantRun(core.RunDone, core.NaturalEnd)
	if r.count(core.EventCallSucceeded) != 1 {
		t.Error("the write of the tool was refused")
	}
}
