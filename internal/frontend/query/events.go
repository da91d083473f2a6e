package query

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// EventQuery says which events of a run are wanted.
type EventQuery struct {
	After string // where to go on, as an earlier page said; empty from the first
	Order string // one of [Orders]; with [OrderNewest] only After, Limit, Bytes and Data count
	Tail  bool   // without After: only what is committed from now on
	Limit int    // at most so many
	// ends the page once its events weigh so much, if that is sooner than a page ends anyway; 0
	// does not
	Bytes int
	Wait  time.Duration // how long to wait if there is none yet
	Rest  bool          // a run that waits for an answer is not waited for either
	Asked bool          // of a tree: it rests once one run asks, also while others go on
	// behind all that is committed, what the model is saying just now, if that is known here
	Live bool
	Data bool // with the bytes of the images and documents of messages
}

// Events reads a page of a run's events: those that are committed or, if q.Live is set and there is
// none of them, live ones. A reader that goes on from Next misses no committed event and sees none
// twice; live ones are described at [liveEvents]. A place is between the same events in both
// orders, so that a reader may go on from it in either.
func (f *Reader) Events(ctx context.Context, c frontend.Caller, run string, q EventQuery) (wire.EventPage, error) {
	thread, _ := core.ThreadOf(run)
	return f.heldEvents(ctx, c, thread, q, func() (journal.Place, error) { return f.Find(ctx, c.Tenant, run) })
}

// ThreadEvents is [Reader.Events] over all runs of a thread, one after the other. No
// page is done: a thread whose run is done waits for the next one.
func (f *Reader) ThreadEvents(ctx context.Context, c frontend.Caller, thread string, q EventQuery) (wire.EventPage, error) {
	page, err := f.heldEvents(ctx, c, thread, q, func() (journal.Place, error) {
		head, err := f.LoadThread(ctx, c.Tenant, thread)
		p := journal.Place{Head: head, Record: head.Record(), Current: true}
		p.Record.Seq0, p.Record.Ev0 = 0, 0
		p.Whole = true
		return p, err
	})
	return page, err
}

// heldEvents reads a page of events of what find finds, and waits for one if there is none yet.
func (f *Reader) heldEvents(ctx context.Context, c frontend.Caller, thread string, q EventQuery, find func() (journal.Place, error)) (wire.EventPage, error) {
	var page wire.EventPage
	if err := checkWord("order", q.Order, Orders); err != nil {
		return page, err
	}
	if q.Order == OrderNewest {
		p, err := find()
		if err != nil {
			return page, err
		}
		return f.newestEvents(ctx, c, p, q)
	}
	if q.Tail && q.After == "" { // found once: what comes while the read is held is wanted
		p, err := find()
		if err != nil {
			return page, err
		}
		q.After = journal.EndOf(p.Record)
	}
	err := f.Held.Until(ctx, c.Tenant, thread, q.Wait, q.Live, func() (bool, error) {
		// before the head is looked at: see liveEvents
		speech, spoken := f.spoken(ctx, c, thread, q.Live)
		p, err := find()
		if err == nil {
			page, err = f.events(ctx, c, p, q, speech, spoken)
		}
		return page.Done || q.Rest && page.Waiting || len(page.Items) > 0, err
	})
	return page, err
}

// newestEvents reads a page of committed events, the newest first. It is done once it has reached
// the first one.
func (f *Reader) newestEvents(ctx context.Context, c frontend.Caller, p journal.Place, q EventQuery) (wire.EventPage, error) {
	from, end := p.Record.Seq0+1, journal.Cursor{Seq: p.Record.Seq + 1}
	at := end
	if q.After != "" {
		var err error
		if at, err = journal.ReadCursor(q.After, p.Head.Thread, from, p.Record.Seq); err != nil {
			return wire.EventPage{}, err
		}
		if at.Live = (journal.Hearing{}); at.Seq == end.Seq {
			at = end
		}
	}
	items, at, err := journal.CollectBefore(ctx, f.Frontend.Reader, p.Head, at, from, limit(q.Limit, 100, 1000), limit(q.Bytes, journal.PageBytes, journal.PageBytes),
		func(s core.Segment) []wire.Event { return EventsOf(s, q.Data) }, func(e wire.Event) int { return len(e.Data) })
	if err != nil {
		return wire.EventPage{}, err
	}
	page := wire.EventPage{Items: items, Next: at.Of(p.Head.Thread), Done: at.Seq <= from && at.Read == 0}
	return page, f.joinTurnEnds(ctx, c, p, items)
}

func (f *Reader) events(ctx context.Context, c frontend.Caller, p journal.Place, q EventQuery, speech engine.Speech, spoken bool) (wire.EventPage, error) {
	at, err := journal.ReadCursor(q.After, p.Head.Thread, p.Record.Seq0+1, p.Record.Seq)
	if err != nil {
		return wire.EventPage{}, err
	}
	from, most := at, limit(q.Limit, 100, 1000)
	var next *core.Segment // behind the cursor
	items, at, err := journal.Collect(ctx, f.Frontend.Reader, p.Head, at, p.Record.Seq, most, limit(q.Bytes, journal.PageBytes, journal.PageBytes), func(s core.Segment) []wire.Event {
		if s.Seq == from.Seq {
			next = &s
		}
		return EventsOf(s, q.Data)
	}, func(e wire.Event) int { return len(e.Data) })
	if err != nil {
		return wire.EventPage{}, err
	}
	if err := f.joinTurnEnds(ctx, c, p, items); err != nil {
		return wire.EventPage{}, err
	}
	if next != nil && from.Live.Any() {
		if at.Live = (journal.Hearing{}); !settles(*next, from.Live) {
			at = journal.Cursor{Seq: from.Seq}
			items = []wire.Event{resetEvent(p, next, at)}
		}
	}
	if len(items) == 0 && at.Seq > p.Record.Seq && q.Live {
		items, at = liveEvents(p, at, speech, spoken, most)
	}
	all, done := at.Seq > p.Record.Seq, p.Record.Status == core.RunDone
	page := wire.EventPage{Items: items, Next: at.Of(p.Head.Thread), Done: all && done && !p.Whole, Waiting: all && done && p.Whole}
	if all && p.Record.Status == core.RunWaiting {
		page.Waiting, err = f.Rests(ctx, p)
	}
	return page, err
}
