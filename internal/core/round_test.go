package core

import (
	"testing"
)

func TestARoundIsReadFromTheOldestTurnThatIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		calls map[string]Call
		from  int64
		reads bool
	}{
		"no call":                 {nil, 7, false},
		"all settled":             {map[string]Call{"c1": {Status: CallSucceeded}, "c2": {Status: CallFailed, TurnSegment: 3}}, 7, false},
		"one open":                {map[string]Call{"c1": {Status: CallSucceeded}, "c2": {Status: CallSuspended}}, 7, true},
		"one of an earlier turn":  {map[string]Call{"c1": {Status: CallNew}, "c2": {Status: CallSuspended, TurnSegment: 3}}, 3, true},
		"the run waits by itself": {map[string]Call{"i": {Status: CallSuspended, Synthetic: true, Wait: Wait{Sus: SuspensionID("thr_a", 5, "x")}}}, 5, true},
	} {
		from, reads := Head{Round: 7, Calls: c.calls}.RoundFrom()
		if reads != c.reads || reads && from != c.from {
			t.Errorf("%s: from %d, %v", name, from, reads)
		}
	}
}
