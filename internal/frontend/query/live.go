package query

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// spoken is the live text of the thread, if the reader wants it.
func (f *Reader) spoken(ctx context.Context, c frontend.Caller, thread string, wanted bool) (engine.Speech, bool) {
	if f.Live == nil || !wanted || thread == "" {
		return engine.Speech{}, false
	}
	return f.Live.Spoken(ctx, c.Tenant, thread)
}

// liveEvents returns live text for a reader who has all committed events: what the model has said
// beyond what the reader has heard, each kind in one piece, after a step.reset if what was heard is
// void. It reads the live text first and the head after it:
//
//	worker  Begin(X) Say(X) ............ commit ... End(X)
//	reader               said: X, head: no commit         X is shown
//	reader               said: X ........ head: commit    the commit is shown and settles X
//	reader               nothing said ......... head: commit      as above
//
//	worker  Begin(X) Say(X) ... gives up: End(X)
//	reader                 nothing said, head: no commit    X is void
//
//	worker  Begin(X) Say(X) ... crashes or freezes
//	another                     claim: epoch+1 ... Begin(Y) Say(Y)
//	reader                      said: X, head: epoch+1    X is void: its worker is fenced
//	reader                                  said: Y       Y is shown from its beginning
//
// In the other order, a reader could find neither the live text nor its commit, and would take back
// text that the next read shows again.
func liveEvents(p journal.Place, at journal.Cursor, said engine.Speech, spoken bool, most int) ([]wire.Event, journal.Cursor) {
	h, heard := p.Head, at.Live
	// a run that is over says no more; the next one does
	spoken = spoken && p.Current && said.Run == h.Run && said.Seq == h.Seq && said.Epoch == h.Epoch
	items := []wire.Event{}
	if heard.Any() && !(spoken && goesOn(said, heard)) {
		at.Live = journal.Hearing{}
		items = append(items, resetEvent(p, nil, at))
	}
	if !spoken {
		return items, at
	}
	for _, kind := range []string{core.ReasoningPart, core.TextPart} {
		if e, next, more := delta(said, at, kind); more && len(items) < most {
			items, at = append(items, e), next
		}
	}
	for _, n := range said.Notes {
		if n.Version > at.Live.Notes && len(items) < most {
			at.Live.Epoch, at.Live.Restart, at.Live.Notes = said.Epoch, said.Restart, n.Version
			items = append(items, noteEvent(said, n, at))
		}
	}
	return items, at
}

// noteEvent is what a body does, as an event. No segment holds it.
func noteEvent(said engine.Speech, n engine.Note, at journal.Cursor) wire.Event {
	e := wire.Event{Version: wire.EventVersion, Seq: said.Event, RunID: said.Run, ThreadID: said.Thread, Turn: said.Turn, Step: said.Step, At: wire.Millis(n.At),
		Type: string(core.EventCallStarted), Cursor: at.Of(said.Thread)}
	if p := n.Progress; p != nil {
		data := wire.CallProgressData{CallID: n.Call.ID, ToolName: n.Call.Name, Done: p.Done, Text: p.Text}
		if p.Total > 0 {
			data.Total = &p.Total
		}
		e.Type, e.Data = string(core.EventCallProgress), core.Encode(data)
		return e
	}
	began := wire.Millis(n.At)
	e.Data = core.Encode(wire.CallStartedData{CallID: n.Call.ID, ToolName: n.Call.Name, Status: core.CallRunning.String(), StartedAt: &began, UpdatedAt: began, Live: true})
	return e
}

// goesOn reports whether the live text continues what the reader has heard.
func goesOn(said engine.Speech, heard journal.Hearing) bool {
	return said.Epoch == heard.Epoch && said.Restart == heard.Restart && begins(said.Text, heard.Text) && begins(said.Reasoning, heard.Reasoning) &&
		(heard.Notes == 0 || len(said.Notes) > 0 && said.Notes[len(said.Notes)-1].Version >= heard.Notes)
}

// begins reports whether a piece of text may begin at that byte.
func begins(text string, at int) bool {
	return at == len(text) || at < len(text) && utf8.RuneStart(text[at])
}

// delta is the live text of a kind after the cursor, and the cursor after that text.
func delta(said engine.Speech, at journal.Cursor, kind string) (e wire.Event, next journal.Cursor, more bool) {
	next = at
	next.Live.Epoch, next.Live.Restart = said.Epoch, said.Restart
	text, offset, event := said.Text, &next.Live.Text, core.EventTextDelta
	if kind == core.ReasoningPart {
		text, offset, event = said.Reasoning, &next.Live.Reasoning, core.EventReasoningDelta
	}
	from := *offset
	if from == len(text) {
		return e, at, false
	}
	*offset = len(text)
	return wire.Event{Version: wire.EventVersion, Seq: said.Event, RunID: said.Run, ThreadID: said.Thread, Turn: said.Turn, Step: said.Step, At: wire.Millis(said.At.UnixMilli()),
		Type: string(event), Cursor: next.Of(said.Thread), Data: core.Encode(map[string]any{"part_id": core.PartID(said.Run, kind, said.Step),
			"attempt": fmt.Sprintf("%d.%d", said.Epoch, said.Restart), "offset": from, "text": text[from:]})}, next, true
}

// resetReason says why the live text does not count: the run was cancelled, or the step is
// repeated.
func resetReason(r core.Record, next *core.Segment) string {
	cancelled := next == nil && r.End != nil && r.End.Kind == core.Cancelled
	if next != nil {
		cancelled = slices.ContainsFunc(next.Events, func(e core.Event) bool { return e.Type == core.EventCancelRecorded })
	}
	if cancelled {
		return "cancelled"
	}
	return "repeated"
}

// resetEvent says that the live text so far is void. It is a live event: no segment holds it. next
// is the segment committed after that text; nil if there is none.
func resetEvent(p journal.Place, next *core.Segment, at journal.Cursor) wire.Event {
	r := p.Record
	e := wire.Event{Version: wire.EventVersion, Seq: r.Ev, RunID: r.Run, ThreadID: r.Thread, Turn: r.Turn, At: wire.Millis(r.At), Type: string(core.EventStepReset), Cursor: at.Of(r.Thread),
		Data: core.Encode(map[string]any{"reason": resetReason(r, next), "text": "The model's partial answer was discarded."})}
	if next != nil && len(next.Events) > 0 {
		first := next.Events[0]
		e.Seq, e.Turn, e.At = first.Seq-1, first.Turn, wire.Millis(first.At)
	}
	return e
}
