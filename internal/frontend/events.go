package frontend

import (
	"context"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// EventQuery says which events of a run are wanted.
type EventQuery struct {
	After string        // where to go on, as an earlier page said; empty from the first
	Tail  bool          // without After: only what is committed from now on
	Limit int           // at most so many
	Bytes int           // ends the page once its events weigh so much, if that is sooner than a page ends anyway; 0 does not
	Wait  time.Duration // how long to wait if there is none yet
	Rest  bool          // a run that waits for an answer is not waited for either
	Live  bool          // behind all that is committed, what the model is saying just now, if that is known here
}

// Events reads a page of a run's events: those that are committed or, if q.Live is set and there is none of them, live ones. A reader that
// goes on from Next misses no committed event and sees none twice; live ones are described at [Frontend.liveEvents].
func (f *Frontend) Events(ctx context.Context, c Caller, run string, q EventQuery) (wire.EventPage, error) {
	thread, _ := core.ThreadOf(run)
	return f.heldEvents(ctx, c, thread, q, func() (place, error) { return f.find(ctx, c, run) })
}

// ThreadEvents is [Frontend.Events] over all runs of a thread, one after the other. No page is done: a thread whose run is done waits for
// the next one.
func (f *Frontend) ThreadEvents(ctx context.Context, c Caller, thread string, q EventQuery) (wire.EventPage, error) {
	page, err := f.heldEvents(ctx, c, thread, q, func() (place, error) {
		head, err := f.thread(ctx, c, thread)
		p := place{head: head, record: head.Record(), current: true}
		p.record.Seq0, p.record.Ev0 = 0, 0
		p.whole = true
		return p, err
	})
	return page, err
}

// heldEvents reads a page of events of what find finds, and waits for one if there is none yet.
func (f *Frontend) heldEvents(ctx context.Context, c Caller, thread string, q EventQuery, find func() (place, error)) (wire.EventPage, error) {
	var page wire.EventPage
	if q.Tail && q.After == "" { // found once: what comes while the read is held is wanted
		p, err := find()
		if err != nil {
			return page, err
		}
		q.After = endOf(p.record)
	}
	err := f.until(ctx, c, thread, q.Wait, q.Live, func() (bool, error) {
		speech, spoken := f.spoken(c, thread, q.Live) // before the head is looked at: see liveEvents
		p, err := find()
		if err == nil {
			page, err = f.events(ctx, c, p, q, speech, spoken)
		}
		return page.Done || q.Rest && page.Waiting || len(page.Items) > 0, err
	})
	return page, err
}

func (f *Frontend) events(ctx context.Context, c Caller, p place, q EventQuery, speech engine.Speech, spoken bool) (wire.EventPage, error) {
	at, err := readCursor(q.After, p.head.Thread, p.record.Seq0+1, p.record.Seq)
	if err != nil {
		return wire.EventPage{}, err
	}
	from, most := at, limit(q.Limit, 100, 1000)
	var next *core.Segment // behind the cursor
	items, at, err := collect(ctx, f, p.head, at, p.record.Seq, most, limit(q.Bytes, pageBytes, pageBytes), func(s core.Segment) []wire.Event {
		if s.Seq == from.seq {
			next = &s
		}
		return EventsOf(s)
	}, func(e wire.Event) int { return len(e.Data) })
	if err != nil {
		return wire.EventPage{}, err
	}
	if err := f.joinTurnEnds(ctx, c, p, items); err != nil {
		return wire.EventPage{}, err
	}
	if next != nil && from.live.any() {
		if at.live = (hearing{}); !settles(*next, from.live) {
			at = cursor{seq: from.seq}
			items = []wire.Event{resetEvent(p, next, at)}
		}
	}
	if len(items) == 0 && at.seq > p.record.Seq && q.Live {
		items, at = liveEvents(p, at, speech, spoken, most)
	}
	all, done := at.seq > p.record.Seq, p.record.Status == core.RunDone
	return wire.EventPage{Items: items, Next: at.of(p.head.Thread), Done: all && done && !p.whole,
		Waiting: all && (p.record.Status == core.RunWaiting || done && p.whole)}, nil
}
