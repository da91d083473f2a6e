package query

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// A call of an agent has no attempts of its own, and yet another run has run with its edited
// arguments. One that an approver edited and that a rule refused then has run with none.
func TestWhatAnEditedCallRanWith(t *testing.T) {
	about := func(more map[string]any) []byte {
		more["call_id"] = "c1"
		return core.Encode(more)
	}
	edit := core.Event{Type: core.EventDecisionRecorded, Data: about(map[string]any{"applied": true, "arguments": map[string]any{"q": "some"}})}
	waits := core.Event{Type: core.EventCallSuspended, Data: core.Encode(core.SuspendedCall{CallID: "c1", Kind: core.KindChild})}
	end := core.Event{Type: core.EventCallSucceeded, Data: about(map[string]any{"status": "succeeded", "attempts": 0})}
	for name, c := range map[string]struct {
		events []core.Event
		want   string
	}{
		"an agent ran": {[]core.Event{edit, waits, end}, `{"q":"some"}`},
		"nothing ran":  {[]core.Event{edit, end}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			call := &wire.Call{CallID: "c1"}
			for _, e := range c.events {
				(&callFold{}).take(call, e)
			}
			if string(call.RanWith) != c.want {
				t.Errorf("ran with %s, want %q", call.RanWith, c.want)
			}
		})
	}
}
