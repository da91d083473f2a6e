package frontend_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// keep sends a message behind answers.
func (x *fixture) keep(thread, id string) {
	x.t.Helper()
	s, err := x.MessageKept(x.t.Context(), anna, thread, "", wire.MessageRequest{Input: []byte(`"hello"`), MessageID: id, OnPending: "abandon"})
	if err != nil || !s.New {
		x.t.Fatalf("%+v, %v", s, err)
	}
	for _, signal := range x.head(thread).Inbox {
		if signal.Kind == core.SignalMessage && (signal.On != core.PendingRefuse || signal.Sus != "") {
			x.t.Errorf("the message gives up %q, and answers %q", signal.On, signal.Sus)
		}
	}
}

// Whatever the run asks before it has the message, it still asks afterwards.
func TestAKeptMessageGivesNoQuestionUp(t *testing.T) {
	for _, kind := range []core.Kind{core.KindApproval, core.KindClient, core.KindInput} {
		for name, before := range map[string]bool{"the run asks again before the message": true, "the run takes answer and message at once": false} {
			t.Run(kind.String()+", "+name, func(t *testing.T) {
				x := newFixture(t, nil)
				run, sus := x.waiting(core.KindApproval)
				if _, err := x.decide(run.ID, sus, wire.Decision{Action: "cancel"}); err != nil {
					t.Fatal(err)
				}
				again := frontendtest.Call{ID: "c2", Tool: "refund", Kind: kind}
				if before {
					x.worker.Suspend(run.ID, again)
				}
				x.keep(run.ThreadID, "m1")
				if before {
					x.worker.Drain(run.ID)
				} else {
					x.worker.Suspend(run.ID, again)
				}
				now, err := x.Run(t.Context(), anna, run.ID)
				if err != nil || len(now.Pending) != 1 || now.Pending[0].CallID != "c2" {
					t.Errorf("%+v, %v", now.Pending, err)
				}
				s, err := x.MessageKept(t.Context(), anna, run.ThreadID, "", wire.MessageRequest{Input: []byte(`"hello"`), MessageID: "m1"})
				if err != nil || s.New || s.Run.ID != run.ID {
					t.Errorf("the repeat: %+v, %v", s, err)
				}
			})
		}
	}
}
