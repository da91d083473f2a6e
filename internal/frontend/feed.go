package frontend

import (
	"context"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/wire"
)

// FeedQuery says which events of a tenant are wanted.
type FeedQuery struct {
	After string        // where to go on, as an earlier page said; empty from the first
	Tail  bool          // without After: only what is committed from now on
	Marks []FeedKind    // only these kinds; empty for all
	Agent string        // only of runs of this agent; empty for all
	Limit int           // about so many; the events of one commit stay together
	Bytes int           // ends the page once its events weigh so much, if that is sooner than a page ends anyway; 0 does not
	Wait  time.Duration // how long to wait if there is none yet
}

// FeedKind is a kind of event in a tenant's feed, see [FeedKinds].
type FeedKind = core.FeedMarks

// FeedKinds are the kinds of event in a tenant's feed by the type of the event.
var FeedKinds = map[string]FeedKind{
	string(core.EventCallSuspended):    core.FeedSuspensions,
	string(core.EventDecisionRecorded): core.FeedDecisions,
	string(core.EventRunStatus):        core.FeedEnds,
}

// feedPiece is how many entries of a feed are read at once, mostFeedPassed how many for one page, and mostFeedLooked how many journals are
// looked into for one.
const (
	feedPiece      = 50
	mostFeedPassed = 2000
	mostFeedLooked = 500
)

// undecidedFor is how long an entry that no head names is looked at: no commit is longer under way.
const undecidedFor = 15 * time.Minute

// Feed reads a page of what begins to wait, what is decided and what ends in all runs of a tenant. Only what is committed is shown. A reader
// that goes on from Next is shown every event, as long as clocks and the index of the store are within the lag that the store states. The
// cursor of an event goes on behind its commit if it is the last of it, and otherwise before it: a reader that goes on from the middle of a
// page may be shown events again. Their thread and number are theirs alone. The order is about that of time; within a thread it is that of
// the numbers, except for commits of different workers within the lag.
func (f *Frontend) Feed(ctx context.Context, c Caller, q FeedQuery) (wire.FeedPage, error) {
	page := wire.FeedPage{Items: []wire.Event{}}
	at, err := f.feedStart(ctx, c, q)
	if err != nil {
		return page, err
	}
	err = f.untilFeed(ctx, c, q.Wait, func() (bool, error) {
		r := feedRead{journalReader: f.journalReader(c.Tenant), q: q, at: at, now: f.now(), lag: f.store.FeedLag().Milliseconds()}
		if err := r.page(ctx); err != nil {
			return false, err
		}
		at = r.at
		page.Items = append(page.Items, r.items...)
		return len(page.Items) > 0 || r.full(), nil
	})
	if err != nil {
		return page, err
	}
	page.Next = at.of(c.Tenant)
	if q.After == "" || len(page.Items) > 0 {
		counts, err := f.Counts(ctx, c, q.Agent)
		if err != nil {
			return page, err
		}
		page.Counts = &counts
	}
	return page, nil
}

// feedStart is where a query begins to read.
func (f *Frontend) feedStart(ctx context.Context, c Caller, q FeedQuery) (feedCursor, error) {
	if q.After != "" || !q.Tail {
		return readFeedCursor(q.After, c.Tenant)
	}
	return f.feedTail(ctx, c)
}

// feedTail is behind all that is committed now: what is within the lag is marked as read, so that what turns up among it is shown.
func (f *Frontend) feedTail(ctx context.Context, c Caller) (at feedCursor, err error) {
	newest, err := f.feedEntries(ctx, c.Tenant, engine.FeedQuery{Newest: true, Limit: mostSeen})
	if err != nil {
		return at, err
	}
	lag := f.store.FeedLag().Milliseconds()
	since := f.now() - lag
	r := f.journalReader(c.Tenant)
	for _, e := range newest {
		if at.Low = e.FeedPlace; lag == 0 || e.At <= since {
			return at, nil
		}
		_, is, err := r.segment(ctx, e.Thread, e.Seq, e.W)
		if err != nil {
			return at, err
		}
		if is > unread {
			at.see(e)
		}
	}
	if len(newest) < mostSeen && lag > 0 {
		at.Low = engine.FeedPlace{At: max(since, 0)}
	}
	return at, nil
}

func (f *Frontend) feedEntries(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	entries, err := try(ctx, f, func() ([]engine.FeedEntry, error) { return f.store.Feed(ctx, tenant, q) })
	return entries, listRefused(err)
}

// feedRead is a page of a feed in the making.
type feedRead struct {
	*journalReader
	q        FeedQuery
	at       feedCursor
	now, lag int64

	items  []wire.Event
	weight int
	passed int  // entries
	looked int  // of them in their journals
	behind bool // an entry before this one is not passed, so Low stays
	ahead  bool // so much is seen behind Low that no more fits into a cursor
}

// page reads what is held, and then the feed behind Low.
func (r *feedRead) page(ctx context.Context) error {
	leave, err := r.f.pages.take(ctx, r.tenant)
	if err != nil {
		return err
	}
	defer leave()
	if err := r.held(ctx); err != nil {
		return err
	}
	for from := r.at.Low; !r.full() && !r.ahead; {
		found, err := r.f.feedEntries(ctx, r.tenant, engine.FeedQuery{From: from, Limit: feedPiece})
		if err != nil {
			return err
		}
		for _, e := range found {
			if from = e.FeedPlace; r.full() || r.ahead {
				break
			}
			if err := r.entry(ctx, e); err != nil {
				return err
			}
		}
		if len(found) < feedPiece {
			break
		}
	}
	return r.end()
}

// full says whether the page ends here, with perhaps more behind it.
func (r *feedRead) full() bool {
	return len(r.items) >= limit(r.q.Limit, 100, 1000) || r.weight >= limit(r.q.Bytes, pageBytes, pageBytes) ||
		r.looked >= mostFeedLooked || r.passed >= mostFeedPassed
}

// held looks again at entries that were undecided.
func (r *feedRead) held(ctx context.Context) error {
	for _, h := range slices.Clone(r.at.Held) {
		if r.full() {
			return nil
		}
		events, is, err := r.events(ctx, h.Thread, h.Seq, h.W)
		if err != nil {
			return err
		}
		if is <= unread && h.At+undecidedFor.Milliseconds() > r.now {
			continue
		}
		before := r.at.clone()
		r.at.Held = slices.DeleteFunc(r.at.Held, func(of heldEntry) bool { return of == h })
		r.show(events, before)
	}
	return nil
}

// entry reads an entry behind Low, and passes it if nothing can turn up before it any more.
func (r *feedRead) entry(ctx context.Context, e engine.FeedEntry) error {
	r.passed++
	settled, saw := !r.behind && (r.lag == 0 || e.At+r.lag <= r.now), r.at.saw(e)
	if r.ahead = !settled && !saw && len(r.at.Seen) >= mostSeen; r.ahead {
		return nil
	}
	before, is := r.at.clone(), committed
	var events []wire.Event
	if !saw && r.wants(e.Marks) {
		var err error
		if events, is, err = r.events(ctx, e.Thread, e.Seq, e.W); err != nil {
			return err
		}
		r.looked++
	}
	switch {
	case settled:
		if r.at.pass(e); is <= unread && e.At+undecidedFor.Milliseconds() > r.now {
			r.at.hold(e)
		}
	case is > unread && !saw:
		r.at.see(e)
	}
	r.behind = !settled
	r.show(events, before)
	return nil
}

// wants says whether an entry may hold a wanted event.
func (r *feedRead) wants(marks core.FeedMarks) bool {
	return len(r.q.Marks) == 0 || slices.ContainsFunc(r.q.Marks, marks.Has)
}

// events are the wanted ones of a segment; none unless it is committed.
func (r *feedRead) events(ctx context.Context, thread string, seq int64, w core.Stamp) (wanted []wire.Event, is fate, err error) {
	s, is, err := r.segment(ctx, thread, seq, w)
	if err != nil || is != committed || len(s.Events) == 0 {
		return nil, is, err
	}
	if r.q.Agent != "" {
		of, err := r.record(ctx, thread, s.Events[0].RunID)
		if err != nil && !ofOneEntry(err) {
			return nil, undecided, err
		}
		if err != nil || of.record.Agent != r.q.Agent {
			return nil, committed, nil
		}
	}
	for i, e := range EventsOf(s) {
		if mark := s.Events[i].FeedMark(); mark != "" && r.wants(mark) {
			wanted = append(wanted, e)
		}
	}
	return wanted, committed, nil
}

// show puts the events of one commit into the page. Before is where a reader goes on that has not seen all of them.
func (r *feedRead) show(events []wire.Event, before feedCursor) {
	for i, e := range events {
		if e.Cursor = before.of(r.tenant); i == len(events)-1 {
			e.Cursor = r.at.of(r.tenant)
		}
		r.items = append(r.items, e)
		r.weight += len(e.Data)
	}
}
