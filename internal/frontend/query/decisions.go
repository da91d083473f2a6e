package query

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
)

// DecisionQuery says which decisions of a tenant are wanted. An empty member wants all.
type DecisionQuery struct {
	By, Via       string // who decided, and the entry point
	Agent         string
	Action        string    // a [core.ResumeAction]
	CreatedAfter  time.Time // recorded at this time or later
	CreatedBefore time.Time // recorded before it
	Cursor        string    // of the page before; empty for the first
	Limit         int       // about so many; the decisions of one commit stay together
}

func (q DecisionQuery) check() error {
	return checkWord("action", q.Action, DecisionActions)
}

// recordingTime is how long the commit of a decision may take. The scan is widened by this much on
// both sides of the times that are asked for.
const recordingTime = time.Minute

// Decisions reads a page of the decisions that were recorded in all runs of a tenant, newest first.
// A page ends early once it is heavy or has scanned enough entries: it may be short, even empty,
// and have a next one. A cursor is good for the filters of the page it came with.
func (f *Reader) Decisions(ctx context.Context, c frontend.Caller, q DecisionQuery) (wire.DecisionPage, error) {
	page := wire.DecisionPage{Items: []wire.RecordedDecision{}}
	if err := q.check(); err != nil {
		return page, err
	}
	from, err := readHistoryCursor(q, c.Tenant)
	if err != nil {
		return page, err
	}
	leave, err := f.Pages.Take(ctx, c.Tenant)
	if err != nil {
		return page, err
	}
	defer leave()
	r := historyRead{journalReader: f.journalReader(c.Tenant), q: q, from: from, items: page.Items}
	more, err := r.page(ctx)
	if page.Items, page.Unreadable = r.items, r.unread; more {
		page.Next = journal.EncodeCursor(historyCursor{q.mark(c.Tenant), r.from.At, r.from.Tie})
	}
	return page, err
}

type historyCursor struct {
	History string `json:"d"`
	At      int64  `json:"a"`
	Tie     string `json:"i"`
}

// mark identifies the history of a tenant with these filters.
func (q DecisionQuery) mark(tenant string) string {
	q.Cursor, q.Limit = "", 0
	return journal.CursorMark("decisions of " + tenant + " " + string(core.Encode(q)))
}

func readHistoryCursor(q DecisionQuery, tenant string) (engine.FeedPlace, error) {
	if q.Cursor == "" {
		if q.CreatedBefore.IsZero() {
			return engine.FeedPlace{}, nil
		}
		return engine.FeedPlace{At: millisFrom(q.CreatedBefore) + recordingTime.Milliseconds()}, nil
	}
	var stored historyCursor
	ours := journal.DecodeCursor(q.Cursor, &stored) && stored.History == q.mark(tenant) && stored.Tie != ""
	place := engine.FeedPlace{At: stored.At, Tie: stored.Tie}
	if !ours || place.Check() != nil {
		return engine.FeedPlace{}, badListCursor()
	}
	return place, nil
}

// historyRead reads one page of decisions.
type historyRead struct {
	*journalReader
	q      DecisionQuery
	from   engine.FeedPlace // before which entries are read
	items  []wire.RecordedDecision
	weight int
	passed int
	looked int
	unread int
}

func (r *historyRead) full() bool {
	return len(r.items) >= limit(r.q.Limit, 50, 200) || r.weight >= journal.PageBytes || r.looked >= mostFeedLooked || r.passed >= mostFeedPassed
}

// page reads from newest to oldest, and says whether there may be more.
func (r *historyRead) page(ctx context.Context) (more bool, err error) {
	for {
		found, err := r.f.feedEntries(ctx, r.tenant, engine.FeedQuery{From: r.from, Newest: true, Limit: feedPiece})
		if err != nil {
			return false, err
		}
		for _, e := range found {
			if r.full() {
				return true, r.end()
			}
			if e.At < millisFrom(r.q.CreatedAfter)-recordingTime.Milliseconds() {
				return false, r.end()
			}
			if err := r.entry(ctx, e); err != nil {
				return false, err
			}
			r.from = e.FeedPlace
			r.passed++
		}
		if len(found) < feedPiece {
			return false, r.end()
		}
	}
}

func (r *historyRead) entry(ctx context.Context, e engine.FeedEntry) error {
	if !e.Marks.Any(core.FeedDecisions) {
		return nil
	}
	r.looked++
	s, is, err := r.segment(ctx, e.Thread, e.Seq, e.W)
	if err != nil || is != committed {
		if is == unread {
			r.unread++
		}
		return err
	}
	for _, event := range slices.Backward(s.Events) {
		if event.Type == core.EventDecisionRecorded && r.inTime(event.At) {
			if err := r.decision(ctx, event); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *historyRead) inTime(at int64) bool {
	return at >= millisFrom(r.q.CreatedAfter) && (r.q.CreatedBefore.IsZero() || at < millisFrom(r.q.CreatedBefore))
}

// decision puts a wanted decision into the page, with what its run and its suspension add.
func (r *historyRead) decision(ctx context.Context, e core.Event) error {
	shown := wire.RecordedDecision{At: wire.Millis(e.At), RunID: e.RunID, ThreadID: e.ThreadID, Seq: e.Seq}
	if json.Unmarshal(shownTimes(e), &shown.DecisionRecordedData) != nil {
		shown.Unreadable = unreadable()
	}
	if !r.wants(shown) {
		return nil
	}
	p, err := r.record(ctx, e.ThreadID, e.RunID)
	if err != nil {
		if err := r.failed(ctx, err); err != nil {
			return err
		}
		if r.q.Agent != "" { // it may be one of this agent
			r.unread++
			return nil
		}
		shown.Unreadable = unreadable()
	}
	shown.Agent = p.Record.Agent
	if r.q.Agent != "" && shown.Agent != r.q.Agent {
		return nil
	}
	if err := r.title(ctx, p, &shown); err != nil {
		return err
	}
	if waited, err := r.f.FindSuspension(ctx, p, shown.Suspension); err == nil {
		shown.Tool, shown.Kind, shown.ResumeMode = waited.ToolName, waited.Kind.String(), waited.Mode().String()
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	r.items = append(r.items, shown)
	r.weight += len(shown.Arguments) + len(shown.Result) + len(shown.Reason)
	return nil
}

// title adds what an ask asks. It costs a read, so no other run's input is read for the list.
func (r *historyRead) title(ctx context.Context, p journal.Place, shown *wire.RecordedDecision) error {
	if shown.Agent != ask.Agent {
		return nil
	}
	begin, err := r.f.Segment(ctx, p, p.Record.Seq0+1)
	if err != nil {
		return ctx.Err() // the decision is shown without it
	}
	shown.Title = runview.FirstLine(p, begin)
	return nil
}

func (r *historyRead) wants(d wire.RecordedDecision) bool {
	return (r.q.By == "" || d.By == r.q.By) && (r.q.Via == "" || d.Via == r.q.Via) && (r.q.Action == "" || d.Action == r.q.Action)
}
