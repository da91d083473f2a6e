package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/wire"
)

// Follow reads the run's events behind the cursor after ("" is from the first) over a stream, which it opens again when it ends, and
// gives every event to each, in order and none twice. It returns once the run is done or, unless on is set, waits, and everything up
// to there was given; with the cursor to go on from. An error of each ends it and is returned as it is. A server that does not answer is
// an error only at the first try and after patience for silence runs out; a refusal that is not [Error.Temporary] always is.
func (c *Client) Follow(ctx context.Context, run, after string, on bool, each func(e wire.Event) error) (cursor string, err error) {
	f := &follower{client: c, run: run, after: after, on: on, each: each}
	err = f.follow(ctx)
	return f.after, err
}

// Where a stream breaks, it is opened again after a pause that grows, so often without anything new in between.
const (
	reopenTries = 8
	reopenFirst = 100 * time.Millisecond
	reopenLast  = 5 * time.Second
)

// silence is how long nothing may come. The server says something every 15 seconds.
const silence = 45 * time.Second

type follower struct {
	client *Client
	run    string
	after  string
	on     bool
	each   func(wire.Event) error
}

// errOver: there is nothing more to follow.
var errOver = errors.New("client: the run is done or waits")

func ignoreOver(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

func (f *follower) follow(ctx context.Context) error {
	if f.after != "" { // a stream would be held where the reader has seen all
		if err := f.rests(ctx); err != nil {
			return ignoreOver(err)
		}
	}
	for failed := 0; ; {
		before := f.after
		refused, err := f.round(ctx)
		final, isFinal := errors.AsType[finalError](err)
		switch {
		case errors.Is(err, errOver):
			return nil
		case isFinal:
			return final.error
		case err == nil || f.after != before:
			failed = 0
		case failed == 0 && before == "", failed == reopenTries:
			return err
		default:
			failed++
		}
		if err := pause(ctx, max(reopenFirst, min(reopenFirst<<failed, reopenLast), refused)); err != nil {
			return err
		}
	}
}

// round reads one stream to its end, and asks whether that is the run's. It returns how long the server wants not to be asked.
func (f *follower) round(ctx context.Context) (wait time.Duration, err error) {
	if err = f.stream(ctx); err == nil {
		err = f.rests(ctx)
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		if !refused.Temporary() {
			err = finalError{err}
		}
		return refused.RetryAfter, err
	}
	return 0, err
}

// finalError is one that another try would not change: a refusal, or what the function that is given the events says.
type finalError struct{ error }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// rests asks whether a stream that ended did so because the run does: a server that stops ends it as well.
func (f *follower) rests(ctx context.Context) error {
	page, err := f.client.Events(ctx, f.run, f.after, 0, 1)
	if err != nil {
		return err
	}
	if len(page.Items) == 0 && (page.Done || page.Waiting && !f.on) {
		return errOver
	}
	return nil
}

// stream reads one stream to its end: nil if that came in order, behind a whole event.
func (f *follower) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return readStream(resp.Body, func() { quiet.Reset(silence) }, func(m message) error {
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

func (f *follower) open(ctx context.Context) (*http.Response, error) {
	q := url.Values{}
	add(q, "after", f.after)
	if f.on {
		q.Set("follow", "true")
	}
	return f.client.openStream(ctx, runPath(f.run, "/events"), q)
}

// openStream asks for a stream. A refusal is an [*Error].
func (c *Client) openStream(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	req, err := c.request(ctx, request{method: http.MethodGet, path: path, query: q, header: map[string]string{"Accept": "text/event-stream"}})
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("client: %w", withoutTicket(err, req))
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return nil, fmt.Errorf("client: reading the answer: %w", err)
		}
		return nil, refusal(resp, body)
	}
	return resp, nil
}

// withoutTicket leaves out where the request was sent on to: whoever has that address may read the stream.
func withoutTicket(err error, first *http.Request) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || failed.URL == first.URL.String() {
		return err
	}
	where := "the address of the stream"
	if u, unread := url.Parse(failed.URL); unread == nil {
		where = u.Scheme + "://" + u.Host
	}
	return &url.Error{Op: failed.Op, URL: where, Err: failed.Err}
}

// message is one event of a stream, as it is sent.
type message struct {
	id, event string
	data      []byte
}

// readStream gives each whole message with data to each; what is cut off in the middle is left out. It calls alive at each line.
func readStream(body io.Reader, alive func(), each func(message) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var m message
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("client: the stream broke: %w", err)
		}
		alive()
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			data = append(data, value)
		}
		if line != "" {
			continue
		}
		if m.data = []byte(strings.Join(data, "\n")); len(data) > 0 {
			if err := each(m); err != nil {
				return err
			}
		}
		m, data = message{}, nil
	}
}
