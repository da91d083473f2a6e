package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/text/sse"
)

// FeedPage is one page of the events of all runs of the tenant.
type FeedPage struct {
	// The events, roughly in time order.
	Items []Event `json:"items"`
	// The cursor for the next request; always set.
	Next string `json:"next"`
	// The number of suspended calls. Set on the page that reaches the end of the feed, if
	// anything was committed since the cursor.
	Counts *Counts `json:"counts,omitempty"`
}

// Counts are the numbers of suspended calls of a tenant.
type Counts struct {
	// The number of suspended calls.
	Waiting int `json:"waiting"`
	// The number of suspended calls by kind, such as "approval" or "client".
	Kinds map[string]int `json:"kinds"`
	// The actual number may be higher: counting stops at 500 runs, and unreadable runs aren't
	// counted.
	AtLeast bool `json:"at_least"`
}

// FeedOptions says which events of a tenant [Client.Feed] returns.
type FeedOptions struct {
	// Only events of this agent's runs. Empty returns those of all agents.
	Agent string
	// Only these types, of [EventCallSuspended], [EventDecisionRecorded] and [EventRunStatus].
	// Empty returns all three.
	Types []string
	// Return only events after the Cursor of a [FeedItem]. Empty starts with the oldest.
	After string
	// Without a cursor, return only events that are committed from now on.
	Tail bool
}

func (o FeedOptions) query() url.Values {
	q := url.Values{}
	add(q, "agent", o.Agent)
	add(q, "types", strings.Join(o.Types, ","))
	add(q, "after", o.After)
	if o.Tail && o.After == "" {
		q.Set("from", "tail")
	}
	return q
}

// FeedItem is one entry of the feed of a tenant. Either Event or Counts is set.
type FeedItem struct {
	// An event of some run of the tenant.
	Event *Event
	// How many calls are suspended. It comes at the start and whenever a number changes.
	Counts *Counts
	// The position in the feed after this entry; see [FeedOptions].
	Cursor string
}

// Feed returns suspensions, decisions and ends of all runs of the tenant until ctx ends or a
// request fails for good. It reads a stream, and opens the stream again when it breaks. An error is
// the last value.
//
// An event may come twice: its ThreadID and Seq identify it.
func (c *Client) Feed(ctx context.Context, o FeedOptions) iter.Seq2[FeedItem, error] {
	return func(yield func(FeedItem, error) bool) {
		o := o // each loop starts where the caller asked for
		err := c.reopen(ctx, &o.After, func(ctx context.Context) error {
			return c.read(ctx, "/v1/events", o.query(), func(m sse.Message) error {
				item, err := feedItem(m, o.After)
				if err != nil {
					return permanent{err}
				}
				o.After = item.Cursor
				if !yield(item, nil) {
					return permanent{errStopped}
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(FeedItem{}, err)
		}
	}
}

// feedItem decodes a message of the stream. One without an id leaves the position as it was.
func feedItem(m sse.Message, after string) (FeedItem, error) {
	item := FeedItem{Cursor: cmp.Or(m.ID, after)}
	if m.Event == "counts" {
		if err := json.Unmarshal(m.Data, &item.Counts); err != nil {
			return item, fmt.Errorf("client: decoding the counts of the feed: %w", err)
		}
		if item.Counts == nil {
			return item, errors.New("client: the feed has counts without data")
		}
		return item, nil
	}
	if err := json.Unmarshal(m.Data, &item.Event); err != nil {
		return item, fmt.Errorf("client: decoding an event of the feed: %w", err)
	}
	if item.Event == nil {
		return item, errors.New("client: the feed has an event without data")
	}
	return item, nil
}

// FeedPage reads one page of the feed. The server holds the answer for as long as wait while there
// are no events, at most 20 seconds. A limit of 0 is the server's default, 100.
func (c *Client) FeedPage(ctx context.Context, o FeedOptions, wait time.Duration, limit int) (FeedPage, error) {
	q := o.query()
	addNumber(q, "wait", wholeSeconds(wait))
	addNumber(q, "limit", limit)
	return get[FeedPage](ctx, c, "/v1/events", q)
}
