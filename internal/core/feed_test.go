package core_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

func TestFeedMarks(t *testing.T) {
	done := core.Event{Type: core.EventRunStatus, Data: core.Encode(core.RunState{Status: core.RunDone})}
	waiting := core.Event{Type: core.EventRunStatus, Data: core.Encode(core.RunState{Status: core.RunWaiting})}
	suspended, decided := core.Event{Type: core.EventCallSuspended}, core.Event{Type: core.EventDecisionRecorded}
	for _, c := range []struct {
		events []core.Event
		want   core.FeedMarks
	}{
		{nil, ""},
		{[]core.Event{{Type: core.EventTurnEnded}, waiting, {Type: core.EventRunStatus, Data: []byte("{")}, {Type: core.EventRunStatus}}, ""},
		{[]core.Event{suspended, suspended, waiting}, "s"},
		{[]core.Event{done, decided, suspended}, "sde"},
		{[]core.Event{decided, done}, "de"},
	} {
		if got := (core.Segment{Events: c.events}).FeedMarks(); got != c.want {
			t.Errorf("%v: %q, want %q", c.events, got, c.want)
		}
	}
	if core.FeedMarks("sd").Any("") || core.FeedMarks("sd").Any(core.FeedEnds) || !core.FeedMarks("sd").Any(core.FeedDecisions+core.FeedEnds) {
		t.Error("Any finds a missing mark, or misses one")
	}
}
