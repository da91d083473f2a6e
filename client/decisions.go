package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/client/internal/paging"
)

// DecisionPage is one page of the recorded decisions. It may be short or empty although more
// entries follow: read on while Next is set.
type DecisionPage struct {
	// The decisions, newest first.
	Items []RecordedDecision `json:"items"`
	// The cursor of the next page. Empty on the last page.
	Next string `json:"next,omitempty"`
	// How many decisions, or commits with decisions, are missing because their run can't be
	// read.
	Unreadable int `json:"unreadable,omitempty"`
}

// RecordedDecision is a recorded decision, with its run and its call.
type RecordedDecision struct {
	// When the decision was recorded.
	At Time `json:"at"`
	// The run of the call.
	RunID string `json:"run_id"`
	// The conversation of the run.
	ThreadID string `json:"thread_id"`
	// The Seq of its event in the conversation.
	Seq int64 `json:"seq"`
	// The agent of the run.
	Agent string `json:"agent"`
	// The tool of the call. Empty if the run itself waited.
	Tool string `json:"tool_name"`
	// What an ask asks: the first line of its title, at most 200 characters.
	Title string `json:"title,omitempty"`
	// The kind of the suspension.
	Kind string `json:"kind"`
	// What an approval does to the call.
	ResumeMode string `json:"resume_mode"`
	// Set if the decision or its run can't be read. Members are then missing.
	Unreadable *RunError `json:"unreadable,omitempty"`
	DecisionRecordedData
}

// DecisionFilter selects recorded decisions. Empty fields select all.
type DecisionFilter struct {
	By            string // the principal, such as "token:anna"
	Via           string // the entry point: "api", "link", "message" or "deadline"
	Agent         string
	Action        string    // [ActionResume] or [ActionCancel]
	CreatedAfter  time.Time // recorded at this time or later
	CreatedBefore time.Time // recorded before this time

	Limit  int    // decisions on a page: by default 50, at most 200
	Cursor string // the Next of an earlier page
}

func (f DecisionFilter) query() url.Values {
	q := pageQuery(f.Limit, f.Cursor)
	add(q, "by", f.By)
	add(q, "via", f.Via)
	add(q, "agent", f.Agent)
	add(q, "action", f.Action)
	addTime(q, "created_after", f.CreatedAfter)
	addTime(q, "created_before", f.CreatedBefore)
	return q
}

// Decisions returns the recorded decisions of all runs, newest first. It reads page after page, and
// skips decisions that can't be read; [Client.DecisionPage] counts those. An error comes last.
func (c *Client) Decisions(ctx context.Context, f DecisionFilter) iter.Seq2[RecordedDecision, error] {
	return paging.All(f.Cursor, func(cursor string) ([]RecordedDecision, string, error) {
		f.Cursor = cursor
		page, err := c.DecisionPage(ctx, f)
		return page.Items, page.Next, err
	})
}

// DecisionPage reads one page of the recorded decisions of all runs, newest first.
func (c *Client) DecisionPage(ctx context.Context, f DecisionFilter) (DecisionPage, error) {
	return get[DecisionPage](ctx, c, "/v1/decisions", f.query())
}
