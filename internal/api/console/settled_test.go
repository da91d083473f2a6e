package console

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// A line that a call waits gives way to the one on what became of it, in its own run.
func TestAnAnsweredCallWaitsNoMore(t *testing.T) {
	waits := func(run, call string) saidView {
		return saidView{Message: wire.Message{Role: "tool", RunID: run, CallID: call, Pending: true}}
	}
	said := []saidView{waits("run_1", "call_1"), waits("run_2", "call_1"), waits("run_2", "call_2")}
	said = settled(said, wire.Message{Role: "tool", RunID: "run_2", CallID: "call_1", Pending: true})
	if said = settled(said, wire.Message{Role: "tool", RunID: "run_2", CallID: "call_1"}); len(said) != 2 || said[0].RunID != "run_1" || said[1].CallID != "call_2" {
		t.Errorf("%+v", said)
	}
}
