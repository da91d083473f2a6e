package query

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// EventsOf are the events of a segment as callers see them, but for what other segments hold of the
// end of a turn. data: received messages have the bytes of their images and documents.
func EventsOf(s core.Segment, data bool) []wire.Event {
	events := s.Expand()
	shown := make([]wire.Event, len(events))
	for i, e := range events {
		shown[i] = EventOf(e)
		if m := s.Events[i].Message; e.Type == core.EventMessageReceived && m > 0 && m <= len(s.Messages) {
			shown[i].Data = withParts(shown[i].Data, partsOf(s.Messages[m-1], data))
		}
		shown[i].Cursor = journal.Cursor{Seq: s.Seq, Read: i + 1}.Of(e.ThreadID)
	}
	if n := len(shown); n > 0 {
		for _, c := range s.Checkpoints() {
			shown[n-1].Checkpoint = append(shown[n-1].Checkpoint, string(c))
		}
	}
	return shown
}

// withParts adds to a received message what it has beside text.
func withParts(raw json.RawMessage, parts []wire.Part) json.RawMessage {
	var shown wire.MessageReceivedData
	if len(parts) == 0 || json.Unmarshal(raw, &shown) != nil {
		return raw
	}
	shown.Parts = parts
	return core.Encode(shown)
}

// EventOf is an event as callers see it, without what its segment adds: its cursor, its checkpoint
// and the content of its message.
func EventOf(e core.Event) wire.Event {
	return wire.Event{Version: wire.EventVersion, Seq: e.Seq, RunID: e.RunID, ThreadID: e.ThreadID, Turn: e.Turn, Step: e.Step,
		At: wire.Millis(e.At), Type: string(e.Type), Data: shownData(e)}
}

// EventAt is an event as callers see it, by the segment that holds it. [engine.ErrNotFound] if the
// segment has none of that number.
func (f *Reader) EventAt(ctx context.Context, c frontend.Caller, thread string, seq, event int64) (found wire.Event, err error) {
	err = f.Segments(ctx, c.Tenant, thread, seq, seq, func(s core.Segment) bool {
		for _, e := range EventsOf(s, false) {
			if e.Seq == event {
				found = e
			}
		}
		return false
	})
	if err == nil && found.Seq != event {
		err = engine.ErrNotFound
	}
	return found, err
}

// shownData is an event's data as callers see it: a waiting call in the one shape that it has
// everywhere, a queued message without the bytes of its images and documents, a state with both of
// its scopes, and times in RFC 3339.
func shownData(e core.Event) json.RawMessage {
	switch e.Type {
	case core.EventCallSuspended:
		w := journal.WaitingCall{Since: e.At}
		if json.Unmarshal(e.Data, &w.SuspendedCall) == nil {
			return core.Encode(runview.PendingOf(w))
		}
	case core.EventMessageQueued:
		if shown, ok := shownQueued(e.Data); ok {
			return core.Encode(shown)
		}
	case core.EventStateSnapshot:
		// an empty one is stored as none
		snapshot := wire.StateSnapshotData{Run: map[string]json.RawMessage{}, Thread: map[string]json.RawMessage{}}
		if json.Unmarshal(e.Data, &snapshot) == nil {
			return core.Encode(snapshot)
		}
	}
	return shownTimes(e)
}

func shownQueued(raw json.RawMessage) (shown wire.MessageQueuedData, ok bool) {
	var parts struct {
		Parts []core.Part `json:"parts"`
	}
	if json.Unmarshal(raw, &shown) != nil || json.Unmarshal(raw, &parts) != nil {
		return shown, false
	}
	shown.Parts = make([]wire.Part, len(parts.Parts))
	for i, p := range parts.Parts {
		shown.Parts[i] = partOf(p, false)
	}
	return shown, true
}

// timesIn are the members of each event's data that are moments. What callers and tools wrote is in
// other members, and stays.
var timesIn = map[core.EventType][]string{
	core.EventRunStatus:         {"updated_at"},
	core.EventStepStarted:       {"asked_at"},
	core.EventStepReset:         {"try_at"},
	core.EventCallStarted:       {"updated_at", "started_at"},
	core.EventCallResuming:      {"updated_at"},
	core.EventCallSucceeded:     {"updated_at", "started_at", "ended_at"},
	core.EventCallFailed:        {"updated_at", "started_at", "ended_at"},
	core.EventCallCancelled:     {"updated_at", "started_at", "ended_at"},
	core.EventDecisionRecorded:  {"updated_at"},
	core.EventDecisionWithdrawn: {"decided_at", "withdrawn_at"},
	core.EventCallReminded:      {"deadline"},
	core.EventCallEscalated:     {"deadline"},
	core.EventCallDeadlineNear:  {"deadline"},
}

func shownTimes(e core.Event) json.RawMessage {
	var data map[string]json.RawMessage
	names := timesIn[e.Type]
	if names == nil || !bytes.Contains(e.Data, []byte(`_at":`)) && !bytes.Contains(e.Data, []byte(`"deadline":`)) || json.Unmarshal(e.Data, &data) != nil {
		return e.Data
	}
	if _, there := data["ended_at"]; !there && slices.Contains(names, "ended_at") {
		data["ended_at"] = core.Encode(e.At)
	}
	for _, name := range names {
		var ms int64
		if raw, there := data[name]; there && json.Unmarshal(raw, &ms) == nil {
			data[name] = core.Encode(wire.Millis(ms))
		}
	}
	return core.Encode(data)
}

// turnEnd are the members of a turn.ended event that are joined.
type turnEnd struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Pending []struct {
		Suspension string `json:"suspension"`
	} `json:"pending"`
}

// joinTurnEnds adds to the ends of turns among the events what other segments hold: the output of a
// run that is done, and the calls that a suspended one waits for, whole.
func (f *Reader) joinTurnEnds(ctx context.Context, c frontend.Caller, p journal.Place, events []wire.Event) error {
	for i, e := range events {
		if e.Type != string(core.EventTurnEnded) {
			continue
		}
		var end turnEnd
		data := map[string]json.RawMessage{}
		if json.Unmarshal(e.Data, &end) != nil || json.Unmarshal(e.Data, &data) != nil {
			continue
		}
		if len(end.Pending) > 0 {
			pending, err := f.suspensionsOf(ctx, p, end)
			if err != nil {
				return err
			}
			data["pending"] = core.Encode(pending)
		}
		if end.Status == core.RunDone.String() {
			of, err := f.ended(ctx, c, p, e.RunID)
			if err != nil {
				return err
			}
			output, err := f.OutputAtEnd(ctx, of)
			if err != nil {
				return err
			}
			data["output"] = core.Encode(output)
		}
		events[i].Data = core.Encode(data)
	}
	return nil
}

// ended is the place of the run that an end of a turn belongs to.
func (f *Reader) ended(ctx context.Context, c frontend.Caller, p journal.Place, run string) (journal.Place, error) {
	if p.Record.Run == run && !p.Whole {
		return p, nil
	}
	return f.Find(ctx, c.Tenant, run)
}

// suspensionsOf are the calls that a turn ended with, as they were when they began to wait.
func (f *Reader) suspensionsOf(ctx context.Context, p journal.Place, end turnEnd) ([]wire.Pending, error) {
	wanted := map[string]bool{}
	for _, call := range end.Pending {
		wanted[call.Suspension] = true
	}
	calls := map[string]wire.Pending{}
	for _, seq := range journal.SegmentsOf(wanted) {
		waiting, err := f.SuspendedAt(ctx, p, seq)
		if err != nil {
			return nil, err
		}
		for _, w := range waiting {
			calls[w.Suspension.ID] = runview.PendingOf(w)
		}
	}
	found := make([]wire.Pending, 0, len(end.Pending))
	for _, call := range end.Pending {
		if w, there := calls[call.Suspension]; there {
			found = append(found, w)
		}
	}
	return found, nil
}
