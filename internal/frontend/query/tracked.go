package query

import (
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// asTracked adds what the head alone knows of a call that has not settled.
func asTracked(p journal.Place, call wire.Call) wire.Call {
	tracked, there := p.Head.Calls[call.CallID]
	if !there || !p.Current || call.EndedAt != nil {
		call.Scratch = nil // gone with the end
		return call
	}
	call.Status = tracked.Status.String()
	if call.Attempts < tracked.RanBefore {
		call.Attempts = tracked.RanBefore
	}
	return call
}

// settles reports whether the segment after live text replaces it: the segment is the turn of that
// activation and has every part that was heard in full, or it resets the step. The live text of a
// run that failed or was cancelled is not settled.
func settles(s core.Segment, heard journal.Hearing) bool {
	brought := map[core.EventType]bool{}
	for _, e := range s.Events {
		brought[e.Type] = true
	}
	if brought[core.EventStepReset] {
		return true
	}
	return s.W.Epoch() == heard.Epoch && (heard.Text == 0 || brought[core.EventTextEnded]) && (heard.Reasoning == 0 || brought[core.EventReasoningEnded])
}
