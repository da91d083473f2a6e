package core

import (
	"errors"
	"testing"
)

func TestWhatAWriteMayLeave(t *testing.T) {
	end := &Reason{Kind: NaturalEnd}
	waits := map[string]Call{"c1": {Status: CallSuspended}}
	settled := map[string]Call{"c1": {Status: CallSucceeded}, "c2": {Status: CallCancelled}}
	signals := map[string]Signal{KeyCancel: {}}
	outbox := map[string]Out{"n": {}}
	for name, c := range map[string]struct {
		head Head
		want Invariant
	}{
		"running, whatever else":              {Head{Status: RunRunning, Out: outbox, Inbox: signals, Ending: Ending{End: end}, Calls: waits}, ""},
		"waiting for a call":                  {Head{Status: RunWaiting, Calls: waits}, ""},
		"waiting for a moment":                {Head{Status: RunWaiting, Schedule: Schedule{Deadline: 5}}, ""},
		"done, every call settled":            {Head{Status: RunDone, Ending: Ending{End: end}, Calls: settled}, ""},
		"created":                             {Head{Status: RunCreated, Calls: waits}, BackToCreated},
		"waiting for nothing":                 {Head{Status: RunWaiting, Calls: settled}, WaitsForNothing},
		"waiting with something in the inbox": {Head{Status: RunWaiting, Calls: waits, Inbox: signals}, WaitsWithSignals},
		"waiting with something to send":      {Head{Status: RunWaiting, Calls: waits, Out: outbox}, WaitsWithOutbox},
		"done without a reason":               {Head{Status: RunDone}, DoneWithoutEnd},
		"done with something in the inbox":    {Head{Status: RunDone, Ending: Ending{End: end}, Inbox: signals}, DoneWithSignals},
		"done with something to send":         {Head{Status: RunDone, Ending: Ending{End: end}, Out: outbox}, DoneWithOutbox},
		"done with a held message":            {Head{Status: RunDone, Ending: Ending{End: end}, Held: []Held{{Seq: 1}}}, DoneWithHeld},
	} {
		if got := ruleOf(c.head.CheckWritten()); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, status := range []CallStatus{CallNew, CallRunning, CallSuspended, CallResuming} {
		h := Head{Status: RunDone, Ending: Ending{End: end}, Calls: map[string]Call{"c0": {Status: CallFailed}, "c1": {Status: status}}}
		if got := ruleOf(h.CheckWritten()); got != DoneWithOpenCall {
			t.Errorf("done with a call that is %s: got %q", status, got)
		}
		if got := ruleOf(h.CheckEnded()); got != DoneWithOpenCall {
			t.Errorf("ended with a call that is %s: got %q", status, got)
		}
	}
}

func ruleOf(err error) Invariant {
	if broken, ok := errors.AsType[*InvariantError](err); ok {
		return broken.Rule
	}
	return ""
}
