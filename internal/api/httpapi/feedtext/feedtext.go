// Package feedtext writes the events of a tenant's feed for its readers: as a token may see them,
// and as the text of a stream, once for all who read the same.
package feedtext

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// WithoutAnswer leaves out of a decision what its approver sent: a token without read sees who
// decided and how, as the page of a link does.
func WithoutAnswer(d *wire.DecisionRecordedData) { d.Result, d.Arguments = nil, nil }

// ToDecider redacts an event for a token without read: a decision loses its arguments and its
// result, and a suspension keeps what finds the call in the inbox, where its arguments are shown
// only while it waits.
func ToDecider(e wire.Event) wire.Event {
	switch e.Type {
	case string(core.EventDecisionRecorded):
		var d wire.DecisionRecordedData
		if json.Unmarshal(e.Data, &d) != nil {
			e.Data = nil
			return e
		}
		WithoutAnswer(&d)
		e.Data = core.Encode(d)
	case string(core.EventCallSuspended):
		var p wire.Pending
		_ = json.Unmarshal(e.Data, &p) // what is not there is left out
		e.Data = core.Encode(wire.Pending{CallID: p.CallID, ToolName: p.ToolName, Tool: p.Tool, Kind: p.Kind, ResumeMode: p.ResumeMode, Since: p.Since, Deadline: p.Deadline,
			Suspension: wire.Suspension{ID: p.Suspension.ID, Action: p.Suspension.Action}, NotBy: p.NotBy, Approvers: p.Approvers})
	case string(core.EventRunStatus): // says only that the run is done, and why
	default:
		e.Data = nil
	}
	return e
}

// forReaders and forDeciders tell the two texts of a page apart.
const (
	forReaders  = "readers"
	forDeciders = "deciders"
)

// Chunks is the text of a page's events for those who may read runs, or only decide. Each ends
// behind an event, soon after it is no small answer any more.
func Chunks(page *query.SharedPage, mayRead bool) [][]byte {
	kind := forDeciders
	if mayRead {
		kind = forReaders
	}
	return page.Text(kind, func(events []wire.Event) [][]byte {
		var chunks [][]byte
		var buf bytes.Buffer
		for i, e := range events {
			if !mayRead {
				e = ToDecider(e)
			}
			WriteEvent(&buf, e, core.Encode(e))
			if buf.Len() > bounds.SmallAnswer || i == len(events)-1 {
				chunks = append(chunks, bytes.Clone(buf.Bytes()))
				buf.Reset()
			}
		}
		return chunks
	})
}

// WriteEvent writes an event as a stream has it. data is the event as JSON.
func WriteEvent(to *bytes.Buffer, e wire.Event, data []byte) {
	fmt.Fprintf(to, "id: %s\nevent: %s\ndata: %s\n\n", e.Cursor, e.Type, data)
}
