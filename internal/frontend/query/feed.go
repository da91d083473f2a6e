package query

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// FeedQuery says which events of a tenant are wanted.
type FeedQuery struct {
	After string         // the cursor of the last page; empty for the beginning
	Tail  bool           // without After: only what is committed from now on
	Marks core.FeedMarks // only events with one of these marks; empty for all
	Agent string         // only of runs of this agent; empty for all
	Limit int            // soft limit: the events of one commit stay together
	// soft limit of the weight of the events, where it is below that of every page; 0 sets none
	Bytes int
	Wait  time.Duration // how long to wait for events if there are none yet
	// only what tells a reader which question or run an event is about
	Brief bool
}

// feedPiece is the size of one store read. A page ends after mostFeedPassed entries, or after
// reading mostFeedLooked segments.
const (
	feedPiece      = 50
	mostFeedPassed = 2000
	mostFeedLooked = 500
)

// undecidedFor is how long an entry that no head names is looked at again. It is longer than any
// commit takes: a function ends after 15 minutes.
const undecidedFor = 15 * time.Minute

// Feed reads a page of the committed suspensions, decisions and run ends of a tenant. A reader that
// resumes from Next gets every event while clocks and the store's index stay within the store's
// lag. The last event of a commit has a cursor after the commit, the earlier ones have a cursor
// before it: resuming in the middle of a page may repeat events, which thread and number identify.
// Events come roughly in time order, and those of a thread in the order of their numbers, except
// for commits of different workers within the lag.
//
// The page that reaches the end of the feed counts what waits, if it passed anything.
//
// Callers that wait with the same query share one read of the store.
func (f *Reader) Feed(ctx context.Context, c frontend.Caller, q FeedQuery) (wire.FeedPage, error) {
	shared, err := f.SharedFeed(ctx, c, q)
	if err != nil {
		return wire.FeedPage{}, err
	}
	page := shared.FeedPage
	page.Items = slices.Clone(page.Items)
	return page, nil
}

// SharedFeed is [Reader.Feed] for readers that change nothing of the page.
func (f *Reader) SharedFeed(ctx context.Context, c frontend.Caller, q FeedQuery) (*SharedPage, error) {
	read := func(ctx context.Context) (*SharedPage, error) {
		page, err := f.feed(ctx, c.Tenant, q)
		return &SharedPage{FeedPage: page}, err
	}
	if q.Wait <= 0 || q.After == "" { // what begins now is not what began before
		return read(ctx)
	}
	return f.feeds.Do(ctx, feedOf{c.Tenant, q}, read)
}

// placeOf is what a look at the feed depends on beside what is stored; nil if it depends on the
// time, too.
func (f *Reader) placeOf(tenant string, at feedCursor, q FeedQuery) any {
	if f.Store.FeedLag() > 0 || len(at.Held) > 0 {
		return nil
	}
	q.After, q.Wait, q.Tail = at.of(tenant), 0, false
	return feedOf{tenant, q}
}

// feedOf is all that a page of a feed depends on.
type feedOf struct {
	tenant string
	FeedQuery
}

func (f *Reader) feed(ctx context.Context, tenant string, q FeedQuery) (wire.FeedPage, error) {
	c, page := frontend.Caller{Tenant: tenant}, wire.FeedPage{Items: []wire.Event{}}
	at, err := f.feedStart(ctx, c, q)
	if err != nil {
		return page, err
	}
	more := false
	err = f.Held.UntilFeed(ctx, c.Tenant, f.placeOf(tenant, at, q), q.Wait, func() (bool, error) {
		r := feedRead{journalReader: f.journalReader(c.Tenant), q: q, at: at, now: f.Now(), lag: f.Store.FeedLag().Milliseconds()}
		if err := r.page(ctx); err != nil {
			return false, err
		}
		at, more = r.at, r.more
		if q.Brief {
			inBrief(r.items)
		}
		page.Items = append(page.Items, r.items...)
		return len(page.Items) > 0 || more, nil
	})
	if err != nil {
		return page, err
	}
	if page.Next = at.of(c.Tenant); !more && page.Next != q.After {
		counts, err := f.Counts(ctx, c, q.Agent)
		if err != nil {
			return page, err
		}
		page.Counts = &counts
	}
	return page, nil
}

// inBrief leaves of each event what [FeedQuery.Brief] says.
func inBrief(events []wire.Event) {
	for i, e := range events {
		var said struct {
			Kind       string          `json:"kind,omitempty"`
			Suspension json.RawMessage `json:"suspension,omitempty"`
			By         string          `json:"by,omitempty"`
			Applied    *bool           `json:"applied,omitempty"`
		}
		_ = json.Unmarshal(e.Data, &said) // what is not there is left out
		var asked struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(said.Suspension, &asked) == nil { // else it is an id
			said.Suspension = core.Encode(asked)
		}
		events[i].Data = core.Encode(said)
	}
}

// FeedStart is the cursor that a query begins at, once it is checked; empty for the beginning.
func (f *Reader) FeedStart(ctx context.Context, c frontend.Caller, q FeedQuery) (string, error) {
	at, err := f.feedStart(ctx, c, q)
	if err != nil || q.After == "" && !q.Tail {
		return "", err
	}
	return at.of(c.Tenant), nil
}

func (f *Reader) feedStart(ctx context.Context, c frontend.Caller, q FeedQuery) (feedCursor, error) {
	if q.After != "" || !q.Tail {
		return readFeedCursor(q.After, c.Tenant)
	}
	return f.feedTail(ctx, c)
}

// feedTail is the place after everything that is committed now. Entries within the lag are seen, so
// that one that appears among them later is still shown; undecided ones before them are held, for
// when their commit lands.
func (f *Reader) feedTail(ctx context.Context, c frontend.Caller) (at feedCursor, err error) {
	leave, err := f.Pages.Take(ctx, c.Tenant)
	if err != nil {
		return at, err
	}
	defer leave()
	newest, err := f.feedEntries(ctx, c.Tenant, engine.FeedQuery{Newest: true, Limit: mostSeen + 1})
	if err != nil {
		return at, err
	}
	now, lag := f.Now(), f.Store.FeedLag().Milliseconds()
	r, low := f.journalReader(c.Tenant), false
	for i, e := range newest {
		if !low && (lag == 0 || e.At+lag <= now || i == mostSeen) {
			low, at.Low = true, e.FeedPlace
		}
		if lag == 0 || e.At+undecidedFor.Milliseconds() <= now {
			break
		}
		h, err := r.head(ctx, e.Thread)
		if err != nil {
			return at, err
		}
		switch decided := !h.unread && h.Seq >= e.Seq; {
		case decided && !low:
			at.see(e)
		case !decided && low && len(at.Held) < mostHeld:
			at.hold(e)
		}
	}
	if !low && lag > 0 {
		at.Low = engine.FeedPlace{At: max(now-lag, 0)}
	}
	return at, nil
}

func (f *Reader) feedEntries(ctx context.Context, tenant string, q engine.FeedQuery) ([]engine.FeedEntry, error) {
	entries, err := storecall.Try(ctx, f.Clock, func() ([]engine.FeedEntry, error) { return f.Store.Feed(ctx, tenant, q) })
	return entries, listRefused(err)
}

// feedRead reads one page of a feed.
type feedRead struct {
	*journalReader
	q        FeedQuery
	at       feedCursor
	now, lag int64

	items  []wire.Event
	weight int
	passed int  // entries
	looked int  // of them in their journals
	behind bool // an entry before this one is not passed, so Low does not move
	ahead  bool // the list of seen entries in the cursor is full
	more   bool // the page ended before an entry
}

// page reads the held entries, and then the feed after Low.
func (r *feedRead) page(ctx context.Context) error {
	leave, err := r.f.Pages.Take(ctx, r.tenant)
	if err != nil {
		return err
	}
	defer leave()
	if err := r.held(ctx); err != nil {
		return err
	}
	for from := r.at.Low; ; {
		size := feedPiece
		if r.full() {
			size = 1 // whether there is more
		}
		found, err := r.f.feedEntries(ctx, r.tenant, engine.FeedQuery{From: from, Limit: size})
		if err != nil {
			return err
		}
		for _, e := range found {
			if r.more = r.full(); r.more {
				return r.end()
			}
			if err := r.entry(ctx, e); err != nil {
				return err
			}
			if from = e.FeedPlace; r.ahead {
				return r.end()
			}
		}
		if len(found) < size {
			return r.end()
		}
	}
}

// full says whether the page ends before the next entry.
func (r *feedRead) full() bool {
	return len(r.items) >= limit(r.q.Limit, 100, 1000) || r.weight >= limit(r.q.Bytes, journal.PageBytes, journal.PageBytes) ||
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

// entry reads an entry behind Low, and passes it if no entry can appear before it any more.
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
	return r.q.Marks == "" || marks.Any(r.q.Marks)
}

// events are the wanted ones of a segment; none unless it is committed.
func (r *feedRead) events(ctx context.Context, thread string, seq int64, w core.Stamp) (wanted []wire.Event, is fate, err error) {
	h, err := r.head(ctx, thread)
	if err != nil {
		return nil, unread, err
	}
	// of the current run, so its segment need not be read
	if r.q.Agent != "" && seq > h.Seq0 && seq <= h.Seq && h.Agent != r.q.Agent {
		return nil, committed, nil
	}
	s, is, err := r.segment(ctx, thread, seq, w)
	if err != nil || is != committed || len(s.Events) == 0 {
		return nil, is, err
	}
	if r.q.Agent != "" {
		of, err := r.record(ctx, thread, s.Events[0].RunID)
		if err != nil && !ofOneEntry(err) {
			return nil, undecided, err
		}
		if err != nil || of.Record.Agent != r.q.Agent {
			return nil, committed, nil
		}
	}
	for i, e := range EventsOf(s, false) {
		if mark := s.Events[i].FeedMark(); mark != "" && r.wants(mark) {
			wanted = append(wanted, e)
		}
	}
	return wanted, committed, nil
}

// show puts the events of one commit into the page. A reader that has not seen all of them resumes
// at before.
func (r *feedRead) show(events []wire.Event, before feedCursor) {
	if len(events) == 0 {
		return
	}
	between, last := before.of(r.tenant), len(events)-1
	for i := range events {
		events[i].Cursor = between
		r.weight += len(events[i].Data)
	}
	events[last].Cursor = r.at.of(r.tenant)
	r.items = append(r.items, events...)
}
