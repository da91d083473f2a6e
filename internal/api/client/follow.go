package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Follow reads the run's events behind the cursor after ("" is from the first) over a stream, which
// it opens again when it ends, and gives every event to each, in order and none twice. It returns
// once the run is done or, unless on is set, waits, and everything up to there was given; with the
// cursor to go on from. An error of each ends it and is returned as it is. A server that does not
// answer is an error at the first try or several times in a row; a refusal that is not
// [Error.Temporary] always is.
func (c *Client) Follow(ctx context.Context, run, after string, on bool, each func(e wire.Event) error) (cursor string, err error) {
	f := &follower{client: c, run: run, after: after, on: on, each: each}
	err = f.follow(ctx)
	return f.after, err
}

type follower struct {
	client *Client
	run    string
	after  string
	on     bool
	each   func(wire.Event) error
}

// errOver ends the rounds of a follower: the run is done or waits, and every event was given.
var errOver = errors.New("client: the run is done or waits")

func (f *follower) follow(ctx context.Context) error {
	if f.after != "" { // a stream would be held where the reader has seen all
		if over, err := f.over(ctx); over || err != nil {
			return err
		}
	}
	if err := reopen(ctx, &f.after, f.round); !errors.Is(err, errOver) {
		return err
	}
	return nil
}

// round reads one stream to its end, and asks whether that is the run's.
func (f *follower) round(ctx context.Context) error {
	if err := f.stream(ctx); err != nil {
		return err
	}
	over, err := f.over(ctx)
	if over {
		return finalError{errOver}
	}
	return err
}

// over asks whether a stream ended because the run is done or waits: it also ends when the server
// stops.
func (f *follower) over(ctx context.Context) (bool, error) {
	page, err := f.client.Events(ctx, f.run, f.after, 0, 1)
	return err == nil && len(page.Items) == 0 && (page.Done || page.Waiting && !f.on), err
}

// stream reads one stream to its end: nil if that came in order, behind a whole event.
func (f *follower) stream(ctx context.Context) error {
	q := url.Values{}
	add(q, "after", f.after)
	if f.on {
		q.Set("follow", "true")
	}
	return f.client.messages(ctx, runPath(f.run, "/events"), q, func(m message) error {
		var e wire.Event
		if err := json.Unmarshal(m.data, &e); err != nil {
			return fmt.Errorf("client: an event of run %s: %w", f.run, err)
		}
		if err := f.each(e); err != nil {
			return finalError{err}
		}
		f.after = e.Cursor
		return nil
	})
}
