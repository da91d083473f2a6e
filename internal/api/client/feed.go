package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Feed selects events of a tenant and names the functions that take them. Each gets every event.
// Counts, if it is set, gets how many calls wait, at the start and whenever that changes.
type Feed struct {
	Agent  string // empty for all
	After  string // a cursor; empty to start with the oldest event
	Tail   bool   // without a cursor, only new events
	Each   func(wire.Event) error
	Counts func(wire.Counts) error
}

// FollowFeed reads suspensions, decisions and run ends of all runs of a tenant over a stream, and
// opens the stream again when it ends. It returns when ctx ends, a function of feed fails, the
// server refuses with an error that is not [Error.Temporary], or the server does not answer, at the
// first try or several times in a row. An event may come twice: its thread and number are its id.
func (c *Client) FollowFeed(ctx context.Context, feed Feed) error {
	return reopen(ctx, &feed.After, func(ctx context.Context) error { return c.feedStream(ctx, &feed) })
}

// feedStream reads one stream to its end, and notes in feed.After how far it came.
func (c *Client) feedStream(ctx context.Context, feed *Feed) error {
	q := url.Values{}
	add(q, "agent", feed.Agent)
	add(q, "after", feed.After)
	if feed.Tail && feed.After == "" {
		q.Set("from", "tail")
	}
	return c.messages(ctx, "/v1/events", q, func(m message) error {
		if err := feed.take(m); err != nil {
			return finalError{err}
		}
		if m.id != "" {
			feed.After = m.id
		}
		return nil
	})
}

func (f *Feed) take(m message) error {
	if m.event == "counts" {
		var counts wire.Counts
		if err := json.Unmarshal(m.data, &counts); err != nil {
			return fmt.Errorf("client: decoding the counts: %w", err)
		}
		if f.Counts == nil {
			return nil
		}
		return f.Counts(counts)
	}
	var e wire.Event
	if err := json.Unmarshal(m.data, &e); err != nil {
		return fmt.Errorf("client: decoding an event: %w", err)
	}
	return f.Each(e)
}

// DecisionList filters decisions; an empty member sets no filter.
type DecisionList struct {
	By, Via, Agent, Action string
	Period
	Limit  int
	Cursor string
}

// Decisions lists the decisions that were recorded in all runs, newest first.
func (c *Client) Decisions(ctx context.Context, l DecisionList) (wire.DecisionPage, error) {
	q := url.Values{}
	for name, value := range map[string]string{"by": l.By, "via": l.Via, "agent": l.Agent, "action": l.Action, "cursor": l.Cursor} {
		add(q, name, value)
	}
	l.Period.add(q)
	addNumber(q, "limit", l.Limit)
	var page wire.DecisionPage
	err := c.do(ctx, request{method: http.MethodGet, path: "/v1/decisions", query: q}, &page)
	return page, err
}
