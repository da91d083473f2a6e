package engine_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func TestReadersAreToldWhatABodyDoesWhileItRuns(t *testing.T) {
	l := &listener{}
	r := newRig(t, calls(call("c1", "look", `{}`)), says("done"))
	r.build(engine.Options{Live: l})
	committed := 0
	r.tool("look", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		committed = len(r.events())
		r.clock.Advance(2 * time.Second)
		req.Progress(engine.Progress{Done: 3, Total: 10, Text: "page 3"})
		req.Progress(engine.Progress{Done: math.NaN()})
		req.Progress(engine.Progress{Done: 4, Text: strings.Repeat("ü", 400)})
		return core.Outcome{Text: "found"}, nil
	}})
	r.start("hi")
	r.work()
	r.work()
	got := l.heard()
	want := []string{"begin 1.0", "1.0 note 1: look begins", "1.0 note 2: look 3 of 10 page 3", "1.0 note 3: look 4 of 0 " + strings.Repeat("ü", 250), "end 1.0"}
	if !slices.Equal(got, want) {
		t.Errorf("heard %q\nwant %q", got, want)
	}
	var data struct {
		StartedAt int64 `json:"started_at"`
		EndedAt   int64 `json:"ended_at"`
		Attempts  int   `json:"attempts"`
	}
	for _, e := range r.events()[committed:] {
		if e.Type == core.EventCallSucceeded {
			r.must(json.Unmarshal(e.Data, &data))
			if at := e.At; data.StartedAt != at-2000 || data.EndedAt != 0 || data.Attempts != 1 {
				t.Errorf("the call ended at %d and says %s", at, e.Data)
			}
		}
		if e.Type == core.EventCallStarted && !strings.Contains(string(e.Data), `"started_at":`) {
			t.Errorf("the call's start does not say when: %s", e.Data)
		}
	}
	if data.Attempts == 0 {
		t.Error("no call.succeeded was journaled")
	}
}

func TestACallKeepsItsScratchWhileItWaits(t *testing.T) {
	r := newRig(t, calls(call("c1", "quote", `{}`)), says("done"))
	var seen []string
	r.tool("quote", toolRule{effect: core.Allow, body: func(_ context.Context, req engine.ToolRequest) (core.Outcome, error) {
		seen = append(seen, string(req.Scratch.Get()))
		if err := req.Scratch.Set(strings.Repeat("x", core.MaxScratch)); err == nil {
			t.Error("more than fits is kept")
		}
		waits := core.Outcome{Ticket: &core.SuspendTicket{Suspension: core.Suspension{Action: "confirm"}}, Kind: core.KindApproval}
		switch len(seen) {
		case 1:
			r.must(req.Scratch.Set(map[string]int{"price": 12}))
			return waits, nil
		case 2:
			return waits, nil // keeps what it kept
		case 3:
			r.must(req.Scratch.Set(nil))
			return waits, nil
		}
		r.must(req.Scratch.Set("dropped: it does not wait"))
		return core.Outcome{Text: "done"}, nil
	}})
	r.start("hi")
	r.work()
	for _, id := range []string{"d1", "d2", "d3"} {
		r.must(r.decide("c1", resume(id, "")))
		r.work()
	}
	if want := []string{"", `{"price":12}`, `{"price":12}`, ""}; !slices.Equal(seen, want) {
		t.Errorf("the body saw %q, want %q", seen, want)
	}
	for _, s := range r.journal() {
		for _, e := range s.Events {
			if strings.Contains(string(e.Data), "dropped") {
				t.Errorf("what a call kept that does not wait is journaled: %s", e.Data)
			}
		}
	}
}

func TestACancelKeepsWhatTheModelHadSaid(t *testing.T) {
	r := newRig(t, says("never whole"))
	speaks := make(chan struct{})
	var asked atomic.Pointer[context.Context]
	r.onAsk = func(ctx context.Context, p engine.Prompt) error {
		p.Say(saying("Once upon a t"))
		asked.Store(&ctx)
		close(speaks)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	r.start("tell me a story")
	r.whileRunningUntil(speaks, func() { r.must(r.cancel()) }, func() bool { return (*asked.Load()).Err() != nil })
	r.wantRun(core.RunDone, core.Cancelled)
	var said []core.Message
	for _, m := range core.Messages(r.journal()) {
		if m.Role == core.RoleAssistant {
			said = append(said, m)
		}
	}
	if len(said) != 1 || said[0].Text() != "Once upon a t" || !said[0].Cut {
		t.Errorf("the conversation has %+v", said)
	}
	cut := false
	for _, s := range r.journal() {
		for _, e := range s.Expand() {
			cut = cut || e.Type == core.EventTextEnded && strings.Contains(string(e.Data), `"cut":true`)
		}
	}
	if !cut {
		t.Error("no text.ended says that it was cut")
	}
}
