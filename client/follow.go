package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/dormouse-dev/dormouse/internal/text/sse"
)

// EventOptions says which events an iterator returns.
type EventOptions struct {
	// Return only events after this cursor, such as the Cursor of an [Event] or a [Run]. Empty
	// starts with the first event.
	After string
	// Don't stop while the run is suspended: continue until it is done.
	Follow bool
}

// EventQuery says which page of events to read.
type EventQuery struct {
	// Return only events after this cursor. Empty starts with the first event.
	After string
	// The newest first: After goes on backwards. Tree, Tail and Wait must be unset.
	Newest bool
	// Without a cursor, return only events that are committed from now on.
	Tail bool
	// Also return the events of the runs below, merged into one order. They carry a Path.
	Tree bool
	// How long the server holds the answer while there are no events, at most 20 seconds.
	Wait time.Duration
	// The maximum number of events: by default 100, at most 1000.
	Limit int
}

func (o EventQuery) query() url.Values {
	q := url.Values{}
	add(q, "after", o.After)
	if o.Newest {
		q.Set("order", "desc")
	}
	if o.Tree {
		q.Set("tree", "true")
	}
	if o.Tail && o.After == "" {
		q.Set("from", "tail")
	}
	addNumber(q, "wait", wholeSeconds(o.Wait))
	addNumber(q, "limit", o.Limit)
	return q
}

// Events returns the run's events, each once and in order. It stops when the run is done or, unless
// o.Follow is set, suspended, and every event up to there was returned. It reads a stream, and
// opens the stream again when it breaks. An error is the last value.
//
// The stream also carries live events, such as "text.delta": what the model is saying now.
func (c *Client) Events(ctx context.Context, run string, o EventOptions) iter.Seq2[Event, error] {
	return c.follow(ctx, runPath(run, "/events"), o)
}

// ThreadEvents returns the events of all runs of a thread like [Client.Events]. With o.Follow it
// continues with later runs until ctx ends.
func (c *Client) ThreadEvents(ctx context.Context, thread string, o EventOptions) iter.Seq2[Event, error] {
	return c.follow(ctx, threadPath(thread, "/events"), o)
}

// EventPage reads one page of the run's events.
func (c *Client) EventPage(ctx context.Context, run string, q EventQuery) (EventPage, error) {
	return get[EventPage](ctx, c, runPath(run, "/events"), q.query())
}

// ThreadEventPage reads one page of the events of all runs of a thread.
func (c *Client) ThreadEventPage(ctx context.Context, thread string, q EventQuery) (EventPage, error) {
	return get[EventPage](ctx, c, threadPath(thread, "/events"), q.query())
}

var (
	// errOver ends a follower: the run is done or suspended, and every event was returned.
	errOver = errors.New("client: the run is done or suspended")

	// errStopped ends a reader whose caller has left the loop.
	errStopped = errors.New("client: the caller stopped")
)

func (c *Client) follow(ctx context.Context, path string, o EventOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follower{client: c, path: path, after: o.After, follow: o.Follow, yield: yield}
		if err := f.run(ctx); err != nil && !errors.Is(err, errOver) && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// follower reads the events of a run or a thread behind the cursor after.
type follower struct {
	client *Client
	path   string
	after  string
	follow bool
	yield  func(Event, error) bool
}

func (f *follower) run(ctx context.Context) error {
	// a stream of a suspended run would stay open where the reader has seen everything
	if f.after != "" {
		if over, err := f.over(ctx); over || err != nil {
			return err
		}
	}
	return f.client.reopen(ctx, &f.after, f.round)
}

// round reads one stream to its end, and asks whether that is the run's.
func (f *follower) round(ctx context.Context) error {
	if err := f.stream(ctx); err != nil {
		return err
	}
	over, err := f.over(ctx)
	if over {
		return permanent{errOver}
	}
	return err
}

// over asks whether a stream ended because the run is done or suspended: it also ends when the
// server stops.
func (f *follower) over(ctx context.Context) (bool, error) {
	var page EventPage
	q := EventQuery{After: f.after, Limit: 1}.query()
	err := f.client.do(ctx, request{method: http.MethodGet, path: f.path, query: q}, &page)
	return err == nil && len(page.Items) == 0 && (page.Done || page.Waiting && !f.follow), err
}

// stream reads one stream to its end: nil if that came in order, behind a whole event.
func (f *follower) stream(ctx context.Context) error {
	q := url.Values{}
	add(q, "after", f.after)
	if f.follow {
		q.Set("follow", "true")
	}
	return f.client.read(ctx, f.path, q, func(m sse.Message) error {
		var e Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return fmt.Errorf("client: decoding an event: %w", err)
		}
		if e.Cursor == "" {
			// the next stream would start over
			return errors.New("client: an event has no cursor")
		}
		f.after = e.Cursor
		if !f.yield(e, nil) {
			return permanent{errStopped}
		}
		return nil
	})
}
