package query

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// Calls lists the tool calls of a run, in the order the model asked for them, and the run's own
// waits among them. A page reads the journal from the segment that asks for its first call on,
// until each of its calls has settled or the journal ends.
func (f *Reader) Calls(ctx context.Context, c frontend.Caller, run string, q List) (wire.Page[wire.Call], error) {
	page := wire.Page[wire.Call]{Items: []wire.Call{}}
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return page, err
	}
	at, err := journal.ReadCursor(q.Cursor, p.Head.Thread, p.Record.Seq0+1, p.Record.Seq)
	if err != nil {
		return page, err
	}
	leave, err := f.Pages.Take(ctx, c.Tenant)
	if err != nil {
		return page, err
	}
	defer leave()
	fold := callFold{thread: p.Record.Thread, from: at, most: limit(q.Limit, 50, 200)}
	if err := f.Journal(ctx, p, at.Seq, fold.segment); err != nil {
		return page, err
	}
	if fold.next.Seq != 0 {
		page.Next = fold.next.Of(p.Head.Thread)
	}
	for _, call := range fold.calls {
		page.Items = append(page.Items, asTracked(p, *call))
	}
	return page, nil
}

// Call reads one tool call of a run, by its id. [refusal.CodeCallNotFound] if the run has none of
// that id.
func (f *Reader) Call(ctx context.Context, c frontend.Caller, run, id string) (wire.Call, error) {
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return wire.Call{}, err
	}
	return f.CallAt(ctx, p, id)
}

// CallAt is [Reader.Call] for a run that was found.
func (f *Reader) CallAt(ctx context.Context, p journal.Place, id string) (wire.Call, error) {
	if id == "" || len(id) > journal.MaxID {
		return wire.Call{}, frontend.CallNotFound()
	}
	fold := callFold{thread: p.Record.Thread, from: journal.Cursor{Seq: p.Record.Seq0 + 1}, only: id, most: 1}
	if err := f.Journal(ctx, p, p.Record.Seq0+1, fold.segment); err != nil {
		return wire.Call{}, err
	}
	if len(fold.calls) == 0 {
		return wire.Call{}, frontend.CallNotFound()
	}
	return asTracked(p, *fold.calls[0]), nil
}

// callFold makes the records of calls from the journal, segment by segment.
type callFold struct {
	thread string
	from   journal.Cursor // entries of its segment before read belong to the page before
	most   int
	only   string // a call's id; empty: all

	calls  []*wire.Call
	open   int            // of them have not settled
	weight int            // bytes of their results
	next   journal.Cursor // where the next page begins; seq 0: the journal ended before
}

// segment takes one segment in, and says whether the next one is wanted.
func (c *callFold) segment(s core.Segment) (more bool) {
	asked := 0
	for _, e := range s.Expand() {
		if beginsCall(e) {
			asked++
			c.begin(s, asked, e)
		}
		if call := c.of(e); call != nil {
			c.take(call, e)
		}
	}
	full := len(c.calls) == c.most || c.next.Seq != 0
	return !full || c.open > 0 || c.next.Seq == 0 && c.only == ""
}

// beginsCall says whether a call comes into being with the event. The run's own waits are not asked
// for by a model.
func beginsCall(e core.Event) bool {
	var s core.SuspendedCall
	return e.Type == core.EventCallReady ||
		e.Type == core.EventCallSuspended && json.Unmarshal(e.Data, &s) == nil && s.ToolName == ""
}

func (c *callFold) begin(s core.Segment, nth int, e core.Event) {
	var data wire.CallReadyData
	switch _ = json.Unmarshal(e.Data, &data); {
	case s.Seq == c.from.Seq && nth <= c.from.Read, c.only != "" && c.only != data.CallID:
		return
	case len(c.calls) == c.most || c.weight >= journal.PageBytes:
		if c.next.Seq == 0 {
			c.next = journal.Cursor{Seq: s.Seq, Read: nth - 1}
		}
		return
	}
	at := wire.Millis(e.At)
	c.calls = append(c.calls, &wire.Call{CallID: data.CallID, ToolName: data.ToolName, Arguments: runview.ShownJSON(data.Arguments), MessageID: data.MessageID, Step: e.Step,
		Status: core.CallNew.String(), ReadyAt: at, UpdatedAt: at})
	c.open++
}

func (c *callFold) of(e core.Event) *wire.Call {
	var data struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(e.Data, &data) != nil || data.CallID == "" {
		return nil
	}
	i := slices.IndexFunc(c.calls, func(call *wire.Call) bool { return call.CallID == data.CallID })
	if i < 0 {
		return nil
	}
	return c.calls[i]
}

// take notes what an event says of its call.
func (c *callFold) take(call *wire.Call, e core.Event) {
	at := wire.Millis(e.At)
	switch e.Type {
	case core.EventCallSuspended:
		c.suspended(call, e)
	case core.EventDecisionRecorded:
		c.decided(call, e)
	case core.EventCallResuming:
		call.Status, call.UpdatedAt = core.CallResuming.String(), at
	case core.EventCallStarted:
		var data wire.CallStartedData
		_ = json.Unmarshal(shownTimes(e), &data)
		call.Status, call.UpdatedAt, call.StartedAt = core.CallRunning.String(), at, data.StartedAt
		if len(data.Arguments) > 0 {
			call.RanWith = runview.ShownJSON(data.Arguments)
		}
	case core.EventCallSucceeded, core.EventCallFailed, core.EventCallCancelled:
		c.ended(call, e)
	}
}

func (c *callFold) suspended(call *wire.Call, e core.Event) {
	var s core.SuspendedCall
	if json.Unmarshal(e.Data, &s) != nil {
		return
	}
	call.Status, call.UpdatedAt = core.CallSuspended.String(), wire.Millis(e.At)
	call.Kind, call.ResumeToken, call.ResumeMode = s.Kind.String(), s.Suspension.ID, s.ResumeMode.String()
	call.Resume, call.Deadline = nil, nil
	if s.Deadline != 0 {
		deadline := wire.Millis(s.Deadline)
		call.Deadline = &deadline
	}
	if len(s.Kept) > 0 {
		call.Scratch = runview.ShownJSON(s.Kept)
	}
}

func (c *callFold) decided(call *wire.Call, e core.Event) {
	var data wire.DecisionRecordedData
	if json.Unmarshal(shownTimes(e), &data) == nil && data.Applied {
		call.Resume, call.UpdatedAt = &data, wire.Millis(e.At)
		if len(data.Arguments) > 0 {
			call.RanWith = runview.ShownJSON(data.Arguments)
		}
	}
}

func (c *callFold) ended(call *wire.Call, e core.Event) {
	var data wire.CallEndedData
	if json.Unmarshal(shownTimes(e), &data) != nil {
		return
	}
	call.Status, call.Outcome, call.Result, call.Value, call.Attempts, call.MayHaveRun = data.Status, data.Outcome, data.Result, data.Value, data.Attempts, data.MayHaveRun
	call.EndedAt, call.UpdatedAt = &data.EndedAt, wire.Millis(e.At)
	if data.StartedAt != nil {
		call.StartedAt = data.StartedAt
	}
	if data.Attempts == 0 && call.Kind != core.KindChild.String() {
		call.RanWith = nil // nothing ran
	}
	c.open--
	if c.weight += len(data.Value); data.Result != nil {
		c.weight += len(*data.Result)
	}
}
