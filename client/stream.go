package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// reopenTries is how often in a row a stream is opened without progress.
const reopenTries = 8

// silence is how long a stream may send nothing. The server sends a comment at least every 15
// seconds.
const silence = 45 * time.Second

// reopen calls round, which reads one stream to its end and notes in after how far it came, again
// and again. It ends with ctx, a [permanent] error, a refusal that is not [Error.Retryable], or a
// server that doesn't answer: reopenTries times in a row, or at the first attempt if the client
// sends requests once.
func (c *Client) reopen(ctx context.Context, after *string, round func(context.Context) error) error {
	for failed := 0; ; {
		before := *after
		err := round(ctx)
		final, isFinal := errors.AsType[permanent](err)
		refused, isRefused := errors.AsType[*Error](err)
		switch {
		case isFinal:
			return final.error
		case ctx.Err() != nil:
			return ctx.Err()
		case isRefused && !refused.Retryable():
			return err
		case err == nil || *after != before:
			failed = 0
		case failed == 0 && before == "" && c.retries == 0, failed == reopenTries:
			return err
		default:
			failed++
		}
		if err := c.sleep(ctx, max(firstPause, c.pause(failed, err))); err != nil {
			return err
		}
	}
}

// read opens a stream and passes each of its messages to each, until the stream ends, breaks or is
// silent for too long.
func (c *Client) read(ctx context.Context, path string, q url.Values, each func(message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.openStream(ctx, path, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return readStream(resp.Body, func() { quiet.Reset(silence) }, each)
}

// openStream opens a stream. A refusal is an [*Error].
func (c *Client) openStream(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	req, err := c.request(ctx, request{method: http.MethodGet, path: path, query: q, header: map[string]string{"Accept": "text/event-stream"}}, nil)
	if err != nil {
		return nil, permanent{err}
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

// withoutTicket hides the address that the request was redirected to: anyone who has it may read
// the stream.
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

// message is one server-sent event of a stream.
type message struct {
	id, event string
	data      []byte
}

// readStream passes each complete message with data to each, and drops one that is cut off. It
// calls alive at each line.
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
